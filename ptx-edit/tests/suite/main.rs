//! All tests of the crate in one program.

#[path = "../../../ptx-print/tests/common/mod.rs"]
mod common;
mod editing;
mod edits;
mod fragments;
mod names;
mod renames;
mod signatures;
mod token_edits;
