/* Accesses to single words, and how many of them call the library.   words PES ALL|OTHERS|NONE: whose words a call accesses */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <sched.h>

static long calls, word, mask, gate;
static double real;

/* These take the place of routines of the library: they count the calls and pass them on. */
#define COUNTED(result, name, parameters, arguments)                \
    result counted_##name parameters __asm__("shmem_" #name);       \
    result counted_##name parameters {                              \
        calls++;                                                    \
        return pshmem_##name arguments;                             \
    }
#define COUNTED_VOID(name, parameters, arguments)                   \
    void counted_##name parameters __asm__("shmem_" #name);         \
    void counted_##name parameters {                                \
        calls++;                                                    \
        pshmem_##name arguments;                                    \
    }
COUNTED_VOID(long_p, (long *dest, long value, int pe), (dest, value, pe))
COUNTED(long, long_g, (const long *source, int pe), (source, pe))
COUNTED_VOID(long_atomic_set, (long *dest, long value, int pe), (dest, value, pe))
COUNTED(long, long_atomic_fetch, (const long *source, int pe), (source, pe))
COUNTED_VOID(long_atomic_add, (long *dest, long value, int pe), (dest, value, pe))
COUNTED_VOID(long_atomic_inc, (long *dest, int pe), (dest, pe))
COUNTED(long, long_atomic_fetch_add, (long *dest, long value, int pe), (dest, value, pe))
COUNTED(long, long_atomic_fetch_inc, (long *dest, int pe), (dest, pe))
COUNTED(long, long_atomic_swap, (long *dest, long value, int pe), (dest, value, pe))
COUNTED(long, long_atomic_compare_swap, (long *dest, long cond, long value, int pe), (dest, cond, value, pe))
COUNTED_VOID(int64_atomic_and, (int64_t *dest, int64_t value, int pe), (dest, value, pe))
COUNTED_VOID(int64_atomic_or, (int64_t *dest, int64_t value, int pe), (dest, value, pe))
COUNTED_VOID(int64_atomic_xor, (int64_t *dest, int64_t value, int pe), (dest, value, pe))
COUNTED(int64_t, int64_atomic_fetch_and, (int64_t *dest, int64_t value, int pe), (dest, value, pe))
COUNTED(double, double_atomic_swap, (double *dest, double value, int pe), (dest, value, pe))
COUNTED(long, long_finc, (long *dest, int pe), (dest, pe))

#define ROUTINES 16

/* Calls each of these routines once, at a PE that nobody else accesses meanwhile. */
static void access_words(long *at, int pe) {
    shmem_long_p(at, 7, pe);
    shmem_quiet();
    CHECK(shmem_long_g(at, pe) == 7);
    shmem_long_atomic_set(at, 40, pe);
    shmem_long_atomic_add(at, 2, pe);
    shmem_long_atomic_inc(at, pe);
    shmem_quiet();
    CHECK(shmem_long_atomic_fetch(at, pe) == 43);
    CHECK(shmem_long_atomic_fetch_add(at, -3, pe) == 43);
    CHECK(shmem_long_atomic_fetch_inc(at, pe) == 40);
    CHECK(shmem_long_finc(at, pe) == 41);
    CHECK(shmem_long_atomic_swap(at, 9, pe) == 42);
    CHECK(shmem_long_atomic_compare_swap(at, 8, 1, pe) == 9);
    shmem_int64_atomic_or(&mask, 0x70, pe);
    shmem_quiet();
    shmem_int64_atomic_and(&mask, 0x50, pe);
    shmem_quiet();
    shmem_int64_atomic_xor(&mask, 0x11, pe);
    shmem_quiet();
    CHECK(shmem_int64_atomic_fetch_and(&mask, 0, pe) == 0x41);
    CHECK(shmem_double_atomic_swap(&real, 0.5, pe) == 0.0 && shmem_double_atomic_swap(&real, 0.0, pe) == 0.5);
}

#ifdef SMA_INLINE
/* Whether a PE sleeps until the cache line of a word changes, or any memory: the second word of a doorbell has the line, and the bell as the sleeper has
 * announced it. */
static int sleeps(const struct sma_word *word, uint32_t *bell) {
    uint64_t awaited = __atomic_load_n((uint64_t *)(void *)word->bell + 1, __ATOMIC_RELAXED);
    uint32_t line = (uint32_t)(((char *)word->at - (char *)(void *)word->bell) / 64 + 1);
    *bell = __atomic_load_n(word->bell, __ATOMIC_RELAXED);
    return (*bell & 1) && awaited >> 32 == *bell && ((uint32_t)awaited == line || (uint32_t)awaited == 0);
}
#endif

int main(int count, char **arguments) {
    (void)count;
    shmem_init();
    int me = shmem_my_pe(), pes = shmem_n_pes(), next = (me + 1) % pes;
    long *heap = shmem_calloc(1, sizeof *heap);
    const char *called = arguments[2];
    for (int which = 0; which < 2; which++) {
        for (int pe = me;; pe = next) {
            calls = 0;
            access_words(which ? heap : &word, pe);
            int is_called = called[0] == 'A' || (called[0] == 'O' && pe != me);
            CHECK(calls == (is_called ? ROUTINES + 1 : 0));
            shmem_barrier_all();
            if (pe == next)
                break;
        }
    }
    /* By its address, a routine is always called. */
    long (*volatile fetch_inc)(long *, int) = shmem_long_atomic_fetch_inc;
    calls = 0;
    fetch_inc(heap, me);
    CHECK(calls == 1);
    /* A PE that sleeps until a word changes is woken by the access. */
    if (me == 0) {
#ifdef SMA_INLINE
        struct sma_word at;
        if (pes > 1 && called[0] == 'N' && sma_find(&gate, sizeof gate, next, &at)) {
            uint32_t bell;
            while (!sleeps(&at, &bell))
                sched_yield();
            shmem_long_p(&gate, 1, next);
            CHECK(__atomic_load_n(at.bell, __ATOMIC_RELAXED) != bell);
        } else
#endif
            shmem_long_p(&gate, 1, next);
    }
    shmem_long_wait_until(&gate, SHMEM_CMP_EQ, 1);
    if (me != 0)
        shmem_long_atomic_inc(&gate, next);
    shmem_finalize();
    good();
    return 0;
}
