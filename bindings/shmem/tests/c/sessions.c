/* Puts and atomics to the next PE in a session of a context, whose operations may wait for each other if the second argument says "batch". */
#include "check.h"

#define ROUNDS 40
#define PUTS 100
#define ATOMICS 8

static long words[ROUNDS * PUTS], sums[ATOMICS], answer;

int main(int count, char **arguments) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    long options = count > 2 && strcmp(arguments[2], "batch") == 0 ? SHMEM_CTX_SESSION_BATCH : 0;
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_session_start(ctx, options, NULL, 0);
    /* For a test that counts datagrams: three operations at a time, of one PE, and nothing else. */
    if (count > 3) {
        for (int i = 0; i < atoi(arguments[3]) && me == 0; i++) {
            for (int k = 0; k < 3; k++)
                shmem_atomic_add(ctx, sums + k, 1L, right);
            shmem_ctx_quiet(ctx);
        }
        shmem_ctx_session_stop(ctx);
        shmem_finalize();
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PUTS; i++)
            shmem_p(ctx, words + PUTS * round + i, 1000L * me + i, right);
        for (int i = 0; i < ATOMICS; i++)
            shmem_atomic_add(ctx, sums + i, 1L, right);
        shmem_ctx_quiet(ctx);
    }
    /* What waits for more does not wait for the end of the session: the other PE answers while this one waits. */
    shmem_p(ctx, &answer, 1L + left, right);
    shmem_wait_until(&answer, SHMEM_CMP_EQ, 1L + (left + n - 1) % n);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS * PUTS; i++)
        CHECK(words[i] == 1000L * left + i % PUTS);
    for (int i = 0; i < ATOMICS; i++)
        CHECK(sums[i] == ROUNDS);
    shmem_barrier_all();
    /* A context that is destroyed in a session. */
    shmem_ctx_session_start(ctx, options, NULL, 0);
    shmem_p(ctx, words, 7L, right);
    shmem_ctx_destroy(ctx);
    CHECK(shmem_ctx_create(0, &ctx) == 0);
    shmem_ctx_session_start(ctx, options, NULL, 0);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    CHECK(words[0] == 7);
    good();
    shmem_finalize();
    return 0;
}
