//! The forms of instructions as data: which modifiers, which operands, and when they are legal.

use crate::record::non_empty;
use crate::{
    Action, Computation, Cond, FormOperand, Marks, Modifier, ModifierClass, Opcode, OperandTest,
    PtxVersion, TargetSet,
};

/// A set of modifiers, in the order of the PTX ISA manual.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct ModifierSet(pub(crate) &'static [Modifier]);

impl ModifierSet {
    /// Whether the modifier is in the set.
    #[inline]
    #[must_use]
    pub fn contains(self, modifier: Modifier) -> bool {
        self.0.contains(&modifier)
    }

    /// The modifiers in the PTX ISA manual's order.
    #[inline]
    #[must_use]
    pub const fn as_slice(self) -> &'static [Modifier] {
        self.0
    }
}

impl core::fmt::Debug for ModifierSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.as_slice()).finish()
    }
}

record! {
    /// A slot of a form: a position for one modifier.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Slot {
        /// The placeholder in the PTX ISA manual, or the fixed modifier.
        name: &'static str,
        /// Whether the slot may be empty.
        is_optional: bool,
        /// The alternatives of one modifier.
        words: ModifierSet,
        /// The alternatives of several modifiers.
        sequences: &'static [&'static [Modifier]],
        /// The modifier that an empty slot means.
        default: Option<Modifier>,
    }
}

impl Slot {
    /// The class of its modifiers.
    #[must_use]
    pub fn class(&self) -> Option<ModifierClass> {
        let first = self
            .words
            .as_slice()
            .first()
            .or_else(|| self.sequences.first()?.first());
        first.map(|m| m.class())
    }
}

/// A PTX version and the targets that support a feature from that version on.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Since {
    pub(crate) version: PtxVersion,
    pub(crate) supported: &'static NamedTargets,
}

/// A set of targets, and its notation in the `.isa` files.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct NamedTargets {
    pub(crate) targets: TargetSet,
    pub(crate) text: &'static str,
}

impl Since {
    /// The first version.
    #[must_use]
    pub const fn version(&self) -> PtxVersion {
        self.version
    }

    /// The targets that support the feature.
    #[doc(hidden)]
    #[must_use]
    pub const fn targets(&self) -> TargetSet {
        self.supported.targets
    }

    /// The targets in the notation of the tables: `sm_90 sm_100f+`; empty for all targets.
    #[must_use]
    pub const fn text(&self) -> &'static str {
        self.supported.text
    }

    /// Whether a module of this version and target has the feature.
    #[must_use]
    pub fn is_met(&self, version: PtxVersion, target: crate::Target) -> bool {
        self.version <= version && self.supported.targets.contains(target)
    }
}

/// The kinds of rules.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RuleKind {
    /// If the first condition holds, the second must hold.
    Require(Cond, Cond),
    /// The condition must not hold.
    Deny(Cond),
    /// If the condition holds, one of the alternatives is required.
    RequiresTarget(Cond, &'static [Since]),
    /// If the condition holds, ptxas rejects the instruction from one of the versions on, on its targets.
    RemovedIn(Cond, &'static [Since]),
    /// If the condition holds, it is deprecated from one of the versions on, on its targets; the text names the
    /// replacement.
    Deprecated(Cond, &'static [Since], &'static str),
    /// If both operands are constants, the first must not be greater than the second.
    Ordered(u8, u8),
    /// All instructions of a kernel must have the same modifier in the slot.
    MustAgree(u8, Enforcement),
}

/// The reaction of ptxas to the violation of a rule.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Enforcement {
    /// ptxas rejects the module.
    Error,
    /// ptxas accepts the module with a warning.
    Warning,
}

record! {
    /// A rule of a form.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Rule {
        /// The kind of the rule.
        kind: RuleKind,
        /// Whether ptxas implements it although the PTX ISA manual does not document it.
        is_undocumented: bool,
    }
}

/// One cell of a table of legal combinations.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Cell {
    /// Any modifier, or none.
    Any,
    /// The slot is empty.
    Absent,
    /// One of these modifiers.
    OneOf(ModifierSet),
    /// The modifier in the slot of this index.
    Same(u8),
}

record! {
    /// One row of a table of legal combinations.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Row {
        /// One cell per column.
        cells: &'static [Cell],
        /// The length of each operand of the table: one number, or one per type in its column.
        lengths: &'static [&'static [u16]],
        /// The row requires one of these, unless the list is empty.
        since: &'static [Since],
    }
}

record! {
    /// A table of legal combinations: one row must match.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Table {
        /// The slots of the columns.
        columns: &'static [u8],
        /// The operands whose lengths the rows give.
        operands: &'static [u8],
        /// The rows.
        rows: &'static [Row],
    }
}

/// A set of modifiers with a fast test.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ModifierBits([u64; Modifier::COUNT.div_ceil(64)]);

impl ModifierBits {
    const EMPTY: Self = Self([0; Modifier::COUNT.div_ceil(64)]);

    const fn with(mut self, modifiers: &[Modifier]) -> Self {
        let mut i = 0;
        while i < modifiers.len() {
            let index = modifiers[i].index();
            self.0[index / 64] |= 1 << (index % 64);
            i += 1;
        }
        self
    }

