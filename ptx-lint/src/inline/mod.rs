//! Findings that depend on the callers of a function: kernels are linted with small functions inlined.
//!
//! Each kernel is written as a new module, which is parsed and linted. A finding in that module is reported at the corresponding statement of
//! the source, in the kernel or in the inlined function.

mod plan;
mod write;

use alloc::boxed::Box;
use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, FuncId, FunctionKind, Item, Module, Span, StmtId};

use crate::context::{FunctionContext, LikelyDivergence, ModuleContext};
use crate::declarations::{Declarations, ItemPart};
use crate::lints::Inlining;
use crate::{Finding, Lint, LintOptions};
pub(crate) use plan::Plans;
use write::{Frame, Piece, Writer};

/// The limit on the total text of the kernels of a module. Further kernels are linted without inlining.
pub(crate) const MOST_BYTES: usize = 1 << 19;

/// The findings in kernels with inlined functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct InlinedFindings {
    /// By the function of the source that contains the statement.
    by_function: BTreeMap<FuncId, Vec<Finding>>,
    /// The functions that are linted completely in this way, in ascending order. [`kernels`](Self::kernels) are among them.
    replaced: Vec<FuncId>,
    /// The kernels that were linted with inlined functions, in ascending order.
    kernels: Vec<FuncId>,
}

/// A function that is linted as a part of kernels.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Replacement {
    /// All calls of the function are covered by kernels, or it is such a kernel.
    pub(crate) is_replaced: bool,
    /// The function is a kernel that was linted with inlined functions.
    pub(crate) is_kernel: bool,
}

/// Returns options with the enabled lints whose findings depend on the callers of a function; `None` if there is no such lint.
pub(crate) fn options_with_inlining(options: &LintOptions) -> Option<LintOptions> {
    let mut options = options.clone();
    options
        .lints
        .retain(|lint| lint.inlining() != Inlining::Never);
    (!options.lints.is_empty()).then_some(options)
}

/// Returns the kernels of a module that contain calls.
pub(crate) fn calling_kernels(module: &Module, calls: &CallGraph) -> Vec<FuncId> {
    module
        .definitions()
        .filter(|(id, function, _)| {
            function.kind == FunctionKind::Entry && calls.calls_of(*id).next().is_some()
        })
        .map(|(id, ..)| id)
        .collect()
}

impl InlinedFindings {
    /// Lints the kernels of a module that call functions.
    pub(crate) fn new(facts: &ModuleFacts<'_>, calls: &CallGraph, options: &LintOptions) -> Self {
        let (Some(options), module) = (options_with_inlining(options), facts.module()) else {
            return Self::default();
        };
        let callers = calling_kernels(module, calls);
        if callers.is_empty() {
            return Self::default();
        }
        let declarations = Declarations::new(module);
        let plans = Plans::new(facts, calls, &calls.reachable(callers.iter().copied()));
        let mut kernels = Vec::new();
        let mut bytes = 0;
        for kernel in callers {
            let Some(inlined) = InlinedKernel::new(&plans, &declarations, kernel) else {
                continue;
            };
            bytes += inlined.len();
            if bytes > MOST_BYTES {
                break;
            }
            kernels.extend(inlined.lint(module, &options));
        }
        Self::combine(module, calls, kernels.iter())
    }

