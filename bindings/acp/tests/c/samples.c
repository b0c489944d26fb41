/* The internal symbols that samples of the C library call: the memory of acp_malloc by address and size, hooks without effect, and, on the last
 * rank if asked for, the call by which samples give up. */
#include "check.h"

extern size_t iacp_starter_memory_size_dl, iacp_starter_memory_size_cl;
extern acp_ga_t iacp_query_starter_ga_dl(int), iacp_query_starter_ga_cl(int);
extern int iacp_init_dl(void), iacp_init_cl(void), iacp_finalize_dl(void), iacp_finalize_cl(void);
extern void iacp_abort_dl(void), iacp_abort_cl(void);

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    CHECK(iacp_init_dl() == 0 && iacp_init_cl() == 0);
    CHECK(iacp_starter_memory_size_dl > 0 && iacp_starter_memory_size_cl == 0);
    for (int peer = 0; peer < procs; peer++) {
        acp_ga_t start = iacp_query_starter_ga_dl(peer), block = acp_malloc(1000, peer);
        CHECK(acp_query_rank(start) == peer && start <= block && block + 1000 <= start + iacp_starter_memory_size_dl);
        /* Blocks of the own rank lie in local memory as they lie in addresses. */
        char *local = acp_query_address(start);
        CHECK((local != NULL) == (peer == rank));
        CHECK(peer != rank || local + (block - start) == acp_query_address(block));
        acp_free(block);
    }
    CHECK(iacp_query_starter_ga_dl(procs) == ACP_GA_NULL && iacp_query_starter_ga_cl(0) == ACP_GA_NULL);
    acp_sync();
    if (argc > 1 && strcmp(argv[1], "size") == 0) {
        printf("%zu bytes\n", iacp_starter_memory_size_dl);
    }
    if (argc > 1 && strcmp(argv[1], "abort") == 0 && rank == procs - 1) {
        iacp_abort_dl();
        fprintf(stderr, "message too long\n");
        iacp_abort_cl();
    }
    acp_sync();
    CHECK(iacp_finalize_cl() == 0 && iacp_finalize_dl() == 0);
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
