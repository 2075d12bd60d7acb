//! Whether an instruction is legal: asks the table once for each mnemonic and shape of operands.

use alloc::vec::Vec;
use ptx_ir::query::{Environment, NameKind, NameTypes, Queries};
use ptx_ir::{Body, FuncId, Inst, InstId, Module, Operand, SigId, StmtId};
use ptx_isa::{
    Deprecation, FormMatch, FormOperand, InstQuery, Marks, Modifier, NoForm, OperandShape,
    OperandViolation, Role, ScalarType, Violation,
};

use crate::call::Call;
use crate::call_tables::CallTables;
use crate::context::Context;
use crate::inst_part::{self, modifiers};
use crate::location::{Location, Part};
use crate::param_access::{Effects, Parameters};
use crate::problem::call::CallProblem;
use crate::problem::instruction::{
    FoundOperand, InstProblem, InstProblemKind, ModifierReason, Named, OperandMismatch, Redundancy,
};

/// What rules beside the table need of a mnemonic.
#[derive(Copy, Clone, Default, Debug)]
struct Traits {
    /// Whether it calls a function.
    calls: bool,
    /// Whether an operand is an optional sampler.
    samples: bool,
    effects: Effects,
}

impl Traits {
    fn of(module: &Module, sig: SigId) -> Self {
        let instruction = module.signature(sig).instruction();
        let forms = instruction.map_or(&[][..], |i| i.forms());
        let operands = forms.iter().flat_map(|f| f.operands());
        let sampler = |o: &FormOperand| o.is_optional() && o.marks().contains(Marks::SAMPLER);
        Self {
            calls: (operands.clone()).any(|o| matches!(o.role(), Role::Args | Role::Rets)),
            samples: operands.clone().any(sampler),
            effects: Effects::of(forms),
        }
    }
}

/// What the table says about an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Verdict {
    /// Legal, with nothing to report.
    Clean,
    /// Legal, with warnings.
    Deprecated,
    Illegal,
}

fn verdict(environment: Environment, query: &InstQuery<'_>) -> Verdict {
    match environment.select(query) {
        Ok(form) if environment.is_clean(&form) => Verdict::Clean,
        Ok(form) if form.violations().is_empty() => Verdict::Deprecated,
        _ => Verdict::Illegal,
    }
}

/// An instruction whose operands belong to the pool of a body.
#[derive(Copy, Clone, Debug)]
pub struct NewInst<'o> {
    /// Its mnemonic.
    pub sig: SigId,
    /// The predicate of its guard.
    pub guard: Option<Operand>,
    /// Its operands, without the guard.
    pub operands: &'o [Operand],
}

/// Checks the instructions of a module.
#[derive(Clone, Debug)]
pub(crate) struct Instructions {
    traits: Vec<Traits>,
    queries: Queries<Verdict>,
    pub(crate) parameters: Parameters,
    pub(crate) tables: CallTables,
}

impl Instructions {
    pub(crate) fn new(module: &Module) -> Self {
        let sigs = module.signatures().ids();
        Self {
            traits: sigs.map(|id| Traits::of(module, id)).collect(),
            queries: Queries::new(module),
            parameters: Parameters::default(),
            tables: CallTables::default(),
        }
    }

    /// Takes note of mnemonics that the module got since.
    pub(crate) fn update_mnemonics(&mut self, module: &Module) {
        let new = module.signatures().ids().skip(self.traits.len());
        self.traits.extend(new.map(|id| Traits::of(module, id)));
        self.queries.update_mnemonics(module);
    }

    /// Takes note of changed declarations of the module.
    pub(crate) fn update_symbols(&mut self, module: &Module) {
        self.queries.update_symbols(module);
    }

    /// What the names of the module and of the entered body denote.
    pub(crate) fn names_mut(&mut self) -> &mut NameTypes {
        self.queries.names_mut()
    }

