/* Reductions of two PEs, whose messages are counted.   messages VALUES REDUCTIONS */
#include "check.h"

#define ROOM 8192

static long from[ROOM], to[ROOM];

int main(int count, char **arguments) {
    (void)count;
    size_t values = (size_t)atol(arguments[1]);
    long reductions = atol(arguments[2]);
    shmem_init();
    int me = shmem_my_pe();
    for (long round = 0; round < reductions; round++) {
        for (size_t i = 0; i < values; i++)
            from[i] = round + (long)i * (me + 1);
        CHECK(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, to, from, values) == 0);
        for (size_t i = 0; i < values; i++)
            CHECK(to[i] == 2 * round + (long)i * 3);
    }
    shmem_finalize();
    puts("good");
    return 0;
}
