/* What `pelago run gups` does, by MPI one-sided operations: run with mpirun -n N gups LOG_WORDS UPDATES. Each update is an MPI_Accumulate of one word
 * by xor; prints one line in the form of Pelago's program. Verified as there: the updates are repeated, and each word is what it was. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int me, size, log_words;
static uint64_t *table, first, count;
static MPI_Win window;

static uint64_t next_of(uint64_t state) { return state << 1 ^ (state >> 63 ? 7 : 0); }
static uint64_t times(uint64_t one, uint64_t other) {
    uint64_t product = 0;
    for (int bit = 63; bit >= 0; bit--) product = next_of(product) ^ (other >> bit & 1 ? one : 0);
    return product;
}
static uint64_t from(uint64_t n) {
    uint64_t state = 1, square = 2;
    for (int bit = 0; bit < 64; bit++, square = times(square, square)) if (n >> bit & 1) state = times(state, square);
    return state;
}

static void make(void) {
    uint64_t word = from(me * count);
    for (uint64_t i = 0; i < count; i++) {
        word = next_of(word);
        uint64_t number = (uint64_t)((unsigned __int128)word * ((uint64_t)size << log_words) >> 64);
        MPI_Accumulate(&word, 1, MPI_UINT64_T, number >> log_words, number & ((1ull << log_words) - 1), 1, MPI_UINT64_T, MPI_BXOR, window);
        /* The origin may not change before the operation has left it. */
        MPI_Win_flush_local(number >> log_words, window);
    }
    MPI_Win_flush_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me), MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) return fprintf(stderr, "gups: LOG_WORDS UPDATES\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    log_words = atoi(argv[1]), count = (uint64_t)atoi(argv[2]) << log_words, first = (uint64_t)me << log_words;
    MPI_Win_allocate(8l << log_words, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
    for (uint64_t i = 0; i < 1ull << log_words; i++) table[i] = first + i;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    MPI_Win_sync(window);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), mine, slowest;
    make();
    mine = MPI_Wtime() - start;
    make();
    MPI_Win_sync(window);
    long wrong = 0, all;
    for (uint64_t i = 0; i < 1ull << log_words; i++) wrong += table[i] != first + i;
    MPI_Win_unlock_all(window);
    MPI_Reduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (!me) {
        double rate = count * size / slowest;
        printf("gups ranks %d log-words %d by accumulate updates %lu gups %.6f per-rank-millions %.3f wrong %ld\n", size, log_words,
            (unsigned long)(count * size), rate / 1e9, rate / 1e6 / size, all);
    }
    MPI_Win_free(&window);
    MPI_Finalize();
}
