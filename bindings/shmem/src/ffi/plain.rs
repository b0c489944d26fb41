//! Routines without types.
//!
//! Invariant B4 is stated in `mod.rs`.
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;

use super::macros::*;
use crate::collectives::teams::{self, NewTeam};
use crate::collectives::{self as collective, Run};
use crate::library::{INVALID, SHARED, THREAD_MULTIPLE, library, process};
use crate::limits::SHMEM_NAME_BYTES_MAX;
use crate::refusal::refuse;
use crate::transfer::answer;
use crate::{heap, lifecycle, locks, waiting};

/// Bit of a configuration's mask: the number of contexts is set.
const NUM_CONTEXTS: c_long = 1;

/// The configuration of a team.
#[repr(C)]
pub struct TeamConfig {
    num_contexts: c_int,
}

/// The option of a session whose operations may be held back to share a message with later ones to the same PE: `SHMEM_CTX_SESSION_BATCH`.
const SESSION_BATCH: c_long = 1;

/// The configuration of a session.
#[repr(C)]
pub struct SessionConfig {
    total_ops: usize,
}

/// Wakes a PE whose memory the program has written itself: what `shmem.h` compiles into programs calls it if the PE sleeps.
///
/// # Safety
/// `bytes` bytes of that PE, at the symmetric address `dest`, are mapped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sma_wake(dest: *const c_void, bytes: usize, pe: c_int) {
    transfer::wake("shmem.h", dest, bytes, pe);
}

export! { fn shmem_init() {
    lifecycle::init("shmem_init", 0);
}}

export! { fn shmem_init_thread(requested: c_int, provided: *mut c_int) -> c_int {
    if !(0..=THREAD_MULTIPLE).contains(&requested) {
        refuse("shmem_init_thread", &format_args!("requested {requested} is none of SHMEM_THREAD_…"));
    }
    let level = lifecycle::init("shmem_init_thread", requested);
    // SAFETY: B4.
    if let Some(provided) = unsafe { provided.as_mut() } {
        *provided = level;
    }
    0
}}

export! { fn shmem_query_thread(provided: *mut c_int) {
    let level = library("shmem_query_thread").threads.load(Ordering::Relaxed) as c_int;
    answer("shmem_query_thread", "provided", provided, level);
}}

export! { fn shmem_query_initialized(initialized: *mut c_int) {
    let is_initialized = process().library.get().is_some_and(|library| library.depth.load(Ordering::Acquire) > 0);
    answer("shmem_query_initialized", "initialized", initialized, is_initialized.into());
}}

export! { fn shmem_finalize() {
    lifecycle::finalize("shmem_finalize");
}}

export! { fn shmem_global_exit(status: c_int) {
    lifecycle::exit_all("shmem_global_exit", status)
}}

export! { fn shmem_my_pe() -> c_int {
    library("shmem_my_pe").me as c_int
}}

export! { fn shmem_n_pes() -> c_int {
    library("shmem_n_pes").size as c_int
}}

export! { fn shmem_pe_accessible(pe: c_int) -> c_int {
    let size = library("shmem_pe_accessible").size;
    (0..size as i64).contains(&i64::from(pe)).into()
}}

export! { fn shmem_addr_accessible(addr: *const c_void, pe: c_int) -> c_int {
    let library = library("shmem_addr_accessible");
    let is_pe = (0..i64::from(library.size)).contains(&i64::from(pe));
    (is_pe && library.symmetric(addr as usize, 1).is_some()).into()
}}

export! { fn shmem_ptr(dest: *const c_void, pe: c_int) -> *mut c_void {
    let rank = library("shmem_ptr").rank("shmem_ptr", DEFAULT, pe);
    transfer::local_pointer("shmem_ptr", dest, rank)
}}

export! { fn shmem_info_get_version(major: *mut c_int, minor: *mut c_int) {
    answer("shmem_info_get_version", "major", major, 1);
    answer("shmem_info_get_version", "minor", minor, 6);
}}

