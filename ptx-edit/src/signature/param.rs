//! Descriptions of parameters.

use alloc::string::{String, ToString};

use ptx_ir::{Interface, TableRange};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::EditError;

/// One of the two lists of a signature.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ParamList {
    /// The parameters, which the caller passes.
    Parameters,
    /// The results, which the function returns.
    Results,
}

/// A parameter or a result to be inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewParam {
    pub(super) space: StateSpace,
    pub(super) ty: ScalarType,
    pub(super) name: String,
    pub(super) align: u32,
    pub(super) elements: Option<u32>,
}

impl ParamList {
    /// The parameters of an interface that are in this list.
    pub(super) fn range(self, interface: &Interface) -> TableRange {
        match self {
            Self::Parameters => interface.params,
            Self::Results => interface.returns,
        }
    }
}

impl NewParam {
    /// `.param .ty name`
    #[must_use]
    pub fn new(ty: ScalarType, name: impl Into<String>) -> Self {
        Self {
            space: StateSpace::Param,
            ty,
            name: name.into(),
            align: 0,
            elements: None,
        }
    }

    /// `.reg .ty name`, for functions that pass values in registers.
    #[must_use]
    pub fn register(ty: ScalarType, name: impl Into<String>) -> Self {
        Self {
            space: StateSpace::Reg,
            ..Self::new(ty, name)
        }
    }

    /// Sets the alignment in bytes, a power of two.
    #[must_use]
    pub fn with_align(mut self, align: u32) -> Self {
        self.align = align;
        self
    }

    /// Makes the parameter an array of this many elements.
    #[must_use]
    pub fn with_elements(mut self, elements: u32) -> Self {
        self.elements = Some(elements);
        self
    }

    /// Checks the alignment and the number of elements.
    pub(super) fn check(&self) -> Result<(), EditError> {
        if self.align > 0 && (!self.align.is_power_of_two() || self.align >= 1 << 30) {
            return Err(EditError::spelling("alignment", self.align.to_string()));
        }
        match self.elements {
            Some(n) if i32::try_from(n).is_err() => Err(EditError::spelling("size", n.to_string())),
            _ => Ok(()),
        }
    }

    /// The text of the parameter with this name.
    pub(super) fn text(&self, name: &str) -> String {
        let mut text = String::from(self.space.text());
        if self.align > 0 {
            text += &format!(" {} {}", Directive::Align.text(), self.align);
        }
        text += &format!(" {} {}", self.ty.text(), name);
        if let Some(n) = self.elements {
            text += &format!("[{n}]");
        }
        text
    }
}
