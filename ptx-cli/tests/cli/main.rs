//! Runs the program and checks its output and exit status.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod analyze;
mod check;
mod clean;
mod containers;
mod diff;
mod dump;
mod exec;
mod explain;
mod explore;
mod fmt;
mod gate;
mod instrument;
mod lint;
mod names;
mod parse;
mod program;
mod queries;
mod report;
mod requires;
mod rewrite;
mod run;
mod run_script;
mod run_textures;
mod run_trace;
mod sass;
mod source;
mod stats;
mod support;
mod suppression;
mod surface;
mod threads;
mod untrusted;

use test_support::sample;
