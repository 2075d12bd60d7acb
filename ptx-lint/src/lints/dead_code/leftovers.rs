//! Dead instructions that compilers typically leave and that are not reported: inline assembly, copies, results of calls, unused parts of parameters
//! and special registers whose other parts are used, and instructions that compute the same value as another one.

use alloc::vec::Vec;

use ptx_analysis::memory_access;
use ptx_ir::facts::{Facts, MemoryAccess, Space};
use ptx_ir::{InstId, Operand, Statement, StmtId, VarId};
use ptx_isa::{Access, SpecialReg, StateSpace};

use crate::context::{FunctionContext, Reached};

/// The section of the PTX ISA manual about moves and conversions.
const MOVES: &str = "9.7.9.";

/// The number of instructions before and after a dead one that are searched for the same computation. At the start of a block, more instructions after
/// it are searched, so that the total number is the same.
const NEARBY_INSTRUCTIONS: usize = 2;

/// The number of statements after a dead one that are searched for a write of the same register.
const MOST_OVERWRITE_DISTANCE: usize = 64;

/// Recognizes dead instructions that compilers leave.
pub(super) struct Leftovers<'a> {
    cx: &'a FunctionContext<'a>,
    /// The variables that calls write, in ascending order.
    call_results: Vec<VarId>,
    /// The special registers that are read and their components, one entry for each read, in ascending order.
    special_reads: Vec<(SpecialReg, u8)>,
    /// The variables that are loaded and the offsets, in ascending order.
    loads: Vec<(VarId, i64)>,
    /// The statements that access local memory, in ascending order.
    local_accesses: Vec<StmtId>,
}

impl<'a> Leftovers<'a> {
    pub(super) fn new(cx: &'a FunctionContext<'a>) -> Self {
        let mut leftovers = Self {
            cx,
            call_results: Vec::new(),
            special_reads: Vec::new(),
            loads: Vec::new(),
            local_accesses: Vec::new(),
        };
        for (_, statement) in cx.body().statements() {
            if let Statement::Inst(inst) = statement {
                leftovers.add(inst);
            }
        }
        let accesses = cx.accesses().map_or(&[][..], memory_access::Accesses::all);
        leftovers.local_accesses.extend(
            accesses
                .iter()
                .filter(|access| access.space == Space::State(StateSpace::Local))
                .map(|access| access.stmt),
        );
        leftovers.call_results.sort_unstable();
        leftovers.special_reads.sort_unstable();
        leftovers.loads.sort_unstable();
        leftovers.local_accesses.sort_unstable();
        leftovers
    }

    /// Collects the reads and writes of an instruction.
    fn add(&mut self, inst: InstId) {
        let facts = self.cx.facts().inst(inst);
        for (list, access) in facts.call_lists() {
            if access == Access::Write {
                self.call_results.extend(list.iter().filter_map(variable));
            }
        }
        for operand in read_operands(&facts) {
            let special_read = self.special_register(operand);
            self.special_reads.extend(special_read);
        }
        self.loads.extend(facts.memory().filter_map(load));
    }

    /// Returns `true` if compilers typically leave a dead instruction like this one.
    pub(super) fn contains(&self, inst: &Reached<'_>) -> bool {
        self.cx.inline_assembly().contains(inst.stmt)
            || is_copy(inst) && !self.is_overwritten_constant(inst)
            || self.is_part_of_special(inst)
            || self.is_part_of_parameter(inst)
            || self.loads_call_result(inst)
            || self.accesses_stack(inst)
            || self.is_repeated(inst)
    }

    /// Returns `true` if an instruction writes a constant to a register that an instruction after it in the block overwrites. No compiler leaves this.
    fn is_overwritten_constant(&self, inst: &Reached<'_>) -> bool {
        let is_constant = read_operands(&inst.facts)
            .all(|operand| matches!(operand, Operand::Small(_) | Operand::Imm(_)));
        if !is_constant {
            return false;
        }
        let Some(place) = inst.facts.registers().next().map(|mention| mention.place) else {
            return false;
        };
        self.cx
            .later_in_block(inst.stmt)
            .take(MOST_OVERWRITE_DISTANCE)
            .find_map(|(_, statement)| match statement {
                Statement::Inst(later) => self
                    .cx
                    .facts()
                    .inst(later)
                    .registers()
                    .find(|mention| mention.place == place),
                _ => None,
            })
            .is_some_and(|mention| !mention.usage.reads())
    }

    /// Returns `true` if an instruction copies a special register that is read again, or one of three components that are all read, such as those of
    /// a `dim3`.
    fn is_part_of_special(&self, inst: &Reached<'_>) -> bool {
        let mut operands = read_operands(&inst.facts);
        let (Some(operand), None) = (operands.next(), operands.next()) else {
            return false;
        };
        let Some((register, component)) = self.special_register(operand) else {
            return false;
        };
        // At most two reads are counted.
        let reads = |component| {
            let first = self
                .special_reads
                .partition_point(|read| *read < (register, component));
            self.special_reads
                .iter()
                .skip(first)
                .take(2)
                .filter(|read| **read == (register, component))
                .count()
        };
        reads(component) > 1 || register.is_vector() && (0..3).all(|c| reads(c) > 0)
    }

