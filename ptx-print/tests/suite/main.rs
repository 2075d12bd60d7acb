//! All tests of the crate in one program, but for those that replace the allocator.

mod cascades;
mod corpus;
mod extremes;
mod grammar;
mod mutations;
mod sharing;
mod tokens;
