//! Facts about directives: where each is allowed and how it ends.

use crate::version::PtxVersion;
use crate::{Directive, Target};

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

facts! {
    /// Facts about a directive.
    DirectiveFacts of Directive in directive {
        /// One sentence that says what it is.
        summary: &'static str,
        /// Statements of a module that show it, which [`describe::directive_module`](crate::describe::directive_module) makes a module
        /// of; `None` for directives that ptxas rejects.
        example: Option<&'static str>,
        /// The section of the PTX ISA manual.
        section: &'static str,
        /// How it ends.
        ending: Ending,
        /// The least and the greatest number of integers that follow it, if only integers do.
        integers: Option<(u8, u8)>,
        /// The greatest integer that may follow it, if it is limited.
        greatest: Option<u8>,
        /// The strings that may follow it instead of integers, without quotes, in lower case.
        texts: &'static [&'static str],
        /// The first version that supports it.
        since: PtxVersion,
        /// The first version in which ptxas rejects it.
        until: Option<PtxVersion>,
        /// The first target that supports it; `None` for all targets.
        target: Option<Target>,
    }
    named {
        /// Where it is allowed.
        places = positions: &'static [DirectivePosition],
    }
}

impl Directive {
    /// Whether it is about debugging, and has no effect on code: `.loc`, `.file` and others of manual 11.5.
    #[must_use]
    pub fn is_debug(self) -> bool {
        self.section().starts_with("11.5.")
    }

    /// Whether it is allowed at a position.
    #[must_use]
    pub fn is_allowed_in(self, place: DirectivePosition) -> bool {
        self.places().contains(&place)
    }
}
