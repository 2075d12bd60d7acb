//! The results of the instructions of a function.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, Space};
use ptx_ir::{InstId, Operand, Statement, StmtId};
use ptx_isa::{
    Action, Assignment, Destination, Expr, Length, Modifier, Role, ScalarType, StateSpace, TypeKind,
};

use super::affine::{Affine, Need};
use super::evaluate::{Assigned, Scope, clamped, is_integer, is_signed};
use super::interval::Interval;
use super::number::{Abstract, Number, Source, Truth};
use super::pass::Pass;
use super::symbol::{Symbol, VariableRef};
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value};

/// The variables that an instruction writes, with what is known of their values.
type Results = Vec<(VariableId, Abstract)>;

impl Pass<'_> {
    pub(super) fn statement(&mut self, stmt: StmtId, statement: Statement) {
        let defs = self.of.ssa.defs(stmt);
        if defs.len() == 0 {
            return;
        }
        let facts = match statement {
            Statement::Inst(inst) => Some(self.of.facts.inst(inst)).map(|f| (inst, f)),
            _ => None,
        };
        let facts = facts.filter(|(_, f)| f.is_known());
        let results = match &facts {
            Some((inst, f)) => self.results(stmt, *inst, f).unwrap_or_default(),
            None => Vec::new(),
        };
        let runs = facts
            .as_ref()
            .map_or(Truth::Unknown, |(_, f)| self.guard(stmt, f));
        for def in defs {
            if let Value::Def { variable, old, .. } = self.of.ssa.value(def) {
                let mut of_variable = results.iter().filter(|(v, _)| *v == variable);
                let new = match (of_variable.next(), of_variable.next()) {
                    (Some((_, new)), None) => *new,
                    _ => Abstract::Unknown,
                };
                let old = old.filter(|old| *old != Ssa::UNKNOWN);
                let found = match (runs, old) {
                    (_, None) if facts.is_some() => new,
                    (Truth::Known(true), _) => new,
                    (Truth::Known(false), Some(old)) => self.abstracted(old),
                    (_, Some(old)) if facts.is_some() => new.join(self.abstracted(old)),
                    _ => Abstract::Unknown,
                };
                self.set(def, found);
            }
            self.finish(def);
        }
    }

    /// Whether the guard of an instruction holds.
    fn guard(&self, stmt: StmtId, f: &Facts<'_>) -> Truth {
        match (f.guard(), f.guard_register()) {
            (None, _) => Truth::Known(true),
            (_, None) => Truth::Unknown,
            (_, Some((place, sense))) => {
                let mut variables = self.of.variables.of(place);
                let value = variables.next().and_then(|v| self.of.ssa.read(stmt, v));
                let truth = value.map_or(Truth::Unknown, |v| self.truth(v));
                if sense.is_negated() {
                    truth.inverted()
                } else {
                    truth
                }
            }
        }
    }

    fn results(&mut self, stmt: StmtId, inst: InstId, f: &Facts<'_>) -> Option<Results> {
        let (form, slots) = f.form()?;
        let mut operands = [Source::Unknown; 12];
        for source in f.sources() {
            if let Some(entry) = operands.get_mut(source.index) {
                *entry = self.source(stmt, source.operand);
            }
        }
        if let Some(action @ (Action::ToGeneric | Action::FromGeneric)) = form.action() {
            return self.converted(inst, f, action, &operands);
        }
        let computation = form.computation().filter(|c| !c.is_approximate())?;
        let signature = self.of.facts.body().inst(inst)?.sig;
        let signature = self.of.facts.module().signature(signature);
        let mut modifiers = [Modifier::ALL[0]; 16];
        let mut count = 0;
        for (slot, modifier) in modifiers.iter_mut().zip(signature.modifiers()) {
            *slot = modifier;
            count += 1;
        }
        let mut results = Results::new();
        let elements = self.elements(f);
        for element in 0..elements {
            let mut scope = Scope {
                pass: self,
                form,
                slots,
                modifiers: &modifiers[..count],
                operands: &operands,
                loaded: None,
                assigned: Vec::new(),
            };
            scope.load(f, element);
            scope.assign(
                f,
                computation.assignments(),
                (element, elements),
                &mut results,
            );
        }
        Some(results)
    }

    /// The number of elements of the first result.
    fn elements(&self, f: &Facts<'_>) -> usize {
        let Some((form, _)) = f.form() else { return 1 };
        let first = form.operands().iter().position(|o| o.role() == Role::Def);
        let is_vector = |at: &usize| {
            let operand = form.operands().get(*at);
            operand.is_some_and(|o| o.length() != Length::Scalar)
        };
        match first
            .filter(is_vector)
            .and_then(|index| f.operand(index))
            .map(|o| o.operand)
        {
            Some(Operand::Vector(list)) => self.of.facts.body().pool().list(list).len(),
            _ => 1,
        }
    }

    /// An address that is converted to a generic one, or back.
    fn converted(
        &mut self,
        inst: InstId,
        f: &Facts<'_>,
        action: Action,
        operands: &[Source],
    ) -> Option<Results> {
        let (form, slots) = f.form()?;
        let signature = self.of.facts.body().inst(inst)?.sig;
        let signature = self.of.facts.module().signature(signature);
        let space = signature.state_spaces().next()?.base();
        let source = |role: Role| form.operands().iter().position(|o| o.role() == role);
        let from =
            source(Role::Use).filter(|at| !matches!(operands.get(*at), Some(Source::Unknown)));
        let from = *operands.get(from.or_else(|| source(Role::Symbol))?)?;
        let to = source(Role::Def)?;
        let ty = form.operands().get(to)?.ty().scalar_type(slots, form)?;
        let need = Need::Low(ty.bits());
        let address = self.read(from, Some(ty), need)?;
        let window = match space {
            // Generic addresses of global memory are its addresses.
            StateSpace::Global => Affine::number(0),
            space => Affine::symbol(self.symbols.id(Symbol::Window(space.base()))),
        };
        let form = address.form.and_then(|a| match action {
            Action::ToGeneric => a.add(&window, need),
            _ => a.sub(&window, need),
        });
        let range = Interval::of_bits(ty.bits(), false);
        let low = form.map_or(super::Alignment::UNKNOWN, |f| self.form_alignment(&f));
        let number = Number::new(form, range, low, need);
        let variable = self.variable(f, f.operand(to)?.operand)?;
        Some(vec![(variable, Abstract::Number(number))])
    }

    /// The only variable that an operand is.
    fn variable(&self, f: &Facts<'_>, operand: Operand) -> Option<VariableId> {
        self.of.variables.of(f.place(operand)?).single()
    }

    fn source(&self, stmt: StmtId, operand: Operand) -> Source {
        let body = self.of.facts.body();
        let pool = body.pool();
        let register = |operand: Operand, inverted: bool| {
            let facts = match body.statement(stmt) {
                Some(Statement::Inst(inst)) => self.of.facts.inst(inst),
                _ => return None,
            };
            let variable = self.variable(&facts, operand)?;
            Some(Source::Value(self.of.ssa.read(stmt, variable)?, inverted))
        };
        let source = match operand {
            Operand::Reg(_) => register(operand, false),
            Operand::Not(at) => match pool.get(at) {
                inner @ Operand::Reg(_) => register(inner, true),
                _ => None,
            },
            Operand::Lane(selector, at) => match (selector.element(), pool.get(at)) {
                (Some(_), Operand::Reg(_)) => register(operand, false),
                (Some(component), Operand::Special(register)) => {
                    Some(Source::Special(register, component))
                }
                _ => None,
            },
            Operand::Special(register) if !register.is_vector() => {
                Some(Source::Special(register, 0))
            }
            Operand::Small(value) => Some(Source::Constant(value.into())),
            Operand::Imm(id) => pool.immediate(id).and_then(|i| constant(i.value)),
            Operand::Symbol(_) | Operand::Var(_) => {
                VariableRef::of(operand).map(|v| Source::Address(v, 0))
            }
            Operand::Address(id) => pool.address(id).and_then(|address| {
                let offset = address.byte_offset(pool)?;
                Some(Source::Address(VariableRef::of(address.base)?, offset))
            }),
            _ => None,
        };
        source.unwrap_or(Source::Unknown)
    }
}

