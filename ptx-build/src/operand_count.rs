//! The numbers of operands of a list, and those that an opcode accepts, as types: a wrong number of operands does not compile.

/// The type of a list of `N` operands.
#[derive(Debug)]
pub enum Count<const N: usize> {}

/// The type of a list whose length is known at run time only, such as a slice.
#[derive(Debug)]
pub enum AnyCount {}

/// A set of operand counts: bit `n` means `n` operands.
#[derive(Debug)]
pub enum Counts<const SET: u32> {}

/// Implemented for every set and each of its counts.
#[diagnostic::on_unimplemented(
    message = "no form of this instruction has this number of operands",
    note = "operands are passed as a tuple: `k.add().s32((d, a, b))`"
)]
pub trait Accepts<C> {}

impl<const SET: u32> Accepts<AnyCount> for Counts<SET> {}

macro_rules! count_sets {
    ($($set:literal: $($count:literal)*;)*) => {
        $($(impl $crate::operand_count::Accepts<$crate::operand_count::Count<$count>>
            for $crate::operand_count::Counts<$set> {})*)*
    };
}
pub(crate) use count_sets;
