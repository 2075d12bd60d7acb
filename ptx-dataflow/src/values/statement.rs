//! The results of the instructions of a function.

use ptx_ir::facts::{Facts, Space};
use ptx_ir::{InstId, Operand, Statement, StmtId};
use ptx_isa::internals::{Assignment, Destination, Expr, Length};
use ptx_isa::{Action, Modifier, Role, ScalarType, StateSpace, TypeKind};

use super::affine::{Affine, Need};
use super::evaluate::{Scope, clamped};
use super::interval::Interval;
use super::number::{Abstract, Assigned, Number, Results, Source, Truth, is_integer, is_signed};
use super::pass::Pass;
use super::symbol::{AffineSymbol, VariableRef};
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value};

/// The maximum number of operands of a form whose values are used.
const MAX_OPERANDS: usize = 12;

impl<'a> Pass<'a> {
    pub(super) fn statement(&mut self, stmt: StmtId, statement: Statement) {
        let ssa = self.context.ssa;
        let defs = ssa.defs(stmt);
        if defs.len() == 0 {
            return;
        }
        let old_value = |def| match ssa.value(def) {
            Value::Def { old, .. } => old.filter(|old| *old != Ssa::UNKNOWN),
            _ => None,
        };
        let reads = ssa.uses(stmt).iter().map(|read| read.value);
        if !self.is_needed(reads.chain(defs.clone().filter_map(old_value))) {
            for def in defs {
                self.finish(def);
            }
            return;
        }
        let mut results = core::mem::take(&mut self.results);
        results.clear();
        let facts = match statement {
            Statement::Inst(inst) => {
                let facts = self.context.facts.inst(inst);
                if facts.is_known() {
                    self.add_results(stmt, inst, &facts, &mut results);
                }
                Some(facts).filter(Facts::is_known)
            }
            _ => None,
        };
        let is_executed = facts
            .as_ref()
            .map_or(Truth::Unknown, |facts| self.guard(stmt, facts));
        for def in defs {
            self.begin(def);
            if let Value::Def { variable, .. } = ssa.value(def) {
                let mut assigned = results.iter().filter(|(v, _)| *v == variable);
                let new = match (assigned.next(), assigned.next()) {
                    (Some((_, new)), None) => *new,
                    _ => Abstract::Unknown,
                };
                let value = match (is_executed, old_value(def)) {
                    (_, None) if facts.is_some() => new,
                    (Truth::Known(true), _) => new,
                    (Truth::Known(false), Some(old)) => self.abstracted(old),
                    (_, Some(old)) if facts.is_some() => new.join(self.abstracted(old)),
                    _ => Abstract::Unknown,
                };
                self.set(def, value);
            }
            self.finish(def);
        }
        self.results = results;
    }

    /// Whether the guard of an instruction holds.
    fn guard(&self, stmt: StmtId, facts: &Facts<'_>) -> Truth {
        match (facts.guard(), facts.guard_register()) {
            (None, _) => Truth::Known(true),
            (_, None) => Truth::Unknown,
            (_, Some((place, sense))) => {
                let mut variables = self.context.variables.of(place);
                let value = variables
                    .next()
                    .and_then(|v| self.context.ssa.read(stmt, v));
                let truth = value.map_or(Truth::Unknown, |v| self.truth(v));
                if sense.is_negated() {
                    truth.inverted()
                } else {
                    truth
                }
            }
        }
    }

    /// Adds the facts about the results of an instruction. Nothing is evaluated if none of them is an integer or a predicate.
    fn add_results(
        &mut self,
        stmt: StmtId,
        inst: InstId,
        facts: &Facts<'a>,
        results: &mut Results,
    ) -> Option<()> {
        let (form, slots) = facts.form()?;
        let id = self.context.facts.body().inst(inst)?.sig;
        let signature = self.context.facts.module().signature(id);
        if let Some(action @ (Action::ToGeneric | Action::FromGeneric)) = form.action() {
            let space = signature.state_spaces().next()?.base();
            let operands = self.sources(stmt, facts);
            results.push(self.converted_address(facts, action, space, &operands)?);
            return Some(());
        }
        let computation = form.computation().filter(|c| !c.is_approximate())?;
        let assignments = computation.assignments();
        let is_evaluated = assignments.iter().any(|assignment| {
            let Destination::Operand(index) = assignment.target() else {
                return false;
            };
            let operand = form.operands().get(usize::from(index));
            let ty = operand.and_then(|operand| operand.ty().scalar_type(slots, form));
            ty.is_some_and(|ty| is_integer(ty) || ty.kind() == TypeKind::Predicate)
        });
        if !is_evaluated {
            return None;
        }
        let operands = self.sources(stmt, facts);
        let elements = self.elements(facts);
        for element in 0..elements {
            let assigned = core::mem::take(&mut self.assigned);
            let mut scope = Scope {
                pass: self,
                facts,
                form,
                slots,
                signature,
                operands: &operands,
                element,
                elements,
                assigned,
            };
            scope.assigned.clear();
            scope.assign(assignments, results);
            self.assigned = scope.assigned;
        }
        Some(())
    }

