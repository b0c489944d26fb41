/* Calls that cannot be done: each says so by its result, and the program goes on; or ends the job with one line. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

static uint64_t region[4];

int main(int argc, char **argv) {
    const char *act = argv[1];
    if (strcmp(act, "calls") == 0) {
        CHECK(acp_rank() == -1 && acp_procs() == -1 && acp_sync() == -1 && acp_finalize() == -1 && acp_reset(0) == -1);
        CHECK(acp_query_starter_ga(0) == ACP_GA_NULL && acp_register_memory(region, 8, 0) == ACP_ATKEY_NULL);
        CHECK(acp_copy(8, 8, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL && acp_add8(8, 8, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        acp_complete(ACP_HANDLE_ALL);
        CHECK(acp_inquire(ACP_HANDLE_ALL) == 0 && acp_query_address(8) == NULL && acp_query_rank(8) == -1);
    }
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    acp_ga_t mine = starter(rank, 0), theirs = starter(next, 0), end = mine + 4096;
    if (strcmp(act, "full") == 0) {
        CHECK(acp_malloc((size_t)1 << 60, next) == ACP_GA_NULL && acp_create_ws(0) == ACP_WSD_NULL);
        /* Memory of the process, but more than a region may have. */
        size_t bytes = (size_t)1 << 45;
        void *large = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(large != MAP_FAILED && acp_register_memory(large, bytes, 0) == ACP_ATKEY_NULL);
        CHECK(acp_finalize() == 0);
        puts("good");
        return 0;
    }
    if (strcmp(act, "calls") == 0) {
        CHECK(acp_init(&argc, &argv) == -1);
        CHECK(acp_query_starter_ga(-1) == ACP_GA_NULL && acp_query_starter_ga(procs) == ACP_GA_NULL);
        CHECK(acp_query_rank(ACP_GA_NULL) == -1 && acp_query_address(ACP_GA_NULL) == NULL && acp_query_color(ACP_GA_NULL) == -1);
        CHECK(acp_copy(ACP_GA_NULL, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_copy(mine, ACP_GA_NULL, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        /* Past the end, and before the beginning, of what there is. */
        CHECK(acp_copy(end - 7, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_copy(mine, theirs - 8, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_copy(mine, theirs + 8, (size_t)-8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_copy(mine, theirs, 4097, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_copy(0xffffffffffffffffull, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        for (int bit = 0; bit < 64; bit++) {
            /* Whatever comes of it, nothing is hurt: most are no addresses. */
            acp_copy(mine, (acp_ga_t)1 << bit, 0, ACP_HANDLE_NULL);
            acp_query_rank((acp_ga_t)1 << bit);
            acp_query_address((acp_ga_t)1 << bit);
        }
        CHECK(acp_add8(mine, theirs + 4, 1, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_add8(mine + 4, theirs, 1, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_add4(mine, theirs + 2, 1, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(procs == 1 || acp_add8(theirs, mine, 1, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_register_memory(NULL, 8, 0) == ACP_ATKEY_NULL && acp_register_memory(region, 0, 0) == ACP_ATKEY_NULL);
        CHECK(acp_register_memory((void *)4096, 8, 0) == ACP_ATKEY_NULL);
        CHECK(acp_register_memory(region, (size_t)-1, 0) == ACP_ATKEY_NULL && acp_register_memory(region, 8, 1) == ACP_ATKEY_NULL);
        CHECK(acp_unregister_memory(ACP_ATKEY_NULL) == -1 && acp_unregister_memory(77) == -1);
        acp_atkey_t key = acp_register_memory(region, sizeof region, 0);
        acp_ga_t ga = acp_query_ga(key, region);
        CHECK(acp_copy(ga + 25, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        CHECK(acp_unregister_memory(key) == 0 && acp_copy(ga, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        acp_sync();
        CHECK(words_at(mine)[0] == 0);
        CHECK(acp_finalize() == 0 && acp_finalize() == -1 && acp_copy(mine, mine, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        puts("good");
        return 0;
    }
    if (strcmp(act, "abort") == 0 && rank == procs - 1) {
        printf("unflushed");
        acp_abort("on purpose\n");
    }
    if (strcmp(act, "unregistered") == 0 || strcmp(act, "waits") == 0 || strcmp(act, "frees") == 0) {
        /* Addresses are exchanged; the owner takes the memory back before it is used. */
        acp_atkey_t key = acp_register_memory(region, sizeof region, 0);
        words_at(mine)[0] = acp_query_ga(key, region);
        acp_sync();
        acp_complete(acp_copy(mine + 8, theirs, 8, ACP_HANDLE_NULL));
        acp_sync();
        CHECK(acp_unregister_memory(key) == 0);
        acp_sync();
        if (rank == 0) {
            acp_handle_t copied = acp_copy(words_at(mine)[1], mine, 8, ACP_HANDLE_NULL);
            if (strcmp(act, "waits") == 0) {
                /* Rank 1 sends nothing before rank 0 has called acp_sync. */
                acp_wait_ch(acp_nbrecv_ch(acp_create_ch(1, 0), region, sizeof region));
            } else if (strcmp(act, "frees") == 0) {
                acp_free_ch(acp_create_ch(0, 1));
            } else {
                acp_complete(copied);
            }
        }
    }
    if (strcmp(act, "outside") == 0) {
        acp_atkey_t key = acp_register_memory(region, sizeof region, 0);
        words_at(mine)[0] = acp_query_ga(key, region);
        acp_sync();
        acp_complete(acp_copy(mine + 8, theirs, 8, ACP_HANDLE_NULL));
        if (rank == 0) {
            acp_complete(acp_copy(mine + 16, words_at(mine)[1] + 32, 8, ACP_HANDLE_NULL));
        }
    }
    if (strcmp(act, "leave") == 0 && rank == 0) {
        return 0;
    }
    if (strcmp(act, "die") == 0 && rank == 0) {
        abort();
    }
    if (strcmp(act, "deadlock") == 0 && rank == 0) {
        acp_sync();
    }
    acp_sync();
    CHECK(acp_finalize() == 0);
    return strcmp(act, "code") == 0 && rank == 0 ? 7 : 0;
}
