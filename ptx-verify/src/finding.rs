//! The findings of the rules.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::Applicability;
use smallvec::SmallVec;

use crate::location::Location;
use crate::problem::{Problem, Side};

/// Another place that a finding points at, and what is there.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Label {
    pub(crate) location: Location,
    pub(crate) text: &'static str,
}

/// A problem at a location.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) problem: Problem,
    pub(crate) location: Location,
    pub(crate) labels: SmallVec<[Label; 2]>,
    /// Other places with the same cause, each with what is wrong there.
    pub(crate) repeats: Vec<(Location, Problem)>,
    /// The repair, if it does not follow from the problem alone.
    pub(crate) repair: Option<Repair>,
}

/// A change that repairs a mistake.
#[derive(Clone, Default, Debug)]
pub(crate) struct Repair {
    /// The assumption of the repair, which is appended to the help of the problem.
    pub(crate) note: String,
    pub(crate) edits: Vec<(Location, Side, String)>,
    /// Whether it replaces the advice and the change of the problem.
    pub(crate) replaces: bool,
    /// The certainty of the repair.
    pub(crate) applicability: Applicability,
}

impl Repair {
    pub(crate) fn new(
        location: Location,
        side: Side,
        text: String,
        note: impl Into<String>,
    ) -> Self {
        Self {
            note: note.into(),
            edits: vec![(location, side, text)],
            replaces: false,
            applicability: Applicability::default(),
        }
    }
}

impl Repair {
    /// The change, which writes something instead of a value that only the author knows.
    pub(crate) fn with_placeholders(mut self) -> Self {
        self.applicability = Applicability::HasPlaceholders;
        self
    }
}

impl Finding {
    pub(crate) fn with_label(&mut self, location: Location, text: &'static str) -> &mut Self {
        self.labels.push(Label { location, text });
        self
    }
}
