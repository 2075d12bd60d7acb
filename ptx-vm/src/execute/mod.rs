//! Executes kernels.

mod access;
mod actions;
mod block;
mod bulk;
mod calls;
mod cancel;
mod exchange;
mod execution;
mod format;
mod grid;
mod groups;
mod location;
mod matrix;
mod mbarrier;
mod memory;
mod special;
mod system_calls;
mod turns;
mod warp;

pub use actions::performs;
pub(crate) use grid::{Grid, run};
