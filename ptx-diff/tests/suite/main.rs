//! All tests of the crate in one program.

mod corpus;
mod diff;
mod values;

use test_support::edits;
use test_support::sample;
