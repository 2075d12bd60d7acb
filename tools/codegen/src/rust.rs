//! Parts of forms as Rust expressions, in terms of the constructors of `ptx_isa::row`.

use crate::naming::{constant, variant};
use crate::notation::{ErrorLimit, Nesting};
use crate::schema::{
    Availability, Cell, Computation, Cond, Effect, EffectKind, ErrorBound, Expr, Length,
    ModifierSource, Operand, Row, Rule, RuleKind, Size, Slot, Spaces, Target, TypeExpr,
};
use crate::vocabulary::{ModifierId, Vocabulary};

/// The greatest length of a line in bytes. Longer lists have one item per line.
pub(crate) const WIDTH: usize = 150;

/// `a, b, c`
pub(crate) fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// Appends a call to the line, or on a new one where it does not fit.
pub(crate) fn call(out: &mut String, text: &str) {
    append(out, "", "\n        ", text);
}

/// Appends a text to the line after `space`, or after `new_line` where it does not fit.
pub(crate) fn append(out: &mut String, space: &str, new_line: &str, text: &str) {
    let line = out.len() - out.rfind('\n').map_or(0, |newline| newline + 1);
    let fits = line + space.len() + text.len() <= WIDTH;
    out.push_str(if fits { space } else { new_line });
    out.push_str(text);
}

/// The name, or the first of `NAME_2`, `NAME_3` … that is not used.
pub(crate) fn unused_name(name: String, is_used: impl Fn(&str) -> bool) -> String {
    let mut unused = name.clone();
    let mut number = 2;
    while is_used(&unused) {
        unused = format!("{name}_{number}");
        number += 1;
    }
    unused
}

/// Prints the parts of forms as Rust.
pub(crate) struct Printer<'v>(pub(crate) &'v Vocabulary);

