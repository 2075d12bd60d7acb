//! Checks of one operand or one element of a vector: signs, kinds, types, constants, state spaces.

use crate::type_compat::{Expected, RegisterWidth};
use crate::{
    ActualOperand, ConstantKind, FormOperand, Marks, Modifier, OperandShape, OperandViolation,
    Role, ScalarType, Selector, StateSpace, TableKind, TypeExpr, TypeKind,
};

/// The state spaces that are legal for an address.
#[derive(Copy, Clone)]
pub(crate) enum SpaceRule {
    Any,
    One(StateSpace),
    OneOf(&'static [Modifier]),
    GenericOr(&'static [Modifier]),
}

impl SpaceRule {
    fn takes(self, space: StateSpace) -> bool {
        match self {
            Self::Any => true,
            Self::One(legal) => legal.overlaps(space),
            Self::OneOf(list) => has_space(list, |s| s.overlaps(space)),
            Self::GenericOr(list) => space.is_generic() || has_space(list, |s| s.overlaps(space)),
        }
    }

    /// Whether a number is legal as an address: ptxas accepts it only for local memory.
    fn takes_number(self) -> bool {
        match self {
            Self::Any => false,
            Self::One(space) => space == StateSpace::Local,
            Self::OneOf(list) | Self::GenericOr(list) => {
                has_space(list, |s| s == StateSpace::Local)
            }
        }
    }
}

fn has_space(list: &[Modifier], test: impl Fn(StateSpace) -> bool) -> bool {
    list.iter().filter_map(|m| m.state_space()).any(test)
}

/// The requirements on an operand, or on every element of a vector.
pub(crate) struct Element<'o> {
    pub(crate) operand: &'o FormOperand,
    pub(crate) expected: Expected,
    pub(crate) spaces: SpaceRule,
    /// Whether the form is a call of a function.
    pub(crate) is_call: bool,
}

impl Element<'_> {
    pub(crate) fn has(&self, mark: Marks) -> bool {
        self.operand.marks.contains(mark)
    }

    /// Whether a register is legal as an element of a vector.
    pub(crate) fn takes_element(&self, ty: ScalarType) -> bool {
        let is_value = matches!(self.operand.role, Role::Def | Role::Use | Role::ReadWrite);
        let is_legal_byte = self.has(Marks::OR_8_BIT) && ty.bits() == 8 && !ty.is_float();
        is_value
            && if is_legal_byte {
                true
            } else if self.has(Marks::EXACT_ELEMENT_TYPE) {
                // A packed pair is compatible with integers elsewhere, but not with exact element types.
                let is_pair = ty.kind() == TypeKind::Packed && self.expected.is_integer();
                self.expected.takes_register(ty, self.width()) && !is_pair
            } else {
                self.expected.takes_element(ty, self.width())
            }
    }

    /// The legal widths of registers.
    fn width(&self) -> RegisterWidth {
        if self.has(Marks::WIDEN) {
            RegisterWidth::OrWider
        } else {
            RegisterWidth::Exact
        }
    }

    /// Checks a constant in a vector without registers.
    pub(crate) fn bare_constant(&self, constant: ConstantKind) -> Result<(), OperandViolation> {
        legal_if(
            self.expected.accepts_bare_constant(constant),
            OperandViolation::Constant,
        )
    }

