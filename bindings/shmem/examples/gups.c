/* GUPS: random updates of a table that lies on all PEs, each an atomic. Verified by applying the same updates again, which undoes them.
 *
 *   gups [WORDS OF EACH PE] [UPDATES OF EACH PE] */
#include <inttypes.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long errors, all_errors;

/* A number that follows from its position (splitmix64). */
static uint64_t random_at(uint64_t position) {
    uint64_t z = position * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void update(uint64_t *table, uint64_t words, uint64_t updates) {
    uint64_t me = (uint64_t)shmem_my_pe(), n = (uint64_t)shmem_n_pes();
    for (uint64_t i = 0; i < updates; i++) {
        uint64_t value = random_at(me * updates + i), place = value % (words * n);
        shmem_uint64_atomic_xor(table + place % words, value, (int)(place / words));
    }
    shmem_barrier_all();
}

int main(int count, char **arguments) {
    uint64_t words = count > 1 ? strtoull(arguments[1], NULL, 0) : 4096, updates = count > 2 ? strtoull(arguments[2], NULL, 0) : 4 * words;
    shmem_init();
    uint64_t *table = shmem_malloc(words * sizeof *table);
    for (uint64_t i = 0; i < words; i++)
        table[i] = i;
    shmem_barrier_all();
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    update(table, words, updates);
    clock_gettime(CLOCK_MONOTONIC, &end);
    update(table, words, updates);
    for (uint64_t i = 0; i < words; i++)
        errors += table[i] != i;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_errors, &errors, 1);
    if (shmem_my_pe() == 0) {
        double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
        printf("%d PEs, %.6f GUPS, %ld errors\n", shmem_n_pes(), (double)updates * shmem_n_pes() / seconds * 1e-9, all_errors);
    }
    shmem_finalize();
    return all_errors != 0;
}
