/* Several threads of each rank use the library at once: counts are exact, and a thread that waits keeps no other from working. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, EACH = 300 };

static void *work(void *argument) {
    size_t thread = (size_t)argument;
    int rank = acp_rank(), procs = acp_procs();
    uint64_t *mine = words_at(starter(rank, 0));
    for (int round = 0; round < EACH; round++) {
        int peer = (rank + round) % procs;
        acp_complete(acp_add8(starter(rank, 8 + 8 * thread), starter(peer, 0), 1, ACP_HANDLE_NULL));
        acp_ga_t there = starter(peer, 1024 + 8 * (thread * (size_t)procs + (size_t)rank));
        mine[300 + thread] = (uint64_t)round;
        acp_handle_t sent = acp_copy(there, starter(rank, 2400 + 8 * thread), 8, ACP_HANDLE_NULL);
        acp_complete(acp_copy(starter(rank, 3200 + 8 * thread), there, 8, sent));
        CHECK(mine[400 + thread] == (uint64_t)round);
    }
    return NULL;
}

/* The main thread is in acp_sync, which cannot end before this thread's message has come back from the next rank's. */
static void *pass(void *argument) {
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    volatile uint64_t *mine = words_at(starter(rank, 0));
    (void)argument;
    for (uint64_t round = 1; round <= 50; round++) {
        if (rank == 0) {
            mine[600] = round;
            acp_complete(acp_copy(starter(next, 4808), starter(0, 4800), 8, ACP_HANDLE_NULL));
            until(&mine[601], round);
        } else {
            until(&mine[601], round);
            acp_complete(acp_copy(starter(next, 4808), starter(rank, 4808), 8, ACP_HANDLE_NULL));
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs();
    uint64_t *mine = words_at(starter(rank, 0));
    pthread_t threads[THREADS];
    for (size_t thread = 0; thread < THREADS; thread++) {
        CHECK(pthread_create(&threads[thread], NULL, work, (void *)thread) == 0);
    }
    for (int thread = 0; thread < THREADS; thread++) {
        pthread_join(threads[thread], NULL);
    }
    acp_sync();
    CHECK(mine[0] == (uint64_t)(THREADS * EACH));

    pthread_t passing;
    if (rank != procs - 1) {
        CHECK(pthread_create(&passing, NULL, pass, NULL) == 0);
        acp_sync();
        pthread_join(passing, NULL);
    } else {
        /* Comes to the meeting when everything has gone round. */
        pass(NULL);
        acp_sync();
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
