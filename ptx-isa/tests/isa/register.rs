use ptx_isa::{PtxVersion, ScalarType, SpecialReg, Target};

#[test]
fn counts_of_the_judged_version() {
    let judged = |r: &&SpecialReg| r.since() <= PtxVersion::CURRENT;
    assert_eq!(SpecialReg::ALL.iter().filter(judged).count(), 85);
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
