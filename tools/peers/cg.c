/* What `pelago run cg` does, by MPI one-sided operations: run with mpirun -n N cg CLASS (S, W or A). In each step every rank puts its part of
 * the vector to all others, into a window; prints one line in the form of Pelago's program. Link with -lm. */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 25, ITERATIONS = 15 };
static const struct { char name; int rows, elements; double shift, zeta; } problems[] = {
    {'S', 1400, 7, 10, 8.5971775078648}, {'W', 7000, 8, 12, 10.362595087124}, {'A', 14000, 11, 20, 17.130235054029}};
static int me, size, rows, elements, first, mine;
static double shift, zeta_published, *whole, *x, *z, *r, *p, *q, residual;
static MPI_Win window;
static long *ends;
static int *column;
static double *value;

static uint64_t state = 314159265;
static double next_random(void) { state = state * 1220703125 & ((1ull << 46) - 1); return (double)state / (double)(1ull << 46); }

typedef struct { int row, column; long number; double value; } element;
static int by_place(const void *a, const void *b) {
    const element *one = a, *other = b;
    if (one->row != other->row) return one->row < other->row ? -1 : 1;
    if (one->column != other->column) return one->column < other->column ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

static void make_matrix(void) {
    int range = 1, places[16];
    double values[16], weight = 1, ratio = pow(0.1, 1.0 / rows);
    while (range < rows) range *= 2;
    long found = 0, room = 1 << 16, kept = 0;
    element *all = malloc(room * sizeof *all);
    next_random();
    for (int row = 0; row < rows; row++, weight *= ratio) {
        int length = 0, k;
        while (length < elements) {
            double v = next_random();
            int place = (int)(range * next_random());
            for (k = 0; k < length && places[k] != place; k++) {}
            if (place < rows && k == length) places[length] = place, values[length++] = v;
        }
        for (k = 0; k < length && places[k] != row; k++) {}
        places[k] = row, values[k] = 0.5;
        if (k == length) length++;
        for (int i = 0; i < length; i++)
            for (int j = 0; j < length && places[i] >= first && places[i] < first + mine; j++) {
                if (found == room) all = realloc(all, (room *= 2) * sizeof *all);
                double diagonal = places[i] == row && places[j] == row ? 0.1 - shift : 0;
                all[found] = (element){places[i], places[j], found, values[j] * (weight * values[i]) + diagonal};
                found++;
            }
    }
    qsort(all, found, sizeof *all, by_place);
    column = malloc(found * sizeof *column), value = malloc(found * sizeof *value), ends = calloc(mine + 1, sizeof *ends);
    for (long i = 0; i < found; i++) {
        if (i && all[i].row == all[i - 1].row && all[i].column == all[i - 1].column) value[kept - 1] += all[i].value;
        else column[kept] = all[i].column, value[kept++] = all[i].value;
        ends[all[i].row - first] = kept;
    }
    for (int i = 1; i < mine; i++) if (ends[i] < ends[i - 1]) ends[i] = ends[i - 1];
    free(all);
}

static double dot(const double *a, const double *b) { double s = 0; for (int i = 0; i < mine; i++) s += a[i] * b[i]; return s; }
static void sum(double *v, int n) { MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void multiply(const double *by) {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    for (int k = 0; k < size; k++) MPI_Put(by, mine, MPI_DOUBLE, (me + k) % size, first, mine, MPI_DOUBLE, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    long start = 0;
    for (int i = 0; i < mine; i++) {
        double s = 0;
        for (long k = start; k < ends[i]; k++) s += value[k] * whole[column[k]];
        q[i] = s, start = ends[i];
    }
}

static double iterate(void) {
    memset(z, 0, mine * 8), memcpy(r, x, mine * 8), memcpy(p, x, mine * 8);
    double rho = dot(r, r);
    sum(&rho, 1);
    for (int step = 0; step < STEPS; step++) {
        multiply(p);
        double d = dot(p, q), before = rho;
        sum(&d, 1);
        double alpha = rho / d;
        for (int i = 0; i < mine; i++) z[i] += alpha * p[i], r[i] -= alpha * q[i];
        rho = dot(r, r);
        sum(&rho, 1);
        for (int i = 0; i < mine; i++) p[i] = r[i] + rho / before * p[i];
    }
    multiply(z);
    double ends_of[3] = {0, dot(x, z), dot(z, z)};
    for (int i = 0; i < mine; i++) ends_of[0] += (x[i] - q[i]) * (x[i] - q[i]);
    sum(ends_of, 3);
    residual = sqrt(ends_of[0]);
    for (int i = 0; i < mine; i++) x[i] = z[i] / sqrt(ends_of[2]);
    return ends_of[1];
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &size);
    char name = 0;
    for (int i = 0; i < 3; i++)
        if (argc == 2 && problems[i].name == argv[1][0])
            name = problems[i].name, rows = problems[i].rows, elements = problems[i].elements, shift = problems[i].shift,
            zeta_published = problems[i].zeta;
    if (!name) return fprintf(stderr, "cg: a class is S, W or A\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    first = (long)rows * me / size, mine = (long)rows * (me + 1) / size - first;
    make_matrix();
    MPI_Win_allocate(rows * 8l, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &whole, &window);
    double **parts[] = {&x, &z, &r, &p, &q};
    for (int i = 0; i < 5; i++) *parts[i] = malloc(mine * 8);
    for (int i = 0; i < mine; i++) x[i] = 1;
    iterate();
    for (int i = 0; i < mine; i++) x[i] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), zeta = 0;
    for (int i = 0; i < ITERATIONS; i++) zeta = shift + 1 / iterate();
    double took = MPI_Wtime() - start, slowest;
    MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    int right = fabs(zeta - zeta_published) / zeta_published <= 1e-10 && residual < 1e-10;
    if (!me) printf("cg class %c zeta %.13f ranks %d ms %.3f %s\n", name, zeta, size, slowest * 1e3, right ? "verified" : "WRONG");
    MPI_Win_free(&window);
    MPI_Finalize();
}
