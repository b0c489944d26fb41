/* Atomics of every kind by all PEs at once, on the heap and on variables. */
#include "check.h"

static long counter;
static unsigned int bits32;
static unsigned long bits64;
static double real;
static float small;
static int word;

#define TIMES 200

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), last = n - 1;
    int *shared = shmem_calloc(4, sizeof(int));
    long seen_max = -1;
    for (int i = 0; i < TIMES; i++) {
        long before = shmem_atomic_fetch_add(&counter, 2L, last);
        CHECK(before > seen_max);
        seen_max = before;
        shmem_atomic_inc(shared, 0);
        shmem_atomic_add(shared + 1, 3, 0);
        CHECK(shmem_atomic_fetch_inc(shared + 2, 0) >= i);
    }
    shmem_barrier_all();
    CHECK(shmem_atomic_fetch(&counter, last) == 2L * TIMES * n);
    CHECK(shmem_atomic_fetch(shared, 0) == TIMES * n && shmem_g(shared + 1, 0) == 3 * TIMES * n);
    CHECK(shmem_atomic_fetch(shared + 2, 0) == TIMES * n);
    shmem_barrier_all();
    /* Every PE exchanges the word of its right neighbour. */
    int right = (me + 1) % n, left = (me + n - 1) % n;
    shmem_atomic_set(&word, 10 + me, right);
    shmem_barrier_all();
    CHECK(word == 10 + left);
    shmem_barrier_all();
    CHECK(shmem_atomic_swap(&word, 20 + me, right) == 10 + me);
    CHECK(shmem_atomic_compare_swap(&word, 5, 6, right) == 20 + me);
    CHECK(shmem_atomic_compare_swap(&word, 20 + me, 30 + me, right) == 20 + me);
    CHECK(shmem_atomic_fetch(&word, right) == 30 + me);
    shmem_barrier_all();
    /* Bits. */
    shmem_atomic_or(&bits32, 1u << (me % 32), 0);
    shmem_atomic_xor(&bits64, 1ul << me, 0);
    shmem_barrier_all();
    unsigned all = n >= 32 ? ~0u : (1u << n) - 1;
    CHECK(shmem_g(&bits32, 0) == all && shmem_g(&bits64, 0) == all);
    shmem_barrier_all();
    shmem_atomic_and(&bits32, ~(1u << (me % 32)), 0);
    unsigned long old = shmem_atomic_fetch_xor(&bits64, 1ul << me, 0);
    CHECK(old >> me & 1);
    shmem_barrier_all();
    CHECK(shmem_g(&bits32, 0) == 0 && shmem_g(&bits64, 0) == 0);
    shmem_barrier_all();
    CHECK((shmem_atomic_fetch_or(&bits32, 256u << me, right) & 255) == 0);
    CHECK(shmem_atomic_fetch_and(&bits32, 0u, right) == 256u << me);
    /* Real numbers. */
    shmem_atomic_set(&real, 0.5 + me, right);
    shmem_atomic_set(&small, 0.25f * (float)me, right);
    shmem_quiet();
    CHECK(shmem_atomic_fetch(&real, right) == 0.5 + me);
    CHECK(shmem_atomic_swap(&small, 8.0f, right) == 0.25f * (float)me);
    shmem_barrier_all();
    CHECK(small == 8.0f && real == 0.5 + left);
    /* Without waiting: results are there after a quiet. */
    shmem_barrier_all();
    counter = 100 + me;
    word = me;
    shmem_barrier_all();
    long fetched = -1, added = -1, swapped_long = -1, incremented = -1, compared = -1;
    shmem_atomic_fetch_nbi(&fetched, &counter, right);
    shmem_quiet();
    CHECK(fetched == 100 + right);
    shmem_atomic_fetch_add_nbi(&added, &counter, 5L, right);
    shmem_fence();
    shmem_atomic_fetch_inc_nbi(&incremented, &counter, right);
    shmem_quiet();
    shmem_atomic_compare_swap_nbi(&compared, &counter, 106L + right, 7L, right);
    shmem_quiet();
    shmem_atomic_swap_nbi(&swapped_long, &counter, 9L, right);
    shmem_quiet();
    CHECK(added == 100 + right && incremented == 105 + right && compared == 106 + right && swapped_long == 7);
    shmem_barrier_all();
    CHECK(counter == 9);
    shmem_barrier_all();
    unsigned before_bits = 1;
    bits32 = 6;
    shmem_barrier_all();
    shmem_atomic_fetch_or_nbi(&before_bits, &bits32, 1u, right);
    shmem_quiet();
    CHECK(before_bits == 6);
    shmem_atomic_fetch_and_nbi(&before_bits, &bits32, 5u, right);
    shmem_quiet();
    CHECK(before_bits == 7);
    shmem_atomic_fetch_xor_nbi(&before_bits, &bits32, 4u, right);
    shmem_quiet();
    CHECK(before_bits == 5);
    shmem_barrier_all();
    CHECK(bits32 == 1);
    shmem_barrier_all();
    /* Deprecated names. */
    CHECK(shmem_int_fadd(&word, 3, right) == right && shmem_int_finc(&word, right) == right + 3);
    shmem_int_add(&word, 1, right);
    shmem_int_inc(&word, right);
    /* Without this, the fetch could overtake them. */
    shmem_quiet();
    CHECK(shmem_int_fetch(&word, right) == right + 6 && shmem_int_cswap(&word, right + 6, 1, right) == right + 6);
    CHECK(shmem_int_swap(&word, 2, right) == 1);
    shmem_int_set(&word, 4, right);
    shmem_barrier_all();
    CHECK(word == 4);
    good();
    shmem_finalize();
    return 0;
}
