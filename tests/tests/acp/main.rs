//! C programs written for ACP: the header, the exports of the library, and programs that check their own results.

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
