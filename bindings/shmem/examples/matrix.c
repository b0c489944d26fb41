/* Matrix multiplication on a grid of PEs: each has a tile of A, B and C, and gets the tiles of A of its row and the tiles of B of its column one after the other.
 * Verified by the product with a vector of ones.
 *
 *   matrix [SIZE OF A STEP] */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long wrong, all_wrong;

int main(int count, char **arguments) {
    long step = count > 1 ? atol(arguments[1]) : 16;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), rows = 1;
    for (int i = 1; (long)i * i <= n; i++)
        rows = n % i == 0 ? i : rows;
    int columns = n / rows, row = me / columns, column = me % columns;
    /* The least number of steps that divides into rows and columns of tiles. */
    long steps = columns;
    while (steps % rows != 0)
        steps += columns;
    long size = step * steps, height = size / rows, width = size / columns;
    size_t elements = (size_t)(height * width);
    double *a = shmem_malloc(elements * sizeof *a), *b = shmem_malloc(elements * sizeof *b), *c = shmem_calloc(elements, sizeof *c);
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++) {
            long at_row = row * height + i, at_column = column * width + j;
            a[i * width + j] = (double)((at_row + 2 * at_column) % 7);
            b[i * width + j] = (double)((3 * at_row + at_column) % 5);
        }
    shmem_barrier_all();
    double *tile_a = malloc(elements * sizeof(double)), *tile_b = malloc(elements * sizeof(double));
    int has_a = -1, has_b = -1;
    /* PEs begin at different steps, so that not all get the same tiles at once. */
    for (long turn = 0; turn < steps; turn++) {
        long at = (turn + (row + column) * (steps / columns)) % steps;
        int from_a = (int)(at / (steps / columns)), from_b = (int)(at / (steps / rows));
        if (from_a != has_a)
            shmem_double_get_nbi(tile_a, a, elements, row * columns + from_a);
        if (from_b != has_b)
            shmem_double_get_nbi(tile_b, b, elements, from_b * columns + column);
        shmem_quiet();
        has_a = from_a, has_b = from_b;
        long in_a = at % (steps / columns) * step, in_b = at % (steps / rows) * step;
        for (long i = 0; i < height; i++)
            for (long k = 0; k < step; k++) {
                double factor = tile_a[i * width + in_a + k];
                for (long j = 0; j < width; j++)
                    c[i * width + j] += factor * tile_b[(in_b + k) * width + j];
            }
    }
    /* C times a vector of ones is A times (B times ones): all numbers are integers. */
    double *sums = shmem_calloc((size_t)(3 * size), sizeof *sums), *found = sums + size, *expected = found + size;
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++) {
            sums[row * height + i] += b[i * width + j];
            found[row * height + i] += c[i * width + j];
        }
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sums, sums, (size_t)(2 * size));
    for (long i = 0; i < height; i++)
        for (long j = 0; j < width; j++)
            expected[row * height + i] += a[i * width + j] * sums[column * width + j];
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, expected, expected, (size_t)size);
    for (long i = 0; i < size; i++)
        wrong += expected[i] != found[i];
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
    if (me == 0)
        printf("%d PEs, %ld x %ld, %ld wrong rows\n", n, size, size, all_wrong);
    shmem_finalize();
    return all_wrong != 0;
}
