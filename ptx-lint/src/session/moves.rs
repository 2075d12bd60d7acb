//! Moves findings with the functions that contain them when the text changes.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, Item, Module, Span};

use super::LintSession;
use crate::Finding;

/// The spans of functions with bodies, in the order of the text.
#[derive(Clone, Default, Debug)]
pub(super) struct FunctionSpans {
    spans: Vec<(Span, FuncId)>,
}

impl FunctionSpans {
    pub(super) fn new(module: &Module) -> Self {
        let mut spans: Vec<(Span, FuncId)> = module
            .items()
            .filter_map(|(item, kind)| match kind {
                Item::Function(id) => module.body(id).map(|_| (module.span(item), id)),
                _ => None,
            })
            .collect();
        spans.sort_unstable_by_key(|(span, _)| span.start);
        Self { spans }
    }

    /// Returns the function that contains a span, with the span of the function.
    fn enclosing_function(&self, span: Span) -> Option<(Span, FuncId)> {
        let end = self
            .spans
            .partition_point(|(function, _)| function.start <= span.start);
        let (function, id) = *self.spans.get(end.checked_sub(1)?)?;
        (span.end <= function.end).then_some((function, id))
    }

    /// Returns the offset of the start of each function, by function id.
    fn starts(&self) -> Vec<Option<u32>> {
        let mut starts = Vec::new();
        for (span, id) in &self.spans {
            if starts.len() <= id.index() {
                starts.resize(id.index() + 1, None);
            }
            starts[id.index()] = Some(span.start);
        }
        starts
    }
}

/// The changes of the positions of functions by a change of the text.
pub(super) struct Moves<'p> {
    before: &'p FunctionSpans,
    /// The offset of the start of each function after the change, by its id before the change.
    starts_after: Vec<Option<u32>>,
}

impl<'p> Moves<'p> {
    /// Compares the spans before and after a change. `new_id` maps the ids of functions.
    pub(super) fn new(
        before: &'p FunctionSpans,
        after: &FunctionSpans,
        new_id: impl Fn(FuncId) -> Option<FuncId>,
    ) -> Self {
        let new_starts = after.starts();
        let mut starts_after = before.starts();
        for (id, start) in (0..).map(FuncId::new).zip(&mut starts_after) {
            if start.is_some() {
                *start = new_id(id).and_then(|id| new_starts.get(id.index()).copied().flatten());
            }
        }
        Self {
            before,
            starts_after,
        }
    }

    /// Returns `true` if no function moved.
    pub(super) fn is_empty(&self) -> bool {
        let mut spans = self.before.spans.iter();
        spans.all(|(span, id)| self.start_after(*id) == Some(span.start))
    }

    fn start_after(&self, id: FuncId) -> Option<u32> {
        self.starts_after.get(id.index()).copied().flatten()
    }

    /// Returns the span after the change; `None` if it was not in a function, or the function does not exist any more.
    fn moved_span(&self, span: Span) -> Option<Span> {
        let (function, id) = self.before.enclosing_function(span)?;
        let start = self.start_after(id)?;
        Some(Span::new(
            start + (span.start - function.start),
            start + (span.end - function.start),
        ))
    }

    pub(super) fn apply(&self, finding: &mut Finding) {
        finding.diagnostic.relocate(|span| self.moved_span(span));
    }
}

impl LintSession {
    /// Moves findings after a change that did not change the ids of functions.
    pub(super) fn move_findings(&mut self, module: &Module) {
        let old_spans = core::mem::replace(&mut self.spans, FunctionSpans::new(module));
        let moves = Moves::new(&old_spans, &self.spans, Some);
        if !moves.is_empty() {
            self.functions
                .iter_mut()
                .filter_map(|function| function.result.as_mut())
                .flat_map(|result| &mut result.findings)
                .for_each(|finding| moves.apply(finding));
            self.kernels
                .for_each_finding(|finding| moves.apply(finding));
        }
    }
}
