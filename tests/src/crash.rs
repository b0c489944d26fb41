//! Deliberate crashes and endless loops.
//!
//! - **X1** The address is not mapped: an access to it ends the process.
#![allow(unsafe_code)]

use std::hint::black_box;
use std::ptr::{NonNull, with_exposed_provenance_mut};

use pelago::{GlobalPtr, World};

/// An address that is not mapped.
const NOWHERE: usize = 0x10;

/// Bytes of a transfer to or from there.
pub(crate) const BYTES: usize = 64;

/// Crashes the process or loops endlessly, as `how` says.
pub(crate) fn crash(rank: pelago::Rank, how: &str) -> ! {
    println!("rank {rank} will {how}");
    match how {
        "segv" => {
            let nowhere = with_exposed_provenance_mut::<u8>(black_box(NOWHERE));
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

/// Gets from `there`, or puts to it, with an address that is not mapped at this end.
pub(crate) fn transfer_wildly(world: &World, there: GlobalPtr<u8>, how: &str) -> pelago::Result<()> {
    let nowhere = NonNull::new(with_exposed_provenance_mut::<u8>(black_box(NOWHERE))).expect("not null");
    match how {
        // SAFETY: X1.
        "get" => unsafe { world.get_raw(there.address(), nowhere, BYTES) }?.wait(),
        // SAFETY: X1.
        "put" => unsafe { world.put_raw(there.address(), nowhere, BYTES) }?.wait(),
        other => panic!("what is {other}?"),
    }
}
