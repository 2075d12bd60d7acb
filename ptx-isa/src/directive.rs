//! Facts about directives: where each is allowed and how it ends.

use crate::version::PtxVersion;
use crate::{Directive, Target, generated};

/// A position where a directive is allowed.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum DirectivePosition {
    /// A statement of the module.
    Module,
    /// A statement of a function.
    Body,
    /// A statement of a function that needs a label.
    Label,
    /// After the parameters of a kernel.
    Entry,
    /// After the parameters of a function.
    Func,
    /// After the parameters of a prototype.
    Prototype,
    /// A part of a declaration.
    Declaration,
    /// A part of a kernel parameter.
    Parameter,
    /// In a debugging section.
    Section,
}

/// How a directive ends.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// With a semicolon.
    Semicolon,
    /// Without a semicolon.
    Open,
    /// It is a part of something else.
    Part,
}

/// Facts about a directive.
pub(crate) struct DirectiveFacts {
    pub(crate) section: &'static str,
    pub(crate) positions: &'static [DirectivePosition],
    pub(crate) ending: Ending,
    pub(crate) integers: Option<(u8, u8)>,
    pub(crate) greatest: Option<u8>,
    pub(crate) texts: &'static [&'static str],
    pub(crate) summary: &'static str,
    pub(crate) since: PtxVersion,
    pub(crate) until: Option<PtxVersion>,
    pub(crate) target: Option<Target>,
}

impl Directive {
    const fn facts(self) -> &'static DirectiveFacts {
        &generated::directive::FACTS[self as usize]
    }

    /// One sentence that says what it is.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        self.facts().summary
    }

    /// The section of the PTX ISA manual.
    #[inline]
    #[must_use]
    pub const fn section(self) -> &'static str {
        self.facts().section
    }

    /// Where it is allowed.
    #[inline]
    #[must_use]
    pub const fn places(self) -> &'static [DirectivePosition] {
        self.facts().positions
    }

    /// Whether it is allowed at a position.
    #[must_use]
    pub fn is_allowed_in(self, place: DirectivePosition) -> bool {
        self.places().contains(&place)
    }

    /// How it ends.
    #[inline]
    #[must_use]
    pub const fn ending(self) -> Ending {
        self.facts().ending
    }

    /// The least and the greatest number of integers that follow it, if only integers do.
    #[inline]
    #[must_use]
    pub const fn integers(self) -> Option<(u8, u8)> {
        self.facts().integers
    }

    /// The greatest integer that may follow it, if it is limited.
    #[inline]
    #[must_use]
    pub const fn greatest(self) -> Option<u8> {
        self.facts().greatest
    }

    /// The strings that may follow it instead of integers, without quotes, in lower case.
    #[inline]
    #[must_use]
    pub const fn texts(self) -> &'static [&'static str] {
        self.facts().texts
    }

    /// The first version that supports it.
    #[inline]
    #[must_use]
    pub const fn since(self) -> PtxVersion {
        self.facts().since
    }

    /// The first version in which ptxas rejects it.
    #[inline]
    #[must_use]
    pub const fn until(self) -> Option<PtxVersion> {
        self.facts().until
    }

    /// The first target that supports it; `None` for all targets.
    #[inline]
    #[must_use]
    pub const fn target(self) -> Option<Target> {
        self.facts().target
    }
}
