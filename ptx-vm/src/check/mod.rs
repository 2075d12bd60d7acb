//! Checkers: they observe a launch and report what is wrong.
//!
//! [`checkers::Checkers`] is the observer. `memcheck` asks the [`allocations`] and what is known about each address before the launch
//! ([`objects`]); `initcheck` notes [`written_bytes`], and follows the registers that may have no value where they are read ([`unset`]);
//! `racecheck` keeps the last [`accesses`] to each of the [`places`] in memory, by their numbers in [`records`], and compares their times with what
//! threads know ([`clock`], [`warp_clock`]), which barriers, fences and atomic operations increase ([`order`], [`published`]); `synccheck` looks at
//! barriers and masks, at [`mbarriers`] and at [`copies`], which are accesses with separate times.

mod access;
mod accesses;
mod allocations;
mod blocks;
mod branches;
mod checker;
mod checkers;
mod clock;
mod copies;
mod initcheck;
mod mbarriers;
mod memcheck;
mod objects;
mod observer;
mod order;
mod places;
mod published;
mod racecheck;
mod records;
mod report;
mod reports;
mod scope;
mod sites;
mod state;
mod sync_state;
mod synccheck;
mod unset;
mod warp_clock;
mod written_bytes;

pub use checker::{Checker, Checks, UnknownChecker};
pub use report::{Occurrence, Report};

pub(crate) use allocations::{Allocations, Owner};
pub(crate) use checkers::Checkers;
pub(crate) use objects::Objects;
pub(crate) use sites::Sites;
pub(crate) use written_bytes::WrittenBytes;
