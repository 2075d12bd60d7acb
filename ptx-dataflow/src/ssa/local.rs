//! The reads and writes of each block in order, and which of them see the value at the start of the block.

use alloc::vec::Vec;

use ptx_ir::facts::{Flow, FunctionFacts, Mentions, Stamp};
use ptx_ir::{Body, EntityId, Statement, StmtId};

use super::cells::{CellAccess, CellUse, Cells, cell_variable};
use super::{Returned, Ssa, Use, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::reg_lanes::{VariableId, Variables};

/// What sees the value of a variable at the start of a block.
#[derive(Copy, Clone, Debug)]
pub(super) enum Slot {
    /// A read, by its number.
    Use(u32),
    /// A result of the function, by its number.
    Returned(u32),
    /// A read after merges only: it makes the variable live.
    Through,
    /// The old value of a merge.
    Old(ValueId),
}

impl Slot {
    /// Whether it makes the variable live: not so for what a conditional write leaves unchanged.
    pub(super) const fn reads(self) -> bool {
        !matches!(self, Self::Old(_))
    }
}

/// A place in a block that sees what a variable holds at the start of the block.
#[derive(Copy, Clone, Debug)]
pub(super) struct Exposed {
    pub(super) variable: VariableId,
    pub(super) block: u32,
    pub(super) slot: Slot,
}

/// The last write of a variable in a block.
#[derive(Copy, Clone, Debug)]
pub(super) struct Last {
    pub(super) variable: VariableId,
    pub(super) block: u32,
    pub(super) value: ValueId,
    /// Whether the block writes the variable unconditionally.
    pub(super) ends: bool,
}

pub(super) struct Local {
    pub(super) stamp: Stamp,
    pub(super) values: Vec<Value>,
    pub(super) uses: Vec<Use>,
    /// The results where blocks return.
    pub(super) returned: Vec<Returned>,
    pub(super) use_starts: Vec<u32>,
    pub(super) def_starts: Vec<u32>,
    /// The position of each statement, if edits changed their order; else empty.
    pub(super) places: Vec<u32>,
    /// In the order of the blocks, as are the last writes.
    pub(super) exposed: Vec<Exposed>,
    pub(super) lasts: Vec<Last>,
    /// Where those of each block start, in `exposed` and in `lasts`.
    pub(super) starts: Vec<(u32, u32)>,
    /// The number of the carry flag, and the numbers of all variables end before `bound`.
    pub(super) carry: VariableId,
    pub(super) bound: u32,
}

impl Local {
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        cells: &Cells,
    ) -> Self {
        let carry = VariableId::from_index(variables.len());
        let bound = carry.as_u32() + 1 + cells.count();
        let mut pass = Pass {
            variables,
            now: vec![(0, 0); bound as usize],
            last_use: vec![0; bound as usize],
            local: Self {
                stamp: Stamp::of(facts),
                values: vec![Value::Unknown],
                uses: Vec::new(),
                returned: Vec::new(),
                use_starts: Vec::new(),
                def_starts: Vec::new(),
                places: places(facts.body()),
                exposed: Vec::new(),
                lasts: Vec::new(),
                starts: Vec::with_capacity(cfg.len()),
                carry,
                bound,
            },
        };
        let body = facts.body();
        let mut results: Vec<VariableId> = Vec::new();
        for register in facts.results() {
            results.extend(variables.of(register.into()));
        }
        for (id, block) in cfg.blocks() {
            let local = &mut pass.local;
            let starts = (local.exposed.len() as u32, local.lasts.len() as u32);
            local.starts.push(starts);
            for (stmt, statement) in body.range(block.first, block.end) {
                let local = &mut pass.local;
                let place = local.places.get(stmt.index()).copied();
                let place = place.unwrap_or(stmt.as_u32());
                // Blocks are in the order of the statements; statements between them do nothing.
                while local.use_starts.len() <= place as usize {
                    local.use_starts.push(local.uses.len() as u32);
                    local.def_starts.push(local.values.len() as u32);
                }
                let at = (id.as_u32(), stmt);
                match statement {
                    Statement::Inst(inst) => {
                        let f = facts.inst(inst);
                        let is_conditional = f.guard().is_some() || !f.is_known();
                        // The PTX ISA manual says that a call does not preserve the carry flag, but ptxas does: code that reads the flag after a call
                        // reads what was written before.
                        let carry = CarryAccess {
                            reads: f.reads_carry(),
                            writes: f.writes_carry(),
                            may_keep: is_conditional || f.flow() == Flow::Call,
                        };
                        pass.statement(at, &f.registers(), carry, is_conditional, cells.of(stmt));
                    }
                    Statement::Opaque(opaque) => {
                        let carry = CarryAccess {
                            reads: true,
                            writes: true,
                            may_keep: true,
                        };
                        pass.statement(at, &facts.opaque(opaque), carry, true, &[]);
                    }
                    _ => {}
                }
            }
            for &variable in results.iter().filter(|_| block.returns) {
                pass.returned(id, variable);
            }
        }
        let mut local = pass.local;
        while local.use_starts.len() <= body.statement_table().len() {
            local.use_starts.push(local.uses.len() as u32);
            local.def_starts.push(local.values.len() as u32);
        }
        local
    }
}

