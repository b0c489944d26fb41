/* malloc and free of memory on any rank, from any rank. */
#include "check.h"

enum { BLOCKS = 200, ROUNDS = 5 };

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    volatile uint64_t *mine = words_at(starter(rank, 0));
    acp_ga_t blocks[BLOCKS];
    for (int round = 0; round < ROUNDS; round++) {
        /* Blocks on every rank, each filled with its own mark by copies of its length. */
        for (int block = 0; block < BLOCKS; block++) {
            size_t words = 1 + (size_t)(block * 7 % 40);
            blocks[block] = acp_malloc(8 * words, (rank + block) % procs);
            CHECK(blocks[block] != ACP_GA_NULL && blocks[block] % 16 == 0);
            CHECK(acp_query_rank(blocks[block]) == (rank + block) % procs);
            CHECK((acp_query_address(blocks[block]) != NULL) == ((rank + block) % procs == rank));
            for (size_t word = 0; word < words; word++) {
                mine[100 + word] = (uint64_t)(rank * BLOCKS + block);
            }
            acp_complete(acp_copy(blocks[block], starter(rank, 800), 8 * words, ACP_HANDLE_NULL));
        }
        acp_sync();
        for (int block = 0; block < BLOCKS; block++) {
            size_t words = 1 + (size_t)(block * 7 % 40);
            acp_complete(acp_copy(starter(rank, 800), blocks[block], 8 * words, ACP_HANDLE_NULL));
            for (size_t word = 0; word < words; word++) {
                CHECK(mine[100 + word] == (uint64_t)(rank * BLOCKS + block));
            }
            /* One of two is freed by who has allocated it, the other by the next rank. */
            mine[1000 + block] = block % 2 ? blocks[block] : ACP_GA_NULL;
            if (block % 2 == 0) {
                acp_free(blocks[block]);
            }
        }
        acp_sync();
        acp_complete(acp_copy(starter(rank, 8 * 1300), starter(next, 8 * 1000), 8 * BLOCKS, ACP_HANDLE_NULL));
        for (int block = 0; block < BLOCKS; block++) {
            acp_free(mine[1300 + block]);
        }
        acp_sync();
    }
    /* A word of it is as good for atomics as any. */
    acp_ga_t counter = acp_malloc(8, next);
    mine[0] = 5;
    acp_complete(acp_copy(counter, starter(rank, 0), 8, ACP_HANDLE_NULL));
    acp_complete(acp_add8(starter(rank, 8), counter, 2, ACP_HANDLE_NULL));
    acp_complete(acp_copy(starter(rank, 16), counter, 8, ACP_HANDLE_NULL));
    CHECK(mine[1] == 5 && mine[2] == 7);
    /* What cannot be. */
    CHECK(acp_malloc((size_t)-1, rank) == ACP_GA_NULL && acp_malloc((size_t)1 << 60, next) == ACP_GA_NULL);
    CHECK(acp_malloc(8, procs) == ACP_GA_NULL && acp_malloc(8, -1) == ACP_GA_NULL);
    acp_free(counter);
    acp_free(counter);
    acp_free(starter(rank, 0));
    acp_free(77);
    acp_free(ACP_GA_NULL);
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
