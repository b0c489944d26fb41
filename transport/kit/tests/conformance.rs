//! The contract, kept by `Loopback` and by every layer around it.

use pelago_base::AddressLayout;
use pelago_kit::conformance::Layered;
use pelago_kit::{Count, Fault, Faults, Loopback, Trace};

type Silent = fn(&str);

const FAULTS: Faults = Faults { seed: 1, full_per_mille: 200, delay_per_mille: 500, lose: None };

pelago_kit::conformance!(loopback, plain);
pelago_kit::conformance!(trace, traced);
pelago_kit::conformance!(count, counted);
pelago_kit::conformance!(fault, |ranks| faulty(ranks, FAULTS));
pelago_kit::conformance!(fault_always_late, |ranks| faulty(ranks, Faults { delay_per_mille: 1000, full_per_mille: 0, ..FAULTS }));
pelago_kit::conformance!(stack, stacked);

fn plain(ranks: u32) -> Layered<Loopback> {
    Layered::new(ranks, |_, end| end, |end| end)
}

fn traced(ranks: u32) -> Layered<Trace<Loopback, Silent>> {
    Layered::new(ranks, |_, end| Trace::new(end, (|_| ()) as Silent), Trace::inner)
}

fn counted(ranks: u32) -> Layered<Count<Loopback>> {
    Layered::new(ranks, |_, end| Count::new(end), Count::inner)
}

fn faulty(ranks: u32, faults: Faults) -> Layered<Fault<Loopback>> {
    Layered::new(ranks, |layout, end| Fault::new(end, layout, faults), Fault::inner)
}

fn stacked(ranks: u32) -> Layered<Fault<Trace<Count<Fault<Loopback>>, Silent>>> {
    let wrap = |layout: AddressLayout, end| {
        let inside = Fault::new(end, layout, Faults { seed: 2, ..FAULTS });
        Fault::new(Trace::new(Count::new(inside), (|_| ()) as Silent), layout, FAULTS)
    };
    Layered::new(ranks, wrap, |fault| fault.inner().inner().inner().inner())
}
