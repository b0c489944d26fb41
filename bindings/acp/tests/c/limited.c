/* Waits of threads with a time limit, locks and barriers that threads share, and functions that name a thread. */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static pthread_spinlock_t spin;
static int written;

static double now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct timespec later(clockid_t clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Every way to sleep takes at least the time that it names. */
static void sleeps(void) {
    double before = now(CLOCK_MONOTONIC);
    struct timespec time = {0, 2000000}, until = later(CLOCK_MONOTONIC, 6);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == 0 && now(CLOCK_MONOTONIC) >= before + 0.002);
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == 0 && now(CLOCK_MONOTONIC) >= before + 0.006);
    struct timeval limit = {0, 2000};
    CHECK(select(0, NULL, NULL, NULL, &limit) == 0 && now(CLOCK_MONOTONIC) >= before + 0.008);
    CHECK(poll(NULL, 0, 2) == 0 && now(CLOCK_MONOTONIC) >= before + 0.010);
    time.tv_nsec = -1;
    CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL) == EINVAL);
}

static void *write_late(void *argument) {
    CHECK(pthread_rwlock_wrlock(&lock) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    struct timespec time = {0, 1000000};
    nanosleep(&time, NULL);
    written = 1;
    CHECK(pthread_rwlock_unlock(&lock) == 0);
    return argument;
}

/* Waits in the library while it holds a lock for which others spin. */
static void *hold_spin_lock(void *argument) {
    int rank = acp_rank();
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    acp_complete(acp_add8(starter(rank, 8), starter((rank + 1) % acp_procs(), 64), 1, ACP_HANDLE_NULL));
    written = 2;
    CHECK(pthread_spin_unlock(&spin) == 0);
    return argument;
}

/* Holds the lock until the semaphore is posted. */
static void *hold_lock(void *argument) {
    CHECK(pthread_rwlock_wrlock(&lock) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    CHECK(sem_wait(argument) == 0);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
    return argument;
}

/* Frames of 1 MiB. */
static int deep(int depth) {
    volatile char frame[1 << 20];
    frame[0] = frame[sizeof frame - 1] = (char)depth;
    return depth == 0 ? 0 : deep(depth - 1) + (frame[0] == (char)depth);
}

static void *go_deep(void *argument) {
    return deep(40) == 40 ? argument : NULL;
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    sleeps();

    struct timespec until = later(CLOCK_REALTIME, 3);
    pthread_mutex_lock(&mutex);
    CHECK(pthread_mutex_timedlock(&mutex, &until) == ETIMEDOUT);
    CHECK(now(CLOCK_REALTIME) >= (double)until.tv_sec + 1e-9 * (double)until.tv_nsec - 1e-6);
    sem_t none;
    sem_init(&none, 0, 0);
    until = later(CLOCK_REALTIME, 3);
    CHECK(sem_timedwait(&none, &until) == -1 && errno == ETIMEDOUT);
    CHECK(now(CLOCK_REALTIME) >= (double)until.tv_sec + 1e-9 * (double)until.tv_nsec - 1e-6);

    /* A reader waits for the writer, whose lock is older. */
    pthread_t thread;
    void *returned = NULL;
    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, write_late, &both) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    CHECK(pthread_rwlock_rdlock(&lock) == 0 && written == 1);
    CHECK(pthread_rwlock_unlock(&lock) == 0);
    int outcome;
    while ((outcome = pthread_tryjoin_np(thread, &returned)) == EBUSY) {
    }
    CHECK(outcome == 0 && returned == &both);

    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CHECK(pthread_create(&thread, NULL, hold_spin_lock, &both) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    CHECK(pthread_spin_lock(&spin) == 0 && written == 2 && pthread_spin_unlock(&spin) == 0);
    CHECK(pthread_join(thread, &returned) == 0 && returned == &both);

    /* Waits with a clock, and with the clock of the system, take the same time. */
    sem_t enough;
    sem_init(&enough, 0, 0);
    CHECK(pthread_create(&thread, NULL, hold_lock, &enough) == 0);
    CHECK(pthread_barrier_wait(&both) <= 0);
    for (int way = 0; way < 7; way++) {
        clockid_t clock = way % 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
        until = later(clock, 3);
        switch (way) {
        case 0: CHECK(pthread_mutex_clocklock(&mutex, clock, &until) == ETIMEDOUT); break;
        case 1: CHECK(pthread_rwlock_timedrdlock(&lock, &until) == ETIMEDOUT); break;
        case 2: CHECK(pthread_rwlock_clockrdlock(&lock, clock, &until) == ETIMEDOUT); break;
        case 3: CHECK(pthread_rwlock_timedwrlock(&lock, &until) == ETIMEDOUT); break;
        case 4: CHECK(pthread_rwlock_clockwrlock(&lock, clock, &until) == ETIMEDOUT); break;
        case 5: CHECK(sem_clockwait(&none, clock, &until) == -1 && errno == ETIMEDOUT); break;
        case 6:
            while (pthread_cond_clockwait(&changed, &mutex, clock, &until) == 0) {
            }
            break;
        }
        CHECK(now(clock) >= (double)until.tv_sec + 1e-9 * (double)until.tv_nsec - 1e-6);
    }
    CHECK(sem_post(&enough) == 0 && pthread_join(thread, &returned) == 0 && returned == &enough);

    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 << 20) == 0);
    CHECK(pthread_create(&thread, &attributes, go_deep, &both) == 0);
    CHECK(pthread_join(thread, &returned) == 0 && returned == &both);

    char name[16];
    cpu_set_t cores;
    int policy;
    struct sched_param priority;
    CHECK(pthread_setname_np(pthread_self(), "rank") == 0 && pthread_setname_np(pthread_self(), "a name of 16 bytes") == ERANGE);
    CHECK(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 0);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof cores, &cores) == 0);
    CHECK(pthread_getschedparam(pthread_self(), &policy, &priority) == 0);
    CHECK(pthread_setschedparam(pthread_self(), policy, &priority) == 0);
    CHECK(pthread_kill(pthread_self(), 0) == 0);
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
