/* Costs of OpenSHMEM operations between two PEs, in ns: one line for each operation and kind of memory. The same source for every implementation.
 *
 * Each value is the median of 21 batches. PE 1 reads what it received. */
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 21
#define WORDS 8192

static long static_words[WORDS];
static uint64_t signal_word;
static long lock_word, sum_in, sum_out;
#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE > WORDS / 2 + 1 ? SHMEM_REDUCE_MIN_WRKDATA_SIZE : WORDS / 2 + 1], sync_words[2][SHMEM_REDUCE_SYNC_SIZE];
#endif

/* Reductions of all PEs. */
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
#define REDUCE(operation, to, from, count, i) shmem_long_##operation##_reduce(SHMEM_TEAM_WORLD, to, from, count)
#else
#define REDUCE(operation, to, from, count, i) shmem_long_##operation##_to_all(to, from, count, 0, 0, 2, work, sync_words[(i) & 1])
#endif

/* Put with signal is of version 1.5; before, the signal is an atomic behind a fence. */
static void put_signal(void *to, const void *from, size_t bytes) {
#if SHMEM_MAJOR_VERSION > 1 || SHMEM_MINOR_VERSION >= 5
    shmem_putmem_signal(to, from, bytes, &signal_word, 1, SHMEM_SIGNAL_ADD, 1);
#else
    shmem_putmem(to, from, bytes, 1);
    shmem_fence();
    shmem_ulong_atomic_add((unsigned long *)&signal_word, 1, 1);
#endif
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int by_value(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Runs batches of `count` and prints the median time of one operation; `both` says whether both PEs take part. */
#define MEASURE(name, kind, count, both, operation)                                                                                          \
    do {                                                                                                                                     \
        double times[BATCHES];                                                                                                               \
        for (int batch = 0; batch < BATCHES; batch++) {                                                                                      \
            shmem_barrier_all();                                                                                                             \
            double begin = now();                                                                                                            \
            if (me == 0 || both)                                                                                                             \
                for (long i = 0; i < (count); i++) {                                                                                         \
                    operation;                                                                                                               \
                }                                                                                                                            \
            if (me == 0 && !both) shmem_quiet();                                                                                             \
            times[batch] = (now() - begin) / (double)(count);                                                                                \
        }                                                                                                                                    \
        qsort(times, BATCHES, sizeof *times, by_value);                                                                                      \
        if (me == 0) printf("%s %s %.2f\n", name, kind, times[BATCHES / 2]);                                                                 \
        fflush(stdout);                                                                                                                      \
    } while (0)

/* The least that a routine of a library can do: a call, and the instruction. */
__attribute__((noinline)) static long called_add(long *word, long value) { return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST); }

int main(int count, char **arguments) {
    long few = count > 1 ? atol(arguments[1]) : 2000, checked = 0;
    shmem_init();
#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
#endif
    int me = shmem_my_pe();
    long *heap = shmem_malloc(WORDS * sizeof *heap), *local = malloc(WORDS * sizeof *local);
    memset(local, 1, WORDS * sizeof *local);
    memset(heap, 0, WORDS * sizeof *heap);
    const struct { const char *kind; long *words; } kinds[2] = {{"heap", heap}, {"static", static_words}};
    for (int which = 0; which < 2; which++) {
        const char *kind = kinds[which].kind;
        long *words = kinds[which].words, got = 0;
        MEASURE("p", kind, 10 * few, 0, shmem_long_p(&words[i & 63], i, 1));
        MEASURE("put+quiet_8", kind, few, 0, (shmem_putmem(words, local, 8, 1), shmem_quiet()));
        MEASURE("g", kind, few, 0, got += shmem_long_g(&words[i & 63], 1));
        MEASURE("get_8", kind, few, 0, shmem_getmem(local, words, 8, 1));
        MEASURE("put+quiet_64K", kind, few / 20 + 1, 0, (shmem_putmem(words, local, 65536, 1), shmem_quiet()));
        MEASURE("get_64K", kind, few / 20 + 1, 0, shmem_getmem(local, words, 65536, 1));
        MEASURE("fetch_add", kind, few, 0, got += shmem_long_atomic_fetch_add(&words[64], 1, 1));
        /* What an atomic instruction costs by itself: on the same word where loads and stores reach it, else on one of this PE. */
        long *plain = shmem_ptr(&words[64], 1) ? shmem_ptr(&words[64], 1) : &words[64];
        MEASURE("plain_atomic", kind, few, 0, got += __atomic_fetch_add(plain, 1, __ATOMIC_SEQ_CST));
        MEASURE("called_atomic", kind, few, 0, got += called_add(plain, 1));
        shmem_barrier_all();
        for (int i = 0; me == 1 && i < WORDS; i++) checked += words[i];
        checked += got;
        /* To the other PE and back; one way is half of it. */
        words[128] = 0;
        long seen = 0;
        MEASURE("wait_until_round_trip", kind, few, 1, {
            seen++;
            if (me == 0) shmem_long_p(&words[128], seen, 1);
            shmem_long_wait_until(&words[128], SHMEM_CMP_GE, seen);
            if (me == 1) shmem_long_p(&words[128], seen, 0);
        });
    }
    MEASURE("put_signal_8+quiet", "heap", few, 0, (put_signal(heap, local, 8), shmem_quiet()));
    MEASURE("barrier_all", "-", few, 1, shmem_barrier_all());
    sum_in = me + 1;
    MEASURE("sum_reduce_8", "-", few, 1, REDUCE(sum, &sum_out, &sum_in, 1, i));
    MEASURE("max_reduce_64K", "heap", few / 20 + 1, 1, REDUCE(max, static_words, heap, WORDS, i));
    MEASURE("set_lock+clear_lock", "-", few, 0, (shmem_set_lock(&lock_word), shmem_clear_lock(&lock_word)));
    if (sum_out != 3 || checked == 42) printf("wrong %ld\n", sum_out);
    shmem_finalize();
    return 0;
}
