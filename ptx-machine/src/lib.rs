//! A slow machine that runs functions of PTX, and random functions for it. The tests of analyses and of rewriting share it; it is not
//! published.
#![forbid(unsafe_code)]

mod compute;
mod hash;
mod machine;
mod operands;
pub mod program;
mod random;

pub use machine::{End, Machine, Trace};
pub use random::Random;
