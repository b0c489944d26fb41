/* Vectors and deques on every rank, made by one and used by others: what is inserted, erased and copied is where an array would have it. */
#include "check.h"

enum { MOST = 3000, ROUNDS = 400 };

static unsigned char model[2][3 * MOST], found[3 * MOST];
static size_t sizes[2];
static uint64_t state;

static uint64_t chance(uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

/* Bytes of the starter memory, filled with numbers that look like chance. */
static acp_ga_t some(size_t size) {
    unsigned char *bytes = acp_query_address(starter(acp_rank(), 0));
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)chance(256);
    }
    return starter(acp_rank(), 0);
}

static void put_in(int which, size_t at, const unsigned char *bytes, size_t size) {
    memmove(model[which] + at + size, model[which] + at, sizes[which] - at);
    memcpy(model[which] + at, bytes, size);
    sizes[which] += size;
}

static void take_out(int which, size_t at, size_t size) {
    memmove(model[which] + at, model[which] + at + size, sizes[which] - at - size);
    sizes[which] -= size;
}

/* Reads `size` bytes of any rank. */
static void fetch(unsigned char *to, acp_ga_t from, size_t size) {
    if (size) {
        acp_complete(acp_copy(starter(acp_rank(), 16384), from, size, ACP_HANDLE_NULL));
        memcpy(to, acp_query_address(starter(acp_rank(), 16384)), size);
    }
}

