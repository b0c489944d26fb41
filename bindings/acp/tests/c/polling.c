/* Programs that poll memory without calling the library, as many that were written for real machines do. The argument says how:
 * starter, global, heap: the flag lies there, and is written by a copy of another rank
 * counted: the loop counts its polls; atomic: an atomic of another rank sets the flag
 * get: a rank polls for what it gets itself; chain: each rank polls for the one before, many times
 * computed: a rank computes for long while the others poll
 * never: nobody writes the flag of the last rank, all others wait in the library; all: nobody writes any; spin: as never, and the loop counts */
#include "check.h"

static uint64_t global[4], *flag;
static acp_ga_t flags[64];
static volatile double sum;

/* Every rank learns where the flags of all ranks are. */
static void tell(acp_ga_t mine) {
    int rank = acp_rank(), procs = acp_procs();
    *words_at(starter(rank, 64)) = mine;
    acp_sync();
    for (int peer = 0; peer < procs; peer++) {
        acp_complete(acp_copy(starter(rank, 72), starter(peer, 64), 8, ACP_HANDLE_NULL));
        flags[peer] = *words_at(starter(rank, 72));
    }
    acp_sync();
}

static void set(int peer, uint64_t value) {
    *words_at(starter(acp_rank(), 80)) = value;
    acp_complete(acp_copy(flags[peer], starter(acp_rank(), 80), 8, ACP_HANDLE_NULL));
}

static void poll(uint64_t value) {
    while (*(volatile uint64_t *)flag != value) {
    }
}

static double computed(void) {
    for (uint64_t i = 1; i < 400000000; i++) {
        sum = sum + 1.0 / (double)i;
    }
    return sum;
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    const char *how = argv[1];
    int rank = acp_rank(), procs = acp_procs(), next = (rank + 1) % procs;
    acp_ga_t mine = starter(rank, 0);
    if (strcmp(how, "global") == 0) {
        mine = acp_query_ga(acp_register_memory(global, sizeof global, 0), global + 1);
    } else if (strcmp(how, "heap") == 0) {
        mine = acp_malloc(8, rank);
    }
    flag = acp_query_address(mine);
    *flag = 0;
    tell(mine);
    if (strcmp(how, "never") == 0 || strcmp(how, "all") == 0) {
        if (rank == procs - 1 || strcmp(how, "all") == 0) {
            poll(1);
        }
    } else if (strcmp(how, "spin") == 0) {
        for (uint64_t polls = 0; rank == procs - 1 && *(volatile uint64_t *)flag == 0; polls++) {
            __asm__ volatile("" : : "r"(polls));
        }
    } else if (strcmp(how, "counted") == 0) {
        if (rank == 0) {
            set(procs - 1, 1);
        }
        uint64_t polls = 0;
        for (; rank == procs - 1 && *(volatile uint64_t *)flag == 0; polls++) {
            __asm__ volatile("" : : "r"(polls));
        }
    } else if (strcmp(how, "atomic") == 0) {
        acp_complete(acp_add8(starter(rank, 88), flags[next], 1, ACP_HANDLE_NULL));
        poll(1);
    } else if (strcmp(how, "get") == 0) {
        *words_at(starter(rank, 96)) = (uint64_t)rank + 1;
        acp_sync();
        acp_copy(flags[rank], starter(next, 96), 8, ACP_HANDLE_NULL);
        poll((uint64_t)next + 1);
        acp_complete(ACP_HANDLE_ALL);
    } else if (strcmp(how, "chain") == 0) {
        for (uint64_t round = 1; round <= 20; round++) {
            if (rank != 0) {
                poll(round);
            }
            set(next, round);
            if (rank == 0) {
                poll(round);
            }
        }
    } else {
        if (rank == 0) {
            CHECK(strcmp(how, "computed") != 0 || computed() > 20);
            for (int peer = 1; peer < procs; peer++) {
                set(peer, 1);
            }
        } else {
            poll(1);
        }
    }
    acp_sync();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
