/* Sets, multisets and maps over some ranks, used by all at once: every key is new to one rank only; whole tables are copied and moved. */
#include "check.h"

enum { KEYS = 60, BUFFER = 512 };

static unsigned char *key_memory, *value_memory, *out_memory;
static acp_ga_t key_ga, value_ga, out_ga;

/* Keys of different lengths: the number, and as many letters more. */
static acp_element_t key_of(int number) {
    memset(key_memory, 'k', 64);
    memcpy(key_memory, &number, sizeof number);
    acp_element_t key = {key_ga, sizeof number + (size_t)(number * 7 % 40)};
    return key;
}

static acp_pair_t pair_of(int number, int value, size_t size) {
    memset(value_memory, value, size);
    acp_pair_t pair = {key_of(number), {value_ga, size}};
    return pair;
}

static int number_of(acp_element_t key) {
    acp_complete(acp_copy(out_ga, key.ga, key.size, ACP_HANDLE_NULL));
    int number;
    memcpy(&number, out_memory, sizeof number);
    CHECK(key.size == sizeof number + (size_t)(number * 7 % 40) && (key.size == sizeof number || out_memory[key.size - 1] == 'k'));
    return number;
}

/* How many of the keys a rank was the first to add, over all ranks. */
static uint64_t total(uint64_t mine) {
    uint64_t *words = words_at(starter(acp_rank(), 30000)), sum = 0;
    words[0] = mine;
    acp_sync();
    for (int rank = 0; rank < acp_procs(); rank++) {
        acp_complete(acp_copy(starter(acp_rank(), 30008), starter(rank, 30000), 8, ACP_HANDLE_NULL));
        sum += words[1];
    }
    acp_sync();
    return sum;
}

/* What rank 0 has made, for all. */
#define SHARED(type, made)                                                                                                      \
    static acp_##type##_t shared_##type(int num_slots) {                                                                        \
        int procs = acp_procs(), ranks[64];                                                                                     \
        for (int rank = 0; rank < procs; rank++) {                                                                              \
            ranks[rank] = procs - 1 - rank;                                                                                     \
        }                                                                                                                       \
        acp_##type##_t *place = acp_query_address(starter(acp_rank(), 31000));                                                  \
        if (acp_rank() == 0) {                                                                                                  \
            *place = acp_create(type, procs, ranks, num_slots, procs - 1);                                                      \
            CHECK(place->ga && acp_query_rank(place->ga) == procs - 1);                                                         \
        }                                                                                                                       \
        acp_sync();                                                                                                             \
        acp_complete(acp_copy(starter(acp_rank(), 31000), starter(0, 31000), sizeof *place, ACP_HANDLE_NULL));                  \
        acp_##type##_t copy = *place;                                                                                           \
        acp_sync();                                                                                                             \
        return copy;                                                                                                            \
    }                                                                                                                           \
    /* Goes through all keys, and through those of this rank: each is there once. */                                            \
    static void walk_##type(acp_##type##_t table, int keys) {                                                                   \
        int seen[KEYS] = {0}, count = 0, own = 0;                                                                               \
        for (acp_##type##_it_t it = acp_begin(type, table); it.elem != ACP_GA_NULL; it = acp_increment(type##_it, it)) {        \
            CHECK(it.rank < acp_procs() && seen[number_of(made(it))]++ == 0);                                                   \
            count++;                                                                                                            \
        }                                                                                                                       \
        CHECK(count == keys && acp_size(type, table) == (size_t)keys && acp_empty(type, table) == (keys == 0));                 \
        CHECK(acp_end(type, table).rank == acp_procs() && acp_end(type, table).elem == ACP_GA_NULL);                            \
        acp_##type##_it_t end = acp_end_local_##type(table);                                                                    \
        for (acp_##type##_it_t it = acp_begin_local_##type(table); it.elem != end.elem; it = acp_increment(type##_it, it)) {    \
            CHECK(acp_query_rank(it.elem) == acp_rank() && it.rank == acp_procs() - 1 - acp_rank());                            \
            own++;                                                                                                              \
        }                                                                                                                       \
        CHECK(acp_size_local_##type(table) == (size_t)own && acp_empty_local_##type(table) == (own == 0));                      \
        CHECK(total((uint64_t)own) == (uint64_t)keys);                                                                          \
    }

#define KEY_IT(type) acp_dereference_##type##_it
static acp_element_t map_key(acp_map_it_t it) {
    return acp_dereference(map_it, it).first;
}

SHARED(set, KEY_IT(set))
SHARED(multiset, KEY_IT(multiset))
SHARED(map, map_key)

