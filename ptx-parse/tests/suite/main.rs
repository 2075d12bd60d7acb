//! All tests of the crate in one program, but for those of `files`, whose cases are files.

mod fixes;
mod incremental;
mod limits;
mod names;
#[cfg(feature = "parallel")]
mod parallel;
mod swar;
