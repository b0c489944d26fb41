//! Endpoints that talk to each other over a network that loses, repeats, delays and reorders, in virtual time. Every run is made from a
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
