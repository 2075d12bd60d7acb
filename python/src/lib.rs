//! The Python package `ptxkit`: modules, functions and instructions as objects, and what the toolkit does with them.
//!
//! Objects are views: a [`module::Module`] owns the records of a file, and the others are ids in it.
#![forbid(unsafe_code)]

mod diagnostic;
mod error;
mod function;
mod instruction;
mod module;
mod parameters;
mod read;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::diagnostic::{Diagnostic, Span};
    #[pymodule_export]
    use super::function::{Function, Functions};
    #[pymodule_export]
    use super::instruction::{Instruction, Instructions};
    #[pymodule_export]
    use super::module::Module;
    #[pymodule_export]
    use super::read::{parse, read};
}
