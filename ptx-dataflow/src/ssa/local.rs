//! The values that the statements of a block define, and the uses that see the value of a variable at the start of the block.

use alloc::vec::Vec;

use ptx_ir::facts::{Flow, FunctionFacts, Mentions, Stamp};
use ptx_ir::{Body, BudgetExhausted, EntityId, Statement, StmtId};

use super::cells::{CellAccess, CellUse, Cells, cell_variable};
use super::{Returned, Ssa, Use, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::meter::Meter;
use crate::reg_lanes::{VariableId, Variables};

/// The kind of an upward-exposed use.
#[derive(Copy, Clone, Debug)]
pub(super) enum ExposedKind {
    /// A read, by its number.
    Use(u32),
    /// A result of the function, by its number.
    Returned(u32),
    /// A read after merges only, which make the old value live. The read itself sees the last merge.
    ThroughMerge,
    /// The old value of a merge.
    OldValue(ValueId),
}

impl ExposedKind {
    /// Returns whether the use makes the variable live. The old value of a merge is live only if the merge is.
    pub(super) const fn reads(self) -> bool {
        !matches!(self, Self::OldValue(_))
    }
}

/// An upward-exposed use: it sees the value that a variable has at the start of the block.
#[derive(Copy, Clone, Debug)]
pub(super) struct ExposedUse {
    pub(super) variable: VariableId,
    pub(super) block: u32,
    pub(super) kind: ExposedKind,
}

/// The last definition of a variable in a block.
#[derive(Copy, Clone, Debug)]
pub(super) struct LastDef {
    pub(super) variable: VariableId,
    pub(super) block: u32,
    pub(super) value: ValueId,
    /// Whether any definition in the block is unconditional, so that the value at the start of the block does not reach its end.
    pub(super) is_unconditional: bool,
}

/// The definitions and uses of a function, resolved inside of blocks.
pub(super) struct LocalValues {
    pub(super) stamp: Stamp,
    pub(super) values: Vec<Value>,
    pub(super) uses: Vec<Use>,
    /// The results of the function at the ends of blocks that return.
    pub(super) returned: Vec<Returned>,
    /// The first use and the first definition of each statement, by position.
    pub(super) use_starts: Vec<u32>,
    pub(super) def_starts: Vec<u32>,
    /// The position of each statement, if edits changed their order; else empty.
    pub(super) positions: Vec<u32>,
    /// The upward-exposed uses, in the order of the blocks.
    pub(super) exposed: Vec<ExposedUse>,
    /// The last definitions of variables in blocks, in the order of the blocks.
    pub(super) last_defs: Vec<LastDef>,
    /// The first entries of each block.
    pub(super) starts: Vec<BlockStart>,
    /// The carry flag.
    pub(super) carry: VariableId,
    /// The number of variables, including the carry flag and cells.
    pub(super) bound: u32,
}

/// The first indices of a block in [`LocalValues::exposed`] and [`LocalValues::last_defs`].
#[derive(Copy, Clone, Debug)]
pub(super) struct BlockStart {
    pub(super) exposed: u32,
    pub(super) last_defs: u32,
}

impl LocalValues {
    /// Finds the definitions and uses of all blocks.
    ///
    /// # Errors
    ///
    /// The budget is exhausted.
    pub(super) fn new(
        facts: FunctionFacts<'_>,
        cfg: &Cfg,
        variables: &Variables,
        cells: &Cells,
        meter: &mut Meter<'_>,
    ) -> Result<Self, BudgetExhausted> {
        let carry = VariableId::from_index(variables.len());
        let bound = carry.as_u32() + 1 + cells.count();
        let mut pass = Pass {
            variables,
            current: vec![CurrentDef::default(); bound as usize],
            last_use: vec![0; bound as usize],
            first_use: 0,
            first_def: 0,
            local: Self {
                stamp: Stamp::of(facts),
                values: vec![Value::Unknown],
                uses: Vec::new(),
                returned: Vec::new(),
                use_starts: Vec::new(),
                def_starts: Vec::new(),
                positions: positions(facts.body()),
                exposed: Vec::new(),
                last_defs: Vec::new(),
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
            local.starts.push(BlockStart {
                exposed: local.exposed.len() as u32,
                last_defs: local.last_defs.len() as u32,
            });
            for (stmt, statement) in body.range(block.first, block.end) {
                meter.count(1)?;
                let local = &mut pass.local;
                let position = local.positions.get(stmt.index()).copied();
                // Blocks are in the order of the statements; statements between them have no effects.
                local.start_statements(position.unwrap_or(stmt.as_u32()) as usize);
                pass.first_use = pass.local.uses.len();
                pass.first_def = pass.local.values.len();
                let location = Location {
                    block: id.as_u32(),
                    stmt,
                };
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
                        pass.statement(
                            location,
                            &f.registers(),
                            carry,
                            is_conditional,
                            cells.of(stmt),
                        );
                    }
                    Statement::Opaque(opaque) => {
                        let carry = CarryAccess {
                            reads: true,
                            writes: true,
                            may_keep: true,
                        };
                        pass.statement(location, &facts.opaque(opaque), carry, true, &[]);
                    }
                    _ => {}
                }
            }
            for &variable in results.iter().filter(|_| block.returns) {
                pass.returned(id, variable);
            }
        }
        let mut local = pass.local;
        local.start_statements(body.statement_table().len());
        Ok(local)
    }

    /// Sets the first use and the first definition of the statements up to a position that have none.
    fn start_statements(&mut self, position: usize) {
        while self.use_starts.len() <= position {
            self.use_starts.push(self.uses.len() as u32);
            self.def_starts.push(self.values.len() as u32);
        }
    }
}

