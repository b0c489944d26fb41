/* Contexts: waits of each advance the others, and the end of the library completes the operations of all. */
#include "check.h"

enum { WORDS = 8192, FILLING = 4, MANY = 1 << 18 };

static long from[WORDS], to[FILLING * WORDS], flag, answer;
static long many[MANY], arrived[MANY];

/* Reads the answer of the last PE in one of three ways. */
static long asked(shmem_ctx_t ctx, int way, int last) {
    long strided[1];
    if (way == 0)
        return shmem_ctx_long_g(ctx, &answer, last);
    if (way == 1)
        return shmem_ctx_long_atomic_fetch(ctx, &answer, last);
    shmem_ctx_long_iget(ctx, strided, &answer, 1, 1, 1, last);
    return strided[0];
}

/* PE 0 polls by one context for the answer to a flag that it has put by another, behind the operations of a third one. */
static void poll_for_answer(shmem_ctx_t filling, shmem_ctx_t asking, shmem_ctx_t polling, int way) {
    static long round;
    int last = shmem_n_pes() - 1;
    round++;
    if (shmem_my_pe() == 0) {
        for (int part = 0; part < FILLING; part++)
            shmem_ctx_long_put_nbi(filling, to + part * WORDS, from, WORDS, last);
        shmem_ctx_long_p(asking, &flag, round, last);
        while (asked(polling, way, last) != round)
            ;
    } else if (shmem_my_pe() == last) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, round);
        shmem_long_atomic_set(&answer, round, last);
    }
    shmem_barrier_all();
}

int main(void) {
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t ctx[3];
    for (int i = 0; i < 3; i++)
        CHECK(shmem_ctx_create(0, ctx + i) == 0);
    for (int way = 0; way < 3 && n > 1; way++) {
        poll_for_answer(ctx[0], ctx[1], ctx[2], way);
        poll_for_answer(ctx[0], ctx[1], SHMEM_CTX_DEFAULT, way);
        poll_for_answer(ctx[0], SHMEM_CTX_DEFAULT, ctx[2], way);
        poll_for_answer(SHMEM_CTX_DEFAULT, ctx[1], ctx[2], way);
        poll_for_answer(SHMEM_CTX_DEFAULT, ctx[1], SHMEM_CTX_DEFAULT, way);
    }
    for (long i = 0; i < MANY; i++)
        many[i] = i + 1;
    shmem_barrier_all();
    shmem_ctx_long_put_nbi(ctx[0], arrived, many, MANY, (me + 1) % n);
    shmem_finalize();
    for (long i = 0; i < MANY; i++)
        if (arrived[i] != i + 1) {
            fprintf(stderr, "PE %d: word %ld has not arrived\n", me, i);
            exit(1);
        }
    good();
    return 0;
}
