//! The fields of conditions.

use ptx_isa::{Modifier, ModifierClass, Opcode, ScalarType, SpecialReg, Target};

use super::values::{self as v, Visit};
use crate::query::Site;
use ptx_report::function_stats::FAMILIES;
use ptx_report::labels;

/// A property of instructions that conditions examine.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) group: Group,
    pub(crate) kind: Kind,
    pub(crate) index: Index,
    /// The meaning, as a sentence.
    pub(crate) text: &'static str,
    /// The source of the values: `text`, `instruction tables`, …
    pub(crate) from: &'static str,
    /// Visits the values for an instruction, or for one of its operands.
    pub(crate) values: fn(&Site<'_, '_>, Option<usize>, Visit<'_>),
}

/// The fields that are listed together.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Group {
    Mnemonic,
    Operands,
    Place,
    Effects,
    Memory,
    Requirements,
}

/// The kind of the values of a field.
#[derive(Copy, Clone)]
pub(crate) enum Kind {
    Flag,
    Number,
    /// Any text.
    Text,
    /// A name of the program, mangled or demangled.
    Name,
    /// Any number of texts, which can be counted.
    List,
    /// One of the words that the function returns.
    Word(fn() -> Vec<&'static str>),
    /// A PTX version.
    Version,
    /// A target.
    Target,
    /// A condition on an instruction of each path.
    Path(Direction),
    /// A condition on one memory access; without a condition, whether there is an access.
    Access,
}

/// The part of the paths through an instruction that a condition examines.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Direction {
    After,
    Before,
}

/// Whether the number of an operand may follow in parentheses.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Index {
    None,
    Optional,
    Required,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// The text contains the pattern.
    Contains,
}

impl Comparison {
    pub(crate) fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Self::Equal | Self::Contains => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }
}

impl Group {
    pub(crate) const ALL: [Self; 6] = [
        Self::Mnemonic,
        Self::Operands,
        Self::Place,
        Self::Effects,
        Self::Memory,
        Self::Requirements,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mnemonic => "Opcode and modifiers",
            Self::Operands => "Operands and registers",
            Self::Place => "Place in the program",
            Self::Effects => "Effects",
            Self::Memory => "Memory accesses",
            Self::Requirements => "Requirements",
        }
    }
}

impl Kind {
    /// The name of the kind in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Number => "number",
            Self::Text => "text",
            Self::Name => "name",
            Self::List => "list",
            Self::Word(_) => "word",
            Self::Version => "PTX version",
            Self::Target => "target",
            Self::Path(_) => "pattern or (condition)",
            Self::Access => "flag or (condition)",
        }
    }

    /// The words that the values can be; empty for other kinds of values.
    pub(crate) fn words(self) -> Vec<&'static str> {
        match self {
            Self::Word(words) => words(),
            Self::Target => Target::ALL.iter().map(|t| t.text()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The field with a name.
pub(crate) fn find(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|f| f.name == name)
}

const fn field(
    group: Group,
    name: &'static str,
    kind: Kind,
    text: &'static str,
    from: &'static str,
    values: fn(&Site<'_, '_>, Option<usize>, Visit<'_>),
) -> Field {
    Field {
        name,
        group,
        kind,
        index: Index::None,
        text,
        from,
        values,
    }
}

impl Field {
    const fn index(mut self, index: Index) -> Self {
        self.index = index;
        self
    }
}

fn without_dots(texts: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    texts.map(|text| text.trim_start_matches('.')).collect()
}

fn opcodes() -> Vec<&'static str> {
    without_dots(Opcode::ALL.iter().map(|o| o.text()))
}

fn modifiers() -> Vec<&'static str> {
    without_dots(Modifier::ALL.iter().map(|m| m.text()))
}

fn types() -> Vec<&'static str> {
    without_dots(ScalarType::ALL.iter().map(|t| t.text()))
}

/// The modifiers of a class, or `none`.
fn optional(class: ModifierClass) -> Vec<&'static str> {
    let modifiers = Modifier::ALL.iter().filter(|m| m.class() == class);
    let mut words = without_dots(modifiers.map(|m| m.text()));
    words.push("none");
    words
}

