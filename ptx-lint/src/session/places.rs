//! Moves findings with the functions that contain them when the text changes.

use alloc::vec::Vec;

use ptx_ir::{EntityId as _, FuncId, Item, Module, Span};

use super::LintSession;
use crate::Finding;

/// The spans of functions with bodies, in the order of the text.
#[derive(Clone, Default, Debug)]
pub(super) struct Places {
    all: Vec<(Span, FuncId)>,
}

impl Places {
    pub(super) fn new(module: &Module) -> Self {
        let item = |(item, kind)| match kind {
            Item::Function(id) => module.body(id).map(|_| (module.span(item), id)),
            _ => None,
        };
        let mut all: Vec<(Span, FuncId)> = module.items().filter_map(item).collect();
        all.sort_unstable_by_key(|(span, _)| span.start);
        Self { all }
    }

    /// The function around a span.
    fn at(&self, span: Span) -> Option<(Span, FuncId)> {
        let before = self.all.partition_point(|(of, _)| of.start <= span.start);
        let place = *self.all.get(before.checked_sub(1)?)?;
        (span.end <= place.0.end).then_some(place)
    }
}

/// Moves what was found in functions to where these are now.
pub(super) struct Moves<'p> {
    before: &'p Places,
    /// By the old id of a function.
    starts: Vec<Option<u32>>,
}

impl<'p> Moves<'p> {
    /// From the places before to those after a change; `function` gives the new ids of functions.
    pub(super) fn new(
        before: &'p Places,
        after: &Places,
        function: impl Fn(FuncId) -> Option<FuncId>,
    ) -> Self {
        let mut new: Vec<Option<u32>> = Vec::new();
        for (span, id) in &after.all {
            if new.len() <= id.index() {
                new.resize(id.index() + 1, None);
            }
            new[id.index()] = Some(span.start);
        }
        let mut starts = Vec::new();
        for (_, id) in &before.all {
            if starts.len() <= id.index() {
                starts.resize(id.index() + 1, None);
            }
            let start = function(*id).and_then(|id| new.get(id.index()).copied().flatten());
            starts[id.index()] = start;
        }
        Self { before, starts }
    }

    /// Whether everything is where it was.
    pub(super) fn is_empty(&self) -> bool {
        let mut all = self.before.all.iter();
        all.all(|(span, id)| self.starts.get(id.index()) == Some(&Some(span.start)))
    }

    fn place(&self, span: Span) -> Option<Span> {
        let (around, id) = self.before.at(span)?;
        let start = self.starts.get(id.index()).copied().flatten()?;
        let moved = |offset: u32| start + (offset - around.start);
        Some(Span::new(moved(span.start), moved(span.end)))
    }

    pub(super) fn apply(&self, finding: &mut Finding) {
        finding.diagnostic.relocate(|span| self.place(span));
    }
}

impl LintSession {
    /// Moves findings after a change that left the ids of functions as they are.
    pub(super) fn move_places(&mut self, module: &Module) {
        let after = Places::new(module);
        let before = core::mem::take(&mut self.places);
        let moves = Moves::new(&before, &after, Some);
        if !moves.is_empty() {
            let linted = self.functions.iter_mut().filter_map(|f| f.linted.as_mut());
            for finding in linted.flat_map(|l| &mut l.found) {
                moves.apply(finding);
            }
            self.kernels.each_finding(|finding| moves.apply(finding));
        }
        self.places = after;
    }
}
