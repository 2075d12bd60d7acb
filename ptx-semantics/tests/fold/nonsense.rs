//! Whatever is asked is answered.

use ptx_isa::{Modifier, Opcode, Selector};
use ptx_semantics::fold::{Operation, Video, fold};

/// Whatever is asked, there is an answer or none: no panic.
#[test]
fn nonsense_is_answered() {
    let words: Vec<Modifier> = Modifier::ALL
        .iter()
        .copied()
        .filter(|m| !m.text().starts_with(".m") || m.text() == ".max")
        .collect();
    let likely: Vec<Modifier> = ptx_isa::ScalarType::ALL
        .iter()
        .map(|t| t.modifier())
        .collect();
    let mut rng = fastrand::Rng::with_seed(1);
    let mut next = |n: usize| rng.usize(..n);
    let values = [
        0,
        1,
        u128::MAX,
        1 << 127,
        0x7f80_0000,
        0x7ff0_0000_0000_0000,
        0xffff_ffff,
        33,
        64,
        200,
    ];
    let mut answered = 0;
    for &opcode in Opcode::ALL {
        // The words that some form takes, and some that none does.
        let mut fitting: Vec<Modifier> = opcode
            .instructions()
            .iter()
            .flat_map(|i| i.words())
            .copied()
            .collect();
        fitting.extend([
            Modifier::Sat,
            Modifier::Ftz,
            Modifier::Rn,
            Modifier::Rzi,
            Modifier::Lo,
            Modifier::Eq,
            Modifier::Clamp,
        ]);
        for _ in 0..3000 {
            let modifiers: Vec<Modifier> = (0..next(4))
                .map(|_| match next(6) {
                    0 => words[next(words.len())],
                    1 | 2 => fitting[next(fitting.len())],
                    _ => likely[next(likely.len())],
                })
                .collect();
            let operands: Vec<u128> = (0..next(6)).map(|_| values[next(values.len())]).collect();
            let carry = [None, Some(false), Some(true)][next(3)];
            let mut part = || {
                let all = [
                    "", "", "", "b0", "b7", "h1", "h3", "b3210", "h32", "b76", "x",
                ];
                Selector::from_text(all[next(all.len())].as_bytes())
            };
            let video = Video {
                into: part(),
                parts: [part(), part()],
                negative: [0; 3].map(|_| next(4) == 0),
            };
            let video = [Video::default(), video][next(2)];
            answered += u32::from(
                fold(&Operation {
                    opcode,
                    modifiers: &modifiers,
                    operands: &operands,
                    carry,
                    video,
                })
                .is_some(),
            );
        }
    }
    assert!(answered > 100, "{answered}");
}
