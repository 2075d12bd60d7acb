use ptx_isa::{ScalarType, SpecialReg, Target};

#[test]
fn counts() {
    assert_eq!(SpecialReg::ALL.len(), 87);
    assert_eq!(SpecialReg::ALL.iter().filter(|r| r.is_vector()).count(), 8);
}

#[test]
fn facts() {
    assert_eq!(SpecialReg::Tid.scalar_type(), ScalarType::U32);
    assert_eq!(
        SpecialReg::IsExplicitCluster.scalar_type(),
        ScalarType::Pred
    );
    assert_eq!(SpecialReg::IsExplicitCluster.target(), Some(Target::Sm90));
    assert!(SpecialReg::Clock64.is_volatile() && !SpecialReg::Laneid.is_volatile());
}
