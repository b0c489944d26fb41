/* What ranks written in C do in the sweep: one group of functions at a time, in an order that a seed says; each checks what it finds.
 * Runs as: acp GROUP SEED. Every rank prints one line if all was as it should be. */
#define _POSIX_C_SOURCE 199309L
#include "../../../bindings/acp/tests/c/check.h"
#include "random.h"
#include <time.h>

enum { RANKS_MAX = 64 };

static int rank, procs, left, right;
static uint64_t *mine;
/* The numbers of all ranks alike, and those of this rank alone. */
static uint64_t common, own;

/* Calls that let time pass, or none. */
static void dawdle(void) {
    for (uint64_t calls = below(&own, 3) ? 0 : below(&own, 60); calls > 0; calls--) {
        acp_inquire(ACP_HANDLE_ALL);
    }
}

/* A pause of a program that has polled so often in vain: each poll is an event of the simulation, and what was lost comes late. */
static void pause_after(unsigned polls) {
    struct timespec pause = {0, 1000L << (polls < 8 ? polls : 8)};
    nanosleep(&pause, NULL);
}

/* Many meetings, one after another: nobody leaves before all have come, and what each has copied before is there after. */
static void syncs(void) {
    for (uint64_t round = 1; round <= 30; round++) {
        mine[0] = stamp(rank, round);
        int reach = 1 + (int)below(&common, (uint64_t)procs);
        for (int distance = 1; distance < reach; distance++) {
            acp_copy(starter((rank + distance) % procs, 64 + 8 * (size_t)rank), starter(rank, 0), 8, ACP_HANDLE_NULL);
        }
        acp_copy(starter(right, 8), starter(rank, 0), 8, ACP_HANDLE_NULL);
        dawdle();
        CHECK(acp_sync() == 0);
        CHECK(mine[1] == stamp(left, round));
        for (int distance = 1; distance < reach; distance++) {
            int from = (rank + procs - distance) % procs;
            CHECK(mine[8 + from] == stamp(from, round));
        }
        dawdle();
        CHECK(acp_sync() == 0);
    }
}

/* Messages of all lengths round a ring, with many under way; channels are made and freed again and again. */
static void channels(void) {
    enum { MESSAGES = 40, AHEAD = 8, BYTES = 9000 };
    static unsigned char out[AHEAD][BYTES], in[BYTES];
    if (procs == 1) {
        return;
    }
    for (int round = 0; round < 3; round++) {
        acp_ch_t there = acp_create_ch(rank, right), here = acp_create_ch(left, rank);
        acp_request_t sent[AHEAD];
        uint64_t state = common;
        for (uint64_t number = 0; number < MESSAGES + AHEAD; number++) {
            size_t place = number % AHEAD;
            uint64_t size = below(&state, 4) ? below(&state, 64) : below(&state, BYTES);
            if (number >= AHEAD) {
                CHECK(acp_wait_ch(sent[place]) != (size_t)-1);
            }
            if (number < MESSAGES) {
                fill(out[place], size, rank, number);
                sent[place] = acp_nbsend_ch(there, out[place], size);
                CHECK(sent[place] != ACP_REQUEST_NULL);
            }
            dawdle();
            if (number < MESSAGES) {
                size_t came = acp_wait_ch(acp_nbrecv_ch(here, in, sizeof in));
                CHECK(came == size && holds(in, size, left, number));
            }
        }
        acp_request_t freed = acp_nbfree_ch(there);
        CHECK(acp_free_ch(here) == 0 && acp_wait_ch(freed) != (size_t)-1);
        draw(&common);
    }
    /* All pairs at once, a word each. */
    acp_ch_t to[RANKS_MAX], from[RANKS_MAX];
    acp_request_t requests[2 * RANKS_MAX];
    uint64_t words[2 * RANKS_MAX];
    for (int distance = 1; distance < procs; distance++) {
        to[distance] = acp_create_ch(rank, (rank + distance) % procs);
        from[distance] = acp_create_ch((rank + procs - distance) % procs, rank);
        words[distance] = stamp(rank, 1000);
        requests[distance] = acp_nbsend_ch(to[distance], &words[distance], 8);
        requests[RANKS_MAX + distance] = acp_nbrecv_ch(from[distance], &words[RANKS_MAX + distance], 8);
    }
    for (int distance = 1; distance < procs; distance++) {
        CHECK(acp_wait_ch(requests[RANKS_MAX + distance]) == 8);
        CHECK(words[RANKS_MAX + distance] == stamp((rank + procs - distance) % procs, 1000));
        CHECK(acp_wait_ch(requests[distance]) != (size_t)-1);
        requests[distance] = acp_nbfree_ch(to[distance]);
        requests[RANKS_MAX + distance] = acp_nbfree_ch(from[distance]);
    }
    for (int distance = 1; distance < procs; distance++) {
        CHECK(acp_wait_ch(requests[distance]) != (size_t)-1 && acp_wait_ch(requests[RANKS_MAX + distance]) != (size_t)-1);
    }
}