#define GENERATED(type, reads)                                                                                              \
    static void use_##type(int rank, int procs) {                                                                           \
        unsigned char *mine = acp_query_address(starter(rank, 0));                                                          \
        acp_##type##_t both[2] = {acp_create(type, 0, (rank + 1) % procs), acp_create(type, 100, rank % procs)};            \
        CHECK(both[0].ga && both[1].ga && acp_query_rank(both[0].ga) == (rank + 1) % procs);                                \
        CHECK(acp_size(type, both[0]) == 0 && acp_empty(type, both[0]) == 1 && acp_size(type, both[1]) == 100);             \
        sizes[0] = 0, sizes[1] = 100;                                                                                       \
        memset(model, 0, sizeof model);                                                                                     \
        for (int round = 0; round < ROUNDS; round++) {                                                                      \
            int which = (int)chance(2);                                                                                     \
            size_t at = chance(sizes[which] + 1), size = chance(chance(10) ? 30 : 900), have = sizes[which] - at;           \
            acp_##type##_t one = both[which], other = both[1 - which];                                                      \
            acp_##type##_it_t it = acp_advance(type##_it, acp_begin(type, one), (int)at);                                   \
            size_t less = size < have ? size : have;                                                                        \
            acp_##type##_it_t last = acp_advance(type##_it, it, (int)less);                                                 \
            CHECK(acp_distance(type##_it, it, last) == (int)less);                                                          \
            switch (chance(10)) {                                                                                           \
            case 0: case 1: case 2:                                                                                         \
                acp_insert(type, it, some(size), size);                                                                     \
                put_in(which, at, mine, size);                                                                              \
                break;                                                                                                      \
            case 3:                                                                                                         \
                acp_push_back(type, one, some(size), size);                                                                 \
                put_in(which, sizes[which], mine, size);                                                                    \
                break;                                                                                                      \
            case 4: case 5:                                                                                                 \
                it = acp_erase(type, it, less);                                                                             \
                CHECK((size_t)it.index == at);                                                                              \
                take_out(which, at, less);                                                                                  \
                break;                                                                                                      \
            case 6:                                                                                                         \
                acp_erase_range(type, it, last);                                                                            \
                take_out(which, at, less);                                                                                  \
                break;                                                                                                      \
            case 7:                                                                                                         \
                acp_insert_range(type, acp_begin(type, other), it, last);                                                   \
                put_in(1 - which, 0, model[which] + at, less);                                                              \
                break;                                                                                                      \
            case 8:                                                                                                         \
                acp_pop_back(type, one, less);                                                                              \
                sizes[which] -= less;                                                                                       \
                break;                                                                                                      \
            default:                                                                                                        \
                if (chance(2)) {                                                                                            \
                    acp_assign_range(type, other, it, last);                                                                \
                    memmove(model[1 - which], model[which] + at, less);                                                     \
                    sizes[1 - which] = less;                                                                                \
                } else {                                                                                                    \
                    acp_swap(type, one, other);                                                                             \
                    memcpy(found, model[0], sizeof model[0]);                                                               \
                    memcpy(model[0], model[1], sizeof model[0]);                                                            \
                    memcpy(model[1], found, sizeof model[0]);                                                               \
                    size_t aside = sizes[0];                                                                                \
                    sizes[0] = sizes[1], sizes[1] = aside;                                                                  \
                }                                                                                                           \
            }                                                                                                               \
            for (int i = 0; i < 2; i++) {                                                                                   \
                if (sizes[i] > MOST) {                                                                                      \
                    acp_clear(type, both[i]);                                                                               \
                    sizes[i] = 0;                                                                                           \
                }                                                                                                           \
                CHECK(acp_size(type, both[i]) == sizes[i] && acp_capacity(type, both[i]) >= sizes[i]);                      \
                CHECK((size_t)acp_end(type, both[i]).index == sizes[i]);                                                    \
                reads;                                                                                                      \
                CHECK(memcmp(found, model[i], sizes[i]) == 0);                                                              \
            }                                                                                                               \
        }                                                                                                                   \
        acp_assign(type, both[0], both[1]);                                                                                 \
        CHECK(acp_size(type, both[0]) == sizes[1]);                                                                         \
        acp_reserve(type, both[0], 9000);                                                                                   \
        CHECK(acp_capacity(type, both[0]) >= 9000 && acp_size(type, both[0]) == sizes[1]);                                  \
        /* What cannot be changes nothing. */                                                                               \
        acp_##type##_t none = {ACP_GA_NULL}, bad = {starter(rank, 64)}, wild = {0x123456789abcdef0ull};                     \
        CHECK(acp_size(type, none) == 0 && acp_size(type, bad) == 0 && acp_size(type, wild) == 0);                          \
        acp_push_back(type, none, some(8), 8);                                                                              \
        acp_destroy(type, bad);                                                                                             \
        acp_push_back(type, both[0], ACP_GA_NULL, 8);                                                                       \
        acp_push_back(type, both[0], starter(rank, 0), (size_t)1 << 40);                                                    \
        CHECK(acp_at(type, both[0], -1) == ACP_GA_NULL && acp_at(type, both[0], (int)sizes[1]) == ACP_GA_NULL);             \
        acp_erase(type, acp_end(type, both[0]), 1);                                                                         \
        CHECK(acp_size(type, both[0]) == sizes[1] && acp_create(type, 8, procs).ga == ACP_GA_NULL);                         \
        CHECK(acp_create(type, (size_t)1 << 60, rank).ga == ACP_GA_NULL);                                                   \
        acp_destroy(type, both[0]);                                                                                         \
        acp_destroy(type, both[1]);                                                                                         \
        CHECK(acp_size(type, both[0]) == 0);                                                                                \
    }

GENERATED(vector, fetch(found, acp_at(vector, both[i], 0), sizes[i]))

static void fetch_deque(acp_deque_t deque, size_t size) {
    acp_pair_t rows = acp_dereference(deque_it, acp_begin(deque, deque), size);
    CHECK(rows.first.size + rows.second.size == size);
    fetch(found, rows.first.ga, rows.first.size);
    fetch(found + rows.first.size, rows.second.ga, rows.second.size);
}

GENERATED(deque, fetch_deque(both[i], sizes[i]))

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    state = (uint64_t)rank + 1;
    use_vector(rank, procs);
    use_deque(rank, procs);
    /* A deque that all ranks know; each adds at both ends when it is its turn. */
    acp_deque_t *deque = acp_query_address(starter(rank, 40000));
    if (rank == 0) {
        *deque = acp_create_deque(0, procs - 1);
    }
    acp_sync();
    acp_complete(acp_copy(starter(rank, 40000), starter(0, 40000), sizeof *deque, ACP_HANDLE_NULL));
    for (int turn = 0; turn < procs; turn++) {
        if (turn == rank) {
            uint64_t *word = words_at(starter(rank, 0));
            *word = (uint64_t)rank;
            acp_push_front(deque, *deque, starter(rank, 0), 8);
            acp_push_back(deque, *deque, starter(rank, 0), 8);
        }
        acp_sync();
    }
    fetch_deque(*deque, (size_t)(16 * procs));
    for (int i = 0; i < procs; i++) {
        CHECK(((uint64_t *)(void *)found)[i] == (uint64_t)(procs - 1 - i) && ((uint64_t *)(void *)found)[procs + i] == (uint64_t)i);
    }
    acp_sync();
    if (rank == 0) {
        acp_pop_front(deque, *deque, 8);
        CHECK(acp_size_deque(*deque) == (size_t)(16 * procs - 8));
        acp_destroy(deque, *deque);
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
