use ptx_isa::PtxVersion;

#[test]
fn text() {
    assert_eq!(PtxVersion::from_text(b"9.5"), Some(PtxVersion::CURRENT));
    for wrong in ["", ".", "9", "9.", ".2", "9.2.1", "9.256", "a.b", "9 .2"] {
        assert_eq!(PtxVersion::from_text(wrong.as_bytes()), None, "{wrong}");
    }
    for &v in PtxVersion::KNOWN {
        assert_eq!(PtxVersion::from_text(v.to_string().as_bytes()), Some(v));
    }
}

#[test]
fn releases() {
    assert!(PtxVersion::KNOWN.is_sorted());
    assert_eq!(PtxVersion::new(8, 0).toolkit(), Some("CUDA 12.0"));
    assert_eq!(PtxVersion::new(8, 0).driver(), Some("525.60.13"));
    assert!(!PtxVersion::new(8, 9).is_known());
    for (major, minor, newer) in [
        (9, 5, false),
        (9, 6, true),
        (10, 0, true),
        (9, 10, false),
        (99, 0, false),
    ] {
        assert_eq!(PtxVersion::new(major, minor).is_newer(), newer);
    }
}
