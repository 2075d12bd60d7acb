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
    /// A statement of a debugging section.
    Section,
}

/// The end of a directive.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Ending {
    /// A semicolon.
    Semicolon,
    /// No semicolon.
    Open,
    /// None: the directive is a part of a statement.
    Part,
}

facts! {
    /// Facts about a directive.
    DirectiveFacts of Directive in directive {
        /// One sentence that says what it is.
        summary: &'static str,
        /// Statements of a module that show the directive; [`describe::directive_module`](crate::describe::directive_module) completes
        /// the module. `None` for directives that ptxas rejects.
        example: Option<&'static str>,
        /// The section of the PTX ISA manual.
        section: &'static str,
        /// The end of the directive.
        #[doc(hidden)]
        ending: Ending,
        /// The least and the greatest number of integers that follow it, if only integers do.
        #[doc(hidden)]
        integers: Option<(u8, u8)>,
        /// The greatest integer that may follow it, if it is limited.
        #[doc(hidden)]
        greatest: Option<u8>,
        /// The strings that may follow it instead of integers, without quotes, in lower case.
        #[doc(hidden)]
        texts: &'static [&'static str],
        /// The first version that supports it.
        since: PtxVersion,
        /// The first version in which ptxas rejects it.
        until: Option<PtxVersion>,
        /// The first target that supports it; `None` for all targets.
        target: Option<Target>,
    }
    named {
        /// The positions where the directive is allowed.
        #[doc(hidden)]
        places = positions: &'static [DirectivePosition],
    }
}

impl Directive {
    /// Whether the directive describes the source for a debugger and has no effect on code: `.loc`, `.file` and others of manual 11.5.
    #[must_use]
    pub fn is_debug(self) -> bool {
        self.section().starts_with("11.5.")
    }

    /// Whether the directive is allowed at a position.
    #[doc(hidden)]
    #[must_use]
    pub fn is_allowed_in(self, place: DirectivePosition) -> bool {
        self.places().contains(&place)
    }
}
