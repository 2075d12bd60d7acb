//! Problems of single instructions.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Code, SigId, Signature};
use ptx_isa::{
    Deprecation, Form, Instruction, Modifier, ModifierEdit, Opcode, Repair, Rule, Since, Slot,
    SpecialReg,
};

use super::operand::OperandMismatch;
use super::{Side, Text, Wording, counted, repair};
use crate::explain::ALL_LANES;
use crate::location::Part;

/// A problem of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct InstProblem {
    pub(crate) sig: SigId,
    pub(crate) kind: InstProblemKind,
}

#[derive(Clone, Debug)]
pub(crate) enum InstProblemKind {
    UnknownInstruction(Opcode),
    /// The modifiers are legal after each of these changes.
    Repairable {
        repairs: Vec<Repair>,
        /// The rule that they violate.
        rule: Option<(Named, &'static Rule)>,
    },
    /// The elements of a vector are separate operands: the first and the last of them, and whether no other operands can be.
    MissingBraces(u32, u32, bool),
    /// The elements of a vector are separate parts of an operand: the number of the operand, of the first and of the last.
    MissingInnerBraces(u32, u32, u32),
    /// The condition of a branch is an operand, of this number.
    Condition(u32),
    /// The result is missing; this opcode has none, or else `_` is one.
    WithoutResult(Option<Opcode>),
    /// Two modifiers that exclude each other.
    Conflict(Modifier, Modifier),
    /// Operands between two places are in the wrong order: the first belongs in the second one.
    Reordered(Named, u32, u32),
    /// An operand is not expected.
    Extra(Named, u32),
    /// Two operands that are one: a pair, or else an address.
    Apart(u32, bool),
    /// The arguments of a call, and the results before its function, are not in parentheses: the number of the function, and
    /// that of the last operand.
    MissingParentheses(u32, u32),
    Modifier(ModifierReason, Modifier, Named),
    MissingModifier(Named, &'static Slot),
    /// The modifiers are in no row of the form's table, or no form takes them together.
    ModifierCombination(Named),
    Operand(OperandMismatch),
    /// The number of operands found, and the least and the most expected; whether it is legal without those that are too
    /// many.
    Count(Named, usize, usize, usize, bool),
    Rule(Named, &'static Rule),
    /// A texture without a sampler although each has a separate one.
    NoSampler,
    /// None of these versions and targets is reached.
    Unavailable(&'static [Since]),
    SpecialRegister(SpecialReg),
    /// Removed from these versions on; what to write instead.
    Removed(&'static [Since], Option<&'static str>),
    /// Removed from these versions on; legal with this modifier and a mask of the threads that take part.
    RemovedWithoutMask(&'static [Since], ModifierEdit),
    /// A 32-bit address of global or generic memory in a module with 64-bit addresses.
    SmallAddress,
    /// A modifier without effect.
    Redundant(Redundancy, Modifier),
    /// The deprecated modifier, unless the whole instruction is.
    Deprecated(Option<Modifier>, Deprecation),
    Other(Named),
}

/// A form with the instruction that it belongs to.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Named {
    pub(crate) instruction: Option<&'static Instruction>,
    pub(crate) form: &'static Form,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModifierReason {
    Duplicate,
    /// Not with the other modifiers, or not in this order.
    Conflict,
    NotTaken,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Redundancy {
    Duplicate,
    NoEffect,
}

impl Named {
    pub(super) fn syntax(self) -> String {
        let name = self.instruction.map_or("", |i| i.name());
        let syntax = self.form.syntax();
        let space = match syntax.is_empty() || syntax.starts_with(['.', '{']) {
            true => "",
            false => " ",
        };
        format!("the form is `{name}{space}{syntax}`")
    }
}

impl InstProblem {
    /// `found` is the text at the location.
    pub(super) fn text(self, wording: Wording<'_>, found: &str) -> Text {
        let signature = wording.module.signature(self.sig);
        let op = signature.text();
        if let Some(text) = self.kind.of_habits(&signature, wording, found) {
            return text;
        }
        match self.kind {
            InstProblemKind::Repairable { repairs, rule } => {
                repair::text(&signature, &repairs, rule)
            }
            InstProblemKind::MissingBraces(first, last, only) => {
                in_braces(op, found, (first, last), only)
            }
            InstProblemKind::UnknownInstruction(opcode) => {
                let names = opcode.instructions().iter().map(|i| i.name());
                let names: Vec<&str> = names.collect();
                Text::error(
                    Code::UnknownInstruction,
                    format!("unknown instruction `{op}`"),
                )
                .help(format!("instructions of this opcode: {}", list(&names)))
            }
            InstProblemKind::Operand(mismatch) => mismatch.text(&signature, wording, found),
            InstProblemKind::Reordered(form, from, to) => reordered(op, found, form, from, to),
            InstProblemKind::Extra(form, extra) => {
                let message = format!("unexpected operand `{found}` of `{op}`");
                let text = Text::error(Code::UnexpectedOperand, message).help(form.syntax());
                let (kept, both) = match extra.checked_sub(1) {
                    Some(before) => (before, Part::Operands(before, extra)),
                    None => (1, Part::Operands(0, 1)),
                };
                text.fix(both, Side::CopyOf(Part::Operand(kept)), "")
            }
            InstProblemKind::Apart(first, is_pair) => joined(op, found, first, is_pair),
            InstProblemKind::MissingParentheses(function, last) => {
                in_parentheses(found, function, last)
            }
            InstProblemKind::Count(form, found, least, most, extra) => {
                let expected = match most - least {
                    0 => counted(least as u64, "operand"),
                    1 => format!("{least} or {most} operands"),
                    _ => format!("{least} to {most} operands"),
                };
                let message = format!("expected {expected} of `{op}`, found {found}");
                let text = Text::error(Code::OperandCount, message).help(form.syntax());
                match most.checked_sub(1) {
                    _ if !extra => text,
                    Some(last) => text.fix(Part::AfterOperand(last as u32), Side::Whole, ""),
                    None => text.fix(Part::Operands(0, found as u32 - 1), Side::Whole, ""),
                }
            }
            InstProblemKind::Rule(form, rule) => {
                let broken = ptx_isa::describe::rule_kind(form.form, rule.kind());
                Text::error(Code::Combination, format!("`{op}` violates: {broken}"))
                    .help(form.syntax())
            }
            InstProblemKind::NoSampler => Text::error(
                Code::MissingOperand,
                format!("`{op}` needs a sampler with `texmode_independent`, found a texture"),
            )
            .help("write `[texture, sampler, coordinates]`, or `[sampler]` in a query"),
            InstProblemKind::Other(form) => {
                Text::error(Code::Combination, format!("invalid form of `{op}`"))
                    .help(form.syntax())
            }
            kind => match kind.of_modifiers(op) {
                Some(text) => text,
                None => kind.of_versions(op, wording),
            },
        }
    }
}

/// Elements of a vector as separate operands, the first and the last of them, and whether no other operands can be.
fn in_braces(op: &str, found: &str, (first, last): (u32, u32), only: bool) -> Text {
    let message = format!(
        "expected a vector in braces as operand of `{op}`, found {} operands",
        last - first + 1
    );
    let text = Text::error(Code::VectorLength, message)
        .help(format!("write `{{{found}}}`"))
        .fix(Part::Operand(first), Side::Before, "{")
        .fix(Part::Operand(last), Side::After, "}");
    match only {
        true => text.machine_applicable(),
        false => text,
    }
}

impl InstProblemKind {
    /// The text of a mistake that has one likely cause.
    fn of_habits(
        &self,
        signature: &Signature<'_>,
        wording: Wording<'_>,
        found: &str,
    ) -> Option<Text> {
        let op = signature.text();
        Some(match *self {
            Self::MissingInnerBraces(nth, first, last) => {
                let (start, end) = (Part::Element(nth, first), Part::Element(nth, last));
                let message = format!(
                    "expected a vector in braces in the address of `{op}`, found {}",
                    counted(last - first + 1, "value")
                );
                Text::error(Code::VectorLength, message)
                    .help(format!("write `{{{found}}}`"))
                    .fix(start, Side::Before, "{")
                    .fix(end, Side::After, "}")
            }
            Self::Condition(index) => condition(op, found, index),
            Self::WithoutResult(other) => without_result(signature, other),
            Self::Conflict(modifier, other) => Text::error(
                Code::WrongModifier,
                format!("`{modifier}` cannot be combined with `{other}` in `{op}`"),
            )
            .help(format!("remove `{modifier}` or `{other}`")),
            Self::SmallAddress => Text::warning(
                Code::SmallAddress,
                format!("expected an address of 64 bits in `{op}`, found `{found}` of 32 bits"),
            )
            .help(
                "ptxas generates no code for 32-bit addresses of global or generic memory: use a 64-bit register; \
                 in inline assembly, a pointer has the constraint `\"l\"` instead of `\"r\"`",
            ),
            Self::RemovedWithoutMask(floors, edit) => {
                without_mask(signature, floors, edit, &wording.checked_for())
            }
            _ => return None,
        })
    }

    fn of_modifiers(&self, op: &str) -> Option<Text> {
        Some(match *self {
            Self::Modifier(reason, modifier, form) => wrong_modifier(op, reason, modifier, form),
            Self::MissingModifier(form, slot) => {
                let words = slot.words().as_slice().iter();
                let sequences = slot.sequences().iter().filter_map(|s| s.first());
                let words: Vec<&str> = words.chain(sequences).map(|m| m.text()).collect();
                let expected = match words.len() {
                    1 => list(&words),
                    _ => format!("one of {}", list(&words)),
                };
                Text::error(
                    Code::MissingModifier,
                    format!("missing modifier of `{op}`: expected {expected}"),
                )
                .help(form.syntax())
            }
            Self::ModifierCombination(form) => Text::error(
                Code::Combination,
                format!("these modifiers of `{op}` cannot be combined"),
            )
            .help(form.syntax()),
            Self::Redundant(why, modifier) => Text::warning(
                Code::IgnoredModifier,
                match why {
                    Redundancy::Duplicate => format!("duplicate modifier `{modifier}` in `{op}`"),
                    Redundancy::NoEffect => format!("`{modifier}` has no effect in `{op}`"),
                },
            )
            .help(format!("remove `{modifier}`")),
            Self::Deprecated(modifier, deprecation) => {
                let since = deprecation.since();
                Text::warning(
                    Code::Deprecated,
                    match modifier {
                        Some(m) => format!("`{m}` of `{op}` is deprecated since PTX {since}"),
                        None => format!("`{op}` is deprecated since PTX {since}"),
                    },
                )
                .help(format!("write {}", deprecation.instead()))
            }
            _ => return None,
        })
    }

    fn of_versions(self, op: &str, wording: Wording<'_>) -> Text {
        let have = wording.checked_for();
        match self {
            Self::Removed(floors, instead) => Text::error(
                Code::Withdrawn,
                format!(
                    "`{op}` was removed in {}; this is {have}",
                    floors_text(floors, " on ")
                ),
            )
            .help(match instead {
                Some(instead) => format!("write {instead}"),
                None => "use another instruction, or an older version or target".into(),
            }),
            Self::SpecialRegister(register) => {
                let wanted = match register.target() {
                    Some(target) => format!("PTX {} and `{target}`", register.since()),
                    None => format!("PTX {}", register.since()),
                };
                unavailable(register.text(), &wanted, &have)
            }
            Self::Unavailable(floors) => unavailable(op, &floors_text(floors, " and "), &have),
            _ => Text::error(Code::Combination, format!("invalid form of `{op}`")),
        }
    }
}

/// The text of the error of a branch that has its condition as an operand.
fn condition(op: &str, found: &str, index: u32) -> Text {
    let message = format!(
        "expected the condition `{found}` as a guard before `{op}`, found it as an operand"
    );
    let text = Text::error(Code::OperandCount, message)
        .help(format!("write `@{found} {op}` and the label"));
    let text = text.fix(Part::Opcode, Side::Before, format!("@{found} "));
    match index {
        0 => text.fix(Part::Operands(0, 1), Side::CopyOf(Part::Operand(1)), ""),
        index => text.fix(Part::AfterOperand(index - 1), Side::Whole, ""),
    }
}

/// The text of the error of an instruction without its result.
fn without_result(signature: &Signature<'_>, other: Option<Opcode>) -> Text {
    let op = signature.text();
    let message = format!("missing result of `{op}`");
    let text = Text::error(Code::OperandCount, message);
    match other {
        Some(other) => {
            let modifiers = op.get(signature.opcode_text().len()..).unwrap_or_default();
            text.help(format!("write `{other}{modifiers}`, which has no result"))
                .fix(Part::Opcode, Side::Whole, other.text())
        }
        None => text.help("write `_` if the result is not used").fix(
            Part::Operand(0),
            Side::Before,
            "_, ",
        ),
    }
}

/// The text of the error of an instruction that needs a mask of the threads that take part.
fn without_mask(
    signature: &Signature<'_>,
    floors: &'static [Since],
    edit: ModifierEdit,
    have: &str,
) -> Text {
    let (op, floors) = (signature.text(), floors_text(floors, " on "));
    let message = format!("`{op}` was removed in {floors}; this is {have}");
    let instead = repair::mnemonic(signature, edit);
    let mask = format!("{ALL_LANES:#x}");
    let help = format!(
        "write `{instead}` with the mask of the threads that take part as the last operand: `{mask}` if all threads of the warp execute it"
    );
    let text = Text::error(Code::Withdrawn, message).help(help);
    repair::fix(text, edit).fix(Part::LastOperand, Side::After, format!(", {mask}"))
}

fn unavailable(what: &str, wanted: &str, have: &str) -> Text {
    Text::error(
        Code::Unavailable,
        format!("`{what}` requires {wanted}; this is {have}"),
    )
    .help("change `.version` and `.target`")
}

fn wrong_modifier(op: &str, reason: ModifierReason, modifier: Modifier, form: Named) -> Text {
    let message = match reason {
        ModifierReason::Duplicate => format!("duplicate modifier `{modifier}` in `{op}`"),
        ModifierReason::Conflict => format!(
            "`{modifier}` conflicts with the other modifiers of `{op}`, or is in the wrong position"
        ),
        ModifierReason::NotTaken => format!("`{op}` does not take the modifier `{modifier}` here"),
    };
    let similar = form
        .form
        .accepted()
        .filter(|m| m.class() == modifier.class());
    let similar: Vec<&str> = similar.map(|m| m.text()).collect();
    let help = if similar.is_empty() || form.form.accepts(modifier) {
        form.syntax()
    } else {
        format!("expected one of {}", list(&similar))
    };
    Text::error(Code::WrongModifier, message).help(help)
}

/// The versions with their targets, joined by a word.
fn floors_text(floors: &[Since], joint: &str) -> String {
    let texts = floors.iter().map(|floor| floor_text(floor, joint));
    let mut texts: Vec<String> = texts.collect();
    texts.dedup();
    texts.join(", or ")
}

fn floor_text(floor: &Since, joint: &str) -> String {
    if floor.text().is_empty() {
        return format!("PTX {}", floor.version());
    }
    let names = floor.text().split(' ');
    let names = names.map(|name| match name.strip_suffix('+') {
        Some(family) => format!("the family of `{family}`"),
        None => format!("`{name}`"),
    });
    let names: Vec<String> = names.collect();
    format!("PTX {}{joint}{}", floor.version(), names.join(" or "))
}

/// The text of the error of two operands that are one.
fn joined(op: &str, found: &str, first: u32, is_pair: bool) -> Text {
    let operands = split(found);
    let inner = operands.first().map_or("", |o| o.trim_matches(['[', ']']));
    let last = operands.last().copied().unwrap_or_default();
    let (what, text) = match is_pair {
        true => ("a pair", format!("{inner}|{last}")),
        false => ("an address", format!("[{inner}, {last}]")),
    };
    let message = format!("expected {what} as operand of `{op}`, found 2 operands");
    let error = Text::error(Code::OperandKind, message).help(format!("write `{text}`"));
    error.fix(Part::Operands(first, first + 1), Side::Whole, text)
}

/// The text of the error of a call without parentheses around the lists before and after the function.
fn in_parentheses(found: &str, function: u32, last: u32) -> Text {
    let message = format!("expected lists in parentheses, found `{found}`");
    let text = Text::error(Code::OperandKind, message)
        .help("arguments are in parentheses, and so are results");
    let lists = [(0, function), (function + 1, last + 1)];
    let lists = lists.into_iter().filter(|(start, end)| start < end);
    lists.fold(text, |text, (start, end)| {
        text.fix(Part::Operand(start), Side::Before, "(").fix(
            Part::Operand(end - 1),
            Side::After,
            ")",
        )
    })
}

/// The text of the error of operands in the wrong order.
fn reordered(op: &str, found: &str, form: Named, from: u32, to: u32) -> Text {
    let message = format!("operands of `{op}` are in the wrong order, found `{found}`");
    let text = Text::error(Code::OperandKind, message);
    let mut operands = split(found);
    if operands.len() != from.abs_diff(to) as usize + 1 {
        return text.help(form.syntax());
    }
    match from < to {
        true => operands.rotate_left(1),
        false => operands.rotate_right(1),
    }
    let ordered = operands.join(", ");
    let part = Part::Operands(from.min(to), from.max(to));
    text.help(format!("write `{ordered}`"))
        .fix(part, Side::Whole, ordered)
}

/// The operands of a text.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let operands = operands.split(|c| {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    operands.map(str::trim).collect()
}

/// The first few words, separated by commas, and how many more there are.
pub(super) fn list(words: &[&str]) -> String {
    const SHOWN: usize = 12;
    let quoted = words.iter().take(SHOWN).map(|word| format!("`{word}`"));
    let mut text = quoted.collect::<Vec<_>>().join(", ");
    if words.len() > SHOWN {
        text.push_str(&format!(" and {} more", words.len() - SHOWN));
    }
    text
}
