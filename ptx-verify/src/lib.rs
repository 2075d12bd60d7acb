//! Whether a module is legal for a target and a version of PTX, and why not.
//!
//! What is legal stands in the tables of `ptx-isa`; this crate asks them about every instruction and says what they
//! answer in words.
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

extern crate alloc;

mod body;
mod call;
mod codegen_limits;
mod context;
mod debug;
mod explain;
mod header;
mod incremental;
mod initializer;
mod inst_spans;
mod instruction;
mod interface;
mod memory;
mod param_access;
mod pragma;
mod redeclaration;
mod requires;
mod retarget;
mod rule_span;
mod stmt_tokens;
mod unresolved;
mod unused;
mod variable;

pub use codegen_limits::generation;
pub use incremental::{Changes, Checked, Proof};
pub use requires::{Availability, Reason, Requirements, requires};
pub use retarget::retarget;
pub use unused::unused;

use alloc::vec::Vec;
use ptx_ir::{Diagnostic, Item, Module};
use ptx_isa::{Deprecation, FormMatch, InstQuery, NoForm, PtxVersion, Target};

use context::Context;
use variable::{Scope, Tables};

/// What a module is checked for.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct Options {
    /// In place of what the header says.
    pub version: Option<PtxVersion>,
    /// In place of what the header says.
    pub target: Option<Target>,
}

impl Options {
    /// For a version and a target other than those of the header, where given.
    pub const fn new(version: Option<PtxVersion>, target: Option<Target>) -> Self {
        Self { version, target }
    }
}

/// The version and the target that decide.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Environment {
    /// The newest one known in full, for one that is newer.
    version: PtxVersion,
    /// `None` where the header names none that is known, which the parser reports.
    target: Option<Target>,
    /// Whether `.target` says `texmode_independent`.
    independent_textures: bool,
}

impl Environment {
    /// What the header says, and what is wanted in its place.
    fn new(module: &Module, options: &Options) -> Self {
        let version = options.version.or(module.header().version);
        Self {
            version: version.map_or(PtxVersion::CURRENT, |v| v.min(PtxVersion::CURRENT)),
            target: options.target.or(module.header().target),
            independent_textures: header::independent_textures(module),
        }
    }

    /// What of a legal instruction is deprecated.
    fn deprecations<'a>(
        &self,
        selection: &'a FormMatch<'_>,
    ) -> impl Iterator<Item = Deprecation> + 'a {
        let version = self.version;
        self.target
            .into_iter()
            .flat_map(move |target| selection.deprecations(version, target))
    }

    #[allow(clippy::result_large_err, reason = "both sides are as large")]
    fn select<'a>(&self, request: &InstQuery<'a>) -> Result<FormMatch<'a>, NoForm> {
        match self.target {
            Some(target) => request.select(self.version, target),
            None => request.select_anywhere(),
        }
    }
}

/// Everything that is wrong with a module beyond its syntax and its names, in the order of the source. What the parser
/// could not read is passed over: it was reported.
pub fn verify(module: &Module, options: &Options) -> Vec<Diagnostic> {
    Checked::new(module, *options).into_diagnostics()
}

/// Checks the items of the module one by one.
fn items(context: &mut Context<'_>) {
    let module = context.module;
    let tables = Tables {
        declarations: module.declarations(),
        pool: module.pool(),
        vars: None,
    };
    for (id, item) in module.items() {
        let span = module.span(id);
        match item {
            Item::Decl(at) => {
                if let Some(decl) = module.declarations().decls.get(at) {
                    context.check_without_spans(|c| {
                        variable::check(c, tables, decl, Scope::Module, span)
                    });
                }
            }
            Item::Function(at) => {
                if let Some(function) = module.functions().get(at) {
                    context.check_without_spans(|c| interface::check(c, at, function, span));
                }
            }
            Item::Directive(at) => {
                if let Some(stmt) = module.directives().get(at) {
                    pragma::check(context, stmt, module.pool(), pragma::Place::Outside, span);
                }
            }
            _ => {}
        }
    }
}
