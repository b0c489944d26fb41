/* Locks that all PEs want, on variables and the heap. */
#include "check.h"

static long lock, second;
static long counter;

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *third = (long *)shmem_calloc(3, sizeof(long));
    for (int i = 0; i < 30; i++) {
        shmem_set_lock(&lock);
        long value = shmem_g(&counter, 0);
        shmem_p(&counter, value + 1, 0);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    CHECK(shmem_g(&counter, 0) == 30 * n && lock == 0);
    shmem_barrier_all();
    for (int i = 0; i < 10; i++) {
        while (shmem_test_lock(third + 1))
            ;
        long value = shmem_g(&counter, n - 1);
        shmem_p(&counter, value - 1, n - 1);
        shmem_clear_lock(third + 1);
    }
    shmem_barrier_all();
    CHECK(third[1] == 0 && third[0] == 0 && third[2] == 0);
    CHECK(shmem_g(&counter, n - 1) == (n == 1 ? 20 : -10 * n));
    /* Who finds the lock taken is told so. */
    if (me == 0)
        CHECK(shmem_test_lock(&second) == 0);
    shmem_barrier_all();
    if (me > 0)
        CHECK(shmem_test_lock(&second) == 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_clear_lock(&second);
    shmem_barrier_all();
    CHECK(second == 0);
    good();
    shmem_finalize();
    return 0;
}