export! { fn shmem_info_get_name(name: *mut c_char) {
    let text = c"Pelago".to_bytes_with_nul();
    const { assert!(c"Pelago".count_bytes() < SHMEM_NAME_BYTES_MAX) };
    answer("shmem_info_get_name", "name", name, 0);
    // SAFETY: B4: room for SHMEM_MAX_NAME_LEN characters.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name, text.len()) };
}}

export! { fn shmem_pcontrol(_level: c_int) {}}

export! { fn shmem_malloc(size: usize) -> *mut c_void {
    heap::allocate("shmem_malloc", 1, size, false)
}}

export! { fn shmem_calloc(count: usize, size: usize) -> *mut c_void {
    heap::allocate("shmem_calloc", 1, count.checked_mul(size).unwrap_or(usize::MAX / 2), true)
}}

export! { fn shmem_align(alignment: usize, size: usize) -> *mut c_void {
    heap::allocate("shmem_align", alignment, size, false)
}}

export! { fn shmem_realloc(ptr: *mut c_void, size: usize) -> *mut c_void {
    heap::reallocate("shmem_realloc", ptr, size)
}}

export! { fn shmem_free(ptr: *mut c_void) {
    heap::free("shmem_free", ptr)
}}

export! { fn shmem_malloc_with_hints(size: usize, _hints: c_long) -> *mut c_void {
    heap::allocate("shmem_malloc_with_hints", 1, size, false)
}}

export! { fn shmem_team_my_pe(team: usize) -> c_int {
    library("shmem_team_my_pe").find_team(team).map_or(-1, |(_, team)| team.me() as c_int)
}}

export! { fn shmem_team_n_pes(team: usize) -> c_int {
    library("shmem_team_n_pes").find_team(team).map_or(-1, |(_, team)| team.members().size as c_int)
}}

export! { fn shmem_team_get_config(team: usize, config_mask: c_long, config: *mut TeamConfig) -> c_int {
    let library = library("shmem_team_get_config");
    let Some((_, found)) = library.find_team(team) else { return -1 };
    // SAFETY: B4.
    if let Some(config) = unsafe { config.as_mut() }.filter(|_| config_mask & NUM_CONTEXTS != 0) {
        config.num_contexts = found.contexts.load(Ordering::Relaxed) as c_int;
    }
    0
}}

export! { fn shmem_team_translate_pe(src_team: usize, src_pe: c_int, dest_team: usize) -> c_int {
    let library = library("shmem_team_translate_pe");
    let (Some((_, from)), Some((_, to))) = (library.find_team(src_team), library.find_team(dest_team)) else { return -1 };
    let rank = from.members().rank(src_pe);
    rank.and_then(|rank| to.members().position(rank)).map_or(-1, |position| position as c_int)
}}

/// Returns the number of contexts that a configuration requests.
fn contexts(config: *const TeamConfig, mask: c_long) -> c_int {
    // SAFETY: B4.
    unsafe { config.as_ref() }.filter(|_| mask & NUM_CONTEXTS != 0).map_or(0, |config| config.num_contexts)
}

export! { fn shmem_team_split_strided(
    parent_team: usize, start: c_int, stride: c_int, size: c_int, config: *const TeamConfig, config_mask: c_long, new_team: *mut usize
) -> c_int {
    let routine = "shmem_team_split_strided";
    answer(routine, "new_team", new_team, INVALID);
    if library(routine).find_team(parent_team).is_none() {
        return -1;
    }
    let run = Run::begin(routine, parent_team);
    run.compare(&[start as u64, stride as u64, size as u64]);
    let Some(members) = teams::strided(run.members, start, stride, size) else { return -1 };
    let members = Some(members).filter(|members| members.position(run.library.me).is_some());
    match teams::make(&run, &NewTeam { members, contexts: contexts(config, config_mask) }) {
        Some(team) => {
            answer(routine, "new_team", new_team, team);
            0
        }
        None => -1,
    }
}}

