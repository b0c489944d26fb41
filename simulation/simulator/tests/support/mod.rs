//! Whole jobs on a simulated machine, for tests.

use pelago_netsim::Machine;
use pelago_rma::{Result, World};
use pelago_simulator::{Outcome, Settings, simulate};

/// So many ranks on a bundled machine, with 4 MiB each; nothing is reported.
pub(crate) fn settings(machine: &str, ranks: u32, per_node: u32) -> Settings {
    settings_on(Machine::parse(Machine::bundled(machine).unwrap()).unwrap(), ranks, per_node)
}

/// The same on any machine.
pub(crate) fn settings_on(machine: Machine, ranks: u32, per_node: u32) -> Settings {
    Settings {
        machine,
        ranks,
        per_node,
        seed: 1,
        heap_bytes: 4 << 20,
        stack_bytes: 256 << 10,
        protocol: None,
        data: Default::default(),
        computing: Default::default(),
        report: None,
        stop: Default::default(),
    }
}

/// Runs `body` as every rank of a job.
pub(crate) fn run<R>(settings: &Settings, body: impl Fn(&World) -> Result<R>) -> Outcome<Result<R>> {
    simulate(settings, |parts| {
        let world = World::new(*parts)?;
        let value = body(&world)?;
        world.finish()?;
        Ok(value)
    })
    .unwrap()
}
