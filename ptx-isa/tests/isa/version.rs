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
    // The release notes of CUDA 12.7 and of those after 13.3 state no driver.
    let newer = |v: &&PtxVersion| **v > PtxVersion::new(9, 1);
    let releases: Vec<_> = (PtxVersion::KNOWN.iter().filter(newer))
        .map(|v| (v.to_string(), v.toolkit(), v.driver()))
        .collect();
    let expected = [
        ("9.2", "CUDA 13.2", Some("595.45.04")),
        ("9.3", "CUDA 13.3", Some("610.43.02")),
        ("9.4", "CUDA 13.4", None),
        ("9.5", "CUDA 13.5", None),
    ];
    assert_eq!(
        releases,
        expected.map(|(version, toolkit, driver)| (version.into(), Some(toolkit), driver))
    );
    let unnamed = PtxVersion::KNOWN.iter().filter(|v| v.toolkit().is_none());
    assert!(
        unnamed.eq([&PtxVersion::new(1, 5)]),
        "only PTX 1.5 has no toolkit"
    );
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
