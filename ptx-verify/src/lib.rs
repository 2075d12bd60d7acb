//! Checks whether a PTX module is legal for a version and a target, and finds out which versions and targets it requires.
//!
//! `ptx-isa` contains the legal instructions as data. The rules here report *findings*: a typed problem and a location.
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
//! let diagnostics = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
//! assert_eq!(diagnostics.len(), 1);
//! assert_eq!(diagnostics[0].code.to_string(), "PTX0506");
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod alias;
mod availability;
mod body_checker;
mod call;
mod call_tables;
mod codegen_limits;
mod context;
mod conversion;
mod debug;
mod directive;
mod explain;
mod finding;
mod header;
mod incremental;
mod initializer;
mod inst_part;
mod instruction;
mod interface;
mod layout;
mod likely_mistakes;
mod locate;
mod location;
mod memory;
mod operand_errors;
mod operand_order;
mod operand_repair;
mod param_access;
mod problem;
mod prototype;
mod redeclaration;
mod register_choice;
mod render;
mod requires;
mod rules;
mod statement_checker;
mod too_old;
mod unresolved;
mod unused;
mod uses;
mod variable;
mod wrong_declaration;

pub use availability::Availability;
#[doc(hidden)]
pub use body_checker::BodyChecker;
pub use codegen_limits::codegen_limits;
pub use incremental::{Changes, Checked, Proof};
pub use likely_mistakes::likely_mistakes;
pub use memory::shared_memory;
#[doc(hidden)]
pub use requires::InstRequirements;
pub use requires::{Reason, Requirements, requires};
#[doc(hidden)]
pub use statement_checker::{Direction, NewInst, StatementChecker};
pub use unused::unused;

use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_ir::{Budget, BudgetExhausted, Diagnostic, Module};
use ptx_isa::{PtxVersion, Target};

/// The version and the target that a module is checked for; by default those of its header.
///
/// ```
/// use ptx_isa::Target;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n").module;
/// let options = ptx_verify::Options::default().with_target(Target::Sm90);
/// assert_eq!(options.environment(&module).target(), Some(Target::Sm90));
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Replaces the version of the header.
    pub version: Option<PtxVersion>,
    /// Replaces the target of the header.
    pub target: Option<Target>,
}

impl Options {
    /// Replaces the version of the header; `None` is the version of the header.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<Option<PtxVersion>>) -> Self {
        self.version = version.into();
        self
    }

    /// Replaces the target of the header; `None` is the target of the header.
    #[must_use]
    pub fn with_target(mut self, target: impl Into<Option<Target>>) -> Self {
        self.target = target.into();
        self
    }

    /// Returns the version and the target that a module is checked for.
    #[must_use]
    pub fn environment(&self, module: &Module) -> Environment {
        let header = Environment::of(module);
        Environment::new(
            self.version.unwrap_or(header.version()),
            self.target.or(header.target()),
        )
    }
}

/// Returns the errors in the items of a module in the order of the source. The statements of its functions are not checked: [`StatementChecker`] checks
/// them one by one.
#[doc(hidden)]
#[must_use]
pub fn verify_items(module: &Module) -> Vec<Diagnostic> {
    incremental::item_diagnostics(module)
}

/// Returns all errors in a module beyond its syntax and its names, in the order of the source. Statements that the parser
/// reported are skipped. Linear in the module.
#[must_use]
pub fn verify(module: &Module, options: &Options) -> Vec<Diagnostic> {
    incremental::all_diagnostics(module, options, &Budget::unlimited())
}

/// [`verify`] as far as a budget allows it, so that another thread can cancel it. A statement costs 32 bytes.
///
/// ```
/// use ptx_ir::Budget;
/// let module = ptx_parse::parse(b".version 8.0\n.target sm_80\n.entry k() { ret; }\n").module;
/// assert_eq!(ptx_verify::verify_within(&module, &Default::default(), &Budget::new(1000))?, []);
/// assert!(ptx_verify::verify_within(&module, &Default::default(), &Budget::new(50)).is_err());
/// # Ok::<(), ptx_ir::BudgetExhausted>(())
/// ```
///
/// # Errors
///
/// The module needs as much as the budget or more, or the budget was canceled.
pub fn verify_within(
    module: &Module,
    options: &Options,
    budget: &Budget,
) -> Result<Vec<Diagnostic>, BudgetExhausted> {
    let diagnostics = incremental::all_diagnostics(module, options, budget);
    // Without cost, but an error if the budget was exhausted.
    budget.spend(0)?;
    Ok(diagnostics)
}