/// The positions of the statements of an edited body, by id; empty if the order of the ids is that of the statements.
fn positions(body: &Body) -> Vec<u32> {
    if body.edits().is_none() {
        return Vec::new();
    }
    let mut positions = vec![u32::MAX - 1; body.statement_table().len()];
    for ((stmt, _), position) in body.statements().zip(0u32..) {
        if let Some(entry) = positions.get_mut(stmt.index()) {
            *entry = position;
        }
    }
    positions
}

/// The accesses of a statement to the carry flag.
#[derive(Copy, Clone)]
struct CarryAccess {
    reads: bool,
    writes: bool,
    /// A write may leave the old value.
    may_keep: bool,
}

/// A statement and the number of its block.
#[derive(Copy, Clone)]
struct Location {
    block: u32,
    stmt: StmtId,
}

/// The entry in [`LocalValues::last_defs`] of the block that wrote a variable last.
#[derive(Copy, Clone, Default)]
struct CurrentDef {
    /// The number of the block, from 1; 0 if no block wrote the variable.
    block: u32,
    index: u32,
}

struct Pass<'a> {
    variables: &'a Variables,
    /// By variable.
    current: Vec<CurrentDef>,
    /// The last entry in `uses` of each variable, counted from one.
    last_use: Vec<u32>,
    /// The first use and the first value of the current statement.
    first_use: usize,
    first_def: usize,
    local: LocalValues,
}

impl Pass<'_> {
    /// Adds the reads and then the writes of a statement. A conditional statement may leave the old values of cells.
    fn statement(
        &mut self,
        location: Location,
        mentions: &Mentions<'_>,
        carry: CarryAccess,
        is_conditional: bool,
        cells: &[CellAccess],
    ) {
        let flag = self.local.carry;
        for mention in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in self.variables.of(mention.place) {
                self.read(location, variable);
            }
        }
        if carry.reads {
            self.read(location, flag);
        }
        for access in cells.iter().filter(|a| a.usage.reads()) {
            self.read(location, cell_variable(flag, access.cell));
        }
        for mention in mentions.clone() {
            let is_unconditional = mention.usage.writes();
            if is_unconditional || mention.usage.may_write() {
                for variable in self.variables.of(mention.place) {
                    self.write(location, variable, is_unconditional);
                }
            }
        }
        if carry.writes {
            self.write(location, flag, !carry.may_keep);
        }
        for access in cells.iter().filter(|a| !a.usage.reads()) {
            let is_unconditional = !is_conditional && access.usage == CellUse::Write;
            self.write(location, cell_variable(flag, access.cell), is_unconditional);
        }
    }

    /// The index of the last definition of a variable in a block.
    fn last_def(&self, block: u32, variable: VariableId) -> Option<usize> {
        let current = self.current.get(variable.index())?;
        (current.block == block + 1).then_some(current.index as usize)
    }

    /// Adds a read of the current statement. A variable that it reads twice has one entry.
    fn read(&mut self, location: Location, variable: VariableId) {
        let number = self.local.uses.len() as u32;
        let Some(last_use) = self.last_use.get_mut(variable.index()) else {
            return;
        };
        if *last_use > self.first_use as u32 {
            return;
        }
        *last_use = number + 1;
        let value = self.local_value(location.block, variable, ExposedKind::Use(number));
        self.local.uses.push(Use {
            stmt: location.stmt,
            variable,
            value,
        });
    }

    /// Adds a result of the function at the end of a block.
    fn returned(&mut self, block: BlockId, variable: VariableId) {
        let number = self.local.returned.len() as u32;
        let value = self.local_value(block.as_u32(), variable, ExposedKind::Returned(number));
        self.local.returned.push(Returned {
            block,
            variable,
            value,
        });
    }

    /// The value of a variable at the current position of a block, if the block defines it. Otherwise it is a use of `kind` of the value at the start of the
    /// block.
    fn local_value(&mut self, block: u32, variable: VariableId, kind: ExposedKind) -> ValueId {
        let last_def = self
            .last_def(block, variable)
            .and_then(|index| self.local.last_defs.get(index));
        let value = last_def.map_or(Ssa::UNKNOWN, |def| def.value);
        let exposed_kind = match last_def {
            None => Some(kind),
            Some(def) if !def.is_unconditional => Some(ExposedKind::ThroughMerge),
            Some(_) => None,
        };
        self.local
            .exposed
            .extend(exposed_kind.map(|kind| ExposedUse {
                variable,
                block,
                kind,
            }));
        value
    }

    /// Adds a definition by the current statement.
    fn write(&mut self, location: Location, variable: VariableId, is_unconditional: bool) {
        let block = location.block;
        let last_def = self
            .last_def(block, variable)
            .and_then(|index| self.local.last_defs.get_mut(index));
        // A register that is listed twice among the results is written once.
        if last_def
            .as_ref()
            .is_some_and(|def| def.value.0 as usize >= self.first_def)
        {
            return;
        }
        let value = ValueId(self.local.values.len() as u32);
        let mut old = Ssa::UNKNOWN;
        if let Some(def) = last_def {
            old = def.value;
            def.value = value;
            def.is_unconditional |= is_unconditional;
        } else {
            if !is_unconditional {
                self.local.exposed.push(ExposedUse {
                    variable,
                    block,
                    kind: ExposedKind::OldValue(value),
                });
            }
            if let Some(current) = self.current.get_mut(variable.index()) {
                *current = CurrentDef {
                    block: block + 1,
                    index: self.local.last_defs.len() as u32,
                };
            }
            self.local.last_defs.push(LastDef {
                variable,
                block,
                value,
                is_unconditional,
            });
        }
        self.local.values.push(Value::Def {
            stmt: location.stmt,
            variable,
            old: (!is_unconditional).then_some(old),
        });
    }
}
