//! What a statement makes.

use core::ops::Range;

use ptx_ir::facts::{Callees, Facts, MemoryAccess, Space};
use ptx_ir::{InstId, ListId, Operand, Statement, StmtId, VarId};
use ptx_isa::{
    Access, Action, Marks, Modifier, Proxy, RegisterClass, ResultUniformity, StateSpace, Uniformity,
};

use super::cells::each_operand;
use super::pass::Pass;
use super::phases::is_load;
use super::visible::is_weak_load;
use super::words::WORDS;
use crate::cfg::BlockId;
use crate::ssa::{Value, ValueId};

/// The operand `lane-segment` of an exchange within a whole warp: no bits of segments, and a clamp that no lane exceeds.
pub(super) const WHOLE_WARP: i64 = 31;
/// The bits of it that count.
pub(super) const SEGMENT_BITS: i64 = 0x1f1f;

impl Pass<'_> {
    /// Works out the results of a statement again.
    pub(super) fn statement(&mut self, stmt: StmtId) {
        let Some(block) = self.block(stmt) else {
            return;
        };
        match self.facts.body().statement(stmt) {
            Some(Statement::Inst(inst)) => self.inst(stmt, inst, block),
            Some(Statement::Opaque(_)) => {
                for def in self.ssa.defs(stmt) {
                    self.raise(def, self.context.unknown());
                }
            }
            _ => {}
        }
    }

    fn inst(&mut self, stmt: StmtId, inst: InstId, block: BlockId) {
        let facts = self.facts.inst(inst);
        let defs = self.ssa.defs(stmt);
        if facts.callees().is_some() {
            self.call(stmt, &facts, block);
            return;
        }
        let stores = facts.memory().any(|m| m.writes() && is_parameter(&m));
        if defs.len() == 0 && !stores {
            return;
        }
        let sources = self.sources(stmt, block).join(self.specials(inst, block));
        if !facts.is_known() {
            for def in defs {
                self.raise(def, sources.join(self.context.unknown()));
            }
            return;
        }
        if stores {
            for access in facts.memory().filter(|m| m.writes() && is_parameter(m)) {
                self.store_parameter((stmt, block), &facts, &access, sources);
            }
        }
        let mut level = sources;
        for access in facts.memory().filter(MemoryAccess::reads) {
            // Of cells, the sources are what they hold.
            if self.context.cells.of(stmt).is_empty() {
                level = level.join(match self.phases.is_undisturbed(stmt) && is_load(&access) {
                    true => sources.join(Uniformity::Cta),
                    false => self.loaded(&facts, &access, sources, (stmt, block)),
                });
            }
        }
        let is_special = facts.results().any(|(_, uniformity)| uniformity.is_some());
        let parameter = self.loaded_parameter(&facts);
        let packed = super::packed::parts(self.facts, self.ssa, self.variables, (stmt, &facts));
        for def in defs.clone() {
            let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                continue;
            };
            let mut of = match is_special {
                false if parameter.is_some() => {
                    let words = parameter.and_then(|of| self.element(&facts, of, variable));
                    let of = words.map(|words| self.words_level(words, block));
                    of.map_or(level, |of| of.join(sources))
                }
                false => match packed
                    .as_ref()
                    .and_then(|of| of.source(&facts, self.variables, variable))
                {
                    // Of a part of a packed value, what it was packed of.
                    Some((from, operand)) => self.argument(from, block, operand),
                    None => level,
                },
                true => self.stated((stmt, block), &facts, variable, level),
            };
            of = of.join(match variable > self.ssa.carry() {
                false => self.kept(&facts, (stmt, block), old),
                true => self.kept_cell(&facts, (stmt, block), old),
            });
            if let Some(threads) = self.threads.as_mut().filter(|_| of == Uniformity::Varying)
                && let Some(value) = threads.value(def)
            {
                of = threads.uniformity(&value);
            }
            let of = self.refined((stmt, inst, block), &facts, (def, variable, old), of);
            self.raise(def, of);
        }
        // A part may have changed that the packed value does not tell.
        if super::packed::is_pack(&facts) {
            defs.for_each(|def| self.notify(def));
        }
    }

    /// The variable in `.param` that an instruction loads several registers from.
    fn loaded_parameter(&self, facts: &Facts<'_>) -> Option<(VarId, MemoryAccess, ListId)> {
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        let is_it = access.access == Access::Read && is_parameter(&access);
        match (access.base, access.data) {
            (Some(Operand::Var(var)), Some((Operand::Vector(list), _)))
                if is_it && !self.cells.are_read_only() =>
            {
                Some((var, access, list))
            }
            _ => None,
        }
    }

    /// The words of which a register is loaded.
    fn element(
        &self,
        facts: &Facts<'_>,
        (var, access, list): (VarId, MemoryAccess, ListId),
        variable: u32,
    ) -> Option<Range<usize>> {
        let elements = self.facts.body().pool().list(list);
        let mut places = elements.iter().map(|element| facts.place(*element));
        let at = places.position(|place| {
            place.is_some_and(|place| self.variables.of(place).contains(&variable))
        })?;
        Some(self.cells.element(var, &access, (at, elements.len())))
    }

    /// Notes what is stored to a variable in `.param`; `sources` is what all that the statement reads is.
    fn store_parameter(
        &mut self,
        (stmt, block): (StmtId, BlockId),
        facts: &Facts<'_>,
        access: &MemoryAccess,
        sources: Uniformity,
    ) {
        let Some(Operand::Var(var)) = access.base else {
            return;
        };
        let Some((Operand::Vector(list), _)) = access.data else {
            for word in self.cells.accessed(var, access) {
                self.store(word, sources);
            }
            return;
        };
        let guard = facts.guard_register().map(|(place, _)| place);
        let guard = guard.map_or(Uniformity::Grid, |place| self.place(stmt, place, block));
        let elements = self.facts.body().pool().list(list);
        for (at, element) in elements.iter().enumerate() {
            let level = match element {
                Operand::Reg(_) => self.argument(stmt, block, *element).join(guard),
                _ => sources,
            };
            for word in self.cells.element(var, access, (at, elements.len())) {
                self.store(word, level);
            }
        }
    }

    /// In which threads the registers that a statement reads are the same.
    pub(super) fn sources(&self, stmt: StmtId, block: BlockId) -> Uniformity {
        let uses = self.ssa.uses(stmt).iter();
        let levels = uses.map(|of| self.read(of.value, block));
        levels.fold(Uniformity::Grid, Uniformity::join)
    }

    /// In which threads the special registers and addresses are the same that a statement reads.
    pub(super) fn specials(&self, inst: InstId, block: BlockId) -> Uniformity {
        let body = self.facts.body();
        let operands = body.operands(inst);
        if operands
            .iter()
            .all(|o| matches!(o, Operand::Reg(_) | Operand::Small(_) | Operand::Imm(_)))
        {
            return Uniformity::Grid;
        }
        let mut level = Uniformity::Grid;
        each_operand(self.facts, operands, &mut |operand| {
            let of = match operand {
                Operand::Special(register) => self.special(register, None, block),
                Operand::Lane(selector, at) => match body.pool().get(at) {
                    Operand::Special(register) => self.special(register, selector.element(), block),
                    _ => Uniformity::Grid,
                },
                Operand::Name(_) => Uniformity::Varying,
                _ => Uniformity::Grid,
            };
            level = level.join(of);
        });
        level
    }

    pub(super) fn special(
        &self,
        register: ptx_isa::SpecialReg,
        component: Option<u8>,
        block: BlockId,
    ) -> Uniformity {
        let level = self.context.special(register, component);
        match register.is_volatile() {
            false => level,
            true => self.at_most_warp(level, block),
        }
    }

    /// What threads get that read something at the same time which changes: those of a warp that come to the block together get the same.
    fn at_most_warp(&self, level: Uniformity, block: BlockId) -> Uniformity {
        if self.context.is_optimistic {
            return level;
        }
        match self.control.is_together(block) {
            true => level.join(Uniformity::Warp),
            false => Uniformity::Varying,
        }
    }

    /// In which threads the memory that is read at addresses is the same; `address` is that of these.
    pub(super) fn loaded(
        &self,
        facts: &Facts<'_>,
        access: &MemoryAccess,
        address: Uniformity,
        (stmt, block): (StmtId, BlockId),
    ) -> Uniformity {
        if self.context.is_optimistic && access.is_mbarrier {
            // Threads wait for the same phase.
            return address;
        }
        if access.access != Access::Read || facts.is_multimem() {
            return Uniformity::Varying;
        }
        if access.proxy == Proxy::ReadOnly || self.context.is_optimistic {
            return address;
        }
        match access.space {
            Space::State(space) => match space.base() {
                StateSpace::Const => address,
                StateSpace::Param => match access.base {
                    Some(Operand::Var(_)) if self.cells.are_read_only() => Uniformity::Grid,
                    Some(Operand::Var(var)) => {
                        let words = self.cells.accessed(var, access);
                        self.words_level(words, block)
                    }
                    _ => self.cells.indirect().join(address),
                },
                StateSpace::Global => self.changing(access, (address, false), (stmt, block)),
                StateSpace::Shared => self.changing(access, (address, true), (stmt, block)),
                _ => Uniformity::Varying,
            },
            Space::Generic if self.context.local_pointers => Uniformity::Varying,
            Space::Generic => {
                let shared = self.context.shared_pointers;
                self.changing(access, (address, shared), (stmt, block))
            }
            Space::Texture => address,
            _ => Uniformity::Varying,
        }
    }

    /// The same of memory that other threads may change; `shared`: whether each CTA may have its own.
    fn changing(
        &self,
        access: &MemoryAccess,
        (address, shared): (Uniformity, bool),
        (stmt, block): (StmtId, BlockId),
    ) -> Uniformity {
        if access.order != Some(Modifier::Weak) {
            return Uniformity::Varying;
        }
        let before = self.visible.before(stmt);
        match is_weak_load(access) && !before.since_barrier {
            true if before.beyond || shared => address.join(Uniformity::Cta),
            true => address,
            false => self.at_most_warp(address, block),
        }
    }

    /// In which threads a result is the same, as the form states it; `level` is that of all operands.
    fn stated(
        &mut self,
        (stmt, block): (StmtId, BlockId),
        facts: &Facts<'_>,
        variable: u32,
        level: Uniformity,
    ) -> Uniformity {
        let stated = self.result_uniformity(facts, variable);
        let marked = |mark| {
            let operands = facts.marked(mark);
            let levels = operands.map(|o| self.argument(stmt, block, o));
            levels.fold(Uniformity::Grid, Uniformity::join)
        };
        match stated {
            None => level,
            Some(ResultUniformity::Group(_))
                if self.context.is_optimistic
                    && level <= Uniformity::Cta
                    && !self.is_chosen(facts, variable) =>
            {
                level
            }
            Some(ResultUniformity::Group(group)) if group >= Uniformity::Warp => {
                group.join(self.at_most_warp(marked(Marks::PARTICIPANTS), block))
            }
            Some(ResultUniformity::Group(group)) => {
                let participants = marked(Marks::PARTICIPANTS);
                let counted = facts.marked(Marks::THREAD_COUNT).next().is_some();
                let executed = self.executions.get(block.as_u32() as usize);
                let all = executed.is_some_and(|of| *of <= group);
                self.collective.push(stmt);
                match counted || !all {
                    true => self.at_most_warp(participants, block),
                    false => group.join(participants),
                }
            }
            Some(ResultUniformity::LaneValue) if self.is_broadcast(facts) => {
                let index = marked(Marks::LANE_INDEX).join(marked(Marks::PARTICIPANTS));
                let source = self.exchanged((stmt, block), facts);
                self.at_most_warp(index, block)
                    .join(source.min(Uniformity::Warp))
            }
            Some(ResultUniformity::LaneValue) => self.exchanged((stmt, block), facts),
            Some(_) => Uniformity::Varying,
        }
    }

    /// What the form states about the result that a variable is.
    pub(super) fn result_uniformity(
        &self,
        facts: &Facts<'_>,
        variable: u32,
    ) -> Option<ResultUniformity> {
        let mut results = facts.results();
        let stated = results.find(|(operand, _)| {
            let mut places = facts.places(operand);
            places.any(|place| self.variables.of(place).contains(&variable))
        });
        stated.and_then(|(_, uniformity)| uniformity)
    }

    /// Whether a variable tells which lane of a warp was chosen.
    fn is_chosen(&self, facts: &Facts<'_>, variable: u32) -> bool {
        let class = self.variables.class(self.facts.body(), variable);
        facts.action() == Some(Action::Elect) && class == Some(RegisterClass::Predicate)
    }

    /// In which threads the value of any lane is the same.
    fn exchanged(&self, (stmt, block): (StmtId, BlockId), facts: &Facts<'_>) -> Uniformity {
        let mut sources = facts.parts().filter(|(_, usage)| usage.reads());
        let source = sources.next().map(|(operand, _)| operand);
        let level = source.map_or(Uniformity::Varying, |o| self.argument(stmt, block, o));
        match self.context.is_optimistic || self.control.is_together(block) {
            true => level,
            false => Uniformity::Varying,
        }
    }

    /// Whether an exchange gives the value of the lane of an index to the whole warp.
    fn is_broadcast(&self, facts: &Facts<'_>) -> bool {
        let pool = self.facts.body().pool();
        let mut segments = facts.marked(Marks::LANE_SEGMENT);
        let whole = |o: Operand| {
            pool.integer(o)
                .is_some_and(|c| c & SEGMENT_BITS == WHOLE_WARP)
        };
        facts.has_modifier(Modifier::Idx) && segments.all(whole)
    }

    /// In which threads what remains of an old value, and whether it remains, is the same.
    fn kept(
        &self,
        facts: &Facts<'_>,
        (stmt, block): (StmtId, BlockId),
        old: Option<ValueId>,
    ) -> Uniformity {
        let Some(old) = old else {
            return Uniformity::Grid;
        };
        let guard = facts.guard_register().map(|(place, _)| place);
        let Some(place) = guard else {
            return Uniformity::Varying;
        };
        self.read(old, block).join(self.place(stmt, place, block))
    }

    /// The same of a cell of memory, of which a part may remain without a guard.
    fn kept_cell(
        &self,
        facts: &Facts<'_>,
        (stmt, block): (StmtId, BlockId),
        old: Option<ValueId>,
    ) -> Uniformity {
        let old = old.map_or(Uniformity::Grid, |old| self.read(old, block));
        match facts.guard_register() {
            Some((place, _)) => old.join(self.place(stmt, place, block)),
            None if facts.guard().is_some() => Uniformity::Varying,
            None => old,
        }
    }

    /// In which threads all arguments of a call are the same.
    fn arguments(&self, stmt: StmtId, facts: &Facts<'_>, block: BlockId) -> Uniformity {
        let lists = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Read);
        let levels = lists
            .flat_map(|(list, _)| list)
            .map(|o| self.argument(stmt, block, *o));
        levels.fold(Uniformity::Grid, Uniformity::join)
    }

    /// What a call returns.
    fn call(&mut self, stmt: StmtId, facts: &Facts<'_>, block: BlockId) {
        let callee = match facts.callees() {
            Some(Callees::Function(symbol)) => Some(symbol),
            _ => None,
        };
        let guard = facts.guard_register().map(|(place, _)| place);
        let guard = guard.map_or(Uniformity::Grid, |place| self.place(stmt, place, block));
        let unknown = match self.context.is_optimistic {
            true => self.arguments(stmt, facts, block),
            false => Uniformity::Varying,
        };
        let lists = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Write);
        for (at, operand) in lists.flat_map(|(list, _)| list).enumerate() {
            let returned = |word| {
                let known = callee.and_then(|id| (self.callees.results)(id, at, word));
                known.unwrap_or(unknown)
            };
            match *operand {
                Operand::Var(var) => {
                    for (at, word) in self.cells.words(var).enumerate() {
                        self.store(word, returned(at).join(guard));
                    }
                }
                other => {
                    let returned = (0..WORDS).map(returned);
                    let returned = returned.fold(Uniformity::Grid, Uniformity::join);
                    let Some(place) = facts.place(other) else {
                        continue;
                    };
                    for def in self.ssa.defs(stmt) {
                        let Value::Def { variable, old, .. } = self.ssa.value(def) else {
                            continue;
                        };
                        if self.variables.of(place).contains(&variable) {
                            let kept = self.kept(facts, (stmt, block), old);
                            self.raise(def, returned.join(kept));
                        }
                    }
                }
            }
        }
    }
}

fn is_parameter(access: &MemoryAccess) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Param)
}
