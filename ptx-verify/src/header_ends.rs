//! The parts of the text of a function that findings about its header point to.

use ptx_ir::{FuncId, Module, Span};

/// The ends of a function's header.
pub(crate) struct Ends {
    pub(crate) header: Span,
    /// The `{` of the body, or the last character of a declaration.
    pub(crate) open: Span,
    /// The `}` of the body, or the last character of a declaration.
    pub(crate) close: Span,
    /// Whether there is a body.
    pub(crate) defined: bool,
}

impl Ends {
    pub(crate) fn new(module: &Module, id: FuncId, whole: Span) -> Self {
        let last = |end: u32| Span::new(end.saturating_sub(1), end);
        match module.body(id) {
            Some(body) => Self {
                header: Span::new(whole.start, body.base().max(whole.start)),
                open: Span::new(body.base(), body.base() + 1),
                close: last(body.base() + body.end()),
                defined: true,
            },
            None => Self {
                header: whole,
                open: last(whole.end),
                close: last(whole.end),
                defined: false,
            },
        }
    }
}
