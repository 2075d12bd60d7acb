//! All tests of the crate in one program.

mod corpus;
mod diff;
#[path = "../../../ptx-print/tests/common/sample.rs"]
mod sample;
mod values;
