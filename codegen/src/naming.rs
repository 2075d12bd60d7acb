//! From the spelling of PTX to the names of Rust.

/// The variant for a word: `.shared::cta` is `SharedCta`, `.1d` is `D1d`, `.L1::evict_last` is `L1EvictLast`,
/// `.warpx2::02_13` is `Warpx2_02_13`.
pub(crate) fn variant(word: &str) -> String {
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
        // The one word spelled in capitals.
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
pub(crate) fn constant(word: &str) -> String {
    let parts = word
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|p| !p.is_empty());
    let mut out = parts.collect::<Vec<_>>().join("_").to_ascii_uppercase();
    if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'D');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{constant, variant};

    #[test]
    fn spelling_of_variants() {
        let words = [
            (".shared::cta", "SharedCta"),
            (".m16n8k16", "M16n8k16"),
            (".1d", "D1d"),
            (".L1::evict_last", "L1EvictLast"),
            (".warpx2::02_13", "Warpx2_02_13"),
            (".b4x16_p64", "B4x16P64"),
            ("%pm0_64", "Pm0_64"),
            ("@@DWARF", "Dwarf"),
            (".NaN", "NaN"),
        ];
        for (word, name) in words {
            assert_eq!(variant(word), name);
        }
    }

    #[test]
    fn spelling_of_constants() {
        assert_eq!(constant(".shared::cta"), "SHARED_CTA");
        assert_eq!(constant(".1d"), "D1D");
        assert_eq!(constant("cp.async.bulk"), "CP_ASYNC_BULK");
    }
}
