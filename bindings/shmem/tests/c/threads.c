/* Several threads of each PE, with contexts of their own and with the default one. */
#include "check.h"
#include <pthread.h>

#define THREADS 3
#define TIMES 100

static long counters[THREADS + 2], inbox[THREADS][TIMES], copies[THREADS][TIMES], signals_seen;
static uint64_t signals[THREADS], pieces[THREADS], late;

static void *run(void *argument) {
    long number = (long)argument;
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
    if (number > 0)
        CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    for (long i = 0; i < TIMES; i++) {
        shmem_atomic_inc(ctx, counters + THREADS, 0);
        shmem_atomic_fetch_add(ctx, counters + number, 1L, right);
        shmem_p(ctx, inbox[number] + i, 1000L * me + i, right);
        if (i % 10 == 0) {
            shmem_ctx_quiet(ctx);
            shmem_ctx_signal_add(ctx, signals + number, 1, right);
            shmem_signal_wait_until(signals + number, SHMEM_CMP_GE, (uint64_t)(i / 10 + 1));
            CHECK(inbox[number][i] == 1000L * left + i);
        }
    }
    /* A thread that polls does not keep the others from what it waits for. */
    while (number == 0 && !shmem_test(&late, SHMEM_CMP_EQ, 1))
        shmem_p(counters + THREADS + 1, 1L, right);
    for (long i = 0; i < TIMES; i++)
        shmem_ctx_putmem_signal_nbi(ctx, copies[number] + i, inbox[number] + i, sizeof(long), pieces + number, 1, SHMEM_SIGNAL_ADD, right);
    shmem_ctx_quiet(ctx);
    if (number == 1)
        shmem_p(&late, (uint64_t)1, me);
    if (number > 0)
        shmem_ctx_destroy(ctx);
    return NULL;
}

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    int provided;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    CHECK(provided == SHMEM_THREAD_MULTIPLE);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(threads + i, NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++)
        CHECK(counters[i] == TIMES && pieces[i] == TIMES);
    CHECK(shmem_g(counters + THREADS, 0) == (long)THREADS * TIMES * shmem_n_pes());
    shmem_barrier_all();
    signals_seen = 1;
    good();
    shmem_finalize();
    return 0;
}
