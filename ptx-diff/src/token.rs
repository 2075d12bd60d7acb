//! What code is compared by: a sequence of numbers per statement, which is equal for equal statements, whatever registers, labels
//! and variables of the function are called.

/// A kind, properties, and a number that is an id for registers, labels and variables.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Token(u64);

/// What a token denotes. The first kinds are those of renamed things.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    Register,
    Label,
    Variable,
    Mnemonic,
    Guard,
    Name,
    Symbol,
    Number,
    Special,
    /// The lower half of an integer, and the upper half.
    Integer,
    Float,
    Upper,
    Text,
    Selector,
    /// An operand of several parts: which, and how many.
    Parts,
    Address,
    Sink,
    Absent,
    Directive,
    Declaration,
    Type,
    Prototype,
    Function,
    Opaque,
    /// A register, a label or a variable of a pair, or of neither.
    Paired,
    Unpaired,
    /// The beginning of a term or of a part of it.
    Term,
}

/// The details of [`Kind::Parts`] for `{a, b}`, `(a, b)` and `p|q`.
pub(crate) const VECTOR: u32 = 1;
pub(crate) const LIST: u32 = 2;
pub(crate) const PAIR: u32 = 3;

/// The kinds of things that are renamed.
pub(crate) const RENAMED: usize = 3;

impl Token {
    /// `detail` has 24 bits.
    pub(crate) const fn new(kind: Kind, detail: u32, number: u32) -> Self {
        Self((kind as u64) << 56 | ((detail & 0xff_ffff) as u64) << 32 | number as u64)
    }

    /// The kind of what is renamed, and its id.
    pub(crate) const fn renamed(self) -> Option<(usize, u32)> {
        let kind = (self.0 >> 56) as usize;
        if kind < RENAMED {
            Some((kind, self.0 as u32))
        } else {
            None
        }
    }

    const fn is(self, kind: Kind) -> bool {
        (self.0 >> 56) == kind as u64
    }

    pub(crate) const fn is_mnemonic(self) -> bool {
        self.is(Kind::Mnemonic)
    }

    pub(crate) const fn is_sink(self) -> bool {
        self.is(Kind::Sink)
    }

    /// Whether it begins a list in braces or a pair.
    pub(crate) const fn is_list(self) -> bool {
        let which = (self.0 >> 32) as u32 & 0xff_ffff;
        self.is(Kind::Parts) && matches!(which, VECTOR | LIST | PAIR)
    }

    /// The same without the id of what is renamed.
    pub(crate) const fn shape(self) -> u64 {
        match self.renamed() {
            Some(_) => self.0 & !0xffff_ffff,
            None => self.0,
        }
    }

    /// The same with another number for what is renamed.
    pub(crate) const fn with_number(self, kind: Kind, number: u32) -> Self {
        Self((self.shape() & 0x00ff_ffff_0000_0000) | (kind as u64) << 56 | number as u64)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

/// A hash of the two.
pub(crate) const fn mix(hash: u64, value: u64) -> u64 {
    let x = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ (x >> 29)
}
