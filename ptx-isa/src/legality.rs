//! Whether an instruction is legal, why not, and from when and where on it is.

use crate::check_form::FormChecker;
use crate::operand_binding::{Binding, bindings, operand_count};
use crate::type_compat::Expected;
use crate::{
    Cond, Form, InstQuery, Instruction, ModifierSet, OperandShape, PtxVersion, RuleKind, Since,
    Slot, SlotAssignment, SpecialReg, Target, TargetSet, Violation, Violations, find_instruction,
};

/// What an instruction needs of the version and the target.
#[derive(Copy, Clone)]
enum Failure {
    /// One of these is met.
    One(&'static [Since]),
    /// None of these is met.
    No(&'static [Since]),
    /// The special register is there.
    Register(SpecialReg),
}

impl Failure {
    /// The targets on which a version has it.
    fn targets(self, version: PtxVersion) -> TargetSet {
        match self {
            Self::One(floors) => satisfied(floors, version),
            Self::No(floors) => satisfied(floors, version).not(),
            Self::Register(register) if register.since() <= version => {
                register.target().map_or(TargetSet::ALL, TargetSet::from)
            }
            Self::Register(_) => TargetSet::NONE,
        }
    }
}

/// Something that is still taken, and is to be written in another way.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Deprecation {
    /// The words that are deprecated; `None` where the whole instruction is.
    pub words: Option<ModifierSet>,
    /// Since this version.
    pub since: PtxVersion,
    /// What to write instead, after "write".
    pub instead: &'static str,
}

/// A form that takes the modifiers of an instruction, and what is wrong with the rest of it.
#[derive(Clone, Debug)]
pub struct FormMatch<'a> {
    /// The named instruction.
    pub instruction: &'static Instruction,
    /// The form.
    pub form: &'static Form,
    /// What fills its slots. Modifiers count from the end of the instruction's name.
    pub assignment: SlotAssignment,
    /// What is written for its operands.
    pub operands: Binding<'a>,
    /// What is wrong whatever the version and the target.
    pub problems: Violations,
    in_entry: bool,
}

impl<'a> FormMatch<'a> {
    /// The type that an operand of the form must have; `None` where any will do.
    pub fn expected(&self, operand: usize) -> Option<Expected> {
        let ty = self.form.operands().get(operand)?.ty;
        let expected = Expected::of(ty, &self.assignment, self.form);
        (expected != Expected::Any).then_some(expected)
    }

    /// The written modifiers without effect, counted like those of the request: doubled ones, and those that the
    /// assembler does not look at.
    pub fn redundant(&self) -> impl Iterator<Item = usize> {
        let fixed = self.instruction.words().len();
        let rest = 0..self.assignment.len();
        rest.filter(|&i| self.assignment.is_redundant(i))
            .map(move |i| fixed + i)
    }

