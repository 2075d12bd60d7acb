//! The constant evaluator against another one: native integers and floats of Rust, and loops over bits where Rust has no
//! such operation. `PTXKIT_FOLD_CASES=file` writes all cases, one a line: `instruction operands… = expected`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

mod common;

mod algebra;
mod apfloat;
mod bits;
mod convert;
mod every_code;
mod extremes;
mod float;
mod float_forms;
mod formats;
mod forms;
mod halves;
mod integer;
mod lanes;
mod nonsense;
mod numbers;
mod packed;
mod refused;
mod scaled;
mod short;
mod simd;
mod single;
mod smt;
mod video;
mod windows;

use test_support::random;
use test_support::sample;
