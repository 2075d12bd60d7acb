use std::collections::HashSet;

/// Every word is found; similar texts are not.
macro_rules! check {
    ($($name:ident)*) => {$({
        let words: HashSet<&[u8]> = ptx_isa::$name::ALL.iter().map(|w| w.text().as_bytes()).collect();
        assert_eq!(words.len(), ptx_isa::$name::COUNT);
        for (i, &word) in ptx_isa::$name::ALL.iter().enumerate() {
            let text = word.text();
            assert_eq!(ptx_isa::$name::from_text(text.as_bytes()), Some(word), "{text}");
            assert_eq!((word.index(), ptx_isa::$name::from_index(i)), (i, Some(word)));
            assert_eq!(format!("{word}"), text);
            let mut near: Vec<Vec<u8>> = Vec::new();
            for cut in 0..text.len() {
                near.push(text.as_bytes()[..cut].to_vec());
                near.push(text.as_bytes()[cut + 1..].to_vec());
                let mut changed = text.as_bytes().to_vec();
                changed[cut] ^= 0x20;
                near.push(changed.clone());
                changed[cut] = 0xff;
                near.push(changed);
            }
            for end in [&b"x"[..], b" ", b"\0", b"::cta", b"::"] {
                near.push([text.as_bytes(), end].concat());
                near.push([end, text.as_bytes()].concat());
            }
            for word in near {
                let found = ptx_isa::$name::from_text(&word).map(|w| w.text().as_bytes());
                assert_eq!(found, words.get(&word[..]).copied());
            }
        }
        assert_eq!(ptx_isa::$name::from_index(ptx_isa::$name::COUNT), None);
        // Random bytes.
        let mut random = fastrand::Rng::with_seed(1);
        for length in 0..2000 {
            let word: Vec<u8> = (0..length % 40).map(|_| random.u8(..)).collect();
            assert_eq!(ptx_isa::$name::from_text(&word), None);
        }
    })*};
}

#[test]
fn words_find_themselves() {
    check!(Opcode Modifier ModifierClass ScalarType StateSpace SpecialReg Directive Target);
}
