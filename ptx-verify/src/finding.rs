//! What a rule found, and where.

use alloc::vec::Vec;

use ptx_isa::ScalarType;
use smallvec::SmallVec;

use crate::location::Location;
use crate::problem::Problem;

/// Another place that a finding points at, and what is there.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Label {
    pub(crate) at: Location,
    pub(crate) text: &'static str,
}

/// A problem at a location.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) problem: Problem,
    pub(crate) at: Location,
    pub(crate) labels: SmallVec<[Label; 2]>,
    /// Other places with the same problem.
    pub(crate) repeats: Vec<Location>,
    /// The declaration that has the wrong type.
    pub(crate) redeclaration: Option<Redeclaration>,
}

/// Another type for a declaration.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Redeclaration {
    /// The type that is declared.
    pub(crate) at: Location,
    pub(crate) ty: ScalarType,
}

impl Finding {
    pub(crate) fn with_label(&mut self, at: Location, text: &'static str) -> &mut Self {
        self.labels.push(Label { at, text });
        self
    }
}
