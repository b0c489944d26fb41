/* Many ranks send single messages to one by MPI: what `pelago run incast` does, timed from the first rank that may send. Run with
 *   mpirun -n N messages MESSAGES BYTES        rate: each rank but 0 sends so many by MPI_Send in a plain loop; rank 0 receives from any rank
 *   mpirun -n 2 messages MESSAGES BYTES pong   half of the median round trip of two ranks that answer each other
 * Rank 0 reads every message, checks that those of a sender come in order, and prints one line as JSON. All ranks run on one host. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE = 0 };

/* The same clock for all processes of a host. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static int by_size(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double pong(int rank, int messages, unsigned char *message, int bytes) {
    int other = 1 - rank;
    double *times = malloc(messages * sizeof *times), start = 0, median;
    MPI_Status status;
    for (int number = 0; number < messages; number++) {
        if (!rank) {
            start = now();
            MPI_Send(message, bytes, MPI_BYTE, other, MESSAGE, MPI_COMM_WORLD);
        }
        MPI_Recv(message, bytes, MPI_BYTE, other, MESSAGE, MPI_COMM_WORLD, &status);
        if (rank) MPI_Send(message, bytes, MPI_BYTE, other, MESSAGE, MPI_COMM_WORLD);
        times[number] = now() - start;
    }
    qsort(times, messages, sizeof *times, by_size);
    median = times[messages / 2];
    free(times);
    return median;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count < 3) {
        if (!rank) fprintf(stderr, "usage: messages MESSAGES BYTES [pong]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int messages = atoi(arguments[1]), bytes = atoi(arguments[2]), is_pong = count > 3;
    unsigned char *message = calloc(1, bytes < 8 ? 8 : bytes);
    uint32_t *next = calloc(size, sizeof *next);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now(), first;
    if (is_pong) {
        double median = pong(rank, messages, message, bytes);
        if (!rank)
            printf("{\"name\":\"ping-pong\",\"senders\":1,\"bytes\":%d,\"by\":\"openmpi\",\"value\":%.1f}\n", bytes,
                   median / 2 * 1e9);
        MPI_Finalize();
        return 0;
    }
    for (int number = 0; rank && number < messages; number++) {
        uint32_t head[2] = { rank, number };
        memcpy(message, head, sizeof head);
        memset(message + sizeof head, number, bytes - sizeof head);
        MPI_Send(message, bytes, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD);
    }
    for (long taken = 0; !rank && taken < (long)(size - 1) * messages; taken++) {
        MPI_Status status;
        MPI_Recv(message, bytes, MPI_BYTE, MPI_ANY_SOURCE, MESSAGE, MPI_COMM_WORLD, &status);
        uint32_t head[2];
        memcpy(head, message, sizeof head);
        for (int at = sizeof head; at < bytes; at++)
            if (message[at] != (unsigned char)head[1]) MPI_Abort(MPI_COMM_WORLD, 1);
        if ((int)head[0] != status.MPI_SOURCE || head[1] != next[head[0]]++) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double end = now();
    MPI_Reduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    if (!rank)
        printf("{\"name\":\"rate\",\"senders\":%d,\"bytes\":%d,\"by\":\"openmpi\",\"value\":%.0f}\n", size - 1, bytes,
               (double)(size - 1) * messages / (end - first));
    MPI_Finalize();
    return 0;
}
