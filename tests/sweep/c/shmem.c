/* What PEs written in C do in the sweep: one group of routines at a time, in an order that a seed says; each checks what it finds.
 * Runs as: shmem GROUP SEED. Every PE prints one line if all was as it should be. */
#define _POSIX_C_SOURCE 199309L
#include "../../../bindings/shmem/tests/c/check.h"
#include "random.h"
#include <time.h>

enum { PES_MAX = 64 };

static int me, pes, left, right;
/* The numbers of all PEs alike, and those of this PE alone. */
static uint64_t common, own;

/* Some time passes, or none. */
static void dawdle(void) {
    if (below(&own, 3) == 0) {
        struct timespec pause = {0, (long)below(&own, 40000)};
        nanosleep(&pause, NULL);
    }
}

/* A pause of a program that has tried so often in vain. */
static void pause_after(unsigned tries) {
    struct timespec pause = {0, 1000L << (tries < 8 ? tries : 8)};
    nanosleep(&pause, NULL);
}

/* Messages round a ring, each behind a signal, sent in every way that orders a signal behind its data, some ahead of their receiver. */
static void ring_of_signals(void) {
    enum { SLOTS = 4, BYTES = 5000, MESSAGES = 48 };
    static unsigned char slots[SLOTS][BYTES], out[SLOTS][BYTES];
    static uint64_t arrived[SLOTS], read;
    shmem_ctx_t context;
    CHECK(shmem_ctx_create(0, &context) == 0);
    uint64_t drawn = common;
    for (uint64_t number = 0; number < MESSAGES; number++) {
        size_t slot = number % SLOTS, size = below(&drawn, 4) ? below(&drawn, 64) : below(&drawn, BYTES);
        if (slot == 0) {
            /* The routines that return at once still read what they send. */
            shmem_ctx_quiet(context);
            if (number % 8 == 0) {
                shmem_quiet();
            } else {
                shmem_pe_quiet(&right, 1);
            }
        }
        if (number >= SLOTS) {
            shmem_signal_wait_until(&read, SHMEM_CMP_GE, number - SLOTS + 1);
        }
        fill(out[slot], size, me, number);
        uint64_t before = number < SLOTS ? 0 : number - SLOTS + 1, after = number + 1;
        switch (below(&own, 7)) {
        case 0:
            shmem_putmem_signal(slots[slot], out[slot], size, &arrived[slot], after, SHMEM_SIGNAL_SET, right);
            break;
        case 1:
            shmem_putmem_signal(slots[slot], out[slot], size, &arrived[slot], after - before, SHMEM_SIGNAL_ADD, right);
            break;
        case 2:
            shmem_putmem_signal_nbi(slots[slot], out[slot], size, &arrived[slot], after, SHMEM_SIGNAL_SET, right);
            break;
        case 3:
            shmem_putmem_nbi(slots[slot], out[slot], size, right);
            shmem_fence();
            shmem_uint64_p(&arrived[slot], after, right);
            break;
        case 4:
            shmem_putmem(slots[slot], out[slot], size, right);
            shmem_fence();
            shmem_signal_add(&arrived[slot], after - before, right);
            break;
        case 5:
            shmem_putmem(slots[slot], out[slot], size, right);
            shmem_quiet();
            shmem_uint64_atomic_set(&arrived[slot], after, right);
            break;
        default:
            shmem_ctx_putmem_nbi(context, slots[slot], out[slot], size, right);
            shmem_ctx_fence(context);
            shmem_ctx_signal_set(context, &arrived[slot], after, right);
        }
        dawdle();
        CHECK(shmem_signal_wait_until(&arrived[slot], SHMEM_CMP_GE, after) == after);
        CHECK(holds(slots[slot], size, left, number));
        shmem_signal_add(&read, 1, left);
    }
    shmem_ctx_destroy(context);
    shmem_barrier_all();
    CHECK(shmem_signal_fetch(&read) == MESSAGES);
}

