//! What the operands of an instruction are, as far as the table of instructions asks: a short key of bytes.
//!
//! Many instructions of a module share their mnemonic and the shape of their operands, so what follows from both is
//! worked out once and kept in a [`ShapeCache`]. A [`ShapeKey`] holds all that decides: the operands that the table is
//! asked about are read back out of the key alone.

mod cache;
mod key;
mod read;
mod types;
mod write;

pub use cache::ShapeCache;
pub use key::ShapeKey;
pub use types::{BodyTypes, Named, SymbolTypes};
pub use write::Shapes;

/// The bytes of a key. Those below 64 are registers of the type with this index.
mod code {
    pub(super) const REGISTER_END: u8 = 64;
    /// A whole vector register: type, elements.
    pub(super) const REGISTER_VECTOR: u8 = 64;
    /// An integer whose value does not matter.
    pub(super) const INTEGER: u8 = 65;
    /// An integer: eight bytes.
    pub(super) const VALUE: u8 = 66;
    /// A number of floating point, rounded to single precision: four bytes.
    pub(super) const FLOAT: u8 = 67;
    /// The same, written as the bits of single precision.
    pub(super) const SINGLE: u8 = 68;
    /// A variable: space, type.
    pub(super) const VARIABLE: u8 = 69;
    /// A special register, or a component of one: index.
    pub(super) const SPECIAL: u8 = 70;
    /// A whole special register of several components: index.
    pub(super) const SPECIAL_VECTOR: u8 = 71;
    pub(super) const LABEL: u8 = 72;
    pub(super) const BRANCHES: u8 = 73;
    pub(super) const CALLS: u8 = 74;
    pub(super) const PROTOTYPE: u8 = 75;
    pub(super) const FUNCTION: u8 = 76;
    pub(super) const KERNEL: u8 = 77;
    pub(super) const SINK: u8 = 78;
    /// Results or arguments of a call, whatever they are; also what stands nowhere.
    pub(super) const LIST: u8 = 79;
    /// Parts up to `END`.
    pub(super) const BRACKET: u8 = 80;
    /// Elements up to `END`.
    pub(super) const VECTOR: u8 = 81;
    /// Two operands.
    pub(super) const PAIR: u8 = 82;
    pub(super) const END: u8 = 83;
    /// Before an operand: `-`, `!`, `.unified` after it, an index after it, lanes after it (two bytes), a number added.
    pub(super) const NEGATED: u8 = 96;
    pub(super) const INVERTED: u8 = 97;
    pub(super) const UNIFIED: u8 = 98;
    pub(super) const INDEXED: u8 = 99;
    pub(super) const LANES: u8 = 100;
    pub(super) const OFFSET: u8 = 101;

    const _: () = assert!(ptx_isa::ScalarType::COUNT <= REGISTER_END as usize);
    const _: () = assert!(ptx_isa::SpecialReg::COUNT <= 256);
    const _: () = assert!(ptx_isa::StateSpace::COUNT <= 256);
}
