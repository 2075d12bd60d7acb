//! The short names and constructors in which the generated tables are written.

pub(crate) use crate::Action;
pub(crate) use crate::form::NamedTargets;
pub(crate) use crate::generated::{literals as l, target_sets as t};
pub(crate) use crate::{
    Access as A, AsyncPhase, Cell, Completion, Cond as C, Control, ConvergenceScope,
    Destination as To, Digits as D, Effect, EffectKind as E, Enforcement, ErrorLimit as Limit,
    Expr as X, ExprFunction as F, Form, FormOperand, Instruction, Length as L, Marks as K,
    Modifier as M, ModifierSource as Source, Nesting as N, Opcode as O, OperandTest as Q, Proxy,
    Role as R, Rule, ScalarType as S, Size, Slot, Spaces, Table, TypeExpr as T,
};
use crate::{
    Assignment, Computation, ErrorBound, ImmRange, MagnitudeRange, Modifier, ModifierSet,
    PtxVersion, Row, RuleKind, Since, TargetSet,
};

/// A set of targets.
pub(crate) const fn targets(bits: u128, text: &'static str) -> NamedTargets {
    NamedTargets {
        targets: TargetSet(bits),
        text,
    }
}

/// A version and the targets that support something in it.
pub(crate) const fn ptx(major: u8, minor: u8, supported: &'static NamedTargets) -> Since {
    Since {
        version: PtxVersion::new(major, minor),
        supported,
    }
}

/// An assignment.
pub(crate) const fn set(target: To, value: X) -> Assignment {
    Assignment { target, value }
}

/// A bound of the error of an approximation.
pub(crate) const fn bound(limit: Limit, when: C, range: Option<MagnitudeRange>) -> ErrorBound {
    ErrorBound { limit, when, range }
}

/// The absolute values of an operand from one number to another, whose bits are the arguments.
pub(crate) const fn within(operand: u8, low: u64, high: u64) -> MagnitudeRange {
    MagnitudeRange { operand, low, high }
}

/// A slot with alternatives.
pub(crate) const fn slot(name: &'static str, modifiers: &'static [Modifier]) -> Slot {
    Slot {
        name,
        is_optional: false,
        words: ModifierSet(modifiers),
        sequences: &[],
        default: None,
    }
}

/// A slot with a fixed modifier and possibly longer variants of it.
pub(crate) const fn fixed(modifiers: &'static [Modifier]) -> Slot {
    slot(modifiers[0].text(), modifiers)
}

impl Slot {
    pub(crate) const fn with_default(mut self, modifier: Modifier) -> Self {
        self.default = Some(modifier);
        self
    }

    pub(crate) const fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }
}

/// A form; its name is a comment above it.
pub(crate) const fn form(
    section: &'static str,
    syntax: &'static str,
    slots: &'static [&'static Slot],
    since: &'static [Since],
) -> Form {
    Form {
        section,
        syntax,
        is_undocumented: false,
        slots,
        accepted: Form::accepted_by(slots),
        ignored: ModifierSet(&[]),
        not_ignored: ModifierSet(&[]),
        since,
        operands: &[],
        rules: &[],
        tables: &[],
        effects: &[],
        about: "",
        computation: None,
        action: None,
        notes: &[],
        differences: &[],
    }
}

impl Form {
    pub(crate) const fn ptxas(mut self) -> Self {
        self.is_undocumented = true;
        self
    }

    pub(crate) const fn about(mut self, sentence: &'static str) -> Self {
        self.about = sentence;
        self
    }

    pub(crate) const fn computing(
        mut self,
        text: &'static str,
        assignments: &'static [Assignment],
    ) -> Self {
        self.computation = Some(Computation {
            text,
            assignments,
            accuracy: None,
        });
        self
    }

    pub(crate) const fn approximating(
        mut self,
        text: &'static str,
        assignments: &'static [Assignment],
        bounds: &'static [ErrorBound],
    ) -> Self {
        self.computation = Some(Computation {
            text,
            assignments,
            accuracy: Some(bounds),
        });
        self
    }

    pub(crate) const fn does(mut self, action: Action) -> Self {
        self.action = Some(action);
        self
    }

    pub(crate) const fn ignoring(mut self, modifiers: &'static [Modifier]) -> Self {
        self.ignored = ModifierSet(modifiers);
        self
    }

    pub(crate) const fn not_ignoring(mut self, modifiers: &'static [Modifier]) -> Self {
        self.not_ignored = ModifierSet(modifiers);
        self
    }
}

