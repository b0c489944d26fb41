//! Exports: atomics. Generated from the table in `bindings/shmem-interface`; renew it by
//! `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface`.
#![allow(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt::skip)]

use crate::ffi::macros::*;

update!(i32, Add, shmem_int_atomic_add, shmem_ctx_int_atomic_add);
update!(i64, Add, shmem_long_atomic_add, shmem_ctx_long_atomic_add);
update!(i64, Add, shmem_longlong_atomic_add, shmem_ctx_longlong_atomic_add);
update!(u32, Add, shmem_uint_atomic_add, shmem_ctx_uint_atomic_add);
update!(u64, Add, shmem_ulong_atomic_add, shmem_ctx_ulong_atomic_add);
update!(u64, Add, shmem_ulonglong_atomic_add, shmem_ctx_ulonglong_atomic_add);
update!(i32, Add, shmem_int32_atomic_add, shmem_ctx_int32_atomic_add);
update!(i64, Add, shmem_int64_atomic_add, shmem_ctx_int64_atomic_add);
update!(u32, Add, shmem_uint32_atomic_add, shmem_ctx_uint32_atomic_add);
update!(u64, Add, shmem_uint64_atomic_add, shmem_ctx_uint64_atomic_add);
update!(u64, Add, shmem_size_atomic_add, shmem_ctx_size_atomic_add);
update!(i64, Add, shmem_ptrdiff_atomic_add, shmem_ctx_ptrdiff_atomic_add);

increment!(i32, shmem_int_atomic_inc, shmem_ctx_int_atomic_inc);
increment!(i64, shmem_long_atomic_inc, shmem_ctx_long_atomic_inc);
increment!(i64, shmem_longlong_atomic_inc, shmem_ctx_longlong_atomic_inc);
increment!(u32, shmem_uint_atomic_inc, shmem_ctx_uint_atomic_inc);
increment!(u64, shmem_ulong_atomic_inc, shmem_ctx_ulong_atomic_inc);
increment!(u64, shmem_ulonglong_atomic_inc, shmem_ctx_ulonglong_atomic_inc);
increment!(i32, shmem_int32_atomic_inc, shmem_ctx_int32_atomic_inc);
increment!(i64, shmem_int64_atomic_inc, shmem_ctx_int64_atomic_inc);
increment!(u32, shmem_uint32_atomic_inc, shmem_ctx_uint32_atomic_inc);
increment!(u64, shmem_uint64_atomic_inc, shmem_ctx_uint64_atomic_inc);
increment!(u64, shmem_size_atomic_inc, shmem_ctx_size_atomic_inc);
increment!(i64, shmem_ptrdiff_atomic_inc, shmem_ctx_ptrdiff_atomic_inc);

fetch!(i32, Add, shmem_int_atomic_fetch_add, shmem_ctx_int_atomic_fetch_add);
fetch!(i64, Add, shmem_long_atomic_fetch_add, shmem_ctx_long_atomic_fetch_add);
fetch!(i64, Add, shmem_longlong_atomic_fetch_add, shmem_ctx_longlong_atomic_fetch_add);
fetch!(u32, Add, shmem_uint_atomic_fetch_add, shmem_ctx_uint_atomic_fetch_add);
fetch!(u64, Add, shmem_ulong_atomic_fetch_add, shmem_ctx_ulong_atomic_fetch_add);
fetch!(u64, Add, shmem_ulonglong_atomic_fetch_add, shmem_ctx_ulonglong_atomic_fetch_add);
fetch!(i32, Add, shmem_int32_atomic_fetch_add, shmem_ctx_int32_atomic_fetch_add);
fetch!(i64, Add, shmem_int64_atomic_fetch_add, shmem_ctx_int64_atomic_fetch_add);
fetch!(u32, Add, shmem_uint32_atomic_fetch_add, shmem_ctx_uint32_atomic_fetch_add);
fetch!(u64, Add, shmem_uint64_atomic_fetch_add, shmem_ctx_uint64_atomic_fetch_add);
fetch!(u64, Add, shmem_size_atomic_fetch_add, shmem_ctx_size_atomic_fetch_add);
fetch!(i64, Add, shmem_ptrdiff_atomic_fetch_add, shmem_ctx_ptrdiff_atomic_fetch_add);