    /// The sources of an instruction, by the index of the operand of the form.
    fn sources(&self, stmt: StmtId, facts: &Facts<'_>) -> [Source; MAX_OPERANDS] {
        let mut operands = [Source::Unknown; MAX_OPERANDS];
        for source in facts.sources() {
            if let Some(entry) = operands.get_mut(source.index) {
                *entry = self.source(stmt, facts, source.operand);
            }
        }
        operands
    }

    /// The number of elements of the first result.
    fn elements(&self, facts: &Facts<'_>) -> usize {
        let first_result = facts.form().and_then(|(form, _)| {
            let mut operands = form.operands().iter().enumerate();
            let (index, operand) = operands.find(|(_, o)| o.role() == Role::Def)?;
            (operand.length() != Length::Scalar).then_some(facts.operand(index)?.operand)
        });
        match first_result {
            Some(Operand::Vector(list)) => self.context.facts.body().pool().list(list).len(),
            _ => 1,
        }
    }

    /// The variable that gets an address that is converted to a generic one, or back.
    fn converted_address(
        &mut self,
        facts: &Facts<'_>,
        action: Action,
        space: StateSpace,
        operands: &[Source],
    ) -> Option<(VariableId, Abstract)> {
        let (form, slots) = facts.form()?;
        let index_of_role = |role: Role| form.operands().iter().position(|o| o.role() == role);
        let source = index_of_role(Role::Use)
            .filter(|index| !matches!(operands.get(*index), Some(Source::Unknown)))
            .or_else(|| index_of_role(Role::Symbol))?;
        let result = index_of_role(Role::Def)?;
        let ty = form.operands().get(result)?.ty().scalar_type(slots, form)?;
        let need = Need::Low(ty.bits());
        let address = self.read(*operands.get(source)?, Some(ty), need)?;
        let window = match space {
            // Generic addresses of global memory are its addresses.
            StateSpace::Global => Affine::number(0),
            space => Affine::symbol(self.symbols.id(AffineSymbol::Window(space))),
        };
        let form = address.form.and_then(|a| match action {
            Action::ToGeneric => a.add(&window, need),
            _ => a.sub(&window, need),
        });
        let range = Interval::of_bits(ty.bits(), false);
        let low = form.map_or(super::Alignment::UNKNOWN, |f| self.form_alignment(&f));
        let number = Number::new(form, range, low, need);
        let variable = self.variable(facts, facts.operand(result)?.operand)?;
        Some((variable, Abstract::Number(number)))
    }

    /// The variable of an operand that is exactly one variable.
    fn variable(&self, facts: &Facts<'_>, operand: Operand) -> Option<VariableId> {
        self.context.variables.of(facts.place(operand)?).single()
    }

