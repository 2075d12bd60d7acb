//! The kernels that are linted with inlined functions, updated as the module changes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::incremental::Budget;
use ptx_ir::FuncId;
use ptx_ir::facts::ModuleFacts;

use crate::declarations::Declarations;
use crate::inline::{Contexts, Inlined, Kernel, MOST_BYTES, Plans, callers, lints};
use crate::{Finding, LintOptions};

/// The kernels of a module that contain calls.
#[derive(Clone, Default, Debug)]
pub(super) struct InlinedKernels {
    all: BTreeMap<FuncId, Kept>,
    /// Functions whose text changed since the callers were last determined.
    changed: BTreeSet<FuncId>,
    contexts: Contexts,
}

/// A kernel with calls.
#[derive(Clone, Debug)]
struct Kept {
    /// The functions that it may call, and itself.
    reached: Vec<FuncId>,
    /// `None` before it was written.
    written: Option<Written>,
}

/// A kernel that was written with inlined functions.
#[derive(Clone, Debug)]
struct Written {
    /// The length of its text; 0 if no call is inlined.
    bytes: usize,
    /// Of one that was linted.
    kernel: Option<Kernel>,
    is_linted: bool,
}

impl InlinedKernels {
    /// Records that the text of a function changed.
    pub(super) fn change(&mut self, id: FuncId) {
        self.changed.insert(id);
    }

    pub(super) const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Lints the kernels again that may call a function whose text changed.
    pub(super) fn update(
        &mut self,
        facts: &ModuleFacts<'_>,
        calls: &CallGraph,
        options: &LintOptions,
        budget: &mut Budget,
    ) -> bool {
        let module = facts.module();
        let Some(options) = lints(options) else {
            return true;
        };
        let callers = callers(module, calls);
        self.forget(&callers, calls);
        let mut work = Work {
            facts,
            calls,
            options: &options,
            declarations: None,
            budget,
        };
        let mut bytes = 0;
        for id in &callers {
            let Some(kept) = self.all.get_mut(id) else {
                continue;
            };
            if !work.write(*id, kept, bytes) {
                return false;
            }
            bytes += kept.written.as_ref().map_or(0, |w| w.bytes);
            if bytes > MOST_BYTES {
                break;
            }
        }
        let mut bytes = 0;
        let written = self.all.values().filter_map(|kept| kept.written.as_ref());
        let short = written.take_while(|w| {
            bytes += w.bytes;
            bytes <= MOST_BYTES
        });
        let kernels: Vec<&Kernel> = short.filter_map(|w| w.kernel.as_ref()).collect();
        self.contexts = Contexts::of(module, calls, kernels.into_iter());
        true
    }

    /// Discards the findings in kernels whose callees may have changed.
    fn forget(&mut self, callers: &[FuncId], calls: &CallGraph) {
        let changed = core::mem::take(&mut self.changed);
        self.all.retain(|id, _| callers.binary_search(id).is_ok());
        for id in callers {
            let reached = calls.reachable([*id]);
            let is_same = self.all.get(id).is_some_and(|kept| {
                kept.reached == reached && !reached.iter().any(|id| changed.contains(id))
            });
            if !is_same {
                let written = None;
                self.all.insert(*id, Kept { reached, written });
            }
        }
    }

    /// Maps functions and kernels to new ids; `is_same` returns whether the text of a function is unchanged.
    pub(super) fn renumber(
        &mut self,
        function: impl Fn(FuncId) -> Option<FuncId>,
        is_same: impl Fn(FuncId) -> bool,
    ) {
        let all = core::mem::take(&mut self.all);
        self.changed.clear();
        self.contexts = Contexts::default();
        for (id, mut kept) in all {
            let is_known = kept.reached.iter().all(|id| is_same(*id));
            if let Some(new) = function(id).filter(|_| is_known)
                && kept.renumber(&function).is_some()
            {
                self.all.insert(new, kept);
            }
        }
    }

    /// Calls `each` for all findings.
    pub(super) fn each_finding(&mut self, mut each: impl FnMut(&mut Finding)) {
        let written = self.all.values_mut().filter_map(|k| k.written.as_mut());
        let kernels = written.filter_map(|w| w.kernel.as_mut());
        kernels.flat_map(|k| &mut k.found).for_each(&mut each);
        self.contexts.each_finding(each);
    }
}

impl Kept {
    fn renumber(&mut self, function: &impl Fn(FuncId) -> Option<FuncId>) -> Option<()> {
        let new = |ids: &BTreeSet<FuncId>| -> Option<BTreeSet<FuncId>> {
            ids.iter().map(|id| function(*id)).collect()
        };
        let reached: Option<Vec<FuncId>> = self.reached.iter().map(|id| function(*id)).collect();
        self.reached = reached?;
        self.reached.sort_unstable();
        let kernel = self.written.as_mut().and_then(|w| w.kernel.as_mut());
        if let Some(kernel) = kernel {
            kernel.id = function(kernel.id)?;
            kernel.replaced = new(&kernel.replaced)?;
            kernel.remaining = new(&kernel.remaining)?;
            for finding in &mut kernel.found {
                finding.function = function(finding.function)?;
            }
        }
        Some(())
    }
}

/// Writes and lints kernels.
struct Work<'a, 'm> {
    facts: &'m ModuleFacts<'m>,
    calls: &'a CallGraph,
    options: &'a LintOptions,
    declarations: Option<Declarations<'m>>,
    budget: &'a mut Budget,
}

impl Work<'_, '_> {
    /// Writes a kernel and lints it unless the text of all kernels is too long; `bytes` is that of those before it. Gives false if the budget is spent before.
    fn write(&mut self, id: FuncId, kept: &mut Kept, bytes: usize) -> bool {
        let is_short = |w: &Written| bytes + w.bytes <= MOST_BYTES;
        let is_known = |w: &Written| w.is_linted || !is_short(w);
        if kept.written.as_ref().is_some_and(is_known) {
            return true;
        }
        if self.budget.is_spent() {
            return false;
        }
        let module = self.facts.module();
        let plans = Plans::new(self.facts, self.calls, &kept.reached);
        let declarations = self
            .declarations
            .get_or_insert_with(|| Declarations::new(module));
        let Some(inlined) = Inlined::new(&plans, declarations, id) else {
            kept.written = Some(Written {
                bytes: 0,
                kernel: None,
                is_linted: true,
            });
            return true;
        };
        let mut written = Written {
            bytes: inlined.len(),
            kernel: None,
            is_linted: false,
        };
        self.budget.evaluate(id, inlined.statements());
        if is_short(&written) {
            written.kernel = inlined.lint(module, self.options);
            written.is_linted = true;
        }
        kept.written = Some(written);
        true
    }
}
