/* Rank 1 does what ends a process, or never comes back, while the others wait for it. */
#define _DEFAULT_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero, one = 1;
static volatile char *volatile nowhere;

static int deep(int calls) {
    volatile char room[4096];
    room[calls % 4096] = (char)calls;
    return calls == 0 ? 0 : deep(calls - 1) + room[calls % 4096];
}

static void crash(const char *how) {
    if (strcmp(how, "null") == 0) {
        *nowhere = 1;
    } else if (strcmp(how, "wild") == 0) {
        nowhere = (volatile char *)(uintptr_t)0xdead0000beef;
        *nowhere = 1;
    } else if (strcmp(how, "divide") == 0) {
        zero = one / zero;
    } else if (strcmp(how, "trap") == 0) {
        __builtin_trap();
    } else if (strcmp(how, "bus") == 0) {
        /* A page of a file behind the end of the file. */
        FILE *file = tmpfile();
        volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
        zero = *page;
    } else if (strcmp(how, "deep") == 0) {
        zero = deep(1 << 30);
    } else if (strcmp(how, "raise") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "spin") == 0) {
        /* It computes: an empty loop would be taken for one that waits. */
        for (volatile unsigned long turns = 0;; turns++) {
        }
    } else if (strcmp(how, "sleep") == 0) {
        for (;;) {
            pause();
        }
    } else if (strcmp(how, "asleep") == 0) {
        while (!zero) {
            usleep(100);
        }
    }
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    acp_sync();
    if (acp_rank() == 1) {
        crash(argv[1]);
    }
    acp_sync();
    acp_finalize();
    return 0;
}
