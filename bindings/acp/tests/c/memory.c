/* Starter memory, and memory of the heap, of static data and of the stack, registered: addresses, their ranks, and what arrives. */
#include "check.h"

enum { WORDS = 1000 };

static uint64_t statics[WORDS];

/* Every rank writes to the next one's region, and reads the next one's next. */
static void use(uint64_t *region, uint64_t mark) {
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs, last = (rank + procs - 1) % procs;
    for (int word = 0; word < WORDS; word++) {
        region[word] = 0;
    }
    acp_atkey_t key = acp_register_memory(region, WORDS * 8, 0);
    CHECK(key != ACP_ATKEY_NULL);
    acp_ga_t ga = acp_query_ga(key, region);
    CHECK(ga != ACP_GA_NULL && acp_query_address(ga) == region && acp_query_rank(ga) == rank && acp_query_color(ga) == 0);
    CHECK(acp_query_ga(key, region + 7) == ga + 56 && acp_query_address(ga + 56) == region + 7);
    CHECK(acp_query_ga(key, region + WORDS) == ACP_GA_NULL && acp_query_ga(key, region - 1) == ACP_GA_NULL);

    /* Again, and a part of it: other keys, the same memory. */
    acp_atkey_t again = acp_register_memory(region, WORDS * 8, 0), part = acp_register_memory(region + 10, 80, 0);
    CHECK(again != ACP_ATKEY_NULL && again != key && part != ACP_ATKEY_NULL);
    CHECK(acp_query_address(acp_query_ga(part, region + 11)) == region + 11);
    CHECK(acp_query_ga(part, region) == ACP_GA_NULL);
    CHECK(acp_unregister_memory(again) == 0 && acp_unregister_memory(part) == 0);

    /* Addresses travel by starter memory. */
    uint64_t *letters = words_at(starter(rank, 0));
    letters[0] = ga;
    acp_sync();
    acp_complete(acp_copy(starter(rank, 8), starter(next, 0), 8, ACP_HANDLE_NULL));
    acp_ga_t theirs = letters[1];
    CHECK(acp_query_rank(theirs) == next && (procs == 1 || acp_query_address(theirs) == NULL));

    /* A put of a word from registered memory, and one from starter memory, of many words. */
    region[0] = mark + (uint64_t)rank;
    acp_complete(acp_copy(theirs + 8, ga, 8, ACP_HANDLE_NULL));
    for (int word = 0; word < WORDS - 2; word++) {
        letters[100 + word] = mark + (uint64_t)(rank * WORDS + word);
    }
    acp_handle_t handle = acp_copy(theirs + 16, starter(rank, 800), (WORDS - 2) * 8, ACP_HANDLE_NULL);
    CHECK(handle != ACP_HANDLE_NULL);
    acp_complete(handle);
    acp_sync();
    CHECK(region[1] == mark + (uint64_t)last);
    for (int word = 0; word < WORDS - 2; word++) {
        CHECK(region[2 + word] == mark + (uint64_t)(last * WORDS + word));
    }
    acp_sync();

    /* A get into registered memory, from registered memory; and within one's own. */
    acp_complete(acp_copy(ga + 80, theirs, 8, ACP_HANDLE_NULL));
    CHECK(region[10] == mark + (uint64_t)next);
    acp_complete(acp_copy(ga + 88, ga + 80, 8, ACP_HANDLE_ALL));
    CHECK(region[11] == region[10]);

    /* Atomics on registered memory of another, what was there into registered memory. */
    acp_sync();
    for (int round = 0; round < 10; round++) {
        acp_complete(acp_add8(ga + 96, theirs, 1, ACP_HANDLE_NULL));
        CHECK(region[12] == mark + (uint64_t)(next + round));
    }
    acp_sync();
    CHECK(region[0] == mark + (uint64_t)rank + 10);
    acp_sync();
    CHECK(acp_unregister_memory(key) == 0);
    CHECK(acp_unregister_memory(key) == -1);
    CHECK(acp_query_ga(key, region) == ACP_GA_NULL);
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    uint64_t stack[WORDS];
    uint64_t *heap = malloc(WORDS * 8);
    CHECK(acp_query_ga(12345, heap) == ACP_GA_NULL);
    for (uint64_t round = 1; round <= 5; round++) {
        use(heap, round << 32);
        use(statics, round << 33);
        use(stack, round << 34);
    }
    /* A word that is aligned in memory, in a region that begins between two. */
    struct { uint32_t before; uint32_t first; uint64_t second; } odd = { 7, 8, 9 };
    acp_atkey_t key = acp_register_memory(&odd.first, 12, 0);
    acp_ga_t ga = acp_query_ga(key, &odd.second);
    uint64_t *letters = words_at(starter(acp_rank(), 0));
    letters[0] = ga;
    acp_sync();
    int next = (acp_rank() + 1) % acp_procs();
    acp_complete(acp_copy(starter(acp_rank(), 8), starter(next, 0), 8, ACP_HANDLE_NULL));
    acp_complete(acp_add8(starter(acp_rank(), 16), letters[1], 100, ACP_HANDLE_NULL));
    CHECK(letters[2] == 9);
    acp_sync();
    CHECK(odd.second == 109 && odd.first == 8 && odd.before == 7);
    /* Memory that the program forgets to unregister is released at the end. */
    CHECK(acp_finalize() == 0);
    free(heap);
    puts("good");
    return 0;
}
