/* init, finalize, reset, sync, rank, procs, colors: several rounds in one process. */
#include "check.h"

/* Some programs define these themselves. */
int iacp_init_dl(void) { abort(); }
int iacp_init_cl(void) { abort(); }
int iacp_finalize_dl(void) { abort(); }
int iacp_finalize_cl(void) { abort(); }
size_t iacp_starter_memory_size_dl = 1, iacp_starter_memory_size_cl = 1;

/* Everybody tells everybody, and finds what all have told. */
static void tell_all(uint64_t mark) {
    int rank = acp_rank(), procs = acp_procs();
    acp_ga_t mine = starter(rank, 0);
    for (int peer = 0; peer < procs; peer++) {
        words_at(mine)[procs + peer] = mark + (uint64_t)rank;
    }
    for (int peer = 0; peer < procs; peer++) {
        acp_ga_t from = mine + 8 * (size_t)(procs + peer);
        CHECK(acp_copy(starter(peer, 8 * (size_t)rank), from, 8, ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
    CHECK(acp_sync() == 0);
    for (int peer = 0; peer < procs; peer++) {
        CHECK(words_at(mine)[peer] == mark + (uint64_t)peer);
    }
    CHECK(acp_sync() == 0);
}

int main(int argc, char **argv) {
    int first = -1;
    for (uint64_t round = 1; round <= 3; round++) {
        CHECK(acp_init(&argc, &argv) == 0);
        int rank = acp_rank(), procs = acp_procs();
        CHECK(rank >= 0 && rank < procs && procs == atoi(argv[1]));
        CHECK(first == -1 || first == rank);
        first = rank;
        CHECK(acp_colors() == 1);
        /* Fresh in each round. */
        for (size_t word = 0; word < 2 * (size_t)procs; word++) {
            CHECK(words_at(starter(rank, 0))[word] == 0);
        }
        CHECK(acp_sync() == 0);
        tell_all(round * 1000);

        /* Numbers from the other end. */
        CHECK(acp_reset(procs - 1 - rank) == 0);
        CHECK(acp_rank() == procs - 1 - rank && acp_procs() == procs);
        CHECK(words_at(starter(acp_rank(), 0))[0] == 0);
        CHECK(acp_query_rank(starter(0, 0)) == 0 && acp_query_rank(starter(procs - 1, 0)) == procs - 1);
        CHECK(acp_query_address(starter(acp_rank(), 0)) != NULL);
        CHECK(procs == 1 || acp_query_address(starter((acp_rank() + 1) % procs, 0)) == NULL);
        CHECK(acp_sync() == 0);
        tell_all(round * 2000);

        /* All the same number cannot be; nothing changes. */
        if (procs > 1) {
            CHECK(acp_reset(0) == -1);
            CHECK(acp_rank() == procs - 1 - rank);
            tell_all(round * 3000);
        }
        CHECK(acp_finalize() == 0);
        CHECK(acp_rank() == -1);
    }
    puts("good");
    return 0;
}
