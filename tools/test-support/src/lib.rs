//! Common code of the tests of several crates, of the tools and of the benchmarks.
//!
//! The feature `vm` adds the execution of kernels, `edit` edits of modules, `instances` instances of all forms. Without a feature, its
//! libraries are not compiled.
#![allow(
    clippy::expect_used,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::panic,
    clippy::unwrap_used,
    missing_debug_implementations,
    missing_docs,
    reason = "a test that cannot go on fails"
)]

pub mod check;
pub mod corpus;
#[cfg(feature = "edit")]
pub mod edits;
pub mod inputs;
#[cfg(feature = "instances")]
pub mod instances;
pub mod mutate;
#[cfg(feature = "vm")]
pub mod observe;
pub mod page;
pub mod programs;
pub mod random;
pub mod sample;

/// The path of the device that discards what is written to it.
pub const NULL_DEVICE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };
