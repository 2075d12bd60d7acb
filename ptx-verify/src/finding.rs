//! The findings of the rules.

use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::Applicability;
use smallvec::SmallVec;

use crate::location::Location;
use crate::problem::{Problem, Side};

/// Another location that a finding refers to, with a text about it.
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
    /// Other places with the same cause.
    pub(crate) repeats: Vec<Repeat>,
    /// The repair, if it does not follow from the problem alone.
    pub(crate) repair: Option<Repair>,
    /// The text of the statement, if that is not the text of the source at its place, because an edit changed or inserted the statement.
    pub(crate) edited_text: Option<Rc<[u8]>>,
}

/// Another place with the cause of a finding.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) location: Location,
    /// The problem there.
    pub(crate) problem: Problem,
    /// The text of the statement there, as in [`Finding::edited_text`].
    pub(crate) edited_text: Option<Rc<[u8]>>,
}

/// A change that repairs a mistake.
#[derive(Clone, Default, Debug)]
pub(crate) struct Repair {
    /// The assumption of the repair, which is appended to the help of the problem.
    pub(crate) note: String,
    pub(crate) edits: Vec<(Location, Side, String)>,
    /// The repair replaces the help and the fix of the problem; otherwise it is added to the help.
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

    /// Marks the repair as writing an example instead of a value that only the author knows.
    pub(crate) fn with_placeholders(mut self) -> Self {
        self.applicability = Applicability::HasPlaceholders;
        self
    }
}

impl Finding {
    /// Returns the places with the same cause: that of the finding and its repeats.
    pub(crate) fn into_repeats(self) -> impl Iterator<Item = Repeat> {
        let first = Repeat {
            location: self.location,
            problem: self.problem,
            edited_text: self.edited_text,
        };
        core::iter::once(first).chain(self.repeats)
    }

    pub(crate) fn with_label(&mut self, location: Location, text: &'static str) -> &mut Self {
        self.labels.push(Label { location, text });
        self
    }
}
