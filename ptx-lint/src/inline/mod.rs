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
use crate::declarations::{Declarations, Parts};
use crate::lints::Inlining;
use crate::{Finding, Lint, LintOptions};
pub(crate) use plan::Plans;
use write::{Frame, Piece, Writer};

/// The limit on the total text of the kernels of a module. Further kernels are linted without inlining.
pub(crate) const MOST_BYTES: usize = 1 << 19;

/// The findings in kernels with inlined functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contexts {
    /// By the function in which it is found.
    found: BTreeMap<FuncId, Vec<Finding>>,
    /// The functions that were completely linted in this way, in order.
    replaced: Vec<FuncId>,
    /// The kernels among them, in order.
    kernels: Vec<FuncId>,
}

/// The enabled lints whose findings depend on the callers of a function; `None` if there is no such lint.
pub(crate) fn lints(options: &LintOptions) -> Option<LintOptions> {
    let mut options = options.clone();
    options
        .lints
        .retain(|lint| lint.inlining() != Inlining::Never);
    (!options.lints.is_empty()).then_some(options)
}

/// The kernels of a module that contain calls.
pub(crate) fn callers(module: &Module, calls: &CallGraph) -> Vec<FuncId> {
    let is_entry = |f: &ptx_ir::Function| f.kind == FunctionKind::Entry;
    let kernels = module.definitions().filter(|(_, f, _)| is_entry(f));
    let kernels = kernels.map(|(id, ..)| id);
    kernels
        .filter(|id| calls.calls_of(*id).next().is_some())
        .collect()
}

impl Contexts {
    /// Lints the kernels of a module that call functions.
    pub(crate) fn new(facts: &ModuleFacts<'_>, calls: &CallGraph, options: &LintOptions) -> Self {
        let (Some(options), module) = (lints(options), facts.module()) else {
            return Self::default();
        };
        let callers = callers(module, calls);
        if callers.is_empty() {
            return Self::default();
        }
        let declarations = Declarations::new(module);
        let plans = Plans::new(facts, calls, &calls.reachable(callers.iter().copied()));
        let mut kernels = Vec::new();
        let mut bytes = 0;
        for kernel in callers {
            let Some(inlined) = Inlined::new(&plans, &declarations, kernel) else {
                continue;
            };
            bytes += inlined.len();
            if bytes > MOST_BYTES {
                break;
            }
            kernels.extend(inlined.lint(module, &options));
        }
        Self::of(module, calls, kernels.iter())
    }

    /// Combines the findings in some kernels, in the order of the module.
    pub(crate) fn of<'k>(
        module: &Module,
        calls: &CallGraph,
        all: impl Iterator<Item = &'k Kernel> + Clone,
    ) -> Self {
        let kernels: Vec<FuncId> = all.clone().map(|k| k.id).collect();
        let replaced: BTreeSet<FuncId> = all.clone().flat_map(|k| &k.replaced).copied().collect();
        let remaining: BTreeSet<FuncId> = all.clone().flat_map(|k| &k.remaining).copied().collect();
        let all_covered = |callers: Vec<FuncId>| {
            let mut callers = callers.iter();
            callers.all(|c| kernels.binary_search(c).is_ok() || replaced.contains(c))
        };
        let is_covered = |id: &FuncId| {
            let function = module.functions().get(*id);
            let is_visible = function.is_none_or(|f| f.linkage.is_some());
            !is_visible
                && !remaining.contains(id)
                && !calls.is_address_taken(*id)
                && all_covered(calls.callers(*id))
        };
        let covered = replaced.iter().copied().filter(is_covered);
        let mut covered: Vec<FuncId> = covered.chain(kernels.iter().copied()).collect();
        covered.sort_unstable();
        let mut best: BTreeMap<(FuncId, Lint, StmtId), &Finding> = BTreeMap::new();
        for finding in all.flat_map(|k| &k.found) {
            add(&mut best, finding);
        }
        let mut found: BTreeMap<FuncId, Vec<Finding>> = BTreeMap::new();
        for ((function, ..), finding) in best {
            found.entry(function).or_default().push(finding.clone());
        }
        Self {
            found,
            replaced: covered,
            kernels,
        }
    }

    /// Whether a lint examines a function only as a part of kernels.
    pub(crate) fn replaces(&self, function: FuncId, lint: Lint) -> bool {
        match lint.inlining() {
            Inlining::Never | Inlining::Additional => false,
            Inlining::Replaces => self.replaced.binary_search(&function).is_ok(),
            Inlining::AlsoAtCalls => self.kernels.binary_search(&function).is_ok(),
        }
    }

    /// Whether a function is linted as a part of kernels, and whether it is such a kernel.
    pub(crate) fn is_replaced(&self, function: FuncId) -> (bool, bool) {
        let contains = |all: &[FuncId]| all.binary_search(&function).is_ok();
        (contains(&self.replaced), contains(&self.kernels))
    }

    /// Calls `each` for all findings.
    pub(crate) fn each_finding(&mut self, each: impl FnMut(&mut Finding)) {
        self.found.values_mut().flatten().for_each(each);
    }

    /// The findings in a function.
    pub(crate) fn found(&self, function: FuncId) -> &[Finding] {
        self.found.get(&function).map_or(&[], Vec::as_slice)
    }
}

