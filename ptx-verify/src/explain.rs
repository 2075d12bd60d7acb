//! Explains illegal instructions by their differences from the nearest legal instruction.

use alloc::vec::Vec;
use ptx_ir::raw::query::Environment;
use ptx_isa::internals::{
    ActualOperand, Deprecation, FormMatch, InstQuery, ModifierEdit, NoForm, OperandShape, Repair,
    Rule, RuleKind, Violation,
};
use ptx_isa::{Form, Marks, Modifier, Opcode, PtxVersion, Role, ScalarType, Since, Target};

use crate::inst_part::{self, modifiers};
use crate::location::Part;
use crate::problem::instruction::{InstProblemKind, ModifierReason, Redundancy};
use crate::problem::{ALL_LANES, NamedForm};

/// An error in a part of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    pub(crate) part: Part,
    pub(crate) kind: InstProblemKind,
    /// Other parts with the same cause, and their problems.
    pub(crate) repeats: Vec<(Part, InstProblemKind)>,
}

impl Explanation {
    pub(crate) fn new(part: Part, kind: InstProblemKind) -> Self {
        Self {
            part,
            kind,
            repeats: Vec::new(),
        }
    }

    /// Returns the part and those of the repeats.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let repeats = self.repeats.iter().map(|(part, _)| *part);
        core::iter::once(self.part).chain(repeats).collect()
    }
}

/// The search for changes that make an instruction legal.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    None,
    Full,
}

/// Returns the problems of an instruction. `has_wide_addresses` states whether the module has 64-bit addresses.
pub(crate) fn explain(
    environment: Environment,
    has_wide_addresses: bool,
    query: &InstQuery<'_>,
    search: Search,
) -> Vec<Explanation> {
    let explainer = Explainer {
        environment,
        query,
        search,
    };
    match environment.select(query) {
        Err(no_form) => vec![explainer.explain_modifiers(&no_form)],
        Ok(form) if form.violations().is_empty() => {
            let mut warnings: Vec<Explanation> = redundant_modifiers(query, &form).collect();
            warnings.extend(
                environment
                    .deprecations(&form)
                    .map(|deprecation| deprecated(query, deprecation)),
            );
            if has_wide_addresses && let Some(index) = form.small_addresses().next() {
                let part = inst_part::operand(query, &form, index).unwrap_or(Part::Mnemonic);
                warnings.push(Explanation::new(part, InstProblemKind::SmallAddress));
            }
            warnings
        }
        Ok(form) => explainer.explain_violations(&form),
    }
}

/// Returns the first version in which the instruction is available on the target of a requirement. Another requirement of the instruction may need a
/// newer version than this one. `None` if the requirement has several alternatives, or no single target.
fn first_version(selected: &FormMatch<'_>, floors: &[Since]) -> Option<PtxVersion> {
    let [floor] = floors else {
        return None;
    };
    let target: Target = floor.text().parse().ok()?;
    PtxVersion::KNOWN.iter().copied().find(|&version| {
        target.min_version() <= version && selected.targets(version).contains(target)
    })
}

/// Explains an illegal instruction.
pub(crate) struct Explainer<'a, 'q> {
    pub(crate) environment: Environment,
    pub(crate) query: &'a InstQuery<'q>,
    pub(crate) search: Search,
}

impl Explainer<'_, '_> {
    fn repairs(&self) -> Vec<Repair> {
        match self.search {
            Search::None => Vec::new(),
            Search::Full => {
                let environment = self.environment;
                self.query
                    .repairs(environment.version(), environment.target())
            }
        }
    }

    /// Returns changes of one modifier that make the instruction with its operands legal.
    pub(crate) fn full_repairs(&self) -> Vec<Repair> {
        let repairs = self.repairs();
        if repairs.first().is_some_and(Repair::fits_operands) {
            repairs
        } else {
            Vec::new()
        }
    }

    /// Explains that no form takes the modifiers.
    fn explain_modifiers(&self, no_form: &NoForm) -> Explanation {
        let repairs = self.repairs();
        match repairs.first() {
            Some(first) => match self.conflict(&repairs) {
                Some(conflict) => conflict,
                None => self.repairable(first.edit(), repairs, None),
            },
            None => mismatch(self.query, no_form),
        }
    }

