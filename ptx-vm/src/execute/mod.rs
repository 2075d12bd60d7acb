//! The execution of kernels.
//!
//! A launch ([`run`], [`independent`]) runs clusters in turns ([`cluster`], [`order`]), a cluster its CTAs ([`block`]), and a CTA its warps ([`warp`]). The
//! lanes of a warp are divided into groups that are at one step ([`groups`]); an [`execution`] is a step that a group executes. [`observer`] is the
//! interface of everything that observes a launch; [`watch`] and [`probe`] find threads that wait for ever.

mod access;
mod actions;
mod addresses;
mod asynchronous;
mod atomics;
mod barriers;
mod block;
mod box_copy;
mod bulk;
mod calls;
mod cancellation;
mod cells;
mod cluster;
mod copy;
mod dependent;
mod determined;
mod device_runtime;
mod effects;
mod exchange;
mod execution;
mod format;
mod grid;
mod groups;
mod independent;
mod launches;
mod location;
mod matrix;
mod matrix_memory;
mod matrix_rows;
mod mbarrier;
mod multimem;
mod observed;
mod observer;
mod observer_pair;
mod opaque;
mod order;
mod probe;
mod repeated_loop;
mod repeats;
mod run;
mod shared_matrix;
mod special;
mod surface;
mod system_calls;
mod tensor;

mod tensor_map;
mod texture;
mod touch;
mod waits;
mod warp;
mod warpgroup;
mod warpgroup_order;
mod watch;

pub use actions::performs;
pub(crate) use actions::{BarrierOperands, unsupported};
pub(crate) use block::{Block, ObserverCell};
pub(crate) use dependent::{Dependency, run_dependent};
pub(crate) use determined::{Determined, Unknown, determined, whole_bytes};
pub(crate) use device_runtime::{PARAMETER_BYTES, uses_heap, uses_memory};
pub(crate) use exchange::{Exchange, Participants, UnknownResults};
pub(crate) use execution::{Execution, Failed};
pub(crate) use grid::Clusters;
pub(crate) use grid::{COPIES, Grid};
pub(crate) use groups::{CallFrame, Group, LaneOutcome, LaneStep, State};
pub(crate) use launches::{ChildLaunch, CopyOfRows, Launches, Source, Work};
pub(crate) use location::Memory;
pub(crate) use observer::{MbarrierOperation, Observer, PhaseEvent, Results};
pub(crate) use observer_pair::ObserverPair;
pub(crate) use probe::Probe;
pub(crate) use run::run;
pub use touch::AccessUse;
pub(crate) use touch::{Touch, Use};
pub(crate) use warp::Warp;
pub(crate) use warpgroup::addend_predicate;
