//! The identifiers of Rust for the keywords of PTX.

/// The variant for a word: `.shared::cta` is `SharedCta`, `.1d` is `D1d`, `.L1::evict_last` is `L1EvictLast`,
/// `.warpx2::02_13` is `Warpx2_02_13`.
#[must_use]
pub fn variant(word: &str) -> String {
    let mut out = String::new();
    for part in word
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|p| !p.is_empty())
    {
        if out.ends_with(|c: char| c.is_ascii_digit())
            && part.starts_with(|c: char| c.is_ascii_digit())
        {
            out.push('_');
        }
        // `DWARF` is the only word in capitals.
        let part = if part == "DWARF" { "Dwarf" } else { part };
        out.push_str(&part[..1].to_ascii_uppercase());
        out.push_str(&part[1..]);
    }
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'D');
    }
    out
}

/// The constant for a word: `.shared::cta` is `SHARED_CTA`, `.1d` is `D1D`, `.NaN` is `NAN_`.
#[must_use]
pub fn constant(word: &str) -> String {
    let parts = word
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|p| !p.is_empty());
    let mut out = parts.collect::<Vec<_>>().join("_").to_ascii_uppercase();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'D');
    }
    out
}
