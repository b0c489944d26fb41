/* Waits, tests, signals and order. */
#define _GNU_SOURCE
#include "check.h"

#include <unistd.h>

static long flags[8];
static int words[8];
static uint64_t signals[4];
static long data[256];

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    uint64_t *heap_signal = shmem_calloc(1, sizeof(uint64_t));
    long *heap_data = shmem_calloc(256, sizeof(long));
    long own[256];
    for (int round = 1; round <= 20; round++) {
        /* Data, order, flag. */
        for (int i = 0; i < 256; i++)
            own[i] = 1000L * round + me;
        shmem_put(data, own, 256, right);
        shmem_fence();
        shmem_p(flags, (long)round, right);
        shmem_wait_until(flags, SHMEM_CMP_EQ, (long)round);
        for (int i = 0; i < 256; i++)
            CHECK(data[i] == 1000L * round + left);
        /* A put with a signal. */
        shmem_put_signal(heap_data, own, 256, heap_signal, (uint64_t)round, SHMEM_SIGNAL_SET, right);
        CHECK(shmem_signal_wait_until(heap_signal, SHMEM_CMP_GE, (uint64_t)round) == (uint64_t)round);
        for (int i = 0; i < 256; i++)
            CHECK(heap_data[i] == 1000L * round + left);
        CHECK(shmem_signal_fetch(heap_signal) == (uint64_t)round);
        shmem_barrier_all();
    }
    /* All PEs add to signals of all. */
    for (int pe = 0; pe < n; pe++)
        shmem_putmem_signal_nbi(heap_data + me % 256, own, 8, signals, 1, SHMEM_SIGNAL_ADD, pe);
    CHECK(shmem_signal_wait_until(signals, SHMEM_CMP_EQ, (uint64_t)n) == (uint64_t)n);
    shmem_quiet();
    shmem_signal_add(signals + 1, 5, right);
    shmem_signal_set(signals + 2, 9, right);
    shmem_signal_wait_until(signals + 1, SHMEM_CMP_NE, 0);
    shmem_signal_wait_until(signals + 2, SHMEM_CMP_GT, 8);
    CHECK(signals[1] == 5 && signals[2] == 9);
    shmem_barrier_all();

    /* Several words. */
    int status[8] = {0, 1, 0, 0, 0, 0, 0, 1};
    size_t indices[8];
    CHECK(shmem_test(words, SHMEM_CMP_EQ, 1) == 0);
    CHECK(shmem_test_any(words, 8, NULL, SHMEM_CMP_GT, 0) == SIZE_MAX);
    CHECK(shmem_wait_until_any(words, 0, NULL, SHMEM_CMP_GT, 0) == SIZE_MAX);
    CHECK(shmem_wait_until_some(words, 0, indices, NULL, SHMEM_CMP_GT, 0) == 0);
    shmem_wait_until_all(words, 0, NULL, SHMEM_CMP_GT, 0);
    CHECK(shmem_test_all(words, 0, NULL, SHMEM_CMP_GT, 0) == 1);
    shmem_barrier_all();
    shmem_p(words + 1, 1, right);
    shmem_fence();
    shmem_p(words + 4, 1, right);
    CHECK(shmem_wait_until_any(words, 8, status, SHMEM_CMP_GT, 0) == 4);
    CHECK(shmem_wait_until_some(words, 8, indices, NULL, SHMEM_CMP_EQ, 1) == 2 && indices[0] == 1 && indices[1] == 4);
    CHECK(shmem_test_some(words, 8, indices, status, SHMEM_CMP_EQ, 1) == 1 && indices[0] == 4);
    CHECK(shmem_test_any(words, 8, NULL, SHMEM_CMP_GE, 1) == 1);
    CHECK(shmem_test_all(words, 8, NULL, SHMEM_CMP_LE, 1) == 1 && shmem_test_all(words, 8, NULL, SHMEM_CMP_LT, 1) == 0);
    shmem_barrier_all();
    for (int i = 0; i < 8; i++)
        shmem_p(words + i, 10 + i, right);
    shmem_wait_until_all(words, 8, NULL, SHMEM_CMP_GE, 10);
    int expected[8] = {10, 11, 12, 13, 14, 15, 16, 17};
    shmem_wait_until_all_vector(words, 8, NULL, SHMEM_CMP_EQ, expected);
    expected[3] = 0;
    CHECK(shmem_test_all_vector(words, 8, NULL, SHMEM_CMP_EQ, expected) == 0);
    CHECK(shmem_wait_until_any_vector(words, 8, NULL, SHMEM_CMP_NE, expected) == 3);
    CHECK(shmem_test_any_vector(words, 8, NULL, SHMEM_CMP_NE, expected) == 3);
    CHECK(shmem_wait_until_some_vector(words, 8, indices, NULL, SHMEM_CMP_EQ, expected) == 7 && indices[3] == 4);
    CHECK(shmem_test_some_vector(words, 8, indices, status, SHMEM_CMP_EQ, expected) == 5);
    shmem_barrier_all();
    /* A PE that only tests sees what comes. */
    shmem_atomic_inc(flags + 1, right);
    while (!shmem_test(flags + 1, SHMEM_CMP_EQ, 1L))
        ;
    shmem_long_wait(flags + 1, 0);
    shmem_barrier_all();
    /* A store by a pointer wakes the PE that waits for it: otherwise each of these takes half a second. */
    static long turn;
    long *next = shmem_ptr(&turn, right);
    for (long hop = me; n > 1 && next != NULL && hop < 300; hop += n) {
        if (hop > 0)
            shmem_wait_until(&turn, SHMEM_CMP_EQ, hop);
        usleep(1000); /* the next PE sleeps now */
        __atomic_store_n(next, hop + 1, __ATOMIC_RELEASE);
        if (hop % 2)
            shmem_fence();
    }
    shmem_barrier_all();
    good();
    shmem_finalize();
    return 0;
}
