/* Many regions at once: as many as the argument says, in memory of the heap, registered and unregistered in a scattered order. */
#include "check.h"

enum { BYTES = 24, STEP = 40503, SOME = 97 };

static int regions;
static uint64_t *memory;
static acp_atkey_t *keys;
static acp_ga_t *addresses;

/* The index-th of them in an order that is neither up nor down; their number has no factor in common with the step. */
static int scattered(int index) {
    return (int)((uint64_t)index * STEP % (uint64_t)regions);
}

static void register_one(int region) {
    keys[region] = acp_register_memory(memory + region * 3, BYTES, 0);
    CHECK(keys[region] != ACP_ATKEY_NULL);
    addresses[region] = acp_query_ga(keys[region], memory + region * 3);
    CHECK(addresses[region] != ACP_GA_NULL && acp_query_address(addresses[region] + 8) == memory + region * 3 + 1);
    /* Memory goes on behind a region, and is another's. */
    CHECK(acp_query_address(addresses[region] + BYTES + 8) == NULL);
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    regions = atoi(argv[1]);
    memory = calloc((size_t)regions, BYTES);
    keys = calloc((size_t)regions, sizeof *keys);
    addresses = calloc((size_t)regions, sizeof *addresses);
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    for (int index = 0; index < regions; index++) {
        register_one(scattered(index));
    }
    /* One that lies in others, and across them: it comes and goes by itself. */
    acp_atkey_t across = acp_register_memory(memory + 1, BYTES * 10, 0);
    acp_ga_t inside = acp_query_ga(across, memory + 3 * 5);
    CHECK(inside != ACP_GA_NULL && acp_query_address(inside) == memory + 3 * 5);

    acp_atkey_t list = acp_register_memory(addresses, (size_t)regions * sizeof *addresses, 0);
    *words_at(starter(rank, 0)) = acp_query_ga(list, addresses);
    acp_sync();
    acp_ga_t *theirs = calloc((size_t)regions, sizeof *theirs);
    acp_atkey_t key = acp_register_memory(theirs, (size_t)regions * sizeof *theirs, 0);
    acp_complete(acp_copy(starter(rank, 8), starter(next, 0), 8, ACP_HANDLE_NULL));
    acp_complete(acp_copy(acp_query_ga(key, theirs), *words_at(starter(rank, 8)), (size_t)regions * 8, ACP_HANDLE_NULL));

    /* Each word of every so-manieth region of the next rank: a put, a copy within, an atomic. */
    for (int region = 0; region < regions; region += SOME) {
        *words_at(starter(rank, 16)) = (uint64_t)region + 1;
        acp_complete(acp_copy(theirs[region], starter(rank, 16), 8, ACP_HANDLE_NULL));
        acp_complete(acp_copy(theirs[region] + 8, theirs[region], 8, ACP_HANDLE_NULL));
        acp_complete(acp_add8(starter(rank, 24), theirs[region] + 16, (uint64_t)region + 2, ACP_HANDLE_NULL));
        CHECK(*words_at(starter(rank, 24)) == 0);
    }
    acp_sync();
    for (int region = 0; region < regions; region++) {
        int used = region % SOME == 0;
        CHECK(memory[region * 3] == (used ? (uint64_t)region + 1 : 0) && memory[region * 3 + 1] == memory[region * 3]);
        CHECK(memory[region * 3 + 2] == (used ? (uint64_t)region + 2 : 0));
    }
    acp_sync();
    CHECK(acp_unregister_memory(across) == 0);

    /* Most go, in a scattered order; those that are used stay as they are. */
    for (int index = 0; index < regions; index++) {
        int region = scattered(index);
        if (region % SOME != 0) {
            CHECK(acp_unregister_memory(keys[region]) == 0 && acp_query_address(addresses[region]) == NULL);
        }
    }
    acp_sync();
    for (int region = 0; region < regions; region += SOME) {
        acp_complete(acp_add8(starter(rank, 24), theirs[region] + 16, 1, ACP_HANDLE_NULL));
        CHECK(*words_at(starter(rank, 24)) == (uint64_t)region + 2);
    }
    acp_sync();
    /* New ones have other keys and other addresses. */
    for (int region = 1; region < SOME; region++) {
        acp_atkey_t old = keys[region];
        acp_ga_t before = addresses[region];
        register_one(region);
        CHECK(keys[region] != old && addresses[region] != before && acp_query_address(before) == NULL);
        CHECK(acp_unregister_memory(old) == -1);
    }
    acp_sync();
    /* The rest is left to the end. */
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
