//! Clean-ups by the analyses: dead code, constants, copies, unreachable blocks, generic addresses.
//!
//! Each [`Pass`] looks at the functions of a module as they are, decides from what the analyses prove, and edits the module in
//! place; the source keeps every byte that is not part of a changed statement. What is not understood is left alone and may do anything.
//! Registers that nobody mentions any more stay declared. What an edit makes is legal: the table is asked before.
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
//! assert_eq!(report.changes.iter().filter(|c| c.why == "nobody reads %r3").count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod const_fold;
mod copy_prop;
mod dce;
mod function_view;
mod infer_spaces;
mod legality;
mod report;
mod rewrite;
mod unreachable;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_edit::{EditModule as _, Editor};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{FuncId, Module};

pub use report::{Change, Pass, Report};

use function_view::View;
use legality::LegalityChecker;
use rewrite::{Rewriter, Step};

/// Which clean-ups are made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// These.
    pub passes: Vec<Pass>,
    /// Each one once, not until nothing changes.
    pub once: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            passes: Pass::ALL.to_vec(),
            once: false,
        }
    }
}

/// Cleans a module up, one pass after the other, until nothing changes. Each round looks only at the functions that the one before
/// changed, and costs about as much as analysing these.
pub fn clean(module: &mut Module, options: &Options) -> Report {
    let mut report = Report::default();
    let mut wanted: BTreeSet<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    // Each change leaves less to be done; this only bounds what a mistake could cost.
    let most = if options.once { 1 } else { MOST_ROUNDS };
    while !wanted.is_empty() && report.rounds < most {
        let mut changed = BTreeSet::new();
        for &pass in &options.passes {
            changed.extend(run(module, pass, &wanted, &mut report));
        }
        report.rounds += 1;
        wanted = changed;
    }
    report
}

const MOST_ROUNDS: u32 = 1000;

/// Removes what computes values that nobody reads.
pub fn dead(module: &mut Module) -> Report {
    once(module, Pass::Dead)
}

/// Writes numbers in the place of what always makes them.
pub fn fold(module: &mut Module) -> Report {
    once(module, Pass::Fold)
}

/// Reads copies where they come from.
pub fn copies(module: &mut Module) -> Report {
    once(module, Pass::Copies)
}

/// Removes blocks that control never reaches, and labels that nothing mentions.
pub fn unreachable(module: &mut Module) -> Report {
    once(module, Pass::Unreachable)
}

/// Names the state space of generic addresses whose origin is known.
pub fn spaces(module: &mut Module) -> Report {
    once(module, Pass::Spaces)
}

fn once(module: &mut Module, pass: Pass) -> Report {
    let passes = alloc::vec![pass];
    clean(module, &Options { passes, once: true })
}

/// Makes a pass over some functions; gives those that it changed.
fn run(
    module: &mut Module,
    pass: Pass,
    wanted: &BTreeSet<FuncId>,
    report: &mut Report,
) -> Vec<FuncId> {
    let facts = ModuleFacts::of(module, |id| wanted.contains(&id));
    let plan = |&id: &FuncId| {
        let view = View::new(facts.function(id)?).ok()?;
        let steps = match pass {
            Pass::Spaces => infer_spaces::plan(&view),
            Pass::Copies => copy_prop::plan(&view),
            Pass::Fold => const_fold::plan(&view),
            Pass::Unreachable => unreachable::plan(&view),
            Pass::Dead => dce::plan(&view),
        };
        Some((id, steps))
    };
    let plans: Vec<(FuncId, Vec<Step>)> = wanted.iter().filter_map(plan).collect();
    let mut judge = LegalityChecker::new(module);
    let mut changed = Vec::new();
    for (id, steps) in plans {
        let before = report.changes.len();
        if let Ok(mut editor) = module.edit(id) {
            if !steps.is_empty() {
                judge.enter(&editor);
            }
            for step in &steps {
                let mut maker = Rewriter {
                    editor: &mut editor,
                    judge: &mut judge,
                };
                if maker.make(step) {
                    note(&editor, pass, step.stmt, step.why.clone(), report);
                }
            }
            if pass == Pass::Unreachable {
                for stmt in editor.remove_unused_labels() {
                    let why = String::from("nothing mentions it");
                    note(&editor, pass, stmt, why, report);
                }
            }
        }
        if report.changes.len() > before {
            changed.push(id);
        }
    }
    changed
}

/// Notes a change.
fn note(editor: &Editor<'_>, pass: Pass, stmt: ptx_ir::StmtId, why: String, report: &mut Report) {
    report.changes.push(Change {
        pass,
        function: editor.function(),
        span: editor.body().source_span(stmt),
        why,
    });
}
