//! Explains why an instruction is not legal: how it differs from the nearest legal one.

use alloc::vec::Vec;
use ptx_ir::query::Environment;
use ptx_isa::{
    ActualOperand, Deprecation, FormMatch, InstQuery, MAX_OPERANDS, Modifier, ModifierEdit, NoForm,
    OperandShape, OperandViolation, Repair, Role, Rule, Spaces, Violation,
};
use smallvec::SmallVec;

use crate::inst_part::{self, modifiers};
use crate::location::Part;
use crate::problem::instruction::{InstProblemKind, ModifierReason, Named, Redundancy};
use crate::problem::operand::{Brackets, FoundOperand, OperandMismatch};

/// An error in a part of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    pub(crate) part: Part,
    pub(crate) kind: InstProblemKind,
    /// Other parts that are wrong for the same reason.
    pub(crate) repeats: SmallVec<[Part; 4]>,
}

impl Explanation {
    pub(crate) fn new(part: Part, kind: InstProblemKind) -> Self {
        let repeats = SmallVec::new();
        Self {
            part,
            kind,
            repeats,
        }
    }
}

/// Whether changes that make an instruction legal are searched.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    None,
    Full,
}

/// What there is to report about an instruction.
pub(crate) fn explain(
    environment: Environment,
    query: &InstQuery<'_>,
    search: Search,
) -> Vec<Explanation> {
    let explainer = Explainer {
        environment,
        query,
        search,
    };
    match environment.select(query) {
        Err(no_form) => vec![explainer.of_modifiers(&no_form)],
        Ok(form) if form.violations().is_empty() => {
            let old = environment.deprecations(&form);
            let old = old.map(|deprecation| deprecated(query, deprecation));
            redundant(query, &form).chain(old).collect()
        }
        Ok(form) => explainer.violations(&form),
    }
}

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
                (self.query).repairs(environment.version(), environment.target())
            }
        }
    }

    /// Changes of one modifier that make all of the instruction legal.
    fn full_repairs(&self) -> Vec<Repair> {
        let mut repairs = self.repairs();
        let fits = repairs.first().is_some_and(Repair::fits_operands);
        repairs.truncate(if fits { repairs.len() } else { 0 });
        repairs
    }

    /// Why no form takes the modifiers.
    fn of_modifiers(&self, no_form: &NoForm) -> Explanation {
        let repairs = self.repairs();
        match repairs.first() {
            Some(first) => self.repairable(first.edit(), repairs, None),
            None => mismatch(self.query, no_form),
        }
    }

    fn repairable(
        &self,
        first: ModifierEdit,
        mut repairs: Vec<Repair>,
        rule: Option<(Named, &'static Rule)>,
    ) -> Explanation {
        let part = match first {
            ModifierEdit::Replace(index, _) | ModifierEdit::Remove(index) => {
                modifiers(index, index)
            }
            _ => Part::Mnemonic,
        };
        // Modifiers in another place are another mistake.
        repairs.retain(|r| match (r.edit(), first) {
            (ModifierEdit::Replace(a, _), ModifierEdit::Replace(b, _))
            | (ModifierEdit::Remove(a), ModifierEdit::Remove(b)) => a == b,
            _ => true,
        });
        Explanation::new(part, InstProblemKind::Repairable { repairs, rule })
    }

    /// The violations of an instruction whose modifiers match a form: all of operands, or else the first of the others.
    fn violations(&self, selected: &FormMatch<'_>) -> Vec<Explanation> {
        let all = selected.violations().as_slice();
        let own =
            |v: &Violation| !matches!(v, Violation::RequiresTarget(_) | Violation::Register(_));
        let first = all.iter().find(|v| own(v)).or(all.first()).copied();
        let Some(first) = first else {
            return Vec::new();
        };
        if !own(&first) {
            return vec![whole(self.environment, self.query, selected, first)];
        }
        if let Some(found) = self.missing_braces().or_else(|| self.apart()) {
            return vec![found];
        }
        // Where no row of a table matches, operands have no types and lengths.
        let table = all.iter().find(|v| matches!(v, Violation::Table(_)));
        let of_operand = |v: &Violation| matches!(v, Violation::Operand(..));
        if table.is_none() && all.iter().any(of_operand) {
            return match self.one_mistake(selected) {
                Some(found) => vec![found],
                None => self.operands(selected),
            };
        }
        vec![self.whole(selected, *table.unwrap_or(&first))]
    }

    /// A violation that is not one of a single operand.
    fn whole(&self, selected: &FormMatch<'_>, violation: Violation) -> Explanation {
        let found = whole(self.environment, self.query, selected, violation);
        let repairs = self.full_repairs();
        // The modifier that violates a rule is more likely wrong than the others.
        let culprit = |r: &&Repair| match (r.edit(), found.part) {
            (ModifierEdit::Replace(index, _), part) => part == modifiers(index, index),
            _ => false,
        };
        let first = repairs.iter().find(culprit).or(repairs.first());
        let Some(first) = first.map(Repair::edit) else {
            return found;
        };
        let inserts = matches!(first, ModifierEdit::Insert(..));
        match (&found.kind, found.part) {
            (InstProblemKind::Count(..) | InstProblemKind::Removed(..), _) if inserts => {
                self.repairable(first, repairs, None)
            }
            (InstProblemKind::ModifierCombination(_), _) => self.repairable(first, repairs, None),
            (&InstProblemKind::Rule(form, rule), Part::Mnemonic | Part::Modifiers(..)) => {
                self.repairable(first, repairs, Some((form, rule)))
            }
            _ => found,
        }
    }

    /// The operands that violate something: those with the same cause together.
    fn operands(&self, selected: &FormMatch<'_>) -> Vec<Explanation> {
        let mut violations = selected.violations().as_slice().iter();
        // A constant out of range or a sign says nothing about the modifiers.
        let first = violations.find_map(|v| match v {
            Violation::Operand(_, problem) => Some(*problem),
            _ => None,
        });
        let mut repairs = match first {
            Some(
                OperandViolation::Type
                | OperandViolation::Length(_)
                | OperandViolation::Space
                | OperandViolation::Shape
                | OperandViolation::Missing
                | OperandViolation::Unexpected,
            ) => self.full_repairs(),
            _ => Vec::new(),
        };
        repairs.retain(Repair::fits_operands);
        let one_cause = !repairs.is_empty();
        let all = selected.violations().as_slice().iter();
        let mismatches = all.filter_map(|v| match *v {
            Violation::Operand(index, problem) => operand(self.query, selected, index, problem),
            _ => None,
        });
        let mut found: Vec<(Part, OperandMismatch, SmallVec<[Part; 4]>)> = Vec::new();
        for (part, mismatch) in mismatches {
            let same = |other: &&mut (Part, OperandMismatch, SmallVec<[Part; 4]>)| {
                one_cause || other.1.has_cause_of(&mismatch)
            };
            // Several violations of one operand are one mistake.
            if found.last().is_some_and(|last| last.0 == part) {
                continue;
            }
            match found.iter_mut().find(same) {
                Some(first) => first.2.push(part),
                None => found.push((part, mismatch, SmallVec::new())),
            }
        }
        let (all_of_type, bracketed) = (self.all_of_type(selected), self.lacks_brackets(&found));
        let with_repairs =
            |(part, mut mismatch, repeats): (Part, OperandMismatch, SmallVec<[Part; 4]>)| {
                mismatch.repairs.clone_from(&repairs);
                mismatch.others = repeats.len();
                mismatch.all_of_type = all_of_type;
                mismatch.brackets = bracketed;
                Explanation {
                    part,
                    kind: InstProblemKind::Operand(mismatch),
                    repeats,
                }
            };
        found.into_iter().map(with_repairs).collect()
    }

    /// Whether no register has the type that a modifier says.
    fn all_of_type(&self, selected: &FormMatch<'_>) -> bool {
        let violations = selected.violations().as_slice();
        let is_wrong = |index: usize| {
            let wrong = Violation::Operand(index, OperandViolation::Type);
            violations.contains(&wrong)
        };
        let operands = selected.form().operands().iter().enumerate();
        let mut typed = operands.filter(|(index, o)| {
            let written = selected.operands().get(*index).map(|w| w.shape);
            let register = matches!(
                written,
                Some(OperandShape::Register(_) | OperandShape::Vector(_))
            );
            register && o.ty().slot().is_some()
        });
        typed.all(|(index, _)| is_wrong(index))
    }

    /// Whether brackets around the first of these operands make the instruction legal.
    fn lacks_brackets(
        &self,
        found: &[(Part, OperandMismatch, SmallVec<[Part; 4]>)],
    ) -> Option<Brackets> {
        let operands = self.query.operands();
        let Some((Part::Operand(nth), mismatch, _)) = found.first() else {
            return None;
        };
        if mismatch.operand.role() != Role::Addr {
            return None;
        }
        let nth = *nth as usize;
        let legal = |other: usize| {
            let mut bracketed = operands.to_vec();
            bracketed.swap(nth, other);
            let inside = bracketed.get(nth..=nth).unwrap_or_default().to_vec();
            if let Some(entry) = bracketed.get_mut(nth) {
                *entry = ActualOperand::new(OperandShape::Bracket(&inside));
            }
            let query = self.query.with_operands(&bracketed);
            let form = self.environment.select(&query).ok();
            form.is_some_and(|f| f.violations().is_empty())
        };
        operands.get(nth)?;
        legal(nth).then_some(())?;
        // A result is the first operand in any case.
        let result = mismatch.form.form.operands().first();
        let first = usize::from(result.is_some_and(|o| o.role() == Role::Def));
        let mut others = (first..operands.len()).filter(|other| *other != nth);
        Some(match others.any(legal) {
            true => Brackets::Perhaps,
            false => Brackets::Certain,
        })
    }

    /// The elements of a vector that are written as separate operands.
    fn missing_braces(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        let is_element = |o: &ActualOperand<'_>| match o.shape {
            OperandShape::Register(_) | OperandShape::Discard => true,
            shape => shape.constant_kind().is_some(),
        };
        if self.search == Search::None {
            return None;
        }
        let mut found: Option<(u32, u32)> = None;
        for length in [2, 4, 8] {
            if operands.len() > MAX_OPERANDS + length - 1 {
                continue;
            }
            for (start, elements) in operands.windows(length).enumerate() {
                if !elements.iter().all(is_element) {
                    continue;
                }
                let mut grouped = operands.to_vec();
                let vector = ActualOperand::new(OperandShape::Vector(elements));
                grouped.splice(start..start + length, [vector]);
                let query = self.query.with_operands(&grouped);
                let form = self.environment.select(&query).ok();
                if form.is_some_and(|f| f.violations().is_empty()) {
                    if let Some((first, last)) = found {
                        return Some(braces(first, last, false));
                    }
                    found = Some((start as u32, (start + length - 1) as u32));
                }
            }
        }
        found.map(|(first, last)| braces(first, last, true))
    }
}

