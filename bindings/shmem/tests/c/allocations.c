/* A thousand objects of the symmetric heap at once, or as many as the second argument says: other PEs write each; some are freed, the others change their size and keep their data. */
#include "check.h"

#define MOST 1000

static unsigned char *objects[MOST];
static size_t sizes[MOST];
static int number = MOST;

static unsigned char pattern(int pe, int object, size_t at) {
    return (unsigned char)(pe * 31 + object * 7 + (int)(at % 251));
}

/* Every PE fills each object of its right neighbour. */
static void fill(int right) {
    unsigned char *bytes = malloc(1 << 16);
    for (int i = 0; i < number; i++)
        if (objects[i] != NULL) {
            for (size_t at = 0; at < sizes[i]; at++)
                bytes[at] = pattern(shmem_my_pe(), i, at);
            shmem_putmem(objects[i], bytes, sizes[i], right);
        }
    free(bytes);
    shmem_barrier_all();
}

static void check(int left, size_t most) {
    for (int i = 0; i < number; i++)
        for (size_t at = 0; objects[i] != NULL && at < sizes[i] && at < most; at++)
            CHECK(objects[i][at] == pattern(left, i, at));
    shmem_barrier_all();
}

int main(int count, char **arguments) {
    if (count > 2)
        number = atoi(arguments[2]);
    shmem_init();
    CHECK(number > 0 && number <= MOST);
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    for (int i = 0; i < number; i++) {
        sizes[i] = (size_t)(i * 37 % 200 + 1) + (i % 100 == 0 ? 20000 : 0);
        objects[i] = i % 10 == 0 ? shmem_align(64, sizes[i]) : shmem_malloc(sizes[i]);
        CHECK(objects[i] != NULL && (uintptr_t)objects[i] % (i % 10 == 0 ? 64 : 8) == 0);
    }
    fill(right);
    check(left, SIZE_MAX);
    for (int i = 0; i < number; i += 3) {
        shmem_free(objects[i]);
        objects[i] = NULL;
    }
    /* Larger and smaller: what fits both sizes stays. */
    for (int i = 0; i < number; i++)
        if (objects[i] != NULL) {
            size_t old = sizes[i], new = i % 2 ? 3 * old : old / 2 + 1;
            objects[i] = shmem_realloc(objects[i], new);
            CHECK(objects[i] != NULL);
            for (size_t at = 0; at < (old < new ? old : new); at++)
                CHECK(objects[i][at] == pattern(left, i, at));
            sizes[i] = new;
        }
    for (int i = 0; i < number; i += 3) {
        sizes[i] = (size_t)(i % 500 + 1);
        objects[i] = shmem_calloc(sizes[i], 1);
        for (size_t at = 0; at < sizes[i]; at++)
            CHECK(objects[i][at] == 0);
    }
    shmem_barrier_all();
    fill(right);
    check(left, SIZE_MAX);
    for (int i = 0; i < number; i++)
        shmem_free(objects[(i * 7) % number]); /* in another order: no number of objects is a multiple of 7 */
    /* What was freed is one piece again. */
    unsigned char *large = shmem_malloc(4 << 20);
    CHECK(large != NULL);
    shmem_free(large);
    /* An object that takes most of the heap becomes smaller, and as large as before. */
    size_t most = (size_t)1 << 46;
    while ((large = shmem_malloc(most)) == NULL)
        most /= 2;
    large[0] = 7;
    CHECK(shmem_realloc(large, most - 4096) == large && shmem_realloc(large, most) == large && large[0] == 7);
    shmem_free(large);
    good();
    shmem_finalize();
    return 0;
}