fetch_increment!(i32, shmem_int_atomic_fetch_inc, shmem_ctx_int_atomic_fetch_inc);
fetch_increment!(i64, shmem_long_atomic_fetch_inc, shmem_ctx_long_atomic_fetch_inc);
fetch_increment!(i64, shmem_longlong_atomic_fetch_inc, shmem_ctx_longlong_atomic_fetch_inc);
fetch_increment!(u32, shmem_uint_atomic_fetch_inc, shmem_ctx_uint_atomic_fetch_inc);
fetch_increment!(u64, shmem_ulong_atomic_fetch_inc, shmem_ctx_ulong_atomic_fetch_inc);
fetch_increment!(u64, shmem_ulonglong_atomic_fetch_inc, shmem_ctx_ulonglong_atomic_fetch_inc);
fetch_increment!(i32, shmem_int32_atomic_fetch_inc, shmem_ctx_int32_atomic_fetch_inc);
fetch_increment!(i64, shmem_int64_atomic_fetch_inc, shmem_ctx_int64_atomic_fetch_inc);
fetch_increment!(u32, shmem_uint32_atomic_fetch_inc, shmem_ctx_uint32_atomic_fetch_inc);
fetch_increment!(u64, shmem_uint64_atomic_fetch_inc, shmem_ctx_uint64_atomic_fetch_inc);
fetch_increment!(u64, shmem_size_atomic_fetch_inc, shmem_ctx_size_atomic_fetch_inc);
fetch_increment!(i64, shmem_ptrdiff_atomic_fetch_inc, shmem_ctx_ptrdiff_atomic_fetch_inc);

compare_swap!(i32, shmem_int_atomic_compare_swap, shmem_ctx_int_atomic_compare_swap);
compare_swap!(i64, shmem_long_atomic_compare_swap, shmem_ctx_long_atomic_compare_swap);
compare_swap!(i64, shmem_longlong_atomic_compare_swap, shmem_ctx_longlong_atomic_compare_swap);
compare_swap!(u32, shmem_uint_atomic_compare_swap, shmem_ctx_uint_atomic_compare_swap);
compare_swap!(u64, shmem_ulong_atomic_compare_swap, shmem_ctx_ulong_atomic_compare_swap);
compare_swap!(u64, shmem_ulonglong_atomic_compare_swap, shmem_ctx_ulonglong_atomic_compare_swap);
compare_swap!(i32, shmem_int32_atomic_compare_swap, shmem_ctx_int32_atomic_compare_swap);
compare_swap!(i64, shmem_int64_atomic_compare_swap, shmem_ctx_int64_atomic_compare_swap);
compare_swap!(u32, shmem_uint32_atomic_compare_swap, shmem_ctx_uint32_atomic_compare_swap);
compare_swap!(u64, shmem_uint64_atomic_compare_swap, shmem_ctx_uint64_atomic_compare_swap);
compare_swap!(u64, shmem_size_atomic_compare_swap, shmem_ctx_size_atomic_compare_swap);
compare_swap!(i64, shmem_ptrdiff_atomic_compare_swap, shmem_ctx_ptrdiff_atomic_compare_swap);

fetch_later!(i32, Add, shmem_int_atomic_fetch_add_nbi, shmem_ctx_int_atomic_fetch_add_nbi);
fetch_later!(i64, Add, shmem_long_atomic_fetch_add_nbi, shmem_ctx_long_atomic_fetch_add_nbi);
fetch_later!(i64, Add, shmem_longlong_atomic_fetch_add_nbi, shmem_ctx_longlong_atomic_fetch_add_nbi);
fetch_later!(u32, Add, shmem_uint_atomic_fetch_add_nbi, shmem_ctx_uint_atomic_fetch_add_nbi);
fetch_later!(u64, Add, shmem_ulong_atomic_fetch_add_nbi, shmem_ctx_ulong_atomic_fetch_add_nbi);
fetch_later!(u64, Add, shmem_ulonglong_atomic_fetch_add_nbi, shmem_ctx_ulonglong_atomic_fetch_add_nbi);
fetch_later!(i32, Add, shmem_int32_atomic_fetch_add_nbi, shmem_ctx_int32_atomic_fetch_add_nbi);
fetch_later!(i64, Add, shmem_int64_atomic_fetch_add_nbi, shmem_ctx_int64_atomic_fetch_add_nbi);
fetch_later!(u32, Add, shmem_uint32_atomic_fetch_add_nbi, shmem_ctx_uint32_atomic_fetch_add_nbi);
fetch_later!(u64, Add, shmem_uint64_atomic_fetch_add_nbi, shmem_ctx_uint64_atomic_fetch_add_nbi);
fetch_later!(u64, Add, shmem_size_atomic_fetch_add_nbi, shmem_ctx_size_atomic_fetch_add_nbi);
fetch_later!(i64, Add, shmem_ptrdiff_atomic_fetch_add_nbi, shmem_ctx_ptrdiff_atomic_fetch_add_nbi);