static void sets(int rank, int procs) {
    acp_set_t one = shared_set(5), two = shared_set(5), small = shared_set(1);
    walk_set(one, 0);
    uint64_t first = 0;
    for (int number = 0; number < KEYS; number++) {
        int added = acp_insert(set, one, key_of((number + rank * 7) % KEYS));
        CHECK(added == 0 || added == 1);
        first += (uint64_t)added;
    }
    CHECK(total(first) == KEYS);
    walk_set(one, KEYS);
    for (int number = rank; number < KEYS; number += 2 * procs) {
        acp_remove(set, one, key_of(number));
        CHECK(acp_find(set, one, key_of(number)).elem == ACP_GA_NULL);
    }
    acp_sync();
    int left = 0;
    for (int number = 0; number < KEYS; number++) {
        left += acp_find(set, one, key_of(number)).elem != ACP_GA_NULL;
    }
    CHECK(acp_size(set, one) == (size_t)left && left < KEYS);
    acp_sync();
    /* What lies here, by all at once. */
    acp_assign_local_set(two, one);
    acp_sync();
    walk_set(two, left);
    acp_merge_local_set(small, one);
    acp_sync();
    walk_set(small, left);
    acp_move_local_set(two, one);
    acp_sync();
    walk_set(one, 0);
    walk_set(two, left);
    acp_sync();
    if (rank == 0) {
        /* The whole, by one. */
        acp_swap(set, one, two);
        CHECK(acp_size(set, one) == (size_t)left && acp_size(set, two) == 0);
        acp_swap(set, two, small);
        CHECK(acp_size(set, two) == (size_t)left && acp_empty(set, small) == 1);
        acp_insert(set, small, key_of(1));
        acp_swap(set, small, two);
        CHECK(acp_size(set, two) == 1 && acp_size(set, small) == (size_t)left);
        acp_assign(set, two, one);
        CHECK(acp_size(set, two) == (size_t)left);
        acp_insert(set, two, key_of(0));
        acp_merge(set, one, two);
        acp_move_set(one, two);
        CHECK(acp_size(set, two) == 0 && acp_find(set, one, key_of(0)).elem != ACP_GA_NULL);
        acp_clear(set, one);
        CHECK(acp_size(set, one) == 0);
        acp_set_t gone = one;
        acp_destroy(set, one);
        acp_destroy(set, two);
        acp_destroy(set, small);
        CHECK(acp_size(set, gone) == 0 && acp_insert(set, gone, key_of(2)) == 0);
    }
    acp_sync();
}

static void multisets(int rank, int procs) {
    acp_multiset_t one = shared_multiset(7), two = shared_multiset(3);
    for (int number = 0; number < KEYS; number++) {
        for (int times = 0; times <= number % 3; times++) {
            CHECK(acp_insert(multiset, one, key_of(number)) == 1);
        }
    }
    acp_sync();
    walk_multiset(one, KEYS);
    for (int number = 0; number < KEYS; number++) {
        CHECK(acp_retrieve_multiset(one, key_of(number)) == (uint64_t)(procs * (number % 3 + 1)));
    }
    acp_sync();
    acp_remove(multiset, one, key_of(5));
    acp_remove(multiset, one, key_of(3));
    acp_sync();
    CHECK(acp_retrieve_multiset(one, key_of(5)) == (uint64_t)(2 * procs) && acp_retrieve_multiset(one, key_of(3)) == 0);
    walk_multiset(one, KEYS - 1);
    acp_assign_local_multiset(two, one);
    acp_sync();
    CHECK(acp_retrieve_multiset(two, key_of(5)) == (uint64_t)(2 * procs));
    walk_multiset(two, KEYS - 1);
    acp_sync();
    if (rank == 0) {
        acp_merge(multiset, two, one);
        CHECK(acp_retrieve_multiset(two, key_of(5)) == (uint64_t)(4 * procs));
        acp_remove_all_multiset(two, key_of(5));
        CHECK(acp_retrieve_multiset(two, key_of(5)) == 0 && acp_find(multiset, two, key_of(5)).elem == ACP_GA_NULL);
        acp_swap(multiset, one, two);
        CHECK(acp_retrieve_multiset(two, key_of(5)) == (uint64_t)(2 * procs) && acp_retrieve_multiset(one, key_of(5)) == 0);
        acp_move_multiset(one, two);
        CHECK(acp_retrieve_multiset(one, key_of(5)) == (uint64_t)(2 * procs) && acp_size(multiset, two) == 0);
    }
    acp_sync();
    acp_move_local_multiset(two, one);
    acp_sync();
    walk_multiset(two, KEYS - 1);
    walk_multiset(one, 0);
    if (rank == 0) {
        acp_clear(multiset, two);
        acp_destroy(multiset, one);
        acp_destroy(multiset, two);
    }
    acp_sync();
}

