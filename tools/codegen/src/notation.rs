//! The statements of the instruction files before names are resolved.

use crate::input::{Pos, Word, keywords};

pub(crate) type Version = (u8, u8);

/// A family file: slots that all its blocks share, and the blocks.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) shared: Vec<SlotDef>,
    pub(crate) blocks: Vec<Block>,
}

/// `insn NAME… "section"` with the lines that are indented below.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) pos: Pos,
    /// Opcode and fixed modifiers: `cp.async.bulk`.
    pub(crate) names: Vec<Word>,
    pub(crate) section: String,
    /// The requirements of names, besides those of the forms.
    pub(crate) name_floors: Vec<(Word, Vec<Since>)>,
    pub(crate) forms: Vec<Form>,
    pub(crate) texts: Vec<Text>,
    pub(crate) body: Body,
}

/// A text about all instructions of a block, or about one of them.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) pos: Pos,
    pub(crate) kind: TextKind,
    pub(crate) name: Option<Word>,
    pub(crate) text: String,
}

/// Statements about a block or about one form.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) slots: Vec<SlotDef>,
    pub(crate) operands: Vec<OperandDef>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tables: Vec<Table>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) computations: Vec<Computation>,
    /// The action of the form.
    pub(crate) performs: Option<Word>,
    /// A sentence about the form, if the other forms of its instruction do something else.
    pub(crate) about: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) differences: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) pos: Pos,
    /// The text of the modifiers and operands.
    pub(crate) text: String,
    pub(crate) slots: Vec<SlotUse>,
    pub(crate) operands: Vec<OperandUse>,
    /// ptxas accepts the form, but the PTX ISA manual does not document it.
    pub(crate) ptxas: bool,
    pub(crate) body: Body,
}

/// A slot in the syntax of a form.
#[derive(Clone, Debug)]
pub(crate) struct SlotUse {
    pub(crate) name: Word,
    pub(crate) optional: bool,
    /// `{::cta, ::cluster}` after a literal modifier.
    pub(crate) suffixes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct SlotDef {
    pub(crate) name: Word,
    /// Each alternative is one modifier or several.
    pub(crate) alternatives: Vec<Vec<String>>,
    pub(crate) default: Option<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct OperandUse {
    pub(crate) name: Word,
    /// Index of its comma-separated position.
    pub(crate) position: usize,
    pub(crate) nesting: Nesting,
    pub(crate) optional: bool,
}

/// The nesting of an operand in its comma-separated position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    Whole,
    Bracket(u8),
    Parentheses,
    Vector(u8),
    /// The part of a pair after the `|`.
    Pair,
}

keywords! {
    Role {
        Def = "def", Use = "use", ReadWrite = "read-write", Addr = "addr", Imm = "imm", Label = "label", Func = "func",
        Symbol = "symbol", Args = "args", Rets = "rets", LabelTable = "label-table", Sreg = "sreg",
    }
    /// The access to the memory at an address.
    Access { Read = "read", Write = "write", ReadWrite = "read-write", ReadModifyWrite = "read-modify-write" }
    /// A type that is derived from the type in a slot.
    Derived { Bits = "bits", DoubleWidth = "double-width", Container = "container" }
    /// A test of an operand. The tests with an argument, `vec N` and `below N`, are variants of [`Cond`].
    Test {
        Absent = "absent", Present = "present", Immediate = "imm", Register = "reg", Predicate = "pred",
        Variable = "var", SpecialRegister = "sreg", Function = "func", Discard = "discard", Negated = "neg",
        Inverted = "not", Pair = "pair", Unified = "unified", HasDiscard = "has-discard", Floating = "float",
        Bits = "bits", Constant = "const", NotF32Bits = "not-f32-bits", Integer = "int",
        IntThenFloat = "int-then-float", Handle = "handle", Texture = "texture", B128 = "b128", Unsigned = "unsigned", Nonzero = "nonzero",
    }
    Proxy {
        Generic = "generic", Async = "async", Tensormap = "tensormap", Texture = "texture", B128 = "b128", Surface = "surface",
        ReadOnly = "read-only",
    }
    Control { Jump = "jump", Table = "table", Call = "call", Return = "return", Exit = "exit", Trap = "trap" }
    ConvergenceScope {
        Active = "active", Warp = "warp", Warpgroup = "warpgroup", Cta = "cta", Cluster = "cluster",
    }
    Completion {
        CpAsync = "cp-async", Bulk = "bulk", Mbarrier = "mbarrier", Wgmma = "wgmma", Tcgen05 = "tcgen05",
    }
    AsyncPhase { Start = "start", Commit = "commit", Wait = "wait" }
    TextKind { About = "about", Example = "example", Pitfall = "pitfall" }
    Carry { CarryRead = "read", CarryWrite = "write" }
    /// Effects without an argument.
    Plain {
        Volatile = "volatile", Fence = "fence", Barrier = "barrier", Uniform = "uniform", OneThread = "one-thread",
        SideEffect = "side-effect", MatrixMultiply = "matrix-multiply", MatrixMove = "matrix-move",
    }
}

#[derive(Clone, Debug)]
pub(crate) enum TypeExpr {
    None,
    /// A type, or the slot that holds one.
    Named(Word),
    Derived(Derived, Word),
}

#[derive(Clone, Debug)]
pub(crate) enum Length {
    Scalar,
    Fixed(u16),
    /// The vector length in a slot.
    Slot(Word),
    /// The part of a matrix that one thread holds; the shape of the matrix is in a slot.
    Fragment(Word),
    /// The product of numbers in the modifiers of slots, divided by a number.
    Product(Vec<(Word, Digits)>, u16),
    /// The number of the first condition that holds.
    Cases(Vec<(Cond, u16)>),
}

/// The position of a number in the text of a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    First,
    Last,
}