/// Operands that are elements of a vector, and whether no others can be.
fn braces(first: u32, last: u32, only: bool) -> Explanation {
    let kind = InstProblemKind::MissingBraces(first, last, only);
    Explanation::new(Part::Operands(first, last), kind)
}

/// Why no form takes the modifiers, where no change of one of them helps.
fn mismatch(query: &InstQuery<'_>, no_form: &NoForm) -> Explanation {
    let Some(form) = no_form.form() else {
        let kind = InstProblemKind::UnknownInstruction(query.opcode());
        return Explanation::new(Part::Mnemonic, kind);
    };
    let form = Named {
        instruction: ptx_isa::find_instruction(query.opcode(), query.modifiers()),
        form,
    };
    let violations = no_form.violations().as_slice();
    // A modifier that does not belong is closer to the mistake than one that is missing.
    let wrong = violations.iter().find_map(|v| match *v {
        Violation::Modifier(index) => Some((index, query.modifiers().get(index).copied()?)),
        _ => None,
    });
    if let Some((index, modifier)) = wrong {
        let before = query.modifiers().get(..index).unwrap_or_default();
        let reason = if before.contains(&modifier) {
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

/// Modifiers without effect.
fn redundant<'q>(
    query: &'q InstQuery<'_>,
    form: &'q FormMatch<'_>,
) -> impl Iterator<Item = Explanation> + 'q {
    form.redundant().filter_map(|index| {
        let modifier = *query.modifiers().get(index)?;
        let before = query.modifiers().get(..index)?;
        let why = match before.contains(&modifier) {
            true => Redundancy::Duplicate,
            false => Redundancy::NoEffect,
        };
        let kind = InstProblemKind::Redundant(why, modifier);
        Some(Explanation::new(modifiers(index, index), kind))
    })
}

fn deprecated(query: &InstQuery<'_>, deprecation: Deprecation) -> Explanation {
    let is_old = |m: &Modifier| deprecation.words().is_some_and(|w| w.contains(*m));
    let index = query.modifiers().iter().position(is_old);
    let modifier = index.and_then(|i| query.modifiers().get(i)).copied();
    let part = index.map_or(Part::Mnemonic, |i| modifiers(i, i));
    Explanation::new(part, InstProblemKind::Deprecated(modifier, deprecation))
}

pub(crate) fn named(form: &FormMatch<'_>) -> Named {
    Named {
        instruction: Some(form.instruction()),
        form: form.form(),
    }
}

fn operand(
    query: &InstQuery<'_>,
    form: &FormMatch<'_>,
    index: usize,
    problem: OperandViolation,
) -> Option<(Part, OperandMismatch)> {
    let written = form.operands().get(index);
    let operand = form.form().operands().get(index)?;
    let space = match operand.spaces() {
        Spaces::Slot(slot) => form.assignment().word(slot.into()),
        _ => None,
    };
    let part = inst_part::operand(query, form, index).unwrap_or(Part::Mnemonic);
    let mismatch = OperandMismatch {
        form: named(form),
        operand,
        space,
        others: 0,
        all_of_type: false,
        brackets: None,
        part,
        problem,
        expected: form.expected(index),
        found: written.map_or(FoundOperand::Other, |w| FoundOperand::of(w.shape)),
        repairs: Vec::new(),
    };
    Some((part, mismatch))
}

fn whole(
    environment: Environment,
    query: &InstQuery<'_>,
    selected: &FormMatch<'_>,
    violation: Violation,
) -> Explanation {
    let form = named(selected);
    let (part, kind) = match violation {
        Violation::Count(least, most) => {
            let found = query.operands().len();
            let part = match found > most {
                true => Part::Operand(most as u32),
                false => Part::Mnemonic,
            };
            let kept = query.operands().get(..most).filter(|_| found > most);
            let extra = kept.is_some_and(|operands| {
                let query = query.with_operands(operands);
                let form = environment.select(&query).ok();
                form.is_some_and(|f| f.violations().is_empty())
            });
            (
                part,
                InstProblemKind::Count(form, found, least, most, extra),
            )
        }
        Violation::Table(table) => (
            inst_part::columns(query, selected, table).unwrap_or(Part::Mnemonic),
            InstProblemKind::ModifierCombination(form),
        ),
        Violation::RequiresTarget(floors) => (Part::Mnemonic, InstProblemKind::Unavailable(floors)),
        Violation::RemovedIn(floors) => {
            let kind = InstProblemKind::Removed(floors, None);
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
