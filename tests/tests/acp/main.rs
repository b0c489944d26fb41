//! C programs written for ACP: what the header says, what the library exports, and that programs do what they check.

mod build;
mod conformance;
mod crashes;
mod failures;
mod installed;
mod interface;
mod scripts;
mod simulated;
mod tutorial;
mod wrong;
