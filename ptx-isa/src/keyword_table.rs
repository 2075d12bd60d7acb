//! The common interface of all enums of words: text, look-up and index.

use crate::hash;

/// The index of `word` in a perfect hash table, if it is one of `texts`.
#[inline]
pub(crate) fn find(
    word: &[u8],
    texts: &[&str],
    displacements: &[u16],
    places: &[u16],
) -> Option<usize> {
    let hash = hash::hash(word);
    let displacement = *displacements.get(hash::bucket(hash, displacements.len()))?;
    let index = *places.get(hash::position(hash, displacement, places.len()))? as usize;
    (texts.get(index)?.as_bytes() == word).then_some(index)
}

/// A text that is not a keyword of the kind that was expected.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct UnknownKeyword;

impl core::fmt::Display for UnknownKeyword {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("unknown keyword of PTX")
    }
}

impl core::error::Error for UnknownKeyword {}

/// Defines an enum of words with their texts and facts. The perfect hash tables `DISPLACEMENTS` and `POSITIONS` are
/// statics beside it.
macro_rules! keyword_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $repr:ident, $facts:ty;
        $($variant:ident $text:literal $fact:expr,)*
    ) => {
        $(#[$meta])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        #[repr($repr)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
        }

        static VARIANTS: [$name; $name::COUNT] = [$($name::$variant),*];
        static TEXTS: [&str; $name::COUNT] = [$($text),*];
        #[allow(dead_code, reason = "there are no facts about opcodes")]
        pub(crate) static FACTS: [$facts; $name::COUNT] = [$($fact),*];

        impl $name {
            /// All variants in the order of their indices.
            pub const ALL: &'static [Self] = &VARIANTS;
            /// The number of variants.
            pub const COUNT: usize = [$($text),*].len();

            /// The spelling in PTX.
            #[inline]
            pub const fn text(self) -> &'static str {
                TEXTS[self as usize]
            }

            /// The variant with this exact spelling; case-sensitive.
            #[inline]
            pub fn from_text(text: &[u8]) -> Option<Self> {
                Self::from_index(crate::keyword_table::find(
                    text,
                    &TEXTS,
                    &DISPLACEMENTS,
                    &POSITIONS,
                )?)
            }

            /// The index in [`ALL`](Self::ALL): dense, and stable within one version of this crate only.
            #[inline]
            pub const fn index(self) -> usize {
                self as usize
            }

            /// The variant with an index in [`ALL`](Self::ALL).
            #[inline]
            pub const fn from_index(index: usize) -> Option<Self> {
                if index < Self::COUNT {
                    Some(VARIANTS[index])
                } else {
                    None
                }
            }
        }

        impl core::str::FromStr for $name {
            type Err = crate::UnknownKeyword;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::from_text(text.as_bytes()).ok_or(crate::UnknownKeyword)
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.text())
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::format;
    use std::vec::Vec;

    /// Every word is found; similar texts are not.
    macro_rules! check {
        ($($name:ident)*) => {$({
            let words: HashSet<&[u8]> = crate::$name::ALL.iter().map(|w| w.text().as_bytes()).collect();
            assert_eq!(words.len(), crate::$name::COUNT);
            for (i, &word) in crate::$name::ALL.iter().enumerate() {
                let text = word.text();
                assert_eq!(crate::$name::from_text(text.as_bytes()), Some(word), "{text}");
                assert_eq!((word.index(), crate::$name::from_index(i)), (i, Some(word)));
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
                    let found = crate::$name::from_text(&word).map(|w| w.text().as_bytes());
                    assert_eq!(found, words.get(&word[..]).copied());
                }
            }
            assert_eq!(crate::$name::from_index(crate::$name::COUNT), None);
            // Random bytes.
            let mut random = fastrand::Rng::with_seed(1);
            for length in 0..2000 {
                let word: Vec<u8> = (0..length % 40).map(|_| random.u8(..)).collect();
                assert_eq!(crate::$name::from_text(&word), None);
            }
        })*};
    }

    #[test]
    fn words_find_themselves() {
        check!(Opcode Modifier ModifierClass ScalarType StateSpace SpecialReg Directive Target);
    }
}