/* A word from every PE to every other, awaited one by one, some at a time, or all. */
static void words_from_all(void) {
    enum { ROUNDS = 8 };
    static uint64_t words[PES_MAX], flags[PES_MAX];
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        for (int distance = 0; distance < pes; distance++) {
            uint64_t word = stamp(me, round);
            shmem_uint64_put_signal(&words[me], &word, 1, &flags[me], round, SHMEM_SIGNAL_SET, (me + distance) % pes);
        }
        dawdle();
        int seen[PES_MAX] = {0};
        size_t left_over = (size_t)pes, found[PES_MAX];
        switch (below(&own, 3)) {
        case 0:
            shmem_uint64_wait_until_all(flags, (size_t)pes, NULL, SHMEM_CMP_EQ, round);
            break;
        case 1:
            for (; left_over > 0; left_over--) {
                size_t one = shmem_uint64_wait_until_any(flags, (size_t)pes, seen, SHMEM_CMP_EQ, round);
                CHECK(one < (size_t)pes && !seen[one] && words[one] == stamp((int)one, round));
                seen[one] = 1;
            }
            break;
        default:
            while (left_over > 0) {
                size_t count = shmem_uint64_wait_until_some(flags, (size_t)pes, found, seen, SHMEM_CMP_EQ, round);
                CHECK(count > 0 && count <= left_over);
                left_over -= count;
                while (count-- > 0) {
                    CHECK(!seen[found[count]] && words[found[count]] == stamp((int)found[count], round));
                    seen[found[count]] = 1;
                }
            }
        }
        for (int pe = 0; pe < pes; pe++) {
            CHECK(words[pe] == stamp(pe, round));
        }
        shmem_sync_all();
    }
}

static void signals(void) {
    ring_of_signals();
    words_from_all();
}

/* Two words that only the holder of their lock changes, by plain puts. */
static void locks(void) {
    enum { LOCKS = 3, TURNS = 10 };
    static long lock[LOCKS];
    static uint64_t guarded[LOCKS][2], taken[LOCKS], sums[LOCKS];
    for (int turn = 0; turn < TURNS; turn++) {
        size_t which = below(&own, LOCKS);
        int keeper = (int)which % pes;
        dawdle();
        if (below(&own, 3)) {
            shmem_set_lock(&lock[which]);
        } else {
            for (unsigned tries = 0; shmem_test_lock(&lock[which]) != 0; tries++) {
                pause_after(tries);
            }
        }
        uint64_t one = shmem_uint64_g(&guarded[which][0], keeper), other = shmem_uint64_g(&guarded[which][1], keeper);
        CHECK(other == 3 * one);
        shmem_uint64_p(&guarded[which][0], one + 1, keeper);
        dawdle();
        shmem_uint64_p(&guarded[which][1], 3 * (one + 1), keeper);
        shmem_clear_lock(&lock[which]);
        taken[which]++;
    }
    CHECK(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums, taken, LOCKS) == 0);
    for (size_t which = 0; which < LOCKS; which++) {
        int keeper = (int)which % pes;
        CHECK(shmem_uint64_g(&guarded[which][0], keeper) == sums[which]);
        CHECK(shmem_uint64_g(&guarded[which][1], keeper) == 3 * sums[which]);
    }
}

/* Atomics of all PEs on the same words: none is lost or performed twice, and every result is of one order. */
static void atomics(void) {
    enum { CALLS = 24, CLAIMS = CALLS * PES_MAX };
    static uint64_t sum, ticket, swapped, compared, bits, claims[CLAIMS], parity, all, fetched[2];
    int owner = (int)below(&common, (uint64_t)pes);
    uint64_t added = 0, highest = 0;
    parity = 0;
    for (uint64_t call = 0; call < CALLS; call++) {
        uint64_t mine = stamp(me, call), amount = below(&own, 1000);
        added += amount;
        if (below(&own, 2)) {
            shmem_uint64_atomic_add(&sum, amount, owner);
        } else {
            shmem_uint64_atomic_fetch_add_nbi(&fetched[0], &sum, amount, owner);
        }
        uint64_t claimed = shmem_uint64_atomic_fetch_inc(&ticket, owner);
        CHECK(claimed < CLAIMS && (call == 0 || claimed > highest));
        highest = claimed;
        shmem_uint64_p(&claims[claimed], mine, owner);
        parity ^= mine ^ shmem_uint64_atomic_swap(&swapped, mine, owner);
        for (uint64_t expected = shmem_uint64_g(&compared, owner), found;; expected = found) {
            found = shmem_uint64_atomic_compare_swap(&compared, expected, expected + 1, owner);
            if (found == expected) {
                break;
            }
        }
        CHECK((shmem_uint64_atomic_fetch_xor(&bits, UINT64_C(1) << me, owner) >> me & 1) == (call & 1));
        dawdle();
        shmem_quiet();
    }
    shmem_barrier_all();
    uint64_t calls = (uint64_t)CALLS * (uint64_t)pes;
    parity ^= me == owner ? swapped : 0;
    CHECK(shmem_uint64_xor_reduce(SHMEM_TEAM_WORLD, &all, &parity, 1) == 0 && all == 0);
    parity = added;
    CHECK(shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &all, &parity, 1) == 0);
    CHECK(shmem_uint64_atomic_fetch(&sum, owner) == all && shmem_uint64_g(&ticket, owner) == calls);
    CHECK(shmem_uint64_g(&compared, owner) == calls && shmem_uint64_g(&bits, owner) == 0);
    for (uint64_t claim = 0; me == owner && claim < calls; claim++) {
        CHECK(claims[claim] != 0);
    }
}

