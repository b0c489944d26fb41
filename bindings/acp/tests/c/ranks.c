/* What is a process's own is a rank's own where all ranks are simulated in one: variables, arguments, what is called at the beginning and at
   the end; and time passes in every loop that calls the library. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <assert.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 5000 };

static int counter = 40;
static uint64_t zeros[WORDS], shown[WORDS];
static _Thread_local int of_thread = 7;
static int *made;

__attribute__((constructor)) static void begin(void) {
    counter++;
    made = malloc(sizeof *made);
    *made = 5;
}

static void last(void) {
    printf("last of %d, %d\n", counter, of_thread);
}

__attribute__((destructor)) static void end(void) {
    printf("end of %d\n", counter);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), wanted = 0;
    /* After the first wait, so that ranks have begun in turns. */
    for (int option; (option = getopt(argc, argv, "n:x:")) != -1;) {
        wanted = option == 'n' ? atoi(optarg) : wanted;
    }
    CHECK(wanted == 12 && optind == argc - 1);
    const char *how = argv[optind];
    CHECK(atexit(last) == 0);
    CHECK(counter == 41 && of_thread == 7 && *made == 5);
    counter += 100 * rank;
    of_thread += rank;
    *made += rank;
    for (int i = 0; i < WORDS; i++) {
        CHECK(zeros[i] == 0);
        zeros[i] = (uint64_t)(rank * WORDS + i);
    }
    argv[optind] = NULL;
    acp_sync();

    /* Others write to this rank's variables while it does not run. */
    acp_atkey_t key = acp_register_memory(shown, sizeof shown, 0), source = acp_register_memory(zeros, sizeof zeros, 0);
    acp_ga_t *table = (acp_ga_t *)acp_query_address(starter(rank, 0));
    table[0] = acp_query_ga(key, shown);
    CHECK(table[0] != 0 && acp_query_address(table[0]) == (void *)shown);
    CHECK(acp_query_address(acp_query_ga(key, shown + 77)) == (void *)(shown + 77));
    acp_sync();
    int next = (rank + 1) % procs;
    acp_ga_t there = starter(rank, 8);
    acp_complete(acp_copy(there, starter(next, 0), 8, ACP_HANDLE_NULL));
    acp_complete(acp_copy(table[1], acp_query_ga(source, zeros), sizeof zeros, ACP_HANDLE_NULL));
    acp_sync();
    for (int i = 0; i < WORDS; i++) {
        CHECK(shown[i] == (uint64_t)((rank + procs - 1) % procs * WORDS + i) && zeros[i] == (uint64_t)(rank * WORDS + i));
    }

    /* Who looks by any call sees what comes, and the time pass. */
    double before = seconds();
    usleep(2000);
    CHECK(seconds() - before >= 0.002);
    volatile uint64_t *flag = (volatile uint64_t *)words_at(starter(rank, 64));
    if (rank == 0) {
        flag[0] = 1;
        for (int peer = 1; peer < procs; peer++) {
            acp_complete(acp_copy(starter(peer, 64), starter(0, 64), 8, ACP_HANDLE_NULL));
        }
    }
    for (int call = 0; flag[0] == 0; call++) {
        switch (call % 3) {
        case 0:
            acp_complete(ACP_HANDLE_ALL);
            break;
        case 1:
            acp_query_address(starter(rank, 0));
            break;
        default:
            CHECK(acp_inquire(ACP_HANDLE_NULL) == 0);
        }
    }
    acp_sync();
    CHECK(counter == 41 + 100 * rank && of_thread == 7 + rank && *made == 5 + rank);
    CHECK(acp_finalize() == 0);
    if (strcmp(how, "assert") == 0 && rank == 1) {
        assert(how == NULL);
    }
    if (strcmp(how, "code") == 0 && rank == 1) {
        exit(7);
    }
    if (strcmp(how, "quiet") == 0) {
        _exit(0);
    }
    if (strcmp(how, "exit") == 0) {
        exit(0);
    }
    return 0;
}
