//! All tests of the crate in one program, but for those that replace the allocator.

mod containers;
mod formats;
mod mutations;
