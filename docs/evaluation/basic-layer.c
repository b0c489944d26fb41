/* One remote and one local atomic of four bytes after another, each waited for: what paper E measures (table 3). Rank 0 prints microseconds for
 * each; with ranks above 1, also while those ask rank 0 for atomics without a pause, which disturbs its progress thread. With the word copies, it prints
 * instead what a copy from rank 1 to rank 2 takes beside a get and a put (figures 1 and 2).
 *
 *     basic-layer [COUNT [SAMPLES [copies]]] */
#include <acp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES_MAX = 101, BYTES_MAX = 1 << 20 };

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void *one, const void *other) {
    double first = *(const double *)one, second = *(const double *)other;
    return first < second ? -1 : first > second;
}

/* The median of what one atomic takes. */
static double median_us(acp_ga_t old, acp_ga_t word, int count, int samples) {
    double times[SAMPLES_MAX];
    for (int sample = 0; sample < samples; sample++) {
        double start = now_us();
        for (int i = 0; i < count; i++) {
            acp_complete(acp_add4(old, word, 1, ACP_HANDLE_NULL));
        }
        times[sample] = (now_us() - start) / count;
    }
    qsort(times, (size_t)samples, sizeof times[0], compare);
    return times[samples / 2];
}

/* A copy between two other ranks: by one call, or by a get and a put behind it. */
static double copy_us(acp_ga_t from, acp_ga_t over, acp_ga_t to, size_t bytes) {
    double start = now_us();
    acp_handle_t fetched = over == ACP_GA_NULL ? ACP_HANDLE_NULL : acp_copy(over, from, bytes, ACP_HANDLE_NULL);
    acp_complete(acp_copy(to, over == ACP_GA_NULL ? from : over, bytes, fetched));
    return now_us() - start;
}

/* What rank 0 prints of copies between the blocks of ranks 1 and 2. The address of each block lies in the starter memory of its rank. */
static void copy_each(int rank, acp_ga_t block, acp_ga_t own) {
    acp_ga_t *blocks = (acp_ga_t *)acp_query_address(own + 320);
    if (rank == 0 && acp_procs() > 2) {
        for (int peer = 1; peer < 3; peer++) {
            acp_complete(acp_copy(own + 320 + 8 * peer, acp_query_starter_ga(peer) + 320, 8, ACP_HANDLE_NULL));
        }
        for (size_t bytes = 8; bytes <= BYTES_MAX; bytes *= 32) {
            printf("{\"bytes\":%zu,\"copy_us\":%.4f,", bytes, copy_us(blocks[1], ACP_GA_NULL, blocks[2], bytes));
            printf("\"get_put_us\":%.4f}\n", copy_us(blocks[1], block, blocks[2], bytes));
        }
    }
    acp_sync();
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 1000, samples = argc > 2 ? atoi(argv[2]) : 1;
    if (acp_init(&argc, &argv) != 0 || count < 1 || samples < 1 || samples > SAMPLES_MAX || acp_procs() < 2) {
        acp_abort("basic-layer: 2 ranks at least; COUNT is at least 1, SAMPLES 1 to 101");
    }
    int rank = acp_rank();
    acp_ga_t own = acp_query_starter_ga(rank), there = acp_query_starter_ga(1) + 64, local = own + 128;
    volatile uint64_t *over = (volatile uint64_t *)acp_query_address(own + 192);
    char *buffer = calloc(1, BYTES_MAX);
    acp_ga_t block = acp_query_ga(acp_register_memory(buffer, BYTES_MAX, 0), buffer);
    *(acp_ga_t *)acp_query_address(own + 320) = block;
    acp_sync();
    if (argc > 3) {
        copy_each(rank, block, own);
        acp_finalize();
        return 0;
    }
    if (rank == 0) {
        median_us(own, there, count, 1);
        printf("{\"remote_us\":%.4f,\"local_us\":%.4f}\n", median_us(own, there, count, samples), median_us(own, local, count, samples));
    }
    acp_sync();
    if (acp_procs() > 2) {
        if (rank == 0) {
            printf("{\"disturbed_us\":%.4f}\n", median_us(own, there, count, samples));
            *(volatile uint64_t *)acp_query_address(own) = 1;
            for (int peer = 2; peer < acp_procs(); peer++) {
                acp_complete(acp_copy(acp_query_starter_ga(peer) + 192, own, 8, ACP_HANDLE_NULL));
            }
        } else if (rank > 1) {
            while (*over == 0) {
                acp_complete(acp_add4(own, acp_query_starter_ga(0) + 256, 1, ACP_HANDLE_NULL));
            }
        }
    }
    acp_finalize();
    return 0;
}
