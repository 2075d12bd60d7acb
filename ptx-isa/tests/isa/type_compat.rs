use ptx_isa::internals::ConstantKind::{F32Bits, F64, Integer};
use ptx_isa::internals::{Expected, RegisterWidth};
use ptx_isa::{ScalarType, TypeKind};

/// Section 9.4: one row for each kind of operand, one column for each kind of register of its width.
#[test]
fn kinds_that_agree() {
    let kinds = |a: ScalarType, b: ScalarType| match (kind(a), kind(b)) {
        ('p', 'p') => true,
        ('p', _) | (_, 'p') => false,
        ('b', _) | (_, 'b') => true,
        // Four short numbers are bits, but not to a packed type of short formats.
        (_, 'v') if b.elements() == 4 => a.element().is_none_or(|e| e.bits() > 8 || e.is_integer()),
        ('i', 'i') => !is_packed(a) || a == b,
        ('i', 'v') => true,
        _ => a == b,
    };
    for &ty in ScalarType::ALL.iter().filter(|t| kind(**t) != '-') {
        for &register in ScalarType::ALL.iter().filter(|t| t.is_register_type()) {
            let same = ty.bits() == register.bits() && kinds(ty, register);
            let expected = Expected::Type(ty);
            assert_eq!(
                expected.takes_register(register, RegisterWidth::Exact),
                same,
                "{ty} {register}"
            );
            let wider = register.bits() > ty.bits()
                && ty.is_register_type()
                && match kind(register) {
                    'b' => kind(ty) != 'p',
                    'i' | 'v' => matches!(kind(ty), 'b' | 'i') && !is_packed(ty),
                    'f' => kind(ty) == 'b',
                    _ => false,
                };
            assert_eq!(
                expected.takes_register(register, RegisterWidth::OrWider),
                same || wider,
                "{ty} in a wider {register}"
            );
        }
    }
}

fn is_packed(ty: ScalarType) -> bool {
    ty.kind() == TypeKind::Packed
}

fn kind(ty: ScalarType) -> char {
    match ty.kind() {
        TypeKind::Predicate => 'p',
        TypeKind::Bits => 'b',
        TypeKind::Signed | TypeKind::Unsigned => 'i',
        TypeKind::Packed if ty.holds_integers() => 'i',
        TypeKind::Packed => 'v',
        TypeKind::Float | TypeKind::Fixed => 'f',
        _ => '-',
    }
}

#[test]
fn constants() {
    let float = Expected::Type(ScalarType::F16);
    assert!(float.takes_constant(F32Bits) && !float.takes_constant(Integer));
    let long = Expected::Type(ScalarType::B64);
    assert!(
        long.takes_constant(Integer) && long.takes_constant(F64) && !long.takes_constant(F32Bits)
    );
    let short = Expected::Type(ScalarType::B32);
    assert!(short.takes_constant(F32Bits) && !short.takes_constant(F64));
    assert!(Expected::Type(ScalarType::Pred).takes_constant(Integer));
}
