/* Channels: messages of all lengths in order, several under way, in both directions and between all ranks; flow control; truncation. */
#include "check.h"

enum { MESSAGES = 300 };

/* The library exports it, and the header does not declare it. */
int acp_send_ch(acp_ch_t channel, void *memory, size_t bytes);

static unsigned char bytes_of(int from, int message, size_t index) {
    return (unsigned char)((size_t)(from * 131 + message * 17) + index * 7);
}

static size_t length_of(int message) {
    static const size_t lengths[] = {0, 1, 8, 4087, 4088, 4089, 4096, 12288, 50000};
    return lengths[message % 9];
}

static void fill(unsigned char *bytes, size_t size, int from, int message) {
    for (size_t i = 0; i < size; i++) {
        bytes[i] = bytes_of(from, message, i);
    }
}

static void check(const unsigned char *bytes, size_t size, int from, int message) {
    for (size_t i = 0; i < size; i++) {
        CHECK(bytes[i] == bytes_of(from, message, i));
    }
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), right = (rank + 1) % procs, left = (rank + procs - 1) % procs;
    static unsigned char out[60000], in[60000], many[16][512];
    /* No channel to oneself, none between others, none with a rank that is not there. */
    CHECK(acp_create_ch(rank, rank) == ACP_CH_NULL && acp_create_ch(rank, procs) == ACP_CH_NULL);
    CHECK(procs < 3 || acp_create_ch(right, left) == ACP_CH_NULL);
    CHECK(acp_wait_ch(ACP_REQUEST_NULL) == (size_t)-1 && acp_free_ch(ACP_CH_NULL) == -1);
    CHECK(acp_nbsend_ch(ACP_CH_NULL, out, 8) == ACP_REQUEST_NULL);
    if (procs > 1) {
        /* Two channels to the right: they do not mix, whichever end comes first. */
        acp_ch_t first = acp_create_ch(rank, right), second = acp_create_ch(rank, right);
        acp_ch_t from_first = acp_create_ch(left, rank), from_second = acp_create_ch(left, rank);
        CHECK(first && second && from_first && from_second);
        CHECK(acp_nbrecv_ch(first, in, 8) == ACP_REQUEST_NULL && acp_nbsend_ch(from_first, out, 8) == ACP_REQUEST_NULL);
        for (int message = 0; message < MESSAGES; message++) {
            size_t size = length_of(message);
            fill(out, size, rank, message);
            acp_request_t sent = acp_nbsend_ch(first, out, size);
            acp_request_t received = acp_nbrecv_ch(from_first, in, sizeof in);
            CHECK(sent != ACP_REQUEST_NULL && received != ACP_REQUEST_NULL && sent != received);
            CHECK(acp_wait_ch(received) == size);
            check(in, size, left, message);
            CHECK(acp_wait_ch(sent) != (size_t)-1);
            /* A request is gone when it was waited for. */
            CHECK(message || (acp_wait_ch(sent) == (size_t)-1 && acp_wait_ch(received) == (size_t)-1));
        }
        /* Many requests at once, more than the channel has room for: sends before receives, and receives before sends. */
        acp_request_t requests[64];
        size_t sizes[64];
        for (int round = 0; round < 2; round++) {
            for (int side = 0; side < 2; side++) {
                for (int i = 0; i < 16; i++) {
                    if (side == round) {
                        fill(many[i], 256, rank, i);
                        requests[i] = acp_nbsend_ch(second, many[i], 256);
                    } else {
                        requests[16 + i] = acp_nbrecv_ch(from_second, many[i] + 256, 256);
                    }
                }
            }
            CHECK(acp_waitall_ch(requests, 32, round ? sizes : NULL) == 0);
            for (int i = 0; i < 16; i++) {
                CHECK(!round || sizes[16 + i] == 256);
                check(many[i] + 256, 256, left, i);
            }
        }
        /* What does not fit is cut; the next message is whole, also after one of many segments. */
        memset(in, 0xEE, 200);
        fill(out, 50000, rank, 7);
        fill(out + 50000, 100, rank, 8);
        acp_request_t long_one = acp_nbsend_ch(second, out, 50000), short_one = acp_nbsend_ch(second, out + 50000, 100);
        CHECK(acp_wait_ch(acp_nbrecv_ch(from_second, in, 10)) == 10);
        check(in, 10, left, 7);
        CHECK(in[10] == 0xEE);
        CHECK(acp_wait_ch(acp_nbrecv_ch(from_second, in, 200)) == 100);
        check(in, 100, left, 8);
        CHECK(in[100] == 0xEE);
        CHECK(acp_wait_ch(long_one) != (size_t)-1 && acp_wait_ch(short_one) != (size_t)-1);
        /* A sender that is far ahead waits for its receiver, which meanwhile waits for something else. */
        for (int i = 0; i < 64; i++) {
            requests[i] = acp_nbsend_ch(first, out, 4000);
        }
        acp_sync();
        for (int i = 0; i < 64; i++) {
            CHECK(acp_wait_ch(acp_nbrecv_ch(from_first, in, sizeof in)) == 4000);
        }
        CHECK(acp_waitall_ch(requests, 64, NULL) == 0);
        /* Freed by both: the one waits, the other asks later. */
        acp_request_t freed[4] = {acp_nbfree_ch(first), acp_nbfree_ch(second), acp_nbfree_ch(from_second), ACP_REQUEST_NULL};
        CHECK(acp_nbsend_ch(first, out, 8) == ACP_REQUEST_NULL && acp_nbfree_ch(first) == ACP_REQUEST_NULL);
        CHECK(acp_free_ch(from_first) == 0 && acp_free_ch(from_first) == -1);
        CHECK(acp_waitall_ch(freed, 3, NULL) == 0);
        /* A message that the receiver never takes, and that the channel has no room for: the sender learns of it. */
        acp_ch_t there = acp_create_ch(rank, right), back = acp_create_ch(left, rank);
        acp_request_t gone = acp_nbfree_ch(back);
        CHECK(acp_send_ch(there, out, 50000) == -1);
        CHECK(acp_free_ch(there) == 0 && acp_wait_ch(gone) == 0);
        /* Channels of all pairs, one after the other, made and freed often. */
        for (int round = 0; round < 20; round++) {
            for (int distance = 1; distance < procs; distance++) {
                int to = (rank + distance) % procs, from = (rank + procs - distance) % procs;
                acp_ch_t there = acp_create_ch(rank, to), back = acp_create_ch(from, rank);
                uint64_t word = (uint64_t)(rank * 1000 + round), got = 0;
                acp_request_t sent = acp_nbsend_ch(there, &word, sizeof word);
                CHECK(acp_wait_ch(acp_nbrecv_ch(back, &got, sizeof got)) == sizeof got && got == (uint64_t)(from * 1000 + round));
                acp_wait_ch(sent);
                acp_request_t gone = acp_nbfree_ch(there);
                CHECK(acp_free_ch(back) == 0 && acp_wait_ch(gone) == 0);
            }
        }
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
