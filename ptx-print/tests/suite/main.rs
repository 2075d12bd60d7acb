//! All tests of the crate in one program, but for those that replace the allocator.

mod cascades;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod extremes;
mod grammar;
mod mutations;
mod sharing;
