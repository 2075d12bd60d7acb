use ptx_isa::{RegisterClass, ScalarType, TypeKind};

#[test]
fn packed_types_are_made_of_their_elements() {
    for &ty in ScalarType::ALL {
        assert_eq!(
            ty.kind() == TypeKind::Packed,
            ty.element().is_some(),
            "{ty}"
        );
        let Some(element) = ty.element() else {
            assert_eq!(ty.elements(), 1);
            continue;
        };
        // Four-bit elements of x4 fill 16 bits; six-bit elements, and others in types that say so, are padded to bytes.
        let element = if element.bits() == 6 || ty == ScalarType::E2m1p4x4 {
            8
        } else {
            element.bits()
        };
        assert_eq!(ty.bits(), element * u16::from(ty.elements()), "{ty}");
    }
    assert_eq!(
        ScalarType::F16x2.register_class(),
        Some(RegisterClass::Bits32)
    );
    assert!(ScalarType::B8.is_register_type());
    assert!(!ScalarType::Bf16.is_register_type());
    assert!(!ScalarType::Pred.is_variable_type());
}

#[test]
fn registers_are_as_wide_as_their_types() {
    for &ty in ScalarType::ALL {
        if let Some(class) = ty.register_class() {
            assert_eq!(class.bits(), ty.bits(), "{ty}");
        }
    }
}