    fn source(&self, stmt: StmtId, facts: &Facts<'_>, operand: Operand) -> Source {
        let pool = self.context.facts.body().pool();
        let register = |operand: Operand, inverted: bool| {
            let variable = self.variable(facts, operand)?;
            Some(Source::Value(
                self.context.ssa.read(stmt, variable)?,
                inverted,
            ))
        };
        let source = match operand {
            Operand::Reg(_) => register(operand, false),
            Operand::Not(inverted) => match pool.get(inverted) {
                inner @ Operand::Reg(_) => register(inner, true),
                _ => None,
            },
            Operand::Component(selector, vector) => match (selector.element(), pool.get(vector)) {
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

/// The source for an integer constant; `None` for other constants.
fn constant(value: ptx_ir::ConstValue) -> Option<Source> {
    use ptx_ir::ConstKind;
    match value.kind() {
        ConstKind::Signed => Some(Source::Constant((value.bits() as i64).into())),
        ConstKind::Unsigned => Some(Source::Constant(value.bits().into())),
        _ => None,
    }
}

impl Scope<'_, '_> {
    /// The facts about the element that is loaded, and its number of bits.
    pub(super) fn loaded(&mut self) -> Option<(Number, u16)> {
        let mut operands = self.form.operands().iter();
        let result = operands.position(|o| o.role() == Role::Def)?;
        let ty = self.operand_type(result).filter(|ty| is_integer(*ty))?;
        let mut loaded = Number::within(Interval::of_bits(ty.bits(), is_signed(ty)));
        if let Some(form) = self.parameter(ty) {
            loaded.low = self.pass.form_alignment(&form);
            loaded.form = Some(form);
        }
        Some((loaded, ty.bits()))
    }

    /// The part of a parameter of the function that is loaded.
    fn parameter(&mut self, ty: ScalarType) -> Option<Affine> {
        let access = self.facts.memory().next()?;
        let (Some(Operand::Var(variable)), Some(offset)) = (access.base, access.offset) else {
            return None;
        };
        let declared = self.pass.context.facts.body().vars().get(variable)?;
        let is_parameter = declared.stmt.is_none() && declared.space.base() == StateSpace::Param;
        if !is_parameter || access.space != Space::State(StateSpace::Param) {
            return None;
        }
        let bytes = ty.bits() / 8;
        let offset = offset + i64::try_from(self.element).ok()? * i64::from(bytes);
        let symbol = AffineSymbol::Parameter {
            variable,
            offset: u32::try_from(offset).ok()?,
            bytes: bytes as u8,
        };
        Some(Affine::symbol(self.pass.symbols.id(symbol)))
    }

    /// Evaluates the assignments and adds the facts about the results.
    fn assign(&mut self, assignments: &'static [Assignment], results: &mut Results) {
        for assignment in assignments {
            let value = assignment.value();
            let assigned = match assignment.target() {
                Destination::Operand(index) => {
                    let index = usize::from(index);
                    let (assigned, result) = self.result(index, &value);
                    if let Some(variable) = self.result_variable(index) {
                        let ty = self.operand_type(index);
                        results.push((variable, self.extended(variable, result, ty)));
                    }
                    assigned
                }
                _ => Assigned::Expr(value),
            };
            self.assigned.push(assigned);
        }
    }

    /// The variable that holds a result, or the current element of it.
    fn result_variable(&self, index: usize) -> Option<VariableId> {
        let context = &self.pass.context;
        let operand = match self.facts.operand(index)?.operand {
            // Parts of one result that is divided among registers are not known.
            Operand::Vector(list)
                if self.form.operands().get(index)?.length() != Length::Scalar =>
            {
                *context.facts.body().pool().list(list).get(self.element)?
            }
            Operand::Vector(_) => return None,
            other if self.elements == 1 => other,
            _ => return None,
        };
        context.variables.of(self.facts.place(operand)?).single()
    }

    /// The facts about a result.
    fn result(&mut self, index: usize, value: &Expr) -> (Assigned, Abstract) {
        let unknown = (Assigned::Unknown, Abstract::Unknown);
        let Some(ty) = self.operand_type(index) else {
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
        let is_rectified = self.has(Modifier::Relu);
        let is_exact = saturates || is_rectified;
        let mut number = self.number(value, if is_exact { Need::Exact } else { need })?;
        if is_rectified {
            number = clamped(number, Interval::new(0, i128::MAX), need);
        }
        if saturates {
            number = clamped(number, Interval::of_bits(bits, signed), need);
        }
        number.range = number.range.truncated(bits, signed);
        number.low = number.low.truncated(bits.into());
        number.form = number.form.map(|f| f.modulo(bits));
        Some(Number::new(number.form, number.range, number.low, need))
    }

    /// A result in a register that may be wider than its type.
    fn extended(&self, variable: VariableId, value: Abstract, ty: Option<ScalarType>) -> Abstract {
        let (Abstract::Number(mut number), Some(ty)) = (value, ty) else {
            return value;
        };
        let class = self.pass.context.variables.class(variable);
        if class.is_some_and(|c| c.bits() > ty.bits()) {
            let form = number.form;
            number.form = form.filter(|f| self.pass.is_exact(f, number.range, ty.bits()));
        }
        Abstract::Number(number)
    }

    /// Whether the computation describes the effect of the modifier for saturation by itself.
    fn states_saturation(&self) -> bool {
        self.form.computation().is_some_and(|computation| {
            computation.assignments().iter().any(|assignment| {
                let value = assignment.value();
                value.any(&|part| *part == Expr::Has(Modifier::Sat))
            })
        })
    }
}