/// A kernel that was linted with inlined functions.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) id: FuncId,
    /// The functions whose calls were inlined, and those with remaining calls.
    pub(crate) replaced: BTreeSet<FuncId>,
    pub(crate) remaining: BTreeSet<FuncId>,
    pub(crate) found: Vec<Finding>,
}

/// A module of a kernel with inlined functions.
pub(crate) struct Inlined {
    kernel: FuncId,
    text: Vec<u8>,
    /// In the order of the text.
    pieces: Vec<Piece>,
    frames: Vec<Frame>,
    replaced: BTreeSet<FuncId>,
    remaining: BTreeSet<FuncId>,
}

impl Inlined {
    /// Writes a kernel; `None` if no call is inlined.
    pub(crate) fn new(
        plans: &Plans<'_>,
        declarations: &Declarations<'_>,
        kernel: FuncId,
    ) -> Option<Self> {
        let module = plans.facts.module();
        let mut calls = plans.of(kernel)?.calls.values();
        if !calls.any(|call| plans.values(kernel, call).is_some()) {
            return None;
        }
        let mut writer = Writer::new(plans);
        writer.kernel(kernel);
        let mut needed = declarations.mentioned(&writer.text, Parts::All);
        for (item, kind) in module.items() {
            if let Item::Directive(_) = kind {
                let text = ptx_print::verbatim_item(module, item);
                needed.extend(declarations.mentioned(&text, Parts::All));
            }
        }
        let (mut text, mut after) = (Vec::new(), Vec::new());
        let mut place = None;
        for (item, kind) in module.items() {
            let to = if place.is_some() {
                &mut after
            } else {
                &mut text
            };
            match kind {
                Item::Function(id) if id == kernel => {
                    to.extend_from_slice(&declarations.text(item, Parts::Header));
                    to.extend_from_slice(b"{\n");
                    place = Some(to.len() as u32);
                }
                Item::Function(_) | Item::Decl(_) if !needed.contains(&item) => {}
                _ => {
                    to.extend_from_slice(&declarations.text(item, Parts::All));
                    to.push(b'\n');
                }
            }
        }
        let place = place?;
        for piece in &mut writer.pieces {
            piece.start += place;
            piece.end += place;
        }
        text.append(&mut writer.text);
        text.extend_from_slice(b"}\n");
        text.append(&mut after);
        Some(Self {
            kernel,
            text,
            pieces: writer.pieces,
            frames: writer.frames,
            replaced: writer.replaced,
            remaining: writer.remaining,
        })
    }

    /// The length of the text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The number of statements of the kernel.
    pub(crate) fn statements(&self) -> usize {
        self.pieces.len()
    }

