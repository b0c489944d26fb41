//! C programs written for OpenSHMEM: what the header says, what the library exports, and that programs do what they check.

mod build;
mod conformance;
mod examples;
mod interface;
mod python;
mod wrong;
