//! The memory consistency model of PTX (chapter 8 of the PTX ISA manual): every execution that it allows, for small programs.
//!
//! * [`Relations`] and [`Axiom`] are the relations and axioms, for one execution.
//! * [`orders`] finds out whether an execution is consistent.
//! * [`explore`] visits all consistent executions of a [`Program`], each once.
//! * [`kernel`] explores launches of kernels.
//! * [`litmus`] reads litmus tests and decides them.
//!
//! ```
//! use ptx_memory::ExploreOptions;
//! use ptx_memory::litmus::Litmus;
//! let test = Litmus::parse(
//!     "PTX message-passing
//! { x = 0; flag = 0; }
//!  P0@cta 0,gpu 0        | P1@cta 1,gpu 0          ;
//!  st.weak x, 1          | ld.acquire.gpu r0, flag ;
//!  st.release.gpu flag, 1| ld.weak r1, x           ;
//! ~exists (P1:r0 == 1 /\\ P1:r1 == 0)",
//! )
//! .unwrap();
//! let verdict = test.decide(&ExploreOptions::default());
//! assert!(verdict.holds && verdict.is_certain);
//! ```
#![forbid(unsafe_code)]

mod event;
mod execution;
mod explore;
pub mod kernel;
pub mod litmus;
mod model;
mod orders;
mod program;
mod relation;

pub use event::{
    AddressRange, Event, EventKind, Location, MemoryProxy, MemoryScope, Order, ThreadPlace,
};
pub use execution::{AsynchronousOperation, AsynchronousWait, Execution, ReadsFrom};
pub use explore::{End, Ending, ExploreOptions, Limit, Observer, Race, Statistics, explore};
pub use model::{Axiom, Causality, Relations, Version, Violation, from_reads};
pub use orders::{Demands, LastWrite, Orders, orders};
pub use program::{
    BarrierStep, ExchangedValue, Iteration, Participants, Program, Step, ThreadAccess, Update,
    Value,
};
pub use relation::{EventSet, Relation};