setters!(Slot {
    with_sequences sequences: &'static [&'static [Modifier]],
});
setters!(Form {
    with_operands operands: &'static [FormOperand],
    with_rules rules: &'static [Rule],
    with_tables tables: &'static [Table],
    with_effects effects: &'static [Effect],
    with_notes notes: &'static [&'static str],
    with_differences differences: &'static [&'static str],
});
setters!(FormOperand {
    nested nesting: N,
    with_ty ty: T,
    with_length length: L,
    with_access access: A,
    with_spaces spaces: Spaces,
    with_align align: u16,
    with_size size: Size,
});

/// An operand at a comma-separated position.
pub(crate) const fn op(name: &'static str, position: u8, role: R) -> FormOperand {
    FormOperand {
        name,
        position,
        nesting: N::Whole,
        is_optional: false,
        role,
        ty: T::None,
        length: L::Scalar,
        marks: K::EMPTY,
        range: None,
        access: A::None,
        spaces: Spaces::Any,
        align: 0,
        size: Size::Unknown,
        condition: None,
    }
}

impl FormOperand {
    pub(crate) const fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub(crate) const fn with_marks(mut self, marks: &[K]) -> Self {
        let mut i = 0;
        while i < marks.len() {
            self.marks = self.marks.union(marks[i]);
            i += 1;
        }
        self
    }

    pub(crate) const fn with_range(mut self, low: i64, high: i64, step: i64) -> Self {
        self.range = Some(ImmRange { low, high, step });
        self
    }

    pub(crate) const fn required_if(mut self, cond: C) -> Self {
        self.condition = Some(cond);
        self
    }
}

pub(crate) const fn holds(slot: u8, modifiers: &'static [Modifier]) -> C {
    C::Holds(slot, ModifierSet(modifiers))
}

const fn rule(kind: RuleKind) -> Rule {
    Rule {
        kind,
        is_undocumented: false,
    }
}

impl Rule {
    pub(crate) const fn ptxas(mut self) -> Self {
        self.is_undocumented = true;
        self
    }
}

pub(crate) const fn require(when: C, then: C) -> Rule {
    rule(RuleKind::Require(when, then))
}

pub(crate) const fn deny(cond: C) -> Rule {
    rule(RuleKind::Deny(cond))
}

pub(crate) const fn since(when: C, since: &'static [Since]) -> Rule {
    rule(RuleKind::RequiresTarget(when, since))
}

pub(crate) const fn removed_in(when: C, since: &'static [Since]) -> Rule {
    rule(RuleKind::RemovedIn(when, since))
}

pub(crate) const fn deprecated(when: C, since: &'static [Since], instead: &'static str) -> Rule {
    rule(RuleKind::Deprecated(when, since, instead))
}

pub(crate) const fn ordered(low: u8, high: u8) -> Rule {
    rule(RuleKind::Ordered(low, high))
}

pub(crate) const fn must_agree(slot: u8, enforcement: Enforcement) -> Rule {
    rule(RuleKind::MustAgree(slot, enforcement))
}

pub(crate) const fn table(
    columns: &'static [u8],
    operands: &'static [u8],
    rows: &'static [Row],
) -> Table {
    Table {
        columns,
        operands,
        rows,
    }
}

pub(crate) const fn row(
    cells: &'static [Cell],
    lengths: &'static [&'static [u16]],
    since: &'static [Since],
) -> Row {
    Row {
        cells,
        lengths,
        since,
    }
}

pub(crate) const fn one_of(modifiers: &'static [Modifier]) -> Cell {
    Cell::OneOf(ModifierSet(modifiers))
}

pub(crate) const fn effect(kind: E) -> Effect {
    effect_if(C::Always, kind)
}

pub(crate) const fn effect_if(when: C, kind: E) -> Effect {
    Effect { when, kind }
}

pub(crate) const fn insn(
    name: &'static str,
    opcode: O,
    words: &'static [Modifier],
    since: &'static [Since],
    forms: &'static [&'static Form],
) -> Instruction {
    Instruction {
        name,
        opcode,
        words,
        since,
        forms,
        summary: "",
        examples: &[],
        pitfalls: &[],
    }
}

impl Instruction {
    pub(crate) const fn described(
        mut self,
        summary: &'static str,
        examples: &'static [&'static str],
        pitfalls: &'static [&'static str],
    ) -> Self {
        self.summary = summary;
        self.examples = examples;
        self.pitfalls = pitfalls;
        self
    }
}
