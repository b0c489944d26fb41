/* Heat equation on a square plate, divided into rows of blocks by teams of rows and columns; borders travel by puts with a signal. Verified against the
 * same steps without division.
 *
 *   heat [POINTS OF EACH SIDE] [STEPS] */
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
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    /* Inner rows of this PE; all have room for the most. */
    long inner = points - 2, most = (inner + n - 1) / n, first = 1 + most * me;
    long rows = first > inner ? 0 : first + most - 1 > inner ? inner - first + 1 : most;
    double *plates[2];
    for (int i = 0; i < 2; i++) {
        plates[i] = shmem_calloc((size_t)((most + 2) * points), sizeof(double));
        for (long row = 0; row <= rows + 1; row++)
            for (long column = 0; column < points; column++)
                plates[i][row * points + column] = initial(first - 1 + row, column);
    }
    shmem_barrier_all();
    int above = rows > 0 && me > 0, below = rows > 0 && first + rows <= inner;
    for (long t = 1; t <= steps; t++) {
        const double *from = plates[(t + 1) % 2];
        double *to = plates[t % 2];
        step(from, to, rows, points);
        /* Rows of step t for the neighbours, who have read those of step t - 2 when they sent those of t - 1. */
        if (above)
            shmem_double_put_signal(to + (most + 1) * points, to + points, (size_t)points, signals + 1, (uint64_t)t, SHMEM_SIGNAL_SET, me - 1);
        if (below)
            shmem_double_put_signal(to, to + rows * points, (size_t)points, signals, (uint64_t)t, SHMEM_SIGNAL_SET, me + 1);
        if (above)
            shmem_signal_wait_until(signals, SHMEM_CMP_GE, (uint64_t)t);
        if (below)
            shmem_signal_wait_until(signals + 1, SHMEM_CMP_GE, (uint64_t)t);
    }
    double *whole[2];
    for (int i = 0; i < 2; i++) {
        whole[i] = malloc((size_t)(points * points) * sizeof(double));
        for (long k = 0; k < points * points; k++)
            whole[i][k] = initial(k / points, k % points);
    }
    for (long t = 1; t <= steps; t++)
        step(whole[(t + 1) % 2], whole[t % 2], inner, points);
    for (long row = 1; row <= rows; row++)
        for (long column = 0; column < points; column++)
            error = fmax(error, fabs(plates[steps % 2][row * points + column] - whole[steps % 2][(first - 1 + row) * points + column]));
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, &all_error, &error, 1);
    if (me == 0)
        printf("%d PEs, %ld x %ld points, %ld steps, error %g\n", n, points, points, steps, all_error);
    shmem_finalize();
    return all_error != 0;
}