fetch_increment_later!(i32, shmem_int_atomic_fetch_inc_nbi, shmem_ctx_int_atomic_fetch_inc_nbi);
fetch_increment_later!(i64, shmem_long_atomic_fetch_inc_nbi, shmem_ctx_long_atomic_fetch_inc_nbi);
fetch_increment_later!(i64, shmem_longlong_atomic_fetch_inc_nbi, shmem_ctx_longlong_atomic_fetch_inc_nbi);
fetch_increment_later!(u32, shmem_uint_atomic_fetch_inc_nbi, shmem_ctx_uint_atomic_fetch_inc_nbi);
fetch_increment_later!(u64, shmem_ulong_atomic_fetch_inc_nbi, shmem_ctx_ulong_atomic_fetch_inc_nbi);
fetch_increment_later!(u64, shmem_ulonglong_atomic_fetch_inc_nbi, shmem_ctx_ulonglong_atomic_fetch_inc_nbi);
fetch_increment_later!(i32, shmem_int32_atomic_fetch_inc_nbi, shmem_ctx_int32_atomic_fetch_inc_nbi);
fetch_increment_later!(i64, shmem_int64_atomic_fetch_inc_nbi, shmem_ctx_int64_atomic_fetch_inc_nbi);
fetch_increment_later!(u32, shmem_uint32_atomic_fetch_inc_nbi, shmem_ctx_uint32_atomic_fetch_inc_nbi);
fetch_increment_later!(u64, shmem_uint64_atomic_fetch_inc_nbi, shmem_ctx_uint64_atomic_fetch_inc_nbi);
fetch_increment_later!(u64, shmem_size_atomic_fetch_inc_nbi, shmem_ctx_size_atomic_fetch_inc_nbi);
fetch_increment_later!(i64, shmem_ptrdiff_atomic_fetch_inc_nbi, shmem_ctx_ptrdiff_atomic_fetch_inc_nbi);

compare_swap_later!(i32, shmem_int_atomic_compare_swap_nbi, shmem_ctx_int_atomic_compare_swap_nbi);
compare_swap_later!(i64, shmem_long_atomic_compare_swap_nbi, shmem_ctx_long_atomic_compare_swap_nbi);
compare_swap_later!(i64, shmem_longlong_atomic_compare_swap_nbi, shmem_ctx_longlong_atomic_compare_swap_nbi);
compare_swap_later!(u32, shmem_uint_atomic_compare_swap_nbi, shmem_ctx_uint_atomic_compare_swap_nbi);
compare_swap_later!(u64, shmem_ulong_atomic_compare_swap_nbi, shmem_ctx_ulong_atomic_compare_swap_nbi);
compare_swap_later!(u64, shmem_ulonglong_atomic_compare_swap_nbi, shmem_ctx_ulonglong_atomic_compare_swap_nbi);
compare_swap_later!(i32, shmem_int32_atomic_compare_swap_nbi, shmem_ctx_int32_atomic_compare_swap_nbi);
compare_swap_later!(i64, shmem_int64_atomic_compare_swap_nbi, shmem_ctx_int64_atomic_compare_swap_nbi);
compare_swap_later!(u32, shmem_uint32_atomic_compare_swap_nbi, shmem_ctx_uint32_atomic_compare_swap_nbi);
compare_swap_later!(u64, shmem_uint64_atomic_compare_swap_nbi, shmem_ctx_uint64_atomic_compare_swap_nbi);
compare_swap_later!(u64, shmem_size_atomic_compare_swap_nbi, shmem_ctx_size_atomic_compare_swap_nbi);
compare_swap_later!(i64, shmem_ptrdiff_atomic_compare_swap_nbi, shmem_ctx_ptrdiff_atomic_compare_swap_nbi);

