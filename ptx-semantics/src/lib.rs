//! Semantics of PTX instructions: results for constant operands, and terms of SMT-LIB.
//!
//! Both are made from the expressions of the tables ([`ptx_isa::Form::computation`]).
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod evaluate;
pub mod fold;
mod operands;
pub mod smt;

pub use evaluate::{Results, evaluate};
pub use operands::{Place, SourceOperand, extended, source, visit_results, visit_sources};
pub use smt::{smt, smt_block, smt_window};
