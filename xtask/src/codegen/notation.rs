//! The terms of the notation of instructions: what the family files say, before any name is looked up.

use super::condition::Cond;
use super::rows::Version;
use super::source::Pos;

/// `insn NAME… "section"` with all that is indented below.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) pos: Pos,
    /// Opcode and fixed words: `cp.async.bulk`.
    pub(crate) names: Vec<String>,
    pub(crate) section: String,
    /// Whether the block says only how the instruction is written, not yet when it is legal.
    pub(crate) syntax_only: bool,
    /// What one of the names needs beyond what the forms need.
    pub(crate) name_floors: Vec<(String, Pos, Vec<Floor>)>,
    pub(crate) forms: Vec<Form>,
    pub(crate) body: Body,
}

/// What may be said of a block or of one form.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) slots: Vec<SlotDef>,
    pub(crate) operands: Vec<OperandDef>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tables: Vec<Table>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) notes: Vec<String>,
    /// Where the table deliberately follows one of manual and assembler against the other.
    pub(crate) differences: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) pos: Pos,
    /// Modifiers and operands as they were written.
    pub(crate) text: String,
    pub(crate) slots: Vec<SlotUse>,
    pub(crate) operands: Vec<OperandUse>,
    /// Accepted by the assembler, unknown to the manual.
    pub(crate) ptxas: bool,
    pub(crate) body: Body,
}

/// A slot where the form names it.
#[derive(Debug)]
pub(crate) struct SlotUse {
    pub(crate) pos: Pos,
    pub(crate) name: String,
    pub(crate) optional: bool,
    /// `{::cta, ::cluster}` after a literal word.
    pub(crate) suffixes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotDef {
    pub(crate) pos: Pos,
    pub(crate) name: String,
    /// Each alternative is one word or several.
    pub(crate) alternatives: Vec<Vec<String>>,
    pub(crate) default: Option<String>,
}

/// Where in its comma-separated place an operand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    Whole,
    Bracket(u8),
    Parentheses,
    Vector(u8),
    /// After the `|`.
    Pair,
}

#[derive(Debug)]
pub(crate) struct OperandUse {
    pub(crate) pos: Pos,
    pub(crate) name: String,
    pub(crate) place: u8,
    pub(crate) within: Within,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeExpr {
    None,
    /// A type word or the slot that holds one.
    Plain(String),
    Bits(String),
    Wide(String),
    Reg(String),
}

#[derive(Clone, Debug)]
pub(crate) enum Length {
    Scalar,
    Fixed(u16),
    Share(String),
    /// As a slot of vector lengths says.
    Slot(String),
    /// First match decides.
    Cases(Vec<(Cond, u16)>),
}

/// How many bytes of memory an access reaches.
#[derive(Clone, Debug)]
pub(crate) enum Size {
    Unknown,
    Fixed(u16),
    /// As many as an operand holds.
    Like(String),
    /// The value of an operand.
    Value(String),
}

#[derive(Clone, Debug)]
pub(crate) struct OperandDef {
    pub(crate) pos: Pos,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) ty: TypeExpr,
    pub(crate) length: Length,
    pub(crate) marks: Vec<String>,
    /// Immediate values: lowest, highest, step; 0 for powers of two.
    pub(crate) range: Option<(i64, i64, i64)>,
    /// `read`, `write`, `update`, `atomic` or nothing.
    pub(crate) access: Option<String>,
    /// Spaces the address may lie in: a slot, or words.
    pub(crate) spaces: Vec<String>,
    pub(crate) align: u16,
    /// How many bytes are reached.
    pub(crate) size: Size,
    pub(crate) iff: Option<Cond>,
}

#[derive(Clone, Debug)]
pub(crate) struct Floor {
    pub(crate) pos: Pos,
    pub(crate) version: Version,
    pub(crate) targets: Vec<(String, Pos)>,
}

#[derive(Clone, Debug)]
pub(crate) enum RuleKind {
    Require(Option<Cond>, Cond),
    Deny(Cond),
    /// One of the floors suffices.
    Since(Option<Cond>, Vec<Floor>),
    Until(Option<Cond>, Vec<Floor>),
    /// The text says what to write instead.
    Deprecated(Option<Cond>, Vec<Floor>, String),
    Default(String, String, Cond),
    AtMostOne(Vec<String>, String),
    Limit(String, String),
    Same(String, bool),
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) pos: Pos,
    pub(crate) ptxas: bool,
    pub(crate) kind: RuleKind,
}

#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) pos: Pos,
    pub(crate) words: Vec<String>,
    pub(crate) when: Option<Cond>,
}

#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Any,
    Absent,
    Words(Vec<String>),
    Same(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) pos: Pos,
    pub(crate) cells: Vec<Cell>,
    /// `4` or `2|4`.
    pub(crate) lengths: Vec<Vec<u16>>,
    pub(crate) floors: Vec<Floor>,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) pos: Pos,
    pub(crate) columns: Vec<String>,
    pub(crate) operands: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// A family file: definitions that hold for all its blocks, and the blocks.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) shared: Vec<SlotDef>,
    pub(crate) blocks: Vec<Block>,
}
