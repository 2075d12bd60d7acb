//! Names of generated variants and constants.

use ptx_codegen::naming::{constant, variant};

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
