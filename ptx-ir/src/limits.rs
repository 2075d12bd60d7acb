//! All limits of the parser.

/// The limits of parsing one source. Each has a separate error. Text beyond a limit is kept but not parsed.
///
/// | field | default | code | what happens beyond |
/// |---|---|---|---|
/// | `source_bytes` | 2³¹ − 1 | `PTX0901` | the source is kept whole as one opaque statement |
/// | `nesting` | 4,000,000 | `PTX0902` | a declaration or instruction becomes opaque; a block is reported once and read on |
/// | `diagnostics` | 1,000,000 | `PTX0903` | the rest is read without being reported |
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Limits {
    /// The greatest length of a source in bytes.
    pub source_bytes: usize,
    /// The greatest nesting depth of blocks, of braces in initializers and of parentheses.
    pub nesting: usize,
    /// The greatest number of diagnostics.
    pub diagnostics: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: i32::MAX as usize,
            nesting: 4_000_000,
            diagnostics: 1_000_000,
        }
    }
}
