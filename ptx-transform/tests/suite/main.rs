//! Tests of the crate in one program, which builds faster than one for each file.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod addresses;
mod behavior;
mod chain;
mod corpus;
mod edited;
mod extract;
mod instrument;
mod link;
mod names;
mod preheader;
mod requirements;

use test_support::corpus as files;
use test_support::edits;
use test_support::observe;
use test_support::programs::machine;
use test_support::programs::run;
use test_support::sample;
