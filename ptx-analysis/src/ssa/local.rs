//! What happens inside of blocks: every read and write in order, and which reads see what arrives at their block.

use alloc::vec::Vec;

use ptx_ir::facts::{FunctionFacts, Mentions, RegLane};
use ptx_ir::{Body, EntityId, Statement, StmtId};

use super::{Returned, Ssa, Use, Value, ValueId};
use crate::cfg::{BlockId, Cfg};
use crate::reg_lanes::Variables;

/// A place that sees the value with which its block begins.
#[derive(Copy, Clone, Debug)]
pub(super) enum Slot {
    /// A read, by its number.
    Use(u32),
    /// A result of the function, by its number.
    Returned(u32),
    /// A read behind merges alone: it makes the variable live.
    Through,
    /// What a merge keeps.
    Old(ValueId),
}

/// The last write of a variable in a block.
#[derive(Copy, Clone, Debug)]
pub(super) struct Last {
    pub(super) variable: u32,
    pub(super) block: u32,
    pub(super) value: ValueId,
    /// Whether some write in the block surely ends what arrives.
    pub(super) ends: bool,
}

pub(super) struct Local {
    pub(super) values: Vec<Value>,
    pub(super) uses: Vec<Use>,
    /// What the caller reads where blocks return.
    pub(super) returned: Vec<Returned>,
    pub(super) use_starts: Vec<u32>,
    pub(super) def_starts: Vec<u32>,
    /// Which of the statements each is, where edits changed their order.
    pub(super) places: Vec<u32>,
    /// Variable, block, and what sees what arrives there.
    pub(super) exposed: Vec<(u32, u32, Slot)>,
    pub(super) lasts: Vec<Last>,
    pub(super) variables: u32,
}

impl Local {
    pub(super) fn new(facts: FunctionFacts<'_>, cfg: &Cfg, variables: &Variables) -> Self {
        let count = variables.len() as u32;
        let mut pass = Pass {
            variables,
            now: alloc::vec![(0, 0); variables.len() + 1],
            local: Self {
                values: alloc::vec![Value::Unknown],
                uses: Vec::new(),
                returned: Vec::new(),
                use_starts: Vec::new(),
                def_starts: Vec::new(),
                places: places(facts.body()),
                exposed: Vec::new(),
                lasts: Vec::new(),
                variables: count,
            },
        };
        let body = facts.body();
        let mut results: Vec<u32> = Vec::new();
        for register in facts.results() {
            results.extend(variables.of(RegLane {
                register,
                lane: None,
            }));
        }
        for (id, block) in cfg.blocks() {
            for (stmt, statement) in body.range(block.first, block.end) {
                let local = &mut pass.local;
                let place = local.places.get(stmt.index()).copied();
                let place = place.unwrap_or(stmt.as_u32());
                // Blocks lie in order, without gaps but for what does nothing.
                while local.use_starts.len() <= place as usize {
                    local.use_starts.push(local.uses.len() as u32);
                    local.def_starts.push(local.values.len() as u32);
                }
                let at = (id.as_u32(), stmt);
                match statement {
                    Statement::Inst(inst) => {
                        let f = facts.inst(inst);
                        let may = f.guard().is_some() || !f.is_known();
                        let carry = (f.reads_carry(), f.writes_carry(), may);
                        pass.statement(at, &f.registers(), carry);
                    }
                    Statement::Opaque(opaque) => {
                        pass.statement(at, &facts.opaque(opaque), (true, true, true));
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

/// The places of the statements of an edited body, by id.
fn places(body: &Body) -> Vec<u32> {
    if body.edits().is_none() {
        return Vec::new();
    }
    let mut places = alloc::vec![u32::MAX - 1; body.statement_table().len()];
    for ((stmt, _), place) in body.statements().zip(0u32..) {
        if let Some(entry) = places.get_mut(stmt.index()) {
            *entry = place;
        }
    }
    places
}

struct Pass<'a> {
    variables: &'a Variables,
    /// For each variable the block that wrote it last, counted from one, and which of `lasts` that is.
    now: Vec<(u32, u32)>,
    local: Local,
}

impl Pass<'_> {
    /// Reads come before writes. `carry`: it is read, it is written, perhaps not.
    fn statement(&mut self, at: (u32, StmtId), mentions: &Mentions<'_>, carry: (bool, bool, bool)) {
        let (reads, writes, may) = carry;
        let flag = self.local.variables;
        let first_use = self.local.uses.len();
        for mention in mentions.clone().filter(|m| m.usage.reads()) {
            for variable in self.variables.of(mention.place) {
                self.read(at, variable, first_use);
            }
        }
        if reads {
            self.read(at, flag, first_use);
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
        if writes {
            self.write(at, flag, may, first_def);
        }
    }

    fn last(&self, block: u32, variable: u32) -> Option<usize> {
        let &(stamp, index) = self.now.get(variable as usize)?;
        (stamp == block + 1).then_some(index as usize)
    }

    fn read(&mut self, (block, stmt): (u32, StmtId), variable: u32, first: usize) {
        let uses = &self.local.uses;
        if uses.iter().skip(first).any(|u| u.variable == variable) {
            return;
        }
        let number = uses.len() as u32;
        let value = self.sees(block, variable, Slot::Use(number));
        self.local.uses.push(Use {
            stmt,
            variable,
            value,
        });
    }

    fn returned(&mut self, block: BlockId, variable: u32) {
        let number = self.local.returned.len() as u32;
        let value = self.sees(block.as_u32(), variable, Slot::Returned(number));
        self.local.returned.push(Returned {
            block,
            variable,
            value,
        });
    }

    /// What is seen in a variable at this place of a block, as far as the block itself says; `slot` sees what arrives.
    fn sees(&mut self, block: u32, variable: u32, slot: Slot) -> ValueId {
        let known = self
            .last(block, variable)
            .and_then(|i| self.local.lasts.get(i));
        let value = known.map_or(Ssa::UNKNOWN, |l| l.value);
        let slot = match known {
            None => Some(slot),
            Some(last) if !last.ends => Some(Slot::Through),
            _ => None,
        };
        self.local
            .exposed
            .extend(slot.map(|slot| (variable, block, slot)));
        value
    }

    fn write(&mut self, (block, stmt): (u32, StmtId), variable: u32, may: bool, first: usize) {
        let same =
            |v: &Value| matches!(v, Value::Def { variable: other, .. } if *other == variable);
        // A register that stands twice among the results is written once.
        if self.local.values.iter().skip(first).any(same) {
            return;
        }
        let value = ValueId(self.local.values.len() as u32);
        let mut old = may.then_some(Ssa::UNKNOWN);
        match self.last(block, variable) {
            Some(index) => {
                if let Some(last) = self.local.lasts.get_mut(index) {
                    old = may.then_some(last.value);
                    last.value = value;
                    last.ends |= !may;
                }
            }
            None => {
                if may {
                    self.local.exposed.push((variable, block, Slot::Old(value)));
                }
                if let Some(now) = self.now.get_mut(variable as usize) {
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