static void maps(int rank, int procs) {
    acp_map_t one = shared_map(4), two = shared_map(9);
    uint64_t first = 0;
    for (int number = 0; number < KEYS; number++) {
        first += (uint64_t)acp_insert(map, one, pair_of(number, rank, (size_t)(number + 1)));
    }
    CHECK(total(first) == KEYS);
    walk_map(one, KEYS);
    for (int number = 0; number < KEYS; number++) {
        acp_pair_t pair = {key_of(number), {out_ga, BUFFER}};
        memset(out_memory, 0xEE, BUFFER);
        CHECK(acp_retrieve_map(one, pair) == (size_t)(number + 1));
        CHECK(out_memory[0] < procs && out_memory[number] == out_memory[0] && out_memory[number + 1] == 0xEE);
        /* A buffer that is too small gets what fits. */
        memset(out_memory, 0xEE, BUFFER);
        pair.second.size = (size_t)number / 2;
        CHECK(acp_retrieve_map(one, pair) == (size_t)(number + 1) && out_memory[number / 2] == 0xEE);
        pair.second.size = 0;
        CHECK(acp_retrieve_map(one, pair) == (size_t)(number + 1));
        acp_pair_t both = acp_dereference(map_it, acp_find(map, one, key_of(number)));
        CHECK(both.second.size == (size_t)(number + 1) && number_of(both.first) == number);
    }
    acp_sync();
    /* A key that comes back, with a longer value. */
    if (rank == procs - 1) {
        acp_remove(map, one, key_of(4));
        CHECK(acp_find(map, one, key_of(4)).elem == ACP_GA_NULL);
        acp_pair_t pair = {key_of(4), {out_ga, BUFFER}};
        CHECK(acp_retrieve_map(one, pair) == 0);
        CHECK(acp_insert(map, one, pair_of(4, 77, 400)) == 1 && acp_insert(map, one, pair_of(4, 78, 4)) == 0);
        pair.first = key_of(4);
        CHECK(acp_retrieve_map(one, pair) == 400 && out_memory[399] == 77);
        acp_remove(map, one, key_of(4));
    }
    acp_sync();
    walk_map(one, KEYS - 1);
    acp_assign_local_map(two, one);
    acp_sync();
    walk_map(two, KEYS - 1);
    acp_clear_local_map(one);
    acp_sync();
    walk_map(one, 0);
    acp_merge_local_map(one, two);
    acp_sync();
    walk_map(one, KEYS - 1);
    acp_move_local_map(one, two);
    acp_sync();
    walk_map(two, 0);
    walk_map(one, KEYS - 1);
    acp_sync();
    if (rank == 0) {
        acp_assign(map, two, one);
        acp_merge(map, two, one);
        CHECK(acp_size(map, two) == KEYS - 1);
        acp_clear(map, one);
        acp_move_map(one, two);
        acp_swap(map, one, two);
        CHECK(acp_size(map, two) == KEYS - 1 && acp_empty(map, one) == 1);
        acp_pair_t pair = {key_of(9), {out_ga, BUFFER}};
        CHECK(acp_retrieve_map(two, pair) == 10);
        /* What cannot be. */
        acp_map_t none = {ACP_GA_NULL, 1, 1}, wild = {0x123456789abcdef0ull, 3, 3}, odd = {two.ga, 0, 9};
        CHECK(acp_insert(map, none, pair_of(1, 1, 8)) == 0 && acp_size(map, wild) == 0 && acp_size(map, odd) == 0);
        acp_pair_t bad = {{ACP_GA_NULL, 8}, {out_ga, 8}}, far = {key_of(9), {starter(procs - 1, 0) - 8, (size_t)1 << 50}};
        CHECK(acp_insert(map, two, bad) == 0 && acp_insert(map, two, far) == 0 && acp_retrieve_map(two, far) == 0);
        CHECK(acp_dereference(map_it, acp_end(map, two)).first.ga == ACP_GA_NULL);
        CHECK(acp_increment(map_it, acp_end(map, two)).elem == ACP_GA_NULL);
        int ranks[1] = {procs};
        CHECK(acp_create(map, 1, ranks, 4, 0).ga == ACP_GA_NULL && acp_create(map, 0, ranks, 4, 0).ga == ACP_GA_NULL);
        ranks[0] = 0;
        CHECK(acp_create(map, 1, NULL, 4, 0).ga == ACP_GA_NULL && acp_create(map, 1, ranks, -1, 0).ga == ACP_GA_NULL);
        acp_destroy(map, one);
        acp_destroy(map, two);
    }
    acp_sync();
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    key_ga = starter(rank, 0), value_ga = starter(rank, 1024), out_ga = starter(rank, 2048);
    key_memory = acp_query_address(key_ga), value_memory = acp_query_address(value_ga), out_memory = acp_query_address(out_ga);
    sets(rank, procs);
    multisets(rank, procs);
    maps(rank, procs);
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
