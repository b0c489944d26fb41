/* Puts and gets of every kind, to the heap and to variables. */
#include "check.h"

#define LENGTH 1000

static long values[LENGTH], other[LENGTH];
static char chars[LENGTH];
static long double longs;
static double reals[LENGTH];

static void everything(long *dest, long *source, int me, int n) {
    int right = (me + 1) % n, left = (me + n - 1) % n;
    long own[LENGTH], got[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        own[i] = 1000L * me + i;
        source[i] = -own[i];
        dest[i] = 0;
    }
    shmem_barrier_all();
    shmem_put(dest, own, LENGTH, right);
    for (int i = 0; i < LENGTH; i++)
        own[i] = 7;
    shmem_barrier_all();
    for (int i = 0; i < LENGTH; i++)
        CHECK(dest[i] == 1000L * left + i);
    shmem_get(got, source, LENGTH, right);
    for (int i = 0; i < LENGTH; i++)
        CHECK(got[i] == -(1000L * right + i));
    CHECK(shmem_g(source + 5, left) == -(1000L * left + 5));
    shmem_barrier_all();
    shmem_p(dest + 3, 77L + me, right);
    shmem_barrier_all();
    CHECK(dest[3] == 77 + left);
    shmem_barrier_all();
    /* Without waiting. */
    shmem_put_nbi(dest, source, LENGTH, right);
    shmem_get_nbi(got, source, LENGTH, left);
    shmem_quiet();
    for (int i = 0; i < LENGTH; i++)
        CHECK(got[i] == -(1000L * left + i));
    shmem_barrier_all();
    for (int i = 0; i < LENGTH; i++)
        CHECK(dest[i] == -(1000L * left + i));
    /* By size, and by bytes at any alignment. */
    shmem_barrier_all();
    shmem_put8((char *)dest + 1, "abcdefg", 7, right);
    shmem_putmem((char *)dest + 9, "ABCDEFGH", 8, right);
    shmem_barrier_all();
    CHECK(memcmp((char *)dest + 1, "abcdefg", 7) == 0 && memcmp((char *)dest + 9, "ABCDEFGH", 8) == 0);
    char back[9] = {0};
    shmem_getmem(back, (char *)dest + 9, 8, right);
    CHECK(memcmp(back, "ABCDEFGH", 8) == 0);
    shmem_barrier_all();
    shmem_put128(dest, source, LENGTH / 2, right);
    shmem_barrier_all();
    CHECK(dest[LENGTH - 1] == -(1000L * left + LENGTH - 1));
    shmem_barrier_all();
    /* At equal distances. */
    memset(dest, 0, sizeof(long) * LENGTH);
    shmem_barrier_all();
    shmem_iput(dest, source, 2, 3, 100, right);
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        CHECK(dest[2 * i] == -(1000L * left + 3 * i) && dest[2 * i + 1] == 0);
    memset(got, 0, sizeof got);
    shmem_iget(got, source, 3, 2, 100, right);
    for (int i = 0; i < 100; i++)
        CHECK(got[3 * i] == -(1000L * right + 2 * i) && got[3 * i + 1] == 0);
    shmem_barrier_all();
    memset(dest, 0, sizeof(long) * LENGTH);
    shmem_barrier_all();
    shmem_ibput(dest, source, 10, 5, 4, 20, right);
    shmem_barrier_all();
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 10; j++)
            CHECK(dest[10 * i + j] == (j < 4 ? -(1000L * left + 5 * i + j) : 0));
    memset(got, 0, sizeof got);
    shmem_ibget(got, source, 5, 10, 4, 20, right);
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 5; j++)
            CHECK(got[5 * i + j] == (j < 4 ? -(1000L * right + 10 * i + j) : 0));
    shmem_barrier_all();
    shmem_put(dest, own, 0, right);
    shmem_get(got, source, 0, right);
    shmem_pe_quiet(&right, 1);
    shmem_pe_quiet(NULL, 0);
}

int main(int count, char **arguments) {
    (void)count, (void)arguments;
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), right = (me + 1) % n, left = (me + n - 1) % n;
    long *dest = shmem_malloc(LENGTH * sizeof(long)), *source = shmem_malloc(LENGTH * sizeof(long));
    everything(dest, source, me, n);
    everything(values, other, me, n);
    /* Other types. */
    shmem_p(&longs, 1.5L + me, right);
    shmem_p(chars + 3, (char)('a' + left), right);
    shmem_p(reals, 0.25 * me, right);
    shmem_barrier_all();
    CHECK(longs == 1.5L + left && chars[3] == 'a' + (me + n - 2) % n && reals[0] == 0.25 * left);
    CHECK(shmem_g(&longs, right) == 1.5L + me && shmem_g(reals, right) == 0.25 * me);
    CHECK(shmem_ctx_longdouble_g(SHMEM_CTX_DEFAULT, &longs, right) == 1.5L + me);
    shmem_barrier_all();
    shmem_ctx_longdouble_p(SHMEM_CTX_DEFAULT, &longs, 2.5L * me, right);
    shmem_barrier_all();
    CHECK(longs == 2.5L * left);
    /* Large. */
    size_t large = 300000;
    double *big = shmem_malloc(large * sizeof(double)), *mine = malloc(large * sizeof(double));
    for (size_t i = 0; i < large; i++)
        mine[i] = me + (double)i;
    shmem_put(big, mine, large, right);
    shmem_barrier_all();
    for (size_t i = 0; i < large; i++)
        CHECK(big[i] == left + (double)i);
    memset(mine, 0, large * sizeof(double));
    shmem_get(mine, big, large, right);
    CHECK(mine[large - 1] == me + (double)(large - 1));
    shmem_barrier_all();
    free(mine);
    good();
    shmem_finalize();
    return 0;
}