    pub(crate) fn check(&self, written: &ActualOperand<'_>) -> Result<(), OperandViolation> {
        if written.negated && !self.has(Marks::NEG) {
            return Err(OperandViolation::Negated);
        }
        if written.inverted && !(self.has(Marks::NOT) && self.expected.is_predicate()) {
            return Err(OperandViolation::Inverted);
        }
        if written.lanes.is_some_and(|lanes| !self.takes_lanes(lanes)) {
            return Err(OperandViolation::Lanes);
        }
        match self.operand.role {
            Role::Def | Role::Use | Role::ReadWrite => self.check_value(written),
            Role::Imm => match written.shape.constant_kind() {
                Some(kind) => self.check_constant_value(written, kind),
                None => Err(OperandViolation::NeedsConstant),
            },
            Role::Addr => self.check_address(written),
            Role::Label => kind(matches!(written.shape, OperandShape::Label) && !written.offset),
            Role::Func if written.offset && self.is_call => Err(OperandViolation::Shape),
            Role::Func => match written.shape {
                OperandShape::Register(ty) => {
                    kind(self.has(Marks::REG) && is_address(ty, &[32, 64]))
                }
                shape => kind(!self.has(Marks::REG) && matches!(shape, OperandShape::Function)),
            },
            Role::Symbol => match written.shape {
                OperandShape::Variable(space, _) if !self.spaces.takes(space) => {
                    Err(OperandViolation::Space)
                }
                shape => kind(matches!(shape, OperandShape::Variable(..))),
            },
            Role::Args | Role::Rets => Ok(()),
            Role::LabelTable => kind(match written.shape {
                _ if written.offset => false,
                OperandShape::Table(TableKind::Branches) => !self.is_call,
                OperandShape::Table(_) => self.is_call,
                _ => false,
            }),
            Role::Sreg => self.check_special_register(written),
        }
    }

    /// Whether the selected bytes or half-words are legal: one of a register; for operands that select several, as many as fill a
    /// register, from two registers; for results that select several, any number in descending order.
    fn takes_lanes(&self, selector: Selector) -> bool {
        let Some(parts) = selector.parts() else {
            return false;
        };
        let count = parts.iter().len();
        let (all, half) = if self.has(Marks::LANES16) {
            (2, true)
        } else if self.has(Marks::LANES8) {
            (4, false)
        } else {
            let highest = if selector.is_half() { 1 } else { 3 };
            return self.has(Marks::LANES) && count == 1 && parts.iter().all(|p| p <= highest);
        };
        if selector.is_half() != half {
            false
        } else if self.operand.role == Role::Def {
            parts.iter().is_sorted_by(|a, b| a > b) && parts.iter().all(|p| usize::from(p) < all)
        } else {
            count == all
        }
    }

    fn check_special_register(&self, written: &ActualOperand<'_>) -> Result<(), OperandViolation> {
        let OperandShape::Special(register) = written.shape else {
            return Err(OperandViolation::Kind);
        };
        let ty = register.scalar_type();
        let fits = self.expected.takes_register(ty, RegisterWidth::Exact)
            || (register.is_short() || self.has(Marks::WIDEN))
                && matches!(self.expected, Expected::Type(narrower)
                    if !narrower.is_float() && (16..ty.bits()).contains(&narrower.bits()));
        legal_if(fits, OperandViolation::Type)
    }

    fn check_constant_value(
        &self,
        written: &ActualOperand<'_>,
        kind: ConstantKind,
    ) -> Result<(), OperandViolation> {
        // An immediate without a type is an integer.
        let untyped = self.operand.role == Role::Imm && self.expected == Expected::Any;
        let fits = match kind {
            ConstantKind::Integer => self.expected.takes_constant(kind),
            _ => !untyped && self.expected.takes_constant(kind),
        };
        let in_range = match (self.operand.range, written.shape) {
            (Some(range), OperandShape::Integer(value)) => range.contains(value),
            (Some(_), _) => false,
            (None, OperandShape::F64(value) | OperandShape::F32Bits(value)) => {
                !self.has(Marks::UNIT_INTERVAL) || value > 0.0 && value <= 1.0
            }
            (None, _) => true,
        };
        legal_if(fits && in_range, OperandViolation::Constant)
    }

