//! What instructions compute as functions of [SMT-LIB](https://smt-lib.org) 2.6, to prove that a rewriting keeps the results.
//!
//! The functions are made from what the tables state ([`ptx_isa::Form::computation`]). Their parameters are the sources of the instruction:
//! a bit vector of the width of the type, a `Bool` for a predicate. Further parameters follow where a function depends on them: `carry`, the
//! carry flag as a `Bool`, and `undefined`, what the PTX ISA manual leaves open. A result depends on `undefined` if and only if
//! some of its bits are not defined; those of a NaN that is computed are taken from it, but for those that make it a quiet NaN.
//!
//! The functions only use the logic `QF_BVFP`, with one function that SMT-LIB lacks: `fp.to_ieee_bv`, the bits of a floating-point number
//! that is not a NaN.
//!
//! ```
//! use ptx_isa::{Modifier, Opcode};
//!
//! let found = ptx_semantics::smt::definitions(Opcode::Shl, &[Modifier::B32])?;
//! let text = "(define-fun shl.b32 ((a (_ BitVec 32)) (b (_ BitVec 32))) (_ BitVec 32)\n  (bvshl a b))";
//! assert_eq!(found[0].to_string(), text);
//! # Ok::<(), ptx_semantics::smt::NotExpressible>(())
//! ```

mod assign;
mod definition;
mod error;
mod float;
mod float_result;
mod formula;
mod functions;
mod integer;
mod lanes;
mod low_bits;
mod number;
mod script;
mod term;
mod translate;

pub use definition::{Definition, Parameter, Sort, definitions};
pub use error::NotExpressible;
pub use formula::{Formula, smt, smt_block, smt_window};
pub use script::{Applied, Input, Script, SortedTerm};