impl Printer<'_> {
    pub(crate) fn modifier(&self, id: ModifierId) -> String {
        format!("M::{}", self.0.variant(id))
    }

    /// `&[M::U32, M::S32]`
    pub(crate) fn modifiers(&self, ids: &[ModifierId]) -> String {
        format!("&[{}]", list(ids, |&id| self.modifier(id)))
    }

    /// The name of the constant of a set of targets.
    pub(crate) fn target_set(&self, availability: &Availability) -> String {
        match availability.text.as_str() {
            "" => "&t::ALL".into(),
            text => format!(
                "&t::{}",
                constant(&text.replace('+', " ").replace("..", " to "))
            ),
        }
    }

    pub(crate) fn since(&self, list: &[Availability]) -> String {
        let floors = self::list(list, |availability| {
            let (major, minor) = availability.version;
            format!("ptx({major}, {minor}, {})", self.target_set(availability))
        });
        format!("&[{floors}]")
    }

    pub(crate) fn slot(&self, slot: &Slot) -> String {
        let modifiers = self.modifiers(&slot.modifiers);
        let begins_with_name = slot
            .modifiers
            .first()
            .is_some_and(|m| self.0.modifiers[m.0].word.text == slot.name);
        let mut out = if begins_with_name && slot.sequences.is_empty() {
            format!("fixed({modifiers})")
        } else {
            format!("slot({:?}, {modifiers})", slot.name)
        };
        if !slot.sequences.is_empty() {
            out += &format!(
                ".with_sequences(&[{}])",
                list(&slot.sequences, |s| self.modifiers(s))
            );
        }
        if let Some(default) = slot.default {
            out += &format!(".with_default({})", self.modifier(default));
        }
        if slot.optional {
            out += ".optional()";
        }
        out
    }

    pub(crate) fn operand(&self, o: &Operand) -> String {
        let mut out = format!("op({:?}, {}, R::{:?})", o.name, o.position, o.role);
        match o.nesting {
            Nesting::Whole => {}
            nesting => out += &format!(".nested(N::{nesting:?})"),
        }
        if o.optional {
            out += ".optional()";
        }
        match &o.ty {
            TypeExpr::None => {}
            TypeExpr::Scalar(name) => out += &format!(".with_ty(T::Scalar(S::{name}))"),
            ty => out += &format!(".with_ty(T::{ty:?})"),
        }
        match &o.length {
            Length::Scalar => {}
            Length::Cases(cases) => {
                let cases = list(cases, |(cond, n)| format!("({}, {n})", self.cond(cond)));
                out += &format!(".with_length(L::Cases(&[{cases}]))");
            }
            Length::Product(factors, divisor) => {
                let factors = list(factors, |(slot, digits)| format!("({slot}, D::{digits:?})"));
                out += &format!(".with_length(L::Product(&[{factors}], {divisor}))");
            }
            length => out += &format!(".with_length(L::{length:?})"),
        }
        if !o.marks.is_empty() {
            out += &format!(
                ".with_marks(&[{}])",
                list(&o.marks, |mark| format!("K::{}", constant(mark)))
            );
        }
        if let Some((low, high, step)) = o.range {
            out += &format!(".with_range({low}, {high}, {step})");
        }
        if let Some(access) = o.access {
            out += &format!(".with_access(A::{access:?})");
        }
        match &o.spaces {
            Spaces::Any => {}
            Spaces::Slot(slot) => out += &format!(".with_spaces(Spaces::Slot({slot}))"),
            Spaces::OneOf(ids) => {
                out += &format!(".with_spaces(Spaces::OneOf({}))", self.modifiers(ids))
            }
            Spaces::GenericOr(ids) => {
                out += &format!(".with_spaces(Spaces::GenericOr({}))", self.modifiers(ids))
            }
        }
        if o.align > 0 {
            out += &format!(".with_align({})", o.align);
        }
        match o.size {
            Size::Unknown => {}
            ref size => out += &format!(".with_size(Size::{size:?})"),
        }
        if let Some(iff) = &o.iff {
            out += &format!(".required_if({})", self.cond(iff));
        }
        out
    }

    pub(crate) fn cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::All(all) => format!("C::All(&[{}])", list(all, |c| self.cond(c))),
            Cond::Any(any) => format!("C::Any(&[{}])", list(any, |c| self.cond(c))),
            Cond::Not(inner) => format!("C::Not(&{})", self.cond(inner)),
            Cond::Holds(slot, ids) => format!("holds({slot}, {})", self.modifiers(ids)),
            Cond::Operand(operand, test) => format!("C::Operand({operand}, Q::{test:?})"),
            Cond::Vector(operand, n) => format!("C::Operand({operand}, Q::Vector({n}))"),
            Cond::Below(operand, n) => format!("C::Operand({operand}, Q::Below({n}))"),
            simple => format!("C::{simple:?}"),
        }
    }

    pub(crate) fn rule(&self, rule: &Rule) -> String {
        let text = match &rule.kind {
            RuleKind::Require(when, then) => {
                format!("require({}, {})", self.cond(when), self.cond(then))
            }
            RuleKind::Deny(cond) => format!("deny({})", self.cond(cond)),
            RuleKind::RequiresTarget(when, since) => {
                format!("since({}, {})", self.cond(when), self.since(since))
            }
            RuleKind::RemovedIn(when, since) => {
                format!("removed_in({}, {})", self.cond(when), self.since(since))
            }
            RuleKind::Deprecated(when, since, instead) => {
                format!(
                    "deprecated({}, {}, {instead:?})",
                    self.cond(when),
                    self.since(since)
                )
            }
            RuleKind::Ordered(low, high) => format!("ordered({low}, {high})"),
            RuleKind::MustAgree {
                slot,
                warning: false,
            } => format!("must_agree({slot}, Enforcement::Error)"),
            RuleKind::MustAgree {
                slot,
                warning: true,
            } => format!("must_agree({slot}, Enforcement::Warning)"),
        };
        if rule.ptxas { text + ".ptxas()" } else { text }
    }

    pub(crate) fn row(&self, row: &Row) -> String {
        let cells = list(&row.cells, |cell| match cell {
            Cell::Words(ids) => format!("one_of({})", self.modifiers(ids)),
            cell => format!("Cell::{cell:?}"),
        });
        let lengths = list(&row.lengths, |l| format!("&{l:?}"));
        format!("row(&[{cells}], &[{lengths}], {})", self.since(&row.since))
    }

    pub(crate) fn effect(&self, effect: &Effect) -> String {
        let source = |source: &ModifierSource| match source {
            ModifierSource::Fixed(id) => format!("Source::Fixed({})", self.modifier(*id)),
            ModifierSource::Slot(slot) => format!("Source::Slot({slot})"),
        };
        let kind = match &effect.kind {
            EffectKind::Order(modifier) => format!("Order({})", source(modifier)),
            EffectKind::Scope(modifier) => format!("Scope({})", source(modifier)),
            EffectKind::Proxy(proxy) => format!("Proxy(Proxy::{proxy:?})"),
            EffectKind::Control(control) => format!("Control(Control::{control:?})"),
            EffectKind::Converge(scope) => format!("Converge(ConvergenceScope::{scope:?})"),
            EffectKind::Lanes(operand) => format!("Lanes({operand})"),
            EffectKind::Async(mechanism, phase) => {
                format!("Async(Completion::{mechanism:?}, AsyncPhase::{phase:?})")
            }
            EffectKind::Memory(access, space) => {
                format!("Memory(A::{access:?}, {})", self.modifier(*space))
            }
            EffectKind::Carry(carry) => format!("{carry:?}"),
            EffectKind::Plain(plain) => format!("{plain:?}"),
        };
        match &effect.when {
            Cond::Always => format!("effect(E::{kind})"),
            when => format!("effect_if({}, E::{kind})", self.cond(when)),
        }
    }

    pub(crate) fn computation(&self, computation: &Computation) -> String {
        let assignments = list(&computation.assignments, |a| {
            let target = match a.target {
                Target::Operand(operand) => format!("To::Operand({operand})"),
                Target::Memory(operand) => format!("To::Memory({operand})"),
                Target::Local => "To::Local".into(),
                Target::Carry => "To::Carry".into(),
            };
            format!("set({target}, {})", self.expr(&a.value))
        });
        let text = &computation.text;
        match &computation.accuracy {
            None => format!(".computing({text:?}, &[{assignments}])"),
            Some(bounds) => {
                let bounds = list(bounds, |b| self.error_bound(b));
                format!(".approximating({text:?}, &[{assignments}], &[{bounds}])")
            }
        }
    }

    fn error_bound(&self, bound: &ErrorBound) -> String {
        let range = match bound.range {
            Some((operand, low, high)) => {
                let (low, high) = (low.to_bits(), high.to_bits());
                format!("Some(within({operand}, {low:#x}, {high:#x}))")
            }
            None => String::from("None"),
        };
        let when = self.cond(&bound.when);
        let limit = match bound.limit {
            ErrorLimit::Ulp(n) => format!("Ulp({n})"),
            ErrorLimit::Absolute(n) => format!("Absolute({n})"),
            ErrorLimit::Relative(n) => format!("Relative({n})"),
        };
        format!("bound(Limit::{limit}, {when}, {range})")
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Has(modifier) => format!("X::Has({})", self.modifier(*modifier)),
            Expr::Type(TypeExpr::Scalar(name)) => format!("X::Type(T::Scalar(S::{name}))"),
            Expr::Type(ty) => format!("X::Type(T::{ty:?})"),
            Expr::Call(function, arguments) => {
                let arguments = list(arguments, |e| self.expr(e));
                format!("X::Call(F::{}, &[{arguments}])", variant(function))
            }
            Expr::If(parts) => format!("X::If(&[{}])", list(&**parts, |e| self.expr(e))),
            leaf => format!("X::{leaf:?}"),
        }
    }

    pub(crate) fn opcode(&self, name: &str) -> String {
        format!("O::{}", variant(name))
    }
}
