use ptx_isa::{Modifier, ModifierClass, ScalarType, StateSpace};

#[test]
fn modifiers_name_types_and_spaces() {
    assert_eq!(Modifier::U32.scalar_type(), Some(ScalarType::U32));
    assert_eq!(
        Modifier::SharedCta.state_space(),
        Some(StateSpace::SharedCta)
    );
    assert_eq!(Modifier::V4.vector_len(), Some(4));
    assert_eq!(Modifier::Rn.class(), ModifierClass::Rounding);
    assert_eq!(Modifier::Rn.vector_len(), None);
    for &ty in ScalarType::ALL {
        assert_eq!(ty.modifier().scalar_type(), Some(ty));
        assert_eq!(ty.modifier().text(), ty.text());
    }
    for &m in Modifier::ALL {
        let positional = m.scalar_type().is_some() || m.state_space().is_some();
        assert!(!positional || m.class().is_positional());
    }
}
