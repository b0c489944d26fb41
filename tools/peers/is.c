/* What `pelago run is` does, by MPI one-sided operations: run with mpirun -n N is CLASS (S, W or A). Each rank puts its keys to the ranks that
 * own their ranges, into a window, at places that follow from the counts; prints one line in the form of Pelago's program. Verified as there. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 10, BUCKETS = 1024, TESTS = 5 };
typedef struct { char name; int keys_log, range_log, growing, up, down; long place[TESTS], rank[TESTS]; } problem;
static const problem problems[] = {
    {'S', 16, 11, 3, 0, 0, {48427, 17148, 23627, 62548, 4431}, {0, 18, 346, 64917, 65463}},
    {'W', 20, 16, 2, 2, 0, {357773, 934767, 875723, 898999, 404505}, {1249, 11698, 1039987, 1043896, 1048018}},
    {'A', 23, 19, 3, 1, 1, {2112377, 662041, 5336171, 3642833, 4250760}, {104, 17523, 123928, 8288932, 8388264}}};
static const problem *now;
static int me, size;
static long first_key, keys, *starts;
static uint32_t *key, *sorted, *owned, *count;
static long owned_keys, owned_first, owned_range, below;
static MPI_Win window;

static const uint64_t MASK = (1ull << 46) - 1;
static uint64_t times(uint64_t a, uint64_t b) { return a * b & MASK; }
static long bound(long total, int rank) { return total * rank / size; }

static void generate(void) {
    uint64_t x = 314159265, power = 1220703125;
    for (uint64_t n = 4 * (uint64_t)first_key; n; n >>= 1, power = times(power, power)) if (n & 1) x = times(x, power);
    for (long i = 0; i < keys; i++) {
        uint64_t sum = 0;
        for (int j = 0; j < 4; j++) sum += x = times(x, 1220703125);
        key[i] = (uint32_t)((unsigned __int128)sum * (1u << (now->range_log - 2)) >> 46);
    }
}

static void set(long place, uint32_t value) { if (place >= first_key && place < first_key + keys) key[place - first_key] = value; }

static int rank_keys(int iteration) {
    int shift = now->range_log - 10;
    set(iteration, iteration), set(iteration + ITERATIONS, (1u << now->range_log) - iteration);
    static uint64_t own[BUCKETS + TESTS], all[BUCKETS + TESTS];
    memset(own, 0, sizeof own);
    for (long i = 0; i < keys; i++) own[key[i] >> shift]++;
    for (int t = 0; t < TESTS; t++) {
        long at = now->place[t] - first_key;
        if (at >= 0 && at < keys) own[BUCKETS + t] = key[at];
    }
    MPI_Allreduce(own, all, BUCKETS + TESTS, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    long place[BUCKETS], next = 0;
    for (int b = 0; b < BUCKETS; b++) place[b] = next, next += own[b];
    for (long i = 0; i < keys; i++) sorted[place[key[i] >> shift]++] = key[i];
    long total = 1l << now->keys_log, passed = 0, *sent = starts, *before = starts + size, at = 0;
    int bucket = 0, first = 0, last = 0;
    for (int r = 0; r < size; r++) {
        int start = bucket;
        long passed_before = passed;
        sent[r] = 0;
        while (bucket < BUCKETS && (r + 1 == size || passed < total * (r + 1) / size)) sent[r] += own[bucket], passed += all[bucket++];
        if (r == me) first = start, last = bucket, below = passed_before, owned_keys = passed - passed_before;
    }
    /* Where this rank's keys begin at each owner. */
    MPI_Exscan(sent, before, size, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (!me) memset(before, 0, size * sizeof *before);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (int r = 0; r < size; at += sent[r], r++)
        if (sent[r]) MPI_Put(sorted + at, sent[r], MPI_UINT32_T, r, before[r], sent[r], MPI_UINT32_T, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    owned_first = (long)first << shift, owned_range = (long)(last - first) << shift;
    memset(count, 0, owned_range * sizeof *count);
    for (long i = 0; i < owned_keys; i++) count[owned[i] - owned_first]++;
    int right = 1;
    for (int t = 0; t < TESTS; t++) {
        long value = all[BUCKETS + t], found = below;
        if (value < owned_first || value >= owned_first + owned_range) continue;
        for (long k = owned_first; k < value; k++) found += count[k - owned_first];
        long expected = now->rank[t] + (t < now->growing ? iteration - now->up : now->down - iteration);
        right &= found == expected;
    }
    return right;
}

/* Keys in the order of the counts: none is missing, and they are those that were brought. */
static int is_sorted(void) {
    uint64_t sums[4] = {0, 0, keys, 0}, all[4];
    for (long k = 0; k < owned_range; k++) sums[0] += count[k], sums[1] += count[k] * (uint64_t)(owned_first + k);
    for (long i = 0; i < keys; i++) sums[3] += key[i];
    MPI_Allreduce(sums, all, 4, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all[0] == all[2] && all[1] == all[3];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int p = 0; p < 3; p++) if (argc == 2 && problems[p].name == argv[1][0]) now = problems + p;
    if (!now) return fprintf(stderr, "is: a class is S, W or A\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    long total = 1l << now->keys_log;
    first_key = bound(total, me), keys = bound(total, me + 1) - first_key;
    key = malloc(keys * 4), sorted = malloc(keys * 4), count = malloc(4l << now->range_log), starts = malloc(2 * size * sizeof *starts);
    /* As many as may come: few ranks have twice their share. */
    MPI_Win_allocate((size == 1 ? 1 : 2) * (total / size + total / 8) * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &owned, &window);
    generate();
    int right = rank_keys(1);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 1; i <= ITERATIONS; i++) right &= rank_keys(i);
    double ends[2] = {MPI_Wtime() - start, 0}, slowest[2];
    ends[1] = !(right & is_sorted());
    MPI_Reduce(ends, slowest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!me) printf("is class %c ranks %d ms %.3f %s\n", now->name, size, slowest[0] * 1e3, slowest[1] ? "WRONG" : "verified");
    MPI_Win_free(&window);
    MPI_Finalize();
}
