//! The registers of an instruction that steps show, and the types of their values.

use core::fmt;
use std::collections::HashMap;
use std::sync::Arc;

use ptx_ir::facts::{FactTables, FunctionFacts, ModuleFacts, RegisterComponent};
use ptx_ir::raw::query::Queries;
use ptx_ir::{EntityId as _, FuncId, InstId, Module, Operand};
use ptx_isa::{Role, ScalarType, TypeKind};

use super::{RegisterValues, StepRegister};
use crate::lanes::{LANES, Place, Registers};
use crate::program::{Function, Program, TypedOperand, typed_operands};

/// A register that an instruction mentions.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Mentioned {
    register: StepRegister,
    place: Place,
    ty: ScalarType,
}

impl Mentioned {
    /// The values of the register in a call.
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

/// The registers of an instruction, and the type of its memory.
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
    described: HashMap<(FuncId, u32), Arc<Described>>,
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
            described: HashMap::new(),
        }
    }

    /// The description of a step.
    pub(super) fn get(
        &mut self,
        module: &Module,
        program: &Program,
        function: FuncId,
        step_index: u32,
    ) -> Arc<Described> {
        if let Some(described) = self.described.get(&(function, step_index)) {
            return Arc::clone(described);
        }
        let described = self.describe(module, program, function, step_index);
        let described = Arc::new(described.unwrap_or_default());
        self.described
            .insert((function, step_index), Arc::clone(&described));
        described
    }

    fn describe(
        &mut self,
        module: &Module,
        program: &Program,
        id: FuncId,
        step_index: u32,
    ) -> Option<Described> {
        let module_facts = ModuleFacts::with_tables(module, Arc::clone(&self.tables)).ok()?;
        let facts = module_facts.function(id)?;
        if self.entered != Some(id) {
            self.queries.enter(module, id, facts.body());
            self.entered = Some(id);
        }
        let function = program.function(id)?;
        let inst = function.steps.get(step_index as usize)?.inst;
        let operands = typed_operands(facts, &mut self.queries, inst).unwrap_or_default();
        let mut described = Described {
            element: element(&operands),
            ..Described::default()
        };
        let types = Types::new(facts, inst, &operands);
        for mention in facts.inst(inst).registers() {
            let usage = mention.usage;
            if usage.reads() {
                types.add(function, mention.place, Usage::Read, &mut described.reads);
            }
            if usage.writes() || usage.may_write() {
                types.add(function, mention.place, Usage::Write, &mut described.writes);
            }
        }
        add_special_registers(facts, function, &operands, &mut described.reads);
        Some(described)
    }
}

/// The type of the operand that is loaded, stored or combined with memory.
fn element(operands: &[TypedOperand]) -> Option<ScalarType> {
    let mut results = operands.iter().filter(|o| o.role == Role::Def);
    let mut sources = operands.iter().filter(|o| o.role == Role::Use);
    results.next().or_else(|| sources.next())?.ty
}

/// The use of a register.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Usage {
    Read,
    Write,
}

/// The types that an instruction gives the values of its registers.
struct Types<'a> {
    facts: FunctionFacts<'a>,
    operand_types: Vec<(RegisterComponent, Usage, ScalarType)>,
}

impl<'a> Types<'a> {
    fn new(facts: FunctionFacts<'a>, inst: InstId, operands: &[TypedOperand]) -> Self {
        let facts_of_inst = facts.inst(inst);
        let mut operand_types = Vec::new();
        for operand in operands {
            let Some(ty) = operand.ty else { continue };
            let registers = match &operand.operand {
                Operand::Vector(list) => facts.body().pool().list(*list),
                Operand::Address(_) => &[],
                other => core::slice::from_ref(other),
            };
            for place in registers.iter().filter_map(|o| facts_of_inst.place(*o)) {
                if operand.role != Role::Def {
                    operand_types.push((place, Usage::Read, ty));
                }
                if matches!(operand.role, Role::Def | Role::ReadWrite) {
                    operand_types.push((place, Usage::Write, ty));
                }
            }
        }
        Self {
            facts,
            operand_types,
        }
    }

    fn of_operand(&self, place: RegisterComponent, usage: Usage) -> Option<ScalarType> {
        let mut types = self.operand_types.iter();
        let entry = types.find(|(register, used, _)| (*register, *used) == (place, usage));
        entry.map(|(.., ty)| *ty)
    }

    /// Adds a register, or the elements of a vector register, unless it is there.
    fn add(
        &self,
        function: &Function,
        place: RegisterComponent,
        usage: Usage,
        mentions: &mut Vec<Mentioned>,
    ) {
        let declaration = self.facts.body().reg_decl_of(place.register);
        let declared = declaration.and_then(|declaration| declaration.ty.known());
        let ty = match (declared, self.of_operand(place, usage)) {
            (Some(declared), Some(of_operand)) => shown_type(declared, of_operand),
            (Some(ty), None) | (None, Some(ty)) => ty,
            (None, None) => return,
        };
        for variable in function.numbers.of(place) {
            let Some(&place) = function.registers.get(variable.index()) else {
                continue;
            };
            let mentioned = Mentioned {
                register: StepRegister::Register(function.numbers.place(variable)),
                place,
                ty,
            };
            if !mentions.iter().any(|m| m.register == mentioned.register) {
                mentions.push(mentioned);
            }
        }
    }
}

/// The type that says most about a value in a register of a declared type.
fn shown_type(declared: ScalarType, of_operand: ScalarType) -> ScalarType {
    let kind = of_operand.kind();
    if kind == TypeKind::Bits || declared.kind() == TypeKind::Predicate {
        return declared;
    }
    if of_operand.bits() == declared.bits() {
        return of_operand;
    }
    if !matches!(kind, TypeKind::Signed | TypeKind::Unsigned) {
        return declared;
    }
    // An integer that fills a wider register.
    let mut types = ScalarType::ALL.iter().copied();
    let wider =
        types.find(|ty| ty.kind() == kind && ty.bits() == declared.bits() && ty.elements() <= 1);
    wider.unwrap_or(declared)
}

/// Adds the special registers that are operands and have a place.
fn add_special_registers(
    facts: FunctionFacts<'_>,
    function: &Function,
    operands: &[TypedOperand],
    mentions: &mut Vec<Mentioned>,
) {
    let pool = facts.body().pool();
    for operand in operands {
        let (base, element) = match operand.operand {
            Operand::Component(selector, vector) => (pool.get(vector), selector.element()),
            other => (other, None),
        };
        let Operand::Special(special) = base else {
            continue;
        };
        for &(register, lane, place) in &function.special {
            if register == special && element.is_none_or(|element| element == lane) {
                mentions.push(Mentioned {
                    register: StepRegister::Special(register, lane),
                    place,
                    ty: register.scalar_type(),
                });
            }
        }
    }
}
