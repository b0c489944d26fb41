//! Routines of earlier versions of the standard.
//!
//! Invariant B4 is stated in `mod.rs`.
#![allow(unsafe_code)]

use super::macros::*;
use crate::collectives::active_sets::ActiveSet;
use crate::library::{NOT_EQUAL, library};
use crate::{heap, lifecycle};

export! { fn shmem_barrier(start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
    ActiveSet::new("shmem_barrier", start, log_stride, size, psync).barrier()
}}

export! { fn shmem_sync(start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
    ActiveSet::new("shmem_sync", start, log_stride, size, psync).sync()
}}

macro_rules! broadcasts {
    ($($name:ident: $bytes:literal;)+) => {$(
        export! { fn $name(
            dest: *mut c_void, source: *const c_void, nelems: usize, root: c_int, start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long
        ) {
            let set = ActiveSet::new(stringify!($name), start, log_stride, size, psync);
            set.broadcast((dest as usize, source as usize), nelems.saturating_mul($bytes), root)
        }}
    )+};
}

broadcasts! {
    shmem_broadcast32: 4;
    shmem_broadcast64: 8;
}

macro_rules! collects {
    ($($name:ident: $way:ident $bytes:literal;)+) => {$(
        export! { fn $name(
            dest: *mut c_void, source: *const c_void, nelems: usize, start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long
        ) {
            let set = ActiveSet::new(stringify!($name), start, log_stride, size, psync);
            set.$way((dest as usize, source as usize), nelems.saturating_mul($bytes))
        }}
    )+};
}

collects! {
    shmem_collect32: collect 4;
    shmem_collect64: collect 8;
    shmem_fcollect32: fcollect 4;
    shmem_fcollect64: fcollect 8;
    shmem_alltoall32: alltoall 4;
    shmem_alltoall64: alltoall 8;
}

macro_rules! strided {
    ($($name:ident: $bytes:literal;)+) => {$(
        export! { fn $name(
            dest: *mut c_void, source: *const c_void, dst: isize, sst: isize, nelems: usize, start: c_int, log_stride: c_int, size: c_int,
            psync: *mut c_long
        ) {
            let set = ActiveSet::new(stringify!($name), start, log_stride, size, psync);
            set.alltoalls::<$bytes>((dest as usize, source as usize), (dst, sst), nelems)
        }}
    )+};
}

strided! {
    shmem_alltoalls32: 4;
    shmem_alltoalls64: 8;
}

export! { fn shmem_wait_until(ivar: *mut i64, cmp: c_int, cmp_value: i64) {
    Elements::new("shmem_wait_until", ivar, 1, std::ptr::null(), cmp, With::One(cmp_value)).wait_all()
}}

export! { fn shmem_wait(ivar: *mut i64, cmp_value: i64) {
    Elements::new("shmem_wait", ivar, 1, std::ptr::null(), NOT_EQUAL, With::One(cmp_value)).wait_all()
}}

macro_rules! caches {
    ($($name:ident($($dest:ident)?);)+) => {$(
        export! { fn $name($($dest: *mut c_void)?) {
            library(stringify!($name));
        }}
    )+};
}

// The caches of the supported processors are coherent: the routines do nothing.
caches! {
    shmem_clear_cache_inv();
    shmem_clear_cache_line_inv(_dest);
    shmem_set_cache_inv();
    shmem_set_cache_line_inv(_dest);
    shmem_udcflush();
    shmem_udcflush_line(_dest);
}

export! { fn start_pes(_npes: c_int) {
    lifecycle::init("start_pes", 0);
}}

export! { fn _my_pe() -> c_int {
    library("_my_pe").me as c_int
}}

export! { fn _num_pes() -> c_int {
    library("_num_pes").size as c_int
}}

export! { fn shmalloc(size: usize) -> *mut c_void {
    heap::allocate("shmalloc", 1, size, false)
}}

export! { fn shfree(ptr: *mut c_void) {
    heap::free("shfree", ptr)
}}

export! { fn shmemalign(alignment: usize, size: usize) -> *mut c_void {
    heap::allocate("shmemalign", alignment, size, false)
}}

export! { fn shrealloc(ptr: *mut c_void, size: usize) -> *mut c_void {
    heap::reallocate("shrealloc", ptr, size)
}}