export! { fn shmem_team_split_2d(
    parent_team: usize, xrange: c_int, xaxis_config: *const TeamConfig, xaxis_mask: c_long, xaxis_team: *mut usize,
    yaxis_config: *const TeamConfig, yaxis_mask: c_long, yaxis_team: *mut usize
) -> c_int {
    let routine = "shmem_team_split_2d";
    answer(routine, "xaxis_team", xaxis_team, INVALID);
    answer(routine, "yaxis_team", yaxis_team, INVALID);
    if library(routine).find_team(parent_team).is_none() || xrange < 1 {
        return -1;
    }
    let run = Run::begin(routine, parent_team);
    run.compare(&[xrange as u64]);
    let (size, me) = (run.size() as c_int, run.me as c_int);
    let xrange = xrange.min(size);
    let (x, y) = (me % xrange, me / xrange);
    let row = teams::strided(run.members, y * xrange, 1, xrange.min(size - y * xrange));
    let column = teams::strided(run.members, x, xrange, (size - x + xrange - 1) / xrange);
    let Some(x) = teams::make(&run, &NewTeam { members: row, contexts: contexts(xaxis_config, xaxis_mask) }) else { return -1 };
    let Some(y) = teams::make(&run, &NewTeam { members: column, contexts: contexts(yaxis_config, yaxis_mask) }) else {
        // Both teams exist, or none.
        teams::destroy(run.library, routine, x);
        return -1;
    };
    answer(routine, "xaxis_team", xaxis_team, x);
    answer(routine, "yaxis_team", yaxis_team, y);
    0
}}

export! { fn shmem_team_destroy(team: usize) {
    teams::destroy(library("shmem_team_destroy"), "shmem_team_destroy", team)
}}

export! { fn shmem_team_ptr(team: usize, dest: *const c_void, pe: c_int) -> *mut c_void {
    let rank = library("shmem_team_ptr").find_team(team).and_then(|(_, team)| team.members().rank(pe));
    rank.map_or(std::ptr::null_mut(), |rank| transfer::local_pointer("shmem_team_ptr", dest, rank))
}}

export! { fn shmem_team_sync(team: usize) -> c_int {
    collective::sync("shmem_team_sync", team);
    0
}}

/// Makes a context of a team.
fn create(routine: &'static str, team: usize, options: c_long, ctx: *mut usize) -> c_int {
    let library = library(routine);
    answer(routine, "ctx", ctx, INVALID);
    let made = library.find_team(team).and_then(|(index, _)| library.make_context(index, options));
    answer(routine, "ctx", ctx, made.unwrap_or(INVALID));
    if made.is_some() { 0 } else { 1 }
}

export! { fn shmem_ctx_create(options: c_long, ctx: *mut usize) -> c_int {
    create("shmem_ctx_create", DEFAULT, options, ctx)
}}

export! { fn shmem_team_create_ctx(team: usize, options: c_long, ctx: *mut usize) -> c_int {
    create("shmem_team_create_ctx", team, options, ctx)
}}

export! { fn shmem_ctx_destroy(ctx: usize) {
    let routine = "shmem_ctx_destroy";
    let library = library(routine);
    if ctx == DEFAULT {
        refuse(routine, &"the default context stays");
    }
    if ctx != INVALID {
        let context = library.context(routine, ctx);
        library.or_end(routine, context.quiet());
        context.release();
    }
}}

export! { fn shmem_ctx_get_team(ctx: usize, team: *mut usize) -> c_int {
    let library = library("shmem_ctx_get_team");
    let found = library.find_context(ctx).map(|context| context.team() + 1);
    answer("shmem_ctx_get_team", "team", team, found.unwrap_or(INVALID));
    if found.is_some() { 0 } else { -1 }
}}