/// The positions of the statements of an edited body, by id.
fn places(body: &Body) -> Vec<u32> {
    if body.edits().is_none() {
        return Vec::new();
    }
    let mut places = vec![u32::MAX - 1; body.statement_table().len()];
    for ((stmt, _), place) in body.statements().zip(0u32..) {
        if let Some(entry) = places.get_mut(stmt.index()) {
            *entry = place;
        }
    }
    places
}

/// The accesses of a statement to the carry flag.
#[derive(Copy, Clone)]
struct CarryAccess {
    reads: bool,
    writes: bool,
    /// A write may leave the old value.
    may_keep: bool,
}

struct Pass<'a> {
    variables: &'a Variables,
    /// For each variable the block that wrote it last, counted from one, and which of `lasts` that is.
    now: Vec<(u32, u32)>,
    /// For each variable its last entry in `uses`, counted from one.
    last_use: Vec<u32>,
    local: Local,
}

impl Pass<'_> {
    /// Adds the reads and then the writes of a statement. A conditional statement may leave the old values of cells.
    fn statement(
        &mut self,
        at: (u32, StmtId),
        mentions: &Mentions<'_>,
        carry: CarryAccess,
        is_conditional: bool,
        cells: &[CellAccess],
    ) {
        let flag = self.local.carry;
        let first_use = self.local.uses.len();
        for mention in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in self.variables.of(mention.place) {
                self.read(at, variable, first_use);
            }
        }
        if carry.reads {
            self.read(at, flag, first_use);
        }
        for access in cells.iter().filter(|a| a.usage.reads()) {
            self.read(at, cell_variable(flag, access.cell), first_use);
        }
        let first_def = self.local.values.len();
        for mention in mentions.clone() {
            let (always, sometimes) = (mention.usage.writes(), mention.usage.may_write());
            if always || sometimes {
                for variable in self.variables.of(mention.place) {
                    self.write(at, variable, !always, first_def);
                }
            }
        }
        if carry.writes {
            self.write(at, flag, carry.may_keep, first_def);
        }
        for access in cells.iter().filter(|a| !a.usage.reads()) {
            let may = is_conditional || access.usage == CellUse::MayWrite;
            self.write(at, cell_variable(flag, access.cell), may, first_def);
        }
    }

    fn last(&self, block: u32, variable: VariableId) -> Option<usize> {
        let &(stamp, index) = self.now.get(variable.index())?;
        (stamp == block + 1).then_some(index as usize)
    }

    fn read(&mut self, (block, stmt): (u32, StmtId), variable: VariableId, first: usize) {
        let number = self.local.uses.len() as u32;
        let Some(last) = self.last_use.get_mut(variable.index()) else {
            return;
        };
        if *last > first as u32 {
            return;
        }
        *last = number + 1;
        let value = self.sees(block, variable, Slot::Use(number));
        self.local.uses.push(Use {
            stmt,
            variable,
            value,
        });
    }

    fn returned(&mut self, block: BlockId, variable: VariableId) {
        let number = self.local.returned.len() as u32;
        let value = self.sees(block.as_u32(), variable, Slot::Returned(number));
        self.local.returned.push(Returned {
            block,
            variable,
            value,
        });
    }

    /// What is seen in a variable at this place of a block, as far as the block itself says; `slot` sees what arrives.
    fn sees(&mut self, block: u32, variable: VariableId, slot: Slot) -> ValueId {
        let known = self
            .last(block, variable)
            .and_then(|i| self.local.lasts.get(i));
        let value = known.map_or(Ssa::UNKNOWN, |l| l.value);
        let slot = match known {
            None => Some(slot),
            Some(last) if !last.ends => Some(Slot::Through),
            _ => None,
        };
        let exposed = slot.map(|slot| Exposed {
            variable,
            block,
            slot,
        });
        self.local.exposed.extend(exposed);
        value
    }

    fn write(
        &mut self,
        (block, stmt): (u32, StmtId),
        variable: VariableId,
        may: bool,
        first: usize,
    ) {
        let last = self.last(block, variable);
        let last = last.and_then(|i| self.local.lasts.get_mut(i));
        // A register that is listed twice among the results is written once.
        if last.as_ref().is_some_and(|l| l.value.0 as usize >= first) {
            return;
        }
        let value = ValueId(self.local.values.len() as u32);
        let mut old = may.then_some(Ssa::UNKNOWN);
        match last {
            Some(last) => {
                old = may.then_some(last.value);
                last.value = value;
                last.ends |= !may;
            }
            None => {
                if may {
                    self.local.exposed.push(Exposed {
                        variable,
                        block,
                        slot: Slot::Old(value),
                    });
                }
                if let Some(now) = self.now.get_mut(variable.index()) {
                    *now = (block + 1, self.local.lasts.len() as u32);
                }
                self.local.lasts.push(Last {
                    variable,
                    block,
                    value,
                    ends: !may,
                });
            }
        }
        self.local.values.push(Value::Def {
            stmt,
            variable,
            old,
        });
    }
}
