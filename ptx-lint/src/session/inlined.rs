//! The kernels that are linted with inlined functions, updated as the module changes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_analysis::incremental::EvaluationLimit;
use ptx_ir::FuncId;
use ptx_ir::facts::ModuleFacts;

use crate::declarations::Declarations;
use crate::inline::{
    InlinedFindings, InlinedKernel, LintedKernel, MOST_BYTES, Plans, calling_kernels,
    options_with_inlining,
};
use crate::{Finding, LintOptions};

/// The kernels of a module that contain calls.
#[derive(Clone, Default, Debug)]
pub(super) struct InlinedKernels {
    kernels: BTreeMap<FuncId, CallingKernel>,
    /// Functions whose text changed since the callers were last determined.
    changed: BTreeSet<FuncId>,
    findings: InlinedFindings,
}

/// A kernel that contains calls.
#[derive(Clone, Debug)]
struct CallingKernel {
    /// The kernel and the functions that it may call, in ascending order.
    reachable: Vec<FuncId>,
    /// `None` before the kernel is written.
    written: Option<WrittenKernel>,
}

/// A kernel that was written with inlined functions.
#[derive(Clone, Debug)]
struct WrittenKernel {
    /// The length of its text; 0 if no call is inlined.
    bytes: usize,
    /// `None` before it is linted, if no call is inlined, and if its text cannot be parsed.
    result: Option<LintedKernel>,
    is_linted: bool,
}

impl InlinedKernels {
    /// Records that the text of a function changed.
    pub(super) fn change(&mut self, id: FuncId) {
        self.changed.insert(id);
    }

    pub(super) const fn findings(&self) -> &InlinedFindings {
        &self.findings
    }

    /// Lints the kernels again that may call a function whose text changed. Returns `false` if the limit is reached before.
    pub(super) fn update(
        &mut self,
        facts: &ModuleFacts<'_>,
        calls: &CallGraph,
        options: &LintOptions,
        limit: &mut EvaluationLimit,
    ) -> bool {
        let module = facts.module();
        let Some(options) = options_with_inlining(options) else {
            return true;
        };
        let callers = calling_kernels(module, calls);
        self.discard_changed(&callers, calls);
        let mut linter = KernelLinter {
            facts,
            calls,
            options: &options,
            declarations: None,
            limit,
        };
        let mut bytes = 0;
        for id in &callers {
            let Some(kernel) = self.kernels.get_mut(id) else {
                continue;
            };
            if !linter.update(*id, kernel, bytes) {
                return false;
            }
            bytes += kernel.written.as_ref().map_or(0, |written| written.bytes);
            if bytes > MOST_BYTES {
                break;
            }
        }
        let mut bytes = 0;
        let kernels: Vec<&LintedKernel> = self
            .kernels
            .values()
            .filter_map(|kernel| kernel.written.as_ref())
            .take_while(|written| {
                bytes += written.bytes;
                bytes <= MOST_BYTES
            })
            .filter_map(|written| written.result.as_ref())
            .collect();
        self.findings = InlinedFindings::combine(module, calls, kernels.into_iter());
        true
    }

    /// Discards the findings in kernels whose callees may have changed.
    fn discard_changed(&mut self, callers: &[FuncId], calls: &CallGraph) {
        let changed = core::mem::take(&mut self.changed);
        self.kernels
            .retain(|id, _| callers.binary_search(id).is_ok());
        for id in callers {
            let reachable = calls.reachable([*id]);
            let is_unchanged = self
                .kernels
                .get(id)
                .is_some_and(|kernel| kernel.reachable == reachable)
                && !reachable.iter().any(|id| changed.contains(id));
            if !is_unchanged {
                let kernel = CallingKernel {
                    reachable,
                    written: None,
                };
                self.kernels.insert(*id, kernel);
            }
        }
    }

    /// Replaces the ids of functions after the module was parsed again. `new_id` maps ids, and `is_unchanged` returns whether the function with an
    /// old id has the same text as before.
    pub(super) fn renumber(
        &mut self,
        new_id: impl Fn(FuncId) -> Option<FuncId>,
        is_unchanged: impl Fn(FuncId) -> bool,
    ) {
        let kernels = core::mem::take(&mut self.kernels);
        self.changed.clear();
        self.findings = InlinedFindings::default();
        for (id, mut kernel) in kernels {
            if kernel.reachable.iter().all(|id| is_unchanged(*id))
                && let Some(new_id_of_kernel) = new_id(id)
                && kernel.renumber(&new_id).is_some()
            {
                self.kernels.insert(new_id_of_kernel, kernel);
            }
        }
    }

    /// Calls `visit` for all findings.
    pub(super) fn for_each_finding(&mut self, mut visit: impl FnMut(&mut Finding)) {
        self.kernels
            .values_mut()
            .filter_map(|kernel| kernel.written.as_mut()?.result.as_mut())
            .flat_map(|result| &mut result.findings)
            .for_each(&mut visit);
        self.findings.for_each(visit);
    }
}

impl CallingKernel {
    /// Replaces the ids of functions. Returns `None` if a function has no new id; the kernel is then incomplete.
    fn renumber(&mut self, new_id: &impl Fn(FuncId) -> Option<FuncId>) -> Option<()> {
        let new_ids = |ids: &BTreeSet<FuncId>| -> Option<BTreeSet<FuncId>> {
            ids.iter().map(|id| new_id(*id)).collect()
        };
        for id in &mut self.reachable {
            *id = new_id(*id)?;
        }
        self.reachable.sort_unstable();
        let result = self
            .written
            .as_mut()
            .and_then(|written| written.result.as_mut());
        if let Some(result) = result {
            result.id = new_id(result.id)?;
            result.inlined = new_ids(&result.inlined)?;
            result.called = new_ids(&result.called)?;
            for finding in &mut result.findings {
                finding.function = new_id(finding.function)?;
            }
        }
        Some(())
    }
}

/// Writes and lints kernels.
struct KernelLinter<'a, 'm> {
    facts: &'m ModuleFacts<'m>,
    calls: &'a CallGraph,
    options: &'a LintOptions,
    /// `None` before the first kernel is written.
    declarations: Option<Declarations<'m>>,
    limit: &'a mut EvaluationLimit,
}

impl KernelLinter<'_, '_> {
    /// Writes a kernel and lints it unless the total text of all kernels is too long. `bytes_before` is the length of the text of the kernels before
    /// this one. Returns `false` if the limit is reached before.
    fn update(&mut self, id: FuncId, kernel: &mut CallingKernel, bytes_before: usize) -> bool {
        let fits = |written: &WrittenKernel| bytes_before + written.bytes <= MOST_BYTES;
        if let Some(written) = &kernel.written
            && (written.is_linted || !fits(written))
        {
            return true;
        }
        if self.limit.is_reached() {
            return false;
        }
        let module = self.facts.module();
        let plans = Plans::new(self.facts, self.calls, &kernel.reachable);
        let declarations = self
            .declarations
            .get_or_insert_with(|| Declarations::new(module));
        let Some(inlined) = InlinedKernel::new(&plans, declarations, id) else {
            kernel.written = Some(WrittenKernel {
                bytes: 0,
                result: None,
                is_linted: true,
            });
            return true;
        };
        let mut written = WrittenKernel {
            bytes: inlined.len(),
            result: None,
            is_linted: false,
        };
        self.limit.evaluate(id, inlined.statement_count());
        if fits(&written) {
            written.result = inlined.lint(module, self.options);
            written.is_linted = true;
        }
        kernel.written = Some(written);
        true
    }
}
