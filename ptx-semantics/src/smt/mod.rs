//! Results of instructions as functions of [SMT-LIB](https://smt-lib.org) 2.6, to prove that a rewriting keeps the results.
//!
//! The functions are translated from the tables ([`ptx_isa::Form::computation`]). Their parameters are the sources of the instruction:
//! a bit vector of the width of the type, a `Bool` for a predicate. Further parameters follow if a function depends on them: `carry`, the
//! carry flag as a `Bool`, and `undefined`, bits that the PTX ISA manual leaves open. A result depends on `undefined` if and only if
//! some of its bits are not defined. A NaN that is computed has these bits, except those that make it a quiet NaN.
//!
//! The functions only use the logic `QF_BVFP`, with one function that SMT-LIB lacks: `fp.to_ieee_bv`, the bits of a floating-point number
//! that is not a NaN.
//!
//! ```
//! use ptx_isa::{Modifier, Opcode};
//!
//! let definitions = ptx_semantics::smt::definitions(Opcode::Shl, &[Modifier::B32])?;
//! let text = "(define-fun shl.b32 ((a (_ BitVec 32)) (b (_ BitVec 32))) (_ BitVec 32)\n  (bvshl a b))";
//! assert_eq!(definitions[0].to_string(), text);
//! # Ok::<(), ptx_semantics::smt::NotExpressible>(())
//! ```

use core::fmt;

use ptx_isa::ExprFunction;

mod assign;
mod definition;
mod float;
pub(crate) mod formula;
mod functions;
mod integer;
mod low_bits;
mod number;
mod operand_functions;
mod script;
mod term;
mod translate;

pub use definition::{Definition, Parameter, Sort, definitions};
pub use formula::Formula;
pub use script::{Applied, Input, Script, SortedTerm};

/// The reason why the results of an instruction are not expressible as terms.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum NotExpressible {
    /// No instruction has these modifiers.
    Unknown,
    /// The tables do not state what the instruction computes.
    Unstated,
    /// An integer has too many bits.
    Wide,
    /// A function has no term with these arguments.
    Function(ExprFunction),
    /// Another construct, described by a noun.
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
            Self::Construct(construct) => write!(f, "not expressible: {construct}"),
        }
    }
}

impl core::error::Error for NotExpressible {}
