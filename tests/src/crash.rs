//! What ends a process, and what never comes back, on purpose.
//!
//! - **X1** The address is that of no memory: reading it ends the process.
#![allow(unsafe_code)]

/// Does what the word says, for ever or to the death.
pub(crate) fn crash(rank: pelago::Rank, how: &str) -> ! {
    println!("rank {rank} will {how}");
    match how {
        "segv" => {
            let nowhere = std::ptr::with_exposed_provenance::<u8>(std::hint::black_box(0x10));
            // SAFETY: X1.
            let read = unsafe { nowhere.read_volatile() };
            panic!("read {read}")
        }
        "abort" => std::process::abort(),
        "spin" => loop {
            std::hint::spin_loop();
        },
        other => panic!("what is {other}?"),
    }
}
