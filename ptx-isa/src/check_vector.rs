//! Checks of the elements of a vector.

use crate::check_operand::{Element, legal_if, takes_constants};
use crate::type_compat::{Expected, RegisterWidth};
use crate::{
    ActualOperand, ConstantKind, Marks, OperandShape, OperandTest, OperandViolation, Role,
    ScalarType, SpecialReg, TypeKind,
};

/// The declared types of the registers among the elements.
fn registers(elements: &[ActualOperand<'_>]) -> impl Iterator<Item = ScalarType> {
    elements.iter().filter_map(|e| match e.shape {
        OperandShape::Register(ty) => Some(ty),
        _ => None,
    })
}

/// Whether a register among the elements has a bits type.
fn has_bits(elements: &[ActualOperand<'_>]) -> bool {
    registers(elements).any(|ty| ty.kind() == TypeKind::Bits)
}

/// The bits type with the width of a type.
fn as_bits(ty: ScalarType) -> ScalarType {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|t| t.kind() == TypeKind::Bits && t.bits() == ty.bits())
        .unwrap_or(ty)
}

/// Checks that the elements of a vector have one width and one kind: integers, floating point, or packed pairs. Constants
/// are integers or floating point; bits types are compatible with all kinds, and with predicates.
///
/// # Errors
///
/// [`OperandViolation::Type`] where they differ.
pub(crate) fn check_element_kinds(elements: &[ActualOperand<'_>]) -> Result<(), OperandViolation> {
    let has_only_bits =
        registers(elements).all(|ty| matches!(ty, ScalarType::Pred | ScalarType::B32));
    let width = registers(elements).next().map(ScalarType::bits);
    let has_one_width = registers(elements).all(|ty| Some(ty.bits()) == width);
    let has_constant = |test: fn(ConstantKind) -> bool| {
        elements
            .iter()
            .any(|e| e.shape.constant_kind().is_some_and(test))
    };
    // An integer constant is always an integer; a floating-point constant takes the type of bits registers.
    let has_float =
        has_constant(ConstantKind::is_float) || registers(elements).any(ScalarType::is_float);
    let has_integer = has_constant(|c| c == ConstantKind::Integer)
        || registers(elements).any(ScalarType::is_integer);
    let has_packed = registers(elements).any(|ty| ty.kind() == TypeKind::Packed);
    let kinds = u8::from(has_float) + u8::from(has_integer) + u8::from(has_packed);
    legal_if(
        kinds <= 1 && (has_one_width || has_only_bits),
        OperandViolation::Type,
    )
}

/// Whether a constant is beside one component of a vector register, which ptxas does not copy there.
pub(crate) fn mixes_constant_and_component(shape: OperandShape<'_>) -> bool {
    let OperandShape::Vector(elements) = shape else {
        return false;
    };
    elements.iter().any(ActualOperand::is_component)
        && elements.iter().any(|e| e.shape.constant_kind().is_some())
}

impl Element<'_> {
    /// Checks the elements of a vector of legal length.
    pub(crate) fn check_elements(
        &self,
        elements: &[ActualOperand<'_>],
    ) -> Result<(), OperandViolation> {
        if !elements.is_empty() && elements.iter().all(|e| e.shape == OperandShape::Discard) {
            return Err(OperandViolation::Discard);
        }
        let has_layer = self.has_layer(elements);
        check_element_kinds(elements.get(usize::from(has_layer)..).unwrap_or_default())?;
        elements
            .iter()
            .enumerate()
            .try_for_each(|(index, e)| match e.shape {
                _ if e.offset => Err(OperandViolation::Shape),
                OperandShape::Integer(_) if has_layer && index == 0 => Ok(()),
                OperandShape::Register(ty) => self.check_register(elements, ty, e),
                OperandShape::Special(register) => self.check_special(elements, register, e),
                OperandShape::Function | OperandShape::Kernel => Err(OperandViolation::Kind),
                _ => match e.shape.constant_kind() {
                    Some(kind) => self.check_constant(elements, index, kind),
                    None => self.check(e),
                },
            })
    }

    /// Whether the first element is the index of the layer of a texture array, whose type is not that of the coordinates.
    fn has_layer(&self, elements: &[ActualOperand<'_>]) -> bool {
        self.has(Marks::LEADING_INT)
            && elements.first().is_some_and(|e| e.is(OperandTest::Integer))
            && check_element_kinds(elements).is_err()
    }

    fn check_register(
        &self,
        elements: &[ActualOperand<'_>],
        ty: ScalarType,
        element: &ActualOperand<'_>,
    ) -> Result<(), OperandViolation> {
        let is_plain = self.has(Marks::NO_HANDLE_OR_PRED);
        let has_bits = has_bits(elements);
        match ty {
            // A selection is accepted, without effect, on 32-bit registers only; and not where ptxas copies each element to
            // or from a register.
            _ if element.lanes.is_some() && (is_plain || ty.bits() != 32)
                || element.component && self.has(Marks::WHOLE_REGISTERS) =>
            {
                Err(OperandViolation::Lanes)
            }
            ScalarType::Pred if is_plain => Err(OperandViolation::Type),
            _ if !has_bits && self.is_count() && ty.kind() == TypeKind::Packed => {
                Err(OperandViolation::Type)
            }
            _ if self.is_too_wide_beside_constant(elements, ty) => Err(OperandViolation::Type),
            // A packed type of four elements is not legal in a vector.
            _ if ty.elements() == 4 => Err(OperandViolation::Type),
            // A predicate is legal among `.b32` registers; elements beside bits types count as bits.
            ScalarType::Pred if registers(elements).any(|ty| ty == ScalarType::B32) => Ok(()),
            _ if has_bits && self.takes_element(as_bits(ty)) || self.takes_element(ty) => Ok(()),
            _ => self.check(element),
        }
    }

    /// The first element determines the kind of a vector: after a floating-point constant, a register holds a floating-point number, which
    /// must not be wider than a bits type.
    fn is_too_wide_beside_constant(&self, elements: &[ActualOperand<'_>], ty: ScalarType) -> bool {
        let first = elements.first().and_then(|e| e.shape.constant_kind());
        first.is_some_and(ConstantKind::is_float)
            && matches!(self.expected, Expected::Type(bits) if bits.kind() == TypeKind::Bits && bits.bits() < ty.bits())
    }

    fn check_constant(
        &self,
        elements: &[ActualOperand<'_>],
        index: usize,
        kind: ConstantKind,
    ) -> Result<(), OperandViolation> {
        let Some(element) = elements.get(index) else {
            return Ok(());
        };
        let is_exact = self.has(Marks::EXACT_ELEMENT_TYPE);
        let is_half = self.expected.is_half();
        // Where ptxas copies each element, the notation of a constant determines its width.
        if kind == ConstantKind::F64
            && self.has(Marks::NO_HANDLE_OR_PRED)
            && self.expected.bits() == Some(32)
        {
            return Err(OperandViolation::Constant);
        }
        let is_declared_integer = self.expected.is_declared() && kind == ConstantKind::Integer;
        // The first element determines the type of a vector, and no constant has a type that registers cannot have.
        if index == 0 && !is_exact && is_half && !is_declared_integer {
            return Err(OperandViolation::Constant);
        }
        if !takes_constants(self.operand) {
            return self.check(element);
        }
        if (is_exact || is_half) && registers(elements).next().is_none() {
            return self.bare_constant(kind);
        }
        if self.expected.bits() == Some(64)
            && elements
                .iter()
                .all(|e| matches!(e.shape, OperandShape::Integer(_)))
        {
            return Ok(());
        }
        // A constant among registers has their type.
        let has_kind = match kind {
            ConstantKind::Integer => ScalarType::is_integer,
            _ => ScalarType::is_float,
        };
        if has_bits(elements) || registers(elements).any(has_kind) {
            return Ok(());
        }
        self.check(element)
    }

    fn check_special(
        &self,
        elements: &[ActualOperand<'_>],
        register: SpecialReg,
        element: &ActualOperand<'_>,
    ) -> Result<(), OperandViolation> {
        let ty = register.scalar_type();
        if self.has(Marks::NO_HANDLE_OR_PRED) && !self.has(Marks::ALLOW_SPECIAL) {
            return Err(OperandViolation::Kind);
        }
        if self.operand.role == Role::Sreg {
            let fits = self.expected.takes_register(ty, RegisterWidth::Exact);
            return legal_if(fits, OperandViolation::Type);
        }
        // Elsewhere a special register is compatible with any type of its width, also as a result.
        let mut register_types = registers(elements).peekable();
        let fits = match register_types.peek() {
            Some(_) => register_types.any(|r| r.bits() == ty.bits()),
            None => self.expected.bits() == Some(ty.bits()),
        };
        if fits { Ok(()) } else { self.check(element) }
    }

    /// Whether the operand is a vector whose elements together have the width of the type.
    pub(crate) fn is_split(&self, written: &ActualOperand<'_>) -> bool {
        let Some(bits) = self.expected.bits() else {
            return false;
        };
        let elements = match written.shape {
            OperandShape::Vector(elements) => elements,
            OperandShape::RegisterVector(ty, n) => return ty.bits() * u16::from(n) == bits,
            _ => return false,
        };
        let element_bits = bits / (elements.len().max(1) as u16);
        matches!(elements.len(), 1 | 2 | 4)
            && element_bits >= 8
            && elements.iter().any(|e| e.shape != OperandShape::Discard)
            && check_element_kinds(elements).is_ok()
            && elements
                .iter()
                .all(|e| self.is_split_element(elements, e, element_bits))
    }

    /// Whether an element of a vector is legal as a part of the operand, with a width in bits.
    fn is_split_element(
        &self,
        elements: &[ActualOperand<'_>],
        element: &ActualOperand<'_>,
        bits: u16,
    ) -> bool {
        let is_read = self.operand.role == Role::Use;
        match element.shape {
            _ if element.offset => false,
            OperandShape::Register(ty) => {
                Expected::Width(bits).takes_register(ty, RegisterWidth::Exact)
            }
            OperandShape::Discard => self.has(Marks::DISCARD),
            OperandShape::Special(register) => is_read && register.scalar_type().bits() == bits,
            shape => match shape.constant_kind() {
                Some(ConstantKind::Integer) => is_read,
                Some(_) => is_read && registers(elements).next().is_some(),
                None => false,
            },
        }
    }
}
