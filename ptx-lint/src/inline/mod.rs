//! Findings that depend on what calls a function: kernels are linted with the statements of small functions instead of their calls.
//!
//! The kernels are written as a new module, which is parsed and linted. What is found there is reported where the statement is in the
//! source: in the kernel, or in the function.

mod plan;
mod write;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec::Vec;

use ptx_analysis::calls::CallGraph;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Body, FuncId, FunctionKind, Item, Module, Span, StmtId};

use crate::context::{FunctionContext, ModuleContext};
use crate::{Finding, Lint, LintOptions};
use plan::Plans;
use write::{Frame, Piece, Writer};

/// The longest text that is written.
const MOST_BYTES: usize = 1 << 19;

/// The lints to which it matters where a function is called.
const LINTS: &[Lint] = &[
    Lint::BarrierDivergence,
    Lint::WarpMask,
    Lint::AsyncCopyWait,
    Lint::WgmmaProtocol,
    Lint::Tcgen05Protocol,
    Lint::MbarrierInit,
    Lint::ProxyFence,
    Lint::SharedRace,
    Lint::MisalignedVector,
    Lint::Uncoalesced,
    Lint::BankConflict,
];

/// What is found in kernels with the statements of functions instead of calls.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    /// By the function in which it is found.
    found: BTreeMap<FuncId, Vec<Finding>>,
    /// The functions of which everything was linted in this way, in order.
    replaced: Vec<FuncId>,
    /// The kernels among them, in order.
    kernels: Vec<FuncId>,
}

impl Contexts {
    /// Lints the kernels of a module that call functions.
    pub(crate) fn new(facts: &ModuleFacts<'_>, calls: &CallGraph, options: &LintOptions) -> Self {
        let mut options = options.clone();
        options.lints.retain(|lint| LINTS.contains(lint));
        if options.lints.is_empty() {
            return Self::default();
        }
        let new = Inlined::new(facts, calls);
        new.and_then(|new| new.lint(facts.module(), &options))
            .unwrap_or_default()
    }

    /// Whether a lint does not examine a function by itself.
    pub(crate) fn replaces(&self, function: FuncId, lint: Lint) -> bool {
        match lint {
            // Arguments that are passed are not moves, which may be done later.
            Lint::WgmmaProtocol | Lint::Tcgen05Protocol => false,
            // The barrier is reported, and the call of its function.
            Lint::BarrierDivergence => self.kernels.binary_search(&function).is_ok(),
            lint => LINTS.contains(&lint) && self.replaced.binary_search(&function).is_ok(),
        }
    }

    /// What is found in a function.
    pub(crate) fn found(&self, function: FuncId) -> &[Finding] {
        self.found.get(&function).map_or(&[], Vec::as_slice)
    }
}

/// A module of kernels with the statements of functions instead of calls.
struct Inlined {
    text: Vec<u8>,
    /// In the order of the text.
    pieces: Vec<Piece>,
    frames: Vec<Frame>,
    kernels: Vec<FuncId>,
    /// The functions of which nothing else is left, in order.
    replaced: Vec<FuncId>,
}

impl Inlined {
    /// Writes the kernels; `None` if no call is replaced.
    fn new(facts: &ModuleFacts<'_>, calls: &CallGraph) -> Option<Self> {
        let module = facts.module();
        if module.source().is_empty() || module.edits().is_some() {
            return None;
        }
        let plans = Plans::new(facts, calls);
        let is_caller = |id: FuncId| {
            let plan = plans.of(id);
            plan.is_some_and(|p| {
                p.calls
                    .values()
                    .any(|call| plans.values(id, call).is_some())
            })
        };
        let entries = module
            .definitions()
            .filter(|(_, f, _)| f.kind == FunctionKind::Entry);
        let kernels: Vec<FuncId> = entries
            .map(|(id, ..)| id)
            .filter(|id| is_caller(*id))
            .collect();
        if kernels.is_empty() {
            return None;
        }
        let kept = calls.reachable(kernels.iter().copied());
        let mut writer = Writer::new(&plans);
        for (item, kind) in module.items() {
            let span = module.span(item);
            match kind {
                Item::Function(id) if kernels.binary_search(&id).is_ok() => {
                    writer.copy(Span::new(span.start, module.body(id)?.base() + 1));
                    writer.kernel(id);
                    writer.text.extend_from_slice(b"}\n");
                }
                Item::Function(id)
                    if module.body(id).is_some() && kept.binary_search(&id).is_err() => {}
                _ => writer.copy(span),
            }
            if writer.text.len() > MOST_BYTES {
                return None;
            }
        }
        let all = |callers: Vec<FuncId>| {
            callers
                .iter()
                .all(|c| kernels.binary_search(c).is_ok() || writer.replaced.contains(c))
        };
        let is_covered = |id: &FuncId| {
            let is_visible = module
                .functions()
                .get(*id)
                .is_none_or(|f| f.linkage.is_some());
            !is_visible
                && !writer.remaining.contains(id)
                && !calls.is_address_taken(*id)
                && all(calls.callers(*id))
        };
        let covered = writer.replaced.iter().copied().filter(is_covered);
        let mut replaced: Vec<FuncId> = covered.chain(kernels.iter().copied()).collect();
        replaced.sort_unstable();
        Some(Self {
            text: writer.text,
            pieces: writer.pieces,
            frames: writer.frames,
            kernels,
            replaced,
        })
    }

    /// Lints the kernels; `None` if their text cannot be parsed.
    fn lint(self, old: &Module, options: &LintOptions) -> Option<Contexts> {
        let parsed = ptx_parse::parse(&self.text);
        if !parsed.diagnostics.is_empty() {
            return None;
        }
        let facts = ModuleFacts::new(&parsed.module);
        let context = ModuleContext::new(&facts, options);
        let mut best: BTreeMap<(FuncId, Lint, StmtId), Finding> = BTreeMap::new();
        for kernel in &self.kernels {
            let name = old.functions().get(*kernel)?.name;
            let id = parsed.module.function(old.name(name))?;
            let context = FunctionContext::new(&context, id, facts.function(id)?, None);
            let mut new = Vec::new();
            for lint in &options.lints {
                lint.check(&context, &mut new);
            }
            for finding in new {
                if let Some(finding) = self.in_source(old, parsed.module.body(id)?, finding) {
                    add(&mut best, finding);
                }
            }
        }
        let mut found: BTreeMap<FuncId, Vec<Finding>> = BTreeMap::new();
        for ((function, ..), finding) in best {
            found.entry(function).or_default().push(finding);
        }
        Some(Contexts {
            found,
            replaced: self.replaced,
            kernels: self.kernels,
        })
    }

    /// The piece at a place of the text.
    fn piece(&self, at: u32) -> Option<&Piece> {
        let before = self.pieces.partition_point(|p| p.start <= at);
        let piece = self.pieces.get(before.checked_sub(1)?)?;
        (at < piece.end).then_some(piece)
    }

    /// Where a part of the text is in the source.
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
        if finding.lint == Lint::BarrierDivergence
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

/// Adds a finding; of several at one statement the most certain one is left.
fn add(best: &mut BTreeMap<(FuncId, Lint, StmtId), Finding>, new: Finding) {
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