    /// Explains two modifiers that exclude each other: the two repairs remove one of them.
    fn conflict(&self, repairs: &[Repair]) -> Option<Explanation> {
        let [first, second] = repairs else {
            return None;
        };
        let (ModifierEdit::Remove(first), ModifierEdit::Remove(second)) =
            (first.edit(), second.edit())
        else {
            return None;
        };
        let (earlier, later) = (first.min(second), first.max(second));
        let modifier = *self.query.modifiers().get(later)?;
        let other = *self.query.modifiers().get(earlier)?;
        (modifier != other).then(|| {
            let kind = InstProblemKind::Conflict(modifier, other);
            Explanation::new(inst_part::modifiers(later, later), kind)
        })
    }

    /// Explains that each of the repairs makes the modifiers legal. `first` is the edit of the first one.
    fn repairable(
        &self,
        first: ModifierEdit,
        mut repairs: Vec<Repair>,
        rule: Option<(NamedForm, &'static Rule)>,
    ) -> Explanation {
        let part = match first {
            ModifierEdit::Replace(index, _) | ModifierEdit::Remove(index) => {
                modifiers(index, index)
            }
            _ => Part::Mnemonic,
        };
        // Changes of another modifier belong to another mistake.
        repairs.retain(|repair| match (repair.edit(), first) {
            (ModifierEdit::Replace(a, _), ModifierEdit::Replace(b, _))
            | (ModifierEdit::Remove(a), ModifierEdit::Remove(b)) => a == b,
            _ => true,
        });
        Explanation::new(part, InstProblemKind::Repairable { repairs, rule })
    }

    /// Explains the violations of an instruction whose modifiers match a form: all of operands, or else the first other one.
    fn explain_violations(&self, selected: &FormMatch<'_>) -> Vec<Explanation> {
        let violations = selected.violations().as_slice();
        let is_about_target = |violation: &Violation| {
            matches!(
                violation,
                Violation::RequiresTarget(_) | Violation::Register(_)
            )
        };
        let first = violations
            .iter()
            .find(|violation| !is_about_target(violation))
            .or(violations.first());
        let Some(&first) = first else {
            return Vec::new();
        };
        if is_about_target(&first) {
            return vec![self.violation(selected, first)];
        }
        if let Some(explanation) = self.missing_braces().or_else(|| self.split_operand()) {
            return vec![explanation];
        }
        // If no row of a table matches, operands have no types and lengths.
        let table = violations
            .iter()
            .find(|violation| matches!(violation, Violation::Table(_)));
        let has_wrong_operand = violations
            .iter()
            .any(|violation| matches!(violation, Violation::Operand(..)));
        if table.is_none() && has_wrong_operand {
            return match self.single_mistake(selected) {
                Some(explanation) => vec![explanation],
                None => self.explain_operands(selected),
            };
        }
        vec![self.explain_violation(selected, *table.unwrap_or(&first))]
    }

    /// Explains a violation that is not about a single operand.
    fn explain_violation(&self, selected: &FormMatch<'_>, violation: Violation) -> Explanation {
        if let (Violation::Count(..), Search::Full) = (violation, self.search)
            && let Some(explanation) = self.explain_count(selected.form())
        {
            return explanation;
        }
        let explanation = self.violation(selected, violation);
        let repairs = self.full_repairs();
        // The modifier that violates a rule is more likely wrong than the others.
        let first = repairs
            .iter()
            .find(|repair| match repair.edit() {
                ModifierEdit::Replace(index, _) => explanation.part == modifiers(index, index),
                _ => false,
            })
            .or(repairs.first());
        let Some(first) = first.map(Repair::edit) else {
            return explanation;
        };
        let inserts = matches!(first, ModifierEdit::Insert(..));
        match (&explanation.kind, explanation.part) {
            (InstProblemKind::Count { .. } | InstProblemKind::Removed(..), _) if inserts => {
                self.repairable(first, repairs, None)
            }
            (InstProblemKind::ModifierCombination(_), _) => self.repairable(first, repairs, None),
            (&InstProblemKind::Rule(form, rule), Part::Mnemonic | Part::Modifiers(..)) => {
                self.repairable(first, repairs, Some((form, rule)))
            }
            _ => explanation,
        }
    }

    /// Explains a violation that is not about a single operand, without a search for repairs.
    fn violation(&self, selected: &FormMatch<'_>, violation: Violation) -> Explanation {
        let query = self.query;
        let form = named_form(selected);
        let (part, kind) = match violation {
            Violation::Count(least, most) => {
                let count = query.operands().len();
                let has_too_many = count > most;
                let part = if has_too_many {
                    Part::Operand(most as u32)
                } else {
                    Part::Mnemonic
                };
                let is_legal_without_extra = has_too_many
                    && query
                        .operands()
                        .get(..most)
                        .is_some_and(|operands| self.is_legal(operands));
                let kind = InstProblemKind::Count {
                    form,
                    count,
                    least,
                    most,
                    is_legal_without_extra,
                };
                (part, kind)
            }
            Violation::Table(table) => (
                inst_part::columns(query, selected, table).unwrap_or(Part::Mnemonic),
                InstProblemKind::ModifierCombination(form),
            ),
            Violation::RequiresTarget(floors) => {
                let version = first_version(selected, floors);
                (
                    Part::Mnemonic,
                    InstProblemKind::Unavailable(floors, version),
                )
            }
            Violation::RemovedIn(floors) => {
                let kind = match modifier_with_mask(self.environment, query) {
                    Some(edit) => InstProblemKind::RemovedWithoutMask(floors, edit),
                    None => InstProblemKind::Removed(floors, replacement(form.form)),
                };
                (Part::Mnemonic, kind)
            }
            Violation::Register(register) => (
                Part::OperandToken(register.text()),
                InstProblemKind::SpecialRegister(register),
            ),
            Violation::Rule(rule) => (
                inst_part::rule(query, selected, rule).unwrap_or(Part::Mnemonic),
                InstProblemKind::Rule(form, rule),
            ),
            _ => (Part::Mnemonic, InstProblemKind::Other(form)),
        };
        Explanation::new(part, kind)
    }

    /// Explains a wrong number of operands: a condition among them, or an instruction without its result.
    fn explain_count(&self, form: &Form) -> Option<Explanation> {
        let operands = self.query.operands();
        let predicate = operands
            .iter()
            .position(|o| matches!(o.shape, OperandShape::Register(ScalarType::Pred)));
        if let Some(index) = predicate {
            let mut without_predicate = operands.to_vec();
            without_predicate.remove(index);
            let is_branch = without_predicate
                .iter()
                .any(|operand| matches!(operand.shape, OperandShape::Label));
            if is_branch && self.is_legal(&without_predicate) {
                let kind = InstProblemKind::Condition(index as u32);
                return Some(Explanation::new(Part::Operand(index as u32), kind));
            }
        }
        // Only a result can be omitted.
        if form.operands().first()?.role() != Role::Def {
            return None;
        }
        let mut legal_opcodes = Opcode::ALL.iter().copied().filter(|opcode| {
            let form = self.environment.select(&self.query.with_opcode(*opcode));
            form.is_ok_and(|form| form.violations().is_empty())
        });
        if let (Some(opcode), None) = (legal_opcodes.next(), legal_opcodes.next()) {
            let kind = InstProblemKind::WithoutResult(Some(opcode));
            return Some(Explanation::new(Part::Mnemonic, kind));
        }
        let mut with_result = operands.to_vec();
        with_result.insert(0, ActualOperand::new(OperandShape::Discard));
        let kind = InstProblemKind::WithoutResult(None);
        let explanation = Explanation::new(Part::Mnemonic, kind);
        self.is_legal(&with_result).then_some(explanation)
    }
}

/// Explains that no form takes the modifiers, and no change of one of them makes them legal.
fn mismatch(query: &InstQuery<'_>, no_form: &NoForm) -> Explanation {
    let Some(form) = no_form.form() else {
        let kind = InstProblemKind::UnknownInstruction(query.opcode());
        return Explanation::new(Part::Mnemonic, kind);
    };
    let form = NamedForm {
        instruction: ptx_isa::find_instruction(query.opcode(), query.modifiers()),
        form,
    };
    let violations = no_form.violations().as_slice();
    // A wrong modifier is more likely the mistake than a missing one.
    let wrong = violations.iter().find_map(|violation| match *violation {
        Violation::Modifier(index) => Some((index, query.modifiers().get(index).copied()?)),
        _ => None,
    });
    if let Some((index, modifier)) = wrong {
        let earlier = query.modifiers().get(..index).unwrap_or_default();
        let reason = if earlier.contains(&modifier) {
            ModifierReason::Duplicate
        } else if form.form.accepts(modifier) {
            ModifierReason::Conflict
        } else {
            ModifierReason::NotTaken
        };
        let kind = InstProblemKind::Modifier(reason, modifier, form);
        return Explanation::new(modifiers(index, index), kind);
    }
    let slot = match violations.first() {
        Some(&Violation::Slot(index)) => form.form.slot(index),
        _ => None,
    };
    match slot {
        Some(slot) => Explanation::new(
            Part::MnemonicEnd,
            InstProblemKind::MissingModifier(form, slot),
        ),
        None => Explanation::new(Part::Mnemonic, InstProblemKind::ModifierCombination(form)),
    }
}

/// Returns warnings about modifiers without effect.
fn redundant_modifiers<'q>(
    query: &'q InstQuery<'_>,
    form: &'q FormMatch<'_>,
) -> impl Iterator<Item = Explanation> + 'q {
    form.redundant().filter_map(|index| {
        let modifier = *query.modifiers().get(index)?;
        let earlier = query.modifiers().get(..index)?;
        let redundancy = if earlier.contains(&modifier) {
            Redundancy::Duplicate
        } else {
            Redundancy::NoEffect
        };
        let kind = InstProblemKind::Redundant(redundancy, modifier);
        Some(Explanation::new(modifiers(index, index), kind))
    })
}