/* Segments round a ring, each end as far ahead as it may. */
static void segment_buffers(void) {
    enum { SEGMENTS = 4, BYTES = 600, ROUNDS = 60 };
    static unsigned char out[SEGMENTS * BYTES], in[SEGMENTS * BYTES];
    if (procs == 1) {
        return;
    }
    size_t bytes = 1 + below(&common, BYTES), segments = 1 + below(&common, SEGMENTS);
    acp_segbuf_t source = acp_create_src_segbuf(right, out, bytes, segments);
    acp_segbuf_t destination = acp_create_dst_segbuf(left, in, bytes, segments);
    CHECK(acp_connect_segbuf(destination) == 0 && acp_connect_segbuf(source) == 0);
    uint64_t sent = 0, taken = 0;
    unsigned polls = 0;
    while (sent < ROUNDS || taken < ROUNDS) {
        uint64_t before = sent + taken;
        if (sent < ROUNDS && acp_isready_segbuf(source) == 0) {
            fill(out + sent % segments * bytes, bytes, rank, sent);
            CHECK(acp_ack_segbuf(source) == 0);
            sent++;
        }
        if (taken < ROUNDS && acp_isacked_segbuf(destination) == 0) {
            CHECK(acp_query_segbuf_tail(destination) <= acp_query_segbuf_head(destination) + (int64_t)segments);
            CHECK(holds(in + taken % segments * bytes, bytes, left, taken));
            dawdle();
            /* What has come stays until it is given back. */
            CHECK(holds(in + taken % segments * bytes, bytes, left, taken));
            CHECK(acp_ready_segbuf(destination) == 0);
            taken++;
        }
        if (sent + taken > before) {
            polls = 0;
        } else {
            pause_after(polls++);
        }
    }
    CHECK(acp_disconnect_segbuf(source) == 0 && acp_disconnect_segbuf(destination) == 0);
    CHECK(acp_free_segbuf(source) == 0 && acp_free_segbuf(destination) == 0);
}

/* Copies between any two ranks, each ordered behind another by a handle, by CONT or by ALL, and the flag behind all of them. */
static void orders(void) {
    enum { DATA = 1 << 12, BYTES = 1 << 12, PLACES = DATA + BYTES };
    for (uint64_t round = 1; round <= 25; round++) {
        uint64_t words = 1 + below(&common, BYTES / 8);
        for (uint64_t word = 0; word < words; word++) {
            mine[DATA / 8 + word] = stamp(rank, round << 16 | word);
        }
        mine[0] = round;
        int middle = (rank + 1 + (int)below(&common, (uint64_t)procs)) % procs;
        size_t place = PLACES + (size_t)rank * BYTES;
        acp_handle_t first = acp_copy(starter(middle, place), starter(rank, DATA), 8 * words, ACP_HANDLE_NULL);
        uint64_t kind = below(&common, 3);
        acp_handle_t then = kind == 0 ? first : kind == 1 ? ACP_HANDLE_CONT : ACP_HANDLE_ALL;
        acp_handle_t second = acp_copy(starter(right, place + BYTES * RANKS_MAX), starter(middle, place), 8 * words, then);
        CHECK(first != ACP_HANDLE_NULL && second != ACP_HANDLE_NULL);
        acp_handle_t told = acp_copy(starter(right, 8), starter(rank, 0), 8, kind == 2 ? ACP_HANDLE_ALL : second);
        for (unsigned polls = 0; ((volatile uint64_t *)mine)[1] != round; polls++) {
            CHECK(((volatile uint64_t *)mine)[1] < round);
            acp_inquire(ACP_HANDLE_ALL);
            pause_after(polls);
        }
        volatile uint64_t *came = mine + (PLACES + (size_t)left * BYTES + BYTES * RANKS_MAX) / 8;
        for (uint64_t word = 0; word < words; word++) {
            CHECK(came[word] == stamp(left, round << 16 | word));
        }
        acp_complete(told);
        acp_sync();
    }
}