    /// Whether an instruction of the entered body is certainly legal, perhaps with warnings.
    #[inline]
    pub(crate) fn is_legal(
        &mut self,
        module: &Module,
        environment: Environment,
        body: &Body,
        inst: NewInst<'_>,
    ) -> bool {
        match inst.guard {
            None => {}
            Some(Operand::Reg(register)) if self.queries.names().may_guard(register) => {}
            Some(_) => return false,
        }
        let legal = (self.queries).answer(module, body, inst.sig, inst.operands, |query| {
            verdict(environment, query)
        });
        let traits = self.traits.get(inst.sig.as_u32() as usize);
        let traits = traits.copied().unwrap_or_default();
        matches!(legal, Some(Verdict::Clean | Verdict::Deprecated))
            && !traits.calls
            && !traits.samples
            && !(self.parameters).matters(inst.guard.is_some(), traits.effects)
    }

    /// Enters a body.
    pub(crate) fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.queries.enter(module, function, body);
        self.parameters.fill(module, function, body);
        self.tables.clear();
    }

    /// Checks one instruction of the body that was entered.
    #[inline]
    pub(crate) fn check<'m>(
        &mut self,
        context: &mut Context<'m>,
        body: &'m Body,
        stmt: StmtId,
        id: InstId,
        inst: &Inst,
    ) {
        if inst.guard().is_some() {
            guard(context, self.queries.names(), body, stmt, inst);
        }
        let (module, environment) = (context.module, context.environment);
        let operands = body.operands(id);
        let legal = self
            .queries
            .answer(module, body, inst.sig, operands, |query| {
                verdict(environment, query)
            });
        let Some(legal) = legal else { return };
        let index = inst.sig.as_u32() as usize;
        let traits = self.traits.get(index).copied().unwrap_or_default();
        if traits.calls {
            let names = self.queries.names();
            Call::new(context, body, names, stmt).check(operands, &mut self.tables);
        } else {
            self.parameters
                .check(context, body, stmt, inst, operands, traits.effects);
        }
        if traits.samples
            && context.independent_textures()
            && !has_sampler(self.queries.names(), body, operands)
        {
            let (sig, kind) = (inst.sig, InstProblemKind::NoSampler);
            let at = Location::part(body.source_span(stmt), Part::Mnemonic);
            context.report(at, InstProblem { sig, kind });
        }
        if legal != Verdict::Clean {
            self.report(context, body, stmt, inst.sig, operands);
        }
    }

    #[cold]
    fn report(
        &mut self,
        context: &mut Context<'_>,
        body: &Body,
        stmt: StmtId,
        sig: SigId,
        operands: &[Operand],
    ) {
        let (module, environment) = (context.module, context.environment);
        let statement = body.source_span(stmt);
        let found =
            (self.queries).ask_again(module, body, sig, operands, |query| {
                match environment.select(query) {
                    Err(no_form) => alloc::vec![mismatch(query, &no_form)],
                    Ok(form) if form.violations().is_empty() => {
                        let old = environment.deprecations(&form);
                        let old = old.map(|deprecation| deprecated(query, deprecation));
                        redundant(query, &form).chain(old).collect()
                    }
                    Ok(form) => violations(query, &form),
                }
            });
        for (part, kind) in found.into_iter().flatten() {
            context.report(Location::part(statement, part), InstProblem { sig, kind });
        }
    }
}

/// Whether a sampler that is not a texture is between the texture and the coordinates.
fn has_sampler(names: &NameTypes, body: &Body, operands: &[Operand]) -> bool {
    let texture = |kind| {
        matches!(
            kind,
            NameKind::Variable {
                ty: ScalarType::Texref,
                ..
            }
        )
    };
    operands.iter().any(|o| match o {
        Operand::Bracket(list) => match body.pool().list(*list) {
            [_, Operand::Symbol(id), _] => !texture(names.symbol(*id)),
            [_, Operand::Var(id), _] => !texture(names.var(*id)),
            parts => parts.len() == 3,
        },
        _ => false,
    })
}

/// Reports a guard that is not a predicate.
fn guard(context: &mut Context<'_>, names: &NameTypes, body: &Body, stmt: StmtId, inst: &Inst) {
    let Some(guard) = inst.guard() else { return };
    let ty = match body.pool().get(guard.predicate) {
        Operand::Reg(register) if names.may_guard(register) => return,
        Operand::Reg(register) => names.register(register),
        Operand::Name(_) => return,
        _ => None,
    };
    let at = Location::part(body.source_span(stmt), Part::Guard);
    context.report(at, CallProblem::Guard(ty));
}

