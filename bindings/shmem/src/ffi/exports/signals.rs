//! Exports: signals. Generated from the table in `bindings/shmem-interface`; renew it by
//! `PELAGO_RENEW_DOCUMENTS=1 cargo test -p pelago-shmem-interface`.
#![allow(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt::skip)]

use crate::ffi::macros::*;

put_signal!(4, shmem_float_put_signal, shmem_ctx_float_put_signal);
put_signal!(8, shmem_double_put_signal, shmem_ctx_double_put_signal);
put_signal!(16, shmem_longdouble_put_signal, shmem_ctx_longdouble_put_signal);
put_signal!(1, shmem_char_put_signal, shmem_ctx_char_put_signal);
put_signal!(1, shmem_schar_put_signal, shmem_ctx_schar_put_signal);
put_signal!(2, shmem_short_put_signal, shmem_ctx_short_put_signal);
put_signal!(4, shmem_int_put_signal, shmem_ctx_int_put_signal);
put_signal!(8, shmem_long_put_signal, shmem_ctx_long_put_signal);
put_signal!(8, shmem_longlong_put_signal, shmem_ctx_longlong_put_signal);
put_signal!(1, shmem_uchar_put_signal, shmem_ctx_uchar_put_signal);
put_signal!(2, shmem_ushort_put_signal, shmem_ctx_ushort_put_signal);
put_signal!(4, shmem_uint_put_signal, shmem_ctx_uint_put_signal);
put_signal!(8, shmem_ulong_put_signal, shmem_ctx_ulong_put_signal);
put_signal!(8, shmem_ulonglong_put_signal, shmem_ctx_ulonglong_put_signal);
put_signal!(1, shmem_int8_put_signal, shmem_ctx_int8_put_signal);
put_signal!(2, shmem_int16_put_signal, shmem_ctx_int16_put_signal);
put_signal!(4, shmem_int32_put_signal, shmem_ctx_int32_put_signal);
put_signal!(8, shmem_int64_put_signal, shmem_ctx_int64_put_signal);
put_signal!(1, shmem_uint8_put_signal, shmem_ctx_uint8_put_signal);
put_signal!(2, shmem_uint16_put_signal, shmem_ctx_uint16_put_signal);
put_signal!(4, shmem_uint32_put_signal, shmem_ctx_uint32_put_signal);
put_signal!(8, shmem_uint64_put_signal, shmem_ctx_uint64_put_signal);
put_signal!(8, shmem_size_put_signal, shmem_ctx_size_put_signal);
put_signal!(8, shmem_ptrdiff_put_signal, shmem_ctx_ptrdiff_put_signal);
put_signal!(1, shmem_put8_signal, shmem_ctx_put8_signal);
put_signal!(2, shmem_put16_signal, shmem_ctx_put16_signal);
put_signal!(4, shmem_put32_signal, shmem_ctx_put32_signal);
put_signal!(8, shmem_put64_signal, shmem_ctx_put64_signal);
put_signal!(16, shmem_put128_signal, shmem_ctx_put128_signal);
put_signal!(1, shmem_putmem_signal, shmem_ctx_putmem_signal);

put_signal!(4, shmem_float_put_signal_nbi, shmem_ctx_float_put_signal_nbi);
put_signal!(8, shmem_double_put_signal_nbi, shmem_ctx_double_put_signal_nbi);
put_signal!(16, shmem_longdouble_put_signal_nbi, shmem_ctx_longdouble_put_signal_nbi);
put_signal!(1, shmem_char_put_signal_nbi, shmem_ctx_char_put_signal_nbi);
put_signal!(1, shmem_schar_put_signal_nbi, shmem_ctx_schar_put_signal_nbi);
put_signal!(2, shmem_short_put_signal_nbi, shmem_ctx_short_put_signal_nbi);
put_signal!(4, shmem_int_put_signal_nbi, shmem_ctx_int_put_signal_nbi);
put_signal!(8, shmem_long_put_signal_nbi, shmem_ctx_long_put_signal_nbi);
put_signal!(8, shmem_longlong_put_signal_nbi, shmem_ctx_longlong_put_signal_nbi);
put_signal!(1, shmem_uchar_put_signal_nbi, shmem_ctx_uchar_put_signal_nbi);
put_signal!(2, shmem_ushort_put_signal_nbi, shmem_ctx_ushort_put_signal_nbi);
put_signal!(4, shmem_uint_put_signal_nbi, shmem_ctx_uint_put_signal_nbi);
put_signal!(8, shmem_ulong_put_signal_nbi, shmem_ctx_ulong_put_signal_nbi);
put_signal!(8, shmem_ulonglong_put_signal_nbi, shmem_ctx_ulonglong_put_signal_nbi);
put_signal!(1, shmem_int8_put_signal_nbi, shmem_ctx_int8_put_signal_nbi);
put_signal!(2, shmem_int16_put_signal_nbi, shmem_ctx_int16_put_signal_nbi);
put_signal!(4, shmem_int32_put_signal_nbi, shmem_ctx_int32_put_signal_nbi);
put_signal!(8, shmem_int64_put_signal_nbi, shmem_ctx_int64_put_signal_nbi);
put_signal!(1, shmem_uint8_put_signal_nbi, shmem_ctx_uint8_put_signal_nbi);
put_signal!(2, shmem_uint16_put_signal_nbi, shmem_ctx_uint16_put_signal_nbi);
put_signal!(4, shmem_uint32_put_signal_nbi, shmem_ctx_uint32_put_signal_nbi);
put_signal!(8, shmem_uint64_put_signal_nbi, shmem_ctx_uint64_put_signal_nbi);
put_signal!(8, shmem_size_put_signal_nbi, shmem_ctx_size_put_signal_nbi);
put_signal!(8, shmem_ptrdiff_put_signal_nbi, shmem_ctx_ptrdiff_put_signal_nbi);
put_signal!(1, shmem_put8_signal_nbi, shmem_ctx_put8_signal_nbi);
put_signal!(2, shmem_put16_signal_nbi, shmem_ctx_put16_signal_nbi);
put_signal!(4, shmem_put32_signal_nbi, shmem_ctx_put32_signal_nbi);
put_signal!(8, shmem_put64_signal_nbi, shmem_ctx_put64_signal_nbi);
put_signal!(16, shmem_put128_signal_nbi, shmem_ctx_put128_signal_nbi);
put_signal!(1, shmem_putmem_signal_nbi, shmem_ctx_putmem_signal_nbi);
