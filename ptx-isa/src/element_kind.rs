//! The common kind of the elements of a vector.

use crate::{ActualOperand, OperandShape, OperandViolation, ScalarType, TypeKind};

/// The bits type with the width of a type.
pub(crate) fn as_bits(ty: ScalarType) -> ScalarType {
    let mut all = ScalarType::ALL.iter().copied();
    all.find(|t| t.kind() == TypeKind::Bits && t.bits() == ty.bits())
        .unwrap_or(ty)
}

/// Checks that the elements of a vector have one width and one kind: integers, floating point, or packed pairs. Constants
/// are integers or floating point; bits types are compatible with all kinds, and with predicates.
///
/// # Errors
///
/// [`OperandViolation::Type`] where they differ.
pub(crate) fn same_element_kind(elements: &[ActualOperand<'_>]) -> Result<(), OperandViolation> {
    let registers = || {
        elements.iter().filter_map(|e| match e.shape {
            OperandShape::Register(ty) => Some(ty),
            _ => None,
        })
    };
    let among_bits = registers().all(|ty| matches!(ty, ScalarType::Pred | ScalarType::B32));
    let width = registers().next().map(ScalarType::bits);
    let one_width = registers().all(|ty| Some(ty.bits()) == width);
    let any = |which: fn(&OperandShape<'_>) -> bool| elements.iter().any(|e| which(&e.shape));
    // An integer constant is always an integer; a floating-point constant takes the type of bits registers.
    let number = any(|s| matches!(s, OperandShape::Integer(_)));
    let fraction = any(|s| matches!(s, OperandShape::F64(_) | OperandShape::F32Bits(_)));
    let float = fraction || registers().any(ScalarType::is_float);
    let integer = number || registers().any(ScalarType::is_integer);
    let packed = registers().any(|ty| ty.kind() == TypeKind::Packed);
    let kinds = [float, integer, packed].into_iter().filter(|kind| *kind);
    if kinds.count() > 1 || !one_width && !among_bits {
        Err(OperandViolation::Type)
    } else {
        Ok(())
    }
}
