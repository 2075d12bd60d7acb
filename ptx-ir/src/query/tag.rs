//! The bytes of a shape key. No operand begins with a zero byte: keys of different lengths stay different in one word.

/// At the beginning of a key: the instruction is in a function that is not a kernel.
pub(super) const IN_FUNC: u8 = 0;
pub(super) const IN_ENTRY: u8 = 1;
/// A kernel without the directive that some special registers need.
pub(super) const IN_ENTRY_WITHOUT: u8 = 2;
/// Added to one of these where textures are read with separate samplers.
pub(super) const INDEPENDENT_TEXTURES: u8 = 4;
/// Scalar registers: this and the index of their type.
pub(super) const REGISTER: u8 = 1;
pub(super) const REGISTER_END: u8 = 80;
/// A whole vector register: type, number of elements.
pub(super) const REGISTER_VECTOR: u8 = 80;
/// An integer whose value does not matter.
pub(super) const INTEGER: u8 = 81;
/// An integer: eight bytes.
pub(super) const VALUE: u8 = 82;
/// A floating-point number, rounded to single precision: four bytes.
pub(super) const FLOAT: u8 = 83;
/// A floating-point constant written as the bits of single precision.
pub(super) const F32_BITS: u8 = 84;
/// A variable: state space, type.
pub(super) const VARIABLE: u8 = 85;
/// A special register, or a component of one: index.
pub(super) const SPECIAL: u8 = 86;
/// A whole special register of several components: index.
pub(super) const SPECIAL_VECTOR: u8 = 87;
pub(super) const LABEL: u8 = 88;
pub(super) const BRANCHES: u8 = 89;
pub(super) const CALLS: u8 = 90;
pub(super) const PROTOTYPE: u8 = 91;
pub(super) const FUNCTION: u8 = 92;
pub(super) const KERNEL: u8 = 93;
pub(super) const DISCARD: u8 = 94;
/// Results or arguments of a call, whatever they are; also what no instruction takes.
pub(super) const LIST: u8 = 95;
/// Parts up to [`END`].
pub(super) const BRACKET: u8 = 96;
/// Elements up to [`END`].
pub(super) const VECTOR: u8 = 97;
/// Two operands.
pub(super) const PAIR: u8 = 98;
pub(super) const END: u8 = 99;
/// Before an operand: `-`.
pub(super) const NEGATED: u8 = 112;
/// Before an operand: `!`.
pub(super) const INVERTED: u8 = 113;
/// Before an operand that `.unified` follows.
pub(super) const UNIFIED: u8 = 114;
/// Before an operand that an index follows.
pub(super) const INDEXED: u8 = 115;
/// Before an operand that selected lanes follow: two bytes.
pub(super) const LANES: u8 = 116;
/// Before an operand that a number is added to.
pub(super) const OFFSET: u8 = 117;
/// Before a component of a vector register.
pub(super) const COMPONENT: u8 = 118;

const _: () = assert!(ptx_isa::ScalarType::COUNT <= (REGISTER_END - REGISTER) as usize);
const _: () = assert!(ptx_isa::SpecialReg::COUNT <= 256);
const _: () = assert!(ptx_isa::StateSpace::COUNT <= 256);
