//! Misuse: an error message of one line with routine, PE and argument, then the end of the job.

use crate::build::{SIMULATED, TRANSPORTS, command, program, run};

#[test]
fn wrong_calls_end_the_job_with_one_line() {
    let built = program("bad.c", &[], "bad");
    let cases = [
        ("before", "shmem_long_p: called before shmem_init"),
        ("pe", "PE 2: shmem_long_p: PE 3 does not exist: the team has 3"),
        ("negative", "PE 2: shmem_long_atomic_inc: PE -1 does not exist: the team has 3"),
        ("asymmetric", "PE 2: shmem_long_put: dest 0x"),
        ("past", "PE 2: shmem_getmem: source 0x"),
        ("misaligned", "PE 2: shmem_long_atomic_add: dest 0x"),
        ("null", "PE 2: shmem_long_g: source 0x0 (8 bytes) is not symmetric"),
        ("context", "PE 2: shmem_ctx_long_p: 0x4d is not a context of this PE"),
        ("invalid", "PE 2: shmem_ctx_long_p: 0x0 is not a context of this PE"),
        ("team", "PE 2: shmem_team_sync: the team is SHMEM_TEAM_INVALID"),
        ("cmp", "PE 2: shmem_long_wait_until: cmp 9 is none of SHMEM_CMP_"),
        ("lock", "PE 2: shmem_set_lock: lock 0x"),
        ("source", "PE 2: shmem_long_put: source is a null pointer"),
        ("source-strided", "PE 2: shmem_long_iput: source is a null pointer"),
        ("source-signal", "PE 2: shmem_long_put_signal: source is a null pointer"),
        ("dest", "PE 2: shmem_long_get_nbi: dest is a null pointer"),
        ("dest-strided", "PE 2: shmem_long_iget: dest is a null pointer"),
        ("indices", "PE 2: shmem_long_wait_until_some: indices is a null pointer"),
        ("values", "PE 2: shmem_long_test_all_vector: cmp_values is a null pointer"),
        ("pes", "PE 2: shmem_pe_quiet: target_pes is a null pointer"),
        ("ctx", "PE 2: shmem_ctx_create: ctx is a null pointer"),
        ("of-context", "PE 2: shmem_ctx_get_team: team is a null pointer"),
        ("name", "PE 2: shmem_info_get_name: name is a null pointer"),
        ("level", "PE 2: shmem_query_thread: provided is a null pointer"),
        ("split", "shmem_team_split_strided: new_team is a null pointer"),
        ("unlock", "PE 2: shmem_clear_lock: this PE does not hold the lock 0x"),
        ("unlock-other", "PE 2: shmem_clear_lock: this PE does not hold the lock 0x"),
        ("relock", "PE 2: shmem_set_lock: this PE holds the lock 0x"),
        ("reduce", "PE 2: shmem_long_sum_to_all: dest 0x"),
        ("much", "(17179869176 bytes) is not symmetric"),
        ("sync", "PE 2: shmem_barrier: pSync 0x"),
        ("free", "shmem_free: ptr 0x"),
        ("freed", "shmem_realloc: ptr 0x"),
        ("twice", "shmem_finalize: called after shmem_finalize"),
        ("after", "shmem_barrier_all: called after shmem_finalize"),
    ];
    for transport in TRANSPORTS {
        for (what, line) in cases {
            let ended = run(3, transport, &built, &[what]);
            let said = String::from_utf8_lossy(&ended.stderr);
            let told = said
                .lines()
                .filter(|said| said.starts_with("shmem: ") && said.contains(line) && said.ends_with("; the job is ended"));
            assert!(ended.status.code() == Some(1) && told.count() >= 1, "{what}, {transport}: {:?} {said}", ended.status.code());
            assert!(!said.contains("panicked") && !said.contains("signal 11"), "{what}, {transport}: {said}");
        }
    }
}

/// A process that a PE has forked ends by `exit`: it does not leave the job in the name of the PE.
#[test]
fn a_child_of_a_pe_ends_alone() {
    let built = program("bad.c", &[], "bad-fork");
    for transport in ["shm", "udp"] {
        let ended = run(3, transport, &built, &["fork"]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.success() && ended.stdout == b"went on\n" && said.is_empty(),
            "{transport}: {:?} {said}",
            ended.status
        );
    }
}

#[test]
fn different_arguments_of_collective_calls_are_told_on_request() {
    let built = program("bad.c", &[], "bad-differ");
    for transport in TRANSPORTS {
        let ended = command(3, transport, &built, &["differ"]).env("SHMEM_DEBUG", "1").output().expect("the command under test");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && said.contains("shmem_malloc: the arguments [1, "), "{transport}: {said}");
    }
}

#[test]
fn a_deadlock_names_the_routine_that_waits() {
    let built = program("bad.c", &[], "bad-stuck");
    for transport in ["shm", "udp"] {
        let ended = command(3, transport, &built, &["stuck"])
            .env("PELAGO_DEADLOCK_SECONDS", "1")
            .output()
            .expect("the command under test");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() == Some(1) && said.contains(" in shmem_signal_wait_until"), "{transport}: {said}");
    }
}

#[test]
fn one_pe_ends_all_of_them() {
    let built = program("bad.c", &[], "bad-exit");
    for transport in TRANSPORTS {
        let ended = run(3, transport, &built, &["exit"]);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            ended.status.code() == Some(1) && said.contains("rank 2") && said.contains("failed with exit code 7"),
            "{transport}: {said}"
        );
    }
}

/// With status 0, every PE ends without an error. The standard output of waiting PEs arrives, too.
#[test]
fn one_pe_ends_all_of_them_in_good_order() {
    let built = program("bad.c", &[], "bad-end");
    for transport in TRANSPORTS {
        // A simulated PE that computes forever without a call cannot be ended.
        for ranks in if transport == SIMULATED { [1, 3] } else { [3, 4] } {
            let ended = run(ranks, transport, &built, &["end"]);
            let said = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.code() == Some(0) && said.is_empty(), "{ranks} PEs, {transport}: {:?} {said}", ended.status);
            let written = String::from_utf8_lossy(&ended.stdout).matches("written").count();
            // A simulation ends immediately.
            let least = if transport == SIMULATED { 1 } else { 3 };
            assert!(written >= least, "{ranks} PEs, {transport}: {written}");
        }
    }
}

#[test]
fn the_size_of_the_heap_comes_from_the_environment() {
    let built = program("setup.c", &[], "setup-sizes");
    for (variable, size, message) in [
        ("SHMEM_SYMMETRIC_SIZE", "16.5m", ""),
        ("SMA_SYMMETRIC_SIZE", "1G", ""),
        ("SHMEM_SYMMETRIC_SIZE", "lots", "shmem_init_thread: SHMEM_SYMMETRIC_SIZE cannot be \"lots\""),
        ("SHMEM_SYMMETRIC_SIZE", "900000t", "pelago run --heap"),
    ] {
        let ended = command(2, "shm", &built, &["2"]).env(variable, size).output().expect("the command under test");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.success(), message.is_empty(), "{variable}={size}: {said}");
        assert!(said.contains(message), "{variable}={size}: {said}");
    }
}
