/* Initialization that nests, queries, the symmetric heap. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/mman.h>

enum { PAGES = 4096, PAGE_BYTES = 4096 };

static long initialized_static = 42;
static long zero_static;
static char large_static[PAGES * PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

/* How many pages of the large array have memory. */
static int pages_in_use(void) {
    static unsigned char is_in_use[PAGES];
    int sum = 0;
    if (mincore(large_static, sizeof large_static, is_in_use))
        return PAGES;
    for (int i = 0; i < PAGES; i++)
        sum += is_in_use[i] & 1;
    return sum;
}

int main(int count, char **arguments) {
    int is_initialized = 7, provided = -1, major = 0, minor = 0;
    char name[SHMEM_MAX_NAME_LEN];
    large_static[5 * PAGE_BYTES + 4095] = 5;
    shmem_query_initialized(&is_initialized);
    if (is_initialized)
        return 1;
    if (shmem_init_thread(SHMEM_THREAD_SERIALIZED, &provided))
        return 1;
    CHECK(provided >= SHMEM_THREAD_SERIALIZED);
    shmem_init();
    shmem_query_thread(&provided);
    CHECK(provided >= SHMEM_THREAD_SERIALIZED);
    shmem_finalize();
    shmem_query_initialized(&is_initialized);
    CHECK(is_initialized == 1);
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(count >= 2 && n == atoi(arguments[1]));
    CHECK(me >= 0 && me < n && _my_pe() == me && _num_pes() == n);
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    CHECK(strlen(name) > 0);
    CHECK(shmem_pe_accessible(0) && shmem_pe_accessible(n - 1) && !shmem_pe_accessible(n) && !shmem_pe_accessible(-1));

    /* Variables keep their values, and are symmetric. */
    int on_stack = 0;
    CHECK(initialized_static == 42 && zero_static == 0);
    CHECK(shmem_addr_accessible(&initialized_static, n - 1) && !shmem_addr_accessible(&on_stack, 0));
    CHECK(shmem_ptr(&initialized_static, me) == &initialized_static);
    long *reached = shmem_ptr(&initialized_static, (me + 1) % n);
    CHECK(reached == NULL || *reached == 42);
    CHECK(large_static[5 * PAGE_BYTES + 4095] == 5 && large_static[PAGE_BYTES] == 0 && large_static[sizeof large_static - 1] == 0);
    shmem_barrier_all();
    shmem_putmem(&large_static[9 * PAGE_BYTES], name, 1, (me + 1) % n);
    shmem_barrier_all();
    CHECK(large_static[9 * PAGE_BYTES] == name[0]);
    /* Pages that the program has not used take no memory. */
    CHECK(pages_in_use() < PAGES / 2);

    /* The heap. */
    CHECK(shmem_malloc(0) == NULL && shmem_calloc(0, 8) == NULL);
    shmem_free(NULL);
    char *bytes = shmem_calloc(1000, 10);
    for (int i = 0; i < 10000; i++)
        CHECK(bytes[i] == 0);
    memset(bytes, me + 1, 10000);
    shmem_barrier_all();
    bytes = shmem_realloc(bytes, 50000);
    for (int i = 0; i < 10000; i++)
        CHECK(bytes[i] == me + 1);
    bytes = shmem_realloc(bytes, 100);
    CHECK(bytes[99] == me + 1);
    shmem_free(bytes);
    for (size_t alignment = 8; alignment <= 4096; alignment *= 2) {
        char *aligned = shmem_align(alignment, 24);
        CHECK((uintptr_t)aligned % alignment == 0);
        shmem_free(aligned);
    }
    long *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    *hinted = 5;
    CHECK(*hinted == 5);
    shmem_free(hinted);
    long *held[100];
    for (int i = 0; i < 100; i++) {
        held[i] = shmem_malloc(8 * (size_t)(i + 1));
        held[i][i] = i;
    }
    for (int i = 0; i < 100; i++)
        CHECK(held[i][i] == i);
    for (int i = 0; i < 100; i += 2)
        shmem_free(held[i]);
    for (int i = 1; i < 100; i += 2)
        shmem_free(held[i]);
    shmem_finalize();
    shmem_query_initialized(&is_initialized);
    if (is_initialized)
        return 1;
    /* Once more, with PEs that request different levels: all synchronize in the same way. */
    int level = me % 2 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE;
    CHECK(shmem_init_thread(level, &provided) == 0 && provided >= level);
    for (int i = 0; i < 3; i++)
        shmem_sync_all();
    long *again = shmem_malloc(8);
    shmem_p(again, 9L, (me + 1) % n);
    shmem_barrier_all();
    CHECK(*again == 9);
    good();
    shmem_finalize();
    return 0;
}
