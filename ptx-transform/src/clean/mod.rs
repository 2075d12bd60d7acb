//! Clean-ups: dead-code elimination, constant folding, copy propagation, unreachable-code elimination, address-space
//! inference, elimination of redundant synchronization, vectorization, and marking of uniform branches.
//!
//! A [`Pass`] decides from the analyses of a function what to change, and then edits the function. All bytes outside of
//! changed statements stay. Statements that were not recognized stay, and are assumed to have any effect. Every new
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
//! let module = ptx_parse::parse(text).module;
//! let cleaned = clean(&module, &Options::default());
//! let text = core::str::from_utf8(cleaned.text())?;
//! assert!(text.contains("    ld.param.u64 %d, [p];\n    st.global.u32 [%d], 42;\n    ret;\n"));
//! assert_eq!(cleaned.report.changes.iter().filter(|c| c.why == "%r3 is never read").count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod const_fold;
mod copy_prop;
mod dce;
mod definition;
mod function_view;
mod infer_spaces;
mod legality;
mod passes;
mod report;
mod rewrite;
mod synchronization;
mod uniform_branches;
mod unreachable;
mod vectorize;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use core::cell::OnceCell;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::provenance::CallSummaries;
use ptx_edit::{EditModule as _, Editor, Rewriting};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::raw::EntitySet;
use ptx_ir::{FuncId, Module, StmtId};

pub use passes::{Pass, UnknownPass};
pub use report::{Change, Report, Skipped};

use crate::printed::reparse;
use function_view::View;
use legality::LegalityChecker;
use rewrite::{Rewriter, Step};

/// The clean-ups that are made, and how often.
///
/// ```
/// use ptx_transform::clean::{Options, Pass};
/// let options = Options::default().with_passes([Pass::Dead]).with_max_rounds(1);
/// assert_eq!(options.passes, [Pass::Dead]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The clean-ups of each round, in this order.
    pub passes: Vec<Pass>,
    /// The largest number of rounds. By default, it is never reached: the clean-ups are repeated until nothing changes.
    pub max_rounds: u32,
}

impl Options {
    /// Sets the clean-ups of each round.
    #[must_use]
    pub fn with_passes(mut self, passes: impl Into<Vec<Pass>>) -> Self {
        self.passes = passes.into();
        self
    }

    /// Sets the largest number of rounds.
    #[must_use]
    pub const fn with_max_rounds(mut self, max_rounds: u32) -> Self {
        self.max_rounds = max_rounds;
        self
    }
}

impl Default for Options {
    /// All clean-ups that are [made by default](Pass::is_default).
    fn default() -> Self {
        let passes = Pass::ALL.iter().copied().filter(|p| p.is_default());
        Self {
            passes: passes.collect(),
            max_rounds: 1000,
        }
    }
}

/// Cleans a module, one pass after the other, until nothing changes. Each round visits only the functions that the previous
/// one changed, and costs about as much as analyzing them. Functions whose [values](ptx_analysis::function_dataflow::FunctionDataflow::ssa) exceed the
/// limit are left unchanged and [reported](Report::skipped).
#[must_use]
pub fn clean(module: &Module, options: &Options) -> Rewriting<Report> {
    let mut cleaned = module.clone();
    let report = clean_in_place(&mut cleaned, options);
    reparse(&cleaned).with_report(report)
}

/// [`clean`] as edits of the module, for those who go on editing: ids stay valid, and the text is neither printed nor parsed.
pub fn clean_in_place(module: &mut Module, options: &Options) -> Report {
    let mut report = Report::default();
    let mut functions: EntitySet<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    let calls = OnceCell::new();
    while !functions.is_empty() && report.rounds < options.max_rounds {
        let mut changed = EntitySet::new();
        let mut pending: Vec<(FuncId, &[Pass])> = Vec::new();
        pending.extend(functions.iter().map(|id| (id, &options.passes[..])));
        while !pending.is_empty() {
            let planned = plan(module, &calls, &pending, &mut report);
            pending = planned
                .iter()
                .map(|p| (p.function, p.later_passes))
                .collect();
            pending.retain(|(_, passes)| !passes.is_empty());
            changed.extend(apply(module, planned, &mut report));
        }
        report.rounds += 1;
        functions = changed;
    }
    report
}

/// The changes of a pass to a function.
struct Planned<'o> {
    function: FuncId,
    pass: Pass,
    steps: Vec<Step>,
    /// The passes after `pass`, which analyze the changed function.
    later_passes: &'o [Pass],
}

/// For functions in the order of their ids, plans the first of the passes that changes the function. The passes up to that one
/// share the analyses of the function. `calls` is computed once: the summaries stay true whatever clean-ups change.
fn plan<'o>(
    module: &Module,
    calls: &OnceCell<Arc<CallSummaries>>,
    pending: &[(FuncId, &'o [Pass])],
    report: &mut Report,
) -> Vec<Planned<'o>> {
    let facts = ModuleFacts::of(module, |id| {
        pending.binary_search_by_key(&id, |(id, _)| *id).is_ok()
    });
    let mut planned = Vec::new();
    for &(function, passes) in pending {
        let Some(analysis) = facts.function(function).map(FunctionAnalysis::new) else {
            continue;
        };
        let view = match View::new(&analysis, calls) {
            Ok(view) => view,
            Err(reason) => {
                report.skip(Skipped { function, reason });
                continue;
            }
        };
        let mut remaining = passes;
        while let Some((&pass, later_passes)) = remaining.split_first() {
            remaining = later_passes;
            let definition = pass.definition();
            let steps = (definition.plan)(&view);
            if !steps.is_empty() || definition.finish.is_some() {
                planned.push(Planned {
                    function,
                    pass,
                    steps,
                    later_passes,
                });
                break;
            }
        }
    }
    planned
}

/// Makes planned changes; returns the functions that changed.
fn apply(module: &mut Module, planned: Vec<Planned<'_>>, report: &mut Report) -> Vec<FuncId> {
    let mut checker = LegalityChecker::new(module);
    let mut changed = Vec::new();
    for Planned {
        function,
        pass,
        steps,
        ..
    } in planned
    {
        let old_changes = report.changes.len();
        if let Ok(mut editor) = module.edit(function) {
            if !steps.is_empty() {
                checker.enter(&editor);
            }
            for step in steps {
                let mut rewriter = Rewriter {
                    editor: &mut editor,
                    checker: &mut checker,
                };
                if rewriter.apply(&step) {
                    let change = change(&editor, pass, step.stmt, step.why);
                    report.changes.push(change);
                }
            }
            if let Some(finish) = pass.definition().finish {
                for (stmt, why) in finish(&mut editor) {
                    report.changes.push(change(&editor, pass, stmt, why.into()));
                }
            }
        }
        if report.changes.len() > old_changes {
            changed.push(function);
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
