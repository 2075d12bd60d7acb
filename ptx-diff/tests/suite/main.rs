//! All tests of the crate in one program.

mod corpus;
mod diff;
#[path = "../../../ptx-transform/tests/suite/common/edits.rs"]
mod edits;
#[path = "../../../ptx-print/tests/common/sample.rs"]
mod sample;
mod values;