    /// Returns the special register, and the component of it, that an operand reads.
    fn special_register(&self, operand: Operand) -> Option<(SpecialReg, u8)> {
        match operand {
            Operand::Special(register) => Some((register, 0)),
            Operand::Component(selector, vector) => match self.cx.body().pool().get(vector) {
                Operand::Special(register) => Some((register, selector.element()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns `true` if an instruction loads a part of a parameter from which other parts are loaded.
    fn is_part_of_parameter(&self, inst: &Reached<'_>) -> bool {
        inst.facts
            .memory()
            .filter(
                |access| matches!(access.space, Space::State(s) if s.base() == StateSpace::Param),
            )
            .filter_map(load)
            .any(|(variable, offset)| {
                let first = self.loads.partition_point(|(v, _)| *v < variable);
                let end = self.loads.partition_point(|(v, _)| *v <= variable);
                let loads = self.loads.get(first..end).unwrap_or_default();
                // The smallest and the largest offset.
                let mut bounds = loads.first().into_iter().chain(loads.last());
                bounds.any(|(_, bound)| *bound != offset)
            })
    }

    /// Returns `true` if an instruction loads the result of a call.
    fn loads_call_result(&self, inst: &Reached<'_>) -> bool {
        inst.facts
            .memory()
            .filter_map(|access| variable(&access.base?))
            .any(|variable| self.call_results.binary_search(&variable).is_ok())
    }

    /// Returns `true` if an instruction accesses local memory, as unoptimized code does for each use of a variable.
    fn accesses_stack(&self, inst: &Reached<'_>) -> bool {
        self.local_accesses.binary_search(&inst.stmt).is_ok()
    }

    /// Returns `true` if a nearby instruction computes the same value.
    fn is_repeated(&self, inst: &Reached<'_>) -> bool {
        let cfg = self.cx.cfg();
        let Some(block) = cfg.of_statement(inst.stmt).and_then(|id| cfg.block(id)) else {
            return false;
        };
        let instruction = |(_, statement)| match statement {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        };
        let body = self.cx.body();
        let earlier_instructions: Vec<InstId> = body
            .range(block.first, inst.stmt)
            .rev()
            .filter_map(instruction)
            .take(NEARBY_INSTRUCTIONS)
            .collect();
        let mut later_instructions = self
            .cx
            .later_in_block(inst.stmt)
            .filter_map(instruction)
            .take(2 * NEARBY_INSTRUCTIONS - earlier_instructions.len());
        earlier_instructions
            .iter()
            .any(|earlier| self.computes_same(*earlier, inst) || self.reloads(*earlier, inst))
            || later_instructions.any(|later| self.computes_same(later, inst))
    }

    /// Returns `true` if two instructions have the same mnemonic and read the same operands.
    fn computes_same(&self, other: InstId, inst: &Reached<'_>) -> bool {
        let body = self.cx.body();
        let signature = |inst: InstId| body.inst(inst).map(|inst| inst.sig);
        if signature(other) != signature(inst.inst) {
            return false;
        }
        let operands: Vec<Operand> = read_operands(&self.cx.facts().inst(other)).collect();
        let operands_of_inst: Vec<Operand> = read_operands(&inst.facts).collect();
        self.are_same(&operands, &operands_of_inst)
    }

    /// Returns `true` if an instruction loads the value that another instruction stored: the value of an assignment.
    fn reloads(&self, store: InstId, inst: &Reached<'_>) -> bool {
        let stored: Vec<Operand> = self
            .cx
            .facts()
            .inst(store)
            .memory()
            .filter(|access| access.access == Access::Write)
            .filter_map(|access| access.operand)
            .collect();
        let loaded: Vec<Operand> = inst
            .facts
            .memory()
            .filter_map(|access| access.operand)
            .collect();
        !loaded.is_empty() && self.are_same(&stored, &loaded)
    }

    /// Returns `true` if two lists of operands have the same text.
    fn are_same(&self, first: &[Operand], second: &[Operand]) -> bool {
        let pool = self.cx.body().pool();
        // The base and the number of an address or a number.
        let key = |operand: &Operand| match operand {
            Operand::Address(id) => pool
                .address(*id)
                .map(|address| (address.base, pool.integer(address.offset))),
            operand => Some((*operand, pool.integer(*operand))),
        };
        first.len() == second.len() && first.iter().map(key).eq(second.iter().map(key))
    }
}

/// Returns the operands that an instruction reads.
fn read_operands<'f>(facts: &'f Facts<'_>) -> impl Iterator<Item = Operand> + 'f {
    facts
        .parts()
        .filter(|(_, usage)| usage.reads())
        .map(|(operand, _)| operand)
}

/// Returns `true` if an instruction moves or converts registers, or the address of a variable.
fn is_copy(inst: &Reached<'_>) -> bool {
    inst.facts.section().starts_with(MOVES)
        && inst.facts.memory().next().is_none()
        && read_operands(&inst.facts)
            .all(|operand| !matches!(operand, Operand::Special(_) | Operand::Component(..)))
}

/// Returns the variable that an operand names.
fn variable(operand: &Operand) -> Option<VarId> {
    match operand {
        Operand::Var(variable) => Some(*variable),
        _ => None,
    }
}

/// Returns the variable and the offset that an instruction loads from.
fn load(access: MemoryAccess) -> Option<(VarId, i64)> {
    let variable = variable(&access.base?)?;
    (access.access == Access::Read).then_some((variable, access.offset?))
}
