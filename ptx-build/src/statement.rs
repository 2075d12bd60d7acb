//! One instruction on its way: the opcode, then its modifiers, then its operands.

use ptx_isa::Modifier;

use crate::error::Error;
use crate::function::FunctionBuilder;
use crate::operand::IntoOperands;

/// An instruction whose opcode is written. Methods named like modifiers go on; it ends, and is checked, with its operands: by
/// the method of a type, which takes `N` of them, or by [`emit`](Self::emit), which takes any number.
///
/// `N` is how many operands most forms of the opcode have. A type that is followed by other modifiers is written by its
/// method with `of_` before: `k.cvt().rn().of_f16().f32(h, f)?` makes `cvt.rn.f16.f32`.
#[must_use = "a statement ends with its operands"]
#[derive(Debug)]
pub struct Statement<'f, 'm, const N: usize> {
    function: &'f mut FunctionBuilder<'m>,
}

impl<'f, 'm, const N: usize> Statement<'f, 'm, N> {
    #[inline]
    pub(crate) fn new(function: &'f mut FunctionBuilder<'m>, opcode: &str) -> Self {
        function.begin(opcode);
        Self { function }
    }

    /// Adds a modifier.
    #[inline]
    pub fn with(self, modifier: Modifier) -> Self {
        self.function.body.text.push_str(modifier.text());
        self
    }

    /// Ends the statement with its operands: one, a tuple, or a slice of [`Operand`](crate::Operand)s.
    #[inline]
    pub fn emit(self, operands: impl IntoOperands) -> Result<(), Error> {
        self.function.end(operands)
    }
}

macro_rules! words {
    ($($(#[doc = $doc:literal])* $name:ident $variant:ident)*) => {
        impl<const N: usize> Statement<'_, '_, N> {
            $($(#[doc = $doc])*
            #[inline]
            pub fn $name(self) -> Self {
                self.with(Modifier::$variant)
            })*
        }
    };
}
pub(crate) use words;

macro_rules! types {
    ($($(#[doc = $doc:literal])* $name:ident $of:ident $variant:ident)*) => {
        $crate::statement::words! { $($(#[doc = $doc])* $of $variant)* }
        $crate::statement::ends! { 1 (A a) $($(#[doc = $doc])* $name $variant)* }
        $crate::statement::ends! { 2 (A a, B b) $($(#[doc = $doc])* $name $variant)* }
        $crate::statement::ends! { 3 (A a, B b, C c) $($(#[doc = $doc])* $name $variant)* }
        $crate::statement::ends! { 4 (A a, B b, C c, D d) $($(#[doc = $doc])* $name $variant)* }
        $crate::statement::ends! { 5 (A a, B b, C c, D d, E e) $($(#[doc = $doc])* $name $variant)* }
    };
}
pub(crate) use types;

macro_rules! ends {
    ($count:literal $operands:tt $($(#[doc = $doc:literal])* $name:ident $variant:ident)*) => {
        impl Statement<'_, '_, $count> {
            $($crate::statement::end! { $operands $(#[doc = $doc])* $name $variant })*
        }
    };
}
pub(crate) use ends;

macro_rules! end {
    (($($generic:ident $operand:ident),*) $(#[doc = $doc:literal])* $name:ident $variant:ident) => {
        $(#[doc = $doc])*
        ///
        /// Ends the statement.
        #[inline]
        pub fn $name<$($generic: IntoOperand),*>(self, $($operand: $generic),*) -> Result<(), Error> {
            self.with(Modifier::$variant).emit(($($operand,)*))
        }
    };
}
pub(crate) use end;

pub(crate) mod prelude {
    pub(crate) use super::Statement;
    pub(crate) use crate::error::Error;
    pub(crate) use crate::operand::IntoOperand;
    pub(crate) use ptx_isa::Modifier;
}
