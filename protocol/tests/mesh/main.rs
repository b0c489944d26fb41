//! Tests of endpoints that communicate over a network that loses, repeats, delays and reorders, in virtual time. Every run follows from a
//! seed, which every failure names.

mod blocks;
mod bounds;
mod driver;
mod exactly_once;
mod failure;
mod fences;
mod flow;
mod hostile;
mod liveness;
mod loss;
mod memory;
mod network;
mod patience;
mod probes;
mod replayed;
mod silence;
mod sizes;
mod transfers;
