//! Tests of the crate in one program, which builds faster than one for each file.

mod agreement;
mod any_kernel;
mod approximations;
mod asynchronous;
mod asynchrony;
mod checkers;
mod clusters;
#[path = "../common/mod.rs"]
mod common;
mod dependents;
mod device;
mod edited;
mod evaluate;
mod extremes;
mod hangs;
mod host_memory;
mod kernels;
mod multimem;
mod operands;
mod permissive;
mod printing;
mod profile;
mod ranges;
mod sandbox;
mod schedules;
mod shape;
mod shared;
mod tensors;
mod threads;
mod trace;
mod undefined;
mod unsupported;
mod warpgroup_order;
mod work;

use test_support::corpus as files;
use test_support::observe;
use test_support::random;
use test_support::random::run;
