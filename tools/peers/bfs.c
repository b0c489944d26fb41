/* What `pelago run bfs` does, by MPI one-sided operations: run with mpirun -n N bfs SCALE ROOTS. In each level every rank writes, for each neighbour of
 * its vertices, the smallest parent to the neighbour's owner by MPI_Accumulate, between fences; prints one line in the form of Pelago's program. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGES = 16, SEED = 1 };
static const uint64_t NONE = UINT64_MAX;
static int me, size, scale;
static uint64_t own, *starts, *neighbours, *offered, *level, *parent, *theirs;
static MPI_Win offers, levels;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull, x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}
static uint64_t scrambled(uint64_t vertex) {
    uint64_t mask = (1ull << scale) - 1;
    for (uint64_t round = 1; round <= 3; round++) {
        vertex = vertex * (mix(SEED ^ round) | 1) & mask;
        vertex ^= vertex >> (scale + 1) / 2;
    }
    return vertex;
}
static void edge(uint64_t number, uint64_t ends[2]) {
    ends[0] = ends[1] = 0;
    for (int bit = 0; bit < scale; bit++) {
        uint64_t draw = mix(mix(SEED ^ number * 0x9E3779B97F4A7C15ull) ^ bit) % 100;
        ends[0] = ends[0] << 1 | (draw >= 76), ends[1] = ends[1] << 1 | ((draw >= 57 && draw < 76) || draw >= 95);
    }
    ends[0] = scrambled(ends[0]), ends[1] = scrambled(ends[1]);
}
/* Every rank makes all edges, and keeps those of its vertices: it is not timed. */
static void make_graph(void) {
    uint64_t all = (uint64_t)EDGES << scale, ends[2], *places = NULL;
    starts = calloc(own + 1, 8);
    for (int pass = 0; pass < 2; pass++) {
        if (pass) {
            for (uint64_t i = 0; i < own; i++) starts[i + 1] += starts[i];
            neighbours = malloc((starts[own] + 1) * 8), places = malloc((own + 1) * 8), memcpy(places, starts, own * 8);
        }
        for (uint64_t number = 0; number < all; number++) {
            edge(number, ends);
            for (int end = 0; end < 2 && ends[0] != ends[1]; end++) {
                if (ends[end] % size != (uint64_t)me) continue;
                if (pass) neighbours[places[ends[end] / size]++] = ends[1 - end];
                else starts[ends[end] / size + 1]++;
            }
        }
    }
    free(places);
}
static uint64_t find_root(uint64_t number) {
    for (uint64_t draw = mix((SEED + number) ^ NONE);; draw = mix(draw + 1)) {
        uint64_t vertex = draw & ((1ull << scale) - 1);
        int good = vertex % size == (uint64_t)me && starts[vertex / size + 1] > starts[vertex / size], any;
        MPI_Allreduce(&good, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
        if (any) return vertex;
    }
}
static long search(uint64_t root, uint64_t *frontier) {
    uint64_t count = 0, next[1];
    for (uint64_t i = 0; i < own; i++) offered[i] = level[i] = parent[i] = NONE;
    if (root % size == (uint64_t)me) level[root / size] = 0, parent[root / size] = root, frontier[count++] = root / size;
    for (uint64_t depth = 0;; depth++) {
        MPI_Allreduce(&count, next, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        if (!next[0]) return depth;
        MPI_Win_fence(MPI_MODE_NOPRECEDE, offers);
        static uint64_t *names;
        if (!names) names = malloc((own + 1) * 8);
        for (uint64_t f = 0; f < count; f++) {
            /* The origin may not change before the fence. */
            uint64_t i = frontier[f];
            names[i] = i * size + me;
            for (uint64_t n = starts[i]; n < starts[i + 1]; n++)
                MPI_Accumulate(names + i, 1, MPI_UINT64_T, neighbours[n] % size, neighbours[n] / size, 1, MPI_UINT64_T, MPI_MIN, offers);
        }
        MPI_Win_fence(MPI_MODE_NOSUCCEED, offers);
        count = 0;
        for (uint64_t i = 0; i < own; i++)
            if (level[i] == NONE && offered[i] != NONE) level[i] = depth + 1, parent[i] = offered[i], frontier[count++] = i;
    }
}
/* Each parent is a neighbour one level up, and levels of the ends of an edge differ by one at most. */
static void examine(uint64_t root, uint64_t sums[3]) {
    uint64_t found[3] = {0};
    memcpy(theirs, level, own * 8);
    MPI_Win_fence(0, levels);
    uint64_t **all = malloc(size * sizeof *all), vertices = 1ull << scale;
    for (int r = 0; r < size; r++) {
        uint64_t count = (vertices - r + size - 1) / size;
        all[r] = malloc(count * 8 + 8);
        MPI_Get(all[r], count, MPI_UINT64_T, r, 0, count, MPI_UINT64_T, levels);
    }
    MPI_Win_fence(0, levels);
    for (uint64_t i = 0; i < own; i++) {
        if (level[i] == NONE) continue;
        found[0]++, found[1] += starts[i + 1] - starts[i];
        uint64_t has_parent = i * size + me == root;
        for (uint64_t n = starts[i]; n < starts[i + 1]; n++) {
            uint64_t other = all[neighbours[n] % size][neighbours[n] / size];
            found[2] += other == NONE || other + 1 < level[i] || other > level[i] + 1;
            has_parent |= neighbours[n] == parent[i] && other + 1 == level[i];
        }
        found[2] += !has_parent;
    }
    for (int r = 0; r < size; r++) free(all[r]);
    free(all);
    MPI_Allreduce(found, sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    sums[1] /= 2;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) return fprintf(stderr, "bfs: SCALE ROOTS\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    scale = atoi(argv[1]), own = ((1ull << scale) - me + size - 1) / size;
    MPI_Win_allocate(own * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &offered, &offers);
    MPI_Win_allocate(own * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &theirs, &levels);
    level = malloc(own * 8), parent = malloc(own * 8);
    uint64_t *frontier = malloc(own * 8), sums[3], depth = 0;
    double seconds_per_edge = 0;
    make_graph();
    for (int number = 0; number < atoi(argv[2]); number++) {
        uint64_t root = find_root(number);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        depth = search(root, frontier);
        double took = MPI_Wtime() - start;
        examine(root, sums);
        if (sums[2]) {
            if (!me) fprintf(stderr, "bfs: %lu wrong in the tree of %lu\n", (unsigned long)sums[2], (unsigned long)root);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        seconds_per_edge += took / (sums[1] ? sums[1] : 1);
    }
    if (!me)
        printf("bfs ranks %d scale %d roots %s reached %lu edges %lu levels %lu millions-per-s %.3f trees right\n", size, scale, argv[2], (unsigned long)sums[0],
            (unsigned long)sums[1], (unsigned long)depth, atoi(argv[2]) / seconds_per_edge / 1e6);
    MPI_Win_free(&offers), MPI_Win_free(&levels);
    MPI_Finalize();
}