/// Returns a warning about a deprecated instruction or modifier.
fn deprecated(query: &InstQuery<'_>, deprecation: Deprecation) -> Explanation {
    let index = query.modifiers().iter().position(|modifier| {
        deprecation
            .words()
            .is_some_and(|words| words.contains(*modifier))
    });
    let modifier = index
        .and_then(|index| query.modifiers().get(index))
        .copied();
    let part = index.map_or(Part::Mnemonic, |index| modifiers(index, index));
    Explanation::new(part, InstProblemKind::Deprecated(modifier, deprecation))
}

/// Returns a form with its instruction.
pub(crate) fn named_form(form: &FormMatch<'_>) -> NamedForm {
    NamedForm {
        instruction: Some(form.instruction()),
        form: form.form(),
    }
}

/// Returns the replacement of a form that was named in the warning before its removal.
fn replacement(form: &'static Form) -> Option<&'static str> {
    form.rules().iter().find_map(|rule| match rule.kind() {
        RuleKind::Deprecated(_, _, replacement) => Some(replacement),
        _ => None,
    })
}

/// Returns the modifier with which an instruction is legal if a mask of the participating threads follows its operands.
fn modifier_with_mask(environment: Environment, query: &InstQuery<'_>) -> Option<ModifierEdit> {
    let mut candidates: Vec<Modifier> = query
        .opcode()
        .instructions()
        .iter()
        .flat_map(|instruction| instruction.forms().iter())
        .filter(|form| {
            let last = form.operands().last();
            last.is_some_and(|operand| operand.marks().contains(Marks::PARTICIPANTS))
        })
        .flat_map(|form| form.slots().filter(|slot| !slot.is_optional()))
        .filter_map(|slot| slot.words().as_slice().first())
        .copied()
        .collect();
    candidates.dedup();
    let mut operands = query.operands().to_vec();
    operands.push(ActualOperand::new(OperandShape::Integer(ALL_LANES)));
    candidates.into_iter().find_map(|modifier| {
        let edit = ModifierEdit::Insert(0, modifier);
        let modifiers = edit.apply(query.modifiers());
        let query = query.with_modifiers(&modifiers);
        let form = environment.select(&query.with_operands(&operands)).ok()?;
        form.violations().is_empty().then_some(edit)
    })
}
