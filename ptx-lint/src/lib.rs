//! Lints for PTX code that assembles but is probably wrong or slow.
//!
//! [`lint`] examines a module, [`Linter`] examines one function at a time, and [`LintSession`] follows the changes of a module. Each
//! [`Finding`] is a warning with the code of its [`Lint`] and a [`Certainty`]: definite findings are proven; possible ones depend on
//! values or paths that the analyses do not know. `docs/linting.md` describes the lints.
//!
//! ```
//! use ptx_ir::facts::ModuleFacts;
//! use ptx_lint::{Certainty, Lint, LintOptions, lint};
//!
//! let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 a; mov.u32 a, %tid.x; ret; }";
//! let module = ptx_parse::parse(text).module;
//! let findings = lint(&ModuleFacts::new(&module), &LintOptions::default());
//! assert_eq!((findings[0].lint, findings[0].certainty), (Lint::DeadCode, Certainty::Definite));
//! assert_eq!(findings[0].diagnostic.code.to_string(), "PTX1512");
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[macro_use]
extern crate alloc;

mod addresses;
mod context;
mod declarations;
mod divergence;
mod executing;
mod finding;
mod inline;
mod linter;
mod lints;
mod module_properties;
mod paths;
mod session;
mod variable_uses;
mod whole_warps;

pub use finding::Finding;
pub use linter::{LintOptions, Linter, lint};
pub use lints::{Lint, UnknownLint};
pub use ptx_analysis::asynchrony::Certainty;
pub use session::LintSession;