/* Atomics of both widths by all ranks on the same words of starter memory and of registered memory; every result is of one order. */
static void atomics(void) {
    enum { CALLS = 30 };
    static uint64_t registered[8];
    memset(registered, 0, sizeof registered);
    acp_atkey_t key = acp_register_memory(registered, sizeof registered, 0);
    mine[0] = acp_query_ga(key, registered);
    memset(mine + 8, 0, 64);
    acp_sync();
    for (int half = 0; half < 2; half++) {
        int owner = (int)below(&common, (uint64_t)procs);
        acp_complete(acp_copy(starter(rank, 8), starter(owner, 0), 8, ACP_HANDLE_NULL));
        acp_ga_t target = half ? mine[1] : starter(owner, 64), found = starter(rank, 128);
        uint64_t highest = 0;
        for (int call = 0; call < CALLS; call++) {
            acp_handle_t one = acp_add8(found, target, 1, ACP_HANDLE_NULL);
            acp_handle_t two = acp_add4(found + 8, target + 8, 3, one);
            acp_complete(acp_xor8(found + 16, target + 16, UINT64_C(1) << rank, two));
            CHECK(mine[16] >= highest && (uint32_t)mine[17] % 3 == 0);
            CHECK((mine[18] >> rank & 1) == (uint64_t)(call & 1));
            highest = mine[16] + 1;
            for (uint64_t expected = mine[16];; expected = mine[19]) {
                acp_complete(acp_cas8(found + 24, target + 24, expected, expected + 1, ACP_HANDLE_ALL));
                if (mine[19] == expected) {
                    break;
                }
            }
        }
        acp_sync();
        acp_complete(acp_copy(found, target, 32, ACP_HANDLE_NULL));
        uint64_t calls = (uint64_t)CALLS * (uint64_t)procs;
        CHECK(mine[16] == calls && (uint32_t)mine[17] == 3 * calls && mine[18] == 0 && mine[19] == calls);
        acp_sync();
    }
    CHECK(acp_unregister_memory(key) == 0);
}

/* Memory of the program that is registered and unregistered again and again: every round has its own, at other addresses. */
static void registrations(void) {
    for (uint64_t round = 1; round <= 12; round++) {
        size_t words = 1 + below(&common, 700);
        uint64_t *memory = malloc(8 * words);
        CHECK(memory != NULL);
        for (size_t word = 0; word < words; word++) {
            memory[word] = stamp(rank, round << 16 | word);
        }
        acp_atkey_t key = acp_register_memory(memory, 8 * words, 0);
        CHECK(key != ACP_ATKEY_NULL);
        mine[0] = acp_query_ga(key, memory);
        acp_sync();
        int from = (rank + 1 + (int)below(&own, (uint64_t)procs)) % procs;
        acp_complete(acp_copy(starter(rank, 8), starter(from, 0), 8, ACP_HANDLE_NULL));
        acp_complete(acp_copy(starter(rank, 4096), mine[1], 8 * words, ACP_HANDLE_NULL));
        for (size_t word = 0; word < words; word++) {
            CHECK(mine[512 + word] == stamp(from, round << 16 | word));
        }
        acp_sync();
        mine[2] = stamp(rank, round);
        acp_complete(acp_copy(starter(rank, 8), starter(right, 0), 8, ACP_HANDLE_NULL));
        acp_copy(mine[1], starter(rank, 16), 8, ACP_HANDLE_NULL);
        acp_sync();
        CHECK(memory[0] == stamp(left, round));
        CHECK(acp_unregister_memory(key) == 0);
        free(memory);
    }
}

static acp_element_t element(uint64_t value) {
    mine[256] = value;
    return (acp_element_t){starter(rank, 2048), 8};
}

static uint64_t word_of(acp_ga_t ga) {
    acp_complete(acp_copy(starter(rank, 2056), ga, 8, ACP_HANDLE_NULL));
    return mine[257];
}

/* A map, a set and a multiset of all ranks: every key is added once, whoever tries, and what a rank has written it finds. */
static void tables(void) {
    enum { KEYS = 12 };
    struct made {
        acp_map_t map;
        acp_set_t set;
        acp_multiset_t multiset;
    } *made = acp_query_address(starter(rank, 1024));
    int ranks[RANKS_MAX];
    for (int i = 0; i < procs; i++) {
        ranks[i] = i;
    }
    if (rank == 0) {
        made->map = acp_create(map, procs, ranks, 3, procs - 1);
        made->set = acp_create(set, procs, ranks, 3, 0);
        made->multiset = acp_create(multiset, procs, ranks, 3, procs - 1);
    }
    acp_sync();
    acp_complete(acp_copy(starter(rank, 1024), starter(0, 1024), sizeof *made, ACP_HANDLE_NULL));
    uint64_t first = 0;
    for (uint64_t number = 0; number < KEYS; number++) {
        uint64_t shared = (number + (uint64_t)rank * 5) % KEYS, alone = (uint64_t)rank << 32 | number;
        mine[258] = stamp(rank, number);
        acp_pair_t pair = {element(alone), {starter(rank, 2064), 8}};
        CHECK(acp_insert(map, made->map, pair) == 1 && acp_insert(map, made->map, pair) == 0);
        acp_pair_t found = {pair.first, {starter(rank, 2072), 8}};
        CHECK(acp_retrieve_map(made->map, found) == 8 && mine[259] == stamp(rank, number));
        if (below(&own, 2)) {
            acp_remove(map, made->map, element(alone));
            CHECK(acp_find(map, made->map, element(alone)).elem == ACP_GA_NULL);
            mine[258] = stamp(rank, number + KEYS);
            pair.first = found.first = element(alone);
            CHECK(acp_insert(map, made->map, pair) == 1);
            CHECK(acp_retrieve_map(made->map, found) == 8 && mine[259] == stamp(rank, number + KEYS));
        }
        first += (uint64_t)acp_insert(set, made->set, element(shared));
        CHECK(acp_insert(multiset, made->multiset, element(shared)) >= 0);
    }
    /* The last word of every rank: how often it was the first to add a key. */
    mine[3] = first;
    acp_sync();
    uint64_t sum = 0;
    for (int other = 0; other < procs; other++) {
        sum += word_of(starter(other, 24));
    }
    CHECK(sum == KEYS && acp_size(set, made->set) == KEYS && acp_size(multiset, made->multiset) == KEYS);
    CHECK(acp_size(map, made->map) == (size_t)KEYS * (size_t)procs);
    acp_sync();
}

