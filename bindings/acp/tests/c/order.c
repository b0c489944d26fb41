/* What comes before what: NULL, CONT, ALL and handles; complete and inquire. */
#include "check.h"

enum { BIG = 200000, WORDS = BIG / 8, DATA = 1 << 16 };

static int rank, procs, next, after_next;
/* As often as asked, or sixty times. */
static uint64_t rounds = 60;
static uint64_t *mine;

/* A flag that is ordered after data is not seen before them, each time by another kind of order. */
static void flags(void) {
    for (uint64_t round = 1; round <= rounds; round++) {
        for (int word = 0; word < WORDS; word++) {
            mine[DATA / 8 + word] = round * 1000003 + (uint64_t)word;
        }
        mine[1] = round;
        acp_handle_t data = acp_copy(starter(next, DATA + BIG + 64), starter(rank, DATA), BIG, ACP_HANDLE_NULL);
        CHECK(data != ACP_HANDLE_NULL);
        acp_handle_t order = round % 3 == 0 ? data : round % 3 == 1 ? ACP_HANDLE_ALL : ACP_HANDLE_CONT;
        acp_handle_t flag = acp_copy(starter(next, 0), starter(rank, 8), 8, order);
        CHECK(flag != ACP_HANDLE_NULL);
        until((volatile uint64_t *)&mine[0], round);
        int left = (rank + procs - 1) % procs;
        (void)left;
        uint64_t *arrived = mine + (DATA + BIG + 64) / 8;
        for (int word = 0; word < WORDS; word++) {
            CHECK(((volatile uint64_t *)arrived)[word] == round * 1000003 + (uint64_t)word);
        }
        acp_complete(flag);
        acp_sync();
    }
}

/* A word goes round by way of others, each step ordered after the one before: there, back, there again. */
static void chains(void) {
    for (uint64_t round = 1; round <= rounds; round++) {
        mine[2] = round * 10;
        mine[3] = mine[4] = mine[5] = mine[6] = 0;
        acp_sync();
        /* Mine to the next one's word 7, from there to the one after that, back to me; an atomic on it; what it found goes out again. */
        acp_handle_t step = acp_copy(starter(next, 512 + 8 * (size_t)rank), starter(rank, 16), 8, ACP_HANDLE_NULL);
        step = acp_copy(starter(after_next, 1024 + 8 * (size_t)rank), starter(next, 512 + 8 * (size_t)rank), 8, step);
        step = acp_copy(starter(rank, 24), starter(after_next, 1024 + 8 * (size_t)rank), 8, ACP_HANDLE_CONT);
        step = acp_add8(starter(rank, 32), starter(rank, 24), 5, ACP_HANDLE_CONT);
        step = acp_copy(starter(next, 2048 + 8 * (size_t)rank), starter(rank, 32), 8, step);
        step = acp_add8(starter(rank, 40), starter(next, 2048 + 8 * (size_t)rank), 1, ACP_HANDLE_ALL);
        step = acp_copy(starter(rank, 48), starter(next, 2048 + 8 * (size_t)rank), 8, step);
        acp_complete(step);
        CHECK(mine[3] == round * 10 + 5 && mine[4] == round * 10);
        CHECK(mine[5] == round * 10 && mine[6] == round * 10 + 1);
        acp_sync();
    }
}

/* Handles end in order: who has waited for one has waited for all before it. */
static void handles(void) {
    enum { MANY = 3000 };
    acp_handle_t all[MANY];
    memset(mine + 512, 0, MANY * 8);
    acp_sync();
    for (int index = 0; index < MANY; index++) {
        all[index] = acp_add8(starter(rank, 64), starter(next, 4096 + 8 * (size_t)index), (uint64_t)index + 1, ACP_HANDLE_NULL);
        CHECK(all[index] != ACP_HANDLE_NULL);
        CHECK(index == 0 || all[index] >= all[index - 1]);
    }
    acp_complete(all[MANY / 2]);
    for (int index = 0; index <= MANY / 2; index++) {
        CHECK(acp_inquire(all[index]) == 0);
    }
    acp_complete(all[MANY - 1]);
    CHECK(acp_inquire(ACP_HANDLE_ALL) == 0);
    /* Those that are long done, that never were, and none. */
    acp_complete(all[0]);
    acp_complete(ACP_HANDLE_NULL);
    acp_complete(all[MANY - 1] + 1000000);
    CHECK(acp_inquire(ACP_HANDLE_NULL) == 0 && acp_inquire(all[MANY - 1] + 1000000) == 0 && acp_inquire(-77) == 0);
    acp_sync();
    for (int index = 0; index < MANY; index++) {
        CHECK(mine[512 + index] == (uint64_t)index + 1);
    }
    acp_sync();
    /* Inquiring alone is enough to get there. */
    acp_handle_t big = acp_copy(starter(next, DATA + BIG + 64), starter(rank, DATA), BIG, ACP_HANDLE_NULL);
    while (acp_inquire(big)) {
    }
    acp_sync();
    CHECK(mine[(DATA + BIG + 64) / 8 + 5] == mine[DATA / 8 + 5]);
    acp_sync();
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    if (argc > 1) {
        rounds = (uint64_t)atoi(argv[1]);
    }
    rank = acp_rank();
    procs = acp_procs();
    next = (rank + 1) % procs;
    after_next = (rank + 2) % procs;
    mine = words_at(starter(rank, 0));
    acp_sync();
    flags();
    chains();
    handles();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
