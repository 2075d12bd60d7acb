//! Executes kernels.

mod actions;
mod block;
mod bulk;
mod calls;
mod exchange;
mod format;
mod grid;
mod groups;
mod mbarrier;
mod memory;
mod special;
mod system_calls;
mod warp;

pub(crate) use grid::{Grid, run};
