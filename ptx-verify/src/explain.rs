//! Says in words why an instruction is not legal: what was found, what is allowed, and where.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use ptx_ir::{Code, Diagnostic, Module, Signature, Span};
use ptx_isa::{
    ActualOperand, Availability, Deprecation, Form, FormMatch, InstQuery, Marks, Modifier, NoForm,
    OperandViolation, Slot, SpecialReg, Table, Violation,
};

use crate::Environment;
use crate::inst_spans::Layout;
use crate::rule_span;

/// One instruction that is not legal.
pub(crate) struct Explainer<'a> {
    pub(crate) module: &'a Module,
    pub(crate) environment: Environment,
    pub(crate) signature: Signature<'a>,
    pub(crate) request: &'a InstQuery<'a>,
    pub(crate) layout: &'a Layout,
}

impl Explainer<'_> {
    /// What is wrong: every operand that is, else the first of the other reasons.
    pub(crate) fn diagnostics(&self) -> Vec<Diagnostic> {
        let selection = match self.environment.select(self.request) {
            Ok(selection) => selection,
            Err(mismatch) => return alloc::vec![self.mismatch(&mismatch)],
        };
        let problems = selection.problems.as_slice();
        if problems.is_empty() {
            let idle = selection.redundant();
            let mut found: Vec<_> = idle.map(|index| self.without_effect(index)).collect();
            let old = self.environment.deprecations(&selection);
            found.extend(old.map(|deprecation| self.deprecated(deprecation)));
            return found;
        }
        // What a table does not hold has no types and no lengths that operands could be held against.
        let table = problems.iter().find(|p| matches!(p, Violation::Table(_)));
        if let Some(&problem) = table {
            return alloc::vec![self.whole(&selection, problem)];
        }
        let operands = problems.iter().filter_map(|p| match *p {
            Violation::Operand(index, problem) => Some(self.operand(&selection, index, problem)),
            _ => None,
        });
        let mut found: Vec<Diagnostic> = operands.collect();
        // Several problems of one place are one mistake.
        found.dedup_by_key(|d| d.span);
        if found.is_empty() {
            found.extend(problems.first().map(|p| self.whole(&selection, *p)));
        }
        found
    }

    fn name(&self) -> &str {
        self.signature.text()
    }

    fn mismatch(&self, mismatch: &NoForm) -> Diagnostic {
        let mnemonic = self.layout.mnemonic;
        let Some(form) = mismatch.form else {
            let names = self.request.opcode.instructions().iter().map(|i| i.name());
            let names: Vec<&str> = names.collect();
            return Diagnostic::error(
                Code::UnknownInstruction,
                mnemonic,
                format!("there is no instruction `{}`", self.name()),
            )
            .with_help(format!("instructions of this opcode: {}", list(&names)));
        };
        let problems = mismatch.problems.as_slice();
        // A word that does not belong is nearer to the mistake than one that is missing.
        let wrong = problems.iter().find_map(|p| match *p {
            Violation::Modifier(index) => Some(index),
            _ => None,
        });
        if let Some(index) = wrong {
            return self.wrong_modifier(form, index);
        }
        match problems.first() {
            Some(&Violation::Slot(index)) => self.missing_modifier(form, index),
            _ => self
                .error(
                    Code::Combination,
                    mnemonic,
                    "these modifiers do not go together".into(),
                )
                .with_help(self.syntax(form)),
        }
    }

    fn error(&self, code: Code, span: Span, message: String) -> Diagnostic {
        Diagnostic::error(code, span, message)
    }

    fn syntax(&self, form: &Form) -> String {
        let instruction = ptx_isa::find_instruction(self.request.opcode, self.request.modifiers);
        let name = instruction.map_or(self.request.opcode.text(), |i| i.name());
        let syntax = form.syntax();
        let blank = if syntax.starts_with(['.', '{']) || syntax.is_empty() {
            ""
        } else {
            " "
        };
        format!("the form is `{name}{blank}{syntax}`")
    }

    fn wrong_modifier(&self, form: &'static Form, index: usize) -> Diagnostic {
        let span = self.layout.modifiers.get(index).copied();
        let written = self.request.modifiers.get(index).copied();
        let text = written.map_or("", Modifier::text);
        let again = written.is_some_and(|w| {
            self.request
                .modifiers
                .get(..index)
                .is_some_and(|before| before.contains(&w))
        });
        let accepted = written.is_some_and(|w| form.accepted().contains(w));
        let message = if again {
            format!("`{text}` stands twice in `{}`", self.name())
        } else if accepted {
            format!(
                "`{text}` does not go with the other modifiers of `{}`, or not at this place",
                self.name()
            )
        } else {
            format!("`{}` does not take `{text}` here", self.name())
        };
        let class = written.map(Modifier::class);
        let alike = form.accepted().as_slice().iter();
        let alike: Vec<&str> = alike
            .filter(|m| Some(m.class()) == class)
            .map(|m| m.text())
            .collect();
        let help = if alike.is_empty() || accepted {
            self.syntax(form)
        } else {
            format!("in its place: {}", list(&alike))
        };
        self.error(
            Code::WrongModifier,
            span.unwrap_or(self.layout.mnemonic),
            message,
        )
        .with_help(help)
    }

    fn without_effect(&self, index: usize) -> Diagnostic {
        let span = self.layout.modifiers.get(index).copied();
        let text = self.request.modifiers.get(index).map_or("", |m| m.text());
        let before = self.request.modifiers.get(..index).unwrap_or_default();
        let why = if before.iter().any(|m| m.text() == text) {
            "stands twice"
        } else {
            "has no effect"
        };
        Diagnostic::warning(
            Code::IgnoredModifier,
            span.unwrap_or(self.layout.mnemonic),
            format!("`{text}` {why} in `{}`", self.name()),
        )
        .with_help(format!("leave `{text}` out"))
    }

    fn deprecated(&self, deprecation: Deprecation) -> Diagnostic {
        let words = deprecation.words;
        let is_old = |m: &Modifier| words.is_some_and(|w| w.contains(*m));
        let index = self.request.modifiers.iter().position(is_old);
        let (name, since) = (self.name(), deprecation.since);
        let place = index.and_then(|i| self.layout.modifiers.get(i));
        let word = index.and_then(|i| self.request.modifiers.get(i));
        let message = match word {
            Some(word) => format!("`{word}` of `{name}` is deprecated since PTX {since}"),
            None => format!("`{name}` is deprecated since PTX {since}"),
        };
        let span = place.copied().unwrap_or(self.layout.mnemonic);
        Diagnostic::warning(Code::Deprecated, span, message)
            .with_help(format!("write {}", deprecation.instead))
    }

    fn missing_modifier(&self, form: &'static Form, index: usize) -> Diagnostic {
        let mnemonic = self.layout.mnemonic;
        let end = Span::new(
            mnemonic.end.saturating_sub(1).max(mnemonic.start),
            mnemonic.end,
        );
        let words = form.slot(index).map(alternatives).unwrap_or_default();
        self.error(
            Code::MissingModifier,
            end,
            format!("`{}` lacks a modifier: {}", self.name(), list(&words)),
        )
        .with_help(self.syntax(form))
    }

    fn operand(
        &self,
        selection: &FormMatch<'_>,
        index: usize,
        problem: OperandViolation,
    ) -> Diagnostic {
        let operand = selection.form.operands().get(index);
        let name = operand.map_or("", |o| o.name);
        let span = self.span_of(selection, index);
        let op = self.name();
        let found = span.map_or("", |s| {
            core::str::from_utf8(s.of(self.module.source())).unwrap_or_default()
        });
        let here = span.unwrap_or(self.layout.mnemonic);
        let ty = selection.expected(index);
        let (code, message) = match problem {
            OperandViolation::Missing => (
                Code::MissingOperand,
                format!("`{op}` needs its operand `{name}`"),
            ),
            OperandViolation::Unexpected => (
                Code::UnexpectedOperand,
                format!("`{op}` has no operand `{name}` with these modifiers"),
            ),
            OperandViolation::Length(length) => (
                Code::VectorLength,
                if length == 1 && operand.is_some_and(|o| o.marks.contains(Marks::BRACED)) {
                    format!("operand `{name}` of `{op}` is one value in braces")
                } else if length == 1 {
                    format!("operand `{name}` of `{op}` is one value, no vector")
                } else {
                    format!("operand `{name}` of `{op}` is a vector of {length} elements")
                },
            ),
            OperandViolation::NeedsRegister => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` is a register; `{found}` is none"),
            ),
            OperandViolation::NeedsConstant => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` is a constant; `{found}` is none"),
            ),
            OperandViolation::Type => (
                Code::OperandType,
                format!(
                    "operand `{name}` of `{op}` cannot be `{found}`, whose type is {}",
                    self.type_of(selection, index)
                ),
            ),
            OperandViolation::Constant => (
                Code::ConstantRange,
                match operand.and_then(|o| o.range) {
                    Some(r) if r.step == 0 => format!(
                        "operand `{name}` of `{op}` is a power of two from {} to {}",
                        r.low, r.high
                    ),
                    Some(r) if r.low == r.high => {
                        format!("operand `{name}` of `{op}` is {}", r.low)
                    }
                    Some(r) if r.step > 1 => format!(
                        "operand `{name}` of `{op}` is a multiple of {} from {} to {}",
                        r.step, r.low, r.high
                    ),
                    Some(r) => format!(
                        "operand `{name}` of `{op}` is a constant from {} to {}",
                        r.low, r.high
                    ),
                    None if operand.is_some_and(|o| o.marks.contains(Marks::FRACTION)) => {
                        format!("operand `{name}` of `{op}` is a number above 0 and at most 1")
                    }
                    None => format!("operand `{name}` of `{op}` takes no such constant"),
                },
            ),
            OperandViolation::Space => (
                Code::WrongSpace,
                format!("`{found}` lies in another state space than `{op}` accesses"),
            ),
            OperandViolation::Sink => (
                Code::OperandKind,
                format!("`_` cannot stand for operand `{name}` of `{op}`"),
            ),
            OperandViolation::Negated => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` takes no `-`"),
            ),
            OperandViolation::Inverted => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` takes no `!`"),
            ),
            OperandViolation::Lanes => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` takes no such part of a register"),
            ),
            OperandViolation::Unified => (
                Code::OperandKind,
                format!("operand `{name}` of `{op}` takes no `.unified`"),
            ),
            _ => (
                Code::OperandKind,
                format!("`{found}` cannot stand for operand `{name}` of `{op}`"),
            ),
        };
        let help = match (code, ty) {
            (Code::OperandType, Some(ty)) => format!("the operand is of type {ty}"),
            _ => self.syntax(selection.form),
        };
        self.error(code, here, message).with_help(help)
    }

    /// The declared type of what is written for an operand.
    fn type_of(&self, selection: &FormMatch<'_>, index: usize) -> String {
        let written = selection.operands.get(index).map(|w| w.shape);
        match written {
            Some(ptx_isa::OperandShape::Register(ty)) => format!("`{ty}`"),
            Some(ptx_isa::OperandShape::RegisterVector(ty, n)) => format!("`.v{n} {ty}`"),
            Some(ptx_isa::OperandShape::Special(r)) => format!("`{}`", r.scalar_type()),
            _ => "another".to_string(),
        }
    }

    /// Where an operand of the form is written; a part of brackets or braces where it is one.
    pub(crate) fn span_of(&self, selection: &FormMatch<'_>, index: usize) -> Option<Span> {
        let nth = selection.operands.written(index)?;
        let outer = self.layout.operands.get(nth).copied()?;
        let inner = selection.operands.get(index);
        let parts: &[ActualOperand<'_>] = match self.request.operands.get(nth)?.shape {
            ptx_isa::OperandShape::Bracket(parts) | ptx_isa::OperandShape::Vector(parts) => parts,
            ptx_isa::OperandShape::Pair(parts) => parts,
            _ => &[],
        };
        let part = inner.and_then(|i| parts.iter().position(|p| core::ptr::eq(p, i)));
        match part {
            Some(part) => {
                let spans = self.layout.parts(self.module.source(), outer);
                spans.get(part).copied().or(Some(outer))
            }
            None => Some(outer),
        }
    }

    fn whole(&self, selection: &FormMatch<'_>, problem: Violation) -> Diagnostic {
        let (op, form) = (self.name(), selection.form);
        let mnemonic = self.layout.mnemonic;
        match problem {
            Violation::Count(least, most) => {
                let found = self.request.operands.len();
                let wanted = match most - least {
                    0 => least.to_string(),
                    1 => format!("{least} or {most}"),
                    _ => format!("{least} to {most}"),
                };
                let last = self
                    .layout
                    .operands
                    .get(most)
                    .or(self.layout.operands.last());
                let span = if found > most { last.copied() } else { None };
                self.error(
                    Code::OperandCount,
                    span.unwrap_or(mnemonic),
                    format!("`{op}` takes {wanted} operands, {found} are written"),
                )
                .with_help(self.syntax(form))
            }
            Violation::Table(table) => self
                .error(
                    Code::Combination,
                    self.columns(selection, table).unwrap_or(mnemonic),
                    format!("these modifiers of `{op}` do not go together"),
                )
                .with_help(self.syntax(form)),
            Violation::Floor(floors) => self.floor(floors),
            Violation::Until(floors) => self.until(selection, floors),
            Violation::Register(register) => self.register(register),
            Violation::Rule(rule) => {
                // Who says so does not matter to whoever broke it.
                let bare = ptx_isa::Rule {
                    ptxas: false,
                    ..*rule
                };
                let broken = ptx_isa::describe::rule(form, &bare);
                let message = format!("what stands in `{op}` does not go together: {broken}");
                let place = rule_span::of_rule(self, selection, rule).unwrap_or(mnemonic);
                self.error(Code::Combination, place, message)
                    .with_help(self.syntax(form))
            }
            _ => self
                .error(
                    Code::Combination,
                    mnemonic,
                    format!("`{op}` is not possible so"),
                )
                .with_help(self.syntax(form)),
        }
    }

    fn columns(&self, selection: &FormMatch<'_>, table: &Table) -> Option<Span> {
        let fixed = selection.instruction.words().len();
        let words = self.layout.modifiers.iter().enumerate().skip(fixed);
        let of_table = words.filter(|(i, _)| {
            let slot = selection.assignment.slot_of(i - fixed);
            slot.is_some_and(|s| table.columns.iter().any(|&c| usize::from(c) == s))
        });
        of_table.map(|(_, span)| *span).reduce(Span::join)
    }

    fn floor(&self, floors: &[Availability]) -> Diagnostic {
        let (op, e) = (self.name(), self.environment);
        let mut needs: Vec<String> = floors.iter().map(floor_text).collect();
        needs.dedup();
        let target = e.target.map_or("", |t| t.text());
        self.error(
            Code::Unavailable,
            self.layout.mnemonic,
            format!("`{op}` is not there in PTX {} on {target}", e.version),
        )
        .with_help(format!("it needs {}", needs.join(", or ")))
    }

    fn register(&self, register: SpecialReg) -> Diagnostic {
        let e = self.environment;
        let target = e.target.map_or("", |t| t.text());
        let at = self.layout.word(self.module.source(), register.text());
        let message = format!("`{register}` is not there in PTX {} on {target}", e.version);
        let needs = match register.target() {
            Some(target) => format!("it needs PTX {} and {target}", register.since()),
            None => format!("it needs PTX {}", register.since()),
        };
        self.error(Code::Unavailable, at, message).with_help(needs)
    }

    fn until(&self, selection: &FormMatch<'_>, floors: &[Availability]) -> Diagnostic {
        let (op, e) = (self.name(), self.environment);
        let mut since: Vec<String> = floors.iter().map(floor_text).collect();
        since.dedup();
        let target = e.target.map_or("", |t| t.text());
        self.error(
            Code::Withdrawn,
            self.layout.mnemonic,
            format!("`{op}` is no more in PTX {} on {target}", e.version),
        )
        .with_help(match self.environment.deprecations(selection).next() {
            Some(deprecation) => format!("write {}", deprecation.instead),
            None => format!("it ends with {}", since.join(", or ")),
        })
    }
}

fn floor_text(floor: &Availability) -> String {
    if floor.text.is_empty() {
        return format!("PTX {}", floor.version);
    }
    let names = floor
        .text
        .split(' ')
        .map(|name| match name.strip_suffix('+') {
            Some(family) => format!("the family of `{family}`"),
            None => format!("`{name}`"),
        });
    let names: Vec<String> = names.collect();
    format!("PTX {} and {}", floor.version, names.join(" or "))
}

fn alternatives(slot: &'static Slot) -> Vec<&'static str> {
    let words = slot.words().as_slice().iter();
    let sequences = slot.sequences().iter().filter_map(|s| s.first());
    words.chain(sequences).map(|m| m.text()).collect()
}

/// A few words between commas; how many more there are.
fn list(words: &[&str]) -> String {
    const SHOWN: usize = 12;
    let mut text = String::new();
    for (i, word) in words.iter().take(SHOWN).enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        text.push('`');
        text.push_str(word);
        text.push('`');
    }
    if words.len() > SHOWN {
        text.push_str(&format!(" and {} more", words.len() - SHOWN));
    }
    text
}
