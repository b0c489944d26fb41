/* What `pelago run uts` does, by MPI one-sided operations: run with mpirun -n N uts ROOT. The owner of a ring of tasks and its thieves change one word of bounds by
 * MPI_Compare_and_swap; thieves get tasks by MPI_Get; rank 0 counts open tasks. Prints one line in the form of Pelago's program. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RING = 1 << 12, CHUNK = 32, CHILDREN = 8, MILLIONTHS = 124000, PROGRESS = 256 };
typedef struct { uint64_t hash, depth; } node;
/* The bounds of the ring, running numbers: taken in the low half, put in the high one; tasks read by thieves; open tasks (rank 0). */
typedef struct { uint64_t bounds, read, open, pad[5]; node ring[RING]; } shared;

static int me, size;
static shared *mine;
static MPI_Win window;
static node *own;
static long owned, room = 1 << 16;
static int64_t unreported;
static uint64_t nodes, leaves, depth_max, stolen;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull, x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}
static MPI_Aint at(const void *place) { return (const char *)place - (const char *)mine; }
static uint64_t fetch(int rank, const void *place, uint64_t add, MPI_Op op) {
    uint64_t found;
    MPI_Fetch_and_op(&add, &found, MPI_UINT64_T, rank, at(place), op, window);
    MPI_Win_flush(rank, window);
    return found;
}
static uint64_t swap(int rank, const void *place, uint64_t expected, uint64_t new) {
    uint64_t found;
    MPI_Compare_and_swap(&new, &expected, &found, MPI_UINT64_T, rank, at(place), window);
    MPI_Win_flush(rank, window);
    return found;
}
static void report(void) {
    if (unreported) fetch(0, &mine->open, (uint64_t)unreported, MPI_SUM);
    unreported = 0;
}
static void push(node task) {
    if (owned == room) own = realloc(own, (room *= 2) * sizeof *own);
    own[owned++] = task, unreported++;
}
/* The oldest half of the own tasks goes to the ring if thieves have emptied it. */
static void share(void) {
    if (size == 1 || owned < 2 * CHUNK) return;
    uint64_t bounds = mine->bounds, taken = (uint32_t)bounds, put = bounds >> 32;
    if (put != taken || (uint32_t)fetch(me, &mine->read, 0, MPI_NO_OP) != (uint32_t)put) return;
    report();
    long some = owned / 2 < RING ? owned / 2 : RING;
    for (long i = 0; i < some; i++) mine->ring[(put + i) % RING] = own[i];
    memmove(own, own + some, (owned -= some) * sizeof *own);
    MPI_Win_sync(window);
    swap(me, &mine->bounds, bounds, (uint64_t)(uint32_t)(put + some) << 32 | taken);
}
static int take(int rank) {
    uint64_t bounds = rank == me ? mine->bounds : fetch(rank, &mine->bounds, 0, MPI_NO_OP);
    for (;;) {
        uint32_t taken = (uint32_t)bounds, put = (uint32_t)(bounds >> 32), there = put - taken, some = (there + 1) / 2;
        if (some > CHUNK) some = CHUNK;
        if (!there) return 0;
        uint64_t found = swap(rank, &mine->bounds, bounds, (uint64_t)put << 32 | (uint32_t)(taken + some));
        if (found != bounds) { bounds = found; continue; }
        uint32_t start = taken % RING, until = some < RING - start ? some : RING - start;
        while (owned + some > room) own = realloc(own, (room *= 2) * sizeof *own);
        MPI_Get(own + owned, until * 2, MPI_UINT64_T, rank, at(mine->ring + start), until * 2, MPI_UINT64_T, window);
        if (some > until) MPI_Get(own + owned + until, (some - until) * 2, MPI_UINT64_T, rank, at(mine->ring), (some - until) * 2, MPI_UINT64_T, window);
        MPI_Win_flush(rank, window);
        fetch(rank, &mine->read, some, MPI_SUM);
        owned += some;
        if (rank != me) stolen += some;
        return 1;
    }
}
static int next(node *task) {
    for (int victim = me;; victim = (victim + 1) % size) {
        if (!owned && !take(victim)) {
            if (victim != me) {
                report();
                if (!fetch(0, &mine->open, 0, MPI_NO_OP)) return 0;
            } else if (size == 1) return 0;
        }
        if (owned) return *task = own[--owned], 1;
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 2) return fprintf(stderr, "uts: ROOT\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win_allocate(sizeof *mine, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &window);
    memset(mine, 0, sizeof *mine), own = malloc(room * sizeof *own);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Win_sync(window);
    if (!me) mine->open = 1, own[owned++] = (node){mix(1), 0};
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (node task; next(&task); share()) {
        int inner = (uint64_t)((unsigned __int128)task.hash * 1000000 >> 64) < MILLIONTHS;
        int children = !task.depth ? atoi(argv[1]) : inner ? CHILDREN : 0;
        nodes++, leaves += !children;
        if (task.depth > depth_max) depth_max = task.depth;
        for (uint64_t i = 1; i <= (uint64_t)children; i++) push((node){mix(task.hash + i * 0x9E3779B97F4A7C15ull), task.depth + 1});
        unreported--;
        if (nodes % PROGRESS == 0) MPI_Win_flush_local(me, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double took = MPI_Wtime() - start;
    MPI_Win_unlock_all(window);
    uint64_t sums[3] = {nodes, leaves, stolen}, all[3], deepest, most, least;
    MPI_Reduce(sums, all, 3, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&depth_max, &deepest, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&nodes, &most, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&nodes, &least, 1, MPI_UINT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    if (!me)
        printf("uts ranks %d nodes %lu leaves %lu depth %lu s %.6f millions-per-s %.3f stolen %lu most %lu least %lu\n", size, (unsigned long)all[0],
            (unsigned long)all[1], (unsigned long)deepest, took, all[0] / took / 1e6, (unsigned long)all[2], (unsigned long)most, (unsigned long)least);
    MPI_Win_free(&window);
    MPI_Finalize();
}
