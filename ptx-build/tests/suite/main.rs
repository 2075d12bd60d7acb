//! All tests of the crate in one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod blocks;
mod comments;
#[path = "../common/mod.rs"]
mod common;
mod declarations;
mod glob_imports;
mod inline;
mod insertion;
mod kernels;
mod labels_and_places;
mod names;
mod operand_counts;
mod rebuild_after_refusal;
mod usage_errors;
