/* Segment buffers: what is sent comes whole and in order; the source is never more than the ring ahead; counts never wrap. */
#include "check.h"

enum { SEGMENTS = 4, BYTES = 100, ROUNDS = 500 };

static unsigned char out[SEGMENTS * BYTES], in[SEGMENTS * BYTES], wide[2][3][70000];

static void fill(unsigned char *segment, int from, int64_t number, size_t size) {
    for (size_t i = 0; i < size; i++) {
        segment[i] = (unsigned char)(from * 31 + number * 13 + (int64_t)i);
    }
}

static void check(const unsigned char *segment, int from, int64_t number, size_t size) {
    for (size_t i = 0; i < size; i++) {
        CHECK(segment[i] == (unsigned char)(from * 31 + number * 13 + (int64_t)i));
    }
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    int rank = acp_rank(), procs = acp_procs(), right = (rank + 1) % procs, left = (rank + procs - 1) % procs;
    CHECK(acp_create_src_segbuf(rank, out, BYTES, SEGMENTS) == ACP_SEGBUF_NULL);
    CHECK(acp_create_src_segbuf(procs, out, BYTES, SEGMENTS) == ACP_SEGBUF_NULL);
    CHECK(acp_create_dst_segbuf(left, NULL, BYTES, SEGMENTS) == ACP_SEGBUF_NULL);
    CHECK(acp_create_dst_segbuf(left, in, 0, SEGMENTS) == ACP_SEGBUF_NULL);
    CHECK(acp_connect_segbuf(ACP_SEGBUF_NULL) == 1 && acp_query_segbuf_head(ACP_SEGBUF_NULL) == -1);
    if (procs > 1) {
        acp_segbuf_t source = acp_create_src_segbuf(right, out, BYTES, SEGMENTS);
        acp_segbuf_t destination = acp_create_dst_segbuf(left, in, BYTES, SEGMENTS);
        CHECK(source != ACP_SEGBUF_NULL && destination != ACP_SEGBUF_NULL);
        CHECK(acp_ack_segbuf(destination) == 1 && acp_ready_segbuf(source) == 1);
        CHECK(acp_connect_segbuf(destination) == 0 && acp_connect_segbuf(source) == 0);
        CHECK(acp_isconnected_segbuf(destination) == 0 && acp_isconnected_segbuf(source) == 0);
        /* All segments are ready at first; then none, until the destination frees one. */
        for (int64_t number = 0; number < SEGMENTS; number++) {
            CHECK(acp_isready_segbuf(source) == 0 && acp_query_segbuf_tail(source) == number);
            fill(out + number * BYTES, rank, number, BYTES);
            CHECK(acp_ack_segbuf(source) == 0);
        }
        CHECK(acp_isready_segbuf(source) == 1 && acp_ack_segbuf(source) == 1 && acp_query_segbuf_tail(source) == SEGMENTS);
        while (acp_query_segbuf_sent(source) < SEGMENTS) {
            acp_inquire(ACP_HANDLE_ALL);
        }
        acp_sync();
        CHECK(acp_isready_segbuf(source) == 1 && acp_query_segbuf_head(source) == 0);
        CHECK(acp_isacked_segbuf(destination) == 0 && acp_query_segbuf_tail(destination) == SEGMENTS);
        CHECK(acp_query_segbuf_sent(destination) == -1);
        for (int64_t number = 0; number < SEGMENTS; number++) {
            check(in + number * BYTES, left, number, BYTES);
        }
        acp_sync();
        CHECK(acp_ready_segbuf(destination) == 0 && acp_query_segbuf_head(destination) == 1);
        while (acp_isready_segbuf(source) == 1) {
        }
        CHECK(acp_query_segbuf_head(source) >= 1);
        /* The ring goes round many times. */
        int64_t sent = SEGMENTS, read = 1;
        while (read < ROUNDS || sent < ROUNDS) {
            if (sent < ROUNDS && acp_isready_segbuf(source) == 0) {
                fill(out + sent % SEGMENTS * BYTES, rank, sent, BYTES);
                CHECK(acp_ack_segbuf(source) == 0);
                sent++;
            }
            if (read < ROUNDS && acp_isacked_segbuf(destination) == 0) {
                check(in + read % SEGMENTS * BYTES, left, read, BYTES);
                CHECK(acp_ready_segbuf(destination) == 0);
                read++;
            }
        }
        CHECK(acp_query_segbuf_tail(source) == ROUNDS && acp_query_segbuf_head(destination) == ROUNDS);
        CHECK(acp_isacked_segbuf(destination) == 1 && acp_ready_segbuf(destination) == 1);
        CHECK(acp_free_segbuf(source) == 1);
        CHECK(acp_disconnect_segbuf(source) == 0 && acp_disconnect_segbuf(destination) == 0);
        CHECK(acp_disconnect_segbuf(source) == 1 && acp_isready_segbuf(source) == 1);
        CHECK(acp_free_segbuf(source) == 0 && acp_free_segbuf(destination) == 0 && acp_free_segbuf(source) == 1);
        /* Large segments, and two buffers of one pair. */
        acp_segbuf_t sources[2], destinations[2];
        static unsigned char got[2][3][70000];
        for (int i = 0; i < 2; i++) {
            sources[i] = acp_create_src_segbuf(right, wide[i], 70000, 3);
            destinations[i] = acp_create_dst_segbuf(left, got[i], 70000, 3);
        }
        for (int i = 0; i < 2; i++) {
            CHECK(acp_connect_segbuf(sources[i]) == 0 && acp_connect_segbuf(destinations[i]) == 0);
        }
        for (int64_t number = 0; number < 3; number++) {
            for (int i = 0; i < 2; i++) {
                fill(wide[i][number], rank + 10 * i, number, 70000);
                CHECK(acp_ack_segbuf(sources[i]) == 0);
            }
        }
        for (int64_t number = 0; number < 3; number++) {
            for (int i = 0; i < 2; i++) {
                while (acp_isacked_segbuf(destinations[i]) == 1) {
                }
                check(got[i][number], left + 10 * i, number, 70000);
                CHECK(acp_ready_segbuf(destinations[i]) == 0);
            }
        }
        /* Ends that do not fit are told. */
        acp_segbuf_t one = acp_create_src_segbuf(right, out, BYTES, 2), other = acp_create_dst_segbuf(left, in, BYTES, 3);
        CHECK(acp_connect_segbuf(other) == 1 && acp_connect_segbuf(one) == 1);
    }
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
