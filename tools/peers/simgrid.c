/* What pelago's alltoall and barrier do, in MPI, for SimGrid's SMPI: run with
 *   smpirun ... simgrid alltoall BYTES | ring | recursive-doubling
 * Rank 0 prints the microseconds of simulated time that the slowest rank took, as pelago's programs do. The messages of the
 * all-to-all are posted all at once, those of the barriers, words of eight bytes, one after another. What arrives is checked. No
 * variable lies outside a function, so that ranks need no copy of the program each (smpirun -no-privatize). */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "simgrid: wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char pattern(int sender, long place) { return (uint64_t)(sender * 4096L + place) * 0x9E3779B97F4A7C15u >> 56; }

/* The right neighbour is sent to first. */
static void alltoall(int rank, int size, unsigned char *inbox, const unsigned char *block, long bytes, MPI_Request *requests) {
    for (int step = 1; step < size; step++) {
        int left = (rank - step + size) % size;
        MPI_Irecv(inbox + left * bytes, bytes, MPI_BYTE, left, 0, MPI_COMM_WORLD, requests++);
    }
    for (int step = 1; step < size; step++)
        MPI_Isend(block, bytes, MPI_BYTE, (rank + step) % size, 0, MPI_COMM_WORLD, requests++);
    MPI_Waitall(2 * (size - 1), requests - 2 * (size - 1), MPI_STATUSES_IGNORE);
}

static void tell_and_hear(int to, int from, uint64_t word) {
    uint64_t heard = 0;
    MPI_Request request;
    MPI_Isend(&word, 1, MPI_UINT64_T, to, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(&heard, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    must(heard == word, "a word of a barrier");
}

static void ring(int rank, int size) {
    for (int step = 1; step < size; step++) tell_and_hear((rank + 1) % size, (rank - 1 + size) % size, step);
}

static void recursive_doubling(int rank, int size) {
    for (int bit = 1; bit < size; bit *= 2) tell_and_hear(rank ^ bit, rank ^ bit, bit);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    must(argc >= 2, "the arguments");
    int exchanging = !strcmp(argv[1], "alltoall"), going_round = !strcmp(argv[1], "ring");
    must(argc == 2 + exchanging && (exchanging || going_round || !strcmp(argv[1], "recursive-doubling")), "the arguments");
    must(exchanging || going_round || (size & (size - 1)) == 0, "recursive doubling is for powers of two here");
    long bytes = exchanging ? atol(argv[2]) : 0;
    must(!exchanging || (bytes > 0 && bytes < 1 << 30), "the bytes");
    unsigned char *inbox = calloc(size, bytes + 1), *block = malloc(bytes + 1);
    MPI_Request *requests = malloc(2 * size * sizeof *requests);
    must(inbox && block && requests, "the memory");
    for (long i = 0; i < bytes; i++) block[i] = pattern(rank, i);

    double start = MPI_Wtime();
    if (exchanging) alltoall(rank, size, inbox, block, bytes, requests);
    else if (going_round) ring(rank, size);
    else recursive_doubling(rank, size);
    double took = MPI_Wtime() - start, slowest = took;

    for (int sender = 0; exchanging && sender < size; sender++)
        for (long i = 0; i < bytes && sender != rank; i = i == 7 && bytes > 16 ? bytes - 8 : i + 1)
            must(inbox[sender * bytes + i] == pattern(sender, i), "a block");
    MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s ranks %d us %.3f\n", argv[1], size, slowest * 1e6);
    free(inbox), free(block), free(requests);
    MPI_Finalize();
}
