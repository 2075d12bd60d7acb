//! The forms of instructions as data: which modifiers, which operands, and when they are legal.

use crate::generated::sets;
use crate::{Cond, Marks, Modifier, ModifierClass, Operand, PtxVersion, TargetSet};

/// A set of modifiers, in the order in which the manual lists them.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct ModifierSet(pub(crate) u16);

impl ModifierSet {
    /// Whether the set holds the modifier.
    #[inline]
    pub fn contains(self, modifier: Modifier) -> bool {
        let index = modifier.index();
        match sets::BITS
            .get(self.0 as usize)
            .and_then(|bits| bits.get(index / 64))
        {
            Some(bits) => bits >> (index % 64) & 1 != 0,
            None => false,
        }
    }

    /// The modifiers in the manual's order.
    #[inline]
    pub fn as_slice(self) -> &'static [Modifier] {
        sets::LISTS.get(self.0 as usize).copied().unwrap_or(&[])
    }
}

impl core::fmt::Debug for ModifierSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.as_slice()).finish()
    }
}

/// One place for a modifier in a form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Slot {
    pub(crate) name: &'static str,
    pub(crate) optional: bool,
    pub(crate) words: ModifierSet,
    pub(crate) sequences: &'static [&'static [Modifier]],
    pub(crate) default: Option<Modifier>,
}

impl Slot {
    /// The placeholder of the manual, or the word itself.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it may be left empty.
    pub const fn is_optional(&self) -> bool {
        self.optional
    }

    /// The alternatives of one word.
    pub const fn words(&self) -> ModifierSet {
        self.words
    }

    /// The alternatives of several words.
    pub const fn sequences(&self) -> &'static [&'static [Modifier]] {
        self.sequences
    }

    /// What its absence means.
    pub const fn default(&self) -> Option<Modifier> {
        self.default
    }

    /// The class of its words.
    pub fn class(&self) -> Option<ModifierClass> {
        let first = self
            .words
            .as_slice()
            .first()
            .or_else(|| self.sequences.first()?.first());
        first.map(|m| m.class())
    }
}

/// The first version and the targets that have something.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Availability {
    /// The first version.
    pub version: PtxVersion,
    /// The targets that have it.
    pub targets: TargetSet,
    /// The targets as the table writes them: `sm_90 sm_100f+`.
    pub text: &'static str,
}

impl Availability {
    /// Whether a module of this version and target has it.
    pub fn is_met(&self, version: PtxVersion, target: crate::Target) -> bool {
        self.version <= version && self.targets.contains(target)
    }

    pub(crate) const fn new(major: u8, minor: u8, targets: u128, text: &'static str) -> Self {
        Self {
            version: PtxVersion::new(major, minor),
            targets: TargetSet(targets),
            text,
        }
    }
}

/// What must be so for an instruction to be legal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RuleKind {
    /// Where the first holds, the second must hold.
    Require(Cond, Cond),
    /// It must not hold.
    Deny(Cond),
    /// Where the condition holds, one of the floors is needed.
    RequiresTarget(Cond, &'static [Availability]),
    /// Where the condition holds, it is refused from one of those versions on, on those targets.
    RemovedIn(Cond, &'static [Availability]),
    /// Where the condition holds, it is deprecated from one of those versions on, on those targets; what to write
    /// instead.
    Deprecated(Cond, &'static [Availability], &'static str),
    /// Where the condition holds, the absence of the slot means the word.
    Default(u8, Modifier, Cond),
    /// At most one of the operands has the mark.
    AtMostOne(&'static [u8], Marks),
    /// Of two operands, where both are constants, the first is not larger than the second.
    Ordered(u8, u8),
    /// All instructions of a kernel agree in the slot; the flag makes it a warning.
    MustAgree(u8, bool),
}

/// A rule of a form.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// What it says.
    pub kind: RuleKind,
    /// Whether only the assembler says so, not the manual.
    pub ptxas: bool,
}

/// One cell of a table of legal combinations.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Cell {
    /// Anything.
    Any,
    /// The slot is empty.
    Absent,
    /// One of these words.
    Words(ModifierSet),
    /// What the slot of this index holds.
    Same(u8),
}

/// One row of a table of legal combinations.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// One for each column.
    pub cells: &'static [Cell],
    /// For each operand of the table its length: one number, or one for each type its column lists.
    pub lengths: &'static [&'static [u16]],
    /// From when and where: one of these is needed, unless there are none.
    pub floors: &'static [Availability],
}

/// A table of legal combinations: one row must match.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// The slots of the columns.
    pub columns: &'static [u8],
    /// The operands whose lengths the rows give.
    pub operands: &'static [u8],
    /// The rows.
    pub rows: &'static [Row],
}

/// A form of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Form {
    pub(crate) section: &'static str,
    pub(crate) syntax: &'static str,
    pub(crate) complete: bool,
    pub(crate) ptxas: bool,
    pub(crate) slots: &'static [u16],
    pub(crate) accepted: ModifierSet,
    pub(crate) ignored: ModifierSet,
    pub(crate) operands: &'static [Operand],
    pub(crate) rules: &'static [Rule],
    pub(crate) tables: &'static [Table],
    pub(crate) effects: &'static [crate::Effect],
    pub(crate) notes: &'static [&'static str],
    pub(crate) differences: &'static [&'static str],
}

impl Form {
    /// The section of the manual.
    pub const fn section(&self) -> &'static str {
        self.section
    }

    /// The modifiers and the operands as the manual writes them, without the instruction's name.
    pub const fn syntax(&self) -> &'static str {
        self.syntax
    }

    /// Whether the form says when it is legal, and not only how it is written.
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether only the assembler knows the form, not the manual.
    pub const fn is_undocumented(&self) -> bool {
        self.ptxas
    }

    /// How many slots it has.
    pub const fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The slot of an index.
    pub fn slot(&self, index: usize) -> Option<&'static Slot> {
        sets::SLOTS.get(*self.slots.get(index)? as usize)
    }

    /// Its slots in the manual's order.
    pub fn slots(&self) -> impl ExactSizeIterator<Item = &'static Slot> + Clone {
        self.slots.iter().map(|&i| &sets::SLOTS[i as usize])
    }

    /// Words that some slot takes.
    pub const fn accepted(&self) -> ModifierSet {
        self.accepted
    }

    /// Whether the assembler accepts the word on this form without any effect.
    pub fn ignores(&self, modifier: Modifier) -> bool {
        !self.accepted.contains(modifier) && self.ignored.contains(modifier)
    }

    /// Its operands.
    pub const fn operands(&self) -> &'static [Operand] {
        self.operands
    }

    /// What must be so beyond slots and operands.
    pub const fn rules(&self) -> &'static [Rule] {
        self.rules
    }

    /// Tables of legal combinations.
    pub const fn tables(&self) -> &'static [Table] {
        self.tables
    }

    /// Whether the values of constants decide about it, not only their sort.
    pub fn depends_on_immediates(&self) -> bool {
        let limits = |r: &Rule| matches!(r.kind, RuleKind::Ordered(..));
        let ranges = |o: &Operand| o.range.is_some() || o.marks.contains(Marks::FRACTION);
        self.operands.iter().any(ranges) || self.rules.iter().any(limits)
    }

    /// What it does beyond its operands.
    pub const fn effects(&self) -> &'static [crate::Effect] {
        self.effects
    }

    /// What else is worth knowing.
    pub const fn notes(&self) -> &'static [&'static str] {
        self.notes
    }

    /// Where the form deliberately follows the assembler against the manual, or the other way round, and why.
    pub const fn differences(&self) -> &'static [&'static str] {
        self.differences
    }
}
