/* What pelago bench measures, by one-sided MPI: run with
 *   mpirun -n N [--oversubscribe --mca mpi_yield_when_idle 1] --mca osc sm openmpi TRANSPORT memory|network|barrier
 * Rank 0 acts on the memory of rank 1, in a window that MPI allocated; each line is one result, as pelago's JSON. TRANSPORT is how the
 * results name it. Over a network batches are shorter, and what needs another's memory to be looked at is left out: there it shows
 * only to who calls MPI. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 41, SLOTS = 512, WINDOW = 512, LARGE = 1 << 20 };

static int rank, size;
static const char *transport;
static MPI_Win window;
static volatile uint64_t *here; /* this rank's part of the window */
static uint64_t *block;         /* the program's memory */
static uint64_t sent;

static void must(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "openmpi: wrong: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

static void report(const char *name, long bytes, double *ns) {
    qsort(ns, REPETITIONS, sizeof *ns, ascending);
    if (rank) return;
    printf("{\"name\":\"%s\",\"transport\":\"%s\",\"ranks\":%d,", name, transport, size);
    if (bytes) printf("\"bytes\":%ld,", bytes);
    printf("\"median_ns\":%.5g,\"min_ns\":%.5g}\n", ns[REPETITIONS / 2], ns[0]);
    fflush(stdout);
}

static void put_words(long count, int flush_every) {
    for (long i = 1; i <= count; i++) {
        uint64_t value = sent++;
        MPI_Put(&value, 1, MPI_UINT64_T, 1, value % SLOTS, 1, MPI_UINT64_T, window);
        if (i % flush_every == 0) MPI_Win_flush(1, window);
    }
}
static void put(long count) { put_words(count, 1); }
static void rate(long count) { put_words(count, WINDOW); }
static void get(long count) {
    for (long i = 0; i < count; i++) {
        uint64_t value, slot = i % SLOTS;
        MPI_Get(&value, 1, MPI_UINT64_T, 1, slot, 1, MPI_UINT64_T, window);
        MPI_Win_flush(1, window);
        must(value == sent - SLOTS + (slot + SLOTS - sent % SLOTS) % SLOTS, "a word that was got");
    }
}
static uint64_t counted;
static void fetch_add(long count) {
    for (long i = 0; i < count; i++) {
        uint64_t one = 1, found;
        MPI_Fetch_and_op(&one, &found, MPI_UINT64_T, 1, SLOTS, MPI_SUM, window);
        MPI_Win_flush(1, window);
        must(found == counted++, "a word that was fetched");
    }
}
static void compare_swap(long count) {
    for (long i = 0; i < count; i++) {
        uint64_t next = counted + 1, found;
        MPI_Compare_and_swap(&next, &counted, &found, MPI_UINT64_T, 1, SLOTS, window);
        MPI_Win_flush(1, window);
        must(found == counted++, "a word that was fetched");
    }
}
/* One way of: put, seen by the target, put back. Both ranks play. */
static uint64_t played;
static void visible(long count) {
    for (long i = 0; i < count; i++) {
        uint64_t value = ++played;
        for (int turn = 0; turn < 2; turn++) {
            if (turn == rank) {
                MPI_Put(&value, 1, MPI_UINT64_T, 1 - rank, SLOTS + 8, 1, MPI_UINT64_T, window);
                MPI_Win_flush(1 - rank, window);
            } else
                while (here[SLOTS + 8] != value) MPI_Win_sync(window);
        }
    }
}
static void barrier(long count) { for (long i = 0; i < count; i++) MPI_Barrier(MPI_COMM_WORLD); }

/* Times batches of count operations, by rank 0 alone or by all. */
static void batches(const char *name, long bytes, void (*act)(long), long count, double per, int all) {
    double ns[REPETITIONS];
    for (int repetition = -2; repetition < REPETITIONS; repetition++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (all || rank == 0) act(count);
        double took = (MPI_Wtime() - start) * 1e9 / count / per;
        if (repetition >= 0) ns[repetition] = took;
        if (!all) MPI_Bcast(&sent, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        for (uint64_t slot = 0; !all && rank == 1 && sent && slot < SLOTS; slot++)
            must(here[slot] % SLOTS == slot && here[slot] >= sent - SLOTS, "a word that was put");
    }
    report(name, bytes, ns);
}

static uint64_t pattern(uint64_t round, long i) { return round * 0x9E3779B97F4A7C15u + i; }

/* One transfer at a time; the receiver reads all of it. */
static void transfer(const char *name, long bytes) {
    double ns[REPETITIONS];
    for (uint64_t round = 1; round <= REPETITIONS + 2; round++) {
        for (long i = 0; rank == 0 && i < bytes / 8; i++) block[i] = pattern(round, i);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Put(block, bytes / 8, MPI_UINT64_T, 1, 2 * SLOTS, bytes / 8, MPI_UINT64_T, window);
            MPI_Win_flush(1, window);
        }
        if (round > 2) ns[round - 3] = (MPI_Wtime() - start) * 1e9;
        MPI_Barrier(MPI_COMM_WORLD);
        for (long i = 0; rank == 1 && i < bytes / 8; i++) must(here[2 * SLOTS + i] == pattern(round, i), "a block that was put");
    }
    report(name, bytes, ns);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    must(argc == 3, "the arguments");
    transport = argv[1];
    int over_memory = !strcmp(argv[2], "memory"), over_network = !strcmp(argv[2], "network");
    long count = over_network ? 2 * SLOTS : 16 * SLOTS;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(LARGE + 2 * SLOTS * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, (void *)&here, &window);
    memset((void *)here, 0, LARGE + 2 * SLOTS * 8);
    block = malloc(LARGE);
    MPI_Win_lock_all(0, window);
    if (over_memory || over_network) {
        batches("put", 8, put, count, 1, 0);
        batches("get", 8, get, count, 1, 0);
        batches("fetch_add", 8, fetch_add, count, 1, 0);
        if (over_memory) batches("compare_swap", 8, compare_swap, count, 1, 0);
        if (over_memory) batches("visible", 8, visible, 600, 2, 1);
        batches("rate", 8, rate, count, 1, 0);
        transfer("put", 64 << 10);
        transfer("put", 1 << 20);
    }
    batches("barrier", 0, barrier, size > 2 ? 200 : 1000, 1, 1);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
}
