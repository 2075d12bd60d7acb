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

/// The parts of this crate that only other crates of the project use. They may change at any time.
#[doc(hidden)]
pub mod internals {
    pub use crate::evaluate::evaluate_columns;
    pub use crate::fold::algebra::{
        COPY, Conversion, TO_SPACE, commutes, conversion, is_copy, selection,
    };
    pub use crate::fold::columns::{FoldedColumns, fold_columns};
    pub use crate::fold::{fold_partial, fold_update, fold_with_choices};
    pub use crate::operands::{extended, source, visit_results};
}

pub use evaluate::{Results, evaluate};
pub use operands::{Place, SourceOperand, visit_sources};
pub use smt::formula::{smt, smt_block, smt_window};
