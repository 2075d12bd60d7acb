//! Clean-ups: dead-code elimination, constant folding, copy propagation, unreachable-code elimination and address-space
//! inference.
//!
//! A [`Pass`] decides from the analyses of a function what to change, and then edits the module in place. All bytes outside
//! of changed statements stay. Statements that were not recognized stay, and are assumed to have any effect. Every new
//! instruction is legal for the version and the target of the module. Unused registers stay declared.
//!
//! ```
//! use ptx_transform::clean::{Options, clean};
//! let text = b".version 8.0
//! .target sm_80
//! .address_size 64
//! .entry k(.param .u64 p)
//! {
//!     .reg .b32 %r<4>;
//!     .reg .b64 %d;
//!     ld.param.u64 %d, [p];
//!     mov.u32 %r1, 6;
//!     mul.lo.u32 %r2, %r1, 7;
//!     add.u32 %r3, %r2, 1;
//!     st.global.u32 [%d], %r2;
//!     ret;
//! }
//! ";
//! let mut module = ptx_parse::parse(text).module;
//! let report = clean(&mut module, &Options::default());
//! let text = String::from_utf8(ptx_print::verbatim(&module))?;
//! assert!(text.contains("    ld.param.u64 %d, [p];\n    st.global.u32 [%d], 42;\n    ret;\n"));
//! assert_eq!(report.changes.iter().filter(|c| c.why == "%r3 is never read").count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod const_fold;
mod copy_prop;
mod dce;
mod function_view;
mod infer_spaces;
mod legality;
mod passes;
mod report;
mod rewrite;
mod unreachable;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{EditModule as _, Editor};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module, StmtId};

pub use passes::{Pass, UnknownPass};
pub use report::{Change, Report};

use function_view::View;
use legality::LegalityChecker;
use rewrite::{Rewriter, Step};

/// Which clean-ups are made, and how often.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The clean-ups of each round, in this order.
    pub passes: Vec<Pass>,
    /// The largest number of rounds. By default, it is never reached: the clean-ups are repeated until nothing changes.
    pub max_rounds: u32,
}

impl Options {
    /// Repeats some clean-ups until nothing changes.
    #[must_use]
    pub fn new(passes: impl Into<Vec<Pass>>) -> Self {
        Self {
            passes: passes.into(),
            max_rounds: 1000,
        }
    }
}

impl Default for Options {
    /// All clean-ups.
    fn default() -> Self {
        Self::new(Pass::ALL)
    }
}

/// Cleans a module, one pass after the other, until nothing changes. Each round visits only the functions that the previous
/// one changed, and costs about as much as analysing them.
pub fn clean(module: &mut Module, options: &Options) -> Report {
    let mut report = Report::default();
    let mut functions: BTreeSet<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    while !functions.is_empty() && report.rounds < options.max_rounds {
        let mut changed = BTreeSet::new();
        for &pass in &options.passes {
            changed.extend(run(module, pass, &functions, &mut report));
        }
        report.rounds += 1;
        functions = changed;
    }
    report
}

/// Runs a pass on some functions; returns those that it changed.
fn run(
    module: &mut Module,
    pass: Pass,
    functions: &BTreeSet<FuncId>,
    report: &mut Report,
) -> Vec<FuncId> {
    let definition = pass.definition();
    let facts = ModuleFacts::of(module, |id| functions.contains(&id));
    let plan = |&id: &FuncId| {
        let view = View::new(facts.function(id)?).ok()?;
        Some((id, (definition.plan)(&view)))
    };
    let plans: Vec<(FuncId, Vec<Step>)> = functions.iter().filter_map(plan).collect();
    let mut checker = LegalityChecker::new(module);
    let mut changed = Vec::new();
    for (id, steps) in plans {
        let before = report.changes.len();
        if let Ok(mut editor) = module.edit(id) {
            if !steps.is_empty() {
                checker.enter(&editor);
            }
            for step in steps {
                let mut rewriter = Rewriter {
                    editor: &mut editor,
                    checker: &mut checker,
                };
                if rewriter.apply(&step) {
                    report
                        .changes
                        .push(change(&editor, pass, step.stmt, step.why));
                }
            }
            for (stmt, why) in (definition.finish)(&mut editor) {
                report.changes.push(change(&editor, pass, stmt, why.into()));
            }
        }
        if report.changes.len() > before {
            changed.push(id);
        }
    }
    changed
}

fn change(editor: &Editor<'_>, pass: Pass, stmt: StmtId, why: String) -> Change {
    Change {
        pass,
        function: editor.function(),
        span: editor.body().source_span(stmt),
        why,
    }
}