/* The values of a PE of the world in a step. */
static uint64_t value(shmem_team_t team, int pe, uint64_t step, size_t index) {
    return stamp(shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD), step << 20 | index);
}

/* Collective routines of several teams, one after another. Results go to memory that no earlier one of the same round has used. */
static void collectives(void) {
    enum { ROUNDS = 3, STEPS = 14, SOURCE = 1 << 12, ROOM = 1 << 16 };
    static uint64_t source[SOURCE], room[ROOM];
    shmem_team_t teams[4] = {SHMEM_TEAM_WORLD, SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID, SHMEM_TEAM_INVALID};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int width = 1 + (int)below(&common, (uint64_t)pes), start = (int)below(&common, (uint64_t)pes);
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, width, NULL, 0, &teams[1], NULL, 0, &teams[2]) == 0);
        /* The PEs from one on, or up to it in reverse order. */
        int reversed = (int)below(&common, 2), size = reversed ? start + 1 : pes - start;
        int stride = size == 1 ? 0 : reversed ? -1 : 1;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &teams[3]) == 0);
        size_t used = 0;
        for (uint64_t step = round * STEPS; step < (round + 1) * STEPS; step++) {
            shmem_team_t team = teams[below(&common, 4)];
            uint64_t kind = below(&common, 9), drawn = draw(&common);
            int number = shmem_team_my_pe(team), count = shmem_team_n_pes(team);
            uint64_t *result = room + used;
            used += SOURCE;
            if (number < 0) {
                continue;
            }
            size_t members = (size_t)count, most = below(&drawn, 3) ? 16 : SOURCE;
            size_t length = below(&drawn, most / members + 1);
            int root = (int)below(&drawn, (uint64_t)count);
            for (size_t index = 0; index < length * members; index++) {
                source[index] = value(team, number, step, index);
            }
            dawdle();
            switch (kind) {
            case 0:
                CHECK(shmem_uint64_broadcast(team, result, source, length, root) == 0);
                for (size_t index = 0; index < length; index++) {
                    CHECK(result[index] == value(team, root, step, index));
                }
                break;
            case 1: {
                size_t before = 0;
                CHECK(shmem_uint64_collect(team, result, source, (length + (size_t)number) % (length + 1)) == 0);
                for (int pe = 0; pe < count; pe++) {
                    for (size_t index = 0; index < (length + (size_t)pe) % (length + 1); index++) {
                        CHECK(result[before++] == value(team, pe, step, index));
                    }
                }
                break;
            }
            case 2:
                CHECK(shmem_uint64_fcollect(team, result, source, length) == 0);
                for (size_t index = 0; index < length * members; index++) {
                    CHECK(result[index] == value(team, (int)(index / length), step, index % length));
                }
                break;
            case 3:
                CHECK(shmem_uint64_alltoall(team, result, source, length) == 0);
                for (size_t index = 0; index < length * members; index++) {
                    CHECK(result[index] == value(team, (int)(index / length), step, (size_t)number * length + index % length));
                }
                break;
            case 4:
                CHECK(shmem_team_sync(team) == 0);
                break;
            default: {
                int first = 0, end = count;
                if (kind == 5) {
                    memcpy(result, source, 8 * length);
                    CHECK(shmem_uint64_sum_reduce(team, result, result, length) == 0);
                } else if (kind == 6) {
                    CHECK(shmem_uint64_sum_reduce(team, result, source, length) == 0);
                } else if (kind == 7) {
                    CHECK(shmem_uint64_sum_inscan(team, result, source, length) == 0);
                    end = number + 1;
                } else {
                    CHECK(shmem_uint64_sum_exscan(team, result, source, length) == 0);
                    end = number;
                }
                for (size_t index = 0; index < length && end > 0; index++) {
                    uint64_t expected = 0;
                    for (int pe = first; pe < end; pe++) {
                        expected += value(team, pe, step, index);
                    }
                    CHECK(result[index] == expected);
                }
            }
            }
        }
        shmem_barrier_all();
        for (size_t number = 1; number < 4; number++) {
            if (teams[number] != SHMEM_TEAM_INVALID) {
                shmem_team_destroy(teams[number]);
            }
        }
        shmem_barrier_all();
    }
}

