//! Checks whether a PTX module is legal for a version and a target, and finds out which versions and targets it requires.
//!
//! Which instructions are legal is data of `ptx-isa`. The rules here report *findings*: a typed problem and a location.
//! One module renders findings as [diagnostics](ptx_ir::Diagnostic) ([`verify`], [`Checked`]), and [`requires`] turns them
//! into requirements.
//!
//! ```
//! let parsed = ptx_parse::parse(b".version 7.0
//! .target sm_80
//! .address_size 64
//! .entry k() {
//!     .reg .b32 %r<2>;
//!     .reg .b16 %h<2>;
//!     add.s32 %r0, %r1, %h0;
//! }");
//! let found = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
//! assert_eq!(found.len(), 1);
//! assert_eq!(found[0].code.to_string(), "PTX0506");
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod alias;
mod alignment;
mod availability;
mod body;
mod body_checker;
mod call;
mod call_tables;
mod codegen_limits;
mod context;
mod conversion;
mod debug;
mod declared;
mod directive;
mod explain;
mod finding;
mod header;
mod header_ends;
mod incremental;
mod initializer;
mod inst_part;
mod inst_requirements;
mod instruction;
mod interface;
mod likely_mistakes;
mod locate;
mod location;
mod memory;
mod module_directives;
mod module_rules;
mod operand_order;
mod operand_repair;
mod options;
mod param_access;
mod param_layout;
mod parameter;
mod pragma;
mod problem;
mod prototype;
mod redeclaration;
mod register_choice;
mod render;
mod requires;
mod retarget;
mod statement_checker;
mod table;
mod too_old;
mod unresolved;
mod unused;
mod uses;
mod variable;
mod variable_tables;
mod wrong_declaration;

pub use availability::Availability;
#[doc(hidden)]
pub use body_checker::BodyChecker;
pub use codegen_limits::codegen_limits;
pub use incremental::{Changes, Checked, Proof};
pub use inst_requirements::InstRequirements;
pub use likely_mistakes::likely_mistakes;
pub use memory::shared_memory;
pub use options::Options;
pub use requires::{Reason, Requirements, requires};
#[doc(hidden)]
pub use statement_checker::{Direction, NewInst, StatementChecker};
pub use unused::unused;

use alloc::vec::Vec;
use ptx_ir::{Diagnostic, Module};

/// Reports the errors in the items of a module, without the statements of its functions: [`StatementChecker`] checks those one
/// by one. In the order of the source.
#[doc(hidden)]
#[must_use]
pub fn verify_items(module: &Module) -> Vec<Diagnostic> {
    incremental::of_items(module)
}

/// Reports all errors in a module beyond its syntax and its names, in the order of the source. Statements that the parser
/// reported are skipped. Linear in the module.
#[must_use]
pub fn verify(module: &Module, options: &Options) -> Vec<Diagnostic> {
    incremental::of_all(module, options)
}
