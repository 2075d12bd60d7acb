//! Checkers, which observe a launch and report errors.
//!
//! [`checkers::Checkers`] is the observer. `memcheck` uses the [`allocations`] and the static provenance of addresses ([`objects`]). `initcheck`
//! records [`written_bytes`] and tracks the registers that may be uninitialized when they are read ([`unset`], [`uninitialized`]). `racecheck` stores
//! the last [`accesses`] to each memory location by number ([`locations`]), and compares their times with the vector clocks of threads ([`clock`],
//! [`warp_clock`]), which barriers, fences and atomic operations join ([`order`], [`published`]); [`proxies`] are compared with proxy fences. `synccheck`
//! checks barriers, masks, [`mbarriers`] and [`copies`], which are accesses with separate times. `racecheck` also looks for accesses without a wait for
//! the grid before ([`dependency`]).

mod accesses;
mod allocations;
mod checker;
mod checkers;
mod clock;
mod copies;
mod deferring;
mod dependency;
mod exchanged;
mod initcheck;
mod locations;
mod mbarriers;
mod memcheck;
mod objects;
mod observer;
mod order;
mod proxies;
mod published;
mod racecheck;
mod register_tracking;
mod report;
mod sites;
mod state;
mod sync_state;
mod synccheck;
mod taint;
mod tensor_memory;
mod uninitialized;
mod unset;
mod warp_clock;
mod written_bytes;

pub use checker::{Checker, Checks, UnknownChecker};
pub use report::{Occurrence, Report};

pub(crate) use allocations::{Allocations, Owner};
pub(crate) use checkers::{CheckResults, Checkers};
pub(crate) use dependency::EarlierWrites;
pub(crate) use objects::Objects;
pub(crate) use sites::Sites;
pub(crate) use written_bytes::WrittenBytes;
