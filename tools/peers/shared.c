/* What pelago bench acquire, hand_over and fairness measure, by Global Arrays and by a mutex that processes share (a futex): run with
 *   mpirun -n 2 --mca btl self,vader shared [fairness]
 * Two ranks, or more for fairness. Each line is one result, as pelago's JSON. */
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 41, WARM_UP = 2, WORDS_MAX = 8192 };

static int rank, ranks, array;
static long values[WORDS_MAX];

typedef struct { pthread_mutex_t mutex; long data[WORDS_MAX]; } common;
static common *shared;

static int ascending(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }

/* The data of the second rank, in GA; data[0] says whose turn it is. */
static void get(int words) { int lo = WORDS_MAX, hi = WORDS_MAX + words - 1, ld = 1; NGA_Get(array, &lo, &hi, values, &ld); }
static void put(int words) { int lo = WORDS_MAX, hi = WORDS_MAX + words - 1, ld = 1; NGA_Put(array, &lo, &hi, values, &ld); }

static void lock_ga(void) { GA_Lock(0); }
static void unlock_ga(void) { GA_Unlock(0); }
static void lock_mutex(void) { pthread_mutex_lock(&shared->mutex); }
static void unlock_mutex(void) { pthread_mutex_unlock(&shared->mutex); }
static void get_mutex(int words) { memcpy(values, shared->data, words * sizeof(long)); }
static void put_mutex(int words) { memcpy(shared->data, values, words * sizeof(long)); }

typedef struct { const char *name; void (*lock)(void), (*unlock)(void), (*get)(int), (*put)(int); } way;
static const way ways[] = {
    { "global-arrays", lock_ga, unlock_ga, get, put },
    { "mutex", lock_mutex, unlock_mutex, get_mutex, put_mutex },
};

static void tell(const char *name, const way *w, long bytes, double *times) {
    qsort(times, REPETITIONS, sizeof(double), ascending);
    if (rank == 0)
        printf("{\"name\":\"%s\",\"transport\":\"%s\",\"ranks\":%d,\"bytes\":%ld,\"median_ns\":%.5g}\n", name, w->name, ranks, bytes, times[REPETITIONS / 2]);
}

static void acquire(const way *w) {
    double times[REPETITIONS];
    const long count = 2000;
    for (int i = -WARM_UP; i < REPETITIONS; i++) {
        GA_Sync();
        double start = MPI_Wtime();
        if (rank == 0) {
            for (long k = 0; k < count; k++) { w->lock(); values[0]++; w->unlock(); }
            if (i >= 0) times[i] = (MPI_Wtime() - start) * 1e9 / count;
        }
        GA_Sync();
    }
    if (rank == 0) tell("acquire", w, 8, times);
}

/* Writes all of the data when it is this rank's turn. */
static void hand_over(const way *w, int words) {
    double times[REPETITIONS];
    const long count = 500;
    for (int i = -WARM_UP; i < REPETITIONS; i++) {
        values[0] = 0;
        if (rank == 0) { w->lock(); w->put(1); w->unlock(); }
        GA_Sync();
        double start = MPI_Wtime();
        for (long turn = 0; turn < count; turn++) {
            for (;;) {
                w->lock();
                w->get(1);
                if (values[0] == 2 * turn + rank) break;
                w->unlock();
                sched_yield();
            }
            w->get(words);
            long next = values[0] + 1;
            for (int k = 0; k < words; k++) values[k] = next;
            w->put(words);
            w->unlock();
        }
        if (i >= 0) times[i] = (MPI_Wtime() - start) * 1e9 / (2 * count);
        GA_Sync();
    }
    tell("hand_over", w, words * 8L, times);
}

static void fairness(const way *w) {
    long mine = 0, most, least, sum;
    GA_Sync();
    for (double start = MPI_Wtime(); MPI_Wtime() - start < 1.0; mine++) { w->lock(); w->get(1); values[0]++; w->put(1); w->unlock(); }
    MPI_Allreduce(&mine, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &least, 1, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"name\":\"fairness\",\"transport\":\"%s\",\"ranks\":%d,\"bytes\":8,\"median_ns\":%.5g,\"ratio\":%.5g}\n", w->name, ranks, 1e9 / sum, (double)most / least);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    GA_Initialize();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MA_init(C_DBL, 1 << 16, 1 << 16);
    int length = WORDS_MAX * ranks, chunk = WORDS_MAX;
    array = NGA_Create(C_LONG, 1, &length, "data", &chunk);
    GA_Zero(array);
    GA_Create_mutexes(1);
    MPI_Win window;
    MPI_Comm host;
    MPI_Aint bytes;
    int unit;
    void *own;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Win_allocate_shared(rank == 0 ? sizeof(common) : 0, 1, MPI_INFO_NULL, host, &own, &window);
    MPI_Win_shared_query(window, 0, &bytes, &unit, &shared);
    if (rank == 0) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&shared->mutex, &attributes);
    }
    GA_Sync();
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (argc > 1) { fairness(&ways[i]); continue; }
        acquire(&ways[i]);
        for (int words = 8; words <= WORDS_MAX; words *= words == 512 ? 16 : 64) hand_over(&ways[i], words);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    GA_Destroy_mutexes();
    GA_Destroy(array);
    GA_Terminate();
    MPI_Finalize();
}
