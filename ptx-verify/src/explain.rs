//! Explains why an instruction is not legal: how it differs from the nearest legal one.

use alloc::vec::Vec;
use core::iter;
use ptx_ir::query::Environment;
use ptx_isa::{
    ActualOperand, Deprecation, Form, FormMatch, InstQuery, MAX_OPERANDS, Marks, Modifier,
    ModifierEdit, NoForm, Opcode, OperandShape, OperandViolation, Repair, Role, Rule, RuleKind,
    ScalarType, Spaces, Violation,
};

use crate::inst_part::{self, modifiers};
use crate::location::Part;
use crate::problem::instruction::{InstProblemKind, ModifierReason, Named, Redundancy};
use crate::problem::operand::{Brackets, FoundOperand, OperandMismatch};

/// An error in a part of an instruction.
#[derive(Clone, Debug)]
pub(crate) struct Explanation {
    pub(crate) part: Part,
    pub(crate) kind: InstProblemKind,
    /// Other parts that are wrong for the same reason, and how.
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
}

/// A wrong operand, and others that are wrong for the same reason.
type Mismatches = (Part, OperandMismatch, Vec<(Part, InstProblemKind)>);

/// Whether changes that make an instruction legal are searched.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Search {
    None,
    Full,
}

/// The problems of an instruction; `wide` states whether the module has 64-bit addresses.
pub(crate) fn explain(
    environment: Environment,
    wide: bool,
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
            let small = form.small_addresses().take(usize::from(wide));
            let small = small.map(|index| {
                let part = inst_part::operand(query, &form, index).unwrap_or(Part::Mnemonic);
                Explanation::new(part, InstProblemKind::SmallAddress)
            });
            redundant(query, &form).chain(old).chain(small).collect()
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
            Some(first) => match self.conflict(&repairs) {
                Some(found) => found,
                None => self.repairable(first.edit(), repairs, None),
            },
            None => mismatch(self.query, no_form),
        }
    }

    /// Two modifiers of which one has to go.
    fn conflict(&self, repairs: &[Repair]) -> Option<Explanation> {
        let mut removed = repairs.iter().filter_map(|r| match r.edit() {
            ModifierEdit::Remove(index) => Some(index),
            _ => None,
        });
        let modifiers = self.query.modifiers();
        let (first, second) = (removed.next()?, removed.next()?);
        let [a, b] = [first, second].map(|i| modifiers.get(i).copied());
        let (a, b) = (a?, b?);
        let of_repairs = repairs.len() == 2 && removed.next().is_none() && a != b;
        let later = first.max(second);
        let pair = if first > second { (a, b) } else { (b, a) };
        of_repairs.then(|| {
            Explanation::new(
                inst_part::modifiers(later, later),
                InstProblemKind::Conflict(pair.0, pair.1),
            )
        })
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
        if let (Violation::Count(..), Search::Full) = (violation, self.search)
            && let Some(found) = self.wrong_count(selected.form())
        {
            return found;
        }
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
                | OperandViolation::NeedsRegister
                | OperandViolation::Length(_)
                | OperandViolation::Space
                | OperandViolation::Shape
                | OperandViolation::Missing
                | OperandViolation::Unexpected,
            ) => self.full_repairs(),
            _ => Vec::new(),
        };
        repairs.retain(Repair::fits_operands);
        // The length of a vector follows from a shape or a number, not from the type; a constant is not an additional operand.
        let constant = |index: usize| {
            let written = selected.operands().get(index);
            written.is_some_and(|w| w.shape.constant_kind().is_some())
        };
        repairs.retain(|r| match first {
            Some(OperandViolation::Length(_)) => type_change(self.query, r).is_none(),
            _ => true,
        });
        let all = selected.violations().as_slice().iter();
        let unexpected = |v: &Violation| match v {
            Violation::Operand(index, OperandViolation::Unexpected) => constant(*index),
            _ => false,
        };
        if all.clone().any(unexpected) {
            repairs.clear();
        }
        // A type with the same sign is more likely meant.
        repairs.sort_by_key(|r| {
            let changed = type_change(self.query, r);
            changed.is_some_and(|(a, b)| a.is_integer() && b.is_integer() && a.kind() != b.kind())
        });
        let one_cause = !repairs.is_empty();
        let all = selected.violations().as_slice().iter();
        let mismatches = all.filter_map(|v| match *v {
            Violation::Operand(index, problem) => operand(self.query, selected, index, problem),
            _ => None,
        });
        let mut found: Vec<Mismatches> = Vec::new();
        for (part, mismatch) in mismatches {
            let same = |other: &&mut Mismatches| one_cause || other.1.has_cause_of(&mismatch);
            // Several violations of one operand are one mistake.
            if found.last().is_some_and(|last| last.0 == part) {
                continue;
            }
            match found.iter_mut().find(same) {
                Some(first) => {
                    let kind = InstProblemKind::Operand(mismatch);
                    first.2.push((part, kind));
                }
                None => found.push((part, mismatch, Vec::new())),
            }
        }
        let (all_of_type, bracketed) = (self.all_of_type(selected), self.lacks_brackets(&found));
        let with_repairs = |(part, mut mismatch, repeats): Mismatches| {
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
    fn lacks_brackets(&self, found: &[Mismatches]) -> Option<Brackets> {
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

    /// Whether the instruction is legal with other operands.
    fn takes(&self, operands: &[ActualOperand<'_>]) -> bool {
        let query = self.query.with_operands(operands);
        let form = self.environment.select(&query).ok();
        form.is_some_and(|f| f.violations().is_empty())
    }

    /// A condition among the operands, or a result that is not wanted.
    fn wrong_count(&self, form: &Form) -> Option<Explanation> {
        let operands = self.query.operands();
        let is_predicate =
            |o: &ActualOperand<'_>| matches!(o.shape, OperandShape::Register(ScalarType::Pred));
        if let Some(index) = operands.iter().position(is_predicate) {
            let mut others = operands.to_vec();
            others.remove(index);
            let is_branch = others
                .iter()
                .any(|o| matches!(o.shape, OperandShape::Label));
            if is_branch && self.takes(&others) {
                let kind = InstProblemKind::Condition(index as u32);
                return Some(Explanation::new(Part::Operand(index as u32), kind));
            }
        }
        // Only a result can be unwanted.
        if form.operands().first()?.role() != Role::Def {
            return None;
        }
        let opcodes = Opcode::ALL.iter().copied();
        let mut others = opcodes.filter(|opcode| {
            let query = self.query.with_opcode(*opcode);
            let form = self.environment.select(&query).ok();
            form.is_some_and(|f| f.violations().is_empty())
        });
        if let (Some(opcode), None) = (others.next(), others.next()) {
            let kind = InstProblemKind::WithoutResult(Some(opcode));
            return Some(Explanation::new(Part::Mnemonic, kind));
        }
        let discarded = ActualOperand::new(OperandShape::Discard);
        let with_result: Vec<_> = iter::once(discarded)
            .chain(operands.iter().copied())
            .collect();
        let kind = InstProblemKind::WithoutResult(None);
        let found = Explanation::new(Part::Mnemonic, kind);
        self.takes(&with_result).then_some(found)
    }

    /// The elements of a vector in an address that are written as separate parts.
    fn missing_inner_braces(&self) -> Option<Explanation> {
        let operands = self.query.operands();
        for (nth, operand) in operands.iter().enumerate() {
            let OperandShape::Bracket(parts) = operand.shape else {
                continue;
            };
            for start in 1..parts.len() {
                let vector = ActualOperand::new(OperandShape::Vector(&parts[start..]));
                let mut grouped = parts[..start].to_vec();
                grouped.push(vector);
                let mut all = operands.to_vec();
                if let Some(entry) = all.get_mut(nth) {
                    *entry = ActualOperand::new(OperandShape::Bracket(&grouped));
                }
                // Another target may be needed, too, which is reported afterwards.
                let query = self.query.with_operands(&all);
                let form = self.environment.select(&query).ok();
                let of_target = |v: &Violation| matches!(v, Violation::RequiresTarget(_));
                if form.is_some_and(|f| f.violations().as_slice().iter().all(of_target)) {
                    let places = (nth as u32, start as u32, parts.len() as u32 - 1);
                    let kind = InstProblemKind::MissingInnerBraces(places.0, places.1, places.2);
                    return Some(Explanation::new(
                        Part::Elements(places.0, places.1, places.2),
                        kind,
                    ));
                }
            }
        }
        None
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
        let found = found.map(|(first, last)| braces(first, last, true));
        found.or_else(|| self.missing_inner_braces())
    }
}

/// The type that a change replaces, and the new one.
fn type_change(query: &InstQuery<'_>, repair: &Repair) -> Option<(ScalarType, ScalarType)> {
    match repair.edit() {
        ModifierEdit::Replace(index, new) => {
            let old = query.modifiers().get(index)?;
            Some((old.scalar_type()?, new.scalar_type()?))
        }
        _ => None,
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

/// The replacement of a form, as the warning before its removal names it.
fn replacement(form: &'static Form) -> Option<&'static str> {
    form.rules().iter().find_map(|rule| match rule.kind() {
        RuleKind::Deprecated(_, _, instead) => Some(instead),
        _ => None,
    })
}

/// The mask of all threads of a warp.
pub(crate) const ALL_LANES: i64 = 0xffff_ffff;

/// The modifier with which an instruction is legal if a mask of the threads that take part follows its operands.
fn with_mask(environment: Environment, query: &InstQuery<'_>) -> Option<ModifierEdit> {
    let forms = query.opcode().instructions().iter();
    let forms = forms.flat_map(|i| i.forms().iter());
    let masked = forms.filter(|form| {
        let last = form.operands().last();
        last.is_some_and(|o| o.marks().contains(Marks::PARTICIPANTS))
    });
    let fixed = masked.flat_map(|form| form.slots().filter(|s| !s.is_optional()));
    let mut added: Vec<Modifier> = fixed
        .filter_map(|s| s.words().as_slice().first())
        .copied()
        .collect();
    added.dedup();
    let mut operands = query.operands().to_vec();
    operands.push(ActualOperand::new(OperandShape::Integer(ALL_LANES)));
    added.into_iter().find_map(|modifier| {
        let edit = ModifierEdit::Insert(0, modifier);
        let modifiers = edit.apply(query.modifiers());
        let query = query.with_modifiers(&modifiers);
        let form = environment.select(&query.with_operands(&operands)).ok()?;
        form.violations().is_empty().then_some(edit)
    })
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
            let kind = match with_mask(environment, query) {
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
