/* The C interface of ACP (Advanced Communication Primitives), as Pelago implements it.
 *
 * Every process of a job is a rank. Memory that all ranks reach has global addresses (acp_ga_t): starter memory, which every rank
 * has from the start, and memory that a program registers. Ranks copy and update it one-sidedly.
 *
 * A call that cannot be done says why in one line on standard error. An operation that fails later ends the job with one line.
 * All functions may be called by several threads at once; acp_init, acp_finalize, acp_reset and acp_sync by one thread of each rank
 * at a time.
 */
#ifndef PELAGO_ACP_H
#define PELAGO_ACP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Types and constants ---- */

typedef uint64_t acp_ga_t;     /* a global address */
typedef uint64_t acp_atkey_t;  /* registered memory */
typedef int64_t acp_handle_t;  /* an operation */

#define ACP_GA_NULL ((acp_ga_t)0)
#define ACP_ATKEY_NULL ((acp_atkey_t)0)

/* As an order: start at once. As a result: the operation cannot be done. */
#define ACP_HANDLE_NULL ((acp_handle_t)0)
/* As an order: after all that this rank has issued before. To complete or inquire: all of that. */
#define ACP_HANDLE_ALL ((acp_handle_t)0xffffffffffffffffLL)
/* As an order: after the operation that was issued last. */
#define ACP_HANDLE_CONT ((acp_handle_t)0xfffffffffffffffeLL)

/* ---- Infrastructure ---- */

/* Initializes the library. Collective. 0, or -1 if that fails. May be called again after acp_finalize. The arguments are not used. */
int acp_init(int *argc, char ***argv);

/* Waits for all ranks and everything under way, and releases all memory. Collective. 0, or -1 if it cannot. */
int acp_finalize(void);

/* Finalizes and initializes again; this rank has the number `rank` then. Collective: ranks name all numbers, each once. 0, or -1
 * on every rank, and all is as before. */
int acp_reset(int rank);

/* Ends the job with a text on standard error. Does not return. */
void acp_abort(const char *text);

/* Returns when all ranks have called it and what they issued before is done. Collective. 0, or -1 if it cannot. */
int acp_sync(void);

/* The number of this rank, from 0 on, and how many there are; -1 if the library is not initialized. */
int acp_rank(void);
int acp_procs(void);

/* ---- Global memory management ---- */

/* The starter memory of a rank: zeroed, of the size that the launcher says (acprun --acp-startermemsize), on every rank. */
acp_ga_t acp_query_starter_ga(int rank);

/* Lets all ranks reach `size` bytes of heap, static or stack memory, which stay valid until they are unregistered. A region may be
 * registered more than once. ACP_ATKEY_NULL if it cannot be. */
acp_atkey_t acp_register_memory(void *address, size_t size, int color);

/* Waits for everything that this rank has issued, and takes the memory back. 0, or -1 if the key is not one. */
int acp_unregister_memory(acp_atkey_t key);

/* The global address of a byte of registered memory; ACP_GA_NULL if it is none. */
acp_ga_t acp_query_ga(acp_atkey_t key, void *address);

/* Where this rank's own global memory lies; NULL if it is another's. */
void *acp_query_address(acp_ga_t ga);

/* The rank that owns an address, and its color: the way to it, of which there is one, 0. -1 if it is no address. */
int acp_query_rank(acp_ga_t ga);
int acp_query_color(acp_ga_t ga);
int acp_colors(void);

/* ---- Global memory access ---- */

/* Copies `size` bytes; both ends may belong to any rank. Returns a handle, ACP_HANDLE_NULL if it cannot be done. `order` says what
 * comes first: a constant, or a handle, which stands for its operation and all that were issued before it. */
acp_handle_t acp_copy(acp_ga_t dst, acp_ga_t src, size_t size, acp_handle_t order);

/* Atomics on the word at `src`, naturally aligned, of any rank. What was there is stored at `dst`, of this rank, before the operation
 * is complete. acp_casN writes `newval` if `oldval` is there. */
acp_handle_t acp_cas4(acp_ga_t dst, acp_ga_t src, uint32_t oldval, uint32_t newval, acp_handle_t order);
acp_handle_t acp_cas8(acp_ga_t dst, acp_ga_t src, uint64_t oldval, uint64_t newval, acp_handle_t order);
acp_handle_t acp_swap4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_swap8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_add4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_add8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_xor4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_xor8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_or4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_or8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);
acp_handle_t acp_and4(acp_ga_t dst, acp_ga_t src, uint32_t value, acp_handle_t order);
acp_handle_t acp_and8(acp_ga_t dst, acp_ga_t src, uint64_t value, acp_handle_t order);