/* A vector and a deque on another rank, and a list over all, each changed by one rank; all ranks allocate and free meanwhile. */
static void rows(void) {
    enum { MOST = 80, STEPS = 40 };
    uint64_t model[2][2 * MOST];
    size_t start = MOST, count[3] = {0, 0, 0}, first = 0;
    uint64_t listed[2 * MOST];
    acp_vector_t vector = acp_create(vector, 0, right);
    acp_deque_t deque = acp_create(deque, 0, left);
    acp_list_t list = acp_create(list, right);
    for (uint64_t step = 0; step < STEPS; step++) {
        uint64_t value = stamp(rank, step);
        switch (below(&own, 6)) {
        case 0:
            acp_push_back(vector, vector, element(value).ga, 8);
            model[0][count[0]++] = value;
            break;
        case 1:
            acp_push_back(deque, deque, element(value).ga, 8);
            model[1][start + count[1]++] = value;
            break;
        case 2:
            acp_push_front(deque, deque, element(value).ga, 8);
            model[1][--start] = value, count[1]++;
            break;
        case 3:
            if (count[0] > 0) {
                size_t at = below(&own, count[0]);
                acp_erase(vector, acp_advance(vector_it, acp_begin(vector, vector), (int)(8 * at)), 8);
                memmove(model[0] + at, model[0] + at + 1, 8 * (count[0] - at - 1));
                count[0]--;
            }
            break;
        case 4:
            acp_push_back(list, list, element(value), (int)below(&own, (uint64_t)procs));
            listed[first + count[2]++] = value;
            break;
        default:
            if (count[2] > 0) {
                acp_pop_front(list, list);
                first++, count[2]--;
            }
        }
        acp_ga_t block = acp_malloc(8 + below(&own, 100), (int)below(&own, (uint64_t)procs));
        CHECK(block != ACP_GA_NULL);
        acp_complete(acp_copy(block, element(value).ga, 8, ACP_HANDLE_NULL));
        CHECK(word_of(block) == value);
        acp_free(block);
    }
    CHECK(acp_size(vector, vector) == 8 * count[0] && acp_size(deque, deque) == 8 * count[1] && acp_size(list, list) == count[2]);
    for (size_t at = 0; at < count[0]; at++) {
        CHECK(word_of(acp_at(vector, vector, (int)(8 * at))) == model[0][at]);
    }
    for (size_t at = 0; at < count[1]; at++) {
        CHECK(word_of(acp_at(deque, deque, (int)(8 * at))) == model[1][start + at]);
    }
    acp_list_it_t it = acp_begin(list, list);
    for (size_t at = 0; at < count[2]; at++, it = acp_increment(list_it, it)) {
        CHECK(word_of(acp_dereference(list_it, it).ga) == listed[first + at]);
    }
    acp_destroy(list, list);
    acp_destroy(vector, vector);
    acp_destroy(deque, deque);
    acp_sync();
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {
        {"acp-sync", syncs},       {"acp-channels", channels},        {"acp-segments", segment_buffers},
        {"acp-orders", orders},    {"acp-atomics", atomics},          {"acp-registrations", registrations},
        {"acp-tables", tables},    {"acp-rows", rows},
    };
    CHECK(acp_init(&argc, &argv) == 0 && argc == 3);
    rank = acp_rank(), procs = acp_procs(), right = (rank + 1) % procs, left = (rank + procs - 1) % procs;
    CHECK(procs <= RANKS_MAX);
    mine = words_at(starter(rank, 0));
    common = strtoull(argv[2], NULL, 10);
    own = stamp(rank, common);
    size_t group = 0;
    while (group < sizeof groups / sizeof *groups && strcmp(groups[group].name, argv[1]) != 0) {
        group++;
    }
    CHECK(group < sizeof groups / sizeof *groups);
    groups[group].run();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
