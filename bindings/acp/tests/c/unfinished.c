/* Segments and messages in flight when the library is finalized: their memory belongs to the program again afterwards. */
#define _DEFAULT_SOURCE /* for MAP_ANONYMOUS */
#include "check.h"
#include <sys/mman.h>

enum { SESSIONS = 5, SEGMENTS = 8, MESSAGES = 6, BYTES = 4000 };

static const size_t segment_bytes = 1 << 18;

/* Sends to the last rank what that rank does not wait for. In the other direction nothing is sent, so that nothing holds up the end of rank 0. */
static void send_unfinished(char *memory, int last) {
    acp_segbuf_t source = acp_create_src_segbuf(last, memory, segment_bytes, SEGMENTS);
    acp_ch_t channel = acp_create_ch(0, last);
    CHECK(acp_connect_segbuf(source) == 0);
    CHECK(acp_wait_ch(acp_nbsend_ch(channel, memory, BYTES)) == BYTES);
    for (int message = 0; message < MESSAGES; message++)
        CHECK(acp_nbsend_ch(channel, memory, BYTES) != ACP_REQUEST_NULL);
    for (int segment = 0; segment < SEGMENTS; segment++) {
        memset(memory + segment * segment_bytes, segment + 1, segment_bytes);
        CHECK(acp_ack_segbuf(source) == 0);
    }
}

static void receive_some(char *memory) {
    acp_segbuf_t destination = acp_create_dst_segbuf(0, memory, segment_bytes, SEGMENTS);
    acp_ch_t channel = acp_create_ch(0, acp_rank());
    CHECK(acp_connect_segbuf(destination) == 0);
    CHECK(acp_wait_ch(acp_nbrecv_ch(channel, memory, BYTES)) == BYTES);
}

int main(int argc, char **argv) {
    size_t bytes = segment_bytes * SEGMENTS;
    for (int session = 0; session < SESSIONS; session++) {
        CHECK(acp_init(&argc, &argv) == 0);
        int rank = acp_rank(), last = acp_procs() - 1;
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        if (last > 0 && rank == 0)
            send_unfinished(memory, last);
        if (last > 0 && rank == last)
            receive_some(memory);
        CHECK(acp_finalize() == 0);
        munmap(memory, bytes);
    }
    puts("good");
    return 0;
}
