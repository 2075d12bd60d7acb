//! All tests of the crate in one program, but for those that replace the allocator.

mod codes;
mod edited;
mod examples;
mod growth;
mod header_and_tables;
mod incremental;
mod instructions;
mod labels;
mod likely_mistakes;