load!(f32, shmem_float_atomic_fetch, shmem_ctx_float_atomic_fetch);
load!(f64, shmem_double_atomic_fetch, shmem_ctx_double_atomic_fetch);
load!(i32, shmem_int_atomic_fetch, shmem_ctx_int_atomic_fetch);
load!(i64, shmem_long_atomic_fetch, shmem_ctx_long_atomic_fetch);
load!(i64, shmem_longlong_atomic_fetch, shmem_ctx_longlong_atomic_fetch);
load!(u32, shmem_uint_atomic_fetch, shmem_ctx_uint_atomic_fetch);
load!(u64, shmem_ulong_atomic_fetch, shmem_ctx_ulong_atomic_fetch);
load!(u64, shmem_ulonglong_atomic_fetch, shmem_ctx_ulonglong_atomic_fetch);
load!(i32, shmem_int32_atomic_fetch, shmem_ctx_int32_atomic_fetch);
load!(i64, shmem_int64_atomic_fetch, shmem_ctx_int64_atomic_fetch);
load!(u32, shmem_uint32_atomic_fetch, shmem_ctx_uint32_atomic_fetch);
load!(u64, shmem_uint64_atomic_fetch, shmem_ctx_uint64_atomic_fetch);
load!(u64, shmem_size_atomic_fetch, shmem_ctx_size_atomic_fetch);
load!(i64, shmem_ptrdiff_atomic_fetch, shmem_ctx_ptrdiff_atomic_fetch);

load_later!(f32, shmem_float_atomic_fetch_nbi, shmem_ctx_float_atomic_fetch_nbi);
load_later!(f64, shmem_double_atomic_fetch_nbi, shmem_ctx_double_atomic_fetch_nbi);
load_later!(i32, shmem_int_atomic_fetch_nbi, shmem_ctx_int_atomic_fetch_nbi);
load_later!(i64, shmem_long_atomic_fetch_nbi, shmem_ctx_long_atomic_fetch_nbi);
load_later!(i64, shmem_longlong_atomic_fetch_nbi, shmem_ctx_longlong_atomic_fetch_nbi);
load_later!(u32, shmem_uint_atomic_fetch_nbi, shmem_ctx_uint_atomic_fetch_nbi);
load_later!(u64, shmem_ulong_atomic_fetch_nbi, shmem_ctx_ulong_atomic_fetch_nbi);
load_later!(u64, shmem_ulonglong_atomic_fetch_nbi, shmem_ctx_ulonglong_atomic_fetch_nbi);
load_later!(i32, shmem_int32_atomic_fetch_nbi, shmem_ctx_int32_atomic_fetch_nbi);
load_later!(i64, shmem_int64_atomic_fetch_nbi, shmem_ctx_int64_atomic_fetch_nbi);
load_later!(u32, shmem_uint32_atomic_fetch_nbi, shmem_ctx_uint32_atomic_fetch_nbi);
load_later!(u64, shmem_uint64_atomic_fetch_nbi, shmem_ctx_uint64_atomic_fetch_nbi);
load_later!(u64, shmem_size_atomic_fetch_nbi, shmem_ctx_size_atomic_fetch_nbi);
load_later!(i64, shmem_ptrdiff_atomic_fetch_nbi, shmem_ctx_ptrdiff_atomic_fetch_nbi);