export! { fn shmem_ctx_session_start(ctx: usize, options: c_long, _config: *const SessionConfig, _config_mask: c_long) {
    let routine = "shmem_ctx_session_start";
    if ctx == INVALID {
        return;
    }
    let context = library(routine).context(routine, ctx);
    if context.session.swap(true, Ordering::Relaxed) {
        refuse(routine, &"the context has a session already");
    }
    if options & SESSION_BATCH != 0 {
        context.monitor.with(|state| state.context.set_batching(true));
    }
}}

export! { fn shmem_ctx_session_stop(ctx: usize) {
    let routine = "shmem_ctx_session_stop";
    if ctx == INVALID {
        return;
    }
    let context = library(routine).context(routine, ctx);
    if !context.session.swap(false, Ordering::Relaxed) {
        refuse(routine, &"the context has no session");
    }
    context.monitor.with(|state| state.context.set_batching(false));
}}

export! { fn shmem_fence() {
    transfer::order("shmem_fence", DEFAULT)
}}

export! { fn shmem_ctx_fence(ctx: usize) {
    transfer::order("shmem_ctx_fence", ctx)
}}

export! { fn shmem_quiet() {
    transfer::complete("shmem_quiet", DEFAULT)
}}

export! { fn shmem_ctx_quiet(ctx: usize) {
    transfer::complete("shmem_ctx_quiet", ctx)
}}

export! { fn shmem_pe_quiet(target_pes: *const c_int, npes: usize) {
    transfer::complete_some("shmem_pe_quiet", DEFAULT, target_pes, npes)
}}

export! { fn shmem_ctx_pe_quiet(ctx: usize, target_pes: *const c_int, npes: usize) {
    transfer::complete_some("shmem_ctx_pe_quiet", ctx, target_pes, npes)
}}

export! { fn shmem_signal_add(sig_addr: *mut u64, signal: u64, pe: c_int) {
    let word = SignalWord { address: sig_addr, value: signal, operation: transfer::SIGNAL_ADD };
    transfer::signal_alone("shmem_signal_add", DEFAULT, word, pe)
}}

export! { fn shmem_ctx_signal_add(ctx: usize, sig_addr: *mut u64, signal: u64, pe: c_int) {
    let word = SignalWord { address: sig_addr, value: signal, operation: transfer::SIGNAL_ADD };
    transfer::signal_alone("shmem_ctx_signal_add", ctx, word, pe)
}}

export! { fn shmem_signal_set(sig_addr: *mut u64, signal: u64, pe: c_int) {
    let word = SignalWord { address: sig_addr, value: signal, operation: transfer::SIGNAL_SET };
    transfer::signal_alone("shmem_signal_set", DEFAULT, word, pe)
}}

export! { fn shmem_ctx_signal_set(ctx: usize, sig_addr: *mut u64, signal: u64, pe: c_int) {
    let word = SignalWord { address: sig_addr, value: signal, operation: transfer::SIGNAL_SET };
    transfer::signal_alone("shmem_ctx_signal_set", ctx, word, pe)
}}

export! { fn shmem_signal_fetch(sig_addr: *const u64) -> u64 {
    waiting::signal("shmem_signal_fetch", sig_addr)
}}

export! { fn shmem_signal_wait_until(sig_addr: *mut u64, cmp: c_int, cmp_value: u64) -> u64 {
    waiting::wait_for_signal("shmem_signal_wait_until", sig_addr, cmp, cmp_value)
}}

export! { fn shmem_barrier_all() {
    collective::barrier_all("shmem_barrier_all")
}}

export! { fn shmem_sync_all() {
    collective::sync("shmem_sync_all", DEFAULT)
}}

export! { fn shmem_clear_lock(lock: *mut c_long) {
    locks::clear("shmem_clear_lock", lock)
}}

export! { fn shmem_set_lock(lock: *mut c_long) {
    locks::set("shmem_set_lock", lock)
}}

export! { fn shmem_test_lock(lock: *mut c_long) -> c_int {
    locks::test("shmem_test_lock", lock)
}}

const _: () = assert!(SHARED == 2 && DEFAULT == 1 && INVALID == 0, "the header has the same handles");