    fn check_value(&self, written: &ActualOperand<'_>) -> Result<(), OperandViolation> {
        let allows_discard = self.has(Marks::DISCARD) || self.has(Marks::DISCARD_ONLY);
        match written.shape {
            // `r+4` is a value, but not a destination.
            _ if written.offset && self.operand.role != Role::Use => {
                Err(OperandViolation::NeedsRegister)
            }
            OperandShape::Discard if allows_discard => Ok(()),
            OperandShape::Discard => Err(OperandViolation::Discard),
            _ if self.has(Marks::DISCARD_ONLY) => Err(OperandViolation::Kind),
            OperandShape::Register(_) | OperandShape::Variable(..) if written.offset => {
                legal_if(self.takes_sum(written.shape), OperandViolation::Type)
            }
            // A packed pair is compatible with integers elsewhere, but not with an operand of fixed integer type.
            OperandShape::Register(ty) if self.is_count() && ty.kind() == TypeKind::Packed => {
                Err(OperandViolation::Type)
            }
            OperandShape::F64(_) | OperandShape::F32Bits(_)
                if self.has(Marks::EXACT_ELEMENT_TYPE) && !self.is_float() =>
            {
                Err(OperandViolation::Constant)
            }
            OperandShape::Register(ty) if self.expected.takes_register(ty, self.width()) => Ok(()),
            OperandShape::Register(ScalarType::Pred) if self.has(Marks::ALLOW_PRED) => Ok(()),
            OperandShape::Register(_) => Err(OperandViolation::Type),
            // ptxas accepts the address of a function as a value, but not as an operand of fixed integer type.
            OperandShape::Function | OperandShape::Kernel if self.takes_function() => Ok(()),
            OperandShape::Bracket(_)
            | OperandShape::Vector(_)
            | OperandShape::List(_)
            | OperandShape::Pair(_) => Err(OperandViolation::Shape),
            OperandShape::RegisterVector(..) => Err(OperandViolation::Length(1)),
            shape => match shape.constant_kind() {
                Some(kind) if takes_constants(self.operand) => {
                    self.check_constant_value(written, kind)
                }
                Some(_) => Err(OperandViolation::NeedsRegister),
                None => Err(OperandViolation::Kind),
            },
        }
    }

    /// Whether the sum of a register or an address and a number is legal. ptxas checks its width only where the type is
    /// fixed; there it takes the address of a variable for 32 bits.
    fn takes_sum(&self, base: OperandShape<'_>) -> bool {
        let (ty, width) = match (base, self.is_count()) {
            (OperandShape::Register(ty), true) => (ty, RegisterWidth::Exact),
            (OperandShape::Register(ty), false) => (ty, RegisterWidth::Any),
            (_, true) => (ScalarType::U32, RegisterWidth::Exact),
            (_, false) => (ScalarType::U32, RegisterWidth::Any),
        };
        // An operand that must be one register is not a sum.
        let is_register_only = self.has(Marks::REG) && self.has(Marks::EXACT_ELEMENT_TYPE);
        let is_packed_count = self.is_count() && ty.kind() == TypeKind::Packed;
        !is_register_only && !is_packed_count && self.expected.takes_register(ty, width)
    }

    fn is_float(&self) -> bool {
        matches!(self.expected, Expected::Type(ty) if ty.is_float())
    }

    /// Whether several bytes or half-words may be selected.
    fn selects_several_lanes(&self) -> bool {
        self.has(Marks::LANES16) || self.has(Marks::LANES8)
    }

    fn takes_function(&self) -> bool {
        // A type with elements of at most eight bits does not hold an address.
        let exact = self.has(Marks::EXACT_ELEMENT_TYPE)
            || matches!(self.expected, Expected::Type(ty) if ty.holds_short_formats());
        self.operand.role == Role::Use
            && !self.is_count()
            && !self.selects_several_lanes()
            && !exact
    }

    /// Whether the operand has a fixed integer or predicate type.
    pub(crate) fn is_count(&self) -> bool {
        match self.operand.ty {
            TypeExpr::Scalar(ty) => ty.is_integer() || ty == ScalarType::Pred,
            _ => false,
        }
    }