    /// Combines the findings in kernels. `kernels` are in the order of their ids.
    pub(crate) fn combine<'k>(
        module: &Module,
        calls: &CallGraph,
        kernels: impl Iterator<Item = &'k LintedKernel> + Clone,
    ) -> Self {
        let kernel_ids: Vec<FuncId> = kernels.clone().map(|kernel| kernel.id).collect();
        let inlined: BTreeSet<FuncId> = kernels
            .clone()
            .flat_map(|kernel| &kernel.inlined)
            .copied()
            .collect();
        let called: BTreeSet<FuncId> = kernels
            .clone()
            .flat_map(|kernel| &kernel.called)
            .copied()
            .collect();
        let mut replaced: Vec<FuncId> = inlined
            .iter()
            .copied()
            .filter(|id| {
                let function = module.functions().get(*id);
                function.is_some_and(|function| function.linkage.is_none())
                    && !called.contains(id)
                    && !calls.is_address_taken(*id)
                    && calls.callers(*id).iter().all(|caller| {
                        kernel_ids.binary_search(caller).is_ok() || inlined.contains(caller)
                    })
            })
            .chain(kernel_ids.iter().copied())
            .collect();
        replaced.sort_unstable();
        let mut most_certain: BTreeMap<(FuncId, Lint, StmtId), &Finding> = BTreeMap::new();
        for finding in kernels.flat_map(|kernel| &kernel.findings) {
            match most_certain.entry((finding.function, finding.lint, finding.stmt)) {
                Entry::Vacant(entry) => {
                    entry.insert(finding);
                }
                Entry::Occupied(mut entry) => {
                    if entry.get().certainty < finding.certainty {
                        entry.insert(finding);
                    }
                }
            }
        }
        let mut by_function: BTreeMap<FuncId, Vec<Finding>> = BTreeMap::new();
        for ((function, ..), finding) in most_certain {
            by_function
                .entry(function)
                .or_default()
                .push(finding.clone());
        }
        Self {
            by_function,
            replaced,
            kernels: kernel_ids,
        }
    }

    /// Returns `true` if a lint examines a function only as a part of kernels.
    pub(crate) fn replaces(&self, function: FuncId, lint: Lint) -> bool {
        match lint.inlining() {
            Inlining::Never | Inlining::Additional => false,
            Inlining::Replaces => self.replacement(function).is_replaced,
            Inlining::AlsoAtCalls => self.replacement(function).is_kernel,
        }
    }

    /// Returns whether a function is linted as a part of kernels.
    pub(crate) fn replacement(&self, function: FuncId) -> Replacement {
        Replacement {
            is_replaced: self.replaced.binary_search(&function).is_ok(),
            is_kernel: self.kernels.binary_search(&function).is_ok(),
        }
    }

    /// Calls `visit` for all findings.
    pub(crate) fn for_each(&mut self, visit: impl FnMut(&mut Finding)) {
        self.by_function.values_mut().flatten().for_each(visit);
    }

    /// Returns the findings at statements of a function.
    pub(crate) fn in_function(&self, function: FuncId) -> &[Finding] {
        self.by_function.get(&function).map_or(&[], Vec::as_slice)
    }
}

/// A kernel that was linted with inlined functions.
#[derive(Clone, Debug)]
pub(crate) struct LintedKernel {
    pub(crate) id: FuncId,
    /// The functions of which at least one call was inlined.
    pub(crate) inlined: BTreeSet<FuncId>,
    /// The functions of which at least one call was not inlined.
    pub(crate) called: BTreeSet<FuncId>,
    pub(crate) findings: Vec<Finding>,
}

/// The text of a module that consists of a kernel with inlined functions and the declarations that it references.
pub(crate) struct InlinedKernel {
    kernel: FuncId,
    text: Vec<u8>,
    /// The parts of the text that replace statements, in the order of the text.
    pieces: Vec<Piece>,
    frames: Vec<Frame>,
    inlined: BTreeSet<FuncId>,
    called: BTreeSet<FuncId>,
}

impl InlinedKernel {
    /// Writes a kernel; returns `None` if no call is inlined.
    pub(crate) fn new(
        plans: &Plans<'_>,
        declarations: &Declarations<'_>,
        kernel: FuncId,
    ) -> Option<Self> {
        let module = plans.facts.module();
        let mut calls = plans.plan(kernel)?.calls.values();
        if !calls.any(|call| plans.value_sizes(kernel, call).is_some()) {
            return None;
        }
        let mut writer = Writer::new(plans);
        writer.write_kernel(kernel);
        let mut needed = declarations.dependencies(&writer.text, ItemPart::Complete);
        for (id, item) in module.items() {
            if let Item::Directive(_) = item {
                let directive = ptx_print::verbatim_item(module, id);
                needed.extend(declarations.dependencies(&directive, ItemPart::Complete));
            }
        }
        // The text of the items before the statements of the kernel, and of those after it.
        let (mut text, mut items_after) = (Vec::new(), Vec::new());
        let mut body_start = None;
        for (id, item) in module.items() {
            let output = if body_start.is_some() {
                &mut items_after
            } else {
                &mut text
            };
            match item {
                Item::Function(function) if function == kernel => {
                    output.extend_from_slice(&declarations.text(id, ItemPart::Header));
                    output.extend_from_slice(b"{\n");
                    body_start = Some(output.len() as u32);
                }
                Item::Function(_) | Item::Decl(_) if !needed.contains(&id) => {}
                _ => {
                    output.extend_from_slice(&declarations.text(id, ItemPart::Complete));
                    output.push(b'\n');
                }
            }
        }
        let body_start = body_start?;
        for piece in &mut writer.pieces {
            piece.start += body_start;
            piece.end += body_start;
        }
        text.append(&mut writer.text);
        text.extend_from_slice(b"}\n");
        text.append(&mut items_after);
        Some(Self {
            kernel,
            text,
            pieces: writer.pieces,
            frames: writer.frames,
            inlined: writer.inlined,
            called: writer.called,
        })
    }

