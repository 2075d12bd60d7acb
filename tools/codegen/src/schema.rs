//! The forms of the instructions with all names resolved, which the emitters print.
//!
//! The enums have the names and the variants of the library's, so that `{:?}` prints them as Rust.

use crate::notation::{
    Access, AsyncPhase, Completion, Control, ConvergenceScope, Digits, Nesting, Plain, Proxy, Role,
    Test, Version,
};
use crate::vocabulary::ModifierId;

/// Index of a slot of the form.
pub(crate) type SlotId = usize;
/// Index of an operand of the form.
pub(crate) type OperandId = usize;

/// A family file.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) names: Vec<String>,
    /// The requirements of names, besides those of the forms.
    pub(crate) name_floors: Vec<(String, Vec<Availability>)>,
    pub(crate) forms: Vec<Form>,
    /// The texts of each name that this block describes.
    pub(crate) texts: Vec<(String, Texts)>,
}

/// The documentation of an instruction.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) about: String,
    pub(crate) examples: Vec<String>,
    pub(crate) pitfalls: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Form {
    pub(crate) section: String,
    pub(crate) syntax: String,
    pub(crate) ptxas: bool,
    pub(crate) slots: Vec<Slot>,
    /// Modifiers without effect on this form, beyond those without effect on all forms.
    pub(crate) ignored: Vec<ModifierId>,
    /// Modifiers that have no effect on other forms, but are not accepted by this one.
    pub(crate) not_ignored: Vec<ModifierId>,
    /// The requirements of the form with any modifiers and operands.
    pub(crate) since: Vec<Availability>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) tables: Vec<Table>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) computation: Option<Computation>,
    /// The name of the action.
    pub(crate) performs: Option<String>,
    pub(crate) about: Option<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) differences: Vec<String>,
}

/// The place of the definition of a slot. It determines the name under which the slot is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Definition {
    /// The slot is not defined: its name is a modifier.
    Literal,
    /// `define` at the head of the family.
    Family,
    Block,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) definition: Definition,
    pub(crate) name: String,
    pub(crate) optional: bool,
    /// Alternatives of one modifier.
    pub(crate) modifiers: Vec<ModifierId>,
    /// Alternatives of several modifiers.
    pub(crate) sequences: Vec<Vec<ModifierId>>,
    pub(crate) default: Option<ModifierId>,
}

impl Slot {
    /// All modifiers of all alternatives.
    pub(crate) fn all(&self) -> impl Iterator<Item = ModifierId> {
        self.modifiers
            .iter()
            .chain(self.sequences.iter().flatten())
            .copied()
    }

    pub(crate) fn holds(&self, modifier: ModifierId) -> bool {
        self.all().any(|m| m == modifier)
    }
}

#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) name: String,
    pub(crate) position: usize,
    pub(crate) nesting: Nesting,
    pub(crate) role: Role,
    pub(crate) optional: bool,
    pub(crate) ty: TypeExpr,
    pub(crate) length: Length,
    /// Names of marks.
    pub(crate) marks: Vec<String>,
    pub(crate) range: Option<(i64, i64, i64)>,
    pub(crate) access: Option<Access>,
    pub(crate) spaces: Spaces,
    pub(crate) align: u16,
    pub(crate) size: Size,
    pub(crate) iff: Option<Cond>,
}

#[derive(Debug)]
pub(crate) enum TypeExpr {
    None,
    /// A type by its name in Rust.
    Scalar(String),
    Slot(SlotId),
    Bits(SlotId),
    DoubleWidth(SlotId),
    Container(SlotId),
}

#[derive(Debug)]
pub(crate) enum Length {
    Scalar,
    Fixed(u16),
    Slot(SlotId),
    Cases(Vec<(Cond, u16)>),
    Table,
    Fragment(SlotId),
    Product(Vec<(SlotId, Digits)>, u16),
}

#[derive(Debug)]
pub(crate) enum Spaces {
    Any,
    Slot(SlotId),
    OneOf(Vec<ModifierId>),
    /// One of these, or a generic address.
    GenericOr(Vec<ModifierId>),
}

