//! The registers of an instruction that steps show, and the types of their values.

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use ptx_ir::facts::{FactTables, FunctionFacts, ModuleFacts, RegLane};
use ptx_ir::query::Queries;
use ptx_ir::{EntityId as _, FuncId, InstId, Module, Operand};
use ptx_isa::{Role, ScalarType, TypeKind};

use super::{RegisterValues, StepRegister};
use crate::lanes::{LANES, Place, Registers};
use crate::program::{Function, Program, TypedOperand, typed_operands};

/// A register of an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Mentioned {
    register: StepRegister,
    place: Place,
    ty: ScalarType,
}

impl Mentioned {
    /// Its values in a call.
    pub(super) fn values(&self, registers: &Registers) -> RegisterValues {
        let mut values = Box::new([0; LANES]);
        for (lane, value) in values.iter_mut().enumerate() {
            *value = registers.get(self.place, lane);
        }
        RegisterValues {
            register: self.register,
            ty: self.ty,
            values,
        }
    }
}

/// An instruction.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) reads: Vec<Mentioned>,
    pub(super) writes: Vec<Mentioned>,
    /// The type of elements in memory.
    pub(super) element: Option<ScalarType>,
}

/// The instructions that were described.
pub(super) struct Descriptions {
    tables: Arc<FactTables>,
    queries: Queries<()>,
    entered: Option<FuncId>,
    known: HashMap<(FuncId, u32), Arc<Described>>,
}

impl fmt::Debug for Descriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Descriptions").finish_non_exhaustive()
    }
}

impl Descriptions {
    pub(super) fn new(module: &Module) -> Self {
        Self {
            tables: Arc::clone(ModuleFacts::new(module).tables()),
            queries: Queries::new(module),
            entered: None,
            known: HashMap::new(),
        }
    }

    /// The description of a step.
    pub(super) fn get(
        &mut self,
        module: &Module,
        program: &Program,
        (function, at): (FuncId, u32),
    ) -> Arc<Described> {
        if let Some(known) = self.known.get(&(function, at)) {
            return Arc::clone(known);
        }
        let described = self.describe(module, program, (function, at));
        let described = Arc::new(described.unwrap_or_default());
        self.known.insert((function, at), Arc::clone(&described));
        described
    }

    fn describe(
        &mut self,
        module: &Module,
        program: &Program,
        (id, at): (FuncId, u32),
    ) -> Option<Described> {
        let facts = ModuleFacts::with_tables(module, Arc::clone(&self.tables)).ok()?;
        let facts = facts.function(id)?;
        if self.entered != Some(id) {
            self.queries.enter(module, id, facts.body());
            self.entered = Some(id);
        }
        let function = program.function(id)?;
        let inst = function.steps.get(at as usize)?.inst;
        let operands = typed_operands(facts, &mut self.queries, inst).unwrap_or_default();
        let mut described = Described {
            element: element(&operands),
            ..Described::default()
        };
        let types = Types::new(facts, inst, &operands);
        for mention in facts.inst(inst).registers() {
            let usage = mention.usage;
            if usage.reads() {
                types.add(function, mention.place, false, &mut described.reads);
            }
            if usage.writes() || usage.may_write() {
                types.add(function, mention.place, true, &mut described.writes);
            }
        }
        special(facts, function, &operands, &mut described.reads);
        Some(described)
    }
}

/// The type of the operand that is loaded, stored or combined with memory.
fn element(operands: &[TypedOperand]) -> Option<ScalarType> {
    let operand_with_role = |role: Role| operands.iter().find(|o| o.role == role);
    operand_with_role(Role::Def)
        .or_else(|| operand_with_role(Role::Use))?
        .ty
}

/// The types that an instruction gives the values of its registers.
struct Types<'a> {
    facts: FunctionFacts<'a>,
    /// With whether it is written.
    given: Vec<(RegLane, bool, ScalarType)>,
}

impl<'a> Types<'a> {
    fn new(facts: FunctionFacts<'a>, inst: InstId, operands: &[TypedOperand]) -> Self {
        let facts_of_inst = facts.inst(inst);
        let mut given = Vec::new();
        for operand in operands {
            let Some(ty) = operand.ty else { continue };
            let mut add = |register: Operand| {
                let reads = operand.role != Role::Def;
                let writes = matches!(operand.role, Role::Def | Role::ReadWrite);
                if let Some(place) = facts_of_inst.place(register) {
                    given.extend(reads.then_some((place, false, ty)));
                    given.extend(writes.then_some((place, true, ty)));
                }
            };
            match operand.operand {
                Operand::Vector(list) => {
                    let list = facts.body().pool().list(list);
                    list.iter().for_each(|part| add(*part));
                }
                Operand::Address(_) => {}
                other => add(other),
            }
        }
        Self { facts, given }
    }

    /// Adds a register, or the elements of a vector register, unless it is there.
    fn add(&self, function: &Function, of: RegLane, written: bool, to: &mut Vec<Mentioned>) {
        let body = self.facts.body();
        let given_operand = self.given.iter().find(|g| (g.0, g.1) == (of, written));
        let declared = body.reg_decl_of(of.register).and_then(|d| d.ty.known());
        let ty = match (declared, given_operand) {
            (Some(declared), Some(given_operand)) => shown(declared, given_operand.2),
            (Some(declared), None) => declared,
            (None, Some(given_operand)) => given_operand.2,
            (None, None) => return,
        };
        for variable in function.numbers.of(of) {
            let Some(&place) = function.registers.get(variable.index()) else {
                continue;
            };
            let mentioned = Mentioned {
                register: StepRegister::Register(function.numbers.place(variable)),
                place,
                ty,
            };
            if !to.iter().any(|m| m.register == mentioned.register) {
                to.push(mentioned);
            }
        }
    }
}

/// The type that says most about a value in a register of a declared type.
fn shown(declared: ScalarType, given: ScalarType) -> ScalarType {
    let kind = given.kind();
    if kind == TypeKind::Bits || declared.kind() == TypeKind::Predicate {
        return declared;
    }
    if given.bits() == declared.bits() {
        return given;
    }
    // An integer that fills a wider register.
    let is_integer = matches!(kind, TypeKind::Signed | TypeKind::Unsigned);
    let fits = |t: &&ScalarType| t.kind() == kind && t.bits() == declared.bits() && t.lanes() <= 1;
    let wider = ScalarType::ALL.iter().find(fits);
    wider.copied().filter(|_| is_integer).unwrap_or(declared)
}

/// Adds the special registers that are operands and have a place.
fn special(
    facts: FunctionFacts<'_>,
    function: &Function,
    operands: &[TypedOperand],
    to: &mut Vec<Mentioned>,
) {
    let pool = facts.body().pool();
    for operand in operands {
        let (written, element) = match operand.operand {
            Operand::Lane(selector, at) => (pool.get(at), selector.element()),
            other => (other, None),
        };
        let Operand::Special(wanted) = written else {
            continue;
        };
        for &(register, lane, place) in &function.special {
            if register == wanted && element.is_none_or(|element| element == lane) {
                to.push(Mentioned {
                    register: StepRegister::Special(register, lane),
                    place,
                    ty: register.scalar_type(),
                });
            }
        }
    }
}
