/* Threads that wait for each other, by locks and signals, while one of them is in the library. */
#include "check.h"
#include <pthread.h>
#include <semaphore.h>

enum { ROUNDS = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sem_t done;
static int turn, count;

static void *follow(void *argument) {
    int rank = acp_rank();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        while (turn != 1) {
            pthread_cond_wait(&changed, &mutex);
        }
        acp_complete(acp_add8(starter(rank, 8), starter((rank + 1) % acp_procs(), 64), 1, ACP_HANDLE_NULL));
        turn = 0;
        count++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    sem_post(&done);
    pthread_exit(argument);
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    CHECK(sem_init(&done, 0, 0) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, follow, &count) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        while (turn != 0) {
            pthread_cond_wait(&changed, &mutex);
        }
        turn = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    void *returned = NULL;
    CHECK(sem_wait(&done) == 0 && pthread_join(thread, &returned) == 0);
    CHECK(returned == &count && count == ROUNDS);
    acp_sync();
    CHECK(*words_at(starter(acp_rank(), 64)) == ROUNDS);
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