/// The integer that a constant is.
fn constant(value: ptx_ir::constant::ConstValue) -> Option<Source> {
    use ptx_ir::constant::ConstKind;
    match value.kind() {
        ConstKind::Signed => Some(Source::Constant((value.bits() as i64).into())),
        ConstKind::Unsigned => Some(Source::Constant(value.bits().into())),
        _ => None,
    }
}

impl Scope<'_, '_> {
    /// Notes what is known of the element of a vector that is loaded.
    fn load(&mut self, f: &Facts<'_>, element: usize) {
        let loads = |e: &Expr| matches!(e, Expr::Memory(_));
        let Some(computation) = self.form.computation() else {
            return;
        };
        let mut assignments = computation.assignments().iter();
        if !assignments.any(|a| a.value().any(&loads)) {
            return;
        }
        let result = self
            .form
            .operands()
            .iter()
            .position(|o| o.role() == Role::Def);
        let Some(ty) = result.and_then(|at| self.operand_type(at)) else {
            return;
        };
        if !is_integer(ty) {
            return;
        }
        let range = Interval::of_bits(ty.bits(), is_signed(ty));
        let mut loaded = Number::within(range);
        if let Some((form, low)) = self.parameter(f, ty, element) {
            (loaded.form, loaded.low) = (Some(form), low);
        }
        self.loaded = Some((loaded, ty.bits()));
    }