update!(f32, Swap, shmem_float_atomic_set, shmem_ctx_float_atomic_set);
update!(f64, Swap, shmem_double_atomic_set, shmem_ctx_double_atomic_set);
update!(i32, Swap, shmem_int_atomic_set, shmem_ctx_int_atomic_set);
update!(i64, Swap, shmem_long_atomic_set, shmem_ctx_long_atomic_set);
update!(i64, Swap, shmem_longlong_atomic_set, shmem_ctx_longlong_atomic_set);
update!(u32, Swap, shmem_uint_atomic_set, shmem_ctx_uint_atomic_set);
update!(u64, Swap, shmem_ulong_atomic_set, shmem_ctx_ulong_atomic_set);
update!(u64, Swap, shmem_ulonglong_atomic_set, shmem_ctx_ulonglong_atomic_set);
update!(i32, Swap, shmem_int32_atomic_set, shmem_ctx_int32_atomic_set);
update!(i64, Swap, shmem_int64_atomic_set, shmem_ctx_int64_atomic_set);
update!(u32, Swap, shmem_uint32_atomic_set, shmem_ctx_uint32_atomic_set);
update!(u64, Swap, shmem_uint64_atomic_set, shmem_ctx_uint64_atomic_set);
update!(u64, Swap, shmem_size_atomic_set, shmem_ctx_size_atomic_set);
update!(i64, Swap, shmem_ptrdiff_atomic_set, shmem_ctx_ptrdiff_atomic_set);

fetch!(f32, Swap, shmem_float_atomic_swap, shmem_ctx_float_atomic_swap);
fetch!(f64, Swap, shmem_double_atomic_swap, shmem_ctx_double_atomic_swap);
fetch!(i32, Swap, shmem_int_atomic_swap, shmem_ctx_int_atomic_swap);
fetch!(i64, Swap, shmem_long_atomic_swap, shmem_ctx_long_atomic_swap);
fetch!(i64, Swap, shmem_longlong_atomic_swap, shmem_ctx_longlong_atomic_swap);
fetch!(u32, Swap, shmem_uint_atomic_swap, shmem_ctx_uint_atomic_swap);
fetch!(u64, Swap, shmem_ulong_atomic_swap, shmem_ctx_ulong_atomic_swap);
fetch!(u64, Swap, shmem_ulonglong_atomic_swap, shmem_ctx_ulonglong_atomic_swap);
fetch!(i32, Swap, shmem_int32_atomic_swap, shmem_ctx_int32_atomic_swap);
fetch!(i64, Swap, shmem_int64_atomic_swap, shmem_ctx_int64_atomic_swap);
fetch!(u32, Swap, shmem_uint32_atomic_swap, shmem_ctx_uint32_atomic_swap);
fetch!(u64, Swap, shmem_uint64_atomic_swap, shmem_ctx_uint64_atomic_swap);
fetch!(u64, Swap, shmem_size_atomic_swap, shmem_ctx_size_atomic_swap);
fetch!(i64, Swap, shmem_ptrdiff_atomic_swap, shmem_ctx_ptrdiff_atomic_swap);

fetch_later!(f32, Swap, shmem_float_atomic_swap_nbi, shmem_ctx_float_atomic_swap_nbi);
fetch_later!(f64, Swap, shmem_double_atomic_swap_nbi, shmem_ctx_double_atomic_swap_nbi);
fetch_later!(i32, Swap, shmem_int_atomic_swap_nbi, shmem_ctx_int_atomic_swap_nbi);
fetch_later!(i64, Swap, shmem_long_atomic_swap_nbi, shmem_ctx_long_atomic_swap_nbi);
fetch_later!(i64, Swap, shmem_longlong_atomic_swap_nbi, shmem_ctx_longlong_atomic_swap_nbi);
fetch_later!(u32, Swap, shmem_uint_atomic_swap_nbi, shmem_ctx_uint_atomic_swap_nbi);
fetch_later!(u64, Swap, shmem_ulong_atomic_swap_nbi, shmem_ctx_ulong_atomic_swap_nbi);
fetch_later!(u64, Swap, shmem_ulonglong_atomic_swap_nbi, shmem_ctx_ulonglong_atomic_swap_nbi);
fetch_later!(i32, Swap, shmem_int32_atomic_swap_nbi, shmem_ctx_int32_atomic_swap_nbi);
fetch_later!(i64, Swap, shmem_int64_atomic_swap_nbi, shmem_ctx_int64_atomic_swap_nbi);
fetch_later!(u32, Swap, shmem_uint32_atomic_swap_nbi, shmem_ctx_uint32_atomic_swap_nbi);
fetch_later!(u64, Swap, shmem_uint64_atomic_swap_nbi, shmem_ctx_uint64_atomic_swap_nbi);
fetch_later!(u64, Swap, shmem_size_atomic_swap_nbi, shmem_ctx_size_atomic_swap_nbi);
fetch_later!(i64, Swap, shmem_ptrdiff_atomic_swap_nbi, shmem_ctx_ptrdiff_atomic_swap_nbi);

