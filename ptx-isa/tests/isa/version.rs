use ptx_isa::PtxVersion;

#[test]
fn text() {
    assert_eq!(PtxVersion::from_text(b"9.2"), Some(PtxVersion::CURRENT));
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
    assert_eq!(PtxVersion::new(8, 0).driver(), Some("r525"));
    assert!(!PtxVersion::new(8, 9).is_known());
    assert!(PtxVersion::new(9, 5).is_known() && !PtxVersion::new(9, 5).is_judged());
    assert_eq!(PtxVersion::NEWEST, PtxVersion::new(9, 5));
}
