//! The conformance suite of the transport contract, over sockets of this machine.

mod support;

use std::sync::mpsc::channel;

use pelago::Rank;
use pelago_kit::conformance::Ends;
use pelago_tcp::Tcp;

fn job(ranks: u32) -> Ends<Tcp> {
    let layout = Ends::<Tcp>::layout(ranks);
    let ends =
        support::mesh(ranks).into_iter().zip(0..).map(|(streams, rank)| Tcp::new(Rank::new(rank), layout, streams, channel().0));
    // Closes the sockets, as the death of the process does.
    Ends::new(ends, |ends, rank| drop(ends.remove(&rank)))
}

pelago_kit::conformance!(tcp, job);
