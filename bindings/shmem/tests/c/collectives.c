/* Collective operations of the team of all PEs, several times in a row, short and long. */
#include "check.h"

#define MOST 3000
#define PES 64

static long source[MOST * 8], dest[MOST * 8];
static double real_source[MOST], real_dest[MOST];
static unsigned char bytes_source[64], bytes_dest[64 * PES];

static void with(size_t length) {
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int root = 0; root < n; root++) {
        for (size_t i = 0; i <= length; i++) {
            source[i] = 1000L * me + (long)i;
            dest[i] = -1;
        }
        shmem_barrier_all();
        CHECK(shmem_broadcast(SHMEM_TEAM_WORLD, dest, source, length, root) == 0);
        for (size_t i = 0; i < length; i++)
            CHECK(dest[i] == 1000L * root + (long)i);
        shmem_barrier_all();
    }
    size_t block = length / (size_t)n + 1;
    shmem_barrier_all();
    CHECK(shmem_fcollect(SHMEM_TEAM_WORLD, dest, source, block) == 0);
    for (size_t i = 0; i < block * (size_t)n; i++)
        CHECK(dest[i] == 1000L * (long)(i / block) + (long)(i % block));
    /* Different lengths; of some, none. */
    shmem_barrier_all();
    size_t own = (size_t)(me % 3) * (length / 8), at = 0;
    CHECK(shmem_collect(SHMEM_TEAM_WORLD, dest, source, own) == 0);
    for (int pe = 0; pe < n; pe++)
        for (size_t i = 0; i < (size_t)(pe % 3) * (length / 8); i++)
            CHECK(dest[at++] == 1000L * pe + (long)i);
    shmem_barrier_all();
    for (size_t i = 0; i < block * (size_t)n; i++)
        source[i] = 1000L * me + (long)(i / block);
    shmem_barrier_all();
    CHECK(shmem_alltoall(SHMEM_TEAM_WORLD, dest, source, block) == 0);
    for (size_t i = 0; i < block * (size_t)n; i++)
        CHECK(dest[i] == 1000L * (long)(i / block) + me);
    /* At distances of two and three. */
    shmem_barrier_all();
    for (size_t i = 0; i < 3 * block * (size_t)n; i++)
        source[i] = i % 3 ? -1 : 1000L * me + (long)(i / 3 / block);
    memset(dest, 0, 2 * block * (size_t)n * sizeof(long));
    shmem_barrier_all();
    CHECK(shmem_alltoalls(SHMEM_TEAM_WORLD, dest, source, 2, 3, block) == 0);
    for (size_t i = 0; i < 2 * block * (size_t)n; i++)
        CHECK(dest[i] == (i % 2 ? 0 : 1000L * (long)(i / 2 / block) + me));
    /* Reductions, also in place. */
    shmem_barrier_all();
    for (size_t i = 0; i < length; i++) {
        source[i] = (long)i + me;
        real_source[i % MOST] = 0.5 * me + (double)(i % MOST);
    }
    shmem_barrier_all();
    long sum = (long)n * (n - 1) / 2;
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, dest, source, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK(dest[i] == (long)i * n + sum);
    CHECK(shmem_max_reduce(SHMEM_TEAM_WORLD, source, source, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK(source[i] == (long)i + n - 1);
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, real_dest, real_source, length % MOST) == 0);
    for (size_t i = 0; i < length % MOST; i++)
        CHECK(real_dest[i] == 0.5 * (double)sum + (double)n * (double)i);
    /* Scans. */
    shmem_barrier_all();
    for (size_t i = 0; i < length; i++)
        source[i] = (long)i + me;
    CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, dest, source, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK(dest[i] == (long)i * (me + 1) + (long)me * (me + 1) / 2);
    CHECK(shmem_sum_exscan(SHMEM_TEAM_WORLD, source, source, length) == 0);
    for (size_t i = 0; i < length; i++)
        CHECK(source[i] == (long)i * me + (long)me * (me - 1) / 2);
    shmem_barrier_all();
}

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    for (int i = 0; i < 5; i++) {
        with(1);
        with(17);
    }
    with(700);
    with(MOST);
    for (int i = 0; i < 50; i++) {
        shmem_sync_all();
        shmem_barrier_all();
    }
    for (int i = 0; i < 13; i++)
        bytes_source[i] = (unsigned char)(me * 16 + i);
    shmem_barrier_all();
    CHECK(shmem_fcollectmem(SHMEM_TEAM_WORLD, bytes_dest, bytes_source, 13) == 0);
    for (int i = 0; i < 13 * n; i++)
        CHECK(bytes_dest[i] == (unsigned char)(i / 13 * 16 + i % 13));
    CHECK(shmem_broadcastmem(SHMEM_TEAM_WORLD, bytes_dest, bytes_source, 0, 0) == 0);
    good();
    shmem_finalize();
    return 0;
}
