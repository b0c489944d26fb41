/* What calls of the interface cost: rank 0 prints the median of each in microseconds. The ranks above 1 take part in what needs them. */
#include "check.h"
#include "timing.h"

enum { SAMPLES = 51, MAP_KEYS = 2000 };

static uint64_t heap_words[64];

/* Runs `calls` calls SAMPLES times, and prints the median of one. */
#define MEASURE(name, calls, call)                                      \
    do {                                                                \
        double samples[SAMPLES];                                        \
        for (int sample = 0; sample < SAMPLES; sample++) {              \
            double start = now();                                       \
            for (int i = 0; i < (calls); i++) {                         \
                call;                                                   \
            }                                                           \
            samples[sample] = (now() - start) / (calls);                \
        }                                                               \
        printf("%s %.4f\n", name, median(samples, SAMPLES));            \
    } while (0)

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), calls = argc > 1 ? atoi(argv[1]) : 200;
    CHECK(procs >= 2);
    acp_atkey_t key = acp_register_memory(heap_words, sizeof heap_words, 0);
    words_at(starter(rank, 0))[0] = acp_query_ga(key, heap_words);
    acp_sync();
    acp_complete(acp_copy(starter(rank, 8), starter(1, 0), 8, ACP_HANDLE_NULL));
    acp_ga_t mapped = starter(1, 64), heap = words_at(starter(rank, 0))[1], own = starter(rank, 128);
    acp_sync();
    if (rank == 0) {
        for (int warm = 0; warm < 20000; warm++) {
            acp_complete(acp_add4(own, mapped, 1, ACP_HANDLE_NULL));
        }
        MEASURE("add4 starter", calls, acp_complete(acp_add4(own, mapped, 1, ACP_HANDLE_NULL)));
        MEASURE("add8 starter", calls, acp_complete(acp_add8(own, mapped, 1, ACP_HANDLE_NULL)));
        MEASURE("put 8 starter", calls, acp_complete(acp_copy(mapped, own, 8, ACP_HANDLE_NULL)));
        MEASURE("get 8 starter", calls, acp_complete(acp_copy(own, mapped, 8, ACP_HANDLE_NULL)));
        MEASURE("add4 registered", calls / 4 + 1, acp_complete(acp_add4(own, heap + 64, 1, ACP_HANDLE_NULL)));
        MEASURE("put 8 registered", calls / 4 + 1, acp_complete(acp_copy(heap + 64, own, 8, ACP_HANDLE_NULL)));
        if (procs > 2) {
            MEASURE("copy 8 remote to remote", calls / 4 + 1, acp_complete(acp_copy(starter(2, 64), mapped, 8, ACP_HANDLE_NULL)));
        }
    }
    acp_sync();
    if (rank < 2) {
        acp_ch_t to = acp_create_ch(rank, 1 - rank), from = acp_create_ch(1 - rank, rank);
        uint64_t word = 0;
        double samples[SAMPLES];
        for (int sample = -5; sample < SAMPLES; sample++) {
            double start = now();
            for (int i = 0; i < calls; i++) {
                for (int turn = 0; turn < 2; turn++) {
                    if (turn == rank) {
                        acp_wait_ch(acp_nbsend_ch(to, &word, 8));
                    } else {
                        acp_wait_ch(acp_nbrecv_ch(from, &word, 8));
                    }
                }
            }
            if (sample >= 0) {
                samples[sample] = (now() - start) / calls / 2;
            }
        }
        if (rank == 0) {
            printf("channel 8 half round trip %.4f\n", median(samples, SAMPLES));
        }
        acp_request_t freed = acp_nbfree_ch(to);
        acp_free_ch(from);
        acp_wait_ch(freed);
    }
    acp_sync();
    if (rank == 0) {
        int ranks[2] = {0, 1};
        uint64_t *word = words_at(starter(0, 256));
        acp_pair_t pair = {{starter(0, 256), 8}, {starter(0, 256), 8}};
        acp_map_t map = acp_create_map(2, ranks, MAP_KEYS * 4, 1);
        int count = calls < MAP_KEYS ? calls : MAP_KEYS;
        *word = 0;
        double samples[SAMPLES];
        for (int sample = 0; sample < SAMPLES; sample++) {
            double start = now();
            for (int i = 0; i < count / 10; i++) {
                ++*word;
                CHECK(acp_insert_map(map, pair) == 1);
            }
            samples[sample] = (now() - start) / (count / 10);
        }
        printf("map insert %.4f\n", median(samples, SAMPLES));
        MEASURE("map find", count, *word = 1 + (uint64_t)i % 100; CHECK(acp_find_map(map, pair.first).elem));
        MEASURE("map retrieve", count, *word = 1 + (uint64_t)i % 100; CHECK(acp_retrieve_map(map, pair) == 8));
        acp_destroy_map(map);
    }
    CHECK(acp_finalize() == 0);
    return 0;
}
