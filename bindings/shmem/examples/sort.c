/* Bucketed integer sort: each PE gets the keys of one range, reserves room by a fetching atomic and puts. Verified by order, number and sum of the keys.
 *
 *   sort [KEYS OF EACH PE] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

#define RANGE (1L << 28)

static long arrived, facts[3], all_facts[3];

static int compare(const void *one, const void *other) {
    int a = *(const int *)one, b = *(const int *)other;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    long keys = count > 1 ? atol(arguments[1]) : 1000;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    /* Room for twice the average, and for chance. */
    size_t room = (size_t)(2 * keys + 1000);
    int *bucket = shmem_malloc(room * sizeof *bucket), *own = malloc((size_t)keys * sizeof *own), *sorted = malloc((size_t)keys * sizeof *sorted);
    long *begins = calloc((size_t)n + 1, sizeof *begins);
    long width = (RANGE + n - 1) / n;
    unsigned long state = 12345 + 7919ul * (unsigned long)me;
    for (long i = 0; i < keys; i++) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        own[i] = (int)(state >> 36) % RANGE;
        begins[own[i] / width + 1]++;
        facts[0]++;
        facts[1] += own[i];
    }
    for (int pe = 0; pe < n; pe++)
        begins[pe + 1] += begins[pe];
    long *next = malloc((size_t)n * sizeof *next);
    for (int pe = 0; pe < n; pe++)
        next[pe] = begins[pe];
    for (long i = 0; i < keys; i++)
        sorted[next[own[i] / width]++] = own[i];
    shmem_barrier_all();
    for (int step = 0; step < n; step++) {
        int pe = (me + step) % n;
        size_t length = (size_t)(begins[pe + 1] - begins[pe]);
        /* With more PEs than keys of each, most have none for each other. */
        if (length == 0)
            continue;
        long place = shmem_long_atomic_fetch_add(&arrived, (long)length, pe);
        if ((size_t)place + length > room) {
            fprintf(stderr, "PE %d: the bucket of PE %d is full\n", me, pe);
            return 1;
        }
        shmem_int_put_nbi(bucket + place, sorted + begins[pe], length, pe);
    }
    shmem_barrier_all();
    qsort(bucket, (size_t)arrived, sizeof *bucket, compare);
    facts[0] -= arrived;
    for (long i = 0; i < arrived; i++) {
        facts[1] -= bucket[i];
        facts[2] += bucket[i] / width != me || (i > 0 && bucket[i - 1] > bucket[i]);
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, all_facts, facts, 3);
    int good = all_facts[0] == 0 && all_facts[1] == 0 && all_facts[2] == 0;
    if (me == 0)
        printf("%d PEs, %ld keys, %s\n", n, keys * n, good ? "sorted" : "wrong");
    shmem_finalize();
    return !good;
}