/// The number of bytes of memory that are accessed.
#[derive(Clone, Debug)]
pub(crate) enum Size {
    Unknown,
    Fixed(u16),
    /// The size of an operand.
    Like(Word),
    /// The value of an operand.
    Value(Word),
}

#[derive(Clone, Debug)]
pub(crate) struct OperandDef {
    pub(crate) name: Word,
    pub(crate) role: Role,
    pub(crate) ty: TypeExpr,
    pub(crate) length: Length,
    pub(crate) marks: Vec<Word>,
    /// The range of immediate values: lowest, highest, step; step 0 for powers of two.
    pub(crate) range: Option<(i64, i64, i64)>,
    pub(crate) access: Option<Access>,
    /// State spaces of the address: a slot, or modifiers.
    pub(crate) spaces: Vec<Word>,
    pub(crate) align: u16,
    pub(crate) size: Size,
    pub(crate) iff: Option<Cond>,
}

#[derive(Clone, Debug)]
pub(crate) enum Cond {
    All(Vec<Cond>),
    Any(Vec<Cond>),
    Not(Box<Cond>),
    /// A slot that is filled, or a modifier that some slot holds.
    Word(Word),
    /// A slot that holds one of some modifiers.
    In(Word, Vec<Word>),
    /// A property of an operand.
    Operand(Word, Test),
    /// An operand that is a vector of a certain length.
    Vector(Word, u16),
    /// An operand that is a register of fewer bits.
    Below(Word, u16),
    InEntry,
    InFunc,
    UnifiedTextures,
}

/// `ptx 8.6 sm_90 sm_100f+`
#[derive(Clone, Debug)]
pub(crate) struct Since {
    pub(crate) pos: Pos,
    pub(crate) version: Version,
    pub(crate) targets: Vec<Word>,
}

#[derive(Clone, Debug)]
pub(crate) enum RuleKind {
    Require(Option<Cond>, Cond),
    Deny(Cond),
    /// One of the alternatives is required.
    RequiresTarget(Option<Cond>, Vec<Since>),
    RemovedIn(Option<Cond>, Vec<Since>),
    /// The text names the replacement.
    Deprecated(Option<Cond>, Vec<Since>, String),
    Ordered(Word, Word),
    MustAgree {
        slot: Word,
        warning: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) pos: Pos,
    pub(crate) ptxas: bool,
    pub(crate) kind: RuleKind,
}

#[derive(Clone, Debug)]
pub(crate) enum EffectKind {
    Order(Word),
    Scope(Word),
    Proxy(Proxy),
    Control(Control),
    Converge(ConvergenceScope),
    Lanes(Word),
    Async(Completion, AsyncPhase),
    Memory(Access, Word),
    Carry(Carry),
    Plain(Plain),
}

#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub(crate) kind: EffectKind,
    pub(crate) when: Option<Cond>,
}

/// The computation of a form: assignments, each of which may use the earlier ones.
#[derive(Clone, Debug)]
pub(crate) struct Computation {
    pub(crate) pos: Pos,
    /// The text of the assignments.
    pub(crate) text: String,
    pub(crate) assignments: Vec<Assignment>,
    /// The bounds of the error of an approximation.
    pub(crate) accuracy: Option<Vec<ErrorBound>>,
}

/// `2^-20.5 absolute if .type in .f16 for 0 <= a <= 2 pi`
#[derive(Clone, Debug)]
pub(crate) struct ErrorBound {
    pub(crate) limit: ErrorLimit,
    pub(crate) when: Option<Cond>,
    pub(crate) range: Option<Range>,
}

/// The greatest error: units in the last place, or thousandths of an exponent of two.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ErrorLimit {
    Ulp(u16),
    Absolute(i32),
    Relative(i32),
}

/// The least and the greatest absolute value of an operand.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) operand: Word,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) target: Word,
    /// Whether the target is the memory at that operand.
    pub(crate) to_memory: bool,
    pub(crate) value: Expr,
}

#[derive(Clone, Debug)]
pub(crate) enum Expr {
    Integer(i64),
    /// An operand, a name that was assigned, a slot or a modifier.
    Name(Word),
    /// The value in memory at an operand.
    Memory(Word),
    Call(Word, Vec<Expr>),
    /// A condition, the value if it holds, the value if not.
    If(Box<[Expr; 3]>),
    Undefined,
}

#[derive(Clone, Debug)]
pub(crate) enum Cell {
    Any,
    Absent,
    Words(Vec<String>),
    /// The modifier of another slot.
    Same(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) pos: Pos,
    pub(crate) cells: Vec<Cell>,
    /// `4` or `2|4`.
    pub(crate) lengths: Vec<Vec<u16>>,
    pub(crate) since: Vec<Since>,
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Word>,
    pub(crate) operands: Vec<Word>,
    pub(crate) rows: Vec<Row>,
}
