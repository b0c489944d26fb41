/* OpenSHMEM 1.6. Generated from the table in bindings/shmem-interface; renew it by
 * PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <complex>
typedef std::complex<double> sma_complexd;
typedef std::complex<float> sma_complexf;
#else
#include <complex.h>
typedef double _Complex sma_complexd;
typedef float _Complex sma_complexf;
#endif

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 64
#define SHMEM_VENDOR_STRING "Pelago"

#define SHMEM_THREAD_SINGLE 0
#define SHMEM_THREAD_FUNNELED 1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE 3

/* Handles are numbers behind pointers of their own types. */
typedef struct sma_team *shmem_team_t;
typedef struct sma_ctx *shmem_ctx_t;

#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)
#define SHMEM_TEAM_NUM_CONTEXTS (1L << 0)
typedef struct {
    int num_contexts;
} shmem_team_config_t;

#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_CTX_SERIALIZED (1L << 0)
#define SHMEM_CTX_PRIVATE (1L << 1)
#define SHMEM_CTX_NOSTORE (1L << 2)
#define SHMEM_CTX_SESSION_TOTAL_OPS (1L << 0)
#define SHMEM_CTX_SESSION_BATCH (1L << 0)
typedef struct {
    size_t total_ops;
} shmem_ctx_session_config_t;

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

#define SHMEM_MALLOC_ATOMICS_REMOTE (1L << 0)
#define SHMEM_MALLOC_SIGNAL_REMOTE (1L << 1)

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_LT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_GT 4
#define SHMEM_CMP_GE 5

/* Deprecated. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 4
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING

#ifdef __cplusplus
extern "C" {
#endif

/* A routine, and its name for tools that put themselves in its place. */
#define SMA_ROUTINE(result, name, parameters) \
    result shmem_##name parameters;           \
    result pshmem_##name parameters;

/* Initialization, end, queries. */
SMA_ROUTINE(void, init, (void))
SMA_ROUTINE(int, init_thread, (int requested, int *provided))
SMA_ROUTINE(void, query_thread, (int *provided))
SMA_ROUTINE(void, query_initialized, (int *initialized))
SMA_ROUTINE(void, finalize, (void))
SMA_ROUTINE(void, global_exit, (int status))
SMA_ROUTINE(int, my_pe, (void))
SMA_ROUTINE(int, n_pes, (void))
SMA_ROUTINE(int, pe_accessible, (int pe))
SMA_ROUTINE(int, addr_accessible, (const void *addr, int pe))
SMA_ROUTINE(void *, ptr, (const void *dest, int pe))
SMA_ROUTINE(void, info_get_version, (int *major, int *minor))
SMA_ROUTINE(void, info_get_name, (char *name))
SMA_ROUTINE(void, pcontrol, (int level, ...))

/* Symmetric heap. */
SMA_ROUTINE(void *, malloc, (size_t size))
SMA_ROUTINE(void *, calloc, (size_t count, size_t size))
SMA_ROUTINE(void *, align, (size_t alignment, size_t size))
SMA_ROUTINE(void *, realloc, (void *ptr, size_t size))
SMA_ROUTINE(void, free, (void *ptr))
SMA_ROUTINE(void *, malloc_with_hints, (size_t size, long hints))

