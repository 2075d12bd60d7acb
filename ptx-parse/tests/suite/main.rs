//! All tests of the crate in one program, but for those of `files`, whose cases are files.

mod fixes;
mod incremental;
mod limits;
mod names;
mod swar;
