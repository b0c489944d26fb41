//! Test that an operation is entered in exactly one table.

use pelago_base::{AddressLayout, AtomicOperator, Duration, GlobalAddress, Instant, Rank, SegmentId, Width};

use super::Conversations;
use crate::{Config, Denied, Key, Memory, Request};

/// Memory without registered regions, and local memory of zeros.
struct Zeros;

impl Memory for Zeros {
    type Local = ();

    fn check(&self, _: GlobalAddress, _: u64) -> Result<(), Denied> {
        Err(Denied::Outside)
    }

    fn read(&self, _: GlobalAddress, _: &mut [u8]) -> Result<(), Denied> {
        Err(Denied::Outside)
    }

    fn write(&mut self, _: GlobalAddress, _: &[u8]) -> Result<(), Denied> {
        Err(Denied::Outside)
    }

    fn copy(&mut self, _: GlobalAddress, _: GlobalAddress, _: u64) -> Result<(), (Denied, bool)> {
        Err((Denied::Outside, false))
    }

    fn atomic(&mut self, _: GlobalAddress, _: Width, _: AtomicOperator, _: u64) -> Result<u64, Denied> {
        Err(Denied::Outside)
    }

    fn read_local(&self, _: &(), _: u64, into: &mut [u8]) {
        into.fill(0);
    }

    fn write_local(&mut self, _: &(), _: u64, _: &[u8]) {}
}

/// Of all state of conversations, only the datagrams of a peer grow with short writes, and only the table of operations with other
/// operations; each token of the caller is stored once. A transport without a table of its own thus has one table, besides its caller's.
#[test]
fn an_operation_is_entered_once() {
    let layout = AddressLayout::new(2, 1 << 20).unwrap();
    let (key, failure_limit) = (Key([7; 16]), Duration::from_seconds(5.0));
    let config =
        Config { me: Rank::new(0), incarnation: 1, layout, key, encrypt: false, failure_limit, receive_window_bytes: 1 << 20 };
    let mut me = Conversations::new(config);
    let (to, now) = (me.connect(Rank::new(1), 1200), Instant::ZERO);
    let at = layout.encode(Rank::new(1), SegmentId::SYMMETRIC, 0).unwrap();
    const ROUNDS: usize = 30;
    let mut token = 0;
    for round in 0..ROUNDS {
        let requests = [
            Request::Write { to: at, bytes: &[1; 8] },
            Request::Put { from: (), to: at, bytes: 8 },
            Request::Get { from: at, to: (), bytes: 8 },
            Request::Atomic { at, width: Width::Eight, operator: AtomicOperator::Add, operand: 1 },
            Request::Copy { from: at, to: at, bytes: 8 },
        ];
        for request in requests {
            me.submit(now, to, request, token).unwrap();
            token += 1;
        }
        let injection = me.inject(now, to, at, &[1; 8], token).unwrap();
        me.capture(&injection);
        token += 1;
        // Some operations wait, and some are in flight to a peer that does not answer.
        if round % 2 == 0 {
            while me.poll_transmit(now, &Zeros, &mut [0; 1 << 16], false).is_some() {}
        }
    }
    // All fields are listed: a new field must be checked here for being another table.
    let Conversations {
        config: _,
        seal: _,
        peers,
        by_rank,
        active,
        queue,
        waiting,
        operations,
        requests: _,
        events,
        completions,
        under_way,
        transmissions: _,
        burst: _,
        due: _,
        looked: _,
        lateness: _,
        worth: _,
        typical: _,
        spare: _,
        captures: _,
        kept_bytes: _,
        sharing: _,
        counters: _,
    } = &me;
    assert_eq!((peers.len(), by_rank.len(), active.len(), waiting.len()), (1, 1, 1, 0), "peers");
    assert!(queue.len() <= 1 && events.is_empty() && completions.is_empty(), "nothing has ended");
    assert_eq!(*under_way, 6 * ROUNDS);
    assert_eq!(operations.len(), 5 * ROUNDS, "all but the short writes");
    let sender = &peers[0].active.as_ref().unwrap().sender;
    assert_eq!(sender.tokens().count(), ROUNDS, "the short writes");
    let mut tokens: Vec<u64> = operations.tokens().chain(sender.tokens()).collect();
    tokens.sort_unstable();
    assert!(tokens.into_iter().eq(0..token), "each operation has one entry");
}
