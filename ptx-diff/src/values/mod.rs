//! Whether two functions have the same effects with the same values.
//!
//! Each function becomes straight sequences of code, in the order of the text. A sequence has effects, in their order: everything
//! that accesses memory, other threads or control flow. Their operands, and the registers at the end of a sequence, are terms over
//! the registers at its beginning ([`terms`]). Two functions are equal if their sequences have the same effects, under the
//! assumption that certain registers are equal where a sequence begins; each assumption is checked at the end of all sequences
//! before it, which may make further assumptions ([`equal`]). What is not recognized makes functions different.

mod equal;
mod terms;

pub(crate) use equal::equal;
pub(crate) use terms::Terms;