    fn check_address(&self, written: &ActualOperand<'_>) -> Result<(), OperandViolation> {
        let handle_type = self.handle_type();
        let is_tensor_memory = self.has(Marks::TMEM);
        let takes_any_register = self.has(Marks::ANY_REGISTER);
        let has_named_space = match self.spaces {
            SpaceRule::Any => false,
            SpaceRule::One(_) => true,
            SpaceRule::OneOf(list) | SpaceRule::GenericOr(list) => !list.is_empty(),
        };
        // ptxas first copies a generic address to a register.
        let is_copied = self.has(Marks::GENERIC_ADDR_32_64) && !has_named_space;
        match written.shape {
            // No offset can be added to a handle.
            _ if handle_type.is_some() && written.offset => Err(OperandViolation::Kind),
            OperandShape::Register(_) | OperandShape::Variable(..)
                if takes_any_register && written.offset =>
            {
                Err(OperandViolation::Kind)
            }
            OperandShape::Register(ty) if takes_any_register => {
                let fits = !self.has(Marks::ADDR_64) || ty.bits() == 64;
                legal_if(fits, OperandViolation::Type)
            }
            OperandShape::Register(ty) if is_tensor_memory && self.has(Marks::ALLOW_PRED) => {
                let fits = ty.bits() == 32 && ty.kind() != TypeKind::Float;
                legal_if(fits, OperandViolation::Type)
            }
            OperandShape::Register(ty) if is_tensor_memory && ty != ScalarType::B32 => {
                Err(OperandViolation::Type)
            }
            OperandShape::Special(_) if is_tensor_memory => Err(OperandViolation::NeedsRegister),
            OperandShape::Register(ty) => {
                let widths: &[u16] = if is_tensor_memory {
                    &[32]
                } else if handle_type.is_some() || self.has(Marks::ADDR_64) {
                    &[64]
                } else if self.has(Marks::ADDR_32_64) || is_copied {
                    &[32, 64]
                } else {
                    &[8, 16, 32, 64]
                };
                legal_if(is_address(ty, widths), OperandViolation::Type)
            }
            // A special register is accepted as a symbol unless it is a vector, or ptxas checks the state space of an mbarrier
            // object before it copies the address.
            OperandShape::Special(register)
                if handle_type.is_none() && !takes_any_register && !register.is_vector() =>
            {
                let has_checked_space = self.has(Marks::MBARRIER)
                    && self.has(Marks::NO_HANDLE_OR_PRED)
                    && !self.has(Marks::ADDR_32_64);
                let is_too_narrow = self.has(Marks::ADDR_64) && register.scalar_type().bits() != 64;
                kind(
                    register.scalar_type() != ScalarType::Pred
                        && !has_checked_space
                        && !is_too_narrow,
                )
            }
            OperandShape::Variable(space, ty) => {
                if is_tensor_memory {
                    return Err(OperandViolation::NeedsRegister);
                }
                let is_opaque = ty.kind() == TypeKind::Opaque;
                match handle_type {
                    // With unified textures, a texture is its own sampler.
                    Some(ScalarType::Samplerref)
                        if ty == ScalarType::Texref && self.operand.is_optional =>
                    {
                        Ok(())
                    }
                    Some(handle_type) if ty != handle_type => Err(OperandViolation::Kind),
                    None if is_opaque && (is_copied || self.has(Marks::NO_HANDLE_OR_PRED)) => {
                        Err(OperandViolation::Kind)
                    }
                    None if is_opaque => Ok(()),
                    None if !self.spaces.takes(space) => Err(OperandViolation::Space),
                    _ => Ok(()),
                }
            }
            OperandShape::Integer(_) if handle_type.is_none() => {
                legal_if(self.spaces.takes_number(), OperandViolation::Space)
            }
            _ => Err(OperandViolation::Kind),
        }
    }

    /// The type of the handle that the operand names.
    fn handle_type(&self) -> Option<ScalarType> {
        [
            (Marks::TEXTURE, ScalarType::Texref),
            (Marks::SAMPLER, ScalarType::Samplerref),
            (Marks::SURFACE, ScalarType::Surfref),
        ]
        .into_iter()
        .find(|&(mark, _)| self.has(mark))
        .map(|(_, ty)| ty)
    }
}

/// Whether the operand may be a constant.
pub(crate) fn takes_constants(operand: &FormOperand) -> bool {
    operand.role == Role::Use && !operand.marks.contains(Marks::REG)
}

pub(crate) fn legal_if(legal: bool, violation: OperandViolation) -> Result<(), OperandViolation> {
    if legal { Ok(()) } else { Err(violation) }
}

fn kind(legal: bool) -> Result<(), OperandViolation> {
    legal_if(legal, OperandViolation::Kind)
}

/// Whether a register of the type can hold an address of one of these widths.
fn is_address(ty: ScalarType, widths: &[u16]) -> bool {
    widths.contains(&ty.bits()) && (ty.is_integer() || ty.kind() == TypeKind::Bits)
}
