//! Why an instruction has no term.

use core::fmt;
use ptx_isa::ExprFunction;

/// Why what an instruction computes is not a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NotExpressible {
    /// No instruction has these modifiers.
    Unknown,
    /// The tables do not state what it computes.
    Unstated,
    /// An integer takes too many bits.
    Wide,
    /// A function has no term, or not with such arguments.
    Function(ExprFunction),
    /// Another construct.
    Construct(&'static str),
}

impl fmt::Display for NotExpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("no instruction has these modifiers"),
            Self::Unstated => f.write_str("the tables do not describe its semantics"),
            Self::Wide => f.write_str("not expressible: an integer of more than 255 bits"),
            Self::Function(function) => {
                write!(
                    f,
                    "not expressible: the function {function:?} of its operands"
                )
            }
            Self::Construct(what) => write!(f, "not expressible: {what}"),
        }
    }
}

impl core::error::Error for NotExpressible {}
