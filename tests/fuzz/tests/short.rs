//! The short run that every change has to pass.

use pelago_fuzz::{Plan, campaign};

#[test]
fn nothing_that_ranks_are_sent_makes_them_panic() {
    let tally = campaign(Plan { inputs: 200_000, seed: 1 }, |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(tally.inputs, 200_000);
    // Each kind of response occurs often enough to conclude that the code behind it was reached. Altered acknowledgements without new information count
    // as repeated, although they are parsed.
    for (count, least) in [
        (tally.forged, 50_000),
        (tally.malformed, 1_000),
        (tally.duplicate, 1_000),
        (tally.early, 1_000),
        (tally.foreign, 1_000),
        (tally.accepted, 8_000),
    ] {
        assert!(count >= least, "{tally}");
    }
}

#[test]
fn everything_follows_from_the_seed() {
    let run = |seed| campaign(Plan { inputs: 5_000, seed }, |_| {}).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}
