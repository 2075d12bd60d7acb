//! Executes kernels.

mod actions;
mod block;
mod calls;
mod exchange;
mod grid;
mod groups;
mod memory;
mod special;
mod warp;

pub(crate) use grid::{Grid, run};
