//! One instruction being built: the opcode, then its modifiers, then its operands.

use ptx_isa::{Modifier, Opcode, ScalarType};

use crate::error::BuildError;
use crate::function::FunctionBuilder;
use crate::operand::IntoOperands;
use crate::operand_count::{Accepts, Counts};

/// An instruction whose opcode is known. Methods named after modifiers add them. The instruction is complete, and checked, when
/// it gets its operands: from the method of a type, or from [`emit`](Self::emit) if the mnemonic does not end with a type.
///
/// `COUNTS` is the set of operand counts that the forms of the opcode allow: bit `n` means `n` operands. Another number of
/// operands does not compile.
///
/// A type that is followed by more modifiers has a method with the prefix `of_`: `k.cvt().rn().of_f16().f32((h, f))?` builds
/// `cvt.rn.f16.f32`. A type that is known at run time is an argument of [`of`](Self::of) or [`typed`](Self::typed).
#[must_use = "the instruction is added when it gets its operands"]
#[derive(Debug)]
pub struct InstBuilder<'f, 'm, const COUNTS: u32> {
    function: &'f mut FunctionBuilder<'m>,
}

impl<'f, 'm, const COUNTS: u32> InstBuilder<'f, 'm, COUNTS> {
    #[inline]
    pub(crate) fn new(function: &'f mut FunctionBuilder<'m>, opcode: Opcode) -> Self {
        function.begin(opcode);
        Self { function }
    }

    /// Adds a modifier that is known at run time: a [`Modifier`], or a [`ScalarType`].
    #[inline]
    pub fn with(self, modifier: impl Into<Modifier>) -> Self {
        self.function.body.pending.mnemonic.add(modifier.into());
        self
    }

    /// Adds a type that is known at run time and is followed by more modifiers.
    #[inline]
    pub fn of(self, ty: ScalarType) -> Self {
        self.with(ty)
    }

    /// Completes the instruction with a type that is known at run time and its operands.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// for ty in [T::S32, T::F32] {
    ///     let (d, a) = (k.reg(ty), k.reg(ty));
    ///     k.add().typed(ty, (d, a, a))?;
    /// }
    /// # k.finish()?;
    /// # Ok::<(), ptx_build::BuildError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`emit`](Self::emit).
    #[inline]
    pub fn typed<O>(self, ty: ScalarType, operands: O) -> Result<(), BuildError>
    where
        O: IntoOperands,
        Counts<COUNTS>: Accepts<O::Count>,
    {
        self.with(ty).emit(operands)
    }

    /// Completes the instruction with its operands: one operand, a tuple, or a slice of [`OperandExpr`](crate::OperandExpr)s.
    ///
    /// # Errors
    ///
    /// The instruction is illegal for the version and target of the module
    /// ([`Illegal`](crate::BuildErrorKind::Illegal)), or an operand cannot be used here
    /// ([`Foreign`](crate::BuildErrorKind::Foreign)). The function is then as it was before the instruction.
    #[inline]
    pub fn emit<O>(self, operands: O) -> Result<(), BuildError>
    where
        O: IntoOperands,
        Counts<COUNTS>: Accepts<O::Count>,
    {
        self.function.end(operands)
    }
}

macro_rules! modifier_methods {
    ($($(#[doc = $doc:literal])* $name:ident $variant:ident)*) => {
        impl<const COUNTS: u32> InstBuilder<'_, '_, COUNTS> {
            $($(#[doc = $doc])*
            #[inline]
            pub fn $name(self) -> Self {
                self.with(Modifier::$variant)
            })*
        }
    };
}
pub(crate) use modifier_methods;

macro_rules! type_methods {
    ($($(#[doc = $doc:literal])* $name:ident $of:ident $variant:ident)*) => {
        $crate::statement::modifier_methods! { $($(#[doc = $doc])* $of $variant)* }
        impl<const COUNTS: u32> InstBuilder<'_, '_, COUNTS> {
            $($(#[doc = $doc])*
            ///
            /// Completes the instruction, as [`emit`](Self::emit).
            ///
            /// # Errors
            ///
            /// Those of [`emit`](Self::emit).
            #[inline]
            pub fn $name<O>(self, operands: O) -> Result<(), BuildError>
            where
                O: IntoOperands,
                Counts<COUNTS>: Accepts<O::Count>,
            {
                self.with(Modifier::$variant).emit(operands)
            })*
        }
    };
}
pub(crate) use type_methods;

pub(crate) mod prelude {
    pub(crate) use super::InstBuilder;
    pub(crate) use crate::error::BuildError;
    pub(crate) use crate::operand::IntoOperands;
    pub(crate) use crate::operand_count::{Accepts, Counts};
    pub(crate) use ptx_isa::Modifier;
}
