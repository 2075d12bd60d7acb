//! Whether an instruction is legal, what it violates, and on which versions and targets it is available.

use alloc::boxed::Box;

use crate::check_form::FormChecker;
use crate::operand_binding::{OperandBinding, bindings, operand_count};
use crate::type_compat::Expected;
use crate::{
    Cond, Form, FormOperand, InstQuery, Instruction, Marks, ModifierSet, OperandShape, PtxVersion,
    Role, RuleKind, Since, Slot, SlotAssignment, SpecialReg, StateSpace, Target, TargetSet,
    TypeKind, Violation, Violations, find_instruction,
};

/// A requirement of an instruction on the version and the target.
#[derive(Copy, Clone)]
enum Requirement {
    /// One of these is satisfied.
    One(&'static [Since]),
    /// None of these is satisfied.
    No(&'static [Since]),
    /// The special register exists.
    Register(SpecialReg),
}

impl Requirement {
    /// The targets on which it is satisfied in a version.
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

record! {
    /// A deprecated form or modifier that is still accepted.
    #[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
    pub struct Deprecation {
        /// The deprecated modifiers; `None` if the whole instruction is deprecated.
        words: Option<ModifierSet>,
        /// The version that deprecated it.
        since: PtxVersion,
        /// The replacement.
        instead: &'static str,
    }
}

/// A form that takes the modifiers of an instruction, with everything that the instruction violates.
#[derive(Clone, Debug)]
pub struct FormMatch<'a> {
    instruction: &'static Instruction,
    form: &'static Form,
    assignment: SlotAssignment,
    operands: OperandBinding<'a>,
    violations: Violations,
    in_entry: bool,
    unified_textures: bool,
}

impl<'a> FormMatch<'a> {
    getters! {
        const;
        /// The named instruction.
        instruction: &'static Instruction = instruction;
        /// The form.
        form: &'static Form = form;
        /// The modifiers in its slots, counted from the end of the instruction's name.
        assignment: &SlotAssignment = &assignment;
        /// The actual operands.
        operands: &OperandBinding<'a> = &operands;
        /// All violations; those of version and target only after [`add_floors`](Self::add_floors).
        violations: &Violations = &violations;
    }

    /// The type that an operand of the form must have; `None` if any type is legal.
    #[must_use]
    pub fn expected(&self, operand: usize) -> Option<Expected> {
        let ty = self.form.operands().get(operand)?.ty;
        let expected = Expected::of(ty, &self.assignment, self.form);
        (expected != Expected::Any).then_some(expected)
    }

    /// The indices in the query of modifiers without effect: repeated ones, and those that ptxas ignores.
    pub fn redundant(&self) -> impl Iterator<Item = usize> {
        let fixed = self.instruction.words().len();
        let rest = 0..self.assignment.len();
        rest.filter(|&i| self.assignment.is_redundant(i))
            .map(move |i| fixed + i)
    }

    /// What is deprecated in a version on a target.
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
            when.holds(&self.checker()).then_some(Deprecation {
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

    /// The operands for which ptxas generates no code in a module with 64-bit addresses: addresses of global or generic memory
    /// in registers of 32 bits, and variables there whose address goes to 32 bits.
    pub fn small_addresses(&self) -> impl Iterator<Item = usize> + '_ {
        let operands = self.form.operands().iter().enumerate();
        operands
            .filter(|(index, operand)| self.is_small_address(*index, operand))
            .map(|(index, _)| index)
    }

    fn is_small_address(&self, index: usize, operand: &FormOperand) -> bool {
        let Some(written) = self.operands.get(index) else {
            return false;
        };
        let is_value = operand.marks.contains(Marks::GENERIC_VALUE);
        match (operand.role, written.shape) {
            (Role::Addr, OperandShape::Register(ty)) => {
                ty.bits() == 32
                    && !operand.marks.contains(Marks::NARROW_ADDR)
                    && self.checker().is_wide(operand)
            }
            (Role::Symbol, OperandShape::Variable(space, ty)) => {
                let wide = space == StateSpace::Global && !written.offset || is_value;
                wide && ty.kind() != TypeKind::Opaque && self.expected_bits(0) == Some(32)
            }
            (Role::Use, _) => is_value && self.expected_bits(index) == Some(32),
            _ => false,
        }
    }

    fn expected_bits(&self, operand: usize) -> Option<u16> {
        self.expected(operand).and_then(|expected| expected.bits())
    }

    /// The width in bits of an operand of the form with all its elements, from its type and its vector length.
    #[must_use]
    pub fn width(&self, operand: usize) -> Option<u32> {
        let of = self.form.operands().get(operand)?;
        let bits = Expected::of(of.ty, &self.assignment, self.form).bits()?;
        let elements = self
            .checker()
            .wanted_length(operand, of)
            .map_or(1, |w| w.length);
        Some(u32::from(bits) * u32::from(elements))
    }

    /// The modifier of an effect: fixed, in a slot, or the default of an empty slot.
    #[must_use]
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

    /// The effects of the instruction besides reading and writing operands.
    pub fn effects(&self) -> impl Iterator<Item = crate::EffectKind> {
        let checker = self.checker();
        let effects = self.form.effects().iter();
        effects
            .filter(move |e| e.when.holds(&checker))
            .map(|e| e.kind)
    }

    fn checker(&self) -> FormChecker<'a, '_> {
        FormChecker {
            form: self.form,
            assignment: &self.assignment,
            binding: &self.operands,
            in_entry: self.in_entry,
            unified_textures: self.unified_textures,
            without: None,
        }
    }

    /// Calls `each` with every requirement of the instruction.
    fn each_requirement(&self, mut each: impl FnMut(Requirement)) {
        let checker = self.checker();
        for since in [self.instruction.since(), self.form.since()] {
            if !since.is_empty() {
                each(Requirement::One(since));
            }
        }
        for rule in self.form.rules() {
            match rule.kind {
                RuleKind::RequiresTarget(when, floors) if when.holds(&checker) => {
                    each(Requirement::One(floors))
                }
                RuleKind::RemovedIn(when, floors) if when.holds(&checker) => {
                    each(Requirement::No(floors))
                }
                _ => {}
            }
        }
        for operand in 0..self.form.operands().len() {
            let written = self.operands.get(operand).map(|w| w.shape);
            if let Some(OperandShape::Special(register) | OperandShape::SpecialVector(register)) =
                written
            {
                each(Requirement::Register(register));
            }
        }
        for table in self.form.tables() {
            if let Some(row) = checker.row(table).filter(|r| !r.since.is_empty()) {
                each(Requirement::One(row.since));
            }
        }
    }

    /// The targets on which this form is available in a version, whatever it violates otherwise.
    #[must_use]
    pub fn targets(&self, version: PtxVersion) -> TargetSet {
        let mut targets = TargetSet::ALL;
        self.each_requirement(|requirement| targets = targets.and(requirement.targets(version)));
        targets
    }

    /// Adds the requirements that a version and a target do not satisfy to the violations.
    pub fn add_floors(&mut self, version: PtxVersion, target: Target) {
        let mut violations = self.violations;
        self.each_requirement(|requirement| {
            if !requirement.targets(version).contains(target) {
                violations.add(match requirement {
                    Requirement::One(floors) => Violation::RequiresTarget(floors),
                    Requirement::No(floors) => Violation::RemovedIn(floors),
                    Requirement::Register(register) => Violation::Register(register),
                });
            }
        });
        self.violations = violations;
    }
}

/// The nearest form where no form takes the modifiers of an instruction.
#[derive(Copy, Clone, Debug)]
pub struct NoForm {
    form: Option<&'static Form>,
    violations: Violations,
}

impl NoForm {
    getters! {
        const;
        /// The nearest form; `None` if there is no instruction of that name.
        form: Option<&'static Form> = form;
        /// Why the modifiers do not fit that form.
        violations: &Violations = &violations;
    }
}

impl core::fmt::Display for NoForm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no form of the instruction takes its modifiers")
    }
}

impl core::error::Error for NoForm {}

/// How far a form is from an instruction: the most important difference first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Whether the number of operands is wrong.
    wrong_count: bool,
    /// Violations that do not depend on version and target.
    own: usize,
    /// Requirements on version and target that are not met.
    unavailable: usize,
}

