//! The legality of an instruction: violations, and the versions and targets on which it is available.

use alloc::boxed::Box;

use crate::check_form::FormChecker;
use crate::operand_binding::{OperandBinding, bindings, operand_count};
use crate::type_compat::Expected;
use crate::{
    Cond, Form, FormOperand, InstQuery, Instruction, Marks, Modifier, ModifierSet, OperandShape,
    PtxVersion, Role, RuleKind, Since, Slot, SlotAssignment, SpecialReg, StateSpace, Target,
    TargetSet, TypeKind, Violation, Violations, find_instruction,
};

/// A requirement of an instruction on the version and the target.
#[derive(Copy, Clone)]
enum Requirement {
    /// One of the floors is satisfied.
    AnyOf(&'static [Since]),
    /// None of the floors is satisfied.
    NoneOf(&'static [Since]),
    /// The special register exists.
    Register(SpecialReg),
}

impl Requirement {
    /// The targets on which the requirement is satisfied in a version.
    fn targets(self, version: PtxVersion) -> TargetSet {
        match self {
            Self::AnyOf(floors) => satisfied(floors, version),
            Self::NoneOf(floors) => satisfied(floors, version).not(),
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
        #[doc(hidden)]
        operands: &OperandBinding<'a> = &operands;
        /// All violations; those of version and target only after [`add_floors`](Self::add_floors).
        violations: &Violations = &violations;
    }

    /// The type that an operand of the form must have; `None` if any type is legal.
    #[doc(hidden)]
    #[must_use]
    pub fn expected(&self, operand: usize) -> Option<Expected> {
        let ty = self.form.operands().get(operand)?.ty;
        let expected = Expected::of(ty, &self.assignment, self.form);
        (expected != Expected::Any).then_some(expected)
    }

    /// The indices in the query of modifiers without effect: repeated ones, and those that ptxas ignores.
    pub fn redundant(&self) -> impl Iterator<Item = usize> {
        let fixed = self.instruction.words().len();
        (0..self.assignment.len())
            .filter(|&i| self.assignment.is_redundant(i))
            .map(move |i| fixed + i)
    }

    /// The deprecated parts of the instruction in a version on a target.
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
        self.form
            .operands()
            .iter()
            .enumerate()
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
                let is_wide = space == StateSpace::Global && !written.offset || is_value;
                is_wide && ty.kind() != TypeKind::Opaque && self.expected_bits(0) == Some(32)
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
        let form_operand = self.form.operands().get(operand)?;
        let bits = Expected::of(form_operand.ty, &self.assignment, self.form).bits()?;
        let elements = self
            .checker()
            .expected_length(operand, form_operand)
            .map_or(1, |expected| expected.length);
        Some(u32::from(bits) * u32::from(elements))
    }

    /// The modifier of an effect: fixed, in a slot, or the default of an empty slot.
    #[must_use]
    pub fn word(&self, word: crate::ModifierSource) -> Option<Modifier> {
        match word {
            crate::ModifierSource::Fixed(modifier) => Some(modifier),
            crate::ModifierSource::Slot(slot) => {
                let slot = usize::from(slot);
                self.assignment
                    .word(slot)
                    .or_else(|| self.form.slot(slot)?.default())
            }
        }
    }

    /// The effects of the instruction besides reading and writing operands.
    pub fn effects(&self) -> impl Iterator<Item = crate::EffectKind> {
        let checker = self.checker();
        self.form
            .effects()
            .iter()
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
            missing_directive: None,
        }
    }

    /// Calls `visit` with every requirement of the instruction.
    fn visit_requirements(&self, mut visit: impl FnMut(Requirement)) {
        let checker = self.checker();
        for since in [self.instruction.since(), self.form.since()] {
            if !since.is_empty() {
                visit(Requirement::AnyOf(since));
            }
        }
        for rule in self.form.rules() {
            match rule.kind {
                RuleKind::RequiresTarget(when, floors) if when.holds(&checker) => {
                    visit(Requirement::AnyOf(floors))
                }
                RuleKind::RemovedIn(when, floors) if when.holds(&checker) => {
                    visit(Requirement::NoneOf(floors))
                }
                _ => {}
            }
        }
        for operand in 0..self.form.operands().len() {
            let written = self.operands.get(operand).map(|w| w.shape);
            if let Some(OperandShape::Special(register) | OperandShape::SpecialVector(register)) =
                written
            {
                visit(Requirement::Register(register));
            }
        }
        for table in self.form.tables() {
            if let Some(row) = checker.row(table).filter(|r| !r.since.is_empty()) {
                visit(Requirement::AnyOf(row.since));
            }
        }
    }

    /// The targets on which the form is available in a version, regardless of other violations.
    #[must_use]
    pub fn targets(&self, version: PtxVersion) -> TargetSet {
        let mut targets = TargetSet::ALL;
        self.visit_requirements(|requirement| targets = targets.and(requirement.targets(version)));
        targets
    }

    /// The first version in which the form is available on a target, regardless of other violations.
    fn first_version(&self, target: Target) -> Option<PtxVersion> {
        PtxVersion::KNOWN.iter().copied().find(|&version| {
            target.min_version() <= version && self.targets(version).contains(target)
        })
    }

    /// Adds the requirements that a version and a target do not satisfy to the violations.
    #[doc(hidden)]
    pub fn add_floors(&mut self, version: PtxVersion, target: Target) {
        let mut violations = self.violations;
        self.visit_requirements(|requirement| {
            if !requirement.targets(version).contains(target) {
                violations.add(match requirement {
                    Requirement::AnyOf(floors) => Violation::RequiresTarget(floors),
                    Requirement::NoneOf(floors) => Violation::RemovedIn(floors),
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
        /// The reasons why the modifiers do not fit the form.
        violations: &Violations = &violations;
    }
}

impl core::fmt::Display for NoForm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no form of the instruction takes its modifiers")
    }
}

impl core::error::Error for NoForm {}

/// The distance between a form and an instruction: the most important difference first.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Whether the number of operands is wrong.
    wrong_count: bool,
    /// The number of violations that do not depend on version and target.
    violations: usize,
    /// The number of requirements on version and target that are not met.
    unavailable: usize,
}

/// The targets on which one of the alternatives is satisfied.
fn satisfied(floors: &[Since], version: PtxVersion) -> TargetSet {
    floors
        .iter()
        .filter(|floor| floor.version <= version)
        .fold(TargetSet::NONE, |targets, floor| {
            targets.or(floor.targets())
        })
}

impl<'a> InstQuery<'a> {
    /// The named instruction and the modifiers after its name.
    fn named(&self) -> Option<(&'static Instruction, &'a [Modifier])> {
        let instruction = find_instruction(self.opcode, self.modifiers)?;
        let choices = self.modifiers.get(instruction.words().len()..)?;
        Some((instruction, choices))
    }

    /// Every form that takes the modifiers, with the assignment of the operands that has the fewest violations.
    pub fn candidates(&self) -> impl Iterator<Item = FormMatch<'a>> {
        let query = *self;
        let named = self.named();
        let forms = named.map_or(&[][..], |(instruction, _)| instruction.forms());
        forms.iter().filter_map(move |&form| {
            let (instruction, choices) = named?;
            let assignment = form.match_lenient(choices)?;
            Some(query.best_match(instruction, form, assignment))
        })
    }

    /// The match of a form with the assignment of the operands that has the fewest violations.
    fn best_match(
        &self,
        instruction: &'static Instruction,
        form: &'static Form,
        assignment: SlotAssignment,
    ) -> FormMatch<'a> {
        let (least, most) = operand_count(form);
        let mut best = FormMatch {
            instruction,
            form,
            assignment,
            operands: OperandBinding::EMPTY,
            violations: Violations::NONE,
            in_entry: self.in_entry,
            unified_textures: self.unified_textures,
        };
        let mut is_bound = false;
        for binding in bindings(form, self.operands) {
            let violations = FormChecker {
                form,
                assignment: &assignment,
                binding: &binding,
                in_entry: self.in_entry,
                unified_textures: self.unified_textures,
                missing_directive: self.missing_directive,
            }
            .violations();
            if !is_bound || violations.count() < best.violations.count() {
                is_bound = true;
                best.operands = binding;
                best.violations = violations;
                if violations.is_empty() {
                    break;
                }
            }
        }
        if !is_bound {
            best.violations.add(Violation::Count(least, most));
        }
        best
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
            let violations = selection.violations.count();
            add_floors(&mut selection);
            if selection.violations.is_empty() {
                return Ok(selection);
            }
            let first = selection.violations.as_slice().first();
            let distance = Distance {
                wrong_count: matches!(first, Some(Violation::Count(..))),
                violations,
                unavailable: selection.violations.count() - violations,
            };
            if best.as_ref().is_none_or(|(d, _)| distance < *d) {
                best = Some((distance, selection));
            }
        }
        best.map(|(_, selection)| selection)
            .ok_or_else(|| Box::new(self.nearest_form()))
    }