    /// What of it is deprecated in a version on a target.
    pub fn deprecations(
        &self,
        version: PtxVersion,
        target: Target,
    ) -> impl Iterator<Item = Deprecation> + '_ {
        self.form.rules().iter().filter_map(move |rule| {
            let RuleKind::Deprecated(when, floors, instead) = rule.kind else {
                return None;
            };
            let met = floors.iter().find(|f| f.is_met(version, target))?;
            when.holds(&self.judge()).then_some(Deprecation {
                words: match when {
                    Cond::Holds(_, words) => Some(words),
                    Cond::Filled(slot) => self.form.slot(slot.into()).map(Slot::words),
                    _ => None,
                },
                since: met.version,
                instead,
            })
        })
    }

    /// How many bits an operand of the form holds with all its elements, as its type and its vector length say.
    pub fn width(&self, operand: usize) -> Option<u32> {
        let of = self.form.operands().get(operand)?;
        let bits = Expected::of(of.ty, &self.assignment, self.form).bits()?;
        let (elements, _) = self.judge().wanted_length(operand, of).unwrap_or((1, true));
        Some(u32::from(bits) * u32::from(elements))
    }

    /// What the word of an effect stands for: of a slot what fills it, else its default.
    pub fn word(&self, word: crate::ModifierSource) -> Option<crate::Modifier> {
        match word {
            crate::ModifierSource::Fixed(modifier) => Some(modifier),
            crate::ModifierSource::Slot(slot) => {
                let slot = usize::from(slot);
                let written = self.assignment.word(slot);
                written.or_else(|| self.form.slot(slot)?.default())
            }
        }
    }

    /// What the instruction does beyond its operands.
    pub fn effects(&self) -> impl Iterator<Item = crate::EffectKind> {
        let judge = self.judge();
        let effects = self.form.effects().iter();
        effects
            .filter(move |e| e.when.holds(&judge))
            .map(|e| e.kind)
    }

    fn judge(&self) -> FormChecker<'a, '_> {
        FormChecker {
            form: self.form,
            assignment: &self.assignment,
            binding: &self.operands,
            in_entry: self.in_entry,
        }
    }

    /// Calls `each` with all that the instruction needs.
    fn each_need(&self, mut each: impl FnMut(Failure)) {
        let judge = self.judge();
        for since in [self.instruction.since(), self.form.since()] {
            if !since.is_empty() {
                each(Failure::One(since));
            }
        }
        for rule in self.form.rules() {
            match rule.kind {
                RuleKind::RequiresTarget(when, floors) if when.holds(&judge) => {
                    each(Failure::One(floors))
                }
                RuleKind::RemovedIn(when, floors) if when.holds(&judge) => {
                    each(Failure::No(floors))
                }
                _ => {}
            }
        }
        for operand in 0..self.form.operands().len() {
            let written = self.operands.get(operand).map(|w| w.shape);
            if let Some(OperandShape::Special(register) | OperandShape::SpecialVector(register)) =
                written
            {
                each(Failure::Register(register));
            }
        }
        for table in self.form.tables() {
            if let Some(row) = judge.row(table).filter(|r| !r.since.is_empty()) {
                each(Failure::One(row.since));
            }
        }
    }

    /// The targets on which this form of the instruction is there in a version, whatever else is wrong with it.
    pub fn targets(&self, version: PtxVersion) -> TargetSet {
        let mut targets = TargetSet::ALL;
        self.each_need(|need| targets = targets.and(need.targets(version)));
        targets
    }

    /// Adds what a version and a target lack to the problems.
    pub fn add_floors(&mut self, version: PtxVersion, target: Target) {
        let mut problems = self.problems;
        self.each_need(|need| {
            if !need.targets(version).contains(target) {
                problems.add(match need {
                    Failure::One(floors) => Violation::RequiresTarget(floors),
                    Failure::No(floors) => Violation::RemovedIn(floors),
                    Failure::Register(register) => Violation::Register(register),
                });
            }
        });
        self.problems = problems;
    }
}

/// Why no form takes the modifiers of an instruction.
#[derive(Copy, Clone, Debug)]
pub struct NoForm {
    /// The form that comes nearest; none where there is no instruction of the name.
    pub form: Option<&'static Form>,
    /// What is wrong, said of that form.
    pub problems: Violations,
}

/// The targets on which one of the floors is met.
fn satisfied(floors: &[Since], version: PtxVersion) -> TargetSet {
    let met = floors.iter().filter(|f| f.version <= version);
    met.fold(TargetSet::NONE, |all, f| all.or(f.targets))
}

impl<'a> InstQuery<'a> {
    /// The named instruction and the modifiers after its name.
    fn named(&self) -> Option<(&'static Instruction, &'a [crate::Modifier])> {
        let instruction = find_instruction(self.opcode, self.modifiers)?;
        let rest = self.modifiers.get(instruction.words().len()..)?;
        Some((instruction, rest))
    }

