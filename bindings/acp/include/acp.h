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

/* acp_ready_segbuf, called by the destination: it has read the segment at the head, which is free again. acp_ack_segbuf, called by the source: sends the
 * segment at the tail. 0, or 1 if no segment has come, or none is free. */
int acp_ready_segbuf(acp_segbuf_t segbuf);
int acp_ack_segbuf(acp_segbuf_t segbuf);

/* acp_isready_segbuf, called by the source: 0 if it may write the segment at the tail, else 1. acp_isacked_segbuf, called by the destination: 0 if it may read
 * the segment at the head, else 1. Segments lie at the number of the head or tail, modulo `segnum`. */
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

/* ---- Data library: types ---- */

typedef struct {
    acp_ga_t ga;
    size_t size;
} acp_element_t; /* bytes at an address */

typedef struct {
    acp_element_t first, second;
} acp_pair_t;

typedef struct acp_workspace *acp_wsd_t;

#define ACP_WSD_NULL ((acp_wsd_t)(-1))

typedef struct {
    acp_ga_t ga;
} acp_vector_t;

typedef struct {
    acp_vector_t vector;
    int index;
} acp_vector_it_t;

typedef struct {
    acp_ga_t ga;
} acp_deque_t;

typedef struct {
    acp_deque_t deque;
    int index;
} acp_deque_it_t;

typedef struct {
    acp_ga_t ga;
} acp_list_t;

typedef struct {
    acp_list_t list;
    acp_ga_t elem;
} acp_list_it_t;

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_set_t;