    const fn union(mut self, other: Self) -> Self {
        let mut i = 0;
        while i < self.0.len() {
            self.0[i] |= other.0[i];
            i += 1;
        }
        self
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Modifier> {
        Modifier::ALL
            .iter()
            .copied()
            .filter(move |m| self.contains(*m))
    }

    #[inline]
    const fn contains(&self, modifier: Modifier) -> bool {
        let index = modifier.index();
        self.0[index / 64] >> (index % 64) & 1 != 0
    }
}

record! {
    /// A form of an instruction.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Form {
        /// The section of the PTX ISA manual.
        section: &'static str,
        /// The modifiers and operands in the PTX ISA manual's syntax, without the instruction's name.
        syntax: &'static str,
        /// Whether ptxas implements the form although the PTX ISA manual does not document it.
        is_undocumented: bool,
        /// The alternative requirements of the form with any modifiers and operands, one of which must be met; empty without requirements.
        since: &'static [Since],
        /// Its operands.
        #[doc(hidden)]
        operands: &'static [FormOperand],
        /// The rules besides those of slots and operands.
        #[doc(hidden)]
        rules: &'static [Rule],
        /// Tables of legal combinations.
        #[doc(hidden)]
        tables: &'static [Table],
        /// The effects besides reading and writing operands.
        #[doc(hidden)]
        effects: &'static [crate::Effect],
        /// Additional information.
        notes: &'static [&'static str],
        /// Deliberate differences between the form, the PTX ISA manual and ptxas.
        differences: &'static [&'static str],
    }
    private {
        slots: &'static [&'static Slot],
        accepted: ModifierBits,
        ignored: ModifierSet,
        not_ignored: ModifierSet,
        about: &'static str,
        computation: Option<Computation>,
        action: Option<Action>,
    }
}

impl Opcode {
    /// All modifiers that some instruction with this opcode takes, those of the names included.
    pub(crate) fn words(self) -> ModifierBits {
        let mut words = ModifierBits::EMPTY;
        for instruction in self.instructions() {
            words = words.with(instruction.words());
            for form in instruction.forms() {
                words = words.union(form.accepted);
            }
        }
        words
    }
}

impl Form {
    /// One sentence that says what the form does, if the other forms of its instruction do something else.
    #[must_use]
    pub const fn summary(&self) -> Option<&'static str> {
        non_empty(self.about)
    }

    /// The computation, if the results of the form are a function of its operands that the tables state.
    #[doc(hidden)]
    #[must_use]
    pub const fn computation(&self) -> Option<&Computation> {
        self.computation.as_ref()
    }

    /// The action, if the tables state it and the results of the form are not a function of its operands.
    #[doc(hidden)]
    #[must_use]
    pub const fn action(&self) -> Option<Action> {
        self.action
    }

    /// The number of slots.
    #[doc(hidden)]
    #[must_use]
    pub const fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// The slot of an index.
    #[doc(hidden)]
    #[must_use]
    pub fn slot(&self, index: usize) -> Option<&'static Slot> {
        self.slots.get(index).copied()
    }

    /// Its slots in the PTX ISA manual's order.
    #[doc(hidden)]
    #[must_use]
    pub fn slots(&self) -> impl ExactSizeIterator<Item = &'static Slot> + Clone + use<> {
        self.slots.iter().copied()
    }

    /// Whether some slot has the modifier among its alternatives.
    #[doc(hidden)]
    #[must_use]
    pub const fn accepts(&self, modifier: Modifier) -> bool {
        self.accepted.contains(modifier)
    }

    /// All modifiers that some slot has among its alternatives.
    #[doc(hidden)]
    pub fn accepted(&self) -> impl Iterator<Item = Modifier> + Clone + '_ {
        Modifier::ALL.iter().copied().filter(|&m| self.accepts(m))
    }

    pub(crate) const fn accepted_by(slots: &[&Slot]) -> ModifierBits {
        let mut bits = ModifierBits::EMPTY;
        let mut i = 0;
        while i < slots.len() {
            bits = bits.with(slots[i].words.0);
            let mut j = 0;
            while j < slots[i].sequences.len() {
                bits = bits.with(slots[i].sequences[j]);
                j += 1;
            }
            i += 1;
        }
        bits
    }

    /// Whether ptxas accepts the modifier on this form although it has no effect.
    #[doc(hidden)]
    #[must_use]
    pub fn ignores(&self, modifier: Modifier) -> bool {
        let ignored = modifier.is_ignored() && !self.not_ignored.contains(modifier);
        !self.accepts(modifier) && (ignored || self.ignored.contains(modifier))
    }

    /// Whether legality depends on the values of constants.
    #[doc(hidden)]
    #[must_use]
    pub fn depends_on_immediates(&self) -> bool {
        self.operands
            .iter()
            .any(|o| o.range.is_some() || o.marks.contains(Marks::UNIT_INTERVAL))
            || self.rules.iter().any(|rule| match rule.kind {
                RuleKind::Ordered(..) => true,
                RuleKind::Deny(cond) => cond.tests_operand_for(OperandTest::Nonzero),
                _ => false,
            })
    }
}
