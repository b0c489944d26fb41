//! The contract, kept by `Loopback` and by every layer around it.

use std::cell::RefCell;

use pelago_base::{AddressLayout, Rank};
use pelago_kit::conformance::Ends;
use pelago_kit::{Count, Fault, Faults, Loopback, Split, Trace};
use pelago_platform::Address;

type Silent = fn(&str);
type IsNear = Box<dyn Fn(Rank) -> bool + Send>;

const FAULTS: Faults = Faults { seed: 1, full_per_mille: 200, delay_per_mille: 500, lose: None };

pelago_kit::conformance!(loopback, plain);
pelago_kit::conformance!(trace, traced);
pelago_kit::conformance!(count, counted);
pelago_kit::conformance!(fault, |ranks| faulty(ranks, FAULTS));
pelago_kit::conformance!(fault_always_late, |ranks| faulty(ranks, Faults { delay_per_mille: 1000, full_per_mille: 0, ..FAULTS }));
pelago_kit::conformance!(stack, stacked);
pelago_kit::conformance!(split_all_near, |ranks| split(ranks, |_, _| true, Faults::default()));
pelago_kit::conformance!(split_all_far, |ranks| split(ranks, |_, _| false, Faults::default()));
pelago_kit::conformance!(split_halves, |ranks| split(ranks, same_half, Faults::default()));
pelago_kit::conformance!(split_halves_disturbed, |ranks| split(ranks, same_half, FAULTS));

fn plain(ranks: u32) -> Ends<Loopback> {
    Ends::layered(ranks, |_, end| end, Loopback::lose)
}

fn traced(ranks: u32) -> Ends<Trace<Loopback, Silent>> {
    Ends::layered(ranks, |_, end| Trace::new(end, (|_| ()) as Silent), |trace, rank| trace.inner().lose(rank))
}

fn counted(ranks: u32) -> Ends<Count<Loopback>> {
    Ends::layered(ranks, |_, end| Count::new(end), |count, rank| count.inner().lose(rank))
}

fn faulty(ranks: u32, faults: Faults) -> Ends<Fault<Loopback>> {
    Ends::layered(ranks, |layout, end| Fault::new(end, layout, faults), |fault, rank| fault.inner().lose(rank))
}

fn stacked(ranks: u32) -> Ends<Fault<Trace<Count<Fault<Loopback>>, Silent>>> {
    let wrap = |layout: AddressLayout, end| {
        let inside = Fault::new(end, layout, Faults { seed: 2, ..FAULTS });
        Fault::new(Trace::new(Count::new(inside), (|_| ()) as Silent), layout, FAULTS)
    };
    Ends::layered(ranks, wrap, |fault, rank| fault.inner().inner().inner().inner().lose(rank))
}

/// Two networks as one, with disturbed ends. Seen from a rank, those for which `near` holds are near.
fn split(ranks: u32, near: fn(Rank, Rank) -> bool, faults: Faults) -> Ends<Split<Fault<Loopback>, Fault<Loopback>, IsNear>> {
    let ends = RefCell::new(Vec::new());
    let wrap = |layout, far| {
        let mut ends = ends.borrow_mut();
        if ends.is_empty() {
            *ends = Loopback::network(layout, ranks).into_iter().zip((0..ranks).map(Rank::new)).rev().collect();
        }
        let (end, me) = ends.pop().expect("a near end for each far one");
        let address = |rank: Rank| Address(rank.number().to_le_bytes().into());
        let [end, far] =
            [(end, faults), (far, Faults { seed: 2, ..faults })].map(|(end, faults)| Fault::new(end, layout, faults));
        Split::new(end, far, layout, Box::new(move |rank| near(me, rank)) as IsNear, address)
    };
    Ends::layered(ranks, wrap, |split, rank| [split.near(), split.far()].into_iter().for_each(|end| end.inner().lose(rank)))
}

fn same_half(one: Rank, other: Rank) -> bool {
    one.number() / 2 == other.number() / 2
}
