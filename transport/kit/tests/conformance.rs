//! The contract, kept by `Loopback` and by every layer around it.

use std::cell::RefCell;

use pelago_base::{AddressLayout, Rank};
use pelago_kit::conformance::Ends;
use pelago_kit::{Count, Fault, Faults, Loopback, Split, Trace};
use pelago_platform::{Address, Capabilities};

type Silent = fn(&str);
type IsInNode = Box<dyn Fn(Rank) -> bool + Send>;

const FAULTS: Faults = Faults { seed: 1, full_per_mille: 200, delay_per_mille: 500, peer_failed: None };

pelago_kit::conformance!(loopback, plain);
pelago_kit::conformance!(fabric, silent);
pelago_kit::conformance!(fault_fabric, faulty_and_silent);
pelago_kit::conformance!(trace, traced);
pelago_kit::conformance!(count, counted);
pelago_kit::conformance!(fault, |ranks| faulty(ranks, FAULTS));
pelago_kit::conformance!(fault_always_late, |ranks| faulty(ranks, Faults { delay_per_mille: 1000, full_per_mille: 0, ..FAULTS }));
pelago_kit::conformance!(stack, stacked);
pelago_kit::conformance!(split_one_node, |ranks| split(ranks, |_, _| true, Faults::default()));
pelago_kit::conformance!(split_a_node_each, |ranks| split(ranks, |_, _| false, Faults::default()));
pelago_kit::conformance!(split_halves, |ranks| split(ranks, same_half, Faults::default()));
pelago_kit::conformance!(split_halves_disturbed, |ranks| split(ranks, same_half, FAULTS));

fn plain(ranks: u32) -> Ends<Loopback> {
    Ends::layered(ranks, |_, end| end, Loopback::peer_failed)
}

/// Like a fabric: no write wakes its target by itself, and messages are shorter than segments.
const FABRIC: Capabilities = Capabilities { message_bytes_max: 100_000, wakes_target: false, ..Loopback::CAPABILITIES };

fn silent(ranks: u32) -> Ends<Loopback> {
    Ends::layered_like(FABRIC, ranks, |_, end| end, Loopback::peer_failed)
}

fn faulty_and_silent(ranks: u32) -> Ends<Fault<Loopback>> {
    Ends::layered_like(
        FABRIC,
        ranks,
        |layout, end| Fault::new(end, layout, FAULTS),
        |fault, rank| fault.inner().peer_failed(rank),
    )
}

fn traced(ranks: u32) -> Ends<Trace<Loopback, Silent>> {
    Ends::layered(ranks, |_, end| Trace::new(end, (|_| ()) as Silent), |trace, rank| trace.inner().peer_failed(rank))
}

fn counted(ranks: u32) -> Ends<Count<Loopback>> {
    Ends::layered(ranks, |_, end| Count::new(end), |count, rank| count.inner().peer_failed(rank))
}

fn faulty(ranks: u32, faults: Faults) -> Ends<Fault<Loopback>> {
    Ends::layered(ranks, |layout, end| Fault::new(end, layout, faults), |fault, rank| fault.inner().peer_failed(rank))
}

fn stacked(ranks: u32) -> Ends<Fault<Trace<Count<Fault<Loopback>>, Silent>>> {
    let wrap = |layout: AddressLayout, end| {
        let inside = Fault::new(end, layout, Faults { seed: 2, ..FAULTS });
        Fault::new(Trace::new(Count::new(inside), (|_| ()) as Silent), layout, FAULTS)
    };
    Ends::layered(ranks, wrap, |fault, rank| fault.inner().inner().inner().inner().peer_failed(rank))
}

/// Two networks as one, with ends in a `Fault` layer. The ranks for which `is_in_node` holds are on the node of a rank.
fn split(
    ranks: u32,
    is_in_node: fn(Rank, Rank) -> bool,
    faults: Faults,
) -> Ends<Split<Fault<Loopback>, Fault<Loopback>, IsInNode>> {
    let ends = RefCell::new(Vec::new());
    let wrap = |layout, inter: Loopback| {
        let mut ends = ends.borrow_mut();
        if ends.is_empty() {
            *ends = inter.another_network().into_iter().zip((0..ranks).map(Rank::new)).rev().collect();
        }
        let (end, me) = ends.pop().expect("an end of either network");
        let address = |rank: Rank| Address(rank.number().to_le_bytes().into());
        let [intra, inter] =
            [(end, faults), (inter, Faults { seed: 2, ..faults })].map(|(end, faults)| Fault::new(end, layout, faults));
        Split::new(intra, inter, layout, Box::new(move |rank| is_in_node(me, rank)) as IsInNode, address)
    };
    Ends::layered(ranks, wrap, |split, rank| {
        [split.intra_node(), split.inter_node()].into_iter().for_each(|end| end.inner().peer_failed(rank))
    })
}

fn same_half(one: Rank, other: Rank) -> bool {
    one.number() / 2 == other.number() / 2
}