type Found = (Part, InstProblemKind);

/// Why no form takes the modifiers.
fn mismatch(query: &InstQuery<'_>, no_form: &NoForm) -> Found {
    let Some(form) = no_form.form() else {
        let kind = InstProblemKind::UnknownInstruction(query.opcode());
        return (Part::Mnemonic, kind);
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
        return (modifiers(index, index), kind);
    }
    let slot = match violations.first() {
        Some(&Violation::Slot(index)) => form.form.slot(index),
        _ => None,
    };
    match slot {
        Some(slot) => (
            Part::MnemonicEnd,
            InstProblemKind::MissingModifier(form, slot),
        ),
        None => (Part::Mnemonic, InstProblemKind::ModifierCombination(form)),
    }
}

/// Modifiers without effect.
fn redundant<'q>(
    query: &'q InstQuery<'_>,
    form: &'q FormMatch<'_>,
) -> impl Iterator<Item = Found> + 'q {
    form.redundant().filter_map(|index| {
        let modifier = *query.modifiers().get(index)?;
        let before = query.modifiers().get(..index)?;
        let why = match before.contains(&modifier) {
            true => Redundancy::Duplicate,
            false => Redundancy::NoEffect,
        };
        let kind = InstProblemKind::Redundant(why, modifier);
        Some((modifiers(index, index), kind))
    })
}

fn deprecated(query: &InstQuery<'_>, deprecation: Deprecation) -> Found {
    let is_old = |m: &Modifier| deprecation.words().is_some_and(|w| w.contains(*m));
    let index = query.modifiers().iter().position(is_old);
    let modifier = index.and_then(|i| query.modifiers().get(i)).copied();
    let part = index.map_or(Part::Mnemonic, |i| modifiers(i, i));
    (part, InstProblemKind::Deprecated(modifier, deprecation))
}

/// The violations of an instruction whose modifiers match a form: all of operands, or else the first of the others.
fn violations(query: &InstQuery<'_>, selected: &FormMatch<'_>) -> Vec<Found> {
    let all = selected.violations().as_slice();
    // Where no row of a table matches, operands have no types and lengths.
    let table = all.iter().find(|v| matches!(v, Violation::Table(_)));
    if let Some(&violation) = table {
        return alloc::vec![whole(query, selected, violation)];
    }
    let operands = all.iter().filter_map(|v| match *v {
        Violation::Operand(index, problem) => operand(query, selected, index, problem),
        _ => None,
    });
    let mut found: Vec<Found> = operands.collect();
    // Several violations of one operand are one mistake.
    found.dedup_by_key(|(part, _)| *part);
    if found.is_empty() {
        found.extend(all.first().map(|v| whole(query, selected, *v)));
    }
    found
}

fn named(form: &FormMatch<'_>) -> Named {
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
) -> Option<Found> {
    let found = match form.operands().get(index).map(|w| w.shape) {
        Some(OperandShape::Register(ty)) => FoundOperand::Scalar(ty),
        Some(OperandShape::Special(register)) => FoundOperand::Scalar(register.scalar_type()),
        Some(OperandShape::RegisterVector(ty, len)) => FoundOperand::Vector(ty, len),
        Some(OperandShape::Vector(parts)) => FoundOperand::Elements(parts.len()),
        Some(OperandShape::Variable(space, _)) => FoundOperand::Variable(space),
        _ => FoundOperand::Other,
    };
    let mismatch = OperandMismatch {
        form: named(form),
        operand: form.form().operands().get(index)?,
        problem,
        expected: form.expected(index),
        found,
    };
    let part = inst_part::operand(query, form, index).unwrap_or(Part::Mnemonic);
    Some((part, InstProblemKind::Operand(mismatch)))
}

/// A violation that is not one of a single operand.
fn whole(query: &InstQuery<'_>, selected: &FormMatch<'_>, violation: Violation) -> Found {
    let form = named(selected);
    match violation {
        Violation::Count(least, most) => {
            let found = query.operands().len();
            let part = match found > most {
                true => Part::Operand(most as u32),
                false => Part::Mnemonic,
            };
            (part, InstProblemKind::Count(form, found, least, most))
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
    }
}
