/* What pelago bench halo measures, by two-sided MPI with persistent requests: run with
 *   mpirun -n 2 --mca btl self,vader halo EDGE
 * Two ranks with a cube each, side by side; each sends its border and receives its halo, and reads it before the clock stops. "vector" lets
 * MPI take the cells from where they lie and put them there, by a derived datatype; "pack" copies them by loops. Each line is one
 * result, as pelago's JSON. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 201, WARM_UP = 2, LANES = 8 };

static int rank;
static long edge;
static double *cube, *out, *in;

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

/* The cells of a plane: the place of the first, and the two distances. */
typedef struct { long first, slow, fast; } plane;

static double value(long round, long index) { return (double)(round + index % 1021); }

static void pack(plane p) {
    for (long i = 0; i < edge; i++)
        for (long j = 0; j < edge; j++) out[i * edge + j] = cube[p.first + i * p.slow + j * p.fast];
}
static void unpack(plane p) {
    for (long i = 0; i < edge; i++)
        for (long j = 0; j < edge; j++) cube[p.first + i * p.slow + j * p.fast] = in[i * edge + j];
}

static void measure(const char *name, const char *how, plane border, plane halo, int packs) {
    MPI_Request requests[2];
    MPI_Datatype row, face;
    MPI_Type_vector(edge, 1, border.fast, MPI_DOUBLE, &row);
    if (border.fast == 1) MPI_Type_contiguous(edge, MPI_DOUBLE, &row);
    if (border.fast == 1 && border.slow == edge) MPI_Type_contiguous(edge, row, &face);
    else if (border.slow == edge * border.fast) MPI_Type_vector(edge * edge, 1, border.fast, MPI_DOUBLE, &face);
    else MPI_Type_create_hvector(edge, 1, border.slow * sizeof(double), row, &face);
    MPI_Type_commit(&face);
    if (packs) {
        MPI_Recv_init(in, edge * edge, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(out, edge * edge, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    } else {
        MPI_Recv_init(cube + halo.first, 1, face, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(cube + border.first, 1, face, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    }
    double ns[REPETITIONS];
    for (long round = 0; round < WARM_UP + REPETITIONS; round++) {
        for (long i = 0; i < edge; i++)
            for (long j = 0; j < edge; j++) cube[border.first + i * border.slow + j * border.fast] = value(round, i * edge + j);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime(), sums[LANES] = {0}, sum = 0, expected = 0;
        if (packs) {
            MPI_Start(&requests[0]);
            pack(border);
            MPI_Start(&requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            unpack(halo);
        } else {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        for (long i = 0; i < edge; i++)
            for (long j = 0; j < edge; j++) sums[(i * edge + j) % LANES] += cube[halo.first + i * halo.slow + j * halo.fast];
        double took = (MPI_Wtime() - start) * 1e9;
        for (int lane = 0; lane < LANES; lane++) sum += sums[lane];
        for (long i = 0; i < edge * edge; i++) expected += value(round, i);
        if (sum != expected) {
            fprintf(stderr, "halo: wrong: %s by %s, %g instead of %g\n", name, how, sum, expected);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (round >= WARM_UP) ns[round - WARM_UP] = took;
    }
    qsort(ns, REPETITIONS, sizeof *ns, ascending);
    if (rank == 0)
        printf("{\"name\":\"halo\",\"transport\":\"openmpi\",\"ranks\":2,\"plane\":\"%s %s\",\"bytes\":%ld,\"median_ns\":%.5g,\"min_ns\":%.5g}\n",
               name, how, edge * edge * 8, ns[REPETITIONS / 2], ns[0]);
    fflush(stdout);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&row);
    MPI_Type_free(&face);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    edge = argc == 2 ? atol(argv[1]) : 0;
    if (edge < 1 || size != 2) {
        fprintf(stderr, "halo: two ranks, and the edge of the cube as argument\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    out = malloc(edge * edge * sizeof *out);
    in = malloc(edge * edge * sizeof *in);
    static const char *names[3] = {"jk", "ik", "ij"};
    for (int across = 0; across < 3; across++) {
        long lengths[3] = {edge, edge, edge};
        lengths[across] += 2;
        long strides[3] = {lengths[1] * lengths[2], lengths[2], 1};
        cube = malloc(lengths[0] * strides[0] * sizeof *cube);
        memset(cube, 0, lengths[0] * strides[0] * sizeof *cube);
        long slow = strides[across == 0], fast = strides[across == 2 ? 1 : 2];
        /* The first cube sends its last plane and receives the one behind it, the second its first and the one before it. */
        plane border = {(rank == 0 ? edge : 1) * strides[across], slow, fast};
        plane halo = {(rank == 0 ? edge + 1 : 0) * strides[across], slow, fast};
        measure(names[across], "vector", border, halo, 0);
        measure(names[across], "pack", border, halo, 1);
        free(cube);
    }
    MPI_Finalize();
}