update!(u32, And, shmem_uint_atomic_and, shmem_ctx_uint_atomic_and);
update!(u64, And, shmem_ulong_atomic_and, shmem_ctx_ulong_atomic_and);
update!(u64, And, shmem_ulonglong_atomic_and, shmem_ctx_ulonglong_atomic_and);
update!(i32, And, shmem_int32_atomic_and, shmem_ctx_int32_atomic_and);
update!(i64, And, shmem_int64_atomic_and, shmem_ctx_int64_atomic_and);
update!(u32, And, shmem_uint32_atomic_and, shmem_ctx_uint32_atomic_and);
update!(u64, And, shmem_uint64_atomic_and, shmem_ctx_uint64_atomic_and);

update!(u32, Or, shmem_uint_atomic_or, shmem_ctx_uint_atomic_or);
update!(u64, Or, shmem_ulong_atomic_or, shmem_ctx_ulong_atomic_or);
update!(u64, Or, shmem_ulonglong_atomic_or, shmem_ctx_ulonglong_atomic_or);
update!(i32, Or, shmem_int32_atomic_or, shmem_ctx_int32_atomic_or);
update!(i64, Or, shmem_int64_atomic_or, shmem_ctx_int64_atomic_or);
update!(u32, Or, shmem_uint32_atomic_or, shmem_ctx_uint32_atomic_or);
update!(u64, Or, shmem_uint64_atomic_or, shmem_ctx_uint64_atomic_or);

update!(u32, Xor, shmem_uint_atomic_xor, shmem_ctx_uint_atomic_xor);
update!(u64, Xor, shmem_ulong_atomic_xor, shmem_ctx_ulong_atomic_xor);
update!(u64, Xor, shmem_ulonglong_atomic_xor, shmem_ctx_ulonglong_atomic_xor);
update!(i32, Xor, shmem_int32_atomic_xor, shmem_ctx_int32_atomic_xor);
update!(i64, Xor, shmem_int64_atomic_xor, shmem_ctx_int64_atomic_xor);
update!(u32, Xor, shmem_uint32_atomic_xor, shmem_ctx_uint32_atomic_xor);
update!(u64, Xor, shmem_uint64_atomic_xor, shmem_ctx_uint64_atomic_xor);

fetch!(u32, And, shmem_uint_atomic_fetch_and, shmem_ctx_uint_atomic_fetch_and);
fetch!(u64, And, shmem_ulong_atomic_fetch_and, shmem_ctx_ulong_atomic_fetch_and);
fetch!(u64, And, shmem_ulonglong_atomic_fetch_and, shmem_ctx_ulonglong_atomic_fetch_and);
fetch!(i32, And, shmem_int32_atomic_fetch_and, shmem_ctx_int32_atomic_fetch_and);
fetch!(i64, And, shmem_int64_atomic_fetch_and, shmem_ctx_int64_atomic_fetch_and);
fetch!(u32, And, shmem_uint32_atomic_fetch_and, shmem_ctx_uint32_atomic_fetch_and);
fetch!(u64, And, shmem_uint64_atomic_fetch_and, shmem_ctx_uint64_atomic_fetch_and);

fetch!(u32, Or, shmem_uint_atomic_fetch_or, shmem_ctx_uint_atomic_fetch_or);
fetch!(u64, Or, shmem_ulong_atomic_fetch_or, shmem_ctx_ulong_atomic_fetch_or);
fetch!(u64, Or, shmem_ulonglong_atomic_fetch_or, shmem_ctx_ulonglong_atomic_fetch_or);
fetch!(i32, Or, shmem_int32_atomic_fetch_or, shmem_ctx_int32_atomic_fetch_or);
fetch!(i64, Or, shmem_int64_atomic_fetch_or, shmem_ctx_int64_atomic_fetch_or);
fetch!(u32, Or, shmem_uint32_atomic_fetch_or, shmem_ctx_uint32_atomic_fetch_or);
fetch!(u64, Or, shmem_uint64_atomic_fetch_or, shmem_ctx_uint64_atomic_fetch_or);

