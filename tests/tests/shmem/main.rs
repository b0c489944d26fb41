//! C programs written for OpenSHMEM: the header, the exports of the library, and programs that check their own results.

mod build;
mod conformance;
mod examples;
mod interface;
mod python;
mod wrong;
