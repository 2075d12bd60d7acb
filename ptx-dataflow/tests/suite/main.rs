//! Tests of the crate in one program, which builds faster than one for each file.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

mod blocks;
mod brute;
mod calls;
mod common;
mod constants;
mod corpus;
mod dataflow;
mod edited;
mod facts;
mod graph;
mod random;
mod source_lines;
mod sparse;
mod ssa;
mod values;

use test_support::corpus as files;