fetch!(u32, Xor, shmem_uint_atomic_fetch_xor, shmem_ctx_uint_atomic_fetch_xor);
fetch!(u64, Xor, shmem_ulong_atomic_fetch_xor, shmem_ctx_ulong_atomic_fetch_xor);
fetch!(u64, Xor, shmem_ulonglong_atomic_fetch_xor, shmem_ctx_ulonglong_atomic_fetch_xor);
fetch!(i32, Xor, shmem_int32_atomic_fetch_xor, shmem_ctx_int32_atomic_fetch_xor);
fetch!(i64, Xor, shmem_int64_atomic_fetch_xor, shmem_ctx_int64_atomic_fetch_xor);
fetch!(u32, Xor, shmem_uint32_atomic_fetch_xor, shmem_ctx_uint32_atomic_fetch_xor);
fetch!(u64, Xor, shmem_uint64_atomic_fetch_xor, shmem_ctx_uint64_atomic_fetch_xor);

fetch_later!(u32, And, shmem_uint_atomic_fetch_and_nbi, shmem_ctx_uint_atomic_fetch_and_nbi);
fetch_later!(u64, And, shmem_ulong_atomic_fetch_and_nbi, shmem_ctx_ulong_atomic_fetch_and_nbi);
fetch_later!(u64, And, shmem_ulonglong_atomic_fetch_and_nbi, shmem_ctx_ulonglong_atomic_fetch_and_nbi);
fetch_later!(i32, And, shmem_int32_atomic_fetch_and_nbi, shmem_ctx_int32_atomic_fetch_and_nbi);
fetch_later!(i64, And, shmem_int64_atomic_fetch_and_nbi, shmem_ctx_int64_atomic_fetch_and_nbi);
fetch_later!(u32, And, shmem_uint32_atomic_fetch_and_nbi, shmem_ctx_uint32_atomic_fetch_and_nbi);
fetch_later!(u64, And, shmem_uint64_atomic_fetch_and_nbi, shmem_ctx_uint64_atomic_fetch_and_nbi);

fetch_later!(u32, Or, shmem_uint_atomic_fetch_or_nbi, shmem_ctx_uint_atomic_fetch_or_nbi);
fetch_later!(u64, Or, shmem_ulong_atomic_fetch_or_nbi, shmem_ctx_ulong_atomic_fetch_or_nbi);
fetch_later!(u64, Or, shmem_ulonglong_atomic_fetch_or_nbi, shmem_ctx_ulonglong_atomic_fetch_or_nbi);
fetch_later!(i32, Or, shmem_int32_atomic_fetch_or_nbi, shmem_ctx_int32_atomic_fetch_or_nbi);
fetch_later!(i64, Or, shmem_int64_atomic_fetch_or_nbi, shmem_ctx_int64_atomic_fetch_or_nbi);
fetch_later!(u32, Or, shmem_uint32_atomic_fetch_or_nbi, shmem_ctx_uint32_atomic_fetch_or_nbi);
fetch_later!(u64, Or, shmem_uint64_atomic_fetch_or_nbi, shmem_ctx_uint64_atomic_fetch_or_nbi);

fetch_later!(u32, Xor, shmem_uint_atomic_fetch_xor_nbi, shmem_ctx_uint_atomic_fetch_xor_nbi);
fetch_later!(u64, Xor, shmem_ulong_atomic_fetch_xor_nbi, shmem_ctx_ulong_atomic_fetch_xor_nbi);
fetch_later!(u64, Xor, shmem_ulonglong_atomic_fetch_xor_nbi, shmem_ctx_ulonglong_atomic_fetch_xor_nbi);
fetch_later!(i32, Xor, shmem_int32_atomic_fetch_xor_nbi, shmem_ctx_int32_atomic_fetch_xor_nbi);
fetch_later!(i64, Xor, shmem_int64_atomic_fetch_xor_nbi, shmem_ctx_int64_atomic_fetch_xor_nbi);
fetch_later!(u32, Xor, shmem_uint32_atomic_fetch_xor_nbi, shmem_ctx_uint32_atomic_fetch_xor_nbi);
fetch_later!(u64, Xor, shmem_uint64_atomic_fetch_xor_nbi, shmem_ctx_uint64_atomic_fetch_xor_nbi);