/* Waits for the operation of a handle and all that were issued before it: each is visible to all who look afterwards. Returns at once
 * for ACP_HANDLE_NULL and for a handle that is not one. */
void acp_complete(acp_handle_t handle);

/* 1 if any of those is not complete, else 0. */
int acp_inquire(acp_handle_t handle);

/* ---- Channels ---- */

typedef struct acp_channel *acp_ch_t;         /* one end of a channel */
typedef struct acp_channel_request *acp_request_t; /* something asked of a channel */

#define ACP_CH_NULL ((acp_ch_t)0)
#define ACP_REQUEST_NULL ((acp_request_t)0)

/* This rank's end of a channel from `sender` to `receiver`, which differ; the calling rank is one of them. Does not wait for the other.
 * Several channels between two ranks are matched in the order in which both create them. ACP_CH_NULL if it cannot be. */
acp_ch_t acp_create_ch(int sender, int receiver);

/* Frees this end when what was asked of it is done. acp_free_ch waits until the other end is freed too; the request of acp_nbfree_ch is
 * complete then. Messages that the other end has yet to receive or to send are dropped. */
int acp_free_ch(acp_ch_t ch);
acp_request_t acp_nbfree_ch(acp_ch_t ch);

/* Begins to send, or to receive, a message of any length, in order. Its memory belongs to the library until the request is complete.
 * What is longer than the memory of the receiver is cut. */
acp_request_t acp_nbsend_ch(acp_ch_t ch, void *buf, size_t size);
acp_request_t acp_nbrecv_ch(acp_ch_t ch, void *buf, size_t size);

/* Waits for a request, which is gone then. Of a receive, returns how many bytes there are. (size_t)-1 for what is no request. */
size_t acp_wait_ch(acp_request_t request);

/* Waits for `count` requests; sizes may be NULL. 0, or -1 if one is none. */
int acp_waitall_ch(acp_request_t *requests, int count, size_t *sizes);

/* ---- Segment buffers ---- */

typedef struct acp_segment_buffer *acp_segbuf_t;

#define ACP_SEGBUF_NULL ((acp_segbuf_t)0)

/* The ends of a ring of `segnum` segments of `segsize` bytes, equal at both, in memory of the program. Segment buffers between two ranks are
 * matched in the order in which both create them. */
acp_segbuf_t acp_create_src_segbuf(int dst_rank, void *buf, size_t segsize, size_t segnum);
acp_segbuf_t acp_create_dst_segbuf(int src_rank, void *buf, size_t segsize, size_t segnum);

/* Waits until both ends are joined: 0, or 1 if they do not fit; and asks whether they are: 0 if so, else 1. */
int acp_connect_segbuf(acp_segbuf_t segbuf);
int acp_isconnected_segbuf(acp_segbuf_t segbuf);

/* The destination has read the segment at the head, which is free again; the source sends the segment at the tail. 0, or 1 if no segment has
 * come, or none is free. */
int acp_ready_segbuf(acp_segbuf_t segbuf);
int acp_ack_segbuf(acp_segbuf_t segbuf);

/* 0 if the source may write the segment at the tail, or the destination may read the one at the head; else 1. */
int acp_isready_segbuf(acp_segbuf_t segbuf);
int acp_isacked_segbuf(acp_segbuf_t segbuf);

/* How many segments were freed, how many were sent or have come, and, at the source, how many have arrived. They never wrap. -1 if
 * there is no such count. */
int64_t acp_query_segbuf_head(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_tail(acp_segbuf_t segbuf);
int64_t acp_query_segbuf_sent(acp_segbuf_t segbuf);

/* Ends the connection when what was sent has arrived; frees an end that is not connected. 0, or 1 if that cannot be. */
int acp_disconnect_segbuf(acp_segbuf_t segbuf);
int acp_free_segbuf(volatile acp_segbuf_t segbuf);

/* ---- Allocator ---- */

/* Allocates `size` bytes on a rank, at a multiple of 16; they are not cleared. ACP_GA_NULL if no memory is left there. */
acp_ga_t acp_malloc(size_t size, int rank);

/* Gives them back, from any rank. ACP_GA_NULL may be given back. */
void acp_free(acp_ga_t ga);

#ifdef __cplusplus
}
#endif

#endif