    /// Lints the kernel; `None` if the text cannot be parsed.
    pub(crate) fn lint(self, old: &Module, options: &LintOptions) -> Option<Kernel> {
        let parsed = ptx_parse::parse(&self.text);
        if !parsed.diagnostics.is_empty() {
            return None;
        }
        let facts = ModuleFacts::new(&parsed.module);
        let context = ModuleContext::new(&facts, options);
        let name = old.functions().get(self.kernel)?.name;
        let id = parsed.module.function(old.name(name))?;
        let function = context.analyses().function(id)?;
        let likely = LikelyDivergence::new(context.analyses(), options);
        let likely = likely.as_ref();
        let likely = likely.map(|all| all.function(&function, context.calls()));
        let context = FunctionContext::new(&context, &function, likely.as_deref());
        let mut found = Vec::new();
        for lint in &options.lints {
            lint.check(&context, &mut found);
        }
        let body = parsed.module.body(id)?;
        let found = found.into_iter();
        let found = found
            .filter_map(|finding| self.in_source(old, body, finding))
            .collect();
        Some(Kernel {
            id: self.kernel,
            replaced: self.replaced,
            remaining: self.remaining,
            found,
        })
    }

    /// The piece at a place of the text.
    fn piece(&self, at: u32) -> Option<&Piece> {
        let before = self.pieces.partition_point(|p| p.start <= at);
        let piece = self.pieces.get(before.checked_sub(1)?)?;
        (at < piece.end).then_some(piece)
    }

    /// Maps a part of the text to the source.
    fn old_span(&self, old: &Module, span: Span) -> Option<Span> {
        let piece = self.piece(span.start)?;
        let of = old.body(piece.function)?.source_span(piece.stmt);
        // Others than copies are the whole statement.
        let is_copy = piece.end - piece.start == of.len() as u32;
        let start = of.start + (span.start - piece.start);
        Some(match is_copy && span.end <= piece.end {
            true => Span::new(start, start + span.len() as u32),
            false => of,
        })
    }

    /// The finding at the statement of the source.
    fn in_source(&self, old: &Module, body: &Body, mut finding: Finding) -> Option<Finding> {
        let piece = *self.piece(body.source_span(finding.stmt).start)?;
        let of = &mut finding.diagnostic;
        let cause = of
            .labels
            .first()
            .and_then(|label| self.piece(label.span.start));
        (finding.function, finding.stmt) = (piece.function, piece.stmt);
        of.span = self.old_span(old, of.span)?;
        if finding.lint.inlining() == Inlining::AlsoAtCalls
            && let Some(frame) = cause.and_then(|cause| self.call_in(cause, &piece))
        {
            // Only some threads call the function.
            (finding.function, finding.stmt) = (frame.function, frame.stmt);
            of.span = old.body(frame.function)?.source_span(frame.stmt);
        }
        for label in &mut of.labels {
            label.span = self.old_span(old, label.span)?;
        }
        of.repeats = of
            .repeats
            .iter()
            .filter_map(|span| self.old_span(old, *span))
            .collect();
        of.fix = Box::default();
        Some(finding)
    }

    /// The call in the function of a piece that leads to another piece.
    fn call_in(&self, outer: &Piece, inner: &Piece) -> Option<Frame> {
        let mut at = inner.frame;
        while at != outer.frame {
            let frame = *self.frames.get(at?)?;
            if frame.outer == outer.frame {
                return Some(frame);
            }
            at = frame.outer;
        }
        None
    }
}

/// Adds a finding; if there are several at a statement, the most certain one is kept.
fn add<'k>(best: &mut BTreeMap<(FuncId, Lint, StmtId), &'k Finding>, new: &'k Finding) {
    match best.entry((new.function, new.lint, new.stmt)) {
        Entry::Vacant(place) => {
            place.insert(new);
        }
        Entry::Occupied(mut known) if known.get().certainty < new.certainty => {
            known.insert(new);
        }
        Entry::Occupied(_) => {}
    }
}
