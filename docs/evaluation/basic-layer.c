/* One remote and one local atomic of four bytes after another, each waited for: what paper E measures (table 3). Rank 0 prints microseconds for
 * each; with ranks above 1, also while those ask rank 0 for atomics without a pause, which disturbs its progress thread.
 *
 *     basic-layer [COUNT [SAMPLES]] */
#include <acp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES_MAX = 101 };

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

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 1000, samples = argc > 2 ? atoi(argv[2]) : 1;
    if (acp_init(&argc, &argv) != 0 || count < 1 || samples < 1 || samples > SAMPLES_MAX || acp_procs() < 2) {
        acp_abort("basic-layer: 2 ranks at least; COUNT is at least 1, SAMPLES 1 to 101");
    }
    int rank = acp_rank();
    acp_ga_t own = acp_query_starter_ga(rank), there = acp_query_starter_ga(1) + 64, local = own + 128;
    volatile uint64_t *over = (volatile uint64_t *)acp_query_address(own + 192);
    acp_sync();
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
