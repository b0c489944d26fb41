/* Matrix multiplication: blocks of rows of A, B and C on all PEs; each PE gets the blocks of B in turn while it multiplies the one before. Verified by the
 * product with a vector.
 *
 *   matrix [ROWS OF EACH PE] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long wrong, all_wrong;

int main(int count, char **arguments) {
    long block = count > 1 ? atol(arguments[1]) : 16;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long size = block * n;
    size_t elements = (size_t)(block * size);
    double *a = shmem_malloc(elements * sizeof *a), *b = shmem_malloc(elements * sizeof *b), *c = shmem_calloc(elements, sizeof *c);
    for (long i = 0; i < block; i++)
        for (long j = 0; j < size; j++) {
            long row = me * block + i;
            a[i * size + j] = (double)((row + 2 * j) % 7);
            b[i * size + j] = (double)((3 * row + j) % 5);
        }
    shmem_barrier_all();
    double *blocks[2] = {malloc(elements * sizeof(double)), malloc(elements * sizeof(double))};
    shmem_double_get(blocks[0], b, elements, me);
    for (int t = 0; t < n; t++) {
        int owner = (me + t) % n;
        if (t + 1 < n)
            shmem_double_get_nbi(blocks[(t + 1) % 2], b, elements, (owner + 1) % n);
        const double *part = blocks[t % 2];
        for (long i = 0; i < block; i++)
            for (long k = 0; k < block; k++) {
                double factor = a[i * size + owner * block + k];
                for (long j = 0; j < size; j++)
                    c[i * size + j] += factor * part[k * size + j];
            }
        shmem_quiet();
    }
    /* C times a vector of ones is A times (B times ones): all numbers are integers. */
    double *sums = shmem_malloc((size_t)size * sizeof *sums), *own = shmem_malloc((size_t)block * sizeof *own);
    for (long i = 0; i < block; i++) {
        own[i] = 0;
        for (long j = 0; j < size; j++)
            own[i] += b[i * size + j];
    }
    shmem_double_fcollect(SHMEM_TEAM_WORLD, sums, own, (size_t)block);
    for (long i = 0; i < block; i++) {
        double expected = 0, found = 0;
        for (long j = 0; j < size; j++) {
            expected += a[i * size + j] * sums[j];
            found += c[i * size + j];
        }
        wrong += expected != found;
    }
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
    if (me == 0)
        printf("%d PEs, %ld x %ld, %ld wrong rows\n", n, size, size, all_wrong);
    shmem_finalize();
    return all_wrong != 0;
}
