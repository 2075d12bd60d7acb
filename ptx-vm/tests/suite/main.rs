//! Tests of the crate in one program, which builds faster than one for each file.

mod agreement;
mod any_kernel;
mod approximations;
mod asynchronous;
mod checkers;
#[path = "../common/mod.rs"]
mod common;
mod extremes;
#[path = "../../../ptx-print/tests/common/corpus.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod files;
mod hangs;
mod host_memory;
mod kernels;
#[path = "../common/observe.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod observe;
mod operands;
mod printing;
mod profile;
#[path = "../common/random/mod.rs"]
mod random;
mod ranges;
#[path = "../common/random/run.rs"]
#[allow(dead_code, reason = "other tests need the rest")]
mod run;
mod sandbox;
mod schedules;
mod shape;
mod shared;
mod threads;
mod trace;
mod undefined;
mod unsupported;
mod work;
