//! The common interface of all enums of words: text, look-up and index.

use crate::hash;

/// The index of `word` in `texts`, by a perfect hash table.
#[inline]
pub(crate) fn find(
    word: &[u8],
    texts: &[&str],
    displacements: &[u16],
    positions: &[u16],
) -> Option<usize> {
    let hash = hash::hash(word);
    let displacement = *displacements.get(hash::bucket(hash, displacements.len()))?;
    let index = *positions.get(hash::position(hash, displacement, positions.len()))? as usize;
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
/// statics beside it. A function after `also` reads other spellings.
macro_rules! keyword_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident: $repr:ident, $facts:ty $(, also $other_spelling:path)?;
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

            /// The variant with this exact spelling; case-sensitive. [`str::parse`] does the same for text.
            #[doc(hidden)]
            #[inline]
            pub fn from_text(text: &[u8]) -> Option<Self> {
                let index =
                    crate::keyword_table::find(text, &TEXTS, &DISPLACEMENTS, &POSITIONS);
                $(
                    if index.is_none() {
                        return $other_spelling(text);
                    }
                )?
                Self::from_index(index?)
            }

            /// The index in [`ALL`](Self::ALL): dense, and stable within one version of this crate only.
            #[doc(hidden)]
            #[inline]
            pub const fn index(self) -> usize {
                self as usize
            }

            /// The variant with an index in [`ALL`](Self::ALL).
            #[doc(hidden)]
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