    /// The part of a parameter of the function that is loaded.
    fn parameter(
        &mut self,
        f: &Facts<'_>,
        ty: ScalarType,
        element: usize,
    ) -> Option<(Affine, super::Alignment)> {
        let access = f.memory().next()?;
        let (Some(Operand::Var(variable)), Some(offset)) = (access.base, access.offset) else {
            return None;
        };
        let declared = self.pass.of.facts.body().vars().get(variable)?;
        let is_parameter = declared.stmt.is_none() && declared.space.base() == StateSpace::Param;
        if !is_parameter || access.space != Space::State(StateSpace::Param) {
            return None;
        }
        let bytes = ty.bits() / 8;
        let offset = offset + i64::try_from(element).ok()? * i64::from(bytes);
        let symbol = Symbol::Parameter {
            variable,
            offset: u32::try_from(offset).ok()?,
            bytes: bytes as u8,
        };
        let form = Affine::symbol(self.pass.symbols.id(symbol));
        Some((form, self.pass.form_alignment(&form)))
    }

    /// Evaluates the assignments for an element of vectors and notes what the results are.
    fn assign(
        &mut self,
        f: &Facts<'_>,
        assignments: &'static [Assignment],
        (element, elements): (usize, usize),
        results: &mut Results,
    ) {
        for assignment in assignments {
            let value = assignment.value();
            let assigned = match assignment.target() {
                Destination::Local => Assigned::Expr(value),
                Destination::Operand(at) => {
                    let (assigned, found) = self.result(at.into(), &value);
                    let variable = self.result_variable(f, at.into(), element, elements);
                    if let Some(variable) = variable {
                        let ty = self.operand_type(at.into());
                        results.push((variable, self.extended(variable, found, ty)));
                    }
                    assigned
                }
                _ => Assigned::Expr(value),
            };
            self.assigned.push(assigned);
        }
    }

    /// The variable that holds a result, or an element of it.
    fn result_variable(
        &self,
        f: &Facts<'_>,
        at: usize,
        element: usize,
        elements: usize,
    ) -> Option<VariableId> {
        let pass = &*self.pass;
        let operand = match f.operand(at)?.operand {
            // Parts of one result that is divided among registers are not known.
            Operand::Vector(list) if self.form.operands().get(at)?.length() != Length::Scalar => {
                *pass.of.facts.body().pool().list(list).get(element)?
            }
            Operand::Vector(_) => return None,
            other if elements == 1 => other,
            _ => return None,
        };
        pass.of.variables.of(f.place(operand)?).single()
    }

    /// What is known of a result.
    fn result(&mut self, at: usize, value: &Expr) -> (Assigned, Abstract) {
        let unknown = (Assigned::Unknown, Abstract::Unknown);
        let Some(ty) = self.operand_type(at) else {
            return unknown;
        };
        if ty.kind() == TypeKind::Predicate {
            let truth = self.truth(value);
            return (Assigned::Truth(truth), Abstract::Truth(truth));
        }
        let bits = ty.bits();
        if !is_integer(ty) {
            return unknown;
        }
        match self.fitted(value, ty) {
            Some(number) => (Assigned::Number(number, bits), Abstract::Number(number)),
            None => unknown,
        }
    }

    /// An integer as a result of a type: truncated, or saturated.
    fn fitted(&mut self, value: &Expr, ty: ScalarType) -> Option<Number> {
        let (bits, signed) = (ty.bits(), is_signed(ty));
        let need = Need::Low(bits);
        let saturates = self.has(Modifier::Sat) && !self.states_saturation();
        let mut number = match saturates || self.has(Modifier::Relu) {
            false => self.number(value, need)?,
            true => {
                let mut number = self.number(value, Need::Exact)?;
                if self.has(Modifier::Relu) {
                    let most = Interval::new(0, i128::MAX);
                    number = clamped(number, most, need);
                }
                if saturates {
                    number = clamped(number, Interval::of_bits(bits, signed), need);
                }
                number
            }
        };
        number.range = number.range.truncated(bits, signed);
        number.low = number.low.truncated(bits.into());
        number.form = number.form.map(|f| f.modulo(bits));
        Some(Number::new(number.form, number.range, number.low, need))
    }

    /// A result in a register that may be wider than its type.
    fn extended(&self, variable: VariableId, found: Abstract, ty: Option<ScalarType>) -> Abstract {
        let (Abstract::Number(mut number), Some(ty)) = (found, ty) else {
            return found;
        };
        let body = self.pass.of.facts.body();
        let class = self.pass.of.variables.class(body, variable);
        if class.is_some_and(|c| c.bits() > ty.bits()) {
            let form = number.form;
            number.form = form.filter(|f| self.pass.is_exact(f, number.range, ty.bits()));
        }
        Abstract::Number(number)
    }

    fn states_saturation(&self) -> bool {
        let stated = |e: &Expr| *e == Expr::Has(Modifier::Sat);
        let computation = self.form.computation();
        computation.is_some_and(|c| c.assignments().iter().any(|a| a.value().any(&stated)))
    }
}
