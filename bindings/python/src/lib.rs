//! The Python package `ptxkit`: modules, functions and instructions as objects, and the functions of the toolkit.
//!
//! Objects are views: a [`module::Module`] owns the records of a file, and the other objects contain ids in it.
#![forbid(unsafe_code)]

mod buffer;
mod build;
mod cfg;
mod conversions;
mod dependent;
mod diagnostic;
mod diff;
mod edit;
mod error;
mod explain;
mod facts;
mod finding;
mod function;
mod indirect;
mod instruction;
mod known;
mod launch_arguments;
mod launch_options;
mod machine;
mod module;
mod module_interface;
mod operand;
mod placement;
mod profile;
mod reaching;
mod read;
mod requires;
mod rewrite;
mod scan;
mod signature;
mod ssa;
mod textures;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::build::{Builder, FunctionBuilder, Mnemonic, Value};
    #[pymodule_export]
    use super::cfg::{Block, Cfg, Edge, Loop, Pressure};
    #[pymodule_export]
    use super::diagnostic::{Diagnostic, Span, restored_diagnostic};
    #[pymodule_export]
    use super::diff::{Diff, FunctionDiff};
    #[pymodule_export]
    use super::edit::Editor;
    #[pymodule_export]
    use super::explain::{Explanation, explain_text};
    #[pymodule_export]
    use super::facts::{Guard, MemoryAccess, SourceLine};
    #[pymodule_export]
    use super::finding::{Finding, Occurrence, Outcome};
    #[pymodule_export]
    use super::function::{Function, Functions, Parameter, Register, Variable};
    #[pymodule_export]
    use super::instruction::{Instruction, Instructions};
    #[pymodule_export]
    use super::machine::Machine;
    #[pymodule_export]
    use super::module::Module;
    #[pymodule_export]
    use super::operand::Operand;
    #[pymodule_export]
    use super::profile::{InstructionProfile, MatrixCounts, MemoryCounts};
    #[pymodule_export]
    use super::reaching::Reaching;
    #[pymodule_export]
    use super::read::{Entry, check_many, entries, parse, read, read_many};
    #[pymodule_export]
    use super::requires::{Reason, Requirements};
    #[pymodule_export]
    use super::rewrite::{Site, link};
    #[pymodule_export]
    use super::scan::{Batch, Batches, Scan, Table, scan};
    #[pymodule_export]
    use super::ssa::{Ssa, SsaValue};
    #[pymodule_export]
    use super::textures::TexelArray;
}
