/* Many ranks send to one by MPI: what `pelago run incast` does, with MPI_Send and MPI_Recv from any rank. Run with
 *   mpirun -n N [--oversubscribe --mca mpi_yield_when_idle 1] incast MESSAGES BYTES sleep|wait MS
 * Rank 0 sleeps so long, or waits so long inside MPI for something else, receives and checks every message, and prints one line as JSON, with the
 * largest memory that it has had. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEAD = 16, MESSAGE = 0, ELSE = 1 };

static uint64_t mixed(uint64_t number) {
    number = (number + 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    return number ^ number >> 32;
}

static uint64_t word(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    memcpy(&value, from, bytes);
    return value;
}

/* Over the head and the body, but not over itself: the sum of all words, each times an odd number of its own, so that no product waits for the
 * one before. */
static uint64_t checksum(const unsigned char *message, int bytes) {
    uint64_t weight = 0xd6e8feb86659fd93u, step = 0x9e3779b97f4a7c16u;
    uint64_t sum = word(message, 8) * weight;
    int at = HEAD;
    for (; at + 8 <= bytes; at += 8) sum += word(message + at, 8) * (weight += step);
    return mixed((sum + word(message + at, bytes - at) * (weight + step)) ^ (uint64_t)(bytes - HEAD));
}

static void write_message(unsigned char *message, int bytes, uint32_t sender, uint32_t number) {
    uint32_t head[2] = { sender, number };
    memcpy(message, head, sizeof head);
    uint64_t seed = (uint64_t)sender << 32 | number, place = 0;
    for (int at = HEAD; at < bytes; at += 8) {
        uint64_t state = mixed(seed ^ place++);
        memcpy(message + at, &state, bytes - at < 8 ? bytes - at : 8);
    }
    uint64_t sum = checksum(message, bytes);
    memcpy(message + 8, &sum, sizeof sum);
}

/* The most memory that this process has had, in bytes. */
static long peak(void) {
    char line[256];
    long kibibytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kibibytes) == 1) break;
    if (status) fclose(status);
    return kibibytes * 1024;
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count != 5) {
        if (!rank) fprintf(stderr, "usage: incast MESSAGES BYTES sleep|wait MS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int messages = atoi(arguments[1]), bytes = atoi(arguments[2]), ms = atoi(arguments[4]);
    int waits = !strcmp(arguments[3], "wait");
    unsigned char *message = malloc(bytes);
    uint32_t *next = calloc(size, sizeof *next);
    MPI_Barrier(MPI_COMM_WORLD);
    long before = peak();
    if (rank) {
        if (waits && rank == size - 1) {
            usleep(1000 * ms);
            MPI_Send(message, 0, MPI_BYTE, 0, ELSE, MPI_COMM_WORLD);
        }
        for (int number = 0; number < messages; number++) {
            write_message(message, bytes, rank, number);
            MPI_Send(message, bytes, MPI_BYTE, 0, MESSAGE, MPI_COMM_WORLD);
        }
    } else {
        if (waits)
            MPI_Recv(message, bytes, MPI_BYTE, MPI_ANY_SOURCE, ELSE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            usleep(1000 * ms);
        double start = MPI_Wtime();
        long all = (long)(size - 1) * messages;
        for (long taken = 0; taken < all; taken++) {
            MPI_Status status;
            MPI_Recv(message, bytes, MPI_BYTE, MPI_ANY_SOURCE, MESSAGE, MPI_COMM_WORLD, &status);
            uint32_t head[2];
            memcpy(head, message, sizeof head);
            if (checksum(message, bytes) != word(message + 8, 8) || (int)head[0] != status.MPI_SOURCE || head[1] != next[head[0]]++) {
                fprintf(stderr, "incast: wrong: a message of rank %d\n", status.MPI_SOURCE);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        double seconds = MPI_Wtime() - start;
        printf("{\"method\":\"mpi\",\"senders\":%d,\"messages\":%d,\"bytes\":%d,\"%s_ms\":%d,\"messages_per_second\":%.0f,"
               "\"memory_before_bytes\":%ld,\"memory_peak_bytes\":%ld}\n",
               size - 1, messages, bytes, waits ? "wait" : "sleep", ms, all / seconds, before, peak());
    }
    MPI_Finalize();
    return 0;
}
