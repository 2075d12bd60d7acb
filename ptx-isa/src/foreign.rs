//! Words of other languages, and what PTX has instead.

use crate::generated::foreign::WORDS;

/// A word of another language that is written by mistake.
#[derive(Debug)]
pub struct ForeignWord {
    pub(crate) word: &'static str,
    pub(crate) instead: Option<&'static str>,
    pub(crate) help: Option<&'static str>,
}

impl ForeignWord {
    /// The word with this spelling, the dot of a modifier or type included.
    ///
    /// ```
    /// use ptx_isa::ForeignWord;
    /// let word = ForeignWord::from_text("threadIdx").unwrap();
    /// assert_eq!(word.instead(), Some("%tid"));
    /// assert!(ForeignWord::from_text("ld").is_none());
    /// ```
    #[must_use]
    pub fn from_text(text: &str) -> Option<&'static Self> {
        let at = WORDS.binary_search_by_key(&text, |w| w.word).ok()?;
        WORDS.get(at)
    }

    getters! {
        const;
        /// The word of PTX that replaces it.
        instead: Option<&'static str> = instead;
        /// A sentence that says what to write.
        help: Option<&'static str> = help;
    }
}
