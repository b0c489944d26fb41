/* Copies between any two ranks of three, and every atomic in both widths, with what was there at a local address. */
#include "check.h"

/* Sizes around what transports treat differently. */
static const size_t sizes[] = { 0, 1, 3, 8, 64, 1000, 4096, 4097, 70000, 300000 };
enum { SIZES = sizeof sizes / sizeof *sizes };
enum { FROM = 1 << 16, TO = 1 << 19, BYTES = 300000 };

static unsigned char byte_of(int owner, int round, size_t index) {
    return (unsigned char)(owner * 31 + round * 7 + (int)(index % 251));
}

/* Each rank has the next one's bytes copied to the one after that: remote to remote, among three. */
static void copies(void) {
    int rank = acp_rank(), procs = acp_procs();
    int source = (rank + 1) % procs, target = (rank + 2) % procs, author = (rank + procs - 1) % procs;
    unsigned char *mine = acp_query_address(starter(rank, 0));
    for (int round = 0; round < SIZES; round++) {
        for (size_t index = 0; index < BYTES; index++) {
            mine[FROM + index] = byte_of(rank, round, index);
            mine[TO + index] = 255;
        }
        acp_sync();
        acp_handle_t handle = acp_copy(starter(target, TO), starter(source, FROM), sizes[round], ACP_HANDLE_NULL);
        CHECK(handle != ACP_HANDLE_NULL);
        acp_complete(handle);
        CHECK(acp_inquire(handle) == 0);
        acp_sync();
        for (size_t index = 0; index < BYTES; index++) {
            unsigned char expected = index < sizes[round] ? byte_of(author, round, index) : 255;
            CHECK(mine[TO + index] == expected);
        }
        acp_sync();
    }
}

/* Every rank adds to a counter of every rank; all are counted, and what each found is not found twice. */
static void counters(void) {
    enum { EACH = 200 };
    int rank = acp_rank(), procs = acp_procs();
    uint64_t *mine = words_at(starter(rank, 0));
    mine[0] = 0;
    mine[1] = 0;
    memset(mine + 100, 0, (size_t)(EACH * procs) * 8);
    acp_sync();
    for (int round = 0; round < EACH; round++) {
        for (int peer = 0; peer < procs; peer++) {
            acp_add8(starter(rank, 16), starter(peer, 0), 1, ACP_HANDLE_NULL);
            acp_add4(starter(rank, 24), starter(peer, 8), 3, ACP_HANDLE_NULL);
        }
        /* A ticket of rank 0: marked there, once. */
        acp_complete(acp_add8(starter(rank, 32), starter(0, 40), 1, ACP_HANDLE_ALL));
        acp_complete(acp_add8(starter(rank, 48), starter(0, 800 + 8 * mine[4]), 1, ACP_HANDLE_NULL));
        CHECK(mine[6] == 0);
    }
    acp_complete(ACP_HANDLE_ALL);
    acp_sync();
    CHECK(mine[0] == (uint64_t)(EACH * procs));
    CHECK((uint32_t)mine[1] == (uint32_t)(3 * EACH * procs) && mine[1] >> 32 == 0);
    acp_sync();
}

#define ATOMIC(call, word, result, before, after)  \
    do {                                           \
        word = before;                             \
        acp_sync();                                \
        CHECK((call) != ACP_HANDLE_NULL);          \
        acp_complete(ACP_HANDLE_ALL);              \
        CHECK(result == before);                   \
        acp_sync();                                \
        CHECK(word == after);                      \
        acp_sync();                                \
    } while (0)

static void atomics(void) {
    int rank = acp_rank(), procs = acp_procs();
    acp_ga_t dst = starter(rank, 0), src = starter((rank + 1) % procs, 64);
    volatile uint64_t *result = words_at(dst), *word = words_at(starter(rank, 64));
    const uint64_t a = 0xF0F0F0F012345678ull, b = 0x0FF00FF0FFFF0001ull;
    ATOMIC(acp_swap8(dst, src, b, ACP_HANDLE_NULL), *word, *result, a, b);
    ATOMIC(acp_add8(dst, src, b, ACP_HANDLE_NULL), *word, *result, a, a + b);
    ATOMIC(acp_xor8(dst, src, b, ACP_HANDLE_NULL), *word, *result, a, (a ^ b));
    ATOMIC(acp_or8(dst, src, b, ACP_HANDLE_NULL), *word, *result, a, (a | b));
    ATOMIC(acp_and8(dst, src, b, ACP_HANDLE_NULL), *word, *result, a, (a & b));
    ATOMIC(acp_cas8(dst, src, a, b, ACP_HANDLE_NULL), *word, *result, a, b);
    ATOMIC(acp_cas8(dst, src, a + 1, b, ACP_HANDLE_NULL), *word, *result, a, a);

    volatile uint32_t *result4 = (volatile uint32_t *)result, *word4 = (volatile uint32_t *)word;
    const uint32_t c = 0xF0F05678u, d = 0x8FF0F001u;
    /* The neighbours of a word of four bytes stay as they are. */
    result4[1] = 77;
    word4[1] = 78;
    ATOMIC(acp_swap4(dst, src, d, ACP_HANDLE_NULL), *word4, *result4, c, d);
    ATOMIC(acp_add4(dst, src, d, ACP_HANDLE_NULL), *word4, *result4, c, (uint32_t)(c + d));
    ATOMIC(acp_xor4(dst, src, d, ACP_HANDLE_NULL), *word4, *result4, c, (c ^ d));
    ATOMIC(acp_or4(dst, src, d, ACP_HANDLE_NULL), *word4, *result4, c, (c | d));
    ATOMIC(acp_and4(dst, src, d, ACP_HANDLE_NULL), *word4, *result4, c, (c & d));
    ATOMIC(acp_cas4(dst, src, c, d, ACP_HANDLE_NULL), *word4, *result4, c, d);
    ATOMIC(acp_cas4(dst, src, c + 1, d, ACP_HANDLE_NULL), *word4, *result4, c, c);
    CHECK(result4[1] == 77 && word4[1] == 78);
    acp_sync();
}

int main(int argc, char **argv) {
    CHECK(acp_init(&argc, &argv) == 0);
    copies();
    counters();
    atomics();
    CHECK(acp_finalize() == 0);
    puts("good");
    return 0;
}
