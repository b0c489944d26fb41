//! Exports: deprecated. Generated from the table in `bindings/shmem-interface`; renew it by
//! `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface`.
#![allow(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt::skip)]

use crate::ffi::macros::*;

old_update!(i32, Add, shmem_int_add);
old_update!(i64, Add, shmem_long_add);
old_update!(i64, Add, shmem_longlong_add);

old_increment!(i32, shmem_int_inc);
old_increment!(i64, shmem_long_inc);
old_increment!(i64, shmem_longlong_inc);

old_fetch!(i32, Add, shmem_int_fadd);
old_fetch!(i64, Add, shmem_long_fadd);
old_fetch!(i64, Add, shmem_longlong_fadd);

old_fetch_increment!(i32, shmem_int_finc);
old_fetch_increment!(i64, shmem_long_finc);
old_fetch_increment!(i64, shmem_longlong_finc);

old_compare_swap!(i32, shmem_int_cswap);
old_compare_swap!(i64, shmem_long_cswap);
old_compare_swap!(i64, shmem_longlong_cswap);

old_load!(f32, shmem_float_fetch);
old_load!(f64, shmem_double_fetch);
old_load!(i32, shmem_int_fetch);
old_load!(i64, shmem_long_fetch);
old_load!(i64, shmem_longlong_fetch);

old_update!(f32, Swap, shmem_float_set);
old_update!(f64, Swap, shmem_double_set);
old_update!(i32, Swap, shmem_int_set);
old_update!(i64, Swap, shmem_long_set);
old_update!(i64, Swap, shmem_longlong_set);

old_fetch!(f32, Swap, shmem_float_swap);
old_fetch!(f64, Swap, shmem_double_swap);
old_fetch!(i32, Swap, shmem_int_swap);
old_fetch!(i64, Swap, shmem_long_swap);
old_fetch!(i64, Swap, shmem_longlong_swap);

old_wait!(i16, shmem_short_wait);
old_wait!(i32, shmem_int_wait);
old_wait!(i64, shmem_long_wait);
old_wait!(i64, shmem_longlong_wait);

to_all!(i16, And, shmem_short_and_to_all);
to_all!(i32, And, shmem_int_and_to_all);
to_all!(i64, And, shmem_long_and_to_all);
to_all!(i64, And, shmem_longlong_and_to_all);

to_all!(i16, Or, shmem_short_or_to_all);
to_all!(i32, Or, shmem_int_or_to_all);
to_all!(i64, Or, shmem_long_or_to_all);
to_all!(i64, Or, shmem_longlong_or_to_all);

to_all!(i16, Xor, shmem_short_xor_to_all);
to_all!(i32, Xor, shmem_int_xor_to_all);
to_all!(i64, Xor, shmem_long_xor_to_all);
to_all!(i64, Xor, shmem_longlong_xor_to_all);

to_all!(i16, Max, shmem_short_max_to_all);
to_all!(i32, Max, shmem_int_max_to_all);
to_all!(i64, Max, shmem_long_max_to_all);
to_all!(i64, Max, shmem_longlong_max_to_all);
to_all!(f32, Max, shmem_float_max_to_all);
to_all!(f64, Max, shmem_double_max_to_all);
to_all!(LongDouble, Max, shmem_longdouble_max_to_all);

to_all!(i16, Min, shmem_short_min_to_all);
to_all!(i32, Min, shmem_int_min_to_all);
to_all!(i64, Min, shmem_long_min_to_all);
to_all!(i64, Min, shmem_longlong_min_to_all);
to_all!(f32, Min, shmem_float_min_to_all);
to_all!(f64, Min, shmem_double_min_to_all);
to_all!(LongDouble, Min, shmem_longdouble_min_to_all);

to_all!(i16, Sum, shmem_short_sum_to_all);
to_all!(i32, Sum, shmem_int_sum_to_all);
to_all!(i64, Sum, shmem_long_sum_to_all);
to_all!(i64, Sum, shmem_longlong_sum_to_all);
to_all!(f32, Sum, shmem_float_sum_to_all);
to_all!(f64, Sum, shmem_double_sum_to_all);
to_all!(LongDouble, Sum, shmem_longdouble_sum_to_all);
to_all!(Complex<f64>, Sum, shmem_complexd_sum_to_all);
to_all!(Complex<f32>, Sum, shmem_complexf_sum_to_all);

to_all!(i16, Product, shmem_short_prod_to_all);
to_all!(i32, Product, shmem_int_prod_to_all);
to_all!(i64, Product, shmem_long_prod_to_all);
to_all!(i64, Product, shmem_longlong_prod_to_all);
to_all!(f32, Product, shmem_float_prod_to_all);
to_all!(f64, Product, shmem_double_prod_to_all);
to_all!(LongDouble, Product, shmem_longdouble_prod_to_all);
to_all!(Complex<f64>, Product, shmem_complexd_prod_to_all);
to_all!(Complex<f32>, Product, shmem_complexf_prod_to_all);