/* Teams. */
SMA_ROUTINE(int, team_my_pe, (shmem_team_t team))
SMA_ROUTINE(int, team_n_pes, (shmem_team_t team))
SMA_ROUTINE(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
SMA_ROUTINE(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
SMA_ROUTINE(int, team_split_strided, (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team))
SMA_ROUTINE(int, team_split_2d, (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team))
SMA_ROUTINE(void, team_destroy, (shmem_team_t team))
SMA_ROUTINE(void *, team_ptr, (shmem_team_t team, const void *dest, int pe))
SMA_ROUTINE(int, team_sync, (shmem_team_t team))

/* Contexts and sessions. */
SMA_ROUTINE(int, ctx_create, (long options, shmem_ctx_t *ctx))
SMA_ROUTINE(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
SMA_ROUTINE(void, ctx_destroy, (shmem_ctx_t ctx))
SMA_ROUTINE(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
SMA_ROUTINE(void, ctx_session_start, (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
SMA_ROUTINE(void, ctx_session_stop, (shmem_ctx_t ctx))

/* Order, signals, locks. */
SMA_ROUTINE(void, fence, (void))
SMA_ROUTINE(void, ctx_fence, (shmem_ctx_t ctx))
SMA_ROUTINE(void, quiet, (void))
SMA_ROUTINE(void, ctx_quiet, (shmem_ctx_t ctx))
SMA_ROUTINE(void, pe_quiet, (const int *target_pes, size_t npes))
SMA_ROUTINE(void, ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
SMA_ROUTINE(void, signal_add, (uint64_t *sig_addr, uint64_t signal, int pe))
SMA_ROUTINE(void, ctx_signal_add, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))
SMA_ROUTINE(void, signal_set, (uint64_t *sig_addr, uint64_t signal, int pe))
SMA_ROUTINE(void, ctx_signal_set, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))
SMA_ROUTINE(uint64_t, signal_fetch, (const uint64_t *sig_addr))
SMA_ROUTINE(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))
SMA_ROUTINE(void, barrier_all, (void))
SMA_ROUTINE(void, sync_all, (void))
SMA_ROUTINE(void, clear_lock, (long *lock))
SMA_ROUTINE(void, set_lock, (long *lock))
SMA_ROUTINE(int, test_lock, (long *lock))

/* Deprecated. */
SMA_ROUTINE(void, barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, broadcast32, (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, broadcast64, (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, collect32, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, collect64, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, fcollect32, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, fcollect64, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, alltoall32, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, alltoall64, (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, alltoalls32, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, alltoalls64, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))
SMA_ROUTINE(void, wait_until, (long *ivar, int cmp, long cmp_value))
SMA_ROUTINE(void, wait, (long *ivar, long cmp_value))
SMA_ROUTINE(void, clear_cache_inv, (void))
SMA_ROUTINE(void, clear_cache_line_inv, (void *dest))
SMA_ROUTINE(void, set_cache_inv, (void))
SMA_ROUTINE(void, set_cache_line_inv, (void *dest))
SMA_ROUTINE(void, udcflush, (void))
SMA_ROUTINE(void, udcflush_line, (void *dest))
void start_pes(int npes);
int _my_pe(void);
int _num_pes(void);
void * shmalloc(size_t size);
void shfree(void *ptr);
void * shmemalign(size_t alignment, size_t size);
void * shrealloc(void *ptr, size_t size);

/* shmem_<TYPENAME>_put. */
SMA_ROUTINE(void, float_put, (float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_put, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, double_put, (double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_put, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_put, (long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_put, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, char_put, (char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_put, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, schar_put, (signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_put, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, short_put, (short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_put, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, int_put, (int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_put, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, long_put, (long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_put, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_put, (long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_put, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_put, (unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_put, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_put, (unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_put, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint_put, (unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_put, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_put, (unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_put, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_put, (unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_put, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, int8_put, (int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_put, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int16_put, (int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_put, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int32_put, (int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_put, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int64_put, (int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_put, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_put, (uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_put, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_put, (uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_put, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_put, (uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_put, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_put, (uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_put, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, size_put, (size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_put, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_put, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_put, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, put8, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put8, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put16, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put16, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put32, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put32, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put64, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put64, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put128, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put128, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, putmem, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_putmem, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))

/* shmem_<TYPENAME>_p. */
SMA_ROUTINE(void, float_p, (float *dest, float value, int pe))
SMA_ROUTINE(void, ctx_float_p, (shmem_ctx_t ctx, float *dest, float value, int pe))
SMA_ROUTINE(void, double_p, (double *dest, double value, int pe))
SMA_ROUTINE(void, ctx_double_p, (shmem_ctx_t ctx, double *dest, double value, int pe))
SMA_ROUTINE(void, longdouble_p, (long double *dest, long double value, int pe))
SMA_ROUTINE(void, ctx_longdouble_p, (shmem_ctx_t ctx, long double *dest, long double value, int pe))
SMA_ROUTINE(void, char_p, (char *dest, char value, int pe))
SMA_ROUTINE(void, ctx_char_p, (shmem_ctx_t ctx, char *dest, char value, int pe))
SMA_ROUTINE(void, schar_p, (signed char *dest, signed char value, int pe))
SMA_ROUTINE(void, ctx_schar_p, (shmem_ctx_t ctx, signed char *dest, signed char value, int pe))
SMA_ROUTINE(void, short_p, (short *dest, short value, int pe))
SMA_ROUTINE(void, ctx_short_p, (shmem_ctx_t ctx, short *dest, short value, int pe))
SMA_ROUTINE(void, int_p, (int *dest, int value, int pe))
SMA_ROUTINE(void, ctx_int_p, (shmem_ctx_t ctx, int *dest, int value, int pe))
SMA_ROUTINE(void, long_p, (long *dest, long value, int pe))
SMA_ROUTINE(void, ctx_long_p, (shmem_ctx_t ctx, long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_p, (long long *dest, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_p, (shmem_ctx_t ctx, long long *dest, long long value, int pe))
SMA_ROUTINE(void, uchar_p, (unsigned char *dest, unsigned char value, int pe))
SMA_ROUTINE(void, ctx_uchar_p, (shmem_ctx_t ctx, unsigned char *dest, unsigned char value, int pe))
SMA_ROUTINE(void, ushort_p, (unsigned short *dest, unsigned short value, int pe))
SMA_ROUTINE(void, ctx_ushort_p, (shmem_ctx_t ctx, unsigned short *dest, unsigned short value, int pe))
SMA_ROUTINE(void, uint_p, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_p, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_p, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_p, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_p, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_p, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int8_p, (int8_t *dest, int8_t value, int pe))
SMA_ROUTINE(void, ctx_int8_p, (shmem_ctx_t ctx, int8_t *dest, int8_t value, int pe))
SMA_ROUTINE(void, int16_p, (int16_t *dest, int16_t value, int pe))
SMA_ROUTINE(void, ctx_int16_p, (shmem_ctx_t ctx, int16_t *dest, int16_t value, int pe))
SMA_ROUTINE(void, int32_p, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_p, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_p, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_p, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint8_p, (uint8_t *dest, uint8_t value, int pe))
SMA_ROUTINE(void, ctx_uint8_p, (shmem_ctx_t ctx, uint8_t *dest, uint8_t value, int pe))
SMA_ROUTINE(void, uint16_p, (uint16_t *dest, uint16_t value, int pe))
SMA_ROUTINE(void, ctx_uint16_p, (shmem_ctx_t ctx, uint16_t *dest, uint16_t value, int pe))
SMA_ROUTINE(void, uint32_p, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_p, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_p, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_p, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, size_p, (size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_p, (shmem_ctx_t ctx, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_p, (ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_p, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_get. */
SMA_ROUTINE(void, float_get, (float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_get, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, double_get, (double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_get, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_get, (long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_get, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, char_get, (char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_get, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, schar_get, (signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_get, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, short_get, (short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_get, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, int_get, (int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_get, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, long_get, (long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_get, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_get, (long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_get, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_get, (unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_get, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_get, (unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_get, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint_get, (unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_get, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_get, (unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_get, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_get, (unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_get, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, int8_get, (int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_get, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int16_get, (int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_get, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int32_get, (int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_get, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int64_get, (int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_get, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_get, (uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_get, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_get, (uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_get, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_get, (uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_get, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_get, (uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_get, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, size_get, (size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_get, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_get, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_get, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, get8, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get8, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get16, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get16, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get32, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get32, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get64, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get64, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get128, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get128, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, getmem, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_getmem, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))

/* shmem_<TYPENAME>_g. */
SMA_ROUTINE(float, float_g, (const float *source, int pe))
SMA_ROUTINE(float, ctx_float_g, (shmem_ctx_t ctx, const float *source, int pe))
SMA_ROUTINE(double, double_g, (const double *source, int pe))
SMA_ROUTINE(double, ctx_double_g, (shmem_ctx_t ctx, const double *source, int pe))
SMA_ROUTINE(long double, longdouble_g, (const long double *source, int pe))
SMA_ROUTINE(long double, ctx_longdouble_g, (shmem_ctx_t ctx, const long double *source, int pe))
SMA_ROUTINE(char, char_g, (const char *source, int pe))
SMA_ROUTINE(char, ctx_char_g, (shmem_ctx_t ctx, const char *source, int pe))
SMA_ROUTINE(signed char, schar_g, (const signed char *source, int pe))
SMA_ROUTINE(signed char, ctx_schar_g, (shmem_ctx_t ctx, const signed char *source, int pe))
SMA_ROUTINE(short, short_g, (const short *source, int pe))
SMA_ROUTINE(short, ctx_short_g, (shmem_ctx_t ctx, const short *source, int pe))
SMA_ROUTINE(int, int_g, (const int *source, int pe))
SMA_ROUTINE(int, ctx_int_g, (shmem_ctx_t ctx, const int *source, int pe))
SMA_ROUTINE(long, long_g, (const long *source, int pe))
SMA_ROUTINE(long, ctx_long_g, (shmem_ctx_t ctx, const long *source, int pe))
SMA_ROUTINE(long long, longlong_g, (const long long *source, int pe))
SMA_ROUTINE(long long, ctx_longlong_g, (shmem_ctx_t ctx, const long long *source, int pe))
SMA_ROUTINE(unsigned char, uchar_g, (const unsigned char *source, int pe))
SMA_ROUTINE(unsigned char, ctx_uchar_g, (shmem_ctx_t ctx, const unsigned char *source, int pe))
SMA_ROUTINE(unsigned short, ushort_g, (const unsigned short *source, int pe))
SMA_ROUTINE(unsigned short, ctx_ushort_g, (shmem_ctx_t ctx, const unsigned short *source, int pe))
SMA_ROUTINE(unsigned int, uint_g, (const unsigned int *source, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_g, (shmem_ctx_t ctx, const unsigned int *source, int pe))
SMA_ROUTINE(unsigned long, ulong_g, (const unsigned long *source, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_g, (shmem_ctx_t ctx, const unsigned long *source, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_g, (const unsigned long long *source, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_g, (shmem_ctx_t ctx, const unsigned long long *source, int pe))
SMA_ROUTINE(int8_t, int8_g, (const int8_t *source, int pe))
SMA_ROUTINE(int8_t, ctx_int8_g, (shmem_ctx_t ctx, const int8_t *source, int pe))
SMA_ROUTINE(int16_t, int16_g, (const int16_t *source, int pe))
SMA_ROUTINE(int16_t, ctx_int16_g, (shmem_ctx_t ctx, const int16_t *source, int pe))
SMA_ROUTINE(int32_t, int32_g, (const int32_t *source, int pe))
SMA_ROUTINE(int32_t, ctx_int32_g, (shmem_ctx_t ctx, const int32_t *source, int pe))
SMA_ROUTINE(int64_t, int64_g, (const int64_t *source, int pe))
SMA_ROUTINE(int64_t, ctx_int64_g, (shmem_ctx_t ctx, const int64_t *source, int pe))
SMA_ROUTINE(uint8_t, uint8_g, (const uint8_t *source, int pe))
SMA_ROUTINE(uint8_t, ctx_uint8_g, (shmem_ctx_t ctx, const uint8_t *source, int pe))
SMA_ROUTINE(uint16_t, uint16_g, (const uint16_t *source, int pe))
SMA_ROUTINE(uint16_t, ctx_uint16_g, (shmem_ctx_t ctx, const uint16_t *source, int pe))
SMA_ROUTINE(uint32_t, uint32_g, (const uint32_t *source, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_g, (shmem_ctx_t ctx, const uint32_t *source, int pe))
SMA_ROUTINE(uint64_t, uint64_g, (const uint64_t *source, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_g, (shmem_ctx_t ctx, const uint64_t *source, int pe))
SMA_ROUTINE(size_t, size_g, (const size_t *source, int pe))
SMA_ROUTINE(size_t, ctx_size_g, (shmem_ctx_t ctx, const size_t *source, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_g, (const ptrdiff_t *source, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_g, (shmem_ctx_t ctx, const ptrdiff_t *source, int pe))

/* shmem_<TYPENAME>_put_nbi. */
SMA_ROUTINE(void, float_put_nbi, (float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_put_nbi, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, double_put_nbi, (double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_put_nbi, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_put_nbi, (long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_put_nbi, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, char_put_nbi, (char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_put_nbi, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, schar_put_nbi, (signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_put_nbi, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, short_put_nbi, (short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_put_nbi, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, int_put_nbi, (int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_put_nbi, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, long_put_nbi, (long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_put_nbi, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_put_nbi, (long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_put_nbi, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_put_nbi, (unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_put_nbi, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_put_nbi, (unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_put_nbi, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint_put_nbi, (unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_put_nbi, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_put_nbi, (unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_put_nbi, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_put_nbi, (unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_put_nbi, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, int8_put_nbi, (int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_put_nbi, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int16_put_nbi, (int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_put_nbi, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int32_put_nbi, (int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_put_nbi, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int64_put_nbi, (int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_put_nbi, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_put_nbi, (uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_put_nbi, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_put_nbi, (uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_put_nbi, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_put_nbi, (uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_put_nbi, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_put_nbi, (uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_put_nbi, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, size_put_nbi, (size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_put_nbi, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_put_nbi, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_put_nbi, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, put8_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put8_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put16_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put16_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put32_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put32_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put64_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put64_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, put128_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_put128_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, putmem_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_putmem_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))

/* shmem_<TYPENAME>_get_nbi. */
SMA_ROUTINE(void, float_get_nbi, (float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_get_nbi, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe))
SMA_ROUTINE(void, double_get_nbi, (double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_get_nbi, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_get_nbi, (long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_get_nbi, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe))
SMA_ROUTINE(void, char_get_nbi, (char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_get_nbi, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe))
SMA_ROUTINE(void, schar_get_nbi, (signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_get_nbi, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe))
SMA_ROUTINE(void, short_get_nbi, (short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_get_nbi, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe))
SMA_ROUTINE(void, int_get_nbi, (int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_get_nbi, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe))
SMA_ROUTINE(void, long_get_nbi, (long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_get_nbi, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_get_nbi, (long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_get_nbi, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_get_nbi, (unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_get_nbi, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_get_nbi, (unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_get_nbi, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint_get_nbi, (unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_get_nbi, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_get_nbi, (unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_get_nbi, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_get_nbi, (unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_get_nbi, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe))
SMA_ROUTINE(void, int8_get_nbi, (int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_get_nbi, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int16_get_nbi, (int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_get_nbi, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int32_get_nbi, (int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_get_nbi, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, int64_get_nbi, (int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_get_nbi, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_get_nbi, (uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_get_nbi, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_get_nbi, (uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_get_nbi, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_get_nbi, (uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_get_nbi, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_get_nbi, (uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_get_nbi, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, size_get_nbi, (size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_get_nbi, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_get_nbi, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_get_nbi, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int pe))
SMA_ROUTINE(void, get8_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get8_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get16_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get16_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get32_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get32_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get64_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get64_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, get128_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_get128_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, getmem_nbi, (void *dest, const void *source, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_getmem_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, int pe))

/* shmem_<TYPENAME>_iput. */
SMA_ROUTINE(void, float_iput, (float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_iput, (shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, double_iput, (double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_iput, (shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_iput, (long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_iput, (shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, char_iput, (char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_iput, (shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, schar_iput, (signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_iput, (shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, short_iput, (short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_iput, (shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int_iput, (int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_iput, (shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, long_iput, (long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_iput, (shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_iput, (long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_iput, (shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_iput, (unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_iput, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_iput, (unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_iput, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint_iput, (unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_iput, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_iput, (unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_iput, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_iput, (unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_iput, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int8_iput, (int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_iput, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int16_iput, (int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_iput, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int32_iput, (int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_iput, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int64_iput, (int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_iput, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_iput, (uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_iput, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_iput, (uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_iput, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_iput, (uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_iput, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_iput, (uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_iput, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, size_iput, (size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_iput, (shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_iput, (ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_iput, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iput8, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iput8, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iput16, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iput16, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iput32, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iput32, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iput64, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iput64, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iput128, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iput128, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))

/* shmem_<TYPENAME>_iget. */
SMA_ROUTINE(void, float_iget, (float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_float_iget, (shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, double_iget, (double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_double_iget, (shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, longdouble_iget, (long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longdouble_iget, (shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, char_iget, (char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_char_iget, (shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, schar_iget, (signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_schar_iget, (shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, short_iget, (short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_short_iget, (shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int_iget, (int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int_iget, (shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, long_iget, (long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_long_iget, (shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, longlong_iget, (long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_longlong_iget, (shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uchar_iget, (unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uchar_iget, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ushort_iget, (unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ushort_iget, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint_iget, (unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint_iget, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ulong_iget, (unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulong_iget, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ulonglong_iget, (unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ulonglong_iget, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int8_iget, (int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int8_iget, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int16_iget, (int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int16_iget, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int32_iget, (int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int32_iget, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, int64_iget, (int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_int64_iget, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint8_iget, (uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint8_iget, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint16_iget, (uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint16_iget, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint32_iget, (uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint32_iget, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, uint64_iget, (uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_uint64_iget, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, size_iget, (size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_size_iget, (shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ptrdiff_iget, (ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_iget, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iget8, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iget8, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iget16, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iget16, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iget32, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iget32, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iget64, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iget64, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, iget128, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
SMA_ROUTINE(void, ctx_iget128, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))

/* shmem_<TYPENAME>_ibput. */
SMA_ROUTINE(void, float_ibput, (float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_float_ibput, (shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, double_ibput, (double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_double_ibput, (shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, longdouble_ibput, (long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_longdouble_ibput, (shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, char_ibput, (char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_char_ibput, (shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, schar_ibput, (signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_schar_ibput, (shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, short_ibput, (short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_short_ibput, (shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int_ibput, (int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int_ibput, (shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, long_ibput, (long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_long_ibput, (shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, longlong_ibput, (long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_longlong_ibput, (shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uchar_ibput, (unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uchar_ibput, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ushort_ibput, (unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ushort_ibput, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint_ibput, (unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint_ibput, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ulong_ibput, (unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ulong_ibput, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ulonglong_ibput, (unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ulonglong_ibput, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int8_ibput, (int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int8_ibput, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int16_ibput, (int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int16_ibput, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int32_ibput, (int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int32_ibput, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int64_ibput, (int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int64_ibput, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint8_ibput, (uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint8_ibput, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint16_ibput, (uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint16_ibput, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint32_ibput, (uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint32_ibput, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint64_ibput, (uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint64_ibput, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, size_ibput, (size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_size_ibput, (shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ptrdiff_ibput, (ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_ibput, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibput8, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibput8, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibput16, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibput16, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibput32, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibput32, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibput64, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibput64, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibput128, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibput128, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))

/* shmem_<TYPENAME>_ibget. */
SMA_ROUTINE(void, float_ibget, (float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_float_ibget, (shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, double_ibget, (double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_double_ibget, (shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, longdouble_ibget, (long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_longdouble_ibget, (shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, char_ibget, (char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_char_ibget, (shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, schar_ibget, (signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_schar_ibget, (shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, short_ibget, (short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_short_ibget, (shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int_ibget, (int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int_ibget, (shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, long_ibget, (long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_long_ibget, (shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, longlong_ibget, (long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_longlong_ibget, (shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uchar_ibget, (unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uchar_ibget, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ushort_ibget, (unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ushort_ibget, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint_ibget, (unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint_ibget, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ulong_ibget, (unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ulong_ibget, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ulonglong_ibget, (unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ulonglong_ibget, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int8_ibget, (int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int8_ibget, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int16_ibget, (int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int16_ibget, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int32_ibget, (int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int32_ibget, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, int64_ibget, (int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_int64_ibget, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint8_ibget, (uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint8_ibget, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint16_ibget, (uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint16_ibget, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint32_ibget, (uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint32_ibget, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, uint64_ibget, (uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_uint64_ibget, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, size_ibget, (size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_size_ibget, (shmem_ctx_t ctx, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ptrdiff_ibget, (ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_ibget, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibget8, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibget8, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibget16, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibget16, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibget32, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibget32, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibget64, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibget64, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ibget128, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
SMA_ROUTINE(void, ctx_ibget128, (shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))

/* shmem_<TYPENAME>_put_signal. */
SMA_ROUTINE(void, float_put_signal, (float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_float_put_signal, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, double_put_signal, (double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_double_put_signal, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, longdouble_put_signal, (long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_longdouble_put_signal, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, char_put_signal, (char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_char_put_signal, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, schar_put_signal, (signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_schar_put_signal, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, short_put_signal, (short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_short_put_signal, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int_put_signal, (int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int_put_signal, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, long_put_signal, (long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_long_put_signal, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, longlong_put_signal, (long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_longlong_put_signal, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uchar_put_signal, (unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uchar_put_signal, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ushort_put_signal, (unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ushort_put_signal, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint_put_signal, (unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint_put_signal, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ulong_put_signal, (unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ulong_put_signal, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ulonglong_put_signal, (unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ulonglong_put_signal, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int8_put_signal, (int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int8_put_signal, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int16_put_signal, (int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int16_put_signal, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int32_put_signal, (int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int32_put_signal, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int64_put_signal, (int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int64_put_signal, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint8_put_signal, (uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint8_put_signal, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint16_put_signal, (uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint16_put_signal, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint32_put_signal, (uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint32_put_signal, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint64_put_signal, (uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint64_put_signal, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, size_put_signal, (size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_size_put_signal, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ptrdiff_put_signal, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_put_signal, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put8_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put8_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put16_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put16_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put32_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put32_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put64_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put64_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put128_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put128_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, putmem_signal, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_putmem_signal, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))

/* shmem_<TYPENAME>_put_signal_nbi. */
SMA_ROUTINE(void, float_put_signal_nbi, (float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_float_put_signal_nbi, (shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, double_put_signal_nbi, (double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_double_put_signal_nbi, (shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, longdouble_put_signal_nbi, (long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_longdouble_put_signal_nbi, (shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, char_put_signal_nbi, (char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_char_put_signal_nbi, (shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, schar_put_signal_nbi, (signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_schar_put_signal_nbi, (shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, short_put_signal_nbi, (short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_short_put_signal_nbi, (shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int_put_signal_nbi, (int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int_put_signal_nbi, (shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, long_put_signal_nbi, (long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_long_put_signal_nbi, (shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, longlong_put_signal_nbi, (long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_longlong_put_signal_nbi, (shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uchar_put_signal_nbi, (unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uchar_put_signal_nbi, (shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ushort_put_signal_nbi, (unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ushort_put_signal_nbi, (shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint_put_signal_nbi, (unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint_put_signal_nbi, (shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ulong_put_signal_nbi, (unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ulong_put_signal_nbi, (shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ulonglong_put_signal_nbi, (unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ulonglong_put_signal_nbi, (shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int8_put_signal_nbi, (int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int8_put_signal_nbi, (shmem_ctx_t ctx, int8_t *dest, const int8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int16_put_signal_nbi, (int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int16_put_signal_nbi, (shmem_ctx_t ctx, int16_t *dest, const int16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int32_put_signal_nbi, (int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int32_put_signal_nbi, (shmem_ctx_t ctx, int32_t *dest, const int32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, int64_put_signal_nbi, (int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_int64_put_signal_nbi, (shmem_ctx_t ctx, int64_t *dest, const int64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint8_put_signal_nbi, (uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint8_put_signal_nbi, (shmem_ctx_t ctx, uint8_t *dest, const uint8_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint16_put_signal_nbi, (uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint16_put_signal_nbi, (shmem_ctx_t ctx, uint16_t *dest, const uint16_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint32_put_signal_nbi, (uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint32_put_signal_nbi, (shmem_ctx_t ctx, uint32_t *dest, const uint32_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, uint64_put_signal_nbi, (uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_uint64_put_signal_nbi, (shmem_ctx_t ctx, uint64_t *dest, const uint64_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, size_put_signal_nbi, (size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_size_put_signal_nbi, (shmem_ctx_t ctx, size_t *dest, const size_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ptrdiff_put_signal_nbi, (ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_put_signal_nbi, (shmem_ctx_t ctx, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put8_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put8_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put16_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put16_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put32_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put32_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put64_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put64_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, put128_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_put128_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, putmem_signal_nbi, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
SMA_ROUTINE(void, ctx_putmem_signal_nbi, (shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))

/* shmem_<TYPENAME>_atomic_add. */
SMA_ROUTINE(void, int_atomic_add, (int *dest, int value, int pe))
SMA_ROUTINE(void, ctx_int_atomic_add, (shmem_ctx_t ctx, int *dest, int value, int pe))
SMA_ROUTINE(void, long_atomic_add, (long *dest, long value, int pe))
SMA_ROUTINE(void, ctx_long_atomic_add, (shmem_ctx_t ctx, long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_atomic_add, (long long *dest, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_add, (shmem_ctx_t ctx, long long *dest, long long value, int pe))
SMA_ROUTINE(void, uint_atomic_add, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_add, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_add, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_add, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_add, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_add, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_add, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_add, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_add, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_add, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_add, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_add, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_add, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_add, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, size_atomic_add, (size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_atomic_add, (shmem_ctx_t ctx, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_add, (ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_add, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_inc. */
SMA_ROUTINE(void, int_atomic_inc, (int *dest, int pe))
SMA_ROUTINE(void, ctx_int_atomic_inc, (shmem_ctx_t ctx, int *dest, int pe))
SMA_ROUTINE(void, long_atomic_inc, (long *dest, int pe))
SMA_ROUTINE(void, ctx_long_atomic_inc, (shmem_ctx_t ctx, long *dest, int pe))
SMA_ROUTINE(void, longlong_atomic_inc, (long long *dest, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_inc, (shmem_ctx_t ctx, long long *dest, int pe))
SMA_ROUTINE(void, uint_atomic_inc, (unsigned int *dest, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_inc, (shmem_ctx_t ctx, unsigned int *dest, int pe))
SMA_ROUTINE(void, ulong_atomic_inc, (unsigned long *dest, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_inc, (shmem_ctx_t ctx, unsigned long *dest, int pe))
SMA_ROUTINE(void, ulonglong_atomic_inc, (unsigned long long *dest, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_inc, (shmem_ctx_t ctx, unsigned long long *dest, int pe))
SMA_ROUTINE(void, int32_atomic_inc, (int32_t *dest, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_inc, (shmem_ctx_t ctx, int32_t *dest, int pe))
SMA_ROUTINE(void, int64_atomic_inc, (int64_t *dest, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_inc, (shmem_ctx_t ctx, int64_t *dest, int pe))
SMA_ROUTINE(void, uint32_atomic_inc, (uint32_t *dest, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_inc, (shmem_ctx_t ctx, uint32_t *dest, int pe))
SMA_ROUTINE(void, uint64_atomic_inc, (uint64_t *dest, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_inc, (shmem_ctx_t ctx, uint64_t *dest, int pe))
SMA_ROUTINE(void, size_atomic_inc, (size_t *dest, int pe))
SMA_ROUTINE(void, ctx_size_atomic_inc, (shmem_ctx_t ctx, size_t *dest, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_inc, (ptrdiff_t *dest, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_inc, (shmem_ctx_t ctx, ptrdiff_t *dest, int pe))

/* shmem_<TYPENAME>_atomic_fetch_add. */
SMA_ROUTINE(int, int_atomic_fetch_add, (int *dest, int value, int pe))
SMA_ROUTINE(int, ctx_int_atomic_fetch_add, (shmem_ctx_t ctx, int *dest, int value, int pe))
SMA_ROUTINE(long, long_atomic_fetch_add, (long *dest, long value, int pe))
SMA_ROUTINE(long, ctx_long_atomic_fetch_add, (shmem_ctx_t ctx, long *dest, long value, int pe))
SMA_ROUTINE(long long, longlong_atomic_fetch_add, (long long *dest, long long value, int pe))
SMA_ROUTINE(long long, ctx_longlong_atomic_fetch_add, (shmem_ctx_t ctx, long long *dest, long long value, int pe))
SMA_ROUTINE(unsigned int, uint_atomic_fetch_add, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch_add, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch_add, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch_add, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch_add, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch_add, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch_add, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch_add, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch_add, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch_add, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch_add, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch_add, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch_add, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch_add, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(size_t, size_atomic_fetch_add, (size_t *dest, size_t value, int pe))
SMA_ROUTINE(size_t, ctx_size_atomic_fetch_add, (shmem_ctx_t ctx, size_t *dest, size_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_atomic_fetch_add, (ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_atomic_fetch_add, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_inc. */
SMA_ROUTINE(int, int_atomic_fetch_inc, (int *dest, int pe))
SMA_ROUTINE(int, ctx_int_atomic_fetch_inc, (shmem_ctx_t ctx, int *dest, int pe))
SMA_ROUTINE(long, long_atomic_fetch_inc, (long *dest, int pe))
SMA_ROUTINE(long, ctx_long_atomic_fetch_inc, (shmem_ctx_t ctx, long *dest, int pe))
SMA_ROUTINE(long long, longlong_atomic_fetch_inc, (long long *dest, int pe))
SMA_ROUTINE(long long, ctx_longlong_atomic_fetch_inc, (shmem_ctx_t ctx, long long *dest, int pe))
SMA_ROUTINE(unsigned int, uint_atomic_fetch_inc, (unsigned int *dest, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch_inc, (shmem_ctx_t ctx, unsigned int *dest, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch_inc, (unsigned long *dest, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch_inc, (shmem_ctx_t ctx, unsigned long *dest, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch_inc, (unsigned long long *dest, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch_inc, (shmem_ctx_t ctx, unsigned long long *dest, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch_inc, (int32_t *dest, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch_inc, (shmem_ctx_t ctx, int32_t *dest, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch_inc, (int64_t *dest, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch_inc, (shmem_ctx_t ctx, int64_t *dest, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch_inc, (uint32_t *dest, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch_inc, (shmem_ctx_t ctx, uint32_t *dest, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch_inc, (uint64_t *dest, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch_inc, (shmem_ctx_t ctx, uint64_t *dest, int pe))
SMA_ROUTINE(size_t, size_atomic_fetch_inc, (size_t *dest, int pe))
SMA_ROUTINE(size_t, ctx_size_atomic_fetch_inc, (shmem_ctx_t ctx, size_t *dest, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_atomic_fetch_inc, (ptrdiff_t *dest, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_atomic_fetch_inc, (shmem_ctx_t ctx, ptrdiff_t *dest, int pe))

/* shmem_<TYPENAME>_atomic_compare_swap. */
SMA_ROUTINE(int, int_atomic_compare_swap, (int *dest, int cond, int value, int pe))
SMA_ROUTINE(int, ctx_int_atomic_compare_swap, (shmem_ctx_t ctx, int *dest, int cond, int value, int pe))
SMA_ROUTINE(long, long_atomic_compare_swap, (long *dest, long cond, long value, int pe))
SMA_ROUTINE(long, ctx_long_atomic_compare_swap, (shmem_ctx_t ctx, long *dest, long cond, long value, int pe))
SMA_ROUTINE(long long, longlong_atomic_compare_swap, (long long *dest, long long cond, long long value, int pe))
SMA_ROUTINE(long long, ctx_longlong_atomic_compare_swap, (shmem_ctx_t ctx, long long *dest, long long cond, long long value, int pe))
SMA_ROUTINE(unsigned int, uint_atomic_compare_swap, (unsigned int *dest, unsigned int cond, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_compare_swap, (shmem_ctx_t ctx, unsigned int *dest, unsigned int cond, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_compare_swap, (unsigned long *dest, unsigned long cond, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_compare_swap, (shmem_ctx_t ctx, unsigned long *dest, unsigned long cond, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_compare_swap, (unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_compare_swap, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_compare_swap, (int32_t *dest, int32_t cond, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_compare_swap, (shmem_ctx_t ctx, int32_t *dest, int32_t cond, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_compare_swap, (int64_t *dest, int64_t cond, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_compare_swap, (shmem_ctx_t ctx, int64_t *dest, int64_t cond, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_compare_swap, (uint32_t *dest, uint32_t cond, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_compare_swap, (shmem_ctx_t ctx, uint32_t *dest, uint32_t cond, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_compare_swap, (uint64_t *dest, uint64_t cond, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_compare_swap, (shmem_ctx_t ctx, uint64_t *dest, uint64_t cond, uint64_t value, int pe))
SMA_ROUTINE(size_t, size_atomic_compare_swap, (size_t *dest, size_t cond, size_t value, int pe))
SMA_ROUTINE(size_t, ctx_size_atomic_compare_swap, (shmem_ctx_t ctx, size_t *dest, size_t cond, size_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_atomic_compare_swap, (ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_atomic_compare_swap, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_add_nbi. */
SMA_ROUTINE(void, int_atomic_fetch_add_nbi, (int *fetch, int *dest, int value, int pe))
SMA_ROUTINE(void, ctx_int_atomic_fetch_add_nbi, (shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe))
SMA_ROUTINE(void, long_atomic_fetch_add_nbi, (long *fetch, long *dest, long value, int pe))
SMA_ROUTINE(void, ctx_long_atomic_fetch_add_nbi, (shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_atomic_fetch_add_nbi, (long long *fetch, long long *dest, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_fetch_add_nbi, (shmem_ctx_t ctx, long long *fetch, long long *dest, long long value, int pe))
SMA_ROUTINE(void, uint_atomic_fetch_add_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_add_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_add_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_add_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_add_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_add_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_add_nbi, (int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_add_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_add_nbi, (int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_add_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_add_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_add_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_add_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_add_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, size_atomic_fetch_add_nbi, (size_t *fetch, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_atomic_fetch_add_nbi, (shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_fetch_add_nbi, (ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_fetch_add_nbi, (shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_inc_nbi. */
SMA_ROUTINE(void, int_atomic_fetch_inc_nbi, (int *fetch, int *dest, int pe))
SMA_ROUTINE(void, ctx_int_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, int *fetch, int *dest, int pe))
SMA_ROUTINE(void, long_atomic_fetch_inc_nbi, (long *fetch, long *dest, int pe))
SMA_ROUTINE(void, ctx_long_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, long *fetch, long *dest, int pe))
SMA_ROUTINE(void, longlong_atomic_fetch_inc_nbi, (long long *fetch, long long *dest, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, long long *fetch, long long *dest, int pe))
SMA_ROUTINE(void, uint_atomic_fetch_inc_nbi, (unsigned int *fetch, unsigned int *dest, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_inc_nbi, (unsigned long *fetch, unsigned long *dest, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_inc_nbi, (unsigned long long *fetch, unsigned long long *dest, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_inc_nbi, (int32_t *fetch, int32_t *dest, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_inc_nbi, (int64_t *fetch, int64_t *dest, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_inc_nbi, (uint32_t *fetch, uint32_t *dest, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_inc_nbi, (uint64_t *fetch, uint64_t *dest, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, int pe))
SMA_ROUTINE(void, size_atomic_fetch_inc_nbi, (size_t *fetch, size_t *dest, int pe))
SMA_ROUTINE(void, ctx_size_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, size_t *fetch, size_t *dest, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_fetch_inc_nbi, (ptrdiff_t *fetch, ptrdiff_t *dest, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_fetch_inc_nbi, (shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, int pe))

/* shmem_<TYPENAME>_atomic_compare_swap_nbi. */
SMA_ROUTINE(void, int_atomic_compare_swap_nbi, (int *fetch, int *dest, int cond, int value, int pe))
SMA_ROUTINE(void, ctx_int_atomic_compare_swap_nbi, (shmem_ctx_t ctx, int *fetch, int *dest, int cond, int value, int pe))
SMA_ROUTINE(void, long_atomic_compare_swap_nbi, (long *fetch, long *dest, long cond, long value, int pe))
SMA_ROUTINE(void, ctx_long_atomic_compare_swap_nbi, (shmem_ctx_t ctx, long *fetch, long *dest, long cond, long value, int pe))
SMA_ROUTINE(void, longlong_atomic_compare_swap_nbi, (long long *fetch, long long *dest, long long cond, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_compare_swap_nbi, (shmem_ctx_t ctx, long long *fetch, long long *dest, long long cond, long long value, int pe))
SMA_ROUTINE(void, uint_atomic_compare_swap_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int cond, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_compare_swap_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int cond, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_compare_swap_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long cond, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_compare_swap_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long cond, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_compare_swap_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_compare_swap_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_compare_swap_nbi, (int32_t *fetch, int32_t *dest, int32_t cond, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_compare_swap_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t cond, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_compare_swap_nbi, (int64_t *fetch, int64_t *dest, int64_t cond, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_compare_swap_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t cond, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_compare_swap_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t cond, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_compare_swap_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t cond, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_compare_swap_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t cond, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_compare_swap_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t cond, uint64_t value, int pe))
SMA_ROUTINE(void, size_atomic_compare_swap_nbi, (size_t *fetch, size_t *dest, size_t cond, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_atomic_compare_swap_nbi, (shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t cond, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_compare_swap_nbi, (ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_compare_swap_nbi, (shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t cond, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch. */
SMA_ROUTINE(float, float_atomic_fetch, (const float *source, int pe))
SMA_ROUTINE(float, ctx_float_atomic_fetch, (shmem_ctx_t ctx, const float *source, int pe))
SMA_ROUTINE(double, double_atomic_fetch, (const double *source, int pe))
SMA_ROUTINE(double, ctx_double_atomic_fetch, (shmem_ctx_t ctx, const double *source, int pe))
SMA_ROUTINE(int, int_atomic_fetch, (const int *source, int pe))
SMA_ROUTINE(int, ctx_int_atomic_fetch, (shmem_ctx_t ctx, const int *source, int pe))
SMA_ROUTINE(long, long_atomic_fetch, (const long *source, int pe))
SMA_ROUTINE(long, ctx_long_atomic_fetch, (shmem_ctx_t ctx, const long *source, int pe))
SMA_ROUTINE(long long, longlong_atomic_fetch, (const long long *source, int pe))
SMA_ROUTINE(long long, ctx_longlong_atomic_fetch, (shmem_ctx_t ctx, const long long *source, int pe))
SMA_ROUTINE(unsigned int, uint_atomic_fetch, (const unsigned int *source, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch, (shmem_ctx_t ctx, const unsigned int *source, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch, (const unsigned long *source, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch, (shmem_ctx_t ctx, const unsigned long *source, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch, (const unsigned long long *source, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch, (shmem_ctx_t ctx, const unsigned long long *source, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch, (const int32_t *source, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch, (shmem_ctx_t ctx, const int32_t *source, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch, (const int64_t *source, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch, (shmem_ctx_t ctx, const int64_t *source, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch, (const uint32_t *source, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch, (shmem_ctx_t ctx, const uint32_t *source, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch, (const uint64_t *source, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch, (shmem_ctx_t ctx, const uint64_t *source, int pe))
SMA_ROUTINE(size_t, size_atomic_fetch, (const size_t *source, int pe))
SMA_ROUTINE(size_t, ctx_size_atomic_fetch, (shmem_ctx_t ctx, const size_t *source, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_atomic_fetch, (const ptrdiff_t *source, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_atomic_fetch, (shmem_ctx_t ctx, const ptrdiff_t *source, int pe))

/* shmem_<TYPENAME>_atomic_fetch_nbi. */
SMA_ROUTINE(void, float_atomic_fetch_nbi, (float *fetch, const float *source, int pe))
SMA_ROUTINE(void, ctx_float_atomic_fetch_nbi, (shmem_ctx_t ctx, float *fetch, const float *source, int pe))
SMA_ROUTINE(void, double_atomic_fetch_nbi, (double *fetch, const double *source, int pe))
SMA_ROUTINE(void, ctx_double_atomic_fetch_nbi, (shmem_ctx_t ctx, double *fetch, const double *source, int pe))
SMA_ROUTINE(void, int_atomic_fetch_nbi, (int *fetch, const int *source, int pe))
SMA_ROUTINE(void, ctx_int_atomic_fetch_nbi, (shmem_ctx_t ctx, int *fetch, const int *source, int pe))
SMA_ROUTINE(void, long_atomic_fetch_nbi, (long *fetch, const long *source, int pe))
SMA_ROUTINE(void, ctx_long_atomic_fetch_nbi, (shmem_ctx_t ctx, long *fetch, const long *source, int pe))
SMA_ROUTINE(void, longlong_atomic_fetch_nbi, (long long *fetch, const long long *source, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_fetch_nbi, (shmem_ctx_t ctx, long long *fetch, const long long *source, int pe))
SMA_ROUTINE(void, uint_atomic_fetch_nbi, (unsigned int *fetch, const unsigned int *source, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_nbi, (shmem_ctx_t ctx, unsigned int *fetch, const unsigned int *source, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_nbi, (unsigned long *fetch, const unsigned long *source, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_nbi, (shmem_ctx_t ctx, unsigned long *fetch, const unsigned long *source, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_nbi, (unsigned long long *fetch, const unsigned long long *source, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, const unsigned long long *source, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_nbi, (int32_t *fetch, const int32_t *source, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_nbi, (shmem_ctx_t ctx, int32_t *fetch, const int32_t *source, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_nbi, (int64_t *fetch, const int64_t *source, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_nbi, (shmem_ctx_t ctx, int64_t *fetch, const int64_t *source, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_nbi, (uint32_t *fetch, const uint32_t *source, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_nbi, (shmem_ctx_t ctx, uint32_t *fetch, const uint32_t *source, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_nbi, (uint64_t *fetch, const uint64_t *source, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_nbi, (shmem_ctx_t ctx, uint64_t *fetch, const uint64_t *source, int pe))
SMA_ROUTINE(void, size_atomic_fetch_nbi, (size_t *fetch, const size_t *source, int pe))
SMA_ROUTINE(void, ctx_size_atomic_fetch_nbi, (shmem_ctx_t ctx, size_t *fetch, const size_t *source, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_fetch_nbi, (ptrdiff_t *fetch, const ptrdiff_t *source, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_fetch_nbi, (shmem_ctx_t ctx, ptrdiff_t *fetch, const ptrdiff_t *source, int pe))

/* shmem_<TYPENAME>_atomic_set. */
SMA_ROUTINE(void, float_atomic_set, (float *dest, float value, int pe))
SMA_ROUTINE(void, ctx_float_atomic_set, (shmem_ctx_t ctx, float *dest, float value, int pe))
SMA_ROUTINE(void, double_atomic_set, (double *dest, double value, int pe))
SMA_ROUTINE(void, ctx_double_atomic_set, (shmem_ctx_t ctx, double *dest, double value, int pe))
SMA_ROUTINE(void, int_atomic_set, (int *dest, int value, int pe))
SMA_ROUTINE(void, ctx_int_atomic_set, (shmem_ctx_t ctx, int *dest, int value, int pe))
SMA_ROUTINE(void, long_atomic_set, (long *dest, long value, int pe))
SMA_ROUTINE(void, ctx_long_atomic_set, (shmem_ctx_t ctx, long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_atomic_set, (long long *dest, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_set, (shmem_ctx_t ctx, long long *dest, long long value, int pe))
SMA_ROUTINE(void, uint_atomic_set, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_set, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_set, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_set, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_set, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_set, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_set, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_set, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_set, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_set, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_set, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_set, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_set, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_set, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, size_atomic_set, (size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_atomic_set, (shmem_ctx_t ctx, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_set, (ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_set, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_swap. */
SMA_ROUTINE(float, float_atomic_swap, (float *dest, float value, int pe))
SMA_ROUTINE(float, ctx_float_atomic_swap, (shmem_ctx_t ctx, float *dest, float value, int pe))
SMA_ROUTINE(double, double_atomic_swap, (double *dest, double value, int pe))
SMA_ROUTINE(double, ctx_double_atomic_swap, (shmem_ctx_t ctx, double *dest, double value, int pe))
SMA_ROUTINE(int, int_atomic_swap, (int *dest, int value, int pe))
SMA_ROUTINE(int, ctx_int_atomic_swap, (shmem_ctx_t ctx, int *dest, int value, int pe))
SMA_ROUTINE(long, long_atomic_swap, (long *dest, long value, int pe))
SMA_ROUTINE(long, ctx_long_atomic_swap, (shmem_ctx_t ctx, long *dest, long value, int pe))
SMA_ROUTINE(long long, longlong_atomic_swap, (long long *dest, long long value, int pe))
SMA_ROUTINE(long long, ctx_longlong_atomic_swap, (shmem_ctx_t ctx, long long *dest, long long value, int pe))
SMA_ROUTINE(unsigned int, uint_atomic_swap, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_swap, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_swap, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_swap, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_swap, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_swap, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_swap, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_swap, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_swap, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_swap, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_swap, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_swap, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_swap, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_swap, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(size_t, size_atomic_swap, (size_t *dest, size_t value, int pe))
SMA_ROUTINE(size_t, ctx_size_atomic_swap, (shmem_ctx_t ctx, size_t *dest, size_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ptrdiff_atomic_swap, (ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(ptrdiff_t, ctx_ptrdiff_atomic_swap, (shmem_ctx_t ctx, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_swap_nbi. */
SMA_ROUTINE(void, float_atomic_swap_nbi, (float *fetch, float *dest, float value, int pe))
SMA_ROUTINE(void, ctx_float_atomic_swap_nbi, (shmem_ctx_t ctx, float *fetch, float *dest, float value, int pe))
SMA_ROUTINE(void, double_atomic_swap_nbi, (double *fetch, double *dest, double value, int pe))
SMA_ROUTINE(void, ctx_double_atomic_swap_nbi, (shmem_ctx_t ctx, double *fetch, double *dest, double value, int pe))
SMA_ROUTINE(void, int_atomic_swap_nbi, (int *fetch, int *dest, int value, int pe))
SMA_ROUTINE(void, ctx_int_atomic_swap_nbi, (shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe))
SMA_ROUTINE(void, long_atomic_swap_nbi, (long *fetch, long *dest, long value, int pe))
SMA_ROUTINE(void, ctx_long_atomic_swap_nbi, (shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_atomic_swap_nbi, (long long *fetch, long long *dest, long long value, int pe))
SMA_ROUTINE(void, ctx_longlong_atomic_swap_nbi, (shmem_ctx_t ctx, long long *fetch, long long *dest, long long value, int pe))
SMA_ROUTINE(void, uint_atomic_swap_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_swap_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_swap_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_swap_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_swap_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_swap_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_swap_nbi, (int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_swap_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_swap_nbi, (int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_swap_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_swap_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_swap_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_swap_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_swap_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, size_atomic_swap_nbi, (size_t *fetch, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ctx_size_atomic_swap_nbi, (shmem_ctx_t ctx, size_t *fetch, size_t *dest, size_t value, int pe))
SMA_ROUTINE(void, ptrdiff_atomic_swap_nbi, (ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe))
SMA_ROUTINE(void, ctx_ptrdiff_atomic_swap_nbi, (shmem_ctx_t ctx, ptrdiff_t *fetch, ptrdiff_t *dest, ptrdiff_t value, int pe))

/* shmem_<TYPENAME>_atomic_and. */
SMA_ROUTINE(void, uint_atomic_and, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_and, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_and, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_and, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_and, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_and, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_and, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_and, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_and, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_and, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_and, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_and, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_and, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_and, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_or. */
SMA_ROUTINE(void, uint_atomic_or, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_or, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_or, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_or, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_or, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_or, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_or, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_or, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_or, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_or, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_or, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_or, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_or, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_or, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_xor. */
SMA_ROUTINE(void, uint_atomic_xor, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_xor, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_xor, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_xor, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_xor, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_xor, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_xor, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_xor, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_xor, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_xor, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_xor, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_xor, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_xor, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_xor, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_and. */
SMA_ROUTINE(unsigned int, uint_atomic_fetch_and, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch_and, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch_and, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch_and, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch_and, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch_and, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch_and, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch_and, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch_and, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch_and, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch_and, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch_and, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch_and, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch_and, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_or. */
SMA_ROUTINE(unsigned int, uint_atomic_fetch_or, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch_or, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch_or, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch_or, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch_or, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch_or, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch_or, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch_or, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch_or, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch_or, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch_or, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch_or, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch_or, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch_or, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_xor. */
SMA_ROUTINE(unsigned int, uint_atomic_fetch_xor, (unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned int, ctx_uint_atomic_fetch_xor, (shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(unsigned long, ulong_atomic_fetch_xor, (unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long, ctx_ulong_atomic_fetch_xor, (shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(unsigned long long, ulonglong_atomic_fetch_xor, (unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(unsigned long long, ctx_ulonglong_atomic_fetch_xor, (shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(int32_t, int32_atomic_fetch_xor, (int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int32_t, ctx_int32_atomic_fetch_xor, (shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(int64_t, int64_atomic_fetch_xor, (int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(int64_t, ctx_int64_atomic_fetch_xor, (shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(uint32_t, uint32_atomic_fetch_xor, (uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint32_t, ctx_uint32_atomic_fetch_xor, (shmem_ctx_t ctx, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(uint64_t, uint64_atomic_fetch_xor, (uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(uint64_t, ctx_uint64_atomic_fetch_xor, (shmem_ctx_t ctx, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_and_nbi. */
SMA_ROUTINE(void, uint_atomic_fetch_and_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_and_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_and_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_and_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_and_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_and_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_and_nbi, (int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_and_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_and_nbi, (int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_and_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_and_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_and_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_and_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_and_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_or_nbi. */
SMA_ROUTINE(void, uint_atomic_fetch_or_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_or_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_or_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_or_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_or_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_or_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_or_nbi, (int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_or_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_or_nbi, (int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_or_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_or_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_or_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_or_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_or_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_atomic_fetch_xor_nbi. */
SMA_ROUTINE(void, uint_atomic_fetch_xor_nbi, (unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ctx_uint_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe))
SMA_ROUTINE(void, ulong_atomic_fetch_xor_nbi, (unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ctx_ulong_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe))
SMA_ROUTINE(void, ulonglong_atomic_fetch_xor_nbi, (unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, ctx_ulonglong_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe))
SMA_ROUTINE(void, int32_atomic_fetch_xor_nbi, (int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, ctx_int32_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe))
SMA_ROUTINE(void, int64_atomic_fetch_xor_nbi, (int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, ctx_int64_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe))
SMA_ROUTINE(void, uint32_atomic_fetch_xor_nbi, (uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, ctx_uint32_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, uint32_t *fetch, uint32_t *dest, uint32_t value, int pe))
SMA_ROUTINE(void, uint64_atomic_fetch_xor_nbi, (uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))
SMA_ROUTINE(void, ctx_uint64_atomic_fetch_xor_nbi, (shmem_ctx_t ctx, uint64_t *fetch, uint64_t *dest, uint64_t value, int pe))

/* shmem_<TYPENAME>_wait_until. */
SMA_ROUTINE(void, short_wait_until, (short *ivar, int cmp, short cmp_value))
SMA_ROUTINE(void, int_wait_until, (int *ivar, int cmp, int cmp_value))
SMA_ROUTINE(void, long_wait_until, (long *ivar, int cmp, long cmp_value))
SMA_ROUTINE(void, longlong_wait_until, (long long *ivar, int cmp, long long cmp_value))
SMA_ROUTINE(void, ushort_wait_until, (unsigned short *ivar, int cmp, unsigned short cmp_value))
SMA_ROUTINE(void, uint_wait_until, (unsigned int *ivar, int cmp, unsigned int cmp_value))
SMA_ROUTINE(void, ulong_wait_until, (unsigned long *ivar, int cmp, unsigned long cmp_value))
SMA_ROUTINE(void, ulonglong_wait_until, (unsigned long long *ivar, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(void, int32_wait_until, (int32_t *ivar, int cmp, int32_t cmp_value))
SMA_ROUTINE(void, int64_wait_until, (int64_t *ivar, int cmp, int64_t cmp_value))
SMA_ROUTINE(void, uint32_wait_until, (uint32_t *ivar, int cmp, uint32_t cmp_value))
SMA_ROUTINE(void, uint64_wait_until, (uint64_t *ivar, int cmp, uint64_t cmp_value))
SMA_ROUTINE(void, size_wait_until, (size_t *ivar, int cmp, size_t cmp_value))
SMA_ROUTINE(void, ptrdiff_wait_until, (ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_wait_until_all. */
SMA_ROUTINE(void, short_wait_until_all, (short *ivars, size_t nelems, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(void, int_wait_until_all, (int *ivars, size_t nelems, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(void, long_wait_until_all, (long *ivars, size_t nelems, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(void, longlong_wait_until_all, (long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(void, ushort_wait_until_all, (unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(void, uint_wait_until_all, (unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(void, ulong_wait_until_all, (unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(void, ulonglong_wait_until_all, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(void, int32_wait_until_all, (int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(void, int64_wait_until_all, (int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(void, uint32_wait_until_all, (uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(void, uint64_wait_until_all, (uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(void, size_wait_until_all, (size_t *ivars, size_t nelems, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(void, ptrdiff_wait_until_all, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_wait_until_any. */
SMA_ROUTINE(size_t, short_wait_until_any, (short *ivars, size_t nelems, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(size_t, int_wait_until_any, (int *ivars, size_t nelems, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(size_t, long_wait_until_any, (long *ivars, size_t nelems, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(size_t, longlong_wait_until_any, (long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(size_t, ushort_wait_until_any, (unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(size_t, uint_wait_until_any, (unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(size_t, ulong_wait_until_any, (unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(size_t, ulonglong_wait_until_any, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(size_t, int32_wait_until_any, (int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(size_t, int64_wait_until_any, (int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(size_t, uint32_wait_until_any, (uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(size_t, uint64_wait_until_any, (uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(size_t, size_wait_until_any, (size_t *ivars, size_t nelems, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(size_t, ptrdiff_wait_until_any, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_wait_until_some. */
SMA_ROUTINE(size_t, short_wait_until_some, (short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(size_t, int_wait_until_some, (int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(size_t, long_wait_until_some, (long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(size_t, longlong_wait_until_some, (long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(size_t, ushort_wait_until_some, (unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(size_t, uint_wait_until_some, (unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(size_t, ulong_wait_until_some, (unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(size_t, ulonglong_wait_until_some, (unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(size_t, int32_wait_until_some, (int32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(size_t, int64_wait_until_some, (int64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(size_t, uint32_wait_until_some, (uint32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(size_t, uint64_wait_until_some, (uint64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(size_t, size_wait_until_some, (size_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(size_t, ptrdiff_wait_until_some, (ptrdiff_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_wait_until_all_vector. */
SMA_ROUTINE(void, short_wait_until_all_vector, (short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(void, int_wait_until_all_vector, (int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(void, long_wait_until_all_vector, (long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(void, longlong_wait_until_all_vector, (long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(void, ushort_wait_until_all_vector, (unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(void, uint_wait_until_all_vector, (unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(void, ulong_wait_until_all_vector, (unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(void, ulonglong_wait_until_all_vector, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(void, int32_wait_until_all_vector, (int32_t *ivars, size_t nelems, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(void, int64_wait_until_all_vector, (int64_t *ivars, size_t nelems, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(void, uint32_wait_until_all_vector, (uint32_t *ivars, size_t nelems, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(void, uint64_wait_until_all_vector, (uint64_t *ivars, size_t nelems, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(void, size_wait_until_all_vector, (size_t *ivars, size_t nelems, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(void, ptrdiff_wait_until_all_vector, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_wait_until_any_vector. */
SMA_ROUTINE(size_t, short_wait_until_any_vector, (short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(size_t, int_wait_until_any_vector, (int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(size_t, long_wait_until_any_vector, (long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(size_t, longlong_wait_until_any_vector, (long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(size_t, ushort_wait_until_any_vector, (unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(size_t, uint_wait_until_any_vector, (unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(size_t, ulong_wait_until_any_vector, (unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(size_t, ulonglong_wait_until_any_vector, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(size_t, int32_wait_until_any_vector, (int32_t *ivars, size_t nelems, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(size_t, int64_wait_until_any_vector, (int64_t *ivars, size_t nelems, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(size_t, uint32_wait_until_any_vector, (uint32_t *ivars, size_t nelems, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(size_t, uint64_wait_until_any_vector, (uint64_t *ivars, size_t nelems, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(size_t, size_wait_until_any_vector, (size_t *ivars, size_t nelems, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(size_t, ptrdiff_wait_until_any_vector, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_wait_until_some_vector. */
SMA_ROUTINE(size_t, short_wait_until_some_vector, (short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(size_t, int_wait_until_some_vector, (int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(size_t, long_wait_until_some_vector, (long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(size_t, longlong_wait_until_some_vector, (long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(size_t, ushort_wait_until_some_vector, (unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(size_t, uint_wait_until_some_vector, (unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(size_t, ulong_wait_until_some_vector, (unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(size_t, ulonglong_wait_until_some_vector, (unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(size_t, int32_wait_until_some_vector, (int32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(size_t, int64_wait_until_some_vector, (int64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(size_t, uint32_wait_until_some_vector, (uint32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(size_t, uint64_wait_until_some_vector, (uint64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(size_t, size_wait_until_some_vector, (size_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(size_t, ptrdiff_wait_until_some_vector, (ptrdiff_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_test. */
SMA_ROUTINE(int, short_test, (short *ivar, int cmp, short cmp_value))
SMA_ROUTINE(int, int_test, (int *ivar, int cmp, int cmp_value))
SMA_ROUTINE(int, long_test, (long *ivar, int cmp, long cmp_value))
SMA_ROUTINE(int, longlong_test, (long long *ivar, int cmp, long long cmp_value))
SMA_ROUTINE(int, ushort_test, (unsigned short *ivar, int cmp, unsigned short cmp_value))
SMA_ROUTINE(int, uint_test, (unsigned int *ivar, int cmp, unsigned int cmp_value))
SMA_ROUTINE(int, ulong_test, (unsigned long *ivar, int cmp, unsigned long cmp_value))
SMA_ROUTINE(int, ulonglong_test, (unsigned long long *ivar, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(int, int32_test, (int32_t *ivar, int cmp, int32_t cmp_value))
SMA_ROUTINE(int, int64_test, (int64_t *ivar, int cmp, int64_t cmp_value))
SMA_ROUTINE(int, uint32_test, (uint32_t *ivar, int cmp, uint32_t cmp_value))
SMA_ROUTINE(int, uint64_test, (uint64_t *ivar, int cmp, uint64_t cmp_value))
SMA_ROUTINE(int, size_test, (size_t *ivar, int cmp, size_t cmp_value))
SMA_ROUTINE(int, ptrdiff_test, (ptrdiff_t *ivar, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_test_all. */
SMA_ROUTINE(int, short_test_all, (short *ivars, size_t nelems, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(int, int_test_all, (int *ivars, size_t nelems, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(int, long_test_all, (long *ivars, size_t nelems, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(int, longlong_test_all, (long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(int, ushort_test_all, (unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(int, uint_test_all, (unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(int, ulong_test_all, (unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(int, ulonglong_test_all, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(int, int32_test_all, (int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(int, int64_test_all, (int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(int, uint32_test_all, (uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(int, uint64_test_all, (uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(int, size_test_all, (size_t *ivars, size_t nelems, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(int, ptrdiff_test_all, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_test_any. */
SMA_ROUTINE(size_t, short_test_any, (short *ivars, size_t nelems, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(size_t, int_test_any, (int *ivars, size_t nelems, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(size_t, long_test_any, (long *ivars, size_t nelems, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(size_t, longlong_test_any, (long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(size_t, ushort_test_any, (unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(size_t, uint_test_any, (unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(size_t, ulong_test_any, (unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(size_t, ulonglong_test_any, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(size_t, int32_test_any, (int32_t *ivars, size_t nelems, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(size_t, int64_test_any, (int64_t *ivars, size_t nelems, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(size_t, uint32_test_any, (uint32_t *ivars, size_t nelems, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(size_t, uint64_test_any, (uint64_t *ivars, size_t nelems, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(size_t, size_test_any, (size_t *ivars, size_t nelems, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(size_t, ptrdiff_test_any, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_test_some. */
SMA_ROUTINE(size_t, short_test_some, (short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, short cmp_value))
SMA_ROUTINE(size_t, int_test_some, (int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int cmp_value))
SMA_ROUTINE(size_t, long_test_some, (long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long cmp_value))
SMA_ROUTINE(size_t, longlong_test_some, (long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long long cmp_value))
SMA_ROUTINE(size_t, ushort_test_some, (unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned short cmp_value))
SMA_ROUTINE(size_t, uint_test_some, (unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned int cmp_value))
SMA_ROUTINE(size_t, ulong_test_some, (unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long cmp_value))
SMA_ROUTINE(size_t, ulonglong_test_some, (unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long long cmp_value))
SMA_ROUTINE(size_t, int32_test_some, (int32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int32_t cmp_value))
SMA_ROUTINE(size_t, int64_test_some, (int64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int64_t cmp_value))
SMA_ROUTINE(size_t, uint32_test_some, (uint32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, uint32_t cmp_value))
SMA_ROUTINE(size_t, uint64_test_some, (uint64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, uint64_t cmp_value))
SMA_ROUTINE(size_t, size_test_some, (size_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, size_t cmp_value))
SMA_ROUTINE(size_t, ptrdiff_test_some, (ptrdiff_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, ptrdiff_t cmp_value))

/* shmem_<TYPENAME>_test_all_vector. */
SMA_ROUTINE(int, short_test_all_vector, (short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(int, int_test_all_vector, (int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(int, long_test_all_vector, (long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(int, longlong_test_all_vector, (long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(int, ushort_test_all_vector, (unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(int, uint_test_all_vector, (unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(int, ulong_test_all_vector, (unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(int, ulonglong_test_all_vector, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(int, int32_test_all_vector, (int32_t *ivars, size_t nelems, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(int, int64_test_all_vector, (int64_t *ivars, size_t nelems, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(int, uint32_test_all_vector, (uint32_t *ivars, size_t nelems, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(int, uint64_test_all_vector, (uint64_t *ivars, size_t nelems, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(int, size_test_all_vector, (size_t *ivars, size_t nelems, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(int, ptrdiff_test_all_vector, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_test_any_vector. */
SMA_ROUTINE(size_t, short_test_any_vector, (short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(size_t, int_test_any_vector, (int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(size_t, long_test_any_vector, (long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(size_t, longlong_test_any_vector, (long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(size_t, ushort_test_any_vector, (unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(size_t, uint_test_any_vector, (unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(size_t, ulong_test_any_vector, (unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(size_t, ulonglong_test_any_vector, (unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(size_t, int32_test_any_vector, (int32_t *ivars, size_t nelems, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(size_t, int64_test_any_vector, (int64_t *ivars, size_t nelems, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(size_t, uint32_test_any_vector, (uint32_t *ivars, size_t nelems, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(size_t, uint64_test_any_vector, (uint64_t *ivars, size_t nelems, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(size_t, size_test_any_vector, (size_t *ivars, size_t nelems, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(size_t, ptrdiff_test_any_vector, (ptrdiff_t *ivars, size_t nelems, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_test_some_vector. */
SMA_ROUTINE(size_t, short_test_some_vector, (short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const short *cmp_values))
SMA_ROUTINE(size_t, int_test_some_vector, (int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int *cmp_values))
SMA_ROUTINE(size_t, long_test_some_vector, (long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long *cmp_values))
SMA_ROUTINE(size_t, longlong_test_some_vector, (long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long long *cmp_values))
SMA_ROUTINE(size_t, ushort_test_some_vector, (unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned short *cmp_values))
SMA_ROUTINE(size_t, uint_test_some_vector, (unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned int *cmp_values))
SMA_ROUTINE(size_t, ulong_test_some_vector, (unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long *cmp_values))
SMA_ROUTINE(size_t, ulonglong_test_some_vector, (unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long long *cmp_values))
SMA_ROUTINE(size_t, int32_test_some_vector, (int32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int32_t *cmp_values))
SMA_ROUTINE(size_t, int64_test_some_vector, (int64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int64_t *cmp_values))
SMA_ROUTINE(size_t, uint32_test_some_vector, (uint32_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const uint32_t *cmp_values))
SMA_ROUTINE(size_t, uint64_test_some_vector, (uint64_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const uint64_t *cmp_values))
SMA_ROUTINE(size_t, size_test_some_vector, (size_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const size_t *cmp_values))
SMA_ROUTINE(size_t, ptrdiff_test_some_vector, (ptrdiff_t *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const ptrdiff_t *cmp_values))

/* shmem_<TYPENAME>_broadcast. */
SMA_ROUTINE(int, float_broadcast, (shmem_team_t team, float *dest, const float *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, double_broadcast, (shmem_team_t team, double *dest, const double *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, longdouble_broadcast, (shmem_team_t team, long double *dest, const long double *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, char_broadcast, (shmem_team_t team, char *dest, const char *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, schar_broadcast, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, short_broadcast, (shmem_team_t team, short *dest, const short *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, int_broadcast, (shmem_team_t team, int *dest, const int *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, long_broadcast, (shmem_team_t team, long *dest, const long *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, longlong_broadcast, (shmem_team_t team, long long *dest, const long long *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uchar_broadcast, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, ushort_broadcast, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uint_broadcast, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, ulong_broadcast, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, ulonglong_broadcast, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, int8_broadcast, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, int16_broadcast, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, int32_broadcast, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, int64_broadcast, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uint8_broadcast, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uint16_broadcast, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uint32_broadcast, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, uint64_broadcast, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, size_broadcast, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, ptrdiff_broadcast, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems, int PE_root))
SMA_ROUTINE(int, broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))

/* shmem_<TYPENAME>_collect. */
SMA_ROUTINE(int, float_collect, (shmem_team_t team, float *dest, const float *source, size_t nelems))
SMA_ROUTINE(int, double_collect, (shmem_team_t team, double *dest, const double *source, size_t nelems))
SMA_ROUTINE(int, longdouble_collect, (shmem_team_t team, long double *dest, const long double *source, size_t nelems))
SMA_ROUTINE(int, char_collect, (shmem_team_t team, char *dest, const char *source, size_t nelems))
SMA_ROUTINE(int, schar_collect, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems))
SMA_ROUTINE(int, short_collect, (shmem_team_t team, short *dest, const short *source, size_t nelems))
SMA_ROUTINE(int, int_collect, (shmem_team_t team, int *dest, const int *source, size_t nelems))
SMA_ROUTINE(int, long_collect, (shmem_team_t team, long *dest, const long *source, size_t nelems))
SMA_ROUTINE(int, longlong_collect, (shmem_team_t team, long long *dest, const long long *source, size_t nelems))
SMA_ROUTINE(int, uchar_collect, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems))
SMA_ROUTINE(int, ushort_collect, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems))
SMA_ROUTINE(int, uint_collect, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems))
SMA_ROUTINE(int, ulong_collect, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems))
SMA_ROUTINE(int, ulonglong_collect, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems))
SMA_ROUTINE(int, int8_collect, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems))
SMA_ROUTINE(int, int16_collect, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems))
SMA_ROUTINE(int, int32_collect, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems))
SMA_ROUTINE(int, int64_collect, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems))
SMA_ROUTINE(int, uint8_collect, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems))
SMA_ROUTINE(int, uint16_collect, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems))
SMA_ROUTINE(int, uint32_collect, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems))
SMA_ROUTINE(int, uint64_collect, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems))
SMA_ROUTINE(int, size_collect, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems))
SMA_ROUTINE(int, ptrdiff_collect, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems))
SMA_ROUTINE(int, collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))

/* shmem_<TYPENAME>_fcollect. */
SMA_ROUTINE(int, float_fcollect, (shmem_team_t team, float *dest, const float *source, size_t nelems))
SMA_ROUTINE(int, double_fcollect, (shmem_team_t team, double *dest, const double *source, size_t nelems))
SMA_ROUTINE(int, longdouble_fcollect, (shmem_team_t team, long double *dest, const long double *source, size_t nelems))
SMA_ROUTINE(int, char_fcollect, (shmem_team_t team, char *dest, const char *source, size_t nelems))
SMA_ROUTINE(int, schar_fcollect, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems))
SMA_ROUTINE(int, short_fcollect, (shmem_team_t team, short *dest, const short *source, size_t nelems))
SMA_ROUTINE(int, int_fcollect, (shmem_team_t team, int *dest, const int *source, size_t nelems))
SMA_ROUTINE(int, long_fcollect, (shmem_team_t team, long *dest, const long *source, size_t nelems))
SMA_ROUTINE(int, longlong_fcollect, (shmem_team_t team, long long *dest, const long long *source, size_t nelems))
SMA_ROUTINE(int, uchar_fcollect, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems))
SMA_ROUTINE(int, ushort_fcollect, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems))
SMA_ROUTINE(int, uint_fcollect, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems))
SMA_ROUTINE(int, ulong_fcollect, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems))
SMA_ROUTINE(int, ulonglong_fcollect, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems))
SMA_ROUTINE(int, int8_fcollect, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems))
SMA_ROUTINE(int, int16_fcollect, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems))
SMA_ROUTINE(int, int32_fcollect, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems))
SMA_ROUTINE(int, int64_fcollect, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems))
SMA_ROUTINE(int, uint8_fcollect, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems))
SMA_ROUTINE(int, uint16_fcollect, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems))
SMA_ROUTINE(int, uint32_fcollect, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems))
SMA_ROUTINE(int, uint64_fcollect, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems))
SMA_ROUTINE(int, size_fcollect, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems))
SMA_ROUTINE(int, ptrdiff_fcollect, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems))
SMA_ROUTINE(int, fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))

/* shmem_<TYPENAME>_alltoall. */
SMA_ROUTINE(int, float_alltoall, (shmem_team_t team, float *dest, const float *source, size_t nelems))
SMA_ROUTINE(int, double_alltoall, (shmem_team_t team, double *dest, const double *source, size_t nelems))
SMA_ROUTINE(int, longdouble_alltoall, (shmem_team_t team, long double *dest, const long double *source, size_t nelems))
SMA_ROUTINE(int, char_alltoall, (shmem_team_t team, char *dest, const char *source, size_t nelems))
SMA_ROUTINE(int, schar_alltoall, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems))
SMA_ROUTINE(int, short_alltoall, (shmem_team_t team, short *dest, const short *source, size_t nelems))
SMA_ROUTINE(int, int_alltoall, (shmem_team_t team, int *dest, const int *source, size_t nelems))
SMA_ROUTINE(int, long_alltoall, (shmem_team_t team, long *dest, const long *source, size_t nelems))
SMA_ROUTINE(int, longlong_alltoall, (shmem_team_t team, long long *dest, const long long *source, size_t nelems))
SMA_ROUTINE(int, uchar_alltoall, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems))
SMA_ROUTINE(int, ushort_alltoall, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems))
SMA_ROUTINE(int, uint_alltoall, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems))
SMA_ROUTINE(int, ulong_alltoall, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems))
SMA_ROUTINE(int, ulonglong_alltoall, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems))
SMA_ROUTINE(int, int8_alltoall, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems))
SMA_ROUTINE(int, int16_alltoall, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems))
SMA_ROUTINE(int, int32_alltoall, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems))
SMA_ROUTINE(int, int64_alltoall, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems))
SMA_ROUTINE(int, uint8_alltoall, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems))
SMA_ROUTINE(int, uint16_alltoall, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems))
SMA_ROUTINE(int, uint32_alltoall, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems))
SMA_ROUTINE(int, uint64_alltoall, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems))
SMA_ROUTINE(int, size_alltoall, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems))
SMA_ROUTINE(int, ptrdiff_alltoall, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems))
SMA_ROUTINE(int, alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))

/* shmem_<TYPENAME>_alltoalls. */
SMA_ROUTINE(int, float_alltoalls, (shmem_team_t team, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, double_alltoalls, (shmem_team_t team, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, longdouble_alltoalls, (shmem_team_t team, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, char_alltoalls, (shmem_team_t team, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, schar_alltoalls, (shmem_team_t team, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, short_alltoalls, (shmem_team_t team, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, int_alltoalls, (shmem_team_t team, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, long_alltoalls, (shmem_team_t team, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, longlong_alltoalls, (shmem_team_t team, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uchar_alltoalls, (shmem_team_t team, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, ushort_alltoalls, (shmem_team_t team, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uint_alltoalls, (shmem_team_t team, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, ulong_alltoalls, (shmem_team_t team, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, ulonglong_alltoalls, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, int8_alltoalls, (shmem_team_t team, int8_t *dest, const int8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, int16_alltoalls, (shmem_team_t team, int16_t *dest, const int16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, int32_alltoalls, (shmem_team_t team, int32_t *dest, const int32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, int64_alltoalls, (shmem_team_t team, int64_t *dest, const int64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uint8_alltoalls, (shmem_team_t team, uint8_t *dest, const uint8_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uint16_alltoalls, (shmem_team_t team, uint16_t *dest, const uint16_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uint32_alltoalls, (shmem_team_t team, uint32_t *dest, const uint32_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, uint64_alltoalls, (shmem_team_t team, uint64_t *dest, const uint64_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, size_alltoalls, (shmem_team_t team, size_t *dest, const size_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, ptrdiff_alltoalls, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
SMA_ROUTINE(int, alltoallsmem, (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))

/* shmem_<TYPENAME>_and_reduce. */
SMA_ROUTINE(int, uchar_and_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_and_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_and_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_and_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_and_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_and_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_and_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_and_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_and_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_and_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_and_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_and_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_and_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_and_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))

/* shmem_<TYPENAME>_or_reduce. */
SMA_ROUTINE(int, uchar_or_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_or_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_or_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_or_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_or_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_or_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_or_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_or_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_or_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_or_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_or_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_or_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_or_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_or_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))

/* shmem_<TYPENAME>_xor_reduce. */
SMA_ROUTINE(int, uchar_xor_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_xor_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_xor_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_xor_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_xor_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_xor_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_xor_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_xor_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_xor_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_xor_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_xor_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_xor_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_xor_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_xor_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))

/* shmem_<TYPENAME>_max_reduce. */
SMA_ROUTINE(int, char_max_reduce, (shmem_team_t team, char *dest, const char *source, size_t nreduce))
SMA_ROUTINE(int, schar_max_reduce, (shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce))
SMA_ROUTINE(int, short_max_reduce, (shmem_team_t team, short *dest, const short *source, size_t nreduce))
SMA_ROUTINE(int, int_max_reduce, (shmem_team_t team, int *dest, const int *source, size_t nreduce))
SMA_ROUTINE(int, long_max_reduce, (shmem_team_t team, long *dest, const long *source, size_t nreduce))
SMA_ROUTINE(int, longlong_max_reduce, (shmem_team_t team, long long *dest, const long long *source, size_t nreduce))
SMA_ROUTINE(int, ptrdiff_max_reduce, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce))
SMA_ROUTINE(int, uchar_max_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_max_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_max_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_max_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_max_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_max_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_max_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_max_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_max_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_max_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_max_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_max_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_max_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_max_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))
SMA_ROUTINE(int, float_max_reduce, (shmem_team_t team, float *dest, const float *source, size_t nreduce))
SMA_ROUTINE(int, double_max_reduce, (shmem_team_t team, double *dest, const double *source, size_t nreduce))
SMA_ROUTINE(int, longdouble_max_reduce, (shmem_team_t team, long double *dest, const long double *source, size_t nreduce))

/* shmem_<TYPENAME>_min_reduce. */
SMA_ROUTINE(int, char_min_reduce, (shmem_team_t team, char *dest, const char *source, size_t nreduce))
SMA_ROUTINE(int, schar_min_reduce, (shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce))
SMA_ROUTINE(int, short_min_reduce, (shmem_team_t team, short *dest, const short *source, size_t nreduce))
SMA_ROUTINE(int, int_min_reduce, (shmem_team_t team, int *dest, const int *source, size_t nreduce))
SMA_ROUTINE(int, long_min_reduce, (shmem_team_t team, long *dest, const long *source, size_t nreduce))
SMA_ROUTINE(int, longlong_min_reduce, (shmem_team_t team, long long *dest, const long long *source, size_t nreduce))
SMA_ROUTINE(int, ptrdiff_min_reduce, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce))
SMA_ROUTINE(int, uchar_min_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_min_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_min_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_min_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_min_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_min_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_min_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_min_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_min_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_min_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_min_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_min_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_min_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_min_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))
SMA_ROUTINE(int, float_min_reduce, (shmem_team_t team, float *dest, const float *source, size_t nreduce))
SMA_ROUTINE(int, double_min_reduce, (shmem_team_t team, double *dest, const double *source, size_t nreduce))
SMA_ROUTINE(int, longdouble_min_reduce, (shmem_team_t team, long double *dest, const long double *source, size_t nreduce))

/* shmem_<TYPENAME>_sum_reduce. */
SMA_ROUTINE(int, char_sum_reduce, (shmem_team_t team, char *dest, const char *source, size_t nreduce))
SMA_ROUTINE(int, schar_sum_reduce, (shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce))
SMA_ROUTINE(int, short_sum_reduce, (shmem_team_t team, short *dest, const short *source, size_t nreduce))
SMA_ROUTINE(int, int_sum_reduce, (shmem_team_t team, int *dest, const int *source, size_t nreduce))
SMA_ROUTINE(int, long_sum_reduce, (shmem_team_t team, long *dest, const long *source, size_t nreduce))
SMA_ROUTINE(int, longlong_sum_reduce, (shmem_team_t team, long long *dest, const long long *source, size_t nreduce))
SMA_ROUTINE(int, ptrdiff_sum_reduce, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce))
SMA_ROUTINE(int, uchar_sum_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_sum_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_sum_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_sum_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_sum_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_sum_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_sum_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_sum_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_sum_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_sum_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_sum_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_sum_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_sum_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_sum_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))
SMA_ROUTINE(int, float_sum_reduce, (shmem_team_t team, float *dest, const float *source, size_t nreduce))
SMA_ROUTINE(int, double_sum_reduce, (shmem_team_t team, double *dest, const double *source, size_t nreduce))
SMA_ROUTINE(int, longdouble_sum_reduce, (shmem_team_t team, long double *dest, const long double *source, size_t nreduce))
SMA_ROUTINE(int, complexd_sum_reduce, (shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nreduce))
SMA_ROUTINE(int, complexf_sum_reduce, (shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nreduce))

/* shmem_<TYPENAME>_prod_reduce. */
SMA_ROUTINE(int, char_prod_reduce, (shmem_team_t team, char *dest, const char *source, size_t nreduce))
SMA_ROUTINE(int, schar_prod_reduce, (shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce))
SMA_ROUTINE(int, short_prod_reduce, (shmem_team_t team, short *dest, const short *source, size_t nreduce))
SMA_ROUTINE(int, int_prod_reduce, (shmem_team_t team, int *dest, const int *source, size_t nreduce))
SMA_ROUTINE(int, long_prod_reduce, (shmem_team_t team, long *dest, const long *source, size_t nreduce))
SMA_ROUTINE(int, longlong_prod_reduce, (shmem_team_t team, long long *dest, const long long *source, size_t nreduce))
SMA_ROUTINE(int, ptrdiff_prod_reduce, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nreduce))
SMA_ROUTINE(int, uchar_prod_reduce, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce))
SMA_ROUTINE(int, ushort_prod_reduce, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce))
SMA_ROUTINE(int, uint_prod_reduce, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce))
SMA_ROUTINE(int, ulong_prod_reduce, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce))
SMA_ROUTINE(int, ulonglong_prod_reduce, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce))
SMA_ROUTINE(int, int8_prod_reduce, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce))
SMA_ROUTINE(int, int16_prod_reduce, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce))
SMA_ROUTINE(int, int32_prod_reduce, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce))
SMA_ROUTINE(int, int64_prod_reduce, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce))
SMA_ROUTINE(int, uint8_prod_reduce, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nreduce))
SMA_ROUTINE(int, uint16_prod_reduce, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nreduce))
SMA_ROUTINE(int, uint32_prod_reduce, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nreduce))
SMA_ROUTINE(int, uint64_prod_reduce, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nreduce))
SMA_ROUTINE(int, size_prod_reduce, (shmem_team_t team, size_t *dest, const size_t *source, size_t nreduce))
SMA_ROUTINE(int, float_prod_reduce, (shmem_team_t team, float *dest, const float *source, size_t nreduce))
SMA_ROUTINE(int, double_prod_reduce, (shmem_team_t team, double *dest, const double *source, size_t nreduce))
SMA_ROUTINE(int, longdouble_prod_reduce, (shmem_team_t team, long double *dest, const long double *source, size_t nreduce))
SMA_ROUTINE(int, complexd_prod_reduce, (shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nreduce))
SMA_ROUTINE(int, complexf_prod_reduce, (shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nreduce))

/* shmem_<TYPENAME>_sum_inscan. */
SMA_ROUTINE(int, char_sum_inscan, (shmem_team_t team, char *dest, const char *source, size_t nelems))
SMA_ROUTINE(int, schar_sum_inscan, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems))
SMA_ROUTINE(int, short_sum_inscan, (shmem_team_t team, short *dest, const short *source, size_t nelems))
SMA_ROUTINE(int, int_sum_inscan, (shmem_team_t team, int *dest, const int *source, size_t nelems))
SMA_ROUTINE(int, long_sum_inscan, (shmem_team_t team, long *dest, const long *source, size_t nelems))
SMA_ROUTINE(int, longlong_sum_inscan, (shmem_team_t team, long long *dest, const long long *source, size_t nelems))
SMA_ROUTINE(int, ptrdiff_sum_inscan, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems))
SMA_ROUTINE(int, uchar_sum_inscan, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems))
SMA_ROUTINE(int, ushort_sum_inscan, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems))
SMA_ROUTINE(int, uint_sum_inscan, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems))
SMA_ROUTINE(int, ulong_sum_inscan, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems))
SMA_ROUTINE(int, ulonglong_sum_inscan, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems))
SMA_ROUTINE(int, int8_sum_inscan, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems))
SMA_ROUTINE(int, int16_sum_inscan, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems))
SMA_ROUTINE(int, int32_sum_inscan, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems))
SMA_ROUTINE(int, int64_sum_inscan, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems))
SMA_ROUTINE(int, uint8_sum_inscan, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems))
SMA_ROUTINE(int, uint16_sum_inscan, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems))
SMA_ROUTINE(int, uint32_sum_inscan, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems))
SMA_ROUTINE(int, uint64_sum_inscan, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems))
SMA_ROUTINE(int, size_sum_inscan, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems))
SMA_ROUTINE(int, float_sum_inscan, (shmem_team_t team, float *dest, const float *source, size_t nelems))
SMA_ROUTINE(int, double_sum_inscan, (shmem_team_t team, double *dest, const double *source, size_t nelems))
SMA_ROUTINE(int, longdouble_sum_inscan, (shmem_team_t team, long double *dest, const long double *source, size_t nelems))
SMA_ROUTINE(int, complexd_sum_inscan, (shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nelems))
SMA_ROUTINE(int, complexf_sum_inscan, (shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nelems))

/* shmem_<TYPENAME>_sum_exscan. */
SMA_ROUTINE(int, char_sum_exscan, (shmem_team_t team, char *dest, const char *source, size_t nelems))
SMA_ROUTINE(int, schar_sum_exscan, (shmem_team_t team, signed char *dest, const signed char *source, size_t nelems))
SMA_ROUTINE(int, short_sum_exscan, (shmem_team_t team, short *dest, const short *source, size_t nelems))
SMA_ROUTINE(int, int_sum_exscan, (shmem_team_t team, int *dest, const int *source, size_t nelems))
SMA_ROUTINE(int, long_sum_exscan, (shmem_team_t team, long *dest, const long *source, size_t nelems))
SMA_ROUTINE(int, longlong_sum_exscan, (shmem_team_t team, long long *dest, const long long *source, size_t nelems))
SMA_ROUTINE(int, ptrdiff_sum_exscan, (shmem_team_t team, ptrdiff_t *dest, const ptrdiff_t *source, size_t nelems))
SMA_ROUTINE(int, uchar_sum_exscan, (shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems))
SMA_ROUTINE(int, ushort_sum_exscan, (shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems))
SMA_ROUTINE(int, uint_sum_exscan, (shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems))
SMA_ROUTINE(int, ulong_sum_exscan, (shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems))
SMA_ROUTINE(int, ulonglong_sum_exscan, (shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems))
SMA_ROUTINE(int, int8_sum_exscan, (shmem_team_t team, int8_t *dest, const int8_t *source, size_t nelems))
SMA_ROUTINE(int, int16_sum_exscan, (shmem_team_t team, int16_t *dest, const int16_t *source, size_t nelems))
SMA_ROUTINE(int, int32_sum_exscan, (shmem_team_t team, int32_t *dest, const int32_t *source, size_t nelems))
SMA_ROUTINE(int, int64_sum_exscan, (shmem_team_t team, int64_t *dest, const int64_t *source, size_t nelems))
SMA_ROUTINE(int, uint8_sum_exscan, (shmem_team_t team, uint8_t *dest, const uint8_t *source, size_t nelems))
SMA_ROUTINE(int, uint16_sum_exscan, (shmem_team_t team, uint16_t *dest, const uint16_t *source, size_t nelems))
SMA_ROUTINE(int, uint32_sum_exscan, (shmem_team_t team, uint32_t *dest, const uint32_t *source, size_t nelems))
SMA_ROUTINE(int, uint64_sum_exscan, (shmem_team_t team, uint64_t *dest, const uint64_t *source, size_t nelems))
SMA_ROUTINE(int, size_sum_exscan, (shmem_team_t team, size_t *dest, const size_t *source, size_t nelems))
SMA_ROUTINE(int, float_sum_exscan, (shmem_team_t team, float *dest, const float *source, size_t nelems))
SMA_ROUTINE(int, double_sum_exscan, (shmem_team_t team, double *dest, const double *source, size_t nelems))
SMA_ROUTINE(int, longdouble_sum_exscan, (shmem_team_t team, long double *dest, const long double *source, size_t nelems))
SMA_ROUTINE(int, complexd_sum_exscan, (shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nelems))
SMA_ROUTINE(int, complexf_sum_exscan, (shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nelems))

/* shmem_<TYPENAME>_add (deprecated). */
SMA_ROUTINE(void, int_add, (int *dest, int value, int pe))
SMA_ROUTINE(void, long_add, (long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_add, (long long *dest, long long value, int pe))

/* shmem_<TYPENAME>_inc (deprecated). */
SMA_ROUTINE(void, int_inc, (int *dest, int pe))
SMA_ROUTINE(void, long_inc, (long *dest, int pe))
SMA_ROUTINE(void, longlong_inc, (long long *dest, int pe))

/* shmem_<TYPENAME>_fadd (deprecated). */
SMA_ROUTINE(int, int_fadd, (int *dest, int value, int pe))
SMA_ROUTINE(long, long_fadd, (long *dest, long value, int pe))
SMA_ROUTINE(long long, longlong_fadd, (long long *dest, long long value, int pe))

/* shmem_<TYPENAME>_finc (deprecated). */
SMA_ROUTINE(int, int_finc, (int *dest, int pe))
SMA_ROUTINE(long, long_finc, (long *dest, int pe))
SMA_ROUTINE(long long, longlong_finc, (long long *dest, int pe))

/* shmem_<TYPENAME>_cswap (deprecated). */
SMA_ROUTINE(int, int_cswap, (int *dest, int cond, int value, int pe))
SMA_ROUTINE(long, long_cswap, (long *dest, long cond, long value, int pe))
SMA_ROUTINE(long long, longlong_cswap, (long long *dest, long long cond, long long value, int pe))

/* shmem_<TYPENAME>_fetch (deprecated). */
SMA_ROUTINE(float, float_fetch, (const float *source, int pe))
SMA_ROUTINE(double, double_fetch, (const double *source, int pe))
SMA_ROUTINE(int, int_fetch, (const int *source, int pe))
SMA_ROUTINE(long, long_fetch, (const long *source, int pe))
SMA_ROUTINE(long long, longlong_fetch, (const long long *source, int pe))

/* shmem_<TYPENAME>_set (deprecated). */
SMA_ROUTINE(void, float_set, (float *dest, float value, int pe))
SMA_ROUTINE(void, double_set, (double *dest, double value, int pe))
SMA_ROUTINE(void, int_set, (int *dest, int value, int pe))
SMA_ROUTINE(void, long_set, (long *dest, long value, int pe))
SMA_ROUTINE(void, longlong_set, (long long *dest, long long value, int pe))

/* shmem_<TYPENAME>_swap (deprecated). */
SMA_ROUTINE(float, float_swap, (float *dest, float value, int pe))
SMA_ROUTINE(double, double_swap, (double *dest, double value, int pe))
SMA_ROUTINE(int, int_swap, (int *dest, int value, int pe))
SMA_ROUTINE(long, long_swap, (long *dest, long value, int pe))
SMA_ROUTINE(long long, longlong_swap, (long long *dest, long long value, int pe))

/* shmem_<TYPENAME>_wait (deprecated). */
SMA_ROUTINE(void, short_wait, (short *ivar, short cmp_value))
SMA_ROUTINE(void, int_wait, (int *ivar, int cmp_value))
SMA_ROUTINE(void, long_wait, (long *ivar, long cmp_value))
SMA_ROUTINE(void, longlong_wait, (long long *ivar, long long cmp_value))

/* shmem_<TYPENAME>_and_to_all (deprecated). */
SMA_ROUTINE(void, short_and_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_and_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_and_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_and_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))

/* shmem_<TYPENAME>_or_to_all (deprecated). */
SMA_ROUTINE(void, short_or_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_or_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_or_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_or_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))

/* shmem_<TYPENAME>_xor_to_all (deprecated). */
SMA_ROUTINE(void, short_xor_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_xor_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_xor_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_xor_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))

/* shmem_<TYPENAME>_max_to_all (deprecated). */
SMA_ROUTINE(void, short_max_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_max_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_max_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_max_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))
SMA_ROUTINE(void, float_max_to_all, (float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync))
SMA_ROUTINE(void, double_max_to_all, (double *dest, const double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync))
SMA_ROUTINE(void, longdouble_max_to_all, (long double *dest, const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk, long *pSync))

/* shmem_<TYPENAME>_min_to_all (deprecated). */
SMA_ROUTINE(void, short_min_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_min_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_min_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_min_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))
SMA_ROUTINE(void, float_min_to_all, (float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync))
SMA_ROUTINE(void, double_min_to_all, (double *dest, const double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync))
SMA_ROUTINE(void, longdouble_min_to_all, (long double *dest, const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk, long *pSync))

/* shmem_<TYPENAME>_sum_to_all (deprecated). */
SMA_ROUTINE(void, short_sum_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_sum_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_sum_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_sum_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))
SMA_ROUTINE(void, float_sum_to_all, (float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync))
SMA_ROUTINE(void, double_sum_to_all, (double *dest, const double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync))
SMA_ROUTINE(void, longdouble_sum_to_all, (long double *dest, const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk, long *pSync))
SMA_ROUTINE(void, complexd_sum_to_all, (sma_complexd *dest, const sma_complexd *source, int nreduce, int PE_start, int logPE_stride, int PE_size, sma_complexd *pWrk, long *pSync))
SMA_ROUTINE(void, complexf_sum_to_all, (sma_complexf *dest, const sma_complexf *source, int nreduce, int PE_start, int logPE_stride, int PE_size, sma_complexf *pWrk, long *pSync))

/* shmem_<TYPENAME>_prod_to_all (deprecated). */
SMA_ROUTINE(void, short_prod_to_all, (short *dest, const short *source, int nreduce, int PE_start, int logPE_stride, int PE_size, short *pWrk, long *pSync))
SMA_ROUTINE(void, int_prod_to_all, (int *dest, const int *source, int nreduce, int PE_start, int logPE_stride, int PE_size, int *pWrk, long *pSync))
SMA_ROUTINE(void, long_prod_to_all, (long *dest, const long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long *pWrk, long *pSync))
SMA_ROUTINE(void, longlong_prod_to_all, (long long *dest, const long long *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long long *pWrk, long *pSync))
SMA_ROUTINE(void, float_prod_to_all, (float *dest, const float *source, int nreduce, int PE_start, int logPE_stride, int PE_size, float *pWrk, long *pSync))
SMA_ROUTINE(void, double_prod_to_all, (double *dest, const double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, double *pWrk, long *pSync))
SMA_ROUTINE(void, longdouble_prod_to_all, (long double *dest, const long double *source, int nreduce, int PE_start, int logPE_stride, int PE_size, long double *pWrk, long *pSync))
SMA_ROUTINE(void, complexd_prod_to_all, (sma_complexd *dest, const sma_complexd *source, int nreduce, int PE_start, int logPE_stride, int PE_size, sma_complexd *pWrk, long *pSync))
SMA_ROUTINE(void, complexf_prod_to_all, (sma_complexf *dest, const sma_complexf *source, int nreduce, int PE_start, int logPE_stride, int PE_size, sma_complexf *pWrk, long *pSync))

#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(SHMEM_NO_INLINE)
/* With optimization for speed, a program accesses single words of PEs of its host itself, by the default context. A routine of the library is called for
 * all other words, and if its address is taken. With SHMEM_NO_INLINE it is always called. Programs do not use names that begin with sma_. */
#define SMA_INLINE extern __inline__ __attribute__((__gnu_inline__, __always_inline__))

/* Symmetric memory of the PEs of this host. */
struct sma_window {
    uintptr_t start;
    size_t open;
    char *heaps;
    size_t span;
    char *bells;
    size_t bell_span;
    uint32_t first;
    uint32_t count;
};
struct sma_word {
    void *at;
    uint32_t *bell;
};
extern struct sma_window *sma_windows[2];
void sma_wake(const void *dest, size_t bytes, int pe);

SMA_INLINE int sma_find_by(int number, const void *address, size_t bytes, int pe, struct sma_word *word)
{
    struct sma_window *window = __atomic_load_n(&sma_windows[number], __ATOMIC_ACQUIRE);
    size_t inside;
    uint32_t local;
    if (!window)
        return 0;
    inside = (uintptr_t)address - window->start;
    local = (uint32_t)pe - window->first;
    if (inside % bytes != 0 || inside >= __atomic_load_n(&window->open, __ATOMIC_ACQUIRE) || local >= window->count)
        return 0;
    word->at = window->heaps + local * window->span + inside;
    word->bell = (uint32_t *)(void *)(window->bells + local * window->bell_span);
    return 1;
}

SMA_INLINE int sma_find(const void *address, size_t bytes, int pe, struct sma_word *word)
{
    return sma_find_by(0, address, bytes, pe, word) || sma_find_by(1, address, bytes, pe, word);
}

/* Wakes the PE if it sleeps until memory changes. */
SMA_INLINE void sma_ring(const struct sma_word *word, const void *dest, size_t bytes, int pe)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(word->bell, __ATOMIC_RELAXED) & 1, 0))
        sma_wake(dest, bytes, pe);
}

#define SMA_STORE(T, name)                                                    \
    void sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name); \
    SMA_INLINE void shmem_##name(T *dest, T value, int pe)                    \
    {                                                                         \
        struct sma_word word;                                                 \
        if (sma_find(dest, sizeof(T), pe, &word)) {                           \
            __atomic_store((T *)word.at, &value, __ATOMIC_RELEASE);           \
            sma_ring(&word, dest, sizeof(T), pe);                             \
        } else {                                                              \
            sma_called_##name(dest, value, pe);                               \
        }                                                                     \
    }

#define SMA_LOAD(T, name, order)                                          \
    T sma_called_##name(const T *source, int pe) __asm__("shmem_" #name); \
    SMA_INLINE T shmem_##name(const T *source, int pe)                    \
    {                                                                     \
        struct sma_word word;                                             \
        T value;                                                          \
        if (!sma_find(source, sizeof(T), pe, &word))                      \
            return sma_called_##name(source, pe);                         \
        __atomic_load((T *)word.at, &value, order);                       \
        return value;                                                     \
    }

#define SMA_UPDATE(T, name, operation)                                         \
    void sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name);  \
    SMA_INLINE void shmem_##name(T *dest, T value, int pe)                     \
    {                                                                          \
        struct sma_word word;                                                  \
        if (sma_find(dest, sizeof(T), pe, &word)) {                            \
            (void)__atomic_##operation((T *)word.at, value, __ATOMIC_SEQ_CST); \
            sma_ring(&word, dest, sizeof(T), pe);                              \
        } else {                                                               \
            sma_called_##name(dest, value, pe);                                \
        }                                                                      \
    }

#define SMA_FETCH(T, name, operation)                                        \
    T sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name);   \
    SMA_INLINE T shmem_##name(T *dest, T value, int pe)                      \
    {                                                                        \
        struct sma_word word;                                                \
        T found;                                                             \
        if (!sma_find(dest, sizeof(T), pe, &word))                           \
            return sma_called_##name(dest, value, pe);                       \
        found = __atomic_##operation((T *)word.at, value, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                                \
        return found;                                                        \
    }

#define SMA_SWAP(T, name)                                                  \
    T sma_called_##name(T *dest, T value, int pe) __asm__("shmem_" #name); \
    SMA_INLINE T shmem_##name(T *dest, T value, int pe)                    \
    {                                                                      \
        struct sma_word word;                                              \
        T found;                                                           \
        if (!sma_find(dest, sizeof(T), pe, &word))                         \
            return sma_called_##name(dest, value, pe);                     \
        __atomic_exchange((T *)word.at, &value, &found, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                              \
        return found;                                                      \
    }

#define SMA_INCREMENT(T, name)                                           \
    void sma_called_##name(T *dest, int pe) __asm__("shmem_" #name);     \
    SMA_INLINE void shmem_##name(T *dest, int pe)                        \
    {                                                                    \
        struct sma_word word;                                            \
        if (sma_find(dest, sizeof(T), pe, &word)) {                      \
            (void)__atomic_fetch_add((T *)word.at, 1, __ATOMIC_SEQ_CST); \
            sma_ring(&word, dest, sizeof(T), pe);                        \
        } else {                                                         \
            sma_called_##name(dest, pe);                                 \
        }                                                                \
    }

#define SMA_FETCH_INCREMENT(T, name)                                   \
    T sma_called_##name(T *dest, int pe) __asm__("shmem_" #name);      \
    SMA_INLINE T shmem_##name(T *dest, int pe)                         \
    {                                                                  \
        struct sma_word word;                                          \
        T found;                                                       \
        if (!sma_find(dest, sizeof(T), pe, &word))                     \
            return sma_called_##name(dest, pe);                        \
        found = __atomic_fetch_add((T *)word.at, 1, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                          \
        return found;                                                  \
    }

#define SMA_COMPARE_SWAP(T, name)                                                                             \
    T sma_called_##name(T *dest, T cond, T value, int pe) __asm__("shmem_" #name);                            \
    SMA_INLINE T shmem_##name(T *dest, T cond, T value, int pe)                                               \
    {                                                                                                         \
        struct sma_word word;                                                                                 \
        if (!sma_find(dest, sizeof(T), pe, &word))                                                            \
            return sma_called_##name(dest, cond, value, pe);                                                  \
        (void)__atomic_compare_exchange_n((T *)word.at, &cond, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
        sma_ring(&word, dest, sizeof(T), pe);                                                                 \
        return cond;                                                                                          \
    }

SMA_STORE(float, float_p)
SMA_STORE(double, double_p)
SMA_STORE(char, char_p)
SMA_STORE(signed char, schar_p)
SMA_STORE(short, short_p)
SMA_STORE(int, int_p)
SMA_STORE(long, long_p)
SMA_STORE(long long, longlong_p)
SMA_STORE(unsigned char, uchar_p)
SMA_STORE(unsigned short, ushort_p)
SMA_STORE(unsigned int, uint_p)
SMA_STORE(unsigned long, ulong_p)
SMA_STORE(unsigned long long, ulonglong_p)
SMA_STORE(int8_t, int8_p)
SMA_STORE(int16_t, int16_p)
SMA_STORE(int32_t, int32_p)
SMA_STORE(int64_t, int64_p)
SMA_STORE(uint8_t, uint8_p)
SMA_STORE(uint16_t, uint16_p)
SMA_STORE(uint32_t, uint32_p)
SMA_STORE(uint64_t, uint64_p)
SMA_STORE(size_t, size_p)
SMA_STORE(ptrdiff_t, ptrdiff_p)
SMA_LOAD(float, float_g, __ATOMIC_ACQUIRE)
SMA_LOAD(double, double_g, __ATOMIC_ACQUIRE)
SMA_LOAD(char, char_g, __ATOMIC_ACQUIRE)
SMA_LOAD(signed char, schar_g, __ATOMIC_ACQUIRE)
SMA_LOAD(short, short_g, __ATOMIC_ACQUIRE)
SMA_LOAD(int, int_g, __ATOMIC_ACQUIRE)
SMA_LOAD(long, long_g, __ATOMIC_ACQUIRE)
SMA_LOAD(long long, longlong_g, __ATOMIC_ACQUIRE)
SMA_LOAD(unsigned char, uchar_g, __ATOMIC_ACQUIRE)
SMA_LOAD(unsigned short, ushort_g, __ATOMIC_ACQUIRE)
SMA_LOAD(unsigned int, uint_g, __ATOMIC_ACQUIRE)
SMA_LOAD(unsigned long, ulong_g, __ATOMIC_ACQUIRE)
SMA_LOAD(unsigned long long, ulonglong_g, __ATOMIC_ACQUIRE)
SMA_LOAD(int8_t, int8_g, __ATOMIC_ACQUIRE)
SMA_LOAD(int16_t, int16_g, __ATOMIC_ACQUIRE)
SMA_LOAD(int32_t, int32_g, __ATOMIC_ACQUIRE)
SMA_LOAD(int64_t, int64_g, __ATOMIC_ACQUIRE)
SMA_LOAD(uint8_t, uint8_g, __ATOMIC_ACQUIRE)
SMA_LOAD(uint16_t, uint16_g, __ATOMIC_ACQUIRE)
SMA_LOAD(uint32_t, uint32_g, __ATOMIC_ACQUIRE)
SMA_LOAD(uint64_t, uint64_g, __ATOMIC_ACQUIRE)
SMA_LOAD(size_t, size_g, __ATOMIC_ACQUIRE)
SMA_LOAD(ptrdiff_t, ptrdiff_g, __ATOMIC_ACQUIRE)
SMA_UPDATE(int, int_atomic_add, fetch_add)
SMA_UPDATE(long, long_atomic_add, fetch_add)
SMA_UPDATE(long long, longlong_atomic_add, fetch_add)
SMA_UPDATE(unsigned int, uint_atomic_add, fetch_add)
SMA_UPDATE(unsigned long, ulong_atomic_add, fetch_add)
SMA_UPDATE(unsigned long long, ulonglong_atomic_add, fetch_add)
SMA_UPDATE(int32_t, int32_atomic_add, fetch_add)
SMA_UPDATE(int64_t, int64_atomic_add, fetch_add)
SMA_UPDATE(uint32_t, uint32_atomic_add, fetch_add)
SMA_UPDATE(uint64_t, uint64_atomic_add, fetch_add)
SMA_UPDATE(size_t, size_atomic_add, fetch_add)
SMA_UPDATE(ptrdiff_t, ptrdiff_atomic_add, fetch_add)
SMA_INCREMENT(int, int_atomic_inc)
SMA_INCREMENT(long, long_atomic_inc)
SMA_INCREMENT(long long, longlong_atomic_inc)
SMA_INCREMENT(unsigned int, uint_atomic_inc)
SMA_INCREMENT(unsigned long, ulong_atomic_inc)
SMA_INCREMENT(unsigned long long, ulonglong_atomic_inc)
SMA_INCREMENT(int32_t, int32_atomic_inc)
SMA_INCREMENT(int64_t, int64_atomic_inc)
SMA_INCREMENT(uint32_t, uint32_atomic_inc)
SMA_INCREMENT(uint64_t, uint64_atomic_inc)
SMA_INCREMENT(size_t, size_atomic_inc)
SMA_INCREMENT(ptrdiff_t, ptrdiff_atomic_inc)
SMA_FETCH(int, int_atomic_fetch_add, fetch_add)
SMA_FETCH(long, long_atomic_fetch_add, fetch_add)
SMA_FETCH(long long, longlong_atomic_fetch_add, fetch_add)
SMA_FETCH(unsigned int, uint_atomic_fetch_add, fetch_add)
SMA_FETCH(unsigned long, ulong_atomic_fetch_add, fetch_add)
SMA_FETCH(unsigned long long, ulonglong_atomic_fetch_add, fetch_add)
SMA_FETCH(int32_t, int32_atomic_fetch_add, fetch_add)
SMA_FETCH(int64_t, int64_atomic_fetch_add, fetch_add)
SMA_FETCH(uint32_t, uint32_atomic_fetch_add, fetch_add)
SMA_FETCH(uint64_t, uint64_atomic_fetch_add, fetch_add)
SMA_FETCH(size_t, size_atomic_fetch_add, fetch_add)
SMA_FETCH(ptrdiff_t, ptrdiff_atomic_fetch_add, fetch_add)
SMA_FETCH_INCREMENT(int, int_atomic_fetch_inc)
SMA_FETCH_INCREMENT(long, long_atomic_fetch_inc)
SMA_FETCH_INCREMENT(long long, longlong_atomic_fetch_inc)
SMA_FETCH_INCREMENT(unsigned int, uint_atomic_fetch_inc)
SMA_FETCH_INCREMENT(unsigned long, ulong_atomic_fetch_inc)
SMA_FETCH_INCREMENT(unsigned long long, ulonglong_atomic_fetch_inc)
SMA_FETCH_INCREMENT(int32_t, int32_atomic_fetch_inc)
SMA_FETCH_INCREMENT(int64_t, int64_atomic_fetch_inc)
SMA_FETCH_INCREMENT(uint32_t, uint32_atomic_fetch_inc)
SMA_FETCH_INCREMENT(uint64_t, uint64_atomic_fetch_inc)
SMA_FETCH_INCREMENT(size_t, size_atomic_fetch_inc)
SMA_FETCH_INCREMENT(ptrdiff_t, ptrdiff_atomic_fetch_inc)
SMA_COMPARE_SWAP(int, int_atomic_compare_swap)
SMA_COMPARE_SWAP(long, long_atomic_compare_swap)
SMA_COMPARE_SWAP(long long, longlong_atomic_compare_swap)
SMA_COMPARE_SWAP(unsigned int, uint_atomic_compare_swap)
SMA_COMPARE_SWAP(unsigned long, ulong_atomic_compare_swap)
SMA_COMPARE_SWAP(unsigned long long, ulonglong_atomic_compare_swap)
SMA_COMPARE_SWAP(int32_t, int32_atomic_compare_swap)
SMA_COMPARE_SWAP(int64_t, int64_atomic_compare_swap)
SMA_COMPARE_SWAP(uint32_t, uint32_atomic_compare_swap)
SMA_COMPARE_SWAP(uint64_t, uint64_atomic_compare_swap)
SMA_COMPARE_SWAP(size_t, size_atomic_compare_swap)
SMA_COMPARE_SWAP(ptrdiff_t, ptrdiff_atomic_compare_swap)
SMA_LOAD(float, float_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(double, double_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(int, int_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(long, long_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(long long, longlong_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(unsigned int, uint_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(unsigned long, ulong_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(unsigned long long, ulonglong_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(int32_t, int32_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(int64_t, int64_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(uint32_t, uint32_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(uint64_t, uint64_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(size_t, size_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(ptrdiff_t, ptrdiff_atomic_fetch, __ATOMIC_SEQ_CST)
SMA_STORE(float, float_atomic_set)
SMA_STORE(double, double_atomic_set)
SMA_STORE(int, int_atomic_set)
SMA_STORE(long, long_atomic_set)
SMA_STORE(long long, longlong_atomic_set)
SMA_STORE(unsigned int, uint_atomic_set)
SMA_STORE(unsigned long, ulong_atomic_set)
SMA_STORE(unsigned long long, ulonglong_atomic_set)
SMA_STORE(int32_t, int32_atomic_set)
SMA_STORE(int64_t, int64_atomic_set)
SMA_STORE(uint32_t, uint32_atomic_set)
SMA_STORE(uint64_t, uint64_atomic_set)
SMA_STORE(size_t, size_atomic_set)
SMA_STORE(ptrdiff_t, ptrdiff_atomic_set)
SMA_SWAP(float, float_atomic_swap)
SMA_SWAP(double, double_atomic_swap)
SMA_SWAP(int, int_atomic_swap)
SMA_SWAP(long, long_atomic_swap)
SMA_SWAP(long long, longlong_atomic_swap)
SMA_SWAP(unsigned int, uint_atomic_swap)
SMA_SWAP(unsigned long, ulong_atomic_swap)
SMA_SWAP(unsigned long long, ulonglong_atomic_swap)
SMA_SWAP(int32_t, int32_atomic_swap)
SMA_SWAP(int64_t, int64_atomic_swap)
SMA_SWAP(uint32_t, uint32_atomic_swap)
SMA_SWAP(uint64_t, uint64_atomic_swap)
SMA_SWAP(size_t, size_atomic_swap)
SMA_SWAP(ptrdiff_t, ptrdiff_atomic_swap)
SMA_UPDATE(unsigned int, uint_atomic_and, fetch_and)
SMA_UPDATE(unsigned long, ulong_atomic_and, fetch_and)
SMA_UPDATE(unsigned long long, ulonglong_atomic_and, fetch_and)
SMA_UPDATE(int32_t, int32_atomic_and, fetch_and)
SMA_UPDATE(int64_t, int64_atomic_and, fetch_and)
SMA_UPDATE(uint32_t, uint32_atomic_and, fetch_and)
SMA_UPDATE(uint64_t, uint64_atomic_and, fetch_and)
SMA_UPDATE(unsigned int, uint_atomic_or, fetch_or)
SMA_UPDATE(unsigned long, ulong_atomic_or, fetch_or)
SMA_UPDATE(unsigned long long, ulonglong_atomic_or, fetch_or)
SMA_UPDATE(int32_t, int32_atomic_or, fetch_or)
SMA_UPDATE(int64_t, int64_atomic_or, fetch_or)
SMA_UPDATE(uint32_t, uint32_atomic_or, fetch_or)
SMA_UPDATE(uint64_t, uint64_atomic_or, fetch_or)
SMA_UPDATE(unsigned int, uint_atomic_xor, fetch_xor)
SMA_UPDATE(unsigned long, ulong_atomic_xor, fetch_xor)
SMA_UPDATE(unsigned long long, ulonglong_atomic_xor, fetch_xor)
SMA_UPDATE(int32_t, int32_atomic_xor, fetch_xor)
SMA_UPDATE(int64_t, int64_atomic_xor, fetch_xor)
SMA_UPDATE(uint32_t, uint32_atomic_xor, fetch_xor)
SMA_UPDATE(uint64_t, uint64_atomic_xor, fetch_xor)
SMA_FETCH(unsigned int, uint_atomic_fetch_and, fetch_and)
SMA_FETCH(unsigned long, ulong_atomic_fetch_and, fetch_and)
SMA_FETCH(unsigned long long, ulonglong_atomic_fetch_and, fetch_and)
SMA_FETCH(int32_t, int32_atomic_fetch_and, fetch_and)
SMA_FETCH(int64_t, int64_atomic_fetch_and, fetch_and)
SMA_FETCH(uint32_t, uint32_atomic_fetch_and, fetch_and)
SMA_FETCH(uint64_t, uint64_atomic_fetch_and, fetch_and)
SMA_FETCH(unsigned int, uint_atomic_fetch_or, fetch_or)
SMA_FETCH(unsigned long, ulong_atomic_fetch_or, fetch_or)
SMA_FETCH(unsigned long long, ulonglong_atomic_fetch_or, fetch_or)
SMA_FETCH(int32_t, int32_atomic_fetch_or, fetch_or)
SMA_FETCH(int64_t, int64_atomic_fetch_or, fetch_or)
SMA_FETCH(uint32_t, uint32_atomic_fetch_or, fetch_or)
SMA_FETCH(uint64_t, uint64_atomic_fetch_or, fetch_or)
SMA_FETCH(unsigned int, uint_atomic_fetch_xor, fetch_xor)
SMA_FETCH(unsigned long, ulong_atomic_fetch_xor, fetch_xor)
SMA_FETCH(unsigned long long, ulonglong_atomic_fetch_xor, fetch_xor)
SMA_FETCH(int32_t, int32_atomic_fetch_xor, fetch_xor)
SMA_FETCH(int64_t, int64_atomic_fetch_xor, fetch_xor)
SMA_FETCH(uint32_t, uint32_atomic_fetch_xor, fetch_xor)
SMA_FETCH(uint64_t, uint64_atomic_fetch_xor, fetch_xor)
SMA_UPDATE(int, int_add, fetch_add)
SMA_UPDATE(long, long_add, fetch_add)
SMA_UPDATE(long long, longlong_add, fetch_add)
SMA_INCREMENT(int, int_inc)
SMA_INCREMENT(long, long_inc)
SMA_INCREMENT(long long, longlong_inc)
SMA_FETCH(int, int_fadd, fetch_add)
SMA_FETCH(long, long_fadd, fetch_add)
SMA_FETCH(long long, longlong_fadd, fetch_add)
SMA_FETCH_INCREMENT(int, int_finc)
SMA_FETCH_INCREMENT(long, long_finc)
SMA_FETCH_INCREMENT(long long, longlong_finc)
SMA_COMPARE_SWAP(int, int_cswap)
SMA_COMPARE_SWAP(long, long_cswap)
SMA_COMPARE_SWAP(long long, longlong_cswap)
SMA_LOAD(float, float_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(double, double_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(int, int_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(long, long_fetch, __ATOMIC_SEQ_CST)
SMA_LOAD(long long, longlong_fetch, __ATOMIC_SEQ_CST)
SMA_STORE(float, float_set)
SMA_STORE(double, double_set)
SMA_STORE(int, int_set)
SMA_STORE(long, long_set)
SMA_STORE(long long, longlong_set)
SMA_SWAP(float, float_swap)
SMA_SWAP(double, double_swap)
SMA_SWAP(int, int_swap)
SMA_SWAP(long, long_swap)
SMA_SWAP(long long, longlong_swap)
#endif

#ifdef __cplusplus
}
#endif

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(SHMEM_NO_GENERICS)
#define SMA_FIRST(a, ...) a
#define SMA_SECOND(a, b, ...) b
struct sma_no_such_type;
void sma_no_routine_for_this_type(struct sma_no_such_type *, struct sma_no_such_type *);
#define shmem_put(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put, \
        double *: shmem_ctx_double_put, \
        long double *: shmem_ctx_longdouble_put, \
        char *: shmem_ctx_char_put, \
        signed char *: shmem_ctx_schar_put, \
        short *: shmem_ctx_short_put, \
        int *: shmem_ctx_int_put, \
        long *: shmem_ctx_long_put, \
        long long *: shmem_ctx_longlong_put, \
        unsigned char *: shmem_ctx_uchar_put, \
        unsigned short *: shmem_ctx_ushort_put, \
        unsigned int *: shmem_ctx_uint_put, \
        unsigned long *: shmem_ctx_ulong_put, \
        unsigned long long *: shmem_ctx_ulonglong_put, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_put, \
        double *: shmem_double_put, \
        long double *: shmem_longdouble_put, \
        char *: shmem_char_put, \
        signed char *: shmem_schar_put, \
        short *: shmem_short_put, \
        int *: shmem_int_put, \
        long *: shmem_long_put, \
        long long *: shmem_longlong_put, \
        unsigned char *: shmem_uchar_put, \
        unsigned short *: shmem_ushort_put, \
        unsigned int *: shmem_uint_put, \
        unsigned long *: shmem_ulong_put, \
        unsigned long long *: shmem_ulonglong_put)(__VA_ARGS__)
#define shmem_p(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_p, \
        double *: shmem_ctx_double_p, \
        long double *: shmem_ctx_longdouble_p, \
        char *: shmem_ctx_char_p, \
        signed char *: shmem_ctx_schar_p, \
        short *: shmem_ctx_short_p, \
        int *: shmem_ctx_int_p, \
        long *: shmem_ctx_long_p, \
        long long *: shmem_ctx_longlong_p, \
        unsigned char *: shmem_ctx_uchar_p, \
        unsigned short *: shmem_ctx_ushort_p, \
        unsigned int *: shmem_ctx_uint_p, \
        unsigned long *: shmem_ctx_ulong_p, \
        unsigned long long *: shmem_ctx_ulonglong_p, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_p, \
        double *: shmem_double_p, \
        long double *: shmem_longdouble_p, \
        char *: shmem_char_p, \
        signed char *: shmem_schar_p, \
        short *: shmem_short_p, \
        int *: shmem_int_p, \
        long *: shmem_long_p, \
        long long *: shmem_longlong_p, \
        unsigned char *: shmem_uchar_p, \
        unsigned short *: shmem_ushort_p, \
        unsigned int *: shmem_uint_p, \
        unsigned long *: shmem_ulong_p, \
        unsigned long long *: shmem_ulonglong_p)(__VA_ARGS__)
#define shmem_get(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_get, \
        double *: shmem_ctx_double_get, \
        long double *: shmem_ctx_longdouble_get, \
        char *: shmem_ctx_char_get, \
        signed char *: shmem_ctx_schar_get, \
        short *: shmem_ctx_short_get, \
        int *: shmem_ctx_int_get, \
        long *: shmem_ctx_long_get, \
        long long *: shmem_ctx_longlong_get, \
        unsigned char *: shmem_ctx_uchar_get, \
        unsigned short *: shmem_ctx_ushort_get, \
        unsigned int *: shmem_ctx_uint_get, \
        unsigned long *: shmem_ctx_ulong_get, \
        unsigned long long *: shmem_ctx_ulonglong_get, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_get, \
        double *: shmem_double_get, \
        long double *: shmem_longdouble_get, \
        char *: shmem_char_get, \
        signed char *: shmem_schar_get, \
        short *: shmem_short_get, \
        int *: shmem_int_get, \
        long *: shmem_long_get, \
        long long *: shmem_longlong_get, \
        unsigned char *: shmem_uchar_get, \
        unsigned short *: shmem_ushort_get, \
        unsigned int *: shmem_uint_get, \
        unsigned long *: shmem_ulong_get, \
        unsigned long long *: shmem_ulonglong_get)(__VA_ARGS__)
#define shmem_g(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_g, const float *: shmem_ctx_float_g, \
        double *: shmem_ctx_double_g, const double *: shmem_ctx_double_g, \
        long double *: shmem_ctx_longdouble_g, const long double *: shmem_ctx_longdouble_g, \
        char *: shmem_ctx_char_g, const char *: shmem_ctx_char_g, \
        signed char *: shmem_ctx_schar_g, const signed char *: shmem_ctx_schar_g, \
        short *: shmem_ctx_short_g, const short *: shmem_ctx_short_g, \
        int *: shmem_ctx_int_g, const int *: shmem_ctx_int_g, \
        long *: shmem_ctx_long_g, const long *: shmem_ctx_long_g, \
        long long *: shmem_ctx_longlong_g, const long long *: shmem_ctx_longlong_g, \
        unsigned char *: shmem_ctx_uchar_g, const unsigned char *: shmem_ctx_uchar_g, \
        unsigned short *: shmem_ctx_ushort_g, const unsigned short *: shmem_ctx_ushort_g, \
        unsigned int *: shmem_ctx_uint_g, const unsigned int *: shmem_ctx_uint_g, \
        unsigned long *: shmem_ctx_ulong_g, const unsigned long *: shmem_ctx_ulong_g, \
        unsigned long long *: shmem_ctx_ulonglong_g, const unsigned long long *: shmem_ctx_ulonglong_g, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_g, const float *: shmem_float_g, \
        double *: shmem_double_g, const double *: shmem_double_g, \
        long double *: shmem_longdouble_g, const long double *: shmem_longdouble_g, \
        char *: shmem_char_g, const char *: shmem_char_g, \
        signed char *: shmem_schar_g, const signed char *: shmem_schar_g, \
        short *: shmem_short_g, const short *: shmem_short_g, \
        int *: shmem_int_g, const int *: shmem_int_g, \
        long *: shmem_long_g, const long *: shmem_long_g, \
        long long *: shmem_longlong_g, const long long *: shmem_longlong_g, \
        unsigned char *: shmem_uchar_g, const unsigned char *: shmem_uchar_g, \
        unsigned short *: shmem_ushort_g, const unsigned short *: shmem_ushort_g, \
        unsigned int *: shmem_uint_g, const unsigned int *: shmem_uint_g, \
        unsigned long *: shmem_ulong_g, const unsigned long *: shmem_ulong_g, \
        unsigned long long *: shmem_ulonglong_g, const unsigned long long *: shmem_ulonglong_g)(__VA_ARGS__)
#define shmem_put_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_nbi, \
        double *: shmem_ctx_double_put_nbi, \
        long double *: shmem_ctx_longdouble_put_nbi, \
        char *: shmem_ctx_char_put_nbi, \
        signed char *: shmem_ctx_schar_put_nbi, \
        short *: shmem_ctx_short_put_nbi, \
        int *: shmem_ctx_int_put_nbi, \
        long *: shmem_ctx_long_put_nbi, \
        long long *: shmem_ctx_longlong_put_nbi, \
        unsigned char *: shmem_ctx_uchar_put_nbi, \
        unsigned short *: shmem_ctx_ushort_put_nbi, \
        unsigned int *: shmem_ctx_uint_put_nbi, \
        unsigned long *: shmem_ctx_ulong_put_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_put_nbi, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_put_nbi, \
        double *: shmem_double_put_nbi, \
        long double *: shmem_longdouble_put_nbi, \
        char *: shmem_char_put_nbi, \
        signed char *: shmem_schar_put_nbi, \
        short *: shmem_short_put_nbi, \
        int *: shmem_int_put_nbi, \
        long *: shmem_long_put_nbi, \
        long long *: shmem_longlong_put_nbi, \
        unsigned char *: shmem_uchar_put_nbi, \
        unsigned short *: shmem_ushort_put_nbi, \
        unsigned int *: shmem_uint_put_nbi, \
        unsigned long *: shmem_ulong_put_nbi, \
        unsigned long long *: shmem_ulonglong_put_nbi)(__VA_ARGS__)
#define shmem_get_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_get_nbi, \
        double *: shmem_ctx_double_get_nbi, \
        long double *: shmem_ctx_longdouble_get_nbi, \
        char *: shmem_ctx_char_get_nbi, \
        signed char *: shmem_ctx_schar_get_nbi, \
        short *: shmem_ctx_short_get_nbi, \
        int *: shmem_ctx_int_get_nbi, \
        long *: shmem_ctx_long_get_nbi, \
        long long *: shmem_ctx_longlong_get_nbi, \
        unsigned char *: shmem_ctx_uchar_get_nbi, \
        unsigned short *: shmem_ctx_ushort_get_nbi, \
        unsigned int *: shmem_ctx_uint_get_nbi, \
        unsigned long *: shmem_ctx_ulong_get_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_get_nbi, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_get_nbi, \
        double *: shmem_double_get_nbi, \
        long double *: shmem_longdouble_get_nbi, \
        char *: shmem_char_get_nbi, \
        signed char *: shmem_schar_get_nbi, \
        short *: shmem_short_get_nbi, \
        int *: shmem_int_get_nbi, \
        long *: shmem_long_get_nbi, \
        long long *: shmem_longlong_get_nbi, \
        unsigned char *: shmem_uchar_get_nbi, \
        unsigned short *: shmem_ushort_get_nbi, \
        unsigned int *: shmem_uint_get_nbi, \
        unsigned long *: shmem_ulong_get_nbi, \
        unsigned long long *: shmem_ulonglong_get_nbi)(__VA_ARGS__)
#define shmem_iput(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_iput, \
        double *: shmem_ctx_double_iput, \
        long double *: shmem_ctx_longdouble_iput, \
        char *: shmem_ctx_char_iput, \
        signed char *: shmem_ctx_schar_iput, \
        short *: shmem_ctx_short_iput, \
        int *: shmem_ctx_int_iput, \
        long *: shmem_ctx_long_iput, \
        long long *: shmem_ctx_longlong_iput, \
        unsigned char *: shmem_ctx_uchar_iput, \
        unsigned short *: shmem_ctx_ushort_iput, \
        unsigned int *: shmem_ctx_uint_iput, \
        unsigned long *: shmem_ctx_ulong_iput, \
        unsigned long long *: shmem_ctx_ulonglong_iput, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_iput, \
        double *: shmem_double_iput, \
        long double *: shmem_longdouble_iput, \
        char *: shmem_char_iput, \
        signed char *: shmem_schar_iput, \
        short *: shmem_short_iput, \
        int *: shmem_int_iput, \
        long *: shmem_long_iput, \
        long long *: shmem_longlong_iput, \
        unsigned char *: shmem_uchar_iput, \
        unsigned short *: shmem_ushort_iput, \
        unsigned int *: shmem_uint_iput, \
        unsigned long *: shmem_ulong_iput, \
        unsigned long long *: shmem_ulonglong_iput)(__VA_ARGS__)
#define shmem_iget(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_iget, \
        double *: shmem_ctx_double_iget, \
        long double *: shmem_ctx_longdouble_iget, \
        char *: shmem_ctx_char_iget, \
        signed char *: shmem_ctx_schar_iget, \
        short *: shmem_ctx_short_iget, \
        int *: shmem_ctx_int_iget, \
        long *: shmem_ctx_long_iget, \
        long long *: shmem_ctx_longlong_iget, \
        unsigned char *: shmem_ctx_uchar_iget, \
        unsigned short *: shmem_ctx_ushort_iget, \
        unsigned int *: shmem_ctx_uint_iget, \
        unsigned long *: shmem_ctx_ulong_iget, \
        unsigned long long *: shmem_ctx_ulonglong_iget, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_iget, \
        double *: shmem_double_iget, \
        long double *: shmem_longdouble_iget, \
        char *: shmem_char_iget, \
        signed char *: shmem_schar_iget, \
        short *: shmem_short_iget, \
        int *: shmem_int_iget, \
        long *: shmem_long_iget, \
        long long *: shmem_longlong_iget, \
        unsigned char *: shmem_uchar_iget, \
        unsigned short *: shmem_ushort_iget, \
        unsigned int *: shmem_uint_iget, \
        unsigned long *: shmem_ulong_iget, \
        unsigned long long *: shmem_ulonglong_iget)(__VA_ARGS__)
#define shmem_ibput(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_ibput, \
        double *: shmem_ctx_double_ibput, \
        long double *: shmem_ctx_longdouble_ibput, \
        char *: shmem_ctx_char_ibput, \
        signed char *: shmem_ctx_schar_ibput, \
        short *: shmem_ctx_short_ibput, \
        int *: shmem_ctx_int_ibput, \
        long *: shmem_ctx_long_ibput, \
        long long *: shmem_ctx_longlong_ibput, \
        unsigned char *: shmem_ctx_uchar_ibput, \
        unsigned short *: shmem_ctx_ushort_ibput, \
        unsigned int *: shmem_ctx_uint_ibput, \
        unsigned long *: shmem_ctx_ulong_ibput, \
        unsigned long long *: shmem_ctx_ulonglong_ibput, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_ibput, \
        double *: shmem_double_ibput, \
        long double *: shmem_longdouble_ibput, \
        char *: shmem_char_ibput, \
        signed char *: shmem_schar_ibput, \
        short *: shmem_short_ibput, \
        int *: shmem_int_ibput, \
        long *: shmem_long_ibput, \
        long long *: shmem_longlong_ibput, \
        unsigned char *: shmem_uchar_ibput, \
        unsigned short *: shmem_ushort_ibput, \
        unsigned int *: shmem_uint_ibput, \
        unsigned long *: shmem_ulong_ibput, \
        unsigned long long *: shmem_ulonglong_ibput)(__VA_ARGS__)
#define shmem_ibget(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_ibget, \
        double *: shmem_ctx_double_ibget, \
        long double *: shmem_ctx_longdouble_ibget, \
        char *: shmem_ctx_char_ibget, \
        signed char *: shmem_ctx_schar_ibget, \
        short *: shmem_ctx_short_ibget, \
        int *: shmem_ctx_int_ibget, \
        long *: shmem_ctx_long_ibget, \
        long long *: shmem_ctx_longlong_ibget, \
        unsigned char *: shmem_ctx_uchar_ibget, \
        unsigned short *: shmem_ctx_ushort_ibget, \
        unsigned int *: shmem_ctx_uint_ibget, \
        unsigned long *: shmem_ctx_ulong_ibget, \
        unsigned long long *: shmem_ctx_ulonglong_ibget, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_ibget, \
        double *: shmem_double_ibget, \
        long double *: shmem_longdouble_ibget, \
        char *: shmem_char_ibget, \
        signed char *: shmem_schar_ibget, \
        short *: shmem_short_ibget, \
        int *: shmem_int_ibget, \
        long *: shmem_long_ibget, \
        long long *: shmem_longlong_ibget, \
        unsigned char *: shmem_uchar_ibget, \
        unsigned short *: shmem_ushort_ibget, \
        unsigned int *: shmem_uint_ibget, \
        unsigned long *: shmem_ulong_ibget, \
        unsigned long long *: shmem_ulonglong_ibget)(__VA_ARGS__)
#define shmem_put_signal(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_signal, \
        double *: shmem_ctx_double_put_signal, \
        long double *: shmem_ctx_longdouble_put_signal, \
        char *: shmem_ctx_char_put_signal, \
        signed char *: shmem_ctx_schar_put_signal, \
        short *: shmem_ctx_short_put_signal, \
        int *: shmem_ctx_int_put_signal, \
        long *: shmem_ctx_long_put_signal, \
        long long *: shmem_ctx_longlong_put_signal, \
        unsigned char *: shmem_ctx_uchar_put_signal, \
        unsigned short *: shmem_ctx_ushort_put_signal, \
        unsigned int *: shmem_ctx_uint_put_signal, \
        unsigned long *: shmem_ctx_ulong_put_signal, \
        unsigned long long *: shmem_ctx_ulonglong_put_signal, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_put_signal, \
        double *: shmem_double_put_signal, \
        long double *: shmem_longdouble_put_signal, \
        char *: shmem_char_put_signal, \
        signed char *: shmem_schar_put_signal, \
        short *: shmem_short_put_signal, \
        int *: shmem_int_put_signal, \
        long *: shmem_long_put_signal, \
        long long *: shmem_longlong_put_signal, \
        unsigned char *: shmem_uchar_put_signal, \
        unsigned short *: shmem_ushort_put_signal, \
        unsigned int *: shmem_uint_put_signal, \
        unsigned long *: shmem_ulong_put_signal, \
        unsigned long long *: shmem_ulonglong_put_signal)(__VA_ARGS__)
#define shmem_put_signal_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_put_signal_nbi, \
        double *: shmem_ctx_double_put_signal_nbi, \
        long double *: shmem_ctx_longdouble_put_signal_nbi, \
        char *: shmem_ctx_char_put_signal_nbi, \
        signed char *: shmem_ctx_schar_put_signal_nbi, \
        short *: shmem_ctx_short_put_signal_nbi, \
        int *: shmem_ctx_int_put_signal_nbi, \
        long *: shmem_ctx_long_put_signal_nbi, \
        long long *: shmem_ctx_longlong_put_signal_nbi, \
        unsigned char *: shmem_ctx_uchar_put_signal_nbi, \
        unsigned short *: shmem_ctx_ushort_put_signal_nbi, \
        unsigned int *: shmem_ctx_uint_put_signal_nbi, \
        unsigned long *: shmem_ctx_ulong_put_signal_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_put_signal_nbi, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_put_signal_nbi, \
        double *: shmem_double_put_signal_nbi, \
        long double *: shmem_longdouble_put_signal_nbi, \
        char *: shmem_char_put_signal_nbi, \
        signed char *: shmem_schar_put_signal_nbi, \
        short *: shmem_short_put_signal_nbi, \
        int *: shmem_int_put_signal_nbi, \
        long *: shmem_long_put_signal_nbi, \
        long long *: shmem_longlong_put_signal_nbi, \
        unsigned char *: shmem_uchar_put_signal_nbi, \
        unsigned short *: shmem_ushort_put_signal_nbi, \
        unsigned int *: shmem_uint_put_signal_nbi, \
        unsigned long *: shmem_ulong_put_signal_nbi, \
        unsigned long long *: shmem_ulonglong_put_signal_nbi)(__VA_ARGS__)
#define shmem_atomic_add(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_add, \
        long *: shmem_ctx_long_atomic_add, \
        long long *: shmem_ctx_longlong_atomic_add, \
        unsigned int *: shmem_ctx_uint_atomic_add, \
        unsigned long *: shmem_ctx_ulong_atomic_add, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_add, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_add, \
        long *: shmem_long_atomic_add, \
        long long *: shmem_longlong_atomic_add, \
        unsigned int *: shmem_uint_atomic_add, \
        unsigned long *: shmem_ulong_atomic_add, \
        unsigned long long *: shmem_ulonglong_atomic_add)(__VA_ARGS__)
#define shmem_atomic_inc(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_inc, \
        long *: shmem_ctx_long_atomic_inc, \
        long long *: shmem_ctx_longlong_atomic_inc, \
        unsigned int *: shmem_ctx_uint_atomic_inc, \
        unsigned long *: shmem_ctx_ulong_atomic_inc, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_inc, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_inc, \
        long *: shmem_long_atomic_inc, \
        long long *: shmem_longlong_atomic_inc, \
        unsigned int *: shmem_uint_atomic_inc, \
        unsigned long *: shmem_ulong_atomic_inc, \
        unsigned long long *: shmem_ulonglong_atomic_inc)(__VA_ARGS__)
#define shmem_atomic_fetch_add(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_add, \
        long *: shmem_ctx_long_atomic_fetch_add, \
        long long *: shmem_ctx_longlong_atomic_fetch_add, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_add, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_add, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_add, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_fetch_add, \
        long *: shmem_long_atomic_fetch_add, \
        long long *: shmem_longlong_atomic_fetch_add, \
        unsigned int *: shmem_uint_atomic_fetch_add, \
        unsigned long *: shmem_ulong_atomic_fetch_add, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_add)(__VA_ARGS__)
#define shmem_atomic_fetch_inc(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_inc, \
        long *: shmem_ctx_long_atomic_fetch_inc, \
        long long *: shmem_ctx_longlong_atomic_fetch_inc, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_inc, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_inc, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_inc, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_fetch_inc, \
        long *: shmem_long_atomic_fetch_inc, \
        long long *: shmem_longlong_atomic_fetch_inc, \
        unsigned int *: shmem_uint_atomic_fetch_inc, \
        unsigned long *: shmem_ulong_atomic_fetch_inc, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_inc)(__VA_ARGS__)
#define shmem_atomic_compare_swap(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_compare_swap, \
        long *: shmem_ctx_long_atomic_compare_swap, \
        long long *: shmem_ctx_longlong_atomic_compare_swap, \
        unsigned int *: shmem_ctx_uint_atomic_compare_swap, \
        unsigned long *: shmem_ctx_ulong_atomic_compare_swap, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_compare_swap, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_compare_swap, \
        long *: shmem_long_atomic_compare_swap, \
        long long *: shmem_longlong_atomic_compare_swap, \
        unsigned int *: shmem_uint_atomic_compare_swap, \
        unsigned long *: shmem_ulong_atomic_compare_swap, \
        unsigned long long *: shmem_ulonglong_atomic_compare_swap)(__VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_add_nbi, \
        long *: shmem_ctx_long_atomic_fetch_add_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_add_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_add_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_add_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_add_nbi, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_fetch_add_nbi, \
        long *: shmem_long_atomic_fetch_add_nbi, \
        long long *: shmem_longlong_atomic_fetch_add_nbi, \
        unsigned int *: shmem_uint_atomic_fetch_add_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_add_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_add_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_fetch_inc_nbi, \
        long *: shmem_ctx_long_atomic_fetch_inc_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_inc_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_inc_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_inc_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_inc_nbi, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_fetch_inc_nbi, \
        long *: shmem_long_atomic_fetch_inc_nbi, \
        long long *: shmem_longlong_atomic_fetch_inc_nbi, \
        unsigned int *: shmem_uint_atomic_fetch_inc_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_inc_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_inc_nbi)(__VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        int *: shmem_ctx_int_atomic_compare_swap_nbi, \
        long *: shmem_ctx_long_atomic_compare_swap_nbi, \
        long long *: shmem_ctx_longlong_atomic_compare_swap_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_compare_swap_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_compare_swap_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_compare_swap_nbi, \
        default: sma_no_routine_for_this_type), \
        int *: shmem_int_atomic_compare_swap_nbi, \
        long *: shmem_long_atomic_compare_swap_nbi, \
        long long *: shmem_longlong_atomic_compare_swap_nbi, \
        unsigned int *: shmem_uint_atomic_compare_swap_nbi, \
        unsigned long *: shmem_ulong_atomic_compare_swap_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_compare_swap_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_fetch, const float *: shmem_ctx_float_atomic_fetch, \
        double *: shmem_ctx_double_atomic_fetch, const double *: shmem_ctx_double_atomic_fetch, \
        int *: shmem_ctx_int_atomic_fetch, const int *: shmem_ctx_int_atomic_fetch, \
        long *: shmem_ctx_long_atomic_fetch, const long *: shmem_ctx_long_atomic_fetch, \
        long long *: shmem_ctx_longlong_atomic_fetch, const long long *: shmem_ctx_longlong_atomic_fetch, \
        unsigned int *: shmem_ctx_uint_atomic_fetch, const unsigned int *: shmem_ctx_uint_atomic_fetch, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch, const unsigned long *: shmem_ctx_ulong_atomic_fetch, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch, const unsigned long long *: shmem_ctx_ulonglong_atomic_fetch, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_atomic_fetch, const float *: shmem_float_atomic_fetch, \
        double *: shmem_double_atomic_fetch, const double *: shmem_double_atomic_fetch, \
        int *: shmem_int_atomic_fetch, const int *: shmem_int_atomic_fetch, \
        long *: shmem_long_atomic_fetch, const long *: shmem_long_atomic_fetch, \
        long long *: shmem_longlong_atomic_fetch, const long long *: shmem_longlong_atomic_fetch, \
        unsigned int *: shmem_uint_atomic_fetch, const unsigned int *: shmem_uint_atomic_fetch, \
        unsigned long *: shmem_ulong_atomic_fetch, const unsigned long *: shmem_ulong_atomic_fetch, \
        unsigned long long *: shmem_ulonglong_atomic_fetch, const unsigned long long *: shmem_ulonglong_atomic_fetch)(__VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_fetch_nbi, \
        double *: shmem_ctx_double_atomic_fetch_nbi, \
        int *: shmem_ctx_int_atomic_fetch_nbi, \
        long *: shmem_ctx_long_atomic_fetch_nbi, \
        long long *: shmem_ctx_longlong_atomic_fetch_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_fetch_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_nbi, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_atomic_fetch_nbi, \
        double *: shmem_double_atomic_fetch_nbi, \
        int *: shmem_int_atomic_fetch_nbi, \
        long *: shmem_long_atomic_fetch_nbi, \
        long long *: shmem_longlong_atomic_fetch_nbi, \
        unsigned int *: shmem_uint_atomic_fetch_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_nbi)(__VA_ARGS__)
#define shmem_atomic_set(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_set, \
        double *: shmem_ctx_double_atomic_set, \
        int *: shmem_ctx_int_atomic_set, \
        long *: shmem_ctx_long_atomic_set, \
        long long *: shmem_ctx_longlong_atomic_set, \
        unsigned int *: shmem_ctx_uint_atomic_set, \
        unsigned long *: shmem_ctx_ulong_atomic_set, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_set, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_atomic_set, \
        double *: shmem_double_atomic_set, \
        int *: shmem_int_atomic_set, \
        long *: shmem_long_atomic_set, \
        long long *: shmem_longlong_atomic_set, \
        unsigned int *: shmem_uint_atomic_set, \
        unsigned long *: shmem_ulong_atomic_set, \
        unsigned long long *: shmem_ulonglong_atomic_set)(__VA_ARGS__)
#define shmem_atomic_swap(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_swap, \
        double *: shmem_ctx_double_atomic_swap, \
        int *: shmem_ctx_int_atomic_swap, \
        long *: shmem_ctx_long_atomic_swap, \
        long long *: shmem_ctx_longlong_atomic_swap, \
        unsigned int *: shmem_ctx_uint_atomic_swap, \
        unsigned long *: shmem_ctx_ulong_atomic_swap, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_swap, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_atomic_swap, \
        double *: shmem_double_atomic_swap, \
        int *: shmem_int_atomic_swap, \
        long *: shmem_long_atomic_swap, \
        long long *: shmem_longlong_atomic_swap, \
        unsigned int *: shmem_uint_atomic_swap, \
        unsigned long *: shmem_ulong_atomic_swap, \
        unsigned long long *: shmem_ulonglong_atomic_swap)(__VA_ARGS__)
#define shmem_atomic_swap_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_ctx_float_atomic_swap_nbi, \
        double *: shmem_ctx_double_atomic_swap_nbi, \
        int *: shmem_ctx_int_atomic_swap_nbi, \
        long *: shmem_ctx_long_atomic_swap_nbi, \
        long long *: shmem_ctx_longlong_atomic_swap_nbi, \
        unsigned int *: shmem_ctx_uint_atomic_swap_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_swap_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_swap_nbi, \
        default: sma_no_routine_for_this_type), \
        float *: shmem_float_atomic_swap_nbi, \
        double *: shmem_double_atomic_swap_nbi, \
        int *: shmem_int_atomic_swap_nbi, \
        long *: shmem_long_atomic_swap_nbi, \
        long long *: shmem_longlong_atomic_swap_nbi, \
        unsigned int *: shmem_uint_atomic_swap_nbi, \
        unsigned long *: shmem_ulong_atomic_swap_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_swap_nbi)(__VA_ARGS__)
#define shmem_atomic_and(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_and, \
        unsigned long *: shmem_ctx_ulong_atomic_and, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_and, \
        int32_t *: shmem_ctx_int32_atomic_and, \
        int64_t *: shmem_ctx_int64_atomic_and, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_and, \
        unsigned long *: shmem_ulong_atomic_and, \
        unsigned long long *: shmem_ulonglong_atomic_and, \
        int32_t *: shmem_int32_atomic_and, \
        int64_t *: shmem_int64_atomic_and)(__VA_ARGS__)
#define shmem_atomic_or(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_or, \
        unsigned long *: shmem_ctx_ulong_atomic_or, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_or, \
        int32_t *: shmem_ctx_int32_atomic_or, \
        int64_t *: shmem_ctx_int64_atomic_or, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_or, \
        unsigned long *: shmem_ulong_atomic_or, \
        unsigned long long *: shmem_ulonglong_atomic_or, \
        int32_t *: shmem_int32_atomic_or, \
        int64_t *: shmem_int64_atomic_or)(__VA_ARGS__)
#define shmem_atomic_xor(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_xor, \
        unsigned long *: shmem_ctx_ulong_atomic_xor, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_xor, \
        int32_t *: shmem_ctx_int32_atomic_xor, \
        int64_t *: shmem_ctx_int64_atomic_xor, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_xor, \
        unsigned long *: shmem_ulong_atomic_xor, \
        unsigned long long *: shmem_ulonglong_atomic_xor, \
        int32_t *: shmem_int32_atomic_xor, \
        int64_t *: shmem_int64_atomic_xor)(__VA_ARGS__)
#define shmem_atomic_fetch_and(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_and, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_and, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_and, \
        int32_t *: shmem_ctx_int32_atomic_fetch_and, \
        int64_t *: shmem_ctx_int64_atomic_fetch_and, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_and, \
        unsigned long *: shmem_ulong_atomic_fetch_and, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_and, \
        int32_t *: shmem_int32_atomic_fetch_and, \
        int64_t *: shmem_int64_atomic_fetch_and)(__VA_ARGS__)
#define shmem_atomic_fetch_or(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_or, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_or, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_or, \
        int32_t *: shmem_ctx_int32_atomic_fetch_or, \
        int64_t *: shmem_ctx_int64_atomic_fetch_or, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_or, \
        unsigned long *: shmem_ulong_atomic_fetch_or, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_or, \
        int32_t *: shmem_int32_atomic_fetch_or, \
        int64_t *: shmem_int64_atomic_fetch_or)(__VA_ARGS__)
#define shmem_atomic_fetch_xor(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_xor, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_xor, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_xor, \
        int32_t *: shmem_ctx_int32_atomic_fetch_xor, \
        int64_t *: shmem_ctx_int64_atomic_fetch_xor, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_xor, \
        unsigned long *: shmem_ulong_atomic_fetch_xor, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_xor, \
        int32_t *: shmem_int32_atomic_fetch_xor, \
        int64_t *: shmem_int64_atomic_fetch_xor)(__VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_and_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_and_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_and_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_and_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_and_nbi, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_and_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_and_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_and_nbi, \
        int32_t *: shmem_int32_atomic_fetch_and_nbi, \
        int64_t *: shmem_int64_atomic_fetch_and_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_or_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_or_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_or_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_or_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_or_nbi, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_or_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_or_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_or_nbi, \
        int32_t *: shmem_int32_atomic_fetch_or_nbi, \
        int64_t *: shmem_int64_atomic_fetch_or_nbi)(__VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned int *: shmem_ctx_uint_atomic_fetch_xor_nbi, \
        unsigned long *: shmem_ctx_ulong_atomic_fetch_xor_nbi, \
        unsigned long long *: shmem_ctx_ulonglong_atomic_fetch_xor_nbi, \
        int32_t *: shmem_ctx_int32_atomic_fetch_xor_nbi, \
        int64_t *: shmem_ctx_int64_atomic_fetch_xor_nbi, \
        default: sma_no_routine_for_this_type), \
        unsigned int *: shmem_uint_atomic_fetch_xor_nbi, \
        unsigned long *: shmem_ulong_atomic_fetch_xor_nbi, \
        unsigned long long *: shmem_ulonglong_atomic_fetch_xor_nbi, \
        int32_t *: shmem_int32_atomic_fetch_xor_nbi, \
        int64_t *: shmem_int64_atomic_fetch_xor_nbi)(__VA_ARGS__)
#define shmem_wait_until(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until, \
        int *: shmem_int_wait_until, \
        long *: shmem_long_wait_until, \
        long long *: shmem_longlong_wait_until, \
        unsigned short *: shmem_ushort_wait_until, \
        unsigned int *: shmem_uint_wait_until, \
        unsigned long *: shmem_ulong_wait_until, \
        unsigned long long *: shmem_ulonglong_wait_until)(__VA_ARGS__)
#define shmem_wait_until_all(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_all, \
        int *: shmem_int_wait_until_all, \
        long *: shmem_long_wait_until_all, \
        long long *: shmem_longlong_wait_until_all, \
        unsigned short *: shmem_ushort_wait_until_all, \
        unsigned int *: shmem_uint_wait_until_all, \
        unsigned long *: shmem_ulong_wait_until_all, \
        unsigned long long *: shmem_ulonglong_wait_until_all)(__VA_ARGS__)
#define shmem_wait_until_any(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_any, \
        int *: shmem_int_wait_until_any, \
        long *: shmem_long_wait_until_any, \
        long long *: shmem_longlong_wait_until_any, \
        unsigned short *: shmem_ushort_wait_until_any, \
        unsigned int *: shmem_uint_wait_until_any, \
        unsigned long *: shmem_ulong_wait_until_any, \
        unsigned long long *: shmem_ulonglong_wait_until_any)(__VA_ARGS__)
#define shmem_wait_until_some(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_some, \
        int *: shmem_int_wait_until_some, \
        long *: shmem_long_wait_until_some, \
        long long *: shmem_longlong_wait_until_some, \
        unsigned short *: shmem_ushort_wait_until_some, \
        unsigned int *: shmem_uint_wait_until_some, \
        unsigned long *: shmem_ulong_wait_until_some, \
        unsigned long long *: shmem_ulonglong_wait_until_some)(__VA_ARGS__)
#define shmem_wait_until_all_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_all_vector, \
        int *: shmem_int_wait_until_all_vector, \
        long *: shmem_long_wait_until_all_vector, \
        long long *: shmem_longlong_wait_until_all_vector, \
        unsigned short *: shmem_ushort_wait_until_all_vector, \
        unsigned int *: shmem_uint_wait_until_all_vector, \
        unsigned long *: shmem_ulong_wait_until_all_vector, \
        unsigned long long *: shmem_ulonglong_wait_until_all_vector)(__VA_ARGS__)
#define shmem_wait_until_any_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_any_vector, \
        int *: shmem_int_wait_until_any_vector, \
        long *: shmem_long_wait_until_any_vector, \
        long long *: shmem_longlong_wait_until_any_vector, \
        unsigned short *: shmem_ushort_wait_until_any_vector, \
        unsigned int *: shmem_uint_wait_until_any_vector, \
        unsigned long *: shmem_ulong_wait_until_any_vector, \
        unsigned long long *: shmem_ulonglong_wait_until_any_vector)(__VA_ARGS__)
#define shmem_wait_until_some_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_wait_until_some_vector, \
        int *: shmem_int_wait_until_some_vector, \
        long *: shmem_long_wait_until_some_vector, \
        long long *: shmem_longlong_wait_until_some_vector, \
        unsigned short *: shmem_ushort_wait_until_some_vector, \
        unsigned int *: shmem_uint_wait_until_some_vector, \
        unsigned long *: shmem_ulong_wait_until_some_vector, \
        unsigned long long *: shmem_ulonglong_wait_until_some_vector)(__VA_ARGS__)
#define shmem_test(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test, \
        int *: shmem_int_test, \
        long *: shmem_long_test, \
        long long *: shmem_longlong_test, \
        unsigned short *: shmem_ushort_test, \
        unsigned int *: shmem_uint_test, \
        unsigned long *: shmem_ulong_test, \
        unsigned long long *: shmem_ulonglong_test)(__VA_ARGS__)
#define shmem_test_all(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_all, \
        int *: shmem_int_test_all, \
        long *: shmem_long_test_all, \
        long long *: shmem_longlong_test_all, \
        unsigned short *: shmem_ushort_test_all, \
        unsigned int *: shmem_uint_test_all, \
        unsigned long *: shmem_ulong_test_all, \
        unsigned long long *: shmem_ulonglong_test_all)(__VA_ARGS__)
#define shmem_test_any(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_any, \
        int *: shmem_int_test_any, \
        long *: shmem_long_test_any, \
        long long *: shmem_longlong_test_any, \
        unsigned short *: shmem_ushort_test_any, \
        unsigned int *: shmem_uint_test_any, \
        unsigned long *: shmem_ulong_test_any, \
        unsigned long long *: shmem_ulonglong_test_any)(__VA_ARGS__)
#define shmem_test_some(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_some, \
        int *: shmem_int_test_some, \
        long *: shmem_long_test_some, \
        long long *: shmem_longlong_test_some, \
        unsigned short *: shmem_ushort_test_some, \
        unsigned int *: shmem_uint_test_some, \
        unsigned long *: shmem_ulong_test_some, \
        unsigned long long *: shmem_ulonglong_test_some)(__VA_ARGS__)
#define shmem_test_all_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_all_vector, \
        int *: shmem_int_test_all_vector, \
        long *: shmem_long_test_all_vector, \
        long long *: shmem_longlong_test_all_vector, \
        unsigned short *: shmem_ushort_test_all_vector, \
        unsigned int *: shmem_uint_test_all_vector, \
        unsigned long *: shmem_ulong_test_all_vector, \
        unsigned long long *: shmem_ulonglong_test_all_vector)(__VA_ARGS__)
#define shmem_test_any_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_any_vector, \
        int *: shmem_int_test_any_vector, \
        long *: shmem_long_test_any_vector, \
        long long *: shmem_longlong_test_any_vector, \
        unsigned short *: shmem_ushort_test_any_vector, \
        unsigned int *: shmem_uint_test_any_vector, \
        unsigned long *: shmem_ulong_test_any_vector, \
        unsigned long long *: shmem_ulonglong_test_any_vector)(__VA_ARGS__)
#define shmem_test_some_vector(...) \
    _Generic(SMA_FIRST(__VA_ARGS__, 0), \
        short *: shmem_short_test_some_vector, \
        int *: shmem_int_test_some_vector, \
        long *: shmem_long_test_some_vector, \
        long long *: shmem_longlong_test_some_vector, \
        unsigned short *: shmem_ushort_test_some_vector, \
        unsigned int *: shmem_uint_test_some_vector, \
        unsigned long *: shmem_ulong_test_some_vector, \
        unsigned long long *: shmem_ulonglong_test_some_vector)(__VA_ARGS__)
#define shmem_broadcast(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_float_broadcast, \
        double *: shmem_double_broadcast, \
        long double *: shmem_longdouble_broadcast, \
        char *: shmem_char_broadcast, \
        signed char *: shmem_schar_broadcast, \
        short *: shmem_short_broadcast, \
        int *: shmem_int_broadcast, \
        long *: shmem_long_broadcast, \
        long long *: shmem_longlong_broadcast, \
        unsigned char *: shmem_uchar_broadcast, \
        unsigned short *: shmem_ushort_broadcast, \
        unsigned int *: shmem_uint_broadcast, \
        unsigned long *: shmem_ulong_broadcast, \
        unsigned long long *: shmem_ulonglong_broadcast)(__VA_ARGS__)
#define shmem_collect(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_float_collect, \
        double *: shmem_double_collect, \
        long double *: shmem_longdouble_collect, \
        char *: shmem_char_collect, \
        signed char *: shmem_schar_collect, \
        short *: shmem_short_collect, \
        int *: shmem_int_collect, \
        long *: shmem_long_collect, \
        long long *: shmem_longlong_collect, \
        unsigned char *: shmem_uchar_collect, \
        unsigned short *: shmem_ushort_collect, \
        unsigned int *: shmem_uint_collect, \
        unsigned long *: shmem_ulong_collect, \
        unsigned long long *: shmem_ulonglong_collect)(__VA_ARGS__)
#define shmem_fcollect(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_float_fcollect, \
        double *: shmem_double_fcollect, \
        long double *: shmem_longdouble_fcollect, \
        char *: shmem_char_fcollect, \
        signed char *: shmem_schar_fcollect, \
        short *: shmem_short_fcollect, \
        int *: shmem_int_fcollect, \
        long *: shmem_long_fcollect, \
        long long *: shmem_longlong_fcollect, \
        unsigned char *: shmem_uchar_fcollect, \
        unsigned short *: shmem_ushort_fcollect, \
        unsigned int *: shmem_uint_fcollect, \
        unsigned long *: shmem_ulong_fcollect, \
        unsigned long long *: shmem_ulonglong_fcollect)(__VA_ARGS__)
#define shmem_alltoall(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_float_alltoall, \
        double *: shmem_double_alltoall, \
        long double *: shmem_longdouble_alltoall, \
        char *: shmem_char_alltoall, \
        signed char *: shmem_schar_alltoall, \
        short *: shmem_short_alltoall, \
        int *: shmem_int_alltoall, \
        long *: shmem_long_alltoall, \
        long long *: shmem_longlong_alltoall, \
        unsigned char *: shmem_uchar_alltoall, \
        unsigned short *: shmem_ushort_alltoall, \
        unsigned int *: shmem_uint_alltoall, \
        unsigned long *: shmem_ulong_alltoall, \
        unsigned long long *: shmem_ulonglong_alltoall)(__VA_ARGS__)
#define shmem_alltoalls(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        float *: shmem_float_alltoalls, \
        double *: shmem_double_alltoalls, \
        long double *: shmem_longdouble_alltoalls, \
        char *: shmem_char_alltoalls, \
        signed char *: shmem_schar_alltoalls, \
        short *: shmem_short_alltoalls, \
        int *: shmem_int_alltoalls, \
        long *: shmem_long_alltoalls, \
        long long *: shmem_longlong_alltoalls, \
        unsigned char *: shmem_uchar_alltoalls, \
        unsigned short *: shmem_ushort_alltoalls, \
        unsigned int *: shmem_uint_alltoalls, \
        unsigned long *: shmem_ulong_alltoalls, \
        unsigned long long *: shmem_ulonglong_alltoalls)(__VA_ARGS__)
#define shmem_and_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned char *: shmem_uchar_and_reduce, \
        unsigned short *: shmem_ushort_and_reduce, \
        unsigned int *: shmem_uint_and_reduce, \
        unsigned long *: shmem_ulong_and_reduce, \
        unsigned long long *: shmem_ulonglong_and_reduce, \
        int8_t *: shmem_int8_and_reduce, \
        int16_t *: shmem_int16_and_reduce, \
        int32_t *: shmem_int32_and_reduce, \
        int64_t *: shmem_int64_and_reduce)(__VA_ARGS__)
#define shmem_or_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned char *: shmem_uchar_or_reduce, \
        unsigned short *: shmem_ushort_or_reduce, \
        unsigned int *: shmem_uint_or_reduce, \
        unsigned long *: shmem_ulong_or_reduce, \
        unsigned long long *: shmem_ulonglong_or_reduce, \
        int8_t *: shmem_int8_or_reduce, \
        int16_t *: shmem_int16_or_reduce, \
        int32_t *: shmem_int32_or_reduce, \
        int64_t *: shmem_int64_or_reduce)(__VA_ARGS__)
#define shmem_xor_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        unsigned char *: shmem_uchar_xor_reduce, \
        unsigned short *: shmem_ushort_xor_reduce, \
        unsigned int *: shmem_uint_xor_reduce, \
        unsigned long *: shmem_ulong_xor_reduce, \
        unsigned long long *: shmem_ulonglong_xor_reduce, \
        int8_t *: shmem_int8_xor_reduce, \
        int16_t *: shmem_int16_xor_reduce, \
        int32_t *: shmem_int32_xor_reduce, \
        int64_t *: shmem_int64_xor_reduce)(__VA_ARGS__)
#define shmem_max_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_max_reduce, \
        signed char *: shmem_schar_max_reduce, \
        short *: shmem_short_max_reduce, \
        int *: shmem_int_max_reduce, \
        long *: shmem_long_max_reduce, \
        long long *: shmem_longlong_max_reduce, \
        unsigned char *: shmem_uchar_max_reduce, \
        unsigned short *: shmem_ushort_max_reduce, \
        unsigned int *: shmem_uint_max_reduce, \
        unsigned long *: shmem_ulong_max_reduce, \
        unsigned long long *: shmem_ulonglong_max_reduce, \
        float *: shmem_float_max_reduce, \
        double *: shmem_double_max_reduce, \
        long double *: shmem_longdouble_max_reduce)(__VA_ARGS__)
#define shmem_min_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_min_reduce, \
        signed char *: shmem_schar_min_reduce, \
        short *: shmem_short_min_reduce, \
        int *: shmem_int_min_reduce, \
        long *: shmem_long_min_reduce, \
        long long *: shmem_longlong_min_reduce, \
        unsigned char *: shmem_uchar_min_reduce, \
        unsigned short *: shmem_ushort_min_reduce, \
        unsigned int *: shmem_uint_min_reduce, \
        unsigned long *: shmem_ulong_min_reduce, \
        unsigned long long *: shmem_ulonglong_min_reduce, \
        float *: shmem_float_min_reduce, \
        double *: shmem_double_min_reduce, \
        long double *: shmem_longdouble_min_reduce)(__VA_ARGS__)
#define shmem_sum_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_sum_reduce, \
        signed char *: shmem_schar_sum_reduce, \
        short *: shmem_short_sum_reduce, \
        int *: shmem_int_sum_reduce, \
        long *: shmem_long_sum_reduce, \
        long long *: shmem_longlong_sum_reduce, \
        unsigned char *: shmem_uchar_sum_reduce, \
        unsigned short *: shmem_ushort_sum_reduce, \
        unsigned int *: shmem_uint_sum_reduce, \
        unsigned long *: shmem_ulong_sum_reduce, \
        unsigned long long *: shmem_ulonglong_sum_reduce, \
        float *: shmem_float_sum_reduce, \
        double *: shmem_double_sum_reduce, \
        long double *: shmem_longdouble_sum_reduce, \
        sma_complexd *: shmem_complexd_sum_reduce, \
        sma_complexf *: shmem_complexf_sum_reduce)(__VA_ARGS__)
#define shmem_prod_reduce(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_prod_reduce, \
        signed char *: shmem_schar_prod_reduce, \
        short *: shmem_short_prod_reduce, \
        int *: shmem_int_prod_reduce, \
        long *: shmem_long_prod_reduce, \
        long long *: shmem_longlong_prod_reduce, \
        unsigned char *: shmem_uchar_prod_reduce, \
        unsigned short *: shmem_ushort_prod_reduce, \
        unsigned int *: shmem_uint_prod_reduce, \
        unsigned long *: shmem_ulong_prod_reduce, \
        unsigned long long *: shmem_ulonglong_prod_reduce, \
        float *: shmem_float_prod_reduce, \
        double *: shmem_double_prod_reduce, \
        long double *: shmem_longdouble_prod_reduce, \
        sma_complexd *: shmem_complexd_prod_reduce, \
        sma_complexf *: shmem_complexf_prod_reduce)(__VA_ARGS__)
#define shmem_sum_inscan(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_sum_inscan, \
        signed char *: shmem_schar_sum_inscan, \
        short *: shmem_short_sum_inscan, \
        int *: shmem_int_sum_inscan, \
        long *: shmem_long_sum_inscan, \
        long long *: shmem_longlong_sum_inscan, \
        unsigned char *: shmem_uchar_sum_inscan, \
        unsigned short *: shmem_ushort_sum_inscan, \
        unsigned int *: shmem_uint_sum_inscan, \
        unsigned long *: shmem_ulong_sum_inscan, \
        unsigned long long *: shmem_ulonglong_sum_inscan, \
        float *: shmem_float_sum_inscan, \
        double *: shmem_double_sum_inscan, \
        long double *: shmem_longdouble_sum_inscan, \
        sma_complexd *: shmem_complexd_sum_inscan, \
        sma_complexf *: shmem_complexf_sum_inscan)(__VA_ARGS__)
#define shmem_sum_exscan(...) \
    _Generic(SMA_SECOND(__VA_ARGS__, 0, 0), \
        char *: shmem_char_sum_exscan, \
        signed char *: shmem_schar_sum_exscan, \
        short *: shmem_short_sum_exscan, \
        int *: shmem_int_sum_exscan, \
        long *: shmem_long_sum_exscan, \
        long long *: shmem_longlong_sum_exscan, \
        unsigned char *: shmem_uchar_sum_exscan, \
        unsigned short *: shmem_ushort_sum_exscan, \
        unsigned int *: shmem_uint_sum_exscan, \
        unsigned long *: shmem_ulong_sum_exscan, \
        unsigned long long *: shmem_ulonglong_sum_exscan, \
        float *: shmem_float_sum_exscan, \
        double *: shmem_double_sum_exscan, \
        long double *: shmem_longdouble_sum_exscan, \
        sma_complexd *: shmem_complexd_sum_exscan, \
        sma_complexf *: shmem_complexf_sum_exscan)(__VA_ARGS__)
#define shmem_sync(...) _Generic(SMA_FIRST(__VA_ARGS__, 0), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)
#endif

#if defined(__cplusplus) && !defined(SHMEM_NO_GENERICS)
static inline void shmem_put(float *dest, const float *source, size_t nelems, int pe) { shmem_float_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe) { shmem_ctx_float_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(double *dest, const double *source, size_t nelems, int pe) { shmem_double_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe) { shmem_ctx_double_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(long double *dest, const long double *source, size_t nelems, int pe) { shmem_longdouble_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe) { shmem_ctx_longdouble_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(char *dest, const char *source, size_t nelems, int pe) { shmem_char_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe) { shmem_ctx_char_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_schar_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_ctx_schar_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(short *dest, const short *source, size_t nelems, int pe) { shmem_short_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe) { shmem_ctx_short_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(int *dest, const int *source, size_t nelems, int pe) { shmem_int_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe) { shmem_ctx_int_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(long *dest, const long *source, size_t nelems, int pe) { shmem_long_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe) { shmem_ctx_long_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(long long *dest, const long long *source, size_t nelems, int pe) { shmem_longlong_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe) { shmem_ctx_longlong_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_uchar_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_ctx_uchar_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ushort_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ctx_ushort_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_uint_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_ctx_uint_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ulong_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ctx_ulong_put(ctx, dest, source, nelems, pe); }
static inline void shmem_put(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ulonglong_put(dest, source, nelems, pe); }
static inline void shmem_put(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ctx_ulonglong_put(ctx, dest, source, nelems, pe); }
static inline void shmem_p(float *dest, float value, int pe) { shmem_float_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, float *dest, float value, int pe) { shmem_ctx_float_p(ctx, dest, value, pe); }
static inline void shmem_p(double *dest, double value, int pe) { shmem_double_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, double *dest, double value, int pe) { shmem_ctx_double_p(ctx, dest, value, pe); }
static inline void shmem_p(long double *dest, long double value, int pe) { shmem_longdouble_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, long double *dest, long double value, int pe) { shmem_ctx_longdouble_p(ctx, dest, value, pe); }
static inline void shmem_p(char *dest, char value, int pe) { shmem_char_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, char *dest, char value, int pe) { shmem_ctx_char_p(ctx, dest, value, pe); }
static inline void shmem_p(signed char *dest, signed char value, int pe) { shmem_schar_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, signed char *dest, signed char value, int pe) { shmem_ctx_schar_p(ctx, dest, value, pe); }
static inline void shmem_p(short *dest, short value, int pe) { shmem_short_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, short *dest, short value, int pe) { shmem_ctx_short_p(ctx, dest, value, pe); }
static inline void shmem_p(int *dest, int value, int pe) { shmem_int_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, int *dest, int value, int pe) { shmem_ctx_int_p(ctx, dest, value, pe); }
static inline void shmem_p(long *dest, long value, int pe) { shmem_long_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, long *dest, long value, int pe) { shmem_ctx_long_p(ctx, dest, value, pe); }
static inline void shmem_p(long long *dest, long long value, int pe) { shmem_longlong_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, long long *dest, long long value, int pe) { shmem_ctx_longlong_p(ctx, dest, value, pe); }
static inline void shmem_p(unsigned char *dest, unsigned char value, int pe) { shmem_uchar_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, unsigned char *dest, unsigned char value, int pe) { shmem_ctx_uchar_p(ctx, dest, value, pe); }
static inline void shmem_p(unsigned short *dest, unsigned short value, int pe) { shmem_ushort_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, unsigned short *dest, unsigned short value, int pe) { shmem_ctx_ushort_p(ctx, dest, value, pe); }
static inline void shmem_p(unsigned int *dest, unsigned int value, int pe) { shmem_uint_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_p(ctx, dest, value, pe); }
static inline void shmem_p(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_p(ctx, dest, value, pe); }
static inline void shmem_p(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_p(dest, value, pe); }
static inline void shmem_p(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_p(ctx, dest, value, pe); }
static inline void shmem_get(float *dest, const float *source, size_t nelems, int pe) { shmem_float_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe) { shmem_ctx_float_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(double *dest, const double *source, size_t nelems, int pe) { shmem_double_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe) { shmem_ctx_double_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(long double *dest, const long double *source, size_t nelems, int pe) { shmem_longdouble_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe) { shmem_ctx_longdouble_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(char *dest, const char *source, size_t nelems, int pe) { shmem_char_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe) { shmem_ctx_char_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_schar_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_ctx_schar_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(short *dest, const short *source, size_t nelems, int pe) { shmem_short_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe) { shmem_ctx_short_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(int *dest, const int *source, size_t nelems, int pe) { shmem_int_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe) { shmem_ctx_int_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(long *dest, const long *source, size_t nelems, int pe) { shmem_long_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe) { shmem_ctx_long_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(long long *dest, const long long *source, size_t nelems, int pe) { shmem_longlong_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe) { shmem_ctx_longlong_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_uchar_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_ctx_uchar_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ushort_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ctx_ushort_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_uint_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_ctx_uint_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ulong_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ctx_ulong_get(ctx, dest, source, nelems, pe); }
static inline void shmem_get(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ulonglong_get(dest, source, nelems, pe); }
static inline void shmem_get(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ctx_ulonglong_get(ctx, dest, source, nelems, pe); }
static inline float shmem_g(const float *source, int pe) { return shmem_float_g(source, pe); }
static inline float shmem_g(shmem_ctx_t ctx, const float *source, int pe) { return shmem_ctx_float_g(ctx, source, pe); }
static inline double shmem_g(const double *source, int pe) { return shmem_double_g(source, pe); }
static inline double shmem_g(shmem_ctx_t ctx, const double *source, int pe) { return shmem_ctx_double_g(ctx, source, pe); }
static inline long double shmem_g(const long double *source, int pe) { return shmem_longdouble_g(source, pe); }
static inline long double shmem_g(shmem_ctx_t ctx, const long double *source, int pe) { return shmem_ctx_longdouble_g(ctx, source, pe); }
static inline char shmem_g(const char *source, int pe) { return shmem_char_g(source, pe); }
static inline char shmem_g(shmem_ctx_t ctx, const char *source, int pe) { return shmem_ctx_char_g(ctx, source, pe); }
static inline signed char shmem_g(const signed char *source, int pe) { return shmem_schar_g(source, pe); }
static inline signed char shmem_g(shmem_ctx_t ctx, const signed char *source, int pe) { return shmem_ctx_schar_g(ctx, source, pe); }
static inline short shmem_g(const short *source, int pe) { return shmem_short_g(source, pe); }
static inline short shmem_g(shmem_ctx_t ctx, const short *source, int pe) { return shmem_ctx_short_g(ctx, source, pe); }
static inline int shmem_g(const int *source, int pe) { return shmem_int_g(source, pe); }
static inline int shmem_g(shmem_ctx_t ctx, const int *source, int pe) { return shmem_ctx_int_g(ctx, source, pe); }
static inline long shmem_g(const long *source, int pe) { return shmem_long_g(source, pe); }
static inline long shmem_g(shmem_ctx_t ctx, const long *source, int pe) { return shmem_ctx_long_g(ctx, source, pe); }
static inline long long shmem_g(const long long *source, int pe) { return shmem_longlong_g(source, pe); }
static inline long long shmem_g(shmem_ctx_t ctx, const long long *source, int pe) { return shmem_ctx_longlong_g(ctx, source, pe); }
static inline unsigned char shmem_g(const unsigned char *source, int pe) { return shmem_uchar_g(source, pe); }
static inline unsigned char shmem_g(shmem_ctx_t ctx, const unsigned char *source, int pe) { return shmem_ctx_uchar_g(ctx, source, pe); }
static inline unsigned short shmem_g(const unsigned short *source, int pe) { return shmem_ushort_g(source, pe); }
static inline unsigned short shmem_g(shmem_ctx_t ctx, const unsigned short *source, int pe) { return shmem_ctx_ushort_g(ctx, source, pe); }
static inline unsigned int shmem_g(const unsigned int *source, int pe) { return shmem_uint_g(source, pe); }
static inline unsigned int shmem_g(shmem_ctx_t ctx, const unsigned int *source, int pe) { return shmem_ctx_uint_g(ctx, source, pe); }
static inline unsigned long shmem_g(const unsigned long *source, int pe) { return shmem_ulong_g(source, pe); }
static inline unsigned long shmem_g(shmem_ctx_t ctx, const unsigned long *source, int pe) { return shmem_ctx_ulong_g(ctx, source, pe); }
static inline unsigned long long shmem_g(const unsigned long long *source, int pe) { return shmem_ulonglong_g(source, pe); }
static inline unsigned long long shmem_g(shmem_ctx_t ctx, const unsigned long long *source, int pe) { return shmem_ctx_ulonglong_g(ctx, source, pe); }
static inline void shmem_put_nbi(float *dest, const float *source, size_t nelems, int pe) { shmem_float_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe) { shmem_ctx_float_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(double *dest, const double *source, size_t nelems, int pe) { shmem_double_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe) { shmem_ctx_double_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(long double *dest, const long double *source, size_t nelems, int pe) { shmem_longdouble_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe) { shmem_ctx_longdouble_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(char *dest, const char *source, size_t nelems, int pe) { shmem_char_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe) { shmem_ctx_char_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_schar_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_ctx_schar_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(short *dest, const short *source, size_t nelems, int pe) { shmem_short_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe) { shmem_ctx_short_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(int *dest, const int *source, size_t nelems, int pe) { shmem_int_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe) { shmem_ctx_int_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(long *dest, const long *source, size_t nelems, int pe) { shmem_long_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe) { shmem_ctx_long_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(long long *dest, const long long *source, size_t nelems, int pe) { shmem_longlong_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe) { shmem_ctx_longlong_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_uchar_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_ctx_uchar_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ushort_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ctx_ushort_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_uint_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_ctx_uint_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ulong_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ctx_ulong_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_put_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ulonglong_put_nbi(dest, source, nelems, pe); }
static inline void shmem_put_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ctx_ulonglong_put_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(float *dest, const float *source, size_t nelems, int pe) { shmem_float_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, int pe) { shmem_ctx_float_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(double *dest, const double *source, size_t nelems, int pe) { shmem_double_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, int pe) { shmem_ctx_double_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(long double *dest, const long double *source, size_t nelems, int pe) { shmem_longdouble_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, int pe) { shmem_ctx_longdouble_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(char *dest, const char *source, size_t nelems, int pe) { shmem_char_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, int pe) { shmem_ctx_char_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_schar_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, int pe) { shmem_ctx_schar_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(short *dest, const short *source, size_t nelems, int pe) { shmem_short_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, int pe) { shmem_ctx_short_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(int *dest, const int *source, size_t nelems, int pe) { shmem_int_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, int pe) { shmem_ctx_int_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(long *dest, const long *source, size_t nelems, int pe) { shmem_long_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, int pe) { shmem_ctx_long_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(long long *dest, const long long *source, size_t nelems, int pe) { shmem_longlong_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, int pe) { shmem_ctx_longlong_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_uchar_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, int pe) { shmem_ctx_uchar_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ushort_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, int pe) { shmem_ctx_ushort_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_uint_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, int pe) { shmem_ctx_uint_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ulong_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, int pe) { shmem_ctx_ulong_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_get_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ulonglong_get_nbi(dest, source, nelems, pe); }
static inline void shmem_get_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, int pe) { shmem_ctx_ulonglong_get_nbi(ctx, dest, source, nelems, pe); }
static inline void shmem_iput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_float_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_float_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_double_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_double_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_longdouble_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_longdouble_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_char_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_char_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_schar_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_schar_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_short_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_short_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_int_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_int_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_long_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_long_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_longlong_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_longlong_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_uchar_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_uchar_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ushort_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ushort_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_uint_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_uint_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ulong_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ulong_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ulonglong_iput(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ulonglong_iput(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_float_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_float_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_double_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_double_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_longdouble_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_longdouble_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_char_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_char_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_schar_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_schar_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_short_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_short_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_int_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_int_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_long_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_long_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_longlong_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_longlong_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_uchar_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_uchar_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ushort_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ushort_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_uint_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_uint_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ulong_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ulong_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ulonglong_iget(dest, source, dst, sst, nelems, pe); }
static inline void shmem_iget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) { shmem_ctx_ulonglong_iget(ctx, dest, source, dst, sst, nelems, pe); }
static inline void shmem_ibput(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_float_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_float_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_double_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_double_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_longdouble_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_longdouble_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_char_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_char_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_schar_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_schar_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_short_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_short_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_int_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_int_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_long_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_long_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_longlong_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_longlong_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_uchar_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_uchar_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ushort_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ushort_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_uint_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_uint_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ulong_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ulong_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ulonglong_ibput(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibput(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ulonglong_ibput(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_float_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_float_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_double_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_double_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_longdouble_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_longdouble_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_char_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_char_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_schar_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_schar_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_short_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_short_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_int_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_int_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_long_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_long_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_longlong_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_longlong_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_uchar_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_uchar_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ushort_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ushort_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_uint_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_uint_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ulong_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ulong_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ulonglong_ibget(dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_ibget(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) { shmem_ctx_ulonglong_ibget(ctx, dest, source, dst, sst, bsize, nblocks, pe); }
static inline void shmem_put_signal(float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_float_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_float_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_double_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_double_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_longdouble_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_longdouble_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_char_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_char_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_schar_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_schar_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_short_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_short_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_int_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_int_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_long_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_long_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_longlong_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_longlong_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_uchar_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_uchar_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ushort_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ushort_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_uint_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_uint_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ulong_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ulong_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ulonglong_put_signal(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ulonglong_put_signal(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_float_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, float *dest, const float *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_float_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_double_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, double *dest, const double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_double_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_longdouble_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, long double *dest, const long double *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_longdouble_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_char_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, char *dest, const char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_char_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_schar_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, signed char *dest, const signed char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_schar_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_short_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, short *dest, const short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_short_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_int_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, int *dest, const int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_int_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_long_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, long *dest, const long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_long_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_longlong_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, long long *dest, const long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_longlong_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_uchar_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, unsigned char *dest, const unsigned char *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_uchar_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ushort_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, unsigned short *dest, const unsigned short *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ushort_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_uint_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, unsigned int *dest, const unsigned int *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_uint_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ulong_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, unsigned long *dest, const unsigned long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ulong_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ulonglong_put_signal_nbi(dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_put_signal_nbi(shmem_ctx_t ctx, unsigned long long *dest, const unsigned long long *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) { shmem_ctx_ulonglong_put_signal_nbi(ctx, dest, source, nelems, sig_addr, signal, sig_op, pe); }
static inline void shmem_atomic_add(int *dest, int value, int pe) { shmem_int_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, int *dest, int value, int pe) { shmem_ctx_int_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_add(long *dest, long value, int pe) { shmem_long_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, long *dest, long value, int pe) { shmem_ctx_long_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_add(long long *dest, long long value, int pe) { shmem_longlong_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, long long *dest, long long value, int pe) { shmem_ctx_longlong_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_add(unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_add(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_add(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_add(dest, value, pe); }
static inline void shmem_atomic_add(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_add(ctx, dest, value, pe); }
static inline void shmem_atomic_inc(int *dest, int pe) { shmem_int_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, int *dest, int pe) { shmem_ctx_int_atomic_inc(ctx, dest, pe); }
static inline void shmem_atomic_inc(long *dest, int pe) { shmem_long_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, long *dest, int pe) { shmem_ctx_long_atomic_inc(ctx, dest, pe); }
static inline void shmem_atomic_inc(long long *dest, int pe) { shmem_longlong_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, long long *dest, int pe) { shmem_ctx_longlong_atomic_inc(ctx, dest, pe); }
static inline void shmem_atomic_inc(unsigned int *dest, int pe) { shmem_uint_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, unsigned int *dest, int pe) { shmem_ctx_uint_atomic_inc(ctx, dest, pe); }
static inline void shmem_atomic_inc(unsigned long *dest, int pe) { shmem_ulong_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, unsigned long *dest, int pe) { shmem_ctx_ulong_atomic_inc(ctx, dest, pe); }
static inline void shmem_atomic_inc(unsigned long long *dest, int pe) { shmem_ulonglong_atomic_inc(dest, pe); }
static inline void shmem_atomic_inc(shmem_ctx_t ctx, unsigned long long *dest, int pe) { shmem_ctx_ulonglong_atomic_inc(ctx, dest, pe); }
static inline int shmem_atomic_fetch_add(int *dest, int value, int pe) { return shmem_int_atomic_fetch_add(dest, value, pe); }
static inline int shmem_atomic_fetch_add(shmem_ctx_t ctx, int *dest, int value, int pe) { return shmem_ctx_int_atomic_fetch_add(ctx, dest, value, pe); }
static inline long shmem_atomic_fetch_add(long *dest, long value, int pe) { return shmem_long_atomic_fetch_add(dest, value, pe); }
static inline long shmem_atomic_fetch_add(shmem_ctx_t ctx, long *dest, long value, int pe) { return shmem_ctx_long_atomic_fetch_add(ctx, dest, value, pe); }
static inline long long shmem_atomic_fetch_add(long long *dest, long long value, int pe) { return shmem_longlong_atomic_fetch_add(dest, value, pe); }
static inline long long shmem_atomic_fetch_add(shmem_ctx_t ctx, long long *dest, long long value, int pe) { return shmem_ctx_longlong_atomic_fetch_add(ctx, dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_add(unsigned int *dest, unsigned int value, int pe) { return shmem_uint_atomic_fetch_add(dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_add(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { return shmem_ctx_uint_atomic_fetch_add(ctx, dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_add(unsigned long *dest, unsigned long value, int pe) { return shmem_ulong_atomic_fetch_add(dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_add(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_fetch_add(ctx, dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_add(unsigned long long *dest, unsigned long long value, int pe) { return shmem_ulonglong_atomic_fetch_add(dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_add(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_fetch_add(ctx, dest, value, pe); }
static inline int shmem_atomic_fetch_inc(int *dest, int pe) { return shmem_int_atomic_fetch_inc(dest, pe); }
static inline int shmem_atomic_fetch_inc(shmem_ctx_t ctx, int *dest, int pe) { return shmem_ctx_int_atomic_fetch_inc(ctx, dest, pe); }
static inline long shmem_atomic_fetch_inc(long *dest, int pe) { return shmem_long_atomic_fetch_inc(dest, pe); }
static inline long shmem_atomic_fetch_inc(shmem_ctx_t ctx, long *dest, int pe) { return shmem_ctx_long_atomic_fetch_inc(ctx, dest, pe); }
static inline long long shmem_atomic_fetch_inc(long long *dest, int pe) { return shmem_longlong_atomic_fetch_inc(dest, pe); }
static inline long long shmem_atomic_fetch_inc(shmem_ctx_t ctx, long long *dest, int pe) { return shmem_ctx_longlong_atomic_fetch_inc(ctx, dest, pe); }
static inline unsigned int shmem_atomic_fetch_inc(unsigned int *dest, int pe) { return shmem_uint_atomic_fetch_inc(dest, pe); }
static inline unsigned int shmem_atomic_fetch_inc(shmem_ctx_t ctx, unsigned int *dest, int pe) { return shmem_ctx_uint_atomic_fetch_inc(ctx, dest, pe); }
static inline unsigned long shmem_atomic_fetch_inc(unsigned long *dest, int pe) { return shmem_ulong_atomic_fetch_inc(dest, pe); }
static inline unsigned long shmem_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long *dest, int pe) { return shmem_ctx_ulong_atomic_fetch_inc(ctx, dest, pe); }
static inline unsigned long long shmem_atomic_fetch_inc(unsigned long long *dest, int pe) { return shmem_ulonglong_atomic_fetch_inc(dest, pe); }
static inline unsigned long long shmem_atomic_fetch_inc(shmem_ctx_t ctx, unsigned long long *dest, int pe) { return shmem_ctx_ulonglong_atomic_fetch_inc(ctx, dest, pe); }
static inline int shmem_atomic_compare_swap(int *dest, int cond, int value, int pe) { return shmem_int_atomic_compare_swap(dest, cond, value, pe); }
static inline int shmem_atomic_compare_swap(shmem_ctx_t ctx, int *dest, int cond, int value, int pe) { return shmem_ctx_int_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline long shmem_atomic_compare_swap(long *dest, long cond, long value, int pe) { return shmem_long_atomic_compare_swap(dest, cond, value, pe); }
static inline long shmem_atomic_compare_swap(shmem_ctx_t ctx, long *dest, long cond, long value, int pe) { return shmem_ctx_long_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline long long shmem_atomic_compare_swap(long long *dest, long long cond, long long value, int pe) { return shmem_longlong_atomic_compare_swap(dest, cond, value, pe); }
static inline long long shmem_atomic_compare_swap(shmem_ctx_t ctx, long long *dest, long long cond, long long value, int pe) { return shmem_ctx_longlong_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline unsigned int shmem_atomic_compare_swap(unsigned int *dest, unsigned int cond, unsigned int value, int pe) { return shmem_uint_atomic_compare_swap(dest, cond, value, pe); }
static inline unsigned int shmem_atomic_compare_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned int cond, unsigned int value, int pe) { return shmem_ctx_uint_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline unsigned long shmem_atomic_compare_swap(unsigned long *dest, unsigned long cond, unsigned long value, int pe) { return shmem_ulong_atomic_compare_swap(dest, cond, value, pe); }
static inline unsigned long shmem_atomic_compare_swap(shmem_ctx_t ctx, unsigned long *dest, unsigned long cond, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline unsigned long long shmem_atomic_compare_swap(unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe) { return shmem_ulonglong_atomic_compare_swap(dest, cond, value, pe); }
static inline unsigned long long shmem_atomic_compare_swap(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_compare_swap(ctx, dest, cond, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(int *fetch, int *dest, int value, int pe) { shmem_int_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe) { shmem_ctx_int_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(long *fetch, long *dest, long value, int pe) { shmem_long_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe) { shmem_ctx_long_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(long long *fetch, long long *dest, long long value, int pe) { shmem_longlong_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long value, int pe) { shmem_ctx_longlong_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_fetch_add_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_add_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_fetch_add_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_inc_nbi(int *fetch, int *dest, int pe) { shmem_int_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int pe) { shmem_ctx_int_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(long *fetch, long *dest, int pe) { shmem_long_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long *fetch, long *dest, int pe) { shmem_ctx_long_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(long long *fetch, long long *dest, int pe) { shmem_longlong_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, int pe) { shmem_ctx_longlong_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(unsigned int *fetch, unsigned int *dest, int pe) { shmem_uint_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, int pe) { shmem_ctx_uint_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(unsigned long *fetch, unsigned long *dest, int pe) { shmem_ulong_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, int pe) { shmem_ctx_ulong_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(unsigned long long *fetch, unsigned long long *dest, int pe) { shmem_ulonglong_atomic_fetch_inc_nbi(fetch, dest, pe); }
static inline void shmem_atomic_fetch_inc_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, int pe) { shmem_ctx_ulonglong_atomic_fetch_inc_nbi(ctx, fetch, dest, pe); }
static inline void shmem_atomic_compare_swap_nbi(int *fetch, int *dest, int cond, int value, int pe) { shmem_int_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int cond, int value, int pe) { shmem_ctx_int_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(long *fetch, long *dest, long cond, long value, int pe) { shmem_long_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long cond, long value, int pe) { shmem_ctx_long_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(long long *fetch, long long *dest, long long cond, long long value, int pe) { shmem_longlong_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long cond, long long value, int pe) { shmem_ctx_longlong_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int cond, unsigned int value, int pe) { shmem_uint_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int cond, unsigned int value, int pe) { shmem_ctx_uint_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned long cond, unsigned long value, int pe) { shmem_ulong_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long cond, unsigned long value, int pe) { shmem_ctx_ulong_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe) { shmem_ulonglong_atomic_compare_swap_nbi(fetch, dest, cond, value, pe); }
static inline void shmem_atomic_compare_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long cond, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_compare_swap_nbi(ctx, fetch, dest, cond, value, pe); }
static inline float shmem_atomic_fetch(const float *source, int pe) { return shmem_float_atomic_fetch(source, pe); }
static inline float shmem_atomic_fetch(shmem_ctx_t ctx, const float *source, int pe) { return shmem_ctx_float_atomic_fetch(ctx, source, pe); }
static inline double shmem_atomic_fetch(const double *source, int pe) { return shmem_double_atomic_fetch(source, pe); }
static inline double shmem_atomic_fetch(shmem_ctx_t ctx, const double *source, int pe) { return shmem_ctx_double_atomic_fetch(ctx, source, pe); }
static inline int shmem_atomic_fetch(const int *source, int pe) { return shmem_int_atomic_fetch(source, pe); }
static inline int shmem_atomic_fetch(shmem_ctx_t ctx, const int *source, int pe) { return shmem_ctx_int_atomic_fetch(ctx, source, pe); }
static inline long shmem_atomic_fetch(const long *source, int pe) { return shmem_long_atomic_fetch(source, pe); }
static inline long shmem_atomic_fetch(shmem_ctx_t ctx, const long *source, int pe) { return shmem_ctx_long_atomic_fetch(ctx, source, pe); }
static inline long long shmem_atomic_fetch(const long long *source, int pe) { return shmem_longlong_atomic_fetch(source, pe); }
static inline long long shmem_atomic_fetch(shmem_ctx_t ctx, const long long *source, int pe) { return shmem_ctx_longlong_atomic_fetch(ctx, source, pe); }
static inline unsigned int shmem_atomic_fetch(const unsigned int *source, int pe) { return shmem_uint_atomic_fetch(source, pe); }
static inline unsigned int shmem_atomic_fetch(shmem_ctx_t ctx, const unsigned int *source, int pe) { return shmem_ctx_uint_atomic_fetch(ctx, source, pe); }
static inline unsigned long shmem_atomic_fetch(const unsigned long *source, int pe) { return shmem_ulong_atomic_fetch(source, pe); }
static inline unsigned long shmem_atomic_fetch(shmem_ctx_t ctx, const unsigned long *source, int pe) { return shmem_ctx_ulong_atomic_fetch(ctx, source, pe); }
static inline unsigned long long shmem_atomic_fetch(const unsigned long long *source, int pe) { return shmem_ulonglong_atomic_fetch(source, pe); }
static inline unsigned long long shmem_atomic_fetch(shmem_ctx_t ctx, const unsigned long long *source, int pe) { return shmem_ctx_ulonglong_atomic_fetch(ctx, source, pe); }
static inline void shmem_atomic_fetch_nbi(float *fetch, const float *source, int pe) { shmem_float_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, float *fetch, const float *source, int pe) { shmem_ctx_float_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(double *fetch, const double *source, int pe) { shmem_double_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, double *fetch, const double *source, int pe) { shmem_ctx_double_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(int *fetch, const int *source, int pe) { shmem_int_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, int *fetch, const int *source, int pe) { shmem_ctx_int_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(long *fetch, const long *source, int pe) { shmem_long_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, long *fetch, const long *source, int pe) { shmem_ctx_long_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(long long *fetch, const long long *source, int pe) { shmem_longlong_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, long long *fetch, const long long *source, int pe) { shmem_ctx_longlong_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(unsigned int *fetch, const unsigned int *source, int pe) { shmem_uint_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned int *fetch, const unsigned int *source, int pe) { shmem_ctx_uint_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(unsigned long *fetch, const unsigned long *source, int pe) { shmem_ulong_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long *fetch, const unsigned long *source, int pe) { shmem_ctx_ulong_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(unsigned long long *fetch, const unsigned long long *source, int pe) { shmem_ulonglong_atomic_fetch_nbi(fetch, source, pe); }
static inline void shmem_atomic_fetch_nbi(shmem_ctx_t ctx, unsigned long long *fetch, const unsigned long long *source, int pe) { shmem_ctx_ulonglong_atomic_fetch_nbi(ctx, fetch, source, pe); }
static inline void shmem_atomic_set(float *dest, float value, int pe) { shmem_float_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, float *dest, float value, int pe) { shmem_ctx_float_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(double *dest, double value, int pe) { shmem_double_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, double *dest, double value, int pe) { shmem_ctx_double_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(int *dest, int value, int pe) { shmem_int_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, int *dest, int value, int pe) { shmem_ctx_int_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(long *dest, long value, int pe) { shmem_long_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, long *dest, long value, int pe) { shmem_ctx_long_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(long long *dest, long long value, int pe) { shmem_longlong_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, long long *dest, long long value, int pe) { shmem_ctx_longlong_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_set(ctx, dest, value, pe); }
static inline void shmem_atomic_set(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_set(dest, value, pe); }
static inline void shmem_atomic_set(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_set(ctx, dest, value, pe); }
static inline float shmem_atomic_swap(float *dest, float value, int pe) { return shmem_float_atomic_swap(dest, value, pe); }
static inline float shmem_atomic_swap(shmem_ctx_t ctx, float *dest, float value, int pe) { return shmem_ctx_float_atomic_swap(ctx, dest, value, pe); }
static inline double shmem_atomic_swap(double *dest, double value, int pe) { return shmem_double_atomic_swap(dest, value, pe); }
static inline double shmem_atomic_swap(shmem_ctx_t ctx, double *dest, double value, int pe) { return shmem_ctx_double_atomic_swap(ctx, dest, value, pe); }
static inline int shmem_atomic_swap(int *dest, int value, int pe) { return shmem_int_atomic_swap(dest, value, pe); }
static inline int shmem_atomic_swap(shmem_ctx_t ctx, int *dest, int value, int pe) { return shmem_ctx_int_atomic_swap(ctx, dest, value, pe); }
static inline long shmem_atomic_swap(long *dest, long value, int pe) { return shmem_long_atomic_swap(dest, value, pe); }
static inline long shmem_atomic_swap(shmem_ctx_t ctx, long *dest, long value, int pe) { return shmem_ctx_long_atomic_swap(ctx, dest, value, pe); }
static inline long long shmem_atomic_swap(long long *dest, long long value, int pe) { return shmem_longlong_atomic_swap(dest, value, pe); }
static inline long long shmem_atomic_swap(shmem_ctx_t ctx, long long *dest, long long value, int pe) { return shmem_ctx_longlong_atomic_swap(ctx, dest, value, pe); }
static inline unsigned int shmem_atomic_swap(unsigned int *dest, unsigned int value, int pe) { return shmem_uint_atomic_swap(dest, value, pe); }
static inline unsigned int shmem_atomic_swap(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { return shmem_ctx_uint_atomic_swap(ctx, dest, value, pe); }
static inline unsigned long shmem_atomic_swap(unsigned long *dest, unsigned long value, int pe) { return shmem_ulong_atomic_swap(dest, value, pe); }
static inline unsigned long shmem_atomic_swap(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_swap(ctx, dest, value, pe); }
static inline unsigned long long shmem_atomic_swap(unsigned long long *dest, unsigned long long value, int pe) { return shmem_ulonglong_atomic_swap(dest, value, pe); }
static inline unsigned long long shmem_atomic_swap(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_swap(ctx, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(float *fetch, float *dest, float value, int pe) { shmem_float_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, float *fetch, float *dest, float value, int pe) { shmem_ctx_float_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(double *fetch, double *dest, double value, int pe) { shmem_double_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, double *fetch, double *dest, double value, int pe) { shmem_ctx_double_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(int *fetch, int *dest, int value, int pe) { shmem_int_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, int *fetch, int *dest, int value, int pe) { shmem_ctx_int_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(long *fetch, long *dest, long value, int pe) { shmem_long_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, long *fetch, long *dest, long value, int pe) { shmem_ctx_long_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(long long *fetch, long long *dest, long long value, int pe) { shmem_longlong_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, long long *fetch, long long *dest, long long value, int pe) { shmem_ctx_longlong_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_swap_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_swap_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_swap_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_and(unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_and(dest, value, pe); }
static inline void shmem_atomic_and(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_and(ctx, dest, value, pe); }
static inline void shmem_atomic_and(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_and(dest, value, pe); }
static inline void shmem_atomic_and(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_and(ctx, dest, value, pe); }
static inline void shmem_atomic_and(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_and(dest, value, pe); }
static inline void shmem_atomic_and(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_and(ctx, dest, value, pe); }
static inline void shmem_atomic_and(int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_and(dest, value, pe); }
static inline void shmem_atomic_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_and(ctx, dest, value, pe); }
static inline void shmem_atomic_and(int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_and(dest, value, pe); }
static inline void shmem_atomic_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_and(ctx, dest, value, pe); }
static inline void shmem_atomic_or(unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_or(dest, value, pe); }
static inline void shmem_atomic_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_or(ctx, dest, value, pe); }
static inline void shmem_atomic_or(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_or(dest, value, pe); }
static inline void shmem_atomic_or(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_or(ctx, dest, value, pe); }
static inline void shmem_atomic_or(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_or(dest, value, pe); }
static inline void shmem_atomic_or(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_or(ctx, dest, value, pe); }
static inline void shmem_atomic_or(int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_or(dest, value, pe); }
static inline void shmem_atomic_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_or(ctx, dest, value, pe); }
static inline void shmem_atomic_or(int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_or(dest, value, pe); }
static inline void shmem_atomic_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_or(ctx, dest, value, pe); }
static inline void shmem_atomic_xor(unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_xor(dest, value, pe); }
static inline void shmem_atomic_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_xor(ctx, dest, value, pe); }
static inline void shmem_atomic_xor(unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_xor(dest, value, pe); }
static inline void shmem_atomic_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_xor(ctx, dest, value, pe); }
static inline void shmem_atomic_xor(unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_xor(dest, value, pe); }
static inline void shmem_atomic_xor(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_xor(ctx, dest, value, pe); }
static inline void shmem_atomic_xor(int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_xor(dest, value, pe); }
static inline void shmem_atomic_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_xor(ctx, dest, value, pe); }
static inline void shmem_atomic_xor(int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_xor(dest, value, pe); }
static inline void shmem_atomic_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_xor(ctx, dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_and(unsigned int *dest, unsigned int value, int pe) { return shmem_uint_atomic_fetch_and(dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_and(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { return shmem_ctx_uint_atomic_fetch_and(ctx, dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_and(unsigned long *dest, unsigned long value, int pe) { return shmem_ulong_atomic_fetch_and(dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_and(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_fetch_and(ctx, dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_and(unsigned long long *dest, unsigned long long value, int pe) { return shmem_ulonglong_atomic_fetch_and(dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_and(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_fetch_and(ctx, dest, value, pe); }
static inline int32_t shmem_atomic_fetch_and(int32_t *dest, int32_t value, int pe) { return shmem_int32_atomic_fetch_and(dest, value, pe); }
static inline int32_t shmem_atomic_fetch_and(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { return shmem_ctx_int32_atomic_fetch_and(ctx, dest, value, pe); }
static inline int64_t shmem_atomic_fetch_and(int64_t *dest, int64_t value, int pe) { return shmem_int64_atomic_fetch_and(dest, value, pe); }
static inline int64_t shmem_atomic_fetch_and(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { return shmem_ctx_int64_atomic_fetch_and(ctx, dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_or(unsigned int *dest, unsigned int value, int pe) { return shmem_uint_atomic_fetch_or(dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_or(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { return shmem_ctx_uint_atomic_fetch_or(ctx, dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_or(unsigned long *dest, unsigned long value, int pe) { return shmem_ulong_atomic_fetch_or(dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_or(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_fetch_or(ctx, dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_or(unsigned long long *dest, unsigned long long value, int pe) { return shmem_ulonglong_atomic_fetch_or(dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_or(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_fetch_or(ctx, dest, value, pe); }
static inline int32_t shmem_atomic_fetch_or(int32_t *dest, int32_t value, int pe) { return shmem_int32_atomic_fetch_or(dest, value, pe); }
static inline int32_t shmem_atomic_fetch_or(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { return shmem_ctx_int32_atomic_fetch_or(ctx, dest, value, pe); }
static inline int64_t shmem_atomic_fetch_or(int64_t *dest, int64_t value, int pe) { return shmem_int64_atomic_fetch_or(dest, value, pe); }
static inline int64_t shmem_atomic_fetch_or(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { return shmem_ctx_int64_atomic_fetch_or(ctx, dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_xor(unsigned int *dest, unsigned int value, int pe) { return shmem_uint_atomic_fetch_xor(dest, value, pe); }
static inline unsigned int shmem_atomic_fetch_xor(shmem_ctx_t ctx, unsigned int *dest, unsigned int value, int pe) { return shmem_ctx_uint_atomic_fetch_xor(ctx, dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_xor(unsigned long *dest, unsigned long value, int pe) { return shmem_ulong_atomic_fetch_xor(dest, value, pe); }
static inline unsigned long shmem_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long *dest, unsigned long value, int pe) { return shmem_ctx_ulong_atomic_fetch_xor(ctx, dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_xor(unsigned long long *dest, unsigned long long value, int pe) { return shmem_ulonglong_atomic_fetch_xor(dest, value, pe); }
static inline unsigned long long shmem_atomic_fetch_xor(shmem_ctx_t ctx, unsigned long long *dest, unsigned long long value, int pe) { return shmem_ctx_ulonglong_atomic_fetch_xor(ctx, dest, value, pe); }
static inline int32_t shmem_atomic_fetch_xor(int32_t *dest, int32_t value, int pe) { return shmem_int32_atomic_fetch_xor(dest, value, pe); }
static inline int32_t shmem_atomic_fetch_xor(shmem_ctx_t ctx, int32_t *dest, int32_t value, int pe) { return shmem_ctx_int32_atomic_fetch_xor(ctx, dest, value, pe); }
static inline int64_t shmem_atomic_fetch_xor(int64_t *dest, int64_t value, int pe) { return shmem_int64_atomic_fetch_xor(dest, value, pe); }
static inline int64_t shmem_atomic_fetch_xor(shmem_ctx_t ctx, int64_t *dest, int64_t value, int pe) { return shmem_ctx_int64_atomic_fetch_xor(ctx, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_fetch_and_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_fetch_and_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_fetch_and_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_fetch_and_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_fetch_and_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_and_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_fetch_and_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_fetch_or_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_fetch_or_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_fetch_or_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_fetch_or_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_fetch_or_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_or_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_fetch_or_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_uint_atomic_fetch_xor_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned int *fetch, unsigned int *dest, unsigned int value, int pe) { shmem_ctx_uint_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ulong_atomic_fetch_xor_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long *fetch, unsigned long *dest, unsigned long value, int pe) { shmem_ctx_ulong_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ulonglong_atomic_fetch_xor_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, unsigned long long *fetch, unsigned long long *dest, unsigned long long value, int pe) { shmem_ctx_ulonglong_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_int32_atomic_fetch_xor_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int32_t *fetch, int32_t *dest, int32_t value, int pe) { shmem_ctx_int32_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_int64_atomic_fetch_xor_nbi(fetch, dest, value, pe); }
static inline void shmem_atomic_fetch_xor_nbi(shmem_ctx_t ctx, int64_t *fetch, int64_t *dest, int64_t value, int pe) { shmem_ctx_int64_atomic_fetch_xor_nbi(ctx, fetch, dest, value, pe); }
static inline void shmem_wait_until(short *ivar, int cmp, short cmp_value) { shmem_short_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(int *ivar, int cmp, int cmp_value) { shmem_int_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(long long *ivar, int cmp, long long cmp_value) { shmem_longlong_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(unsigned short *ivar, int cmp, unsigned short cmp_value) { shmem_ushort_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(unsigned int *ivar, int cmp, unsigned int cmp_value) { shmem_uint_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(unsigned long *ivar, int cmp, unsigned long cmp_value) { shmem_ulong_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until(unsigned long long *ivar, int cmp, unsigned long long cmp_value) { shmem_ulonglong_wait_until(ivar, cmp, cmp_value); }
static inline void shmem_wait_until_all(short *ivars, size_t nelems, const int *status, int cmp, short cmp_value) { shmem_short_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(int *ivars, size_t nelems, const int *status, int cmp, int cmp_value) { shmem_int_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(long *ivars, size_t nelems, const int *status, int cmp, long cmp_value) { shmem_long_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value) { shmem_longlong_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value) { shmem_ushort_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value) { shmem_uint_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value) { shmem_ulong_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline void shmem_wait_until_all(unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value) { shmem_ulonglong_wait_until_all(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(short *ivars, size_t nelems, const int *status, int cmp, short cmp_value) { return shmem_short_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(int *ivars, size_t nelems, const int *status, int cmp, int cmp_value) { return shmem_int_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(long *ivars, size_t nelems, const int *status, int cmp, long cmp_value) { return shmem_long_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value) { return shmem_longlong_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value) { return shmem_ushort_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value) { return shmem_uint_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value) { return shmem_ulong_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_any(unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_wait_until_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, short cmp_value) { return shmem_short_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int cmp_value) { return shmem_int_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long cmp_value) { return shmem_long_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long long cmp_value) { return shmem_longlong_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned short cmp_value) { return shmem_ushort_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned int cmp_value) { return shmem_uint_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long cmp_value) { return shmem_ulong_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_wait_until_some(unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_wait_until_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline void shmem_wait_until_all_vector(short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values) { shmem_short_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values) { shmem_int_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values) { shmem_long_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values) { shmem_longlong_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values) { shmem_ushort_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values) { shmem_uint_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values) { shmem_ulong_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline void shmem_wait_until_all_vector(unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values) { shmem_ulonglong_wait_until_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values) { return shmem_short_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values) { return shmem_int_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values) { return shmem_long_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values) { return shmem_longlong_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values) { return shmem_ushort_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values) { return shmem_uint_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values) { return shmem_ulong_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_any_vector(unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values) { return shmem_ulonglong_wait_until_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const short *cmp_values) { return shmem_short_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int *cmp_values) { return shmem_int_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long *cmp_values) { return shmem_long_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long long *cmp_values) { return shmem_longlong_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned short *cmp_values) { return shmem_ushort_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned int *cmp_values) { return shmem_uint_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long *cmp_values) { return shmem_ulong_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_wait_until_some_vector(unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long long *cmp_values) { return shmem_ulonglong_wait_until_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline int shmem_test(short *ivar, int cmp, short cmp_value) { return shmem_short_test(ivar, cmp, cmp_value); }
static inline int shmem_test(int *ivar, int cmp, int cmp_value) { return shmem_int_test(ivar, cmp, cmp_value); }
static inline int shmem_test(long *ivar, int cmp, long cmp_value) { return shmem_long_test(ivar, cmp, cmp_value); }
static inline int shmem_test(long long *ivar, int cmp, long long cmp_value) { return shmem_longlong_test(ivar, cmp, cmp_value); }
static inline int shmem_test(unsigned short *ivar, int cmp, unsigned short cmp_value) { return shmem_ushort_test(ivar, cmp, cmp_value); }
static inline int shmem_test(unsigned int *ivar, int cmp, unsigned int cmp_value) { return shmem_uint_test(ivar, cmp, cmp_value); }
static inline int shmem_test(unsigned long *ivar, int cmp, unsigned long cmp_value) { return shmem_ulong_test(ivar, cmp, cmp_value); }
static inline int shmem_test(unsigned long long *ivar, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_test(ivar, cmp, cmp_value); }
static inline int shmem_test_all(short *ivars, size_t nelems, const int *status, int cmp, short cmp_value) { return shmem_short_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(int *ivars, size_t nelems, const int *status, int cmp, int cmp_value) { return shmem_int_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(long *ivars, size_t nelems, const int *status, int cmp, long cmp_value) { return shmem_long_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value) { return shmem_longlong_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value) { return shmem_ushort_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value) { return shmem_uint_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value) { return shmem_ulong_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline int shmem_test_all(unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_test_all(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(short *ivars, size_t nelems, const int *status, int cmp, short cmp_value) { return shmem_short_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(int *ivars, size_t nelems, const int *status, int cmp, int cmp_value) { return shmem_int_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(long *ivars, size_t nelems, const int *status, int cmp, long cmp_value) { return shmem_long_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(long long *ivars, size_t nelems, const int *status, int cmp, long long cmp_value) { return shmem_longlong_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(unsigned short *ivars, size_t nelems, const int *status, int cmp, unsigned short cmp_value) { return shmem_ushort_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(unsigned int *ivars, size_t nelems, const int *status, int cmp, unsigned int cmp_value) { return shmem_uint_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(unsigned long *ivars, size_t nelems, const int *status, int cmp, unsigned long cmp_value) { return shmem_ulong_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_any(unsigned long long *ivars, size_t nelems, const int *status, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_test_any(ivars, nelems, status, cmp, cmp_value); }
static inline size_t shmem_test_some(short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, short cmp_value) { return shmem_short_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, int cmp_value) { return shmem_int_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long cmp_value) { return shmem_long_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, long long cmp_value) { return shmem_longlong_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned short cmp_value) { return shmem_ushort_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned int cmp_value) { return shmem_uint_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long cmp_value) { return shmem_ulong_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline size_t shmem_test_some(unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, unsigned long long cmp_value) { return shmem_ulonglong_test_some(ivars, nelems, indices, status, cmp, cmp_value); }
static inline int shmem_test_all_vector(short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values) { return shmem_short_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values) { return shmem_int_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values) { return shmem_long_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values) { return shmem_longlong_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values) { return shmem_ushort_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values) { return shmem_uint_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values) { return shmem_ulong_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline int shmem_test_all_vector(unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values) { return shmem_ulonglong_test_all_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(short *ivars, size_t nelems, const int *status, int cmp, const short *cmp_values) { return shmem_short_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(int *ivars, size_t nelems, const int *status, int cmp, const int *cmp_values) { return shmem_int_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(long *ivars, size_t nelems, const int *status, int cmp, const long *cmp_values) { return shmem_long_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(long long *ivars, size_t nelems, const int *status, int cmp, const long long *cmp_values) { return shmem_longlong_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(unsigned short *ivars, size_t nelems, const int *status, int cmp, const unsigned short *cmp_values) { return shmem_ushort_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(unsigned int *ivars, size_t nelems, const int *status, int cmp, const unsigned int *cmp_values) { return shmem_uint_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(unsigned long *ivars, size_t nelems, const int *status, int cmp, const unsigned long *cmp_values) { return shmem_ulong_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_any_vector(unsigned long long *ivars, size_t nelems, const int *status, int cmp, const unsigned long long *cmp_values) { return shmem_ulonglong_test_any_vector(ivars, nelems, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const short *cmp_values) { return shmem_short_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const int *cmp_values) { return shmem_int_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long *cmp_values) { return shmem_long_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const long long *cmp_values) { return shmem_longlong_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(unsigned short *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned short *cmp_values) { return shmem_ushort_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(unsigned int *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned int *cmp_values) { return shmem_uint_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(unsigned long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long *cmp_values) { return shmem_ulong_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline size_t shmem_test_some_vector(unsigned long long *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const unsigned long long *cmp_values) { return shmem_ulonglong_test_some_vector(ivars, nelems, indices, status, cmp, cmp_values); }
static inline int shmem_broadcast(shmem_team_t team, float *dest, const float *source, size_t nelems, int PE_root) { return shmem_float_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, double *dest, const double *source, size_t nelems, int PE_root) { return shmem_double_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, long double *dest, const long double *source, size_t nelems, int PE_root) { return shmem_longdouble_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, char *dest, const char *source, size_t nelems, int PE_root) { return shmem_char_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems, int PE_root) { return shmem_schar_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, short *dest, const short *source, size_t nelems, int PE_root) { return shmem_short_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, int *dest, const int *source, size_t nelems, int PE_root) { return shmem_int_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, long *dest, const long *source, size_t nelems, int PE_root) { return shmem_long_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, long long *dest, const long long *source, size_t nelems, int PE_root) { return shmem_longlong_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems, int PE_root) { return shmem_uchar_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems, int PE_root) { return shmem_ushort_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems, int PE_root) { return shmem_uint_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems, int PE_root) { return shmem_ulong_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_broadcast(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems, int PE_root) { return shmem_ulonglong_broadcast(team, dest, source, nelems, PE_root); }
static inline int shmem_collect(shmem_team_t team, float *dest, const float *source, size_t nelems) { return shmem_float_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, double *dest, const double *source, size_t nelems) { return shmem_double_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, long double *dest, const long double *source, size_t nelems) { return shmem_longdouble_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, char *dest, const char *source, size_t nelems) { return shmem_char_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems) { return shmem_schar_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, short *dest, const short *source, size_t nelems) { return shmem_short_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, int *dest, const int *source, size_t nelems) { return shmem_int_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, long *dest, const long *source, size_t nelems) { return shmem_long_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, long long *dest, const long long *source, size_t nelems) { return shmem_longlong_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems) { return shmem_uchar_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems) { return shmem_ushort_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems) { return shmem_uint_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems) { return shmem_ulong_collect(team, dest, source, nelems); }
static inline int shmem_collect(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems) { return shmem_ulonglong_collect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, float *dest, const float *source, size_t nelems) { return shmem_float_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, double *dest, const double *source, size_t nelems) { return shmem_double_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, long double *dest, const long double *source, size_t nelems) { return shmem_longdouble_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, char *dest, const char *source, size_t nelems) { return shmem_char_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems) { return shmem_schar_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, short *dest, const short *source, size_t nelems) { return shmem_short_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, int *dest, const int *source, size_t nelems) { return shmem_int_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, long *dest, const long *source, size_t nelems) { return shmem_long_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, long long *dest, const long long *source, size_t nelems) { return shmem_longlong_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems) { return shmem_uchar_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems) { return shmem_ushort_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems) { return shmem_uint_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems) { return shmem_ulong_fcollect(team, dest, source, nelems); }
static inline int shmem_fcollect(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems) { return shmem_ulonglong_fcollect(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, float *dest, const float *source, size_t nelems) { return shmem_float_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, double *dest, const double *source, size_t nelems) { return shmem_double_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, long double *dest, const long double *source, size_t nelems) { return shmem_longdouble_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, char *dest, const char *source, size_t nelems) { return shmem_char_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems) { return shmem_schar_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, short *dest, const short *source, size_t nelems) { return shmem_short_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, int *dest, const int *source, size_t nelems) { return shmem_int_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, long *dest, const long *source, size_t nelems) { return shmem_long_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, long long *dest, const long long *source, size_t nelems) { return shmem_longlong_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems) { return shmem_uchar_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems) { return shmem_ushort_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems) { return shmem_uint_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems) { return shmem_ulong_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoall(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems) { return shmem_ulonglong_alltoall(team, dest, source, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, float *dest, const float *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_float_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, double *dest, const double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_double_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, long double *dest, const long double *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_longdouble_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_char_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, signed char *dest, const signed char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_schar_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, short *dest, const short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_short_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, int *dest, const int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_int_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, long *dest, const long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_long_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, long long *dest, const long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_longlong_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, unsigned char *dest, const unsigned char *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_uchar_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, unsigned short *dest, const unsigned short *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_ushort_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, unsigned int *dest, const unsigned int *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_uint_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, unsigned long *dest, const unsigned long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_ulong_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_alltoalls(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) { return shmem_ulonglong_alltoalls(team, dest, source, dst, sst, nelems); }
static inline int shmem_and_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce) { return shmem_int8_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce) { return shmem_int16_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce) { return shmem_int32_and_reduce(team, dest, source, nreduce); }
static inline int shmem_and_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce) { return shmem_int64_and_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce) { return shmem_int8_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce) { return shmem_int16_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce) { return shmem_int32_or_reduce(team, dest, source, nreduce); }
static inline int shmem_or_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce) { return shmem_int64_or_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, int8_t *dest, const int8_t *source, size_t nreduce) { return shmem_int8_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, int16_t *dest, const int16_t *source, size_t nreduce) { return shmem_int16_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, int32_t *dest, const int32_t *source, size_t nreduce) { return shmem_int32_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_xor_reduce(shmem_team_t team, int64_t *dest, const int64_t *source, size_t nreduce) { return shmem_int64_xor_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce) { return shmem_char_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce) { return shmem_schar_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce) { return shmem_short_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce) { return shmem_int_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce) { return shmem_long_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce) { return shmem_longlong_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce) { return shmem_float_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce) { return shmem_double_max_reduce(team, dest, source, nreduce); }
static inline int shmem_max_reduce(shmem_team_t team, long double *dest, const long double *source, size_t nreduce) { return shmem_longdouble_max_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce) { return shmem_char_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce) { return shmem_schar_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce) { return shmem_short_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce) { return shmem_int_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce) { return shmem_long_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce) { return shmem_longlong_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce) { return shmem_float_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce) { return shmem_double_min_reduce(team, dest, source, nreduce); }
static inline int shmem_min_reduce(shmem_team_t team, long double *dest, const long double *source, size_t nreduce) { return shmem_longdouble_min_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce) { return shmem_char_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce) { return shmem_schar_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce) { return shmem_short_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce) { return shmem_int_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce) { return shmem_long_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce) { return shmem_longlong_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce) { return shmem_float_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce) { return shmem_double_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, long double *dest, const long double *source, size_t nreduce) { return shmem_longdouble_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nreduce) { return shmem_complexd_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_reduce(shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nreduce) { return shmem_complexf_sum_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, char *dest, const char *source, size_t nreduce) { return shmem_char_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, signed char *dest, const signed char *source, size_t nreduce) { return shmem_schar_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, short *dest, const short *source, size_t nreduce) { return shmem_short_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, int *dest, const int *source, size_t nreduce) { return shmem_int_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, long *dest, const long *source, size_t nreduce) { return shmem_long_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, long long *dest, const long long *source, size_t nreduce) { return shmem_longlong_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nreduce) { return shmem_uchar_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nreduce) { return shmem_ushort_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nreduce) { return shmem_uint_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nreduce) { return shmem_ulong_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nreduce) { return shmem_ulonglong_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, float *dest, const float *source, size_t nreduce) { return shmem_float_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, double *dest, const double *source, size_t nreduce) { return shmem_double_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, long double *dest, const long double *source, size_t nreduce) { return shmem_longdouble_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nreduce) { return shmem_complexd_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_prod_reduce(shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nreduce) { return shmem_complexf_prod_reduce(team, dest, source, nreduce); }
static inline int shmem_sum_inscan(shmem_team_t team, char *dest, const char *source, size_t nelems) { return shmem_char_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems) { return shmem_schar_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, short *dest, const short *source, size_t nelems) { return shmem_short_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, int *dest, const int *source, size_t nelems) { return shmem_int_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, long *dest, const long *source, size_t nelems) { return shmem_long_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, long long *dest, const long long *source, size_t nelems) { return shmem_longlong_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems) { return shmem_uchar_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems) { return shmem_ushort_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems) { return shmem_uint_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems) { return shmem_ulong_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems) { return shmem_ulonglong_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, float *dest, const float *source, size_t nelems) { return shmem_float_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, double *dest, const double *source, size_t nelems) { return shmem_double_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, long double *dest, const long double *source, size_t nelems) { return shmem_longdouble_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nelems) { return shmem_complexd_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_inscan(shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nelems) { return shmem_complexf_sum_inscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, char *dest, const char *source, size_t nelems) { return shmem_char_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, signed char *dest, const signed char *source, size_t nelems) { return shmem_schar_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, short *dest, const short *source, size_t nelems) { return shmem_short_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, int *dest, const int *source, size_t nelems) { return shmem_int_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, long *dest, const long *source, size_t nelems) { return shmem_long_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, long long *dest, const long long *source, size_t nelems) { return shmem_longlong_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, unsigned char *dest, const unsigned char *source, size_t nelems) { return shmem_uchar_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, unsigned short *dest, const unsigned short *source, size_t nelems) { return shmem_ushort_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, unsigned int *dest, const unsigned int *source, size_t nelems) { return shmem_uint_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, unsigned long *dest, const unsigned long *source, size_t nelems) { return shmem_ulong_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, unsigned long long *dest, const unsigned long long *source, size_t nelems) { return shmem_ulonglong_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, float *dest, const float *source, size_t nelems) { return shmem_float_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, double *dest, const double *source, size_t nelems) { return shmem_double_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, long double *dest, const long double *source, size_t nelems) { return shmem_longdouble_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, sma_complexd *dest, const sma_complexd *source, size_t nelems) { return shmem_complexd_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sum_exscan(shmem_team_t team, sma_complexf *dest, const sma_complexf *source, size_t nelems) { return shmem_complexf_sum_exscan(team, dest, source, nelems); }
static inline int shmem_sync(shmem_team_t team) { return shmem_team_sync(team); }
#endif

#endif