fn families() -> Vec<&'static str> {
    FAMILIES.iter().copied().chain(["unknown"]).collect()
}

fn special_registers() -> Vec<&'static str> {
    SpecialReg::ALL.iter().map(|r| r.text()).collect()
}

/// All fields.
#[rustfmt::skip]
pub(crate) static FIELDS: &[Field] = {
    use Group::{Effects, Memory, Mnemonic, Operands, Place, Requirements};
    use Kind::{Access, Flag, List, Name, Number, Path, Text, Version, Word};
    &[
        field(Mnemonic, "mnemonic", Text, "Opcode and modifiers as written; for an unrecognized statement, its first word.", "text", v::mnemonic),
        field(Mnemonic, "opcode", Word(opcodes), "The first word of the mnemonic.", "text", v::opcode),
        field(Mnemonic, "modifier", Word(modifiers), "Each modifier, without its dot.", "text", v::modifier),
        field(Mnemonic, "type", Word(types), "Each type in the mnemonic.", "text", v::types),
        field(Mnemonic, "vector", Number, "The number of elements: of `.v2`, `.v4` and `.v8`, otherwise 1.", "text", v::vector),
        field(Mnemonic, "cache", Word(|| optional(ModifierClass::Cache)), "The cache operator.", "text", |s, _, f| v::class(s, ModifierClass::Cache, f)),
        field(Mnemonic, "eviction", Word(|| optional(ModifierClass::Eviction)), "Each eviction priority.", "text", |s, _, f| v::class(s, ModifierClass::Eviction, f)),
        field(Mnemonic, "rounding", Word(|| optional(ModifierClass::Rounding)), "The rounding modifier.", "text", |s, _, f| v::class(s, ModifierClass::Rounding, f)),
        field(Mnemonic, "comparison", Word(|| optional(ModifierClass::Comparison)), "The comparison operator.", "text", |s, _, f| v::class(s, ModifierClass::Comparison, f)),
        field(Mnemonic, "shape", Word(|| optional(ModifierClass::Shape)), "The shape of a matrix operation.", "text", |s, _, f| v::class(s, ModifierClass::Shape, f)),
        field(Mnemonic, "family", Word(families), "The section of chapter 9.7 of the PTX ISA manual that describes it.", "instruction tables", v::family),
        field(Mnemonic, "known", Flag, "It is legal for some version and target; otherwise it is assumed to read and write every register that it contains.", "instruction tables", v::known),

        field(Operands, "text", Text, "The whole instruction, with single spaces.", "text", v::text),
        field(Operands, "operand", Text, "An operand as written, counted from 0: `operand(1)=='%tid.x'`.", "text", v::operand).index(Index::Required),
        field(Operands, "operands", List, "All operands as written.", "text", v::operands),
        field(Operands, "immediate", Number, "Each integer constant in the operands, or in one operand, including vectors but not offsets.", "operands", v::immediate).index(Index::Optional),
        field(Operands, "register_type", Word(types), "The declared type of each register in the operands, or in one operand.", "declarations", v::register_type).index(Index::Optional),
        field(Operands, "special", Word(special_registers), "Each special register in the operands, or in one operand, without `.x`, `.y` and `.z`.", "operands", v::special).index(Index::Optional),
        field(Operands, "symbol", Name, "Each variable, parameter and function in the operands.", "operands", v::symbol).index(Index::Optional),
        field(Operands, "reads", List, "The registers that it reads, including its guard.", "instruction tables", v::reads),
        field(Operands, "writes", List, "The registers that it always writes.", "instruction tables", v::writes),
        field(Operands, "cond_writes", List, "The registers that it may write: under a guard, or because it is unknown.", "instruction tables", v::cond_writes),
        field(Operands, "guard", Text, "The register of its guard: `%p1` or `!%p1`; no value without a guard.", "text", v::guard),
        field(Operands, "guarded", Flag, "It has a guard.", "text", v::guarded),

        field(Place, "file", Text, "The path of the PTX file, or its last part.", "command line", v::file),
        field(Place, "line", Number, "The line of the PTX file, counted from 1.", "text", v::line),
        field(Place, "function", Name, "The name of the function.", "text", v::function),
        field(Place, "kind", Word(|| vec!["entry", "func"]), "A kernel, or another function.", "text", v::kind),
        field(Place, "block", Number, "The number of its basic block.", "control-flow graph", v::block),
        field(Place, "label", Text, "The label at the start of its basic block.", "control-flow graph", v::label),
        field(Place, "reachable", Flag, "It is reachable from the entry.", "control-flow graph", v::reachable),
        field(Place, "in_loop", Flag, "It is in a natural loop.", "loops", v::in_loop),
        field(Place, "loop_depth", Number, "The number of natural loops that contain it.", "loops", v::loop_depth),
        field(Place, "loop_header", Number, "The number of the header block of its innermost loop.", "loops", v::loop_header),
        field(Place, "after", Path(Direction::After), "Every path from the entry to it contains such an unguarded instruction; false in unreachable code.", "control-flow graph", v::nothing),
        field(Place, "before", Path(Direction::Before), "Every path from it out of the function contains such an unguarded instruction; false if no path leaves the function.", "control-flow graph", v::nothing),
        field(Place, "source.file", Text, "Each source file of its line and of the inlined calls, as a path or its last part.", "`.loc`, `.file`, line markers", v::source_file),
        field(Place, "source.line", Number, "Each source line of the instruction and of the inlined calls.", "`.loc`, line markers", v::source_line),
        field(Place, "source.column", Number, "Each source column of the instruction and of the inlined calls.", "`.loc`", v::source_column),
        field(Place, "source.function", Name, "Each inlined function that contains it.", "`.loc`, debug sections", v::source_function),
        field(Place, "inline_asm", Flag, "It comes from inline assembly.", "comments of the compiler", v::inline_asm),

        field(Effects, "control", Flag, "It can change the control flow.", "instruction tables", v::control),
        field(Effects, "flow", Word(|| labels::FLOWS.to_vec()), "The kind of control transfer.", "instruction tables", v::flow),
        field(Effects, "call", Flag, "It calls a function.", "instruction tables", v::call),
        field(Effects, "callee", Name, "Each known callee.", "operands", v::callee),
        field(Effects, "barrier", Flag, "It waits for other threads or signals them.", "instruction tables", v::barrier),
        field(Effects, "fence", Flag, "It orders memory accesses.", "instruction tables", v::fence),
        field(Effects, "side_effects", Flag, "It has effects other than writing its registers.", "instruction tables", v::side_effects),

        field(Memory, "memory", Access, "It accesses memory; with a condition, a single access satisfies the whole condition: `memory(space==global && access==write)`.", "instruction tables", v::memory),
        field(Memory, "atomic", Flag, "It reads and writes memory atomically.", "instruction tables", v::atomic),
        field(Memory, "volatile", Flag, "Its accesses are volatile.", "instruction tables", v::volatile),
        field(Memory, "space", Word(labels::spaces), "The memory space. `shared` and `shared::cta` are the same; `shared` also matches `shared::cluster`, and `param` its parts.", "instruction tables", v::space),
        field(Memory, "bytes", Number, "The maximum number of bytes that a thread accesses, if known.", "instruction tables", v::bytes),
        field(Memory, "access", Word(|| labels::ACCESSES.to_vec()), "The kind of access; `update` is a non-atomic read and write.", "instruction tables", v::access),
        field(Memory, "order", Word(|| optional(ModifierClass::Order)), "The memory order.", "instruction tables", v::order),
        field(Memory, "scope", Word(|| optional(ModifierClass::Scope)), "The scope of the memory order.", "instruction tables", v::scope),
        field(Memory, "base", Text, "The register or variable of the address.", "operands", v::base),
        field(Memory, "offset", Number, "The constant that is added to the base, if known.", "operands", v::offset),

        field(Requirements, "requires.target", Kind::Target, "The lowest target of each architecture family that has the instruction, as `ptxkit requires` reports.", "instruction tables", v::requires_target),
        field(Requirements, "requires.ptx", Version, "The lowest PTX version on these targets.", "instruction tables", v::requires_ptx),
    ]
};
