//! All tests of the crate in one program.

mod editing;
mod edits;
mod fragments;
mod names;
mod renames;
mod signatures;
mod token_edits;