    /// Every form that takes the modifiers, with the way to bind the operands that has the fewest problems.
    pub fn candidates(&self) -> impl Iterator<Item = FormMatch<'a>> {
        let named = self.named();
        let (operands, in_entry) = (self.operands, self.in_entry);
        let forms = named.map_or(&[][..], |(instruction, _)| instruction.forms());
        forms.iter().filter_map(move |&form| {
            let (instruction, rest) = named?;
            let assignment = form.match_lenient(rest)?;
            let mut best: Option<FormMatch<'a>> = None;
            for binding in bindings(form, operands) {
                let judge = FormChecker {
                    form,
                    assignment: &assignment,
                    binding: &binding,
                    in_entry,
                };
                let problems = judge.problems();
                let better = best
                    .as_ref()
                    .is_none_or(|b| problems.count() < b.problems.count());
                if better {
                    let done = problems.is_empty();
                    best = Some(FormMatch {
                        instruction,
                        form,
                        assignment,
                        operands: binding,
                        problems,
                        in_entry,
                    });
                    if done {
                        break;
                    }
                }
            }
            best.or_else(|| {
                let mut problems = Violations::NONE;
                let (least, most) = operand_count(form);
                problems.add(Violation::Count(least, most));
                Some(FormMatch {
                    instruction,
                    form,
                    assignment,
                    operands: Binding::EMPTY,
                    problems,
                    in_entry,
                })
            })
        })
    }

    /// The form that the instruction is: the first without problems on this version and target, else the one that
    /// comes nearest, with what is wrong. An error where no form takes the modifiers.
    #[allow(clippy::result_large_err, reason = "both sides are as large")]
    pub fn select(&self, version: PtxVersion, target: Target) -> Result<FormMatch<'a>, NoForm> {
        self.nearest(|selection| selection.add_floors(version, target))
    }

    /// [`select`](Self::select) whatever the version and the target.
    #[allow(clippy::result_large_err, reason = "both sides are as large")]
    pub fn select_anywhere(&self) -> Result<FormMatch<'a>, NoForm> {
        self.nearest(|_| ())
    }

    #[allow(clippy::result_large_err, reason = "both sides are as large")]
    fn nearest(&self, add_floors: impl Fn(&mut FormMatch<'a>)) -> Result<FormMatch<'a>, NoForm> {
        let mut best: Option<(usize, FormMatch<'a>)> = None;
        for mut selection in self.candidates() {
            let own = selection.problems.count();
            add_floors(&mut selection);
            if selection.problems.is_empty() {
                return Ok(selection);
            }
            // A wrong number of operands is farther off than any wrong operand; a floor is nearest.
            let count = selection.problems.as_slice().first();
            let far = matches!(count, Some(Violation::Count(..)));
            let distance = usize::from(far) * 1000 + own * 10 + selection.problems.count();
            if best.as_ref().is_none_or(|(d, _)| distance < *d) {
                best = Some((distance, selection));
            }
        }
        best.map(|(_, selection)| selection)
            .ok_or_else(|| self.modifier_problems())
    }

    /// Why no form takes the modifiers, said of the form that comes nearest.
    fn modifier_problems(&self) -> NoForm {
        let mut best = NoForm {
            form: None,
            problems: Violations::NONE,
        };
        let Some((instruction, rest)) = self.named() else {
            best.problems.add(Violation::Instruction);
            return best;
        };
        let fixed = instruction.words().len();
        let mut nearest = usize::MAX;
        for &form in instruction.forms() {
            let mut problems = Violations::NONE;
            for (i, &m) in rest.iter().enumerate() {
                if !form.accepts(m) && !form.ignores(m) {
                    problems.add(Violation::Modifier(fixed + i));
                }
            }
            for (i, slot) in form.slots().enumerate() {
                let fills = |m: &crate::Modifier| {
                    slot.words().contains(*m) || slot.sequences().iter().any(|s| s.contains(m))
                };
                if !slot.is_optional() && !rest.iter().any(fills) {
                    problems.add(Violation::Slot(i));
                }
            }
            if problems.is_empty() {
                // All words are known and none is missing: one is doubled, or stands out of order.
                problems.add(Violation::Modifier(fixed + rest.len().saturating_sub(1)));
            }
            // To write a word too many, or twice, is the smaller slip.
            let missing = problems.as_slice().iter();
            let missing = missing.filter(|p| matches!(p, Violation::Slot(_))).count();
            let distance = problems.count() + missing;
            if best.form.is_none() || distance < nearest {
                nearest = distance;
                let form = Some(form);
                best = NoForm { form, problems };
            }
        }
        best
    }

    /// The targets on which the instruction is legal in a version.
    pub fn targets(&self, version: PtxVersion) -> TargetSet {
        self.candidates()
            .filter(|s| s.problems.is_empty())
            .fold(TargetSet::NONE, |all, s| all.or(s.targets(version)))
    }

    /// The first version in which the instruction is legal on a target.
    pub fn first_version(&self, target: Target) -> Option<PtxVersion> {
        let legal = self.candidates().filter(|s| s.problems.is_empty());
        let firsts = legal.filter_map(|s| {
            let mut versions = PtxVersion::KNOWN.iter().copied();
            versions.find(|&v| target.min_version() <= v && s.targets(v).contains(target))
        });
        firsts.min()
    }
}
