//! All tests of the crate in one program, but for those that replace the allocator.

mod body_by_body;
mod budget;
mod codes;
mod conversions;
mod edited;
mod examples;
mod growth;
mod header_and_tables;
mod incremental;
mod instructions;
mod labels;
mod likely_mistakes;
mod messages;

use test_support::corpus;
use test_support::mutate;
use test_support::sample;
