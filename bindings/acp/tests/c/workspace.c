/* Workspaces: reads and writes at every offset touch their bytes and no others; several workspaces; what cannot be. */
#include "check.h"

enum { BYTES = 1000, PART = 77 };

static unsigned char model[BYTES], keys[300];

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    unsigned char *mine = acp_query_address(starter(rank, 0));
    CHECK(acp_setparams_ws((size_t)(procs - 1), PART) == 0);
    acp_wsd_t one = acp_create_ws(BYTES), two = acp_create_ws(PART);
    CHECK(one != ACP_WSD_NULL && two != ACP_WSD_NULL && one != two);
    for (int turn = 0; turn < procs; turn++) {
        if (turn == rank) {
            memset(mine, turn, BYTES);
            CHECK(acp_write_ws(one, starter(rank, 0), BYTES, 0) == 0);
            memset(model, turn, BYTES);
            uint64_t state = (uint64_t)turn;
            for (int round = 0; round < 200; round++) {
                state = state * 6364136223846793005u + 1442695040888963407u;
                size_t offset = (state >> 20) % BYTES, size = (state >> 40) % (BYTES - offset + 1);
                memset(mine, (int)(state >> 33), size);
                CHECK(acp_write_ws(one, starter(rank, 0), size, offset) == 0);
                memset(model + offset, (int)(state >> 33), size);
                offset = (state >> 30) % BYTES, size = (state >> 50) % (BYTES - offset + 1);
                memset(mine + 2000, 0xEE, BYTES + 2);
                CHECK(acp_read_ws(one, starter(rank, 2001), size, offset) == 0);
                CHECK(memcmp(mine + 2001, model + offset, size) == 0 && mine[2000] == 0xEE && mine[2001 + size] == 0xEE);
            }
        }
        acp_sync();
    }
    /* To and from memory of another rank, and memory that this process has registered. */
    acp_atkey_t key = acp_register_memory(keys, sizeof keys, 0);
    memset(keys, rank, sizeof keys);
    acp_sync();
    CHECK(acp_read_ws(one, acp_query_ga(key, keys), 200, 50) == 0 && acp_read_ws(one, starter((rank + 1) % procs, 5000), 200, 50) == 0);
    acp_sync();
    CHECK(memcmp(keys, mine + 5000, 200) == 0);
    if (rank == 0) {
        CHECK(acp_write_ws(two, acp_query_ga(key, keys), PART, 0) == 0);
    }
    acp_sync();
    memset(keys + 200, 1, 100);
    CHECK(acp_read_ws(two, acp_query_ga(key, keys + 200), PART, 0) == 0 && memcmp(keys, keys + 200, PART) == 0);
    CHECK(acp_read_ws(one, starter(rank, 0), 2, BYTES - 1) == 1 && acp_write_ws(one, starter(rank, 0), BYTES, 1) == 1);
    CHECK(acp_read_ws(one, ACP_GA_NULL, 2, 0) == 1 && acp_read_ws(ACP_WSD_NULL, starter(rank, 0), 2, 0) == 1);
    CHECK(acp_setparams_ws((size_t)procs, PART) == 1 && acp_setparams_ws(0, 0) == 1);
    acp_destroy_ws(one);
    acp_destroy_ws(two);
    acp_destroy_ws(two);
    CHECK(acp_create_ws(0) == ACP_WSD_NULL && acp_create_ws((size_t)1 << 60) == ACP_WSD_NULL);
    CHECK(acp_unregister_memory(key) == 0);
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