typedef struct {
    acp_set_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_set_it_t;

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_multiset_t;

typedef struct {
    acp_multiset_t set;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_multiset_it_t;

typedef struct {
    acp_ga_t ga;
    uint64_t num_ranks;
    uint64_t num_slots;
} acp_map_t;

typedef struct {
    acp_map_t map;
    int rank;
    int slot;
    acp_ga_t elem;
} acp_map_it_t;

typedef struct {
    acp_set_it_t it;
} acp_set_ib_t;

typedef struct {
    acp_map_it_t it;
} acp_map_ib_t;

/* The functions by verb: acp_insert(map, m, pair) is acp_insert_map(m, pair), acp_increment(map_it, it) is acp_increment_map_it(it). */

#define acp_assign(type, ...) acp_assign_##type(__VA_ARGS__)
#define acp_assign_range(type, ...) acp_assign_range_##type(__VA_ARGS__)
#define acp_at(type, ...) acp_at_##type(__VA_ARGS__)
#define acp_back(type, ...) acp_back_##type(__VA_ARGS__)
#define acp_begin(type, ...) acp_begin_##type(__VA_ARGS__)
#define acp_bucket(type, ...) acp_bucket_##type(__VA_ARGS__)
#define acp_bucket_count(type, ...) acp_bucket_count_##type(__VA_ARGS__)
#define acp_bucket_size(type, ...) acp_bucket_size_##type(__VA_ARGS__)
#define acp_capacity(type, ...) acp_capacity_##type(__VA_ARGS__)
#define acp_clear(type, ...) acp_clear_##type(__VA_ARGS__)
#define acp_count(type, ...) acp_count_##type(__VA_ARGS__)
#define acp_create(type, ...) acp_create_##type(__VA_ARGS__)
#define acp_destroy(type, ...) acp_destroy_##type(__VA_ARGS__)
#define acp_empty(type, ...) acp_empty_##type(__VA_ARGS__)
#define acp_end(type, ...) acp_end_##type(__VA_ARGS__)
#define acp_erase(type, ...) acp_erase_##type(__VA_ARGS__)
#define acp_erase_range(type, ...) acp_erase_range_##type(__VA_ARGS__)
#define acp_find(type, ...) acp_find_##type(__VA_ARGS__)
#define acp_front(type, ...) acp_front_##type(__VA_ARGS__)
#define acp_insert(type, ...) acp_insert_##type(__VA_ARGS__)
#define acp_insert_range(type, ...) acp_insert_range_##type(__VA_ARGS__)
#define acp_merge(type, ...) acp_merge_##type(__VA_ARGS__)
#define acp_pop_back(type, ...) acp_pop_back_##type(__VA_ARGS__)
#define acp_pop_front(type, ...) acp_pop_front_##type(__VA_ARGS__)
#define acp_push_back(type, ...) acp_push_back_##type(__VA_ARGS__)
#define acp_push_front(type, ...) acp_push_front_##type(__VA_ARGS__)
#define acp_remove(type, ...) acp_remove_##type(__VA_ARGS__)
#define acp_reserve(type, ...) acp_reserve_##type(__VA_ARGS__)
#define acp_reverse(type, ...) acp_reverse_##type(__VA_ARGS__)
#define acp_size(type, ...) acp_size_##type(__VA_ARGS__)
#define acp_sort(type, ...) acp_sort_##type(__VA_ARGS__)
#define acp_splice(type, ...) acp_splice_##type(__VA_ARGS__)
#define acp_swap(type, ...) acp_swap_##type(__VA_ARGS__)
#define acp_unique(type, ...) acp_unique_##type(__VA_ARGS__)
#define acp_advance(type, ...) acp_advance_##type(__VA_ARGS__)
#define acp_decrement(type, ...) acp_decrement_##type(__VA_ARGS__)
#define acp_dereference(type, ...) acp_dereference_##type(__VA_ARGS__)
#define acp_dereference_value(type, ...) acp_dereference_value_##type(__VA_ARGS__)
#define acp_distance(type, ...) acp_distance_##type(__VA_ARGS__)
#define acp_increment(type, ...) acp_increment_##type(__VA_ARGS__)
#define acp_size_value(type, ...) acp_size_value_##type(__VA_ARGS__)

/* ---- Workspace ---- */

/* A byte array spread over ranks: `size_default` bytes on each, from `proc_start` on; the next workspace begins where the last has ended.
 * acp_setparams_ws, acp_create_ws and acp_destroy_ws are collective, with the same values everywhere. acp_read_ws copies from the
 * workspace to `ga`, acp_write_ws from `ga` to the workspace. ACP_WSD_NULL, or 1, if that cannot be. */
acp_wsd_t acp_create_ws(size_t size);
int acp_setparams_ws(size_t proc_start, size_t size_default);
void acp_destroy_ws(acp_wsd_t ws);
int acp_read_ws(acp_wsd_t ws, acp_ga_t ga, size_t size, size_t offset);
int acp_write_ws(acp_wsd_t ws, const acp_ga_t ga, size_t size, size_t offset);

/* ---- Vector ---- */

/* Bytes in a row on one rank. Indices and sizes are bytes. A vector is made with `size` bytes, all zero. One rank at a time changes it. What
 * cannot be done changes nothing; its result is a null address, 0, or the place that was given. */
void acp_assign_vector(acp_vector_t vector1, acp_vector_t vector2);
void acp_assign_range_vector(acp_vector_t vector, acp_vector_it_t start, acp_vector_it_t end);
acp_ga_t acp_at_vector(acp_vector_t vector, int index);
acp_vector_it_t acp_begin_vector(acp_vector_t vector);
size_t acp_capacity_vector(acp_vector_t vector);
void acp_clear_vector(acp_vector_t vector);
acp_vector_t acp_create_vector(size_t size, int rank);
void acp_destroy_vector(acp_vector_t vector);
int acp_empty_vector(acp_vector_t vector);
acp_vector_it_t acp_end_vector(acp_vector_t vector);
acp_vector_it_t acp_erase_vector(acp_vector_it_t it, size_t size);
acp_vector_it_t acp_erase_range_vector(acp_vector_it_t start, acp_vector_it_t end);
acp_vector_it_t acp_insert_vector(acp_vector_it_t it, const acp_ga_t ga, size_t size);
acp_vector_it_t acp_insert_range_vector(acp_vector_it_t it, acp_vector_it_t start, acp_vector_it_t end);
void acp_pop_back_vector(acp_vector_t vector, size_t size);
void acp_push_back_vector(acp_vector_t vector, const acp_ga_t ga, size_t size);
void acp_reserve_vector(acp_vector_t vector, size_t size);
size_t acp_size_vector(acp_vector_t vector);
void acp_swap_vector(acp_vector_t vector1, acp_vector_t vector2);
acp_vector_it_t acp_advance_vector_it(acp_vector_it_t it, int n);
acp_ga_t acp_dereference_vector_it(acp_vector_it_t it);
int acp_distance_vector_it(acp_vector_it_t first, acp_vector_it_t last);

/* ---- Deque ---- */

/* As a vector, growing at both ends. Its bytes may lie in two rows: dereferencing gives both, the second of no bytes if there is one. */
void acp_assign_deque(acp_deque_t deque1, acp_deque_t deque2);
void acp_assign_range_deque(acp_deque_t deque, acp_deque_it_t start, acp_deque_it_t end);
acp_ga_t acp_at_deque(acp_deque_t deque, int index);
acp_deque_it_t acp_begin_deque(acp_deque_t deque);
size_t acp_capacity_deque(acp_deque_t deque);
void acp_clear_deque(acp_deque_t deque);
acp_deque_t acp_create_deque(size_t size, int rank);
void acp_destroy_deque(acp_deque_t deque);
int acp_empty_deque(acp_deque_t deque);
acp_deque_it_t acp_end_deque(acp_deque_t deque);
acp_deque_it_t acp_erase_deque(acp_deque_it_t it, size_t size);
acp_deque_it_t acp_erase_range_deque(acp_deque_it_t start, acp_deque_it_t end);
acp_deque_it_t acp_insert_deque(acp_deque_it_t it, const acp_ga_t ga, size_t size);
acp_deque_it_t acp_insert_range_deque(acp_deque_it_t it, acp_deque_it_t start, acp_deque_it_t end);
void acp_pop_back_deque(acp_deque_t deque, size_t size);
void acp_pop_front_deque(acp_deque_t deque, size_t size);
void acp_push_back_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_push_front_deque(acp_deque_t deque, const acp_ga_t ga, size_t size);
void acp_reserve_deque(acp_deque_t deque, size_t size);
size_t acp_size_deque(acp_deque_t deque);
void acp_swap_deque(acp_deque_t deque1, acp_deque_t deque2);
acp_deque_it_t acp_advance_deque_it(acp_deque_it_t it, int n);
acp_pair_t acp_dereference_deque_it(acp_deque_it_t it, size_t size);
int acp_distance_deque_it(acp_deque_it_t first, acp_deque_it_t last);

/* ---- List ---- */

/* Elements of any size, each on a rank of its own. One rank at a time changes it. Iterators hold until their element is erased; the end has
 * the list's address. What cannot be done returns an iterator with a null element. `comp` is negative, zero or positive, and may call the
 * library. acp_merge_list and splicing move elements; assigning and inserting ranges copies them. */
void acp_assign_list(acp_list_t list1, acp_list_t list2);
void acp_assign_range_list(acp_list_t list, acp_list_it_t start, acp_list_it_t end);
acp_list_it_t acp_begin_list(acp_list_t list);
void acp_clear_list(acp_list_t list);
acp_list_t acp_create_list(int rank);
void acp_destroy_list(acp_list_t list);
int acp_empty_list(acp_list_t list);
acp_list_it_t acp_end_list(acp_list_t list);
acp_list_it_t acp_erase_list(acp_list_it_t it);
acp_list_it_t acp_erase_range_list(acp_list_it_t start, acp_list_it_t end);
acp_list_it_t acp_insert_list(acp_list_it_t it, const acp_element_t elem, int rank);
acp_list_it_t acp_insert_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);
void acp_merge_list(acp_list_t list1, acp_list_t list2, int(*comp)(const acp_element_t, const acp_element_t));
void acp_pop_back_list(acp_list_t list);
void acp_pop_front_list(acp_list_t list);
void acp_push_back_list(acp_list_t list, const acp_element_t elem, int rank);
void acp_push_front_list(acp_list_t list, const acp_element_t elem, int rank);
void acp_remove_list(acp_list_t list, const acp_element_t elem);
void acp_reverse_list(acp_list_t list);
size_t acp_size_list(acp_list_t list);
void acp_sort_list(acp_list_t list, int(*comp)(const acp_element_t, const acp_element_t));
void acp_splice_list(acp_list_it_t it1, acp_list_it_t it2);
void acp_splice_range_list(acp_list_it_t it, acp_list_it_t start, acp_list_it_t end);
void acp_swap_list(acp_list_t list1, acp_list_t list2);
void acp_unique_list(acp_list_t list);
acp_list_it_t acp_advance_list_it(acp_list_it_t it, int n);
acp_list_it_t acp_decrement_list_it(acp_list_it_t it);
acp_element_t acp_dereference_list_it(acp_list_it_t it);
int acp_distance_list_it(acp_list_it_t first, acp_list_it_t last);
acp_list_it_t acp_increment_list_it(acp_list_it_t it);

/* ---- Set ---- */

/* Keys of any size, spread over `ranks`, with `num_slots` slots on each; all ranks use it at once. `insert` is 1 for a new key, else 0. The
 * functions with `local` touch what lies on the calling rank, and may be called by all ranks at once. Whole sets are cleared, assigned,
 * moved, swapped and destroyed while nobody else uses them. Iteration goes through the slots in order; the end has a null element. */
void acp_assign_local_set(acp_set_t set1, acp_set_t set2);
void acp_assign_set(acp_set_t set1, acp_set_t set2);
acp_set_it_t acp_begin_local_set(acp_set_t set);
acp_set_it_t acp_begin_set(acp_set_t set);
void acp_clear_set(acp_set_t set);
acp_set_t acp_create_set(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_set(acp_set_t set);
int acp_empty_local_set(acp_set_t set);
int acp_empty_set(acp_set_t set);
acp_set_it_t acp_end_local_set(acp_set_t set);
acp_set_it_t acp_end_set(acp_set_t set);
acp_set_it_t acp_find_set(acp_set_t set, acp_element_t key);
int acp_insert_set(acp_set_t set, acp_element_t key);
void acp_merge_local_set(acp_set_t set1, acp_set_t set2);
void acp_merge_set(acp_set_t set1, acp_set_t set2);
void acp_move_local_set(acp_set_t set1, acp_set_t set2);
void acp_move_set(acp_set_t set1, acp_set_t set2);
void acp_remove_set(acp_set_t set, acp_element_t key);
size_t acp_size_local_set(acp_set_t set);
size_t acp_size_set(acp_set_t set);
void acp_swap_set(acp_set_t set1, acp_set_t set2);
acp_element_t acp_dereference_set_it(acp_set_it_t it);
acp_set_it_t acp_increment_set_it(acp_set_it_t it);

/* ---- Multiset ---- */

/* As a set; equal keys are counted. `insert` raises the count, `remove` lowers it, `remove_all` takes the key out, `retrieve` returns it.
 * The size is the number of different keys. */
void acp_assign_local_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
void acp_assign_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
acp_multiset_it_t acp_begin_local_multiset(acp_multiset_t multiset);
acp_multiset_it_t acp_begin_multiset(acp_multiset_t multiset);
void acp_clear_multiset(acp_multiset_t multiset);
acp_multiset_t acp_create_multiset(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_multiset(acp_multiset_t multiset);
int acp_empty_local_multiset(acp_multiset_t multiset);
int acp_empty_multiset(acp_multiset_t multiset);
acp_multiset_it_t acp_end_local_multiset(acp_multiset_t multiset);
acp_multiset_it_t acp_end_multiset(acp_multiset_t multiset);
acp_multiset_it_t acp_find_multiset(acp_multiset_t multiset, acp_element_t key);
int acp_insert_multiset(acp_multiset_t multiset, acp_element_t key);
void acp_merge_local_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
void acp_merge_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
void acp_move_local_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
void acp_move_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
void acp_remove_multiset(acp_multiset_t multiset, acp_element_t key);
void acp_remove_all_multiset(acp_multiset_t multiset, acp_element_t key);
uint64_t acp_retrieve_multiset(acp_multiset_t multiset, acp_element_t key);
size_t acp_size_local_multiset(acp_multiset_t multiset);
size_t acp_size_multiset(acp_multiset_t multiset);
void acp_swap_multiset(acp_multiset_t multiset1, acp_multiset_t multiset2);
acp_element_t acp_dereference_multiset_it(acp_multiset_it_t it);
acp_multiset_it_t acp_increment_multiset_it(acp_multiset_it_t it);

/* ---- Map ---- */

/* As a set, of keys with values. `insert` does not overwrite. `retrieve` finds the key `first`, copies as much of its value as fits to
 * `second`, and returns the size of the value, 0 if the key is not there. */
void acp_assign_local_map(acp_map_t map1, acp_map_t map2);
void acp_assign_map(acp_map_t map1, acp_map_t map2);
acp_map_it_t acp_begin_local_map(acp_map_t map);
acp_map_it_t acp_begin_map(acp_map_t map);
void acp_clear_local_map(acp_map_t map);
void acp_clear_map(acp_map_t map);
acp_map_t acp_create_map(int num_ranks, const int *ranks, int num_slots, int rank);
void acp_destroy_map(acp_map_t map);
int acp_empty_local_map(acp_map_t map);
int acp_empty_map(acp_map_t map);
acp_map_it_t acp_end_local_map(acp_map_t map);
acp_map_it_t acp_end_map(acp_map_t map);
acp_map_it_t acp_find_map(acp_map_t map, acp_element_t key);
int acp_insert_map(acp_map_t map, acp_pair_t pair);
void acp_merge_local_map(acp_map_t map1, acp_map_t map2);
void acp_merge_map(acp_map_t map1, acp_map_t map2);
void acp_move_local_map(acp_map_t map1, acp_map_t map2);
void acp_move_map(acp_map_t map1, acp_map_t map2);
void acp_remove_map(acp_map_t map, acp_element_t key);
size_t acp_retrieve_map(acp_map_t map, acp_pair_t pair);
size_t acp_size_local_map(acp_map_t map);
size_t acp_size_map(acp_map_t map);
void acp_swap_map(acp_map_t map1, acp_map_t map2);
acp_pair_t acp_dereference_map_it(acp_map_it_t it);
acp_map_it_t acp_increment_map_it(acp_map_it_t it);

#ifdef __cplusplus
}
#endif

#endif
