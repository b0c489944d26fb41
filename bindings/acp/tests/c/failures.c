/* What the C library that the interface comes from gets wrong, one act each; here each must be right. */
#include "check.h"
#include <time.h>

enum { LARGE = 4 << 20, ROUNDS = 300 };

static unsigned char bytes[LARGE];
static struct {
    uint64_t before, inside, after;
} words = {11, 22, 33};

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The address that a rank has told in its starter memory. */
static acp_ga_t told(int rank) {
    acp_complete(acp_copy(starter(acp_rank(), 64), starter(rank, 0), 8, ACP_HANDLE_NULL));
    return words_at(starter(acp_rank(), 64))[0];
}

int main(int argc, char **argv) {
    const char *act = argv[1];
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    uint64_t *mine = words_at(starter(rank, 0));
    if (strcmp(act, "inquire") == 0) {
        /* 1 while it is under way, 0 when it is not. */
        acp_atkey_t key = acp_register_memory(bytes, sizeof bytes, 0);
        mine[0] = acp_query_ga(key, bytes);
        acp_sync();
        acp_ga_t from = told(next);
        CHECK(acp_inquire(ACP_HANDLE_ALL) == 0 && acp_inquire(ACP_HANDLE_NULL) == 0 && acp_inquire(1 << 30) == 0);
        int busy = 0;
        for (int round = 0; round < 10; round++) {
            acp_handle_t handle = acp_copy(acp_query_ga(key, bytes), from, LARGE / 2, ACP_HANDLE_NULL);
            CHECK(handle != ACP_HANDLE_NULL);
            busy += acp_inquire(handle);
            while (acp_inquire(handle) == 1) {
            }
            CHECK(acp_inquire(handle) == 0);
            handle = acp_copy(acp_query_ga(key, bytes), from, LARGE / 2, ACP_HANDLE_NULL);
            acp_complete(handle);
            CHECK(acp_inquire(handle) == 0 && acp_inquire(ACP_HANDLE_ALL) == 0);
        }
        /* The second argument says whether something is under way when the call returns. */
        CHECK(argv[2][0] != 'n' || busy > 0);
        acp_sync();
    } else if (strcmp(act, "reset") == 0) {
        /* Another rank, and memory as at the start. */
        for (int round = 1; round <= 3; round++) {
            words_at(starter(rank, 0))[7] = 77;
            acp_sync();
            int wanted = (acp_rank() + 1) % procs;
            CHECK(acp_reset(wanted) == 0);
            rank = acp_rank();
            CHECK(rank == wanted && acp_query_rank(acp_query_starter_ga(rank)) == rank && words_at(starter(rank, 0))[7] == 0);
            words_at(starter(rank, 0))[0] = (uint64_t)rank;
            acp_sync();
            CHECK(told((rank + 1) % procs) == (uint64_t)((rank + 1) % procs));
            acp_sync();
        }
    } else if (strcmp(act, "foreign") == 0) {
        /* Null and foreign addresses do nothing to anybody. */
        for (int round = 0; round < 100; round++) {
            CHECK(acp_copy(ACP_GA_NULL, starter(next, 0), 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
            CHECK(acp_copy(starter(next, 0), ACP_GA_NULL, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
            CHECK(acp_copy(starter(next, 0) | (acp_ga_t)0x7ffff << 44, starter(rank, 0), 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
            CHECK(acp_add8(starter(rank, 0), (acp_ga_t)(uintptr_t)bytes, 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        }
        acp_sync();
        CHECK(told(next) == 0);
        acp_sync();
    } else if (strcmp(act, "neighbours") == 0) {
        /* Of three words, only the one in the middle is registered. */
        acp_atkey_t key = acp_register_memory(&words.inside, 8, 0);
        mine[0] = acp_query_ga(key, &words.inside);
        CHECK(acp_query_ga(key, &words.before) == ACP_GA_NULL && acp_query_ga(key, &words.after) == ACP_GA_NULL);
        acp_ga_t own = mine[0];
        CHECK(acp_copy(own + 8, starter(rank, 8), 8, ACP_HANDLE_NULL) == ACP_HANDLE_NULL);
        acp_sync();
        mine[9] = 44;
        acp_complete(acp_copy(told(next), starter(rank, 72), 8, ACP_HANDLE_NULL));
        acp_sync();
        CHECK(words.before == 11 && words.inside == 44 && words.after == 33);
        acp_sync();
    } else if (strcmp(act, "dead") == 0) {
        /* A barrier that a rank never comes to is not completed. */
        acp_sync();
        if (rank == procs - 1) {
            abort();
        }
        CHECK(acp_sync() != 0);
        puts("a barrier without one of its ranks");
    } else if (strcmp(act, "polling") == 0) {
        /* Ranks that poll, more of them than cores: an 8-byte put does not take a time slice. */
        acp_atkey_t key = acp_register_memory(bytes, 8, 0);
        mine[0] = acp_query_ga(key, bytes);
        acp_sync();
        acp_ga_t to = told(next);
        acp_sync();
        double start = seconds();
        for (int round = 0; round < ROUNDS; round++) {
            acp_handle_t handle = acp_copy(to, starter(rank, 8), 8, ACP_HANDLE_NULL);
            while (acp_inquire(handle) == 1) {
            }
        }
        double each = (seconds() - start) / ROUNDS;
        acp_sync();
        if (each > 20e-3) {
            printf("a put takes %g s\n", each);
        }
    } else if (strcmp(act, "requests") == 0) {
        /* Requests of channels, many more than nine. */
        enum { MANY = 200 };
        static uint64_t out[MANY], in[MANY];
        acp_request_t requests[2 * MANY];
        acp_ch_t to = acp_create_ch(rank, next), from = acp_create_ch((rank + procs - 1) % procs, rank);
        for (int i = 0; i < MANY; i++) {
            out[i] = (uint64_t)(rank * 1000 + i);
            CHECK((requests[i] = acp_nbrecv_ch(from, &in[i], 8)) != ACP_REQUEST_NULL);
        }
        for (int i = 0; i < MANY; i++) {
            CHECK((requests[MANY + i] = acp_nbsend_ch(to, &out[i], 8)) != ACP_REQUEST_NULL);
        }
        CHECK(acp_waitall_ch(requests, 2 * MANY, NULL) == 0);
        for (int i = 0; i < MANY; i++) {
            CHECK(in[i] == (uint64_t)((rank + procs - 1) % procs * 1000 + i));
        }
        acp_request_t freed = acp_nbfree_ch(to);
        CHECK(acp_free_ch(from) == 0 && acp_wait_ch(freed) == 0);
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