/* Puts and gets of all shapes between memory that is allocated, grown and freed again and again. */
static void transfers(void) {
    enum { ROUNDS = 6, WORDS = 96, SHAPES = 6 };
    static uint64_t out[SHAPES][WORDS], in[WORDS];
    shmem_ctx_t context;
    CHECK(shmem_ctx_create(0, &context) == 0);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        size_t words = 1 + below(&common, WORDS / 3), count = (size_t)pes * WORDS;
        uint64_t *memory = shmem_calloc(count, 8);
        CHECK(memory != NULL);
        int distance = (int)below(&common, (uint64_t)pes), to = (me + distance) % pes, from = (me + pes - distance) % pes;
        uint64_t *strip = memory + (size_t)me * WORDS;
        size_t way = below(&own, SHAPES), apart = 1 + below(&common, 3);
        for (size_t word = 0; word < WORDS; word++) {
            out[way][word] = stamp(me, round << 32 | word);
        }
        switch (way) {
        case 0:
            shmem_uint64_iput(strip, out[way], (ptrdiff_t)apart, 1, words, to);
            break;
        case 1:
            for (size_t word = 0; word < words; word++) {
                shmem_uint64_p(strip + word * apart, out[way][word], to);
            }
            break;
        case 2:
            shmem_ctx_uint64_iput(context, strip, out[way], (ptrdiff_t)apart, 1, words, to);
            shmem_ctx_quiet(context);
            break;
        case 3:
            shmem_uint64_ibput(strip, out[way], (ptrdiff_t)apart, 1, 1, words, to);
            break;
        case 4:
            for (size_t word = 0; word < words; word++) {
                shmem_put64_nbi(strip + word * apart, &out[way][word], 1, to);
            }
            break;
        default:
            for (size_t word = 0; word < words; word++) {
                shmem_uint64_atomic_set(strip + word * apart, out[way][word], to);
            }
        }
        dawdle();
        shmem_barrier_all();
        uint64_t *theirs = memory + (size_t)from * WORDS;
        for (size_t word = 0; word < words * apart; word++) {
            CHECK(theirs[word] == (word % apart ? 0 : stamp(from, round << 32 | word / apart)));
        }
        /* What another PE has received, by a get of another shape. */
        int other = (int)below(&own, (uint64_t)pes), writer = (other + pes - distance) % pes;
        uint64_t *there = memory + (size_t)writer * WORDS;
        memset(in, 0, sizeof in);
        switch (below(&own, 4)) {
        case 0:
            shmem_uint64_iget(in, there, 1, (ptrdiff_t)apart, words, other);
            break;
        case 1:
            for (size_t word = 0; word < words; word++) {
                shmem_uint64_get_nbi(&in[word], there + word * apart, 1, other);
            }
            shmem_quiet();
            break;
        case 2:
            shmem_ctx_uint64_ibget(context, in, there, 1, (ptrdiff_t)apart, 1, words, other);
            break;
        default:
            for (size_t word = 0; word < words; word++) {
                in[word] = shmem_uint64_atomic_fetch(there + word * apart, other);
            }
        }
        for (size_t word = 0; word < words; word++) {
            CHECK(in[word] == stamp(writer, round << 32 | word));
        }
        /* Nobody reads any more; what was received stays when the memory grows. */
        shmem_barrier_all();
        memory = shmem_realloc(memory, 8 * (count + (round % 2 ? 4096 : 1)));
        CHECK(memory != NULL);
        for (size_t word = 0; word < words; word++) {
            CHECK(memory[(size_t)from * WORDS + word * apart] == stamp(from, round << 32 | word));
        }
        shmem_free(memory);
    }
    shmem_ctx_destroy(context);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } groups[] = {
        {"shmem-signals", signals},         {"shmem-locks", locks},         {"shmem-atomics", atomics},
        {"shmem-collectives", collectives}, {"shmem-transfers", transfers},
    };
    shmem_init();
    CHECK(argc == 3);
    me = shmem_my_pe(), pes = shmem_n_pes(), right = (me + 1) % pes, left = (me + pes - 1) % pes;
    CHECK(pes <= PES_MAX);
    common = strtoull(argv[2], NULL, 10);
    own = stamp(me, common);
    size_t group = 0;
    while (group < sizeof groups / sizeof *groups && strcmp(groups[group].name, argv[1]) != 0) {
        group++;
    }
    CHECK(group < sizeof groups / sizeof *groups);
    groups[group].run();
    shmem_finalize();
    puts("good");
    return 0;
}
