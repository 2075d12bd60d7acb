//! Executes kernels.

mod access;
mod actions;
mod atomics;
mod block;
mod both;
mod bulk;
mod calls;
mod cancel;
mod exchange;
mod execution;
mod format;
mod grid;
mod groups;
mod independent;
mod location;
mod matrix;
mod matrix_memory;
mod matrix_rows;
mod mbarrier;
mod memory;
mod observer;
mod order;
mod special;
mod system_calls;
mod turns;
mod warp;

pub use actions::performs;
pub(crate) use block::{Block, Observing};
pub(crate) use both::Both;
pub(crate) use execution::{Execution, Failed};
pub(crate) use grid::{Grid, run};
pub(crate) use groups::{CallFrame, Group, State};
pub(crate) use location::Memory;
pub use observer::AccessUse;
pub(crate) use observer::{After, Observed, Observer, OnMbarrier, Stepped, Touch, Use};
pub(crate) use warp::Warp;
