/* How long single one-sided operations of MPI take: what `pelago run latency` does, with MPI_Put and MPI_Get, each followed by MPI_Win_flush. Run with
 *   mpirun -n 2 latency put|get BYTES REPEAT
 * Rank 0 operates on the last rank's window, checks what it got, and the last rank what it was sent; rank 0 prints a line like that of ours. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTENT = 0x5a };

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static int differs(const unsigned char *bytes, int count, unsigned char content) {
    for (int at = 0; at < count; at++)
        if (bytes[at] != content) return 1;
    return 0;
}

/* The smallest of sorted times that so many of a thousand do not exceed. */
static double percentile(const double *times, long count, long permille) {
    long place = (count * permille + 999) / 1000;
    return times[place > 1 ? place - 1 : 0];
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count != 4 || size < 2) {
        if (!rank) fprintf(stderr, "usage: latency put|get BYTES REPEAT, with two ranks or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int puts = !strcmp(arguments[1], "put"), bytes = atoi(arguments[2]), repeat = atoi(arguments[3]);
    int warm_up = (repeat + 9) / 10, last = warm_up + repeat, target = size - 1, wrong = 0;
    unsigned char *block, *mine = malloc(bytes);
    double *times = malloc(repeat * sizeof *times);
    MPI_Win window;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &block, &window);
    MPI_Win_lock_all(0, window);
    memset(block, CONTENT, bytes);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int number = 1; !rank && number <= last; number++) {
        if (puts) memset(mine, number, bytes);
        double start = MPI_Wtime();
        if (puts)
            MPI_Put(mine, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window);
        else
            MPI_Get(mine, bytes, MPI_BYTE, target, 0, bytes, MPI_BYTE, window);
        MPI_Win_flush(target, window);
        if (number > warm_up) times[number - warm_up - 1] = (MPI_Wtime() - start) * 1e6;
        if (!puts) wrong += differs(mine, bytes, CONTENT);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(window);
    if (rank == target && puts) wrong += differs(block, bytes, last);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (!rank && wrong) fprintf(stderr, "latency: %d operations did not bring what they should\n", wrong);
    if (!rank && !wrong) {
        qsort(times, repeat, sizeof *times, compare);
        printf("latency %s ranks %d bytes %d operations %d us p50 %.3f p99 %.3f p99.9 %.3f max %.3f\n", arguments[1], size, bytes, repeat,
               percentile(times, repeat, 500), percentile(times, repeat, 990), percentile(times, repeat, 999), times[repeat - 1]);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return wrong != 0;
}