    /// The form with the fewest violations where no form takes the modifiers.
    fn nearest_form(&self) -> NoForm {
        let mut best = NoForm {
            form: None,
            violations: Violations::NONE,
        };
        let Some((instruction, choices)) = self.named() else {
            best.violations.add(Violation::Instruction);
            return best;
        };
        let mut least_distance = usize::MAX;
        for &form in instruction.forms() {
            let violations = modifier_violations(form, instruction.words().len(), choices);
            // An additional or duplicate modifier counts less than a missing one.
            let missing = violations
                .as_slice()
                .iter()
                .filter(|violation| matches!(violation, Violation::Slot(_)))
                .count();
            let distance = violations.count() + missing;
            if best.form.is_none() || distance < least_distance {
                least_distance = distance;
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
            .filter(|candidate| candidate.violations.is_empty())
            .fold(TargetSet::NONE, |targets, candidate| {
                targets.or(candidate.targets(version))
            })
    }

    /// The first version in which the instruction is legal on a target.
    #[must_use]
    pub fn first_version(&self, target: Target) -> Option<PtxVersion> {
        self.candidates()
            .filter(|candidate| candidate.violations.is_empty())
            .filter_map(|candidate| candidate.first_version(target))
            .min()
    }
}

/// The reasons why no slots of a form take the modifiers after the `fixed` ones of the instruction's name. Never empty.
fn modifier_violations(form: &Form, fixed: usize, modifiers: &[Modifier]) -> Violations {
    let mut violations = Violations::NONE;
    for (i, &modifier) in modifiers.iter().enumerate() {
        if !form.accepts(modifier) && !form.ignores(modifier) {
            violations.add(Violation::Modifier(fixed + i));
        }
    }
    for (i, slot) in form.slots().enumerate() {
        let is_filled = modifiers.iter().any(|modifier| {
            slot.words().contains(*modifier)
                || slot.sequences().iter().any(|s| s.contains(modifier))
        });
        if !slot.is_optional() && !is_filled {
            violations.add(Violation::Slot(i));
        }
    }
    if violations.is_empty() {
        // All modifiers are known and none is missing: one is duplicated or out of order.
        violations.add(Violation::Modifier(
            fixed + modifiers.len().saturating_sub(1),
        ));
    }
    violations
}
