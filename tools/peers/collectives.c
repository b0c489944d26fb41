/* What pelago bench collectives measures, by MPI: run with
 *   mpirun -n N [--oversubscribe --mca mpi_yield_when_idle 1] collectives NAME SECONDS [BYTES…]
 * Each line is one result, as pelago's JSON; bytes are those of a block. Operations follow one another; the time is that of the slowest
 * rank. Each cell takes SECONDS at most, if one operation does not take longer. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 9, BATCH_MAX = 2000 };
static const double BATCH_SECONDS = 5e-3;

static int rank, size, count;
static uint64_t *in, *out;

static void must(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "collectives: wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void broadcast(void) { MPI_Bcast(out, count, MPI_UINT64_T, 0, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(in, out, count, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(in, out, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(void) { MPI_Allgather(in, count, MPI_UINT64_T, out, count, MPI_UINT64_T, MPI_COMM_WORLD); }
static void reduce_scatter(void) { MPI_Reduce_scatter_block(in, out, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD); }
static void gather(void) { MPI_Gather(in, count, MPI_UINT64_T, out, count, MPI_UINT64_T, 0, MPI_COMM_WORLD); }
static void scatter(void) { MPI_Scatter(in, count, MPI_UINT64_T, out, count, MPI_UINT64_T, 0, MPI_COMM_WORLD); }
static void alltoall(void) { MPI_Alltoall(in, count, MPI_UINT64_T, out, count, MPI_UINT64_T, MPI_COMM_WORLD); }
static void scan(void) { MPI_Scan(in, out, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD); }
static void exclusive_scan(void) { MPI_Exscan(in, out, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD); }

static uint64_t sum(uint64_t members) { return members * (members + 1) / 2; }

static const struct { const char *name; void (*act)(void); int gets_all, root_gets; } operations[] = {
    {"broadcast", broadcast, 0, 0}, {"reduce", reduce, 0, 1},   {"allreduce", allreduce, 0, 0},
    {"allgather", allgather, 1, 0}, {"reduce-scatter", reduce_scatter, 0, 0},
    {"gather", gather, 1, 1},       {"scatter", scatter, 0, 0}, {"alltoall", alltoall, 1, 0},
    {"scan", scan, 0, 0},           {"exclusive-scan", exclusive_scan, 0, 0}};

static uint64_t expected(const char *name, int block) {
    if (!strcmp(name, "broadcast") || !strcmp(name, "scatter")) return 1;
    if (!strcmp(name, "reduce") || !strcmp(name, "allreduce") || !strcmp(name, "reduce-scatter")) return sum(size);
    if (!strcmp(name, "scan")) return sum(rank + 1);
    if (!strcmp(name, "exclusive-scan")) return rank ? sum(rank) : out[0];
    return block + 1;
}

static double batch(void (*act)(void), int times) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < times; i++) act();
    double took = MPI_Wtime() - start, slowest;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

int main(int argc, char **argv) {
    enum { SIZES_MAX = 16 };
    int bytes[SIZES_MAX] = {8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 1 << 20}, sizes = 7;
    MPI_Init(&argc, &argv);
    must(argc >= 3 && argc <= 3 + SIZES_MAX, "the arguments");
    if (argc > 3) sizes = argc - 3;
    for (int i = 3; i < argc; i++) must((bytes[i - 3] = atoi(argv[i])) >= 8, "a size");
    double limit = atof(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (unsigned o = 0; o < sizeof operations / sizeof *operations; o++)
        for (int b = 0; b < sizes; b++) {
            count = bytes[b] / 8;
            long values = (long)size * count;
            in = malloc(values * 8), out = malloc(values * 8);
            for (long i = 0; i < values; i++) in[i] = out[i] = rank + 1;
            operations[o].act();
            long blocks = operations[o].root_gets && rank ? 0 : operations[o].gets_all ? size : 1;
            for (long i = 0; i < blocks * count; i++) must(out[i] == expected(operations[o].name, i / count), operations[o].name);
            double trial = batch(operations[o].act, 1);
            int times = BATCH_SECONDS / trial, repetitions = limit / trial;
            times = times < 1 ? 1 : times > BATCH_MAX ? BATCH_MAX : times;
            repetitions = repetitions < 1 ? 1 : repetitions > REPETITIONS ? REPETITIONS : repetitions;
            double took[REPETITIONS];
            for (int i = 0; i < repetitions; i++) took[i] = batch(operations[o].act, times) / times * 1e9;
            qsort(took, repetitions, sizeof *took, ascending);
            if (!rank) {
                printf("{\"name\":\"%s\",\"transport\":\"%s\",\"ranks\":%d,\"bytes\":%d,", operations[o].name, argv[1], size, bytes[b]);
                printf("\"median_ns\":%.5g,\"min_ns\":%.5g}\n", took[repetitions / 2], took[0]);
                fflush(stdout);
            }
            free(in), free(out);
        }
    MPI_Finalize();
}
