/* What libfabric itself takes where Pelago's transport over it is measured: put, get and fetch_add by an endpoint of type RDM, from one process to another
 * that drives its own progress. Blocks are treated as `pelago bench` treats them: before each transfer their owner writes them anew, and their receiver reads all
 * of what came. Each line is one result, as pelago's JSON. With "wait", completions can also be waited for by a descriptor, which the provider then signals:
 * what a process needs that sleeps. "copy=N" measures puts of 1 MiB alone, in N pieces, each copied before it is posted; "taken=N" the same without copies, where
 * all but the last piece complete when the provider has taken them (FI_INJECT_COMPLETE). "posted" is the time until all pieces are posted.
 * Usage: fabric PROVIDER [wait] [copy=N | taken=N] */
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPETITIONS = 201, WARM_UP = 10, GREETINGS = 3, MEBIBYTE = 1 << 20 };

/* What the two processes tell each other. */
typedef struct { char name[512]; size_t length; uint64_t key, base; atomic_int ready; atomic_int asked, done; } published;
static published *target;
static struct fid_cq *queue;
static struct fid_ep *endpoint;
static struct fid_mr *region;
static char *memory, *copied;
/* Of puts of 1 MiB. */
static size_t pieces = 1;
static enum { WHOLE, COPY, TAKEN } manner = WHOLE;
/* Operations that have not completed. */
static int under_way;
static fi_addr_t peer;
static enum fi_wait_obj waiting = FI_WAIT_NONE;

static void check(const char *what, long code) {
    if (code) { fprintf(stderr, "fabric: %s: %s\n", what, fi_strerror((int)-code)); exit(1); }
}

static void open_all(const char *provider) {
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->ep_attr->type = FI_EP_RDM;
    hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->fabric_attr->prov_name = strdup(provider);
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info));
    struct fid_fabric *fabric; struct fid_domain *domain; struct fid_av *addresses;
    struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .size = 512, .wait_obj = waiting };
    struct fi_av_attr av = { .type = FI_AV_TABLE };
    check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("fi_domain", fi_domain(fabric, info, &domain, NULL));
    check("fi_cq_open", fi_cq_open(domain, &cq, &queue, NULL));
    check("fi_av_open", fi_av_open(domain, &av, &addresses, NULL));
    check("fi_endpoint", fi_endpoint(domain, info, &endpoint, NULL));
    check("fi_ep_bind", fi_ep_bind(endpoint, &queue->fid, FI_TRANSMIT | FI_RECV));
    check("fi_ep_bind", fi_ep_bind(endpoint, &addresses->fid, 0));
    check("fi_enable", fi_enable(endpoint));
    memory = aligned_alloc(4096, 2 * MEBIBYTE);
    memset(memory, 0, 2 * MEBIBYTE);
    copied = aligned_alloc(4096, MEBIBYTE);
    memset(copied, 0, MEBIBYTE);
    uint64_t access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    check("fi_mr_reg", fi_mr_reg(domain, memory, 2 * MEBIBYTE, access, 0, 1, 0, &region, NULL));
    if (target->ready) {
        if (fi_av_insert(addresses, target->name, 1, &peer, 0, NULL) != 1) check("fi_av_insert", -FI_EINVAL);
    } else {
        target->length = sizeof target->name;
        check("fi_getname", fi_getname(&endpoint->fid, target->name, &target->length));
        target->key = fi_mr_key(region);
        target->base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)memory : 0;
        target->ready = 1;
    }
}

/* Writes a block anew; reads all of it. */
static void renew(uint64_t round) {
    for (size_t i = 0; i < MEBIBYTE / 8; i++) ((uint64_t *)memory)[i] = round * 0x9E3779B97F4A7C15 + i;
}
static void read_all(void) {
    static volatile uint64_t sum;
    for (size_t i = 0; i < MEBIBYTE / 8; i++) sum += ((volatile uint64_t *)memory)[i];
}

/* The target touches its block: writes it anew before a get, reads it after a put. */
static void ask_target(int what) {
    int before = target->done;
    target->asked = what;
    while (target->done == before) sched_yield();
}
static void serve_initiator(uint64_t round) {
    int what = target->asked;
    if (!what) return;
    if (what == 1) renew(round); else read_all();
    target->asked = 0;
    target->done++;
}

static int look(void) {
    struct fi_cq_entry entry;
    ssize_t count = fi_cq_read(queue, &entry, 1);
    if (count == 1) { under_way--; return 1; }
    if (count != -FI_EAGAIN) check("fi_cq_read", count);
    sched_yield();
    return 0;
}

