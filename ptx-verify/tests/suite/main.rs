//! All tests of the crate in one program, but for those that replace the allocator.

mod body_by_body;
mod codes;
mod conversions;
#[path = "../../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod corpus;
mod edited;
mod examples;
mod growth;
mod header_and_tables;
mod incremental;
mod instructions;
mod labels;
mod likely_mistakes;
mod messages;
#[path = "../../../ptx-print/tests/common/mutate.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod mutate;
#[path = "../../../ptx-print/tests/common/sample.rs"]
mod sample;
