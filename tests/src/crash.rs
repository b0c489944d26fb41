//! Deliberate crashes and endless loops.
//!
//! - **X1** The address is not mapped: reading it ends the process.
#![allow(unsafe_code)]

/// Crashes the process or loops endlessly, as `how` says.
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
