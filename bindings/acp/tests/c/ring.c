/* Each rank writes its number plus one to the next rank, which prints it: the ring of the launchers' table (docs/evaluation/launchers.sh). */

#include <acp.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv) {
    if (acp_init(&argc, &argv)) return 1;
    int rank = acp_rank(), ranks = acp_procs(), next = (rank + 1) % ranks;
    /* The first word is what came, the second what goes. */
    volatile uint64_t *words = acp_query_address(acp_query_starter_ga(rank));
    words[0] = 0;
    words[1] = (uint64_t)rank + 1;
    acp_sync();
    acp_complete(acp_copy(acp_query_starter_ga(next), acp_query_starter_ga(rank) + sizeof *words, sizeof *words, ACP_HANDLE_NULL));
    acp_sync();
    uint64_t expected = (uint64_t)((rank + ranks - 1) % ranks) + 1;
    printf("rank %d of %d holds %llu\n", rank, ranks, (unsigned long long)words[0]);
    int is_wrong = words[0] != expected;
    if (acp_finalize()) return 1;
    return is_wrong;
}
