/* Heat equation on a plate, of which each PE has some rows; borders travel by puts with a signal. Verified against the same steps without division, which each PE
 * does for the rows that its own depend on.
 *
 *   heat [ROWS] [STEPS] [COLUMNS] */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t signals[2];
static double error, all_error;

static double initial(long row, long column) {
    return (double)((row * 37 + column * 17) % 101);
}

static void step(const double *from, double *to, long rows, long columns) {
    for (long i = 1; i <= rows; i++)
        for (long j = 1; j < columns - 1; j++)
            to[i * columns + j] = 0.25 * (from[(i - 1) * columns + j] + from[(i + 1) * columns + j] + from[i * columns + j - 1] + from[i * columns + j + 1]);
}

int main(int count, char **arguments) {
    long points = count > 1 ? atol(arguments[1]) : 64, steps = count > 2 ? atol(arguments[2]) : 20;
    long columns = count > 3 ? atol(arguments[3]) : points;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    /* Inner rows of this PE; all have room for the most. */
    long inner = points - 2, most = (inner + n - 1) / n, first = 1 + most * me;
    long rows = first > inner ? 0 : first + most - 1 > inner ? inner - first + 1 : most;
    double *plates[2];
    for (int i = 0; i < 2; i++) {
        plates[i] = shmem_calloc((size_t)((most + 2) * columns), sizeof(double));
        for (long row = 0; row <= rows + 1; row++)
            for (long column = 0; column < columns; column++)
                plates[i][row * columns + column] = initial(first - 1 + row, column);
    }
    shmem_barrier_all();
    int above = rows > 0 && me > 0, below = rows > 0 && first + rows <= inner;
    for (long t = 1; t <= steps; t++) {
        const double *from = plates[(t + 1) % 2];
        double *to = plates[t % 2];
        step(from, to, rows, columns);
        /* Rows of step t for the neighbours, who have read those of step t - 2 when they sent those of t - 1. */
        if (above)
            shmem_double_put_signal(to + (most + 1) * columns, to + columns, (size_t)columns, signals + 1, (uint64_t)t, SHMEM_SIGNAL_SET, me - 1);
        if (below)
            shmem_double_put_signal(to, to + rows * columns, (size_t)columns, signals, (uint64_t)t, SHMEM_SIGNAL_SET, me + 1);
        if (above)
            shmem_signal_wait_until(signals, SHMEM_CMP_GE, (uint64_t)t);
        if (below)
            shmem_signal_wait_until(signals + 1, SHMEM_CMP_GE, (uint64_t)t);
    }
    /* After t steps, all rows are right but t at each end, where these are not the plate's. */
    long low = first - 1 - steps > 0 ? first - 1 - steps : 0, high = first + rows + steps < points - 1 ? first + rows + steps : points - 1;
    double *whole[2];
    for (int i = 0; i < 2; i++) {
        whole[i] = malloc((size_t)((high - low + 1) * columns) * sizeof(double));
        for (long row = low; row <= high; row++)
            for (long column = 0; column < columns; column++)
                whole[i][(row - low) * columns + column] = initial(row, column);
    }
    for (long t = 1; t <= steps && rows > 0; t++)
        step(whole[(t + 1) % 2], whole[t % 2], high - low - 1, columns);
    for (long row = 1; row <= rows; row++)
        for (long column = 0; column < columns; column++)
            error = fmax(error, fabs(plates[steps % 2][row * columns + column] - whole[steps % 2][(first - 1 + row - low) * columns + column]));
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &all_error, &error, 1);
    if (me == 0)
        printf("%d PEs, %ld x %ld points, %ld steps, error %g\n", n, points, columns, steps, all_error);
    shmem_finalize();
    return all_error != 0;
}
