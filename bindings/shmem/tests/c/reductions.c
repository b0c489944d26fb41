/* Every reduction and scan of every type beside a serial loop: short and long, some of them in place. The test writes reductions.h, a line for each of
 * them, from the table of routines. The members synchronize at no other time, so that they come to each call early or late. */
#include "check.h"

#define BYTES 5000

static long double sources[BYTES / 16 + 2], dests[BYTES / 16 + 2];
static int me, n;

#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define XOR(a, b) ((a) ^ (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define SUM(a, b) ((a) + (b))
#define PROD(a, b) ((a) * (b))

/* The value of a PE. Sums and products of up to 7 PEs are exact in every floating-point type; with more PEs values are 1, 2, and their negatives. */
static int value(int pe, size_t i) {
    int size = (pe * 5 + (int)(i % 100) * 3) % (n > 7 ? 2 : 4) + 1;
    return (pe + (int)(i % 100)) % 3 ? size : -size;
}

#define REDUCE(ROUTINE, T, COMBINE)                                                              \
    static void ROUTINE##_test(size_t length, int in_place) {                                    \
        T *source = (T *)sources, *dest = (T *)(in_place ? sources : dests);                     \
        for (size_t i = 0; i < length; i++)                                                      \
            source[i] = (T)value(me, i);                                                         \
        CHECK(shmem_##ROUTINE(SHMEM_TEAM_WORLD, dest, source, length) == 0);                     \
        for (size_t i = 0; i < length; i++) {                                                    \
            T expected = (T)value(0, i);                                                         \
            for (int pe = 1; pe < n; pe++)                                                       \
                expected = (T)COMBINE(expected, (T)value(pe, i));                                \
            CHECK(dest[i] == expected);                                                          \
        }                                                                                        \
    }
#define SCAN(ROUTINE, T, INCLUSIVE)                                                              \
    static void ROUTINE##_test(size_t length, int in_place) {                                    \
        T *source = (T *)sources, *dest = (T *)(in_place ? sources : dests);                     \
        for (size_t i = 0; i < length; i++)                                                      \
            source[i] = (T)value(me, i);                                                         \
        CHECK(shmem_##ROUTINE(SHMEM_TEAM_WORLD, dest, source, length) == 0);                     \
        for (size_t i = 0; i < length; i++) {                                                    \
            T expected = (T)0;                                                                   \
            for (int pe = 0; pe < me + INCLUSIVE; pe++)                                          \
                expected = (T)(expected + (T)value(pe, i));                                      \
            CHECK(dest[i] == expected);                                                          \
        }                                                                                        \
    }
#include "reductions.h"
#undef REDUCE
#undef SCAN

/* As a parcel, by a landing buffer, and in parts of all members; every second routine in place. */
#define REDUCE(ROUTINE, T, COMBINE)                                                              \
    ROUTINE##_test(120 / sizeof(T) - (size_t)tested % 3, tested % 2);                            \
    ROUTINE##_test(120 / sizeof(T) + 1, tested % 2);                                             \
    ROUTINE##_test(BYTES / sizeof(T), tested % 2);                                               \
    tested++;
#define SCAN(ROUTINE, T, INCLUSIVE) REDUCE(ROUTINE, T, INCLUSIVE)

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes();
    int tested = 0;
#include "reductions.h"
    CHECK(tested == ROUTINES);
    /* Many short ones in a row, while PEs are late in turn. */
    static long one, sum;
    for (long i = 0; i < 300; i++) {
        for (volatile long turn = 0; turn < (i % n == me ? 20000 : 0);)
            turn = turn + 1;
        one = i * 1000 + me;
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1) == 0);
        CHECK(sum == i * 1000 * n + (long)n * (n - 1) / 2);
    }
    good();
    shmem_finalize();
    return 0;
}
