//! All tests of the crate in one program.

mod corpus;
mod diff;
mod values;