/// The targets on which one of the alternatives is satisfied.
fn satisfied(floors: &[Since], version: PtxVersion) -> TargetSet {
    let met = floors.iter().filter(|f| f.version <= version);
    met.fold(TargetSet::NONE, |all, f| all.or(f.targets()))
}

impl<'a> InstQuery<'a> {
    /// The named instruction and the modifiers after its name.
    fn named(&self) -> Option<(&'static Instruction, &'a [crate::Modifier])> {
        let instruction = find_instruction(self.opcode, self.modifiers)?;
        let rest = self.modifiers.get(instruction.words().len()..)?;
        Some((instruction, rest))
    }

    /// Every form that takes the modifiers, with the assignment of the operands that has the fewest violations.
    pub fn candidates(&self) -> impl Iterator<Item = FormMatch<'a>> {
        let named = self.named();
        let (operands, without) = (self.operands, self.without);
        let (in_entry, unified_textures) = (self.in_entry, self.unified_textures);
        let forms = named.map_or(&[][..], |(instruction, _)| instruction.forms());
        forms.iter().filter_map(move |&form| {
            let (instruction, rest) = named?;
            let assignment = form.match_lenient(rest)?;
            let mut best: Option<FormMatch<'a>> = None;
            for binding in bindings(form, operands) {
                let checker = FormChecker {
                    form,
                    assignment: &assignment,
                    binding: &binding,
                    in_entry,
                    unified_textures,
                    without,
                };
                let violations = checker.violations();
                let better = best
                    .as_ref()
                    .is_none_or(|b| violations.count() < b.violations.count());
                if better {
                    let done = violations.is_empty();
                    best = Some(FormMatch {
                        instruction,
                        form,
                        assignment,
                        operands: binding,
                        violations,
                        in_entry,
                        unified_textures,
                    });
                    if done {
                        break;
                    }
                }
            }
            best.or_else(|| {
                let mut violations = Violations::NONE;
                let (least, most) = operand_count(form);
                violations.add(Violation::Count(least, most));
                Some(FormMatch {
                    instruction,
                    form,
                    assignment,
                    operands: OperandBinding::EMPTY,
                    violations,
                    in_entry,
                    unified_textures,
                })
            })
        })
    }

    /// The first form that the instruction matches without violations in this version on this target, else the nearest
    /// form that takes its modifiers.
    ///
    /// # Errors
    ///
    /// No form takes the modifiers.
    pub fn select(
        &self,
        version: PtxVersion,
        target: Target,
    ) -> Result<FormMatch<'a>, Box<NoForm>> {
        self.nearest(|selection| selection.add_floors(version, target))
    }

    /// Like [`select`](Self::select) for any version and target.
    ///
    /// # Errors
    ///
    /// No form takes the modifiers.
    pub fn select_anywhere(&self) -> Result<FormMatch<'a>, Box<NoForm>> {
        self.nearest(|_| ())
    }

    fn nearest(
        &self,
        add_floors: impl Fn(&mut FormMatch<'a>),
    ) -> Result<FormMatch<'a>, Box<NoForm>> {
        let mut best: Option<(Distance, FormMatch<'a>)> = None;
        for mut selection in self.candidates() {
            let own = selection.violations.count();
            add_floors(&mut selection);
            if selection.violations.is_empty() {
                return Ok(selection);
            }
            let first = selection.violations.as_slice().first();
            let distance = Distance {
                wrong_count: matches!(first, Some(Violation::Count(..))),
                own,
                unavailable: selection.violations.count() - own,
            };
            if best.as_ref().is_none_or(|(d, _)| distance < *d) {
                best = Some((distance, selection));
            }
        }
        best.map(|(_, selection)| selection)
            .ok_or_else(|| Box::new(self.modifier_problems()))
    }

    /// The violations of the nearest form where no form takes the modifiers.
    fn modifier_problems(&self) -> NoForm {
        let mut best = NoForm {
            form: None,
            violations: Violations::NONE,
        };
        let Some((instruction, rest)) = self.named() else {
            best.violations.add(Violation::Instruction);
            return best;
        };
        let fixed = instruction.words().len();
        let mut nearest = usize::MAX;
        for &form in instruction.forms() {
            let mut violations = Violations::NONE;
            for (i, &m) in rest.iter().enumerate() {
                if !form.accepts(m) && !form.ignores(m) {
                    violations.add(Violation::Modifier(fixed + i));
                }
            }
            for (i, slot) in form.slots().enumerate() {
                let fills = |m: &crate::Modifier| {
                    slot.words().contains(*m) || slot.sequences().iter().any(|s| s.contains(m))
                };
                if !slot.is_optional() && !rest.iter().any(fills) {
                    violations.add(Violation::Slot(i));
                }
            }
            if violations.is_empty() {
                // All modifiers are known and none is missing: one is duplicated or out of order.
                violations.add(Violation::Modifier(fixed + rest.len().saturating_sub(1)));
            }
            // An additional or duplicate modifier counts less than a missing one.
            let missing = violations.as_slice().iter();
            let missing = missing.filter(|p| matches!(p, Violation::Slot(_))).count();
            let distance = violations.count() + missing;
            if best.form.is_none() || distance < nearest {
                nearest = distance;
                let form = Some(form);
                best = NoForm { form, violations };
            }
        }
        best
    }

    /// The targets on which the instruction is legal in a version.
    #[must_use]
    pub fn targets(&self, version: PtxVersion) -> TargetSet {
        self.candidates()
            .filter(|s| s.violations.is_empty())
            .fold(TargetSet::NONE, |all, s| all.or(s.targets(version)))
    }

    /// The first version in which the instruction is legal on a target.
    #[must_use]
    pub fn first_version(&self, target: Target) -> Option<PtxVersion> {
        let legal = self.candidates().filter(|s| s.violations.is_empty());
        let firsts = legal.filter_map(|s| {
            let mut versions = PtxVersion::KNOWN.iter().copied();
            versions.find(|&v| target.min_version() <= v && s.targets(v).contains(target))
        });
        firsts.min()
    }
}