static long counted(long code) { under_way += code == 0; return code; }
static long write_from(char *from, size_t at, size_t bytes, uint64_t completion) {
    struct iovec local = { from, bytes };
    struct fi_rma_iov remote = { target->base + at, bytes, target->key };
    struct fi_msg_rma message = { .msg_iov = &local, .iov_count = 1, .addr = peer, .rma_iov = &remote, .rma_iov_count = 1 };
    return counted(fi_writemsg(endpoint, &message, completion | FI_COMPLETION));
}
static long put(size_t bytes) {
    if (bytes < MEBIBYTE || manner == WHOLE) return write_from(memory, 0, bytes, FI_DELIVERY_COMPLETE);
    size_t piece = (bytes + pieces - 1) / pieces;
    for (size_t at = 0; at < bytes; at += piece) {
        size_t length = piece < bytes - at ? piece : bytes - at;
        uint64_t completion = manner == TAKEN && at + length < bytes ? FI_INJECT_COMPLETE : FI_DELIVERY_COMPLETE;
        char *from = (manner == COPY ? copied : memory) + at;
        if (manner == COPY) memcpy(from, memory + at, length);
        long code;
        while ((code = write_from(from, at, length, completion)) == -FI_EAGAIN) look();
        if (code) return code;
    }
    return 0;
}
static long get(size_t bytes) { return counted(fi_read(endpoint, memory, bytes, NULL, peer, target->base, target->key, NULL)); }
static long fetch_add(size_t bytes) {
    *(uint64_t *)memory = 1;
    (void)bytes;
    return counted(fi_fetch_atomic(endpoint, memory, 1, NULL, memory + MEBIBYTE, NULL, peer, target->base, target->key, FI_UINT64, FI_SUM, NULL));
}

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return (double)t.tv_sec * 1e9 + (double)t.tv_nsec; }

/* Returns when all is posted. */
static double run(const char *name, long (*post)(size_t), size_t bytes) {
    long code;
    while ((code = post(bytes)) == -FI_EAGAIN) look();
    check(name, code);
    double posted = now();
    while (under_way > 0) look();
    return posted;
}

static void show(const char *name, size_t bytes, double *times) {
    qsort(times, REPETITIONS, sizeof *times, ascending);
    printf("{\"name\":\"%s\",\"ranks\":2,\"bytes\":%zu,\"transport\":\"%s\",\"median_ns\":%.1f}\n", name, bytes, waiting == FI_WAIT_FD ? "raw_wait" : "raw",
           times[REPETITIONS / 2]);
}

static void measure(const char *name, long (*post)(size_t), size_t bytes) {
    static double times[REPETITIONS], posts[REPETITIONS];
    for (int repetition = -WARM_UP; repetition < REPETITIONS; repetition++) {
        if (bytes == MEBIBYTE) {
            if (post == put) renew((uint64_t)(repetition + WARM_UP)); else ask_target(1);
            /* Both are awake and know each other's caches, as after the greetings of pelago bench. */
            for (int greeting = 0; greeting < GREETINGS; greeting++) run(name, get, 8);
        }
        double start = now(), posted = run(name, post, bytes), end = now();
        if (repetition >= 0) { times[repetition] = end - start; posts[repetition] = posted - start; }
        if (bytes == MEBIBYTE) { if (post == put) ask_target(2); else read_all(); }
    }
    show(name, bytes, times);
    if (manner != WHOLE) show("posted", bytes, posts);
}

int main(int count, char **arguments) {
    const char *provider = count > 1 ? arguments[1] : "tcp;ofi_rxm";
    for (int argument = 2; argument < count; argument++) {
        if (strcmp(arguments[argument], "wait") == 0) waiting = FI_WAIT_FD;
        else if (sscanf(arguments[argument], "copy=%zu", &pieces) == 1) manner = COPY;
        else if (sscanf(arguments[argument], "taken=%zu", &pieces) == 1) manner = TAKEN;
        if (pieces < 1 || pieces > 64) { fprintf(stderr, "fabric: 1 to 64 pieces\n"); return 2; }
    }
    target = mmap(NULL, sizeof *target, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        open_all(provider);
        for (uint64_t round = 0;; round++) { look(); serve_initiator(round); }
    }
    while (!target->ready) {
        if (waitpid(child, NULL, WNOHANG)) return 1;
        usleep(1000);
    }
    open_all(provider);
    if (manner == WHOLE) {
        measure("put", put, 8);
        measure("get", get, 8);
        measure("fetch_add", fetch_add, 8);
    }
    measure("put", put, MEBIBYTE);
    if (manner == WHOLE) measure("get", get, MEBIBYTE);
    kill(child, SIGTERM);
    return 0;
}
