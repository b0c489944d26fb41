/* How many round trips calls take, in virtual time: rank 0 calls, the keys of tables and other containers lie on rank 1, the directory of tables on rank 2. */
#include "check.h"
#include "timing.h"

enum { CALLS = 100 };

/* The median of CALLS calls, in round trips of so many microseconds, is no more than `most`. */
#define AT_MOST(most, trip, call)                                                                       \
    do {                                                                                                \
        double samples[CALLS];                                                                          \
        for (uint64_t i = 0; i < CALLS; i++) {                                                          \
            *word = i;                                                                                  \
            double start = now();                                                                       \
            call;                                                                                       \
            samples[i] = now() - start;                                                                 \
        }                                                                                               \
        double took = median(samples, CALLS);                                                           \
        fprintf(stderr, "acp: %s: %.2f round trips\n", #call, took / (trip));                            \
        CHECK(took > 0 && took <= (most) * (trip));                                                      \
    } while (0)

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0 && acp_procs() == 3);
    acp_sync();
    if (acp_rank() == 0) {
        int there = 1;
        acp_ga_t key = starter(0, 64), value = starter(0, 72);
        uint64_t *word = words_at(key);
        acp_pair_t pair = {{key, 8}, {value, 8}};
        acp_map_t map = acp_create_map(1, &there, 100 * CALLS, 2);
        acp_set_t set = acp_create_set(1, &there, 100 * CALLS, 2);
        double start = now();
        for (int i = 0; i < CALLS; i++) {
            acp_complete(acp_add8(value, starter(1, 64), 1, ACP_HANDLE_NULL));
        }
        double trip = (now() - start) / CALLS;
        *words_at(value) = 7;
        AT_MOST(1.4, trip, acp_complete(acp_copy(starter(2, 64), starter(1, 64), 8, ACP_HANDLE_NULL)));
        AT_MOST(3.3, trip, CHECK(acp_insert_map(map, pair) == 1));
        AT_MOST(2.3, trip, CHECK(acp_insert_map(map, pair) == 0));
        AT_MOST(2.3, trip, CHECK(acp_find_map(map, pair.first).elem));
        AT_MOST(2.3, trip, CHECK(acp_retrieve_map(map, pair) == 8 && *words_at(value) == 7));
        AT_MOST(3.3, trip, CHECK(acp_insert_set(set, pair.first) == 1));
        AT_MOST(2.3, trip, CHECK(acp_find_set(set, pair.first).elem));
        /* Memory that was freed: one more, to find out what is behind it. */
        acp_clear_map(map);
        AT_MOST(4.4, trip, CHECK(acp_insert_map(map, pair) == 1));
        acp_destroy_map(map);
        acp_destroy_set(set);
        acp_vector_t vector = acp_create_vector(0, 1);
        acp_deque_t deque = acp_create_deque(0, 1);
        acp_list_t list = acp_create_list(1);
        acp_reserve_vector(vector, 8 * CALLS);
        acp_reserve_deque(deque, 8 * CALLS);
        acp_list_it_t begin = acp_begin_list(list);
        AT_MOST(2.3, trip, acp_push_back_vector(vector, key, 8));
        AT_MOST(2.3, trip, acp_push_back_deque(deque, key, 8));
        AT_MOST(3.3, trip, acp_pop_front_deque(deque, 8));
        AT_MOST(2.3, trip, acp_pop_back_vector(vector, 8));
        AT_MOST(5.4, trip, acp_insert_list(begin, pair.first, 1));
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
