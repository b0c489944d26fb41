/* The Himeno benchmark as one plain C loop: the peer with which docs/performance.md compares one rank of `himeno`.
 *
 *     gcc -O3 -ffp-contract=off -march=native -o himeno-c examples/himeno.c && ./himeno-c S 103
 *
 * As it is written in the benchmark, gosa is one sum in a fixed order, for which gcc gives up vectors. With -DSQUARES_APART a row's
 * squares are stored and summed afterwards, and the stencil is done in vectors: the stronger peer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AT(m, i, j, k) m[((size_t)(i) * nj + (j)) * nk + (k)]

static float *array(size_t cells, float value) {
    float *m = malloc(cells * sizeof *m);
    for (size_t g = 0; g < cells; g++) m[g] = value;
    return m;
}

static double sweep(int ni, int nj, int nk, float *restrict p, float *restrict wrk2, float *const *a, float *const *b, float *const *c,
                    const float *bnd, const float *wrk1) {
    const float *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3], *b0 = b[0], *b1 = b[1], *b2 = b[2], *c0 = c[0], *c1 = c[1], *c2 = c[2];
    double gosa = 0;
#ifdef SQUARES_APART
    float squares[1024];
#endif
    for (int i = 1; i < ni - 1; i++)
        for (int j = 1; j < nj - 1; j++) {
            for (int k = 1; k < nk - 1; k++) {
                float s0 = AT(a0, i, j, k) * AT(p, i + 1, j, k) + AT(a1, i, j, k) * AT(p, i, j + 1, k)
                    + AT(a2, i, j, k) * AT(p, i, j, k + 1)
                    + AT(b0, i, j, k) * (AT(p, i + 1, j + 1, k) - AT(p, i + 1, j - 1, k) - AT(p, i - 1, j + 1, k) + AT(p, i - 1, j - 1, k))
                    + AT(b1, i, j, k) * (AT(p, i, j + 1, k + 1) - AT(p, i, j - 1, k + 1) - AT(p, i, j + 1, k - 1) + AT(p, i, j - 1, k - 1))
                    + AT(b2, i, j, k) * (AT(p, i + 1, j, k + 1) - AT(p, i - 1, j, k + 1) - AT(p, i + 1, j, k - 1) + AT(p, i - 1, j, k - 1))
                    + AT(c0, i, j, k) * AT(p, i - 1, j, k) + AT(c1, i, j, k) * AT(p, i, j - 1, k)
                    + AT(c2, i, j, k) * AT(p, i, j, k - 1) + AT(wrk1, i, j, k);
                float ss = (s0 * AT(a3, i, j, k) - AT(p, i, j, k)) * AT(bnd, i, j, k);
#ifdef SQUARES_APART
                squares[k] = ss * ss;
#else
                gosa += ss * ss;
#endif
                AT(wrk2, i, j, k) = AT(p, i, j, k) + 0.8f * ss;
            }
#ifdef SQUARES_APART
            for (int k = 1; k < nk - 1; k++) gosa += squares[k];
#endif
        }
    for (int i = 1; i < ni - 1; i++)
        for (int j = 1; j < nj - 1; j++) memcpy(&AT(p, i, j, 1), &AT(wrk2, i, j, 1), (nk - 2) * sizeof *p);
    return gosa;
}

int main(int argc, char **argv) {
    static const struct { const char *name; int i, j, k; } sizes[] = {
        {"XS", 32, 32, 64}, {"S", 64, 64, 128}, {"M", 128, 128, 256}, {"L", 256, 256, 512}, {"XL", 512, 512, 1024}};
    int ni = 0, nj = 0, nk = 0, iterations = argc == 3 ? atoi(argv[2]) : 0;
    for (int s = 0; s < 5 && iterations > 0; s++)
        if (!strcmp(argv[1], sizes[s].name)) ni = sizes[s].i, nj = sizes[s].j, nk = sizes[s].k;
    if (!ni) return fprintf(stderr, "usage: himeno-c XS|S|M|L|XL ITERATIONS\n"), 2;
    size_t cells = (size_t)ni * nj * nk;
    float *p = array(cells, 0), *wrk1 = array(cells, 0), *wrk2 = array(cells, 0), *bnd = array(cells, 1), *a[4], *b[3], *c[3];
    for (int n = 0; n < 4; n++) a[n] = array(cells, n < 3 ? 1 : 1.0f / 6.0f);
    for (int n = 0; n < 3; n++) b[n] = array(cells, 0), c[n] = array(cells, 1);
    for (int i = 0; i < ni; i++)
        for (int jk = 0; jk < nj * nk; jk++) AT(p, i, 0, jk) = (float)(i * i) / (float)((ni - 1) * (ni - 1));
    struct timespec start, end;
    double gosa = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int n = 0; n < iterations; n++) gosa = sweep(ni, nj, nk, p, wrk2, a, b, c, bnd, wrk1);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (end.tv_sec - start.tv_sec) + 1e-9 * (end.tv_nsec - start.tv_nsec);
    uint64_t hash = 0;
    for (uint64_t g = 0; g < cells; g++) {
        uint32_t bits;
        memcpy(&bits, &p[g], sizeof bits);
        hash += ((uint64_t)bits + 1) * ((g * 0x9E3779B97F4A7C15u) | 1);
    }
    printf("seconds    %.6f\nMFLOPS     %.1f\n", seconds, 34e-6 * (ni - 2) * (nj - 2) * (nk - 2) * iterations / seconds);
    printf("gosa       %.6e\nhash       %016llx\n", gosa, (unsigned long long)hash);
}
