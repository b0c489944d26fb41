/* What the programs share: a failed check ends the job with its line. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "PE %d, %s:%d: %s\n", shmem_my_pe(), __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static inline void good(void) {
    puts("good");
    fflush(stdout);
}
