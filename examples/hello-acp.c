/* Tutorial: the ring in C, by the interface of ACP. */
#include <acp.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    acp_init(&argc, &argv);
    int rank = acp_rank(), right = (rank + 1) % acp_procs();

    /* Starter memory: every rank has some, and can ask for the address of anyone's. Word 0 receives, word 1 is sent. */
    acp_ga_t mine = acp_query_starter_ga(rank), theirs = acp_query_starter_ga(right);
    uint64_t *words = acp_query_address(mine);
    words[0] = 0;
    words[1] = (uint64_t)rank;
    acp_sync();

    /* Copy word 1 to the right neighbour's word 0. The last argument is the handle that this copy waits for: none. */
    acp_handle_t sent = acp_copy(theirs, mine + 8, 8, ACP_HANDLE_NULL);

    /* Add 1 there, ordered behind the copy. The old value comes to word 2. */
    acp_complete(acp_add8(mine + 16, theirs, 1, sent));
    acp_sync();
    printf("rank %d holds %llu\n", rank, (unsigned long long)words[0]);
    acp_finalize();
    return 0;
}
