use ptx_isa::{Component, Selector};

#[test]
fn texts() {
    for text in [
        "x", "y", "z", "w", "r", "g", "b", "a", "b0", "b3", "h1", "h10", "h33", "b7654", "b32",
        "b210", "b64",
    ] {
        let selector = Selector::from_text(text.as_bytes()).unwrap();
        assert_eq!(selector.to_string(), text);
        assert_eq!(text.parse(), Ok(selector));
        assert_eq!(Selector::from_bits(selector.bits()), selector);
    }
    for text in [
        "", ".", ".b0", "h", "h4", "h210", "b8", "b32107", "x0", "q", "xy",
    ] {
        assert_eq!(Selector::from_text(text.as_bytes()), None, "{text}");
        assert!(text.parse::<Selector>().is_err());
    }
}

#[test]
fn parts() {
    let selector = |text: &[u8]| Selector::from_text(text).unwrap();
    let lanes = |text: &[u8]| {
        let parts = selector(text).parts();
        parts.map(|parts| parts.iter().collect::<Vec<_>>())
    };
    assert_eq!(lanes(b"b7654"), Some(vec![7, 6, 5, 4]));
    assert_eq!(lanes(b"h30"), Some(vec![3, 0]));
    assert_eq!(lanes(b"z"), None);
    assert!(selector(b"h0").is_half() && !selector(b"b0").is_half());
    assert!(!selector(b"b").is_half());
    assert_eq!(
        (selector(b"w").element(), selector(b"a").element()),
        (Some(3), Some(3))
    );
    assert_eq!(selector(b"b0").element(), None);
    assert_eq!(selector(b"g"), Component::G.into());
    assert!(Component::of_vector(2).eq([Component::X, Component::Y]));
    assert_eq!(Component::of_vector(9).count(), 4);
}
