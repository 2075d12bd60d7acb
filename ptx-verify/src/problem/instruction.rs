//! Problems of single instructions.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::{Code, SigId, Signature};
use ptx_isa::internals::{Deprecation, ModifierEdit, Repair, Rule, Slot};
use ptx_isa::{Modifier, Opcode, PtxVersion, Since, SpecialReg};

use super::operand::OperandMismatch;
use super::{ALL_LANES, NamedForm, Side, Text, Wording, counted, list, repair};
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
        rule: Option<(NamedForm, &'static Rule)>,
    },
    /// The elements of a vector are separate operands.
    MissingBraces {
        first: u32,
        last: u32,
        /// No other operands can be the elements.
        is_only: bool,
    },
    /// The elements of a vector are separate elements of an operand.
    MissingInnerBraces {
        operand: u32,
        first: u32,
        last: u32,
    },
    /// The condition of a branch is the operand with this index.
    Condition(u32),
    /// The result is missing. The opcode without a result that may be meant; if there is none, the result may be `_`.
    WithoutResult(Option<Opcode>),
    /// Two modifiers that exclude each other.
    Conflict(Modifier, Modifier),
    /// The operand at index `from` is legal at index `to`.
    Reordered {
        form: NamedForm,
        from: u32,
        to: u32,
    },
    /// The operand with this index is not expected.
    Extra(NamedForm, u32),
    /// One operand is written as two. It is a pair, or else an address.
    Apart {
        first: u32,
        is_pair: bool,
    },
    /// The arguments of a call, and the results before its function, are not in parentheses. The indices of the function and of the last operand.
    MissingParentheses(u32, u32),
    Modifier(ModifierReason, Modifier, NamedForm),
    MissingModifier(NamedForm, &'static Slot),
    /// The modifiers are in no row of the form's table, or no form takes them together.
    ModifierCombination(NamedForm),
    Operand(OperandMismatch),
    /// A wrong number of operands.
    Count {
        form: NamedForm,
        count: usize,
        least: usize,
        most: usize,
        /// The instruction is legal without the operands after the first `most` ones.
        is_legal_without_extra: bool,
    },
    Rule(NamedForm, &'static Rule),
    /// A texture without a sampler although each has a separate one.
    NoSampler,
    /// The version and target are older than all of these. The first version that has the instruction on the target of the only one.
    Unavailable(&'static [Since], Option<PtxVersion>),
    SpecialRegister(SpecialReg),
    /// Removed in these versions. The replacement.
    Removed(&'static [Since], Option<&'static str>),
    /// Removed in these versions. Legal with this modifier and a mask of the participating threads.
    RemovedWithoutMask(&'static [Since], ModifierEdit),
    /// A 32-bit address of global or generic memory in a module with 64-bit addresses.
    SmallAddress,
    /// A modifier without effect.
    Redundant(Redundancy, Modifier),
    /// A deprecated modifier; `None` if the instruction is deprecated.
    Deprecated(Option<Modifier>, Deprecation),
    Other(NamedForm),
}

/// The reason why a modifier is wrong.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum ModifierReason {
    Duplicate,
    /// The form has the modifier, but not with the other modifiers, or not in this order.
    Conflict,
    /// The form does not have the modifier.
    NotTaken,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Redundancy {
    Duplicate,
    NoEffect,
}

impl InstProblem {
    /// `found` is the text at the location.
    pub(super) fn text(self, wording: Wording<'_>, found: &str) -> Text {
        let signature = wording.module.signature(self.sig);
        let op = signature.text();
        if let Some(text) = self.kind.single_cause_text(&signature, wording, found) {
            return text;
        }
        match self.kind {
            InstProblemKind::Repairable { repairs, rule } => {
                repair::text(&signature, &repairs, rule)
            }
            InstProblemKind::MissingBraces {
                first,
                last,
                is_only,
            } => {
                let text = in_braces(op, found, first, last);
                if is_only {
                    text.machine_applicable()
                } else {
                    text
                }
            }
            InstProblemKind::UnknownInstruction(opcode) => {
                let names: Vec<&str> = opcode.instructions().iter().map(|i| i.name()).collect();
                Text::error(
                    Code::UnknownInstruction,
                    format!("unknown instruction `{op}`"),
                )
                .help(format!("instructions of this opcode: {}", list(&names)))
            }
            InstProblemKind::Operand(mismatch) => mismatch.text(&signature, wording, found),
            InstProblemKind::Reordered { form, from, to } => reordered(op, found, form, from, to),
            InstProblemKind::Extra(form, extra) => extra_operand(op, found, form, extra),
            InstProblemKind::Apart { first, is_pair } => joined(op, found, first, is_pair),
            InstProblemKind::MissingParentheses(function, last) => {
                in_parentheses(found, function, last)
            }
            InstProblemKind::Count {
                form,
                count,
                least,
                most,
                is_legal_without_extra,
            } => {
                let expected = match most - least {
                    0 => counted(least as u64, "operand"),
                    1 => format!("{least} or {most} operands"),
                    _ => format!("{least} to {most} operands"),
                };
                let message = format!("expected {expected} of `{op}`, found {count}");
                let text = Text::error(Code::OperandCount, message).help(form.syntax());
                match most.checked_sub(1) {
                    _ if !is_legal_without_extra => text,
                    Some(last) => text.fix(Part::AfterOperand(last as u32), Side::Whole, ""),
                    None => text.fix(Part::Operands(0, count as u32 - 1), Side::Whole, ""),
                }
            }
            InstProblemKind::Rule(form, rule) => {
                let broken = ptx_isa::internals::describe::rule_kind(form.form, rule.kind());
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
            kind => match kind.modifier_text(op) {
                Some(text) => text,
                None => kind.version_text(op, wording),
            },
        }
    }
}

/// Returns the text of the error about an operand after the ones of the form. The fix removes it with its comma.
fn extra_operand(op: &str, found: &str, form: NamedForm, extra: u32) -> Text {
    let message = format!("unexpected operand `{found}` of `{op}`");
    let text = Text::error(Code::UnexpectedOperand, message).help(form.syntax());
    // The operand and a neighbor are replaced by the neighbor.
    let (neighbor, operand_pair) = match extra.checked_sub(1) {
        Some(previous) => (previous, Part::Operands(previous, extra)),
        None => (1, Part::Operands(0, 1)),
    };
    text.fix(operand_pair, Side::CopyOf(Part::Operand(neighbor)), "")
}

/// Returns the text of the error that the elements of a vector are separate operands, by the indices of the first and the last one.
fn in_braces(op: &str, found: &str, first: u32, last: u32) -> Text {
    let message = format!(
        "expected a vector in braces as operand of `{op}`, found {} operands",
        last - first + 1
    );
    Text::error(Code::VectorLength, message)
        .help(format!("write `{{{found}}}`"))
        .fix(Part::Operand(first), Side::Before, "{")
        .fix(Part::Operand(last), Side::After, "}")
}

impl InstProblemKind {
    /// Returns the text of a mistake with one likely cause.
    fn single_cause_text(
        &self,
        signature: &Signature<'_>,
        wording: Wording<'_>,
        found: &str,
    ) -> Option<Text> {
        let op = signature.text();
        Some(match *self {
            Self::MissingInnerBraces {
                operand,
                first,
                last,
            } => {
                let (start, end) = (Part::Element(operand, first), Part::Element(operand, last));
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

    /// Returns the text of a problem of modifiers.
    fn modifier_text(&self, op: &str) -> Option<Text> {
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
            Self::Redundant(redundancy, modifier) => Text::warning(
                Code::IgnoredModifier,
                match redundancy {
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

    /// Returns the text of a problem of the version or target.
    fn version_text(self, op: &str, wording: Wording<'_>) -> Text {
        let checked_for = wording.checked_for();
        match self {
            Self::Removed(floors, replacement) => Text::error(
                Code::Withdrawn,
                format!(
                    "`{op}` was removed in {}; this is {checked_for}",
                    floors_text(floors, " on ")
                ),
            )
            .help(match replacement {
                Some(replacement) => format!("write {replacement}"),
                None => "use another instruction, or an older version or target".into(),
            }),
            Self::SpecialRegister(register) => {
                let required = match register.target() {
                    Some(target) => format!("PTX {} and `{target}`", register.since()),
                    None => format!("PTX {}", register.since()),
                };
                unavailable(register.text(), &required, &checked_for)
            }
            Self::Unavailable(floors, version) => {
                let required = match (floors, version) {
                    ([floor], Some(version)) => format!("PTX {version} and `{}`", floor.text()),
                    _ => floors_text(floors, " and "),
                };
                unavailable(op, &required, &checked_for)
            }
            _ => Text::error(Code::Combination, format!("invalid form of `{op}`")),
        }
    }
}

/// Returns the text of the error of a branch that has its condition as an operand.
fn condition(op: &str, found: &str, index: u32) -> Text {
    let message = format!(
        "expected the condition `{found}` as a guard before `{op}`, found it as an operand"
    );
    let text = Text::error(Code::OperandCount, message)
        .help(format!("write `@{found} {op}` and the label"))
        .fix(Part::Opcode, Side::Before, format!("@{found} "));
    match index {
        0 => text.fix(Part::Operands(0, 1), Side::CopyOf(Part::Operand(1)), ""),
        index => text.fix(Part::AfterOperand(index - 1), Side::Whole, ""),
    }
}

/// Returns the text of the error of an instruction without its result. `other` is the opcode without a result that may be meant.
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

/// Returns the text of the error of an instruction that needs a mask of the participating threads.
fn without_mask(
    signature: &Signature<'_>,
    floors: &'static [Since],
    edit: ModifierEdit,
    checked_for: &str,
) -> Text {
    let (op, floors) = (signature.text(), floors_text(floors, " on "));
    let message = format!("`{op}` was removed in {floors}; this is {checked_for}");
    let replacement = repair::mnemonic(signature, edit);
    let mask = format!("{ALL_LANES:#x}");
    let help = format!(
        "write `{replacement}` with the mask of the threads that take part as the last operand: `{mask}` if all threads of the warp execute it"
    );
    let text = Text::error(Code::Withdrawn, message).help(help);
    repair::fix(text, edit).fix(Part::LastOperand, Side::After, format!(", {mask}"))
}

fn unavailable(name: &str, required: &str, checked_for: &str) -> Text {
    Text::error(
        Code::Unavailable,
        format!("`{name}` requires {required}; this is {checked_for}"),
    )
    .help("change `.version` and `.target`")
}

fn wrong_modifier(op: &str, reason: ModifierReason, modifier: Modifier, form: NamedForm) -> Text {
    let message = match reason {
        ModifierReason::Duplicate => format!("duplicate modifier `{modifier}` in `{op}`"),
        ModifierReason::Conflict => format!(
            "`{modifier}` conflicts with the other modifiers of `{op}`, or is in the wrong position"
        ),
        ModifierReason::NotTaken => format!("`{op}` does not take the modifier `{modifier}` here"),
    };
    let similar: Vec<&str> = form
        .form
        .accepted()
        .filter(|other| other.class() == modifier.class())
        .map(|other| other.text())
        .collect();
    let help = if similar.is_empty() || form.form.accepts(modifier) {
        form.syntax()
    } else {
        format!("expected one of {}", list(&similar))
    };
    Text::error(Code::WrongModifier, message).help(help)
}

/// Returns the versions with their targets. `joint` is the word between a version and its targets.
fn floors_text(floors: &[Since], joint: &str) -> String {
    let mut texts: Vec<String> = floors
        .iter()
        .map(|floor| floor_text(floor, joint))
        .collect();
    texts.dedup();
    texts.join(", or ")
}

fn floor_text(floor: &Since, joint: &str) -> String {
    if floor.text().is_empty() {
        return format!("PTX {}", floor.version());
    }
    let names: Vec<String> = floor
        .text()
        .split(' ')
        .map(|name| match name.strip_suffix('+') {
            Some(family) => format!("the family of `{family}`"),
            None => format!("`{name}`"),
        })
        .collect();
    format!("PTX {}{joint}{}", floor.version(), names.join(" or "))
}

/// Returns the text of the error that one operand, a pair or an address, is written as two.
fn joined(op: &str, found: &str, first: u32, is_pair: bool) -> Text {
    let operands = split(found);
    let inner = operands
        .first()
        .map_or("", |operand| operand.trim_matches(['[', ']']));
    let last = operands.last().copied().unwrap_or_default();
    let (expected, text) = if is_pair {
        ("a pair", format!("{inner}|{last}"))
    } else {
        ("an address", format!("[{inner}, {last}]"))
    };
    let message = format!("expected {expected} as operand of `{op}`, found 2 operands");
    let error = Text::error(Code::OperandKind, message).help(format!("write `{text}`"));
    error.fix(Part::Operands(first, first + 1), Side::Whole, text)
}

/// Returns the text of the error of a call without parentheses around the lists before and after the function.
fn in_parentheses(found: &str, function: u32, last: u32) -> Text {
    let message = format!("expected lists in parentheses, found `{found}`");
    let text = Text::error(Code::OperandKind, message)
        .help("arguments are in parentheses, and so are results");
    // The first operand of each list, and the first operand after it.
    let lists = [(0, function), (function + 1, last + 1)];
    lists
        .into_iter()
        .filter(|(start, end)| start < end)
        .fold(text, |text, (start, end)| {
            text.fix(Part::Operand(start), Side::Before, "(").fix(
                Part::Operand(end - 1),
                Side::After,
                ")",
            )
        })
}

/// Returns the text of the error of operands in the wrong order.
fn reordered(op: &str, found: &str, form: NamedForm, from: u32, to: u32) -> Text {
    let message = format!("operands of `{op}` are in the wrong order, found `{found}`");
    let text = Text::error(Code::OperandKind, message);
    let mut operands = split(found);
    if operands.len() != from.abs_diff(to) as usize + 1 {
        return text.help(form.syntax());
    }
    if from < to {
        operands.rotate_left(1);
    } else {
        operands.rotate_right(1);
    }
    let ordered = operands.join(", ");
    let part = Part::Operands(from.min(to), from.max(to));
    text.help(format!("write `{ordered}`"))
        .fix(part, Side::Whole, ordered)
}

/// Returns the operands of a text.
fn split(operands: &str) -> Vec<&str> {
    let mut depth = 0usize;
    operands
        .split(|c| {
            match c {
                '[' | '{' | '(' => depth += 1,
                ']' | '}' | ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .map(str::trim)
        .collect()
}
