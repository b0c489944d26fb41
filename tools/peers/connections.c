/* What libfabric itself holds for each connection of tcp;ofi_rxm: private memory of a process after it has sent a message to, and read a word from, 2 and 64
 * endpoints of another process. The counterpart of transport/ofi/tests/memory.rs. Usage: connections [PROVIDER] */
#include <rdma/fabric.h>
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
#include <unistd.h>

enum { PEERS = 64, RECEIVES = 8, BYTES = 4160 };

typedef struct { char name[PEERS][64]; uint64_t key, base; atomic_int ready; } published;

static void check(const char *what, long code) {
    if (code) { fprintf(stderr, "connections: %s: %s\n", what, fi_strerror((int)-code)); exit(1); }
}

static struct fid_domain *domain;
static struct fid_cq *queue;
static struct fid_av *addresses;

static struct fid_ep *endpoint(struct fi_info *info) {
    struct fid_ep *made;
    check("fi_endpoint", fi_endpoint(domain, info, &made, NULL));
    check("fi_ep_bind", fi_ep_bind(made, &addresses->fid, 0));
    check("fi_ep_bind", fi_ep_bind(made, &queue->fid, FI_SEND | FI_RECV));
    check("fi_enable", fi_enable(made));
    for (int receive = 0; receive < RECEIVES; receive++)
        check("fi_recv", fi_recv(made, calloc(1, BYTES), BYTES, NULL, FI_ADDR_UNSPEC, calloc(1, sizeof(struct fi_context2))));
    return made;
}

static void wait_for_one(void) {
    struct fi_cq_data_entry entry;
    while (fi_cq_read(queue, &entry, 1) != 1) sched_yield();
}

static long private_kib(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256]; long sum = 0, kib;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Private_Clean: %ld", &kib) == 1 || sscanf(line, "Private_Dirty: %ld", &kib) == 1) sum += kib;
    if (file) fclose(file);
    return sum;
}

int main(int count, char **arguments) {
    published *peers = mmap(NULL, sizeof *peers, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct fi_info *hints = fi_allocinfo(), *info;
    hints->caps = FI_MSG | FI_RMA;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->name = strdup("lo");
    hints->fabric_attr->prov_name = strdup(count > 1 ? arguments[1] : "tcp;ofi_rxm");
    check("fi_getinfo", fi_getinfo(FI_VERSION(1, 11), NULL, NULL, 0, hints, &info));
    struct fid_fabric *fabric;
    check("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL));
    check("fi_domain", fi_domain(fabric, info, &domain, NULL));
    struct fi_cq_attr wanted = {.size = 1024, .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD};
    check("fi_cq_open", fi_cq_open(domain, &wanted, &queue, NULL));
    struct fi_av_attr table = {.type = info->domain_attr->av_type, .count = 64};
    check("fi_av_open", fi_av_open(domain, &table, &addresses, NULL));
    if (child == 0) {
        struct fid_mr *region;
        uint64_t *words = calloc(512, 8);
        check("fi_mr_reg", fi_mr_reg(domain, words, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &region, NULL));
        peers->key = fi_mr_key(region);
        peers->base = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)words : 0;
        for (int peer = 0; peer < PEERS; peer++) {
            size_t length = sizeof peers->name[peer];
            check("fi_getname", fi_getname(&endpoint(info)->fid, peers->name[peer], &length));
        }
        atomic_store(&peers->ready, 1);
        for (;;) { struct fi_cq_data_entry entry; (void)!fi_cq_read(queue, &entry, 1); sched_yield(); }
    }
    while (!atomic_load(&peers->ready)) sched_yield();
    struct fid_ep *own = endpoint(info);
    struct fi_context2 context;
    char *message = calloc(1, BYTES);
    long two = 0;
    for (int peer = 0; peer < PEERS; peer++) {
        fi_addr_t address;
        if (fi_av_insert(addresses, peers->name[peer], 1, &address, 0, NULL) != 1) check("fi_av_insert", -FI_EINVAL);
        long code;
        while ((code = fi_send(own, message, 64, NULL, address, &context)) == -FI_EAGAIN) { (void)!fi_cq_read(queue, NULL, 0); sched_yield(); }
        check("fi_send", code);
        wait_for_one();
        while ((code = fi_read(own, message, 8, NULL, address, peers->base, peers->key, &context)) == -FI_EAGAIN) { (void)!fi_cq_read(queue, NULL, 0); sched_yield(); }
        check("fi_read", code);
        wait_for_one();
        if (peer == 1) two = private_kib();
    }
    long all = private_kib();
    printf("2 peers: %ld KiB; %d peers: %ld KiB more, %.1f KiB for each\n", two, PEERS, all - two, (double)(all - two) / (PEERS - 2));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
