/* Atomics of all ranks on the same words of registered memory, while its owner waits, computes, or takes part by the library and by its core. */
#include "check.h"

enum { ROUNDS = 30, CALLS = 40 };

static uint64_t words[8];

/* One of each: additions of both widths, a bit turned, and an addition by compare-and-swap. */
static void strike(acp_ga_t own, acp_ga_t target) {
    acp_complete(acp_add8(own, target, 3, ACP_HANDLE_NULL));
    acp_complete(acp_add4(own + 8, target + 8, 1, ACP_HANDLE_NULL));
    acp_complete(acp_xor8(own, target + 16, 1, ACP_HANDLE_NULL));
    uint64_t *found = words_at(own + 16), expected = 0;
    for (;;) {
        acp_complete(acp_cas8(own + 16, target + 24, expected, expected + 1, ACP_HANDLE_NULL));
        if (*found == expected) {
            return;
        }
        expected = *found;
    }
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    uint64_t rank = (uint64_t)acp_rank(), procs = (uint64_t)acp_procs(), by_processor = 0;
    acp_atkey_t key = acp_register_memory(words, sizeof words, 0);
    acp_ga_t own = starter(acp_rank(), 64);
    *words_at(starter(acp_rank(), 0)) = acp_query_ga(key, words);
    acp_sync();
    acp_complete(acp_copy(starter(acp_rank(), 8), starter(0, 0), 8, ACP_HANDLE_NULL));
    acp_ga_t target = *words_at(starter(acp_rank(), 8));
    volatile uint64_t computed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank != 0 || round % 3 == 2) {
            for (int call = 0; call < CALLS; call++) {
                strike(own, target);
            }
        }
        if (rank == 0 && round % 3 == 1) {
            for (int i = 0; i < 100000; i++) {
                computed += 1;
            }
            for (int i = 0; i < CALLS; i++, by_processor++) {
                __atomic_fetch_add(&words[0], 3, __ATOMIC_SEQ_CST);
            }
        }
        if (round % 4 == 3) {
            acp_sync();
        }
    }
    acp_sync();
    if (rank == 0) {
        uint64_t strikes = CALLS * ((procs - 1) * ROUNDS + ROUNDS / 3);
        CHECK(words[0] == 3 * (strikes + by_processor));
        CHECK(words[1] == strikes && words[2] == strikes % 2 && words[3] == strikes);
        CHECK(words[4] == 0);
    }
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
