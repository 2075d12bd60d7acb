//! The form in which code is compared: a sequence of numbers per statement. Equal statements have equal sequences, apart from the ids of registers,
//! labels and variables of the function.

/// A kind, 24 bits of properties, and a number, which is the id for registers, labels and variables:
///
/// ```text
/// 63      56 55           32 31            0
/// ┌─────────┬───────────────┬───────────────┐
/// │  kind   │    detail     │    number     │
/// └─────────┴───────────────┴───────────────┘
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Token(u64);

/// The kind of a token. The first kinds are those of local entities.
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
    /// An integer: its lower half. A token with the upper half follows.
    Integer,
    Float,
    Upper,
    Text,
    Selector,
    /// An operand with parts: the detail distinguishes braces, lists and others, and the number is that of the parts.
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
    /// A register, a label or a variable that has a partner.
    Paired,
    /// A register, a label or a variable that has no partner.
    Unpaired,
    /// The beginning of a term or of a part of a term.
    Term,
}

/// A register, a label or a variable of a function, whose name does not matter.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Local {
    /// [`REGISTER`], [`LABEL`] or the number of [`Kind::Variable`].
    pub(crate) kind: usize,
    pub(crate) id: u32,
}

/// The kind of a register as a local entity.
pub(crate) const REGISTER: usize = Kind::Register as usize;
/// The kind of a label as a local entity.
pub(crate) const LABEL: usize = Kind::Label as usize;
/// The number of kinds of local entities.
pub(crate) const LOCAL_KINDS: usize = 3;

/// The details of [`Kind::Parts`] for `{a, b}`, `(a, b)` and `p|q`.
pub(crate) const VECTOR: u32 = 1;
pub(crate) const LIST: u32 = 2;
pub(crate) const PAIR: u32 = 3;

impl Token {
    /// `detail` has 24 bits.
    pub(crate) const fn new(kind: Kind, detail: u32, number: u32) -> Self {
        Self((kind as u64) << 56 | ((detail & 0xff_ffff) as u64) << 32 | number as u64)
    }

    /// The register, label or variable that the token denotes.
    pub(crate) const fn local(self) -> Option<Local> {
        let kind = (self.0 >> 56) as usize;
        if kind < LOCAL_KINDS {
            Some(Local {
                kind,
                id: self.0 as u32,
            })
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

    /// Whether the token begins a list in braces or parentheses, or a pair.
    pub(crate) const fn is_list(self) -> bool {
        let detail = (self.0 >> 32) as u32 & 0xff_ffff;
        self.is(Kind::Parts) && matches!(detail, VECTOR | LIST | PAIR)
    }

    /// The bits of the token without the id of a local entity.
    pub(crate) const fn shape(self) -> u64 {
        match self.local() {
            Some(_) => self.0 & !0xffff_ffff,
            None => self.0,
        }
    }

    /// A token with the same detail, but another kind and number.
    pub(crate) const fn with_number(self, kind: Kind, number: u32) -> Self {
        Self((self.shape() & 0x00ff_ffff_0000_0000) | (kind as u64) << 56 | number as u64)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

/// Adds a value to a hash.
pub(crate) const fn mix(hash: u64, value: u64) -> u64 {
    let x = (hash.rotate_left(23) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ (x >> 29)
}
