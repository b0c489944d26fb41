/* Deprecated operations of active sets. */
#include "check.h"

static long sync_words[SHMEM_REDUCE_SYNC_SIZE], other_words[SHMEM_COLLECT_SYNC_SIZE];
static int source[128], dest[1024];
static long sums[8], ones[8], work[8];
static double complex pairs[2], products[2], pair_work[2];

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    start_pes(0);
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        sync_words[i] = other_words[i] = SHMEM_SYNC_VALUE;
    for (int i = 0; i < 128; i++)
        source[i] = 1000 * me + i;
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(source);
    shmem_udcflush();
    shmem_udcflush_line(source);
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(source);
    shmem_barrier_all();
    for (int round = 0; round < 5; round++) {
        dest[0] = -1;
        shmem_barrier_all();
        shmem_broadcast32(dest, source, 10, n - 1, 0, 0, n, sync_words);
        CHECK(dest[0] == (me == n - 1 ? -1 : 1000 * (n - 1)));
        shmem_barrier_all();
        shmem_fcollect32(dest, source, 5, 0, 0, n, other_words);
        for (int i = 0; i < 5 * n; i++)
            CHECK(dest[i] == 1000 * (i / 5) + i % 5);
        shmem_barrier_all();
        shmem_barrier(0, 0, n, sync_words);
        shmem_collect32(dest, source, (size_t)(me + round) % 4, 0, 0, n, sync_words);
        int at = 0;
        for (int pe = 0; pe < n; pe++)
            for (int i = 0; i < (pe + round) % 4; i++)
                CHECK(dest[at++] == 1000 * pe + i);
        shmem_barrier_all();
        shmem_alltoall32(dest, source, 2, 0, 0, n, other_words);
        for (int i = 0; i < 2 * n; i++)
            CHECK(dest[i] == 1000 * (i / 2) + 2 * me + i % 2);
        shmem_barrier_all();
        shmem_alltoalls32(dest, source, 2, 1, 2, 0, 0, n, sync_words);
        for (int i = 0; i < 2 * n; i++)
            CHECK(dest[2 * i] == 1000 * (i / 2) + 2 * me + i % 2);
        shmem_barrier_all();
        for (int i = 0; i < 8; i++)
            ones[i] = me + i;
        shmem_long_sum_to_all(sums, ones, 8, 0, 0, n, work, sync_words);
        for (int i = 0; i < 8; i++)
            CHECK(sums[i] == (long)n * (n - 1) / 2 + (long)n * i);
        shmem_long_max_to_all(ones, ones, 8, 0, 0, n, work, other_words);
        CHECK(ones[0] == n - 1);
    }
    pairs[0] = 1.0 + 1.0 * I;
    shmem_barrier_all();
    shmem_complexd_prod_to_all(products, pairs, 1, 0, 0, n, pair_work, sync_words);
    double complex product = 1.0;
    for (int pe = 0; pe < n; pe++)
        product *= 1.0 + 1.0 * I;
    CHECK(products[0] == product);
    /* Every second PE, with the same words. */
    shmem_barrier_all();
    if (me % 2 == 0) {
        shmem_sync(0, 1, (n + 1) / 2, sync_words);
        shmem_fcollect64(sums, ones, 1, 0, 1, (n + 1) / 2, sync_words);
        CHECK(sums[0] == n - 1 && sums[(n - 1) / 2] == n - 1);
    }
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        CHECK(sync_words[i] == SHMEM_SYNC_VALUE && other_words[i] == SHMEM_SYNC_VALUE);
    int *old = shmalloc(8);
    old = shrealloc(old, 64);
    shfree(old);
    shfree(shmemalign(128, 64));
    good();
    return 0;
}