#[derive(Debug)]
pub(crate) enum Size {
    Unknown,
    Fixed(u16),
    Like(OperandId),
    Value(OperandId),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cond {
    Always,
    Never,
    All(Vec<Cond>),
    Any(Vec<Cond>),
    Not(Box<Cond>),
    Filled(SlotId),
    Holds(SlotId, Vec<ModifierId>),
    Operand(OperandId, Test),
    Vector(OperandId, u16),
    Below(OperandId, u16),
    InEntry,
    InFunc,
    UnifiedTextures,
}

impl Cond {
    pub(crate) fn all(mut list: Vec<Self>) -> Self {
        list.retain(|c| *c != Self::Always);
        match list.len() {
            _ if list.contains(&Self::Never) => Self::Never,
            0 => Self::Always,
            1 => list.remove(0),
            _ => Self::All(list),
        }
    }

    /// Joins alternatives for one slot into one set.
    pub(crate) fn any(alternatives: Vec<Self>) -> Self {
        let mut list: Vec<Self> = Vec::new();
        for cond in alternatives.into_iter().filter(|c| *c != Self::Never) {
            match (list.last_mut(), cond) {
                (Some(Self::Holds(last_slot, modifiers)), Self::Holds(slot, alternatives))
                    if *last_slot == slot =>
                {
                    modifiers.extend(alternatives)
                }
                (_, cond) => list.push(cond),
            }
        }
        match list.len() {
            _ if list.contains(&Self::Always) => Self::Always,
            0 => Self::Never,
            1 => list.remove(0),
            _ => Self::Any(list),
        }
    }

    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            cond => Self::Not(Box::new(cond)),
        }
    }
}

/// A version and the targets that support something in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Availability {
    pub(crate) version: Version,
    pub(crate) targets: u128,
    /// The notation of the targets in the table: `sm_90 sm_100f+`.
    pub(crate) text: String,
}

/// Whether a module that satisfies one of `strict` always satisfies one of `weak`.
pub(crate) fn implies(strict: &[Availability], weak: &[Availability]) -> bool {
    strict.iter().all(|s| {
        weak.iter()
            .any(|w| w.version <= s.version && s.targets & !w.targets == 0)
    })
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) ptxas: bool,
    pub(crate) kind: RuleKind,
}

#[derive(Debug)]
pub(crate) enum RuleKind {
    Require(Cond, Cond),
    Deny(Cond),
    RequiresTarget(Cond, Vec<Availability>),
    RemovedIn(Cond, Vec<Availability>),
    Deprecated(Cond, Vec<Availability>, String),
    Ordered(OperandId, OperandId),
    MustAgree { slot: SlotId, warning: bool },
}

#[derive(Debug)]
pub(crate) enum Cell {
    Any,
    Absent,
    Words(Vec<ModifierId>),
    Same(SlotId),
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) cells: Vec<Cell>,
    pub(crate) lengths: Vec<Vec<u16>>,
    pub(crate) since: Vec<Availability>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<SlotId>,
    pub(crate) operands: Vec<OperandId>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Debug)]
pub(crate) enum ModifierSource {
    Fixed(ModifierId),
    Slot(SlotId),
}

#[derive(Debug)]
pub(crate) enum EffectKind {
    Order(ModifierSource),
    Scope(ModifierSource),
    Proxy(Proxy),
    Control(Control),
    Converge(ConvergenceScope),
    Lanes(OperandId),
    Async(Completion, AsyncPhase),
    Memory(Access, ModifierId),
    Carry(crate::notation::Carry),
    Plain(Plain),
}

#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) when: Cond,
    pub(crate) kind: EffectKind,
}

/// The computation of a form.
#[derive(Debug)]
pub(crate) struct Computation {
    /// The text of the assignments in the table.
    pub(crate) text: String,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) accuracy: Option<Vec<ErrorBound>>,
}

/// The bound of the error of an approximation.
#[derive(Debug)]
pub(crate) struct ErrorBound {
    pub(crate) limit: crate::notation::ErrorLimit,
    pub(crate) when: Cond,
    /// An operand, and the least and the greatest absolute value.
    pub(crate) range: Option<(OperandId, f64, f64)>,
}

#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) target: Target,
    pub(crate) value: Expr,
}

#[derive(Debug)]
pub(crate) enum Target {
    Operand(OperandId),
    Memory(OperandId),
    Local,
    Carry,
}

#[derive(Debug)]
pub(crate) enum Expr {
    Operand(OperandId),
    Memory(OperandId),
    /// The value of the assignment of this index.
    Assigned(usize),
    Carry,
    /// The index of the element of packed types.
    Lane,
    Integer(i64),
    Has(ModifierId),
    Filled(SlotId),
    Slot(SlotId),
    Type(TypeExpr),
    /// The name of a function.
    Call(String, Vec<Expr>),
    If(Box<[Expr; 3]>),
    Undefined,
}
