use ptx_isa::{Arch, PtxVersion, Target};

#[test]
fn the_partial_order() {
    use Target::*;
    for (target, feature, legal) in [
        (Sm90, Sm80, true),
        (Sm80, Sm90, false),
        (Sm90a, Sm90, true),
        (Sm90, Sm90a, false),
        (Sm100a, Sm90a, false),
        (Sm100f, Sm100, true),
        (Sm100a, Sm100f, true),
        (Sm100f, Sm100a, false),
        (Sm103f, Sm100f, true),
        (Sm103a, Sm100f, true),
        (Sm103, Sm100f, false),
        (Sm100f, Sm103f, false),
        (Sm103a, Sm100a, false),
        (Sm120f, Sm100f, false),
        (Sm121a, Sm120f, true),
        (Sm110a, Sm101a, true),
        (Sm101f, Sm110f, true),
        (Sm110f, Sm100f, false),
        (Sm107a, Sm103f, true),
        (Sm120, Sm100, true),
    ] {
        assert_eq!(
            target.implies(feature),
            legal,
            "{target} has the features of {feature}"
        );
    }
}

#[test]
fn reflexive_and_transitive() {
    for &a in Target::ALL {
        assert!(a.implies(a));
        for b in a.implied().iter() {
            for c in b.implied().iter() {
                assert!(a.implies(c), "{a} {b} {c}");
            }
        }
    }
}

#[test]
fn names() {
    assert_eq!(Target::from_text(b"compute_90a"), Some(Target::Sm90a));
    assert_eq!(Target::from_text(b"sm_121f"), Some(Target::Sm121f));
    assert_eq!(Target::from_text(b"compute_"), None);
    assert_eq!(Target::from_text(b"compute_123456789012"), None);
    assert_eq!(Target::from_text(b"compute_sm_90"), None);
    assert_eq!(Target::Sm101a.alias_of(), Some(Target::Sm110a));
    assert!(Target::Sm110.aliases().eq([Target::Sm101]));
    assert_eq!(Target::Sm101.aliases().next(), Some(Target::Sm110));
    assert_eq!(
        (Target::Sm103f.number(), Target::Sm103f.family()),
        (103, Some(100))
    );
    assert_eq!(Target::Sm90a.arch(), Arch::Exact);
    assert_eq!(Target::Sm107.min_version(), PtxVersion::new(9, 4));
}