    /// The length of the text in bytes.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The number of statements of the kernel.
    pub(crate) fn statement_count(&self) -> usize {
        self.pieces.len()
    }

    /// Lints the kernel, with findings at statements of the module `source`. Returns `None` if the text cannot be parsed.
    pub(crate) fn lint(self, source: &Module, options: &LintOptions) -> Option<LintedKernel> {
        let parsed = ptx_parse::parse(&self.text);
        if !parsed.diagnostics.is_empty() {
            return None;
        }
        let facts = ModuleFacts::new(&parsed.module);
        let module_context = ModuleContext::new(&facts, options.needs());
        let name = source.functions().get(self.kernel)?.name;
        let id = parsed.module.function(source.name(name))?;
        let function = module_context.analyses().function(id)?;
        let likely_divergence = LikelyDivergence::new(module_context.analyses(), options.needs());
        let likely_uniformity = likely_divergence
            .as_ref()
            .map(|divergence| divergence.function(&function, module_context.calls()));
        let context =
            FunctionContext::new(&module_context, &function, likely_uniformity.as_deref());
        let mut findings = Vec::new();
        for lint in &options.lints {
            lint.check(&context, &mut findings);
        }
        let body = parsed.module.body(id)?;
        let findings = findings
            .into_iter()
            .filter_map(|finding| self.finding_in_source(source, body, finding))
            .collect();
        Some(LintedKernel {
            id: self.kernel,
            inlined: self.inlined,
            called: self.called,
            findings,
        })
    }

    /// Returns the piece that contains an offset of the text.
    fn piece_at(&self, offset: u32) -> Option<&Piece> {
        let end = self.pieces.partition_point(|piece| piece.start <= offset);
        let piece = self.pieces.get(end.checked_sub(1)?)?;
        (offset < piece.end).then_some(piece)
    }

    /// Maps a span of the text to the module `source`. If a statement was rewritten, the result is the complete statement.
    fn span_in_source(&self, source: &Module, span: Span) -> Option<Span> {
        let piece = self.piece_at(span.start)?;
        let statement = source.body(piece.function)?.source_span(piece.stmt);
        let is_copy = piece.end - piece.start == statement.len() as u32;
        if is_copy && span.end <= piece.end {
            let start = statement.start + (span.start - piece.start);
            Some(Span::new(start, start + span.len() as u32))
        } else {
            Some(statement)
        }
    }

    /// Maps a finding in `body`, the parsed body of the kernel, to the module `source`.
    fn finding_in_source(
        &self,
        source: &Module,
        body: &Body,
        mut finding: Finding,
    ) -> Option<Finding> {
        let piece = *self.piece_at(body.source_span(finding.stmt).start)?;
        let diagnostic = &mut finding.diagnostic;
        let cause = diagnostic
            .labels
            .first()
            .and_then(|label| self.piece_at(label.span.start));
        (finding.function, finding.stmt) = (piece.function, piece.stmt);
        diagnostic.span = self.span_in_source(source, diagnostic.span)?;
        if finding.lint.inlining() == Inlining::AlsoAtCalls
            && let Some(call) = cause.and_then(|cause| self.call_between(cause, &piece))
        {
            // Only some threads call the function.
            (finding.function, finding.stmt) = (call.function, call.stmt);
            diagnostic.span = source.body(call.function)?.source_span(call.stmt);
        }
        for label in &mut diagnostic.labels {
            label.span = self.span_in_source(source, label.span)?;
        }
        diagnostic.repeats = diagnostic
            .repeats
            .iter()
            .filter_map(|span| self.span_in_source(source, *span))
            .collect();
        diagnostic.fix = Box::default();
        Some(finding)
    }

    /// Returns the call in the function of the piece `outer` through which the piece `inner` was inlined.
    fn call_between(&self, outer: &Piece, inner: &Piece) -> Option<Frame> {
        let mut index = inner.frame;
        while index != outer.frame {
            let frame = *self.frames.get(index?)?;
            if frame.outer == outer.frame {
                return Some(frame);
            }
            index = frame.outer;
        }
        None
    }
}
