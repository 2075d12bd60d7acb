//! The transfer functions of statements: the uniformity of the values that they define.

use core::ops::Range;

use ptx_ir::facts::{Callees, Facts, MemoryAccess, Space};
use ptx_ir::{InstId, ListId, Operand, Statement, StmtId, VarId};
use ptx_isa::{
    Access, Action, Marks, Modifier, Proxy, RegisterClass, ResultUniformity, SpecialReg,
    StateSpace, Uniformity,
};

use super::cells::each_operand;
use super::context::ResultWord;
use super::evaluation::{Evaluation, Site};
use super::packed::{is_pack, unpacked};
use super::phases::is_shared_load;
use super::visible::is_weak_load;
use super::words::WORDS;
use crate::cfg::BlockId;
use crate::reg_lanes::VariableId;
use crate::ssa::{Value, ValueId};

/// The operand `lane-segment` of an exchange within a whole warp: no bits of segments, and a clamp that no lane exceeds.
pub(super) const WHOLE_WARP: i64 = 31;
/// The bits of the operand `lane-segment` that have a meaning.
pub(super) const SEGMENT_BITS: i64 = 0x1f1f;

/// A value that a statement defines.
#[derive(Copy, Clone)]
pub(super) struct Definition {
    pub(super) value: ValueId,
    pub(super) variable: VariableId,
    /// The value that remains where the statement does not write.
    pub(super) old: Option<ValueId>,
}

/// A load of several registers from a variable in `.param`.
struct ParameterLoad {
    variable: VarId,
    access: MemoryAccess,
    /// The registers.
    elements: ListId,
}

impl<'a> Evaluation<'a> {
    /// Evaluates a statement.
    pub(super) fn statement(&mut self, stmt: StmtId) {
        let Some(block) = self.block(stmt) else {
            return;
        };
        if let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) {
            let facts = self.facts.inst(inst);
            self.inst(&Site {
                stmt,
                inst,
                facts,
                block,
            });
        } else {
            self.raise_all(stmt, self.context.unknown());
        }
    }

    fn raise_all(&mut self, stmt: StmtId, uniformity: Uniformity) {
        for def in self.ssa.defs(stmt) {
            self.raise(def, uniformity);
        }
    }

    fn inst(&mut self, site: &Site<'a>) {
        let facts = &site.facts;
        if facts.callees().is_some() {
            self.call(site);
            return;
        }
        let has_memory = facts.memory().next().is_some();
        let defines = self.ssa.defs(site.stmt).len() > 0;
        let stores = has_memory && facts.memory().any(|access| is_parameter_store(&access));
        if !defines && !stores {
            return;
        }
        let sources = self
            .sources(site.stmt, site.block)
            .join(self.specials(site.inst, site.block));
        if !facts.is_known() {
            self.raise_all(site.stmt, sources.join(self.context.unknown()));
            return;
        }
        if stores {
            for access in facts.memory().filter(is_parameter_store) {
                self.store_parameter(site, &access, sources);
            }
        }
        if defines {
            let operands = if has_memory {
                self.with_loads(site, sources)
            } else {
                sources
            };
            self.definitions(site, sources, operands, has_memory);
        }
    }

    /// Joins the uniformity of the sources of an instruction with that of the memory that it loads.
    fn with_loads(&self, site: &Site<'_>, sources: Uniformity) -> Uniformity {
        // The content of a cell is among the sources.
        if !self.context.cells.of(site.stmt).is_empty() {
            return sources;
        }
        let mut uniformity = sources;
        for access in site.facts.memory().filter(MemoryAccess::reads) {
            let is_undisturbed = is_shared_load(&access) && self.phases.is_undisturbed(site.stmt);
            uniformity = uniformity.join(if is_undisturbed {
                sources.join(Uniformity::Cta)
            } else {
                self.loaded(site, &access, sources)
            });
        }
        uniformity
    }

    /// Evaluates the values that an instruction defines. `sources` is the uniformity of what it reads in registers, and `operands` includes memory.
    fn definitions(
        &mut self,
        site: &Site<'a>,
        sources: Uniformity,
        operands: Uniformity,
        has_memory: bool,
    ) {
        let facts = &site.facts;
        let states_uniformity = facts.results().any(|(_, stated)| stated.is_some());
        let parameter = has_memory.then(|| self.loaded_parameter(facts)).flatten();
        let has_vector = has_vector(self.facts.body().operands(site.inst));
        let unpacked = (has_vector && !has_memory && !states_uniformity)
            .then(|| unpacked(self, site))
            .flatten();
        for value in self.ssa.defs(site.stmt) {
            let Value::Def { variable, old, .. } = self.ssa.value(value) else {
                continue;
            };
            let definition = Definition {
                value,
                variable,
                old,
            };
            let mut uniformity = operands;
            if states_uniformity {
                uniformity = self.stated(site, variable, operands);
            } else if let Some(load) = &parameter {
                if let Some(words) = self.element_words(facts, load, variable) {
                    uniformity = self.words_uniformity(words, site.block).join(sources);
                }
            } else if let Some(unpacked) = &unpacked
                && let Some(source) = unpacked.source(facts, self.variables, variable)
            {
                uniformity = self.argument(&unpacked.pack, source);
            }
            uniformity = uniformity.join(self.kept(site, definition));
            if let Some(threads) = &mut self.threads
                && uniformity == Uniformity::Varying
                && let Some(numbers) = threads.value(value)
            {
                uniformity = threads.uniformity(&numbers);
            }
            let uniformity = self.refined(site, definition, uniformity);
            self.raise(value, uniformity);
        }
        // The readers of a packed value depend on its parts, which may have changed although the packed value has not.
        if has_vector && is_pack(facts) {
            for value in self.ssa.defs(site.stmt) {
                self.solver.revisit_readers(value);
            }
        }
    }

    /// The variable in `.param` from which an instruction loads several registers.
    fn loaded_parameter(&self, facts: &Facts<'_>) -> Option<ParameterLoad> {
        let mut accesses = facts.memory();
        let (access, None) = (accesses.next()?, accesses.next()) else {
            return None;
        };
        let is_load = access.access == Access::Read && is_parameter(&access);
        match (access.base, access.data) {
            (Some(Operand::Var(variable)), Some((Operand::Vector(elements), _)))
                if is_load && !self.cells.are_read_only() =>
            {
                Some(ParameterLoad {
                    variable,
                    access,
                    elements,
                })
            }
            _ => None,
        }
    }

    /// The words that are loaded to a register.
    fn element_words(
        &self,
        facts: &Facts<'_>,
        load: &ParameterLoad,
        variable: VariableId,
    ) -> Option<Range<usize>> {
        let elements = self.facts.body().pool().list(load.elements);
        let index = elements.iter().position(|element| {
            let register = facts.place(*element);
            register.is_some_and(|register| self.variables.of(register).contains(&variable))
        })?;
        let words = self
            .cells
            .element(load.variable, &load.access, index, elements.len());
        Some(words)
    }

    /// Records a store to a variable in `.param`; `sources` is the uniformity of all that the instruction reads.
    fn store_parameter(&mut self, site: &Site<'_>, access: &MemoryAccess, sources: Uniformity) {
        let Some(Operand::Var(variable)) = access.base else {
            return;
        };
        let Some((Operand::Vector(list), _)) = access.data else {
            for word in self.cells.accessed(variable, access) {
                self.store(word, sources);
            }
            return;
        };
        let guard = self.guard(site);
        let elements = self.facts.body().pool().list(list);
        for (index, element) in elements.iter().enumerate() {
            let uniformity = match element {
                Operand::Reg(_) => self.argument(site, *element).join(guard),
                _ => sources,
            };
            for word in self.cells.element(variable, access, index, elements.len()) {
                self.store(word, uniformity);
            }
        }
    }

    /// The uniformity of the registers that a statement reads.
    pub(super) fn sources(&self, stmt: StmtId, block: BlockId) -> Uniformity {
        let reads = self.ssa.uses(stmt).iter();
        reads.fold(Uniformity::Grid, |joined, read| {
            joined.join(self.read(read.value, block))
        })
    }

    /// The uniformity of the special registers and addresses that a statement reads.
    pub(super) fn specials(&self, inst: InstId, block: BlockId) -> Uniformity {
        let body = self.facts.body();
        let operands = body.operands(inst);
        if operands.iter().all(|operand| {
            matches!(
                operand,
                Operand::Reg(_) | Operand::Small(_) | Operand::Imm(_)
            )
        }) {
            return Uniformity::Grid;
        }
        let mut joined = Uniformity::Grid;
        each_operand(self.facts, operands, &mut |operand| {
            joined = joined.join(match operand {
                Operand::Special(register) => self.special(register, None, block),
                Operand::Component(selector, inner) => match body.pool().get(inner) {
                    Operand::Special(register) => self.special(register, selector.element(), block),
                    _ => Uniformity::Grid,
                },
                Operand::Name(_) => Uniformity::Varying,
                other => self.symbol_address(other),
            });
        });
        joined
    }

    /// The uniformity of the address of a symbol or a variable. The address of a shared variable contains the rank of the CTA in its cluster.
    pub(super) fn symbol_address(&self, operand: Operand) -> Uniformity {
        let module = self.facts.module();
        match self.facts.body().variable_space(module, operand) {
            Some(space) if space.base() == StateSpace::Shared => Uniformity::Cta,
            _ => Uniformity::Grid,
        }
    }

    /// The uniformity of a component of a special register.
    pub(super) fn special(
        &self,
        register: SpecialReg,
        component: Option<u8>,
        block: BlockId,
    ) -> Uniformity {
        let uniformity = self.context.special(register, component);
        if register.is_volatile() {
            self.at_most_warp(uniformity, block)
        } else {
            uniformity
        }
    }

    /// The uniformity of something that changes over time: the lanes of a warp that come to the block together read the same.
    fn at_most_warp(&self, uniformity: Uniformity, block: BlockId) -> Uniformity {
        if self.context.is_optimistic {
            uniformity
        } else if self.control.is_together(block) {
            uniformity.join(Uniformity::Warp)
        } else {
            Uniformity::Varying
        }
    }

    /// The uniformity of the memory that is read through addresses of uniformity `address`.
    pub(super) fn loaded(
        &self,
        site: &Site<'_>,
        access: &MemoryAccess,
        address: Uniformity,
    ) -> Uniformity {
        if self.context.is_optimistic && access.is_mbarrier {
            // Threads wait for the same phase.
            return address;
        }
        if access.access != Access::Read || site.facts.is_multimem() {
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
                    Some(Operand::Var(variable)) => {
                        let words = self.cells.accessed(variable, access);
                        self.words_uniformity(words, site.block)
                    }
                    _ => self.cells.indirect().join(address),
                },
                StateSpace::Global => self.changing(site, access, address, Owner::Grid),
                StateSpace::Shared => self.changing(site, access, address, Owner::Cta),
                _ => Uniformity::Varying,
            },
            Space::Generic if self.context.local_pointers => Uniformity::Varying,
            Space::Generic if self.context.shared_pointers => {
                self.changing(site, access, address, Owner::Cta)
            }
            Space::Generic => self.changing(site, access, address, Owner::Grid),
            Space::Texture => address,
            _ => Uniformity::Varying,
        }
    }

    /// The uniformity of memory that other threads may change.
    fn changing(
        &self,
        site: &Site<'_>,
        access: &MemoryAccess,
        address: Uniformity,
        owner: Owner,
    ) -> Uniformity {
        if access.order != Some(Modifier::Weak) {
            return Uniformity::Varying;
        }
        let before = self.visible.before(site.stmt);
        if !is_weak_load(access) || before.since_barrier {
            self.at_most_warp(address, site.block)
        } else if before.beyond || owner == Owner::Cta {
            address.join(Uniformity::Cta)
        } else {
            address
        }
    }

    /// The uniformity of a result for which the form states one; `operands` is the uniformity of all operands.
    fn stated(
        &mut self,
        site: &Site<'_>,
        variable: VariableId,
        operands: Uniformity,
    ) -> Uniformity {
        let facts = &site.facts;
        match self.result_uniformity(facts, variable) {
            None => operands,
            Some(ResultUniformity::Group(_))
                if self.context.is_optimistic
                    && operands <= Uniformity::Cta
                    && !self.is_elected(facts, variable) =>
            {
                operands
            }
            Some(ResultUniformity::Group(group)) => {
                let participants = self.marked(site, Marks::PARTICIPANTS);
                if group >= Uniformity::Warp {
                    return group.join(self.at_most_warp(participants, site.block));
                }
                self.collective.push(site.stmt);
                let is_counted = facts.marked(Marks::THREAD_COUNT).next().is_some();
                if is_counted || !self.is_executed_by(site.block, group) {
                    self.at_most_warp(participants, site.block)
                } else {
                    group.join(participants)
                }
            }
            Some(ResultUniformity::LaneValue) if self.is_broadcast(facts) => {
                let lane = self
                    .marked(site, Marks::LANE_INDEX)
                    .join(self.marked(site, Marks::PARTICIPANTS));
                let source = self.exchanged(site);
                self.at_most_warp(lane, site.block)
                    .join(source.min(Uniformity::Warp))
            }
            Some(ResultUniformity::LaneValue) => self.exchanged(site),
            Some(_) => Uniformity::Varying,
        }
    }

    /// Returns whether all threads of a group execute each instance of a block, or none.
    pub(super) fn is_executed_by(&self, block: BlockId, group: Uniformity) -> bool {
        let executed = self.executions.get(block.as_u32() as usize);
        executed.is_some_and(|executed| *executed <= group)
    }

    /// The uniformity of the operands with a mark.
    fn marked(&self, site: &Site<'_>, mark: Marks) -> Uniformity {
        let operands = site.facts.marked(mark);
        operands.fold(Uniformity::Grid, |joined, operand| {
            joined.join(self.argument(site, operand))
        })
    }

    /// The uniformity that the form states for the result in a variable.
    pub(super) fn result_uniformity(
        &self,
        facts: &Facts<'_>,
        variable: VariableId,
    ) -> Option<ResultUniformity> {
        let (_, stated) = facts.results().find(|(operand, _)| {
            let mut registers = facts.places(operand);
            registers.any(|register| self.variables.of(register).contains(&variable))
        })?;
        stated
    }

    /// Returns whether a variable is the predicate that is true in the elected lane of a warp.
    fn is_elected(&self, facts: &Facts<'_>, variable: VariableId) -> bool {
        let class = self.variables.class(variable);
        facts.action() == Some(Action::Elect) && class == Some(RegisterClass::Predicate)
    }

    /// The uniformity of a result that lanes read from each other, whichever lanes these are.
    fn exchanged(&self, site: &Site<'_>) -> Uniformity {
        if !self.context.is_optimistic && !self.control.is_together(site.block) {
            return Uniformity::Varying;
        }
        let source = site.facts.parts().find(|(_, usage)| usage.reads());
        source.map_or(Uniformity::Varying, |(operand, _)| {
            self.argument(site, operand)
        })
    }

    /// Returns whether an exchange distributes the value of the lane with an index to the whole warp.
    fn is_broadcast(&self, facts: &Facts<'_>) -> bool {
        let pool = self.facts.body().pool();
        let mut segments = facts.marked(Marks::LANE_SEGMENT);
        facts.has_modifier(Modifier::Idx)
            && segments.all(|operand| {
                let segment = pool.integer(operand);
                segment.is_some_and(|segment| segment & SEGMENT_BITS == WHOLE_WARP)
            })
    }

    /// The uniformity of the old value of a variable where the statement does not write, and of whether it writes.
    fn kept(&self, site: &Site<'_>, definition: Definition) -> Uniformity {
        let is_cell = definition.variable > self.ssa.carry();
        let has_guard = site.facts.guard_register().is_some();
        match definition.old {
            Some(_) if !is_cell && !has_guard => Uniformity::Varying,
            None if !is_cell => Uniformity::Grid,
            _ if !has_guard && site.facts.guard().is_some() => Uniformity::Varying,
            // A store without a guard keeps a part of a cell.
            old => {
                let old = old.map_or(Uniformity::Grid, |old| self.read(old, site.block));
                old.join(self.guard(site))
            }
        }
    }

    /// The uniformity of all arguments of a call.
    fn arguments(&self, site: &Site<'_>) -> Uniformity {
        let lists = site.facts.call_lists();
        lists
            .filter(|(_, access)| *access == Access::Read)
            .flat_map(|(list, _)| list)
            .fold(Uniformity::Grid, |joined, operand| {
                joined.join(self.argument(site, *operand))
            })
    }

    /// Evaluates the results of a call.
    fn call(&mut self, site: &Site<'_>) {
        let facts = &site.facts;
        let unknown = if self.context.is_optimistic {
            self.arguments(site)
        } else {
            Uniformity::Varying
        };
        let guard = self.guard(site);
        let results = facts
            .call_lists()
            .filter(|(_, access)| *access == Access::Write)
            .flat_map(|(list, _)| list);
        for (result, operand) in results.enumerate() {
            if let Operand::Var(variable) = *operand {
                for (word, cell) in self.cells.words(variable).enumerate() {
                    let returned = self.returned_word(facts, result, word);
                    self.store(cell, returned.unwrap_or(unknown).join(guard));
                }
                continue;
            }
            let Some(register) = facts.place(*operand) else {
                continue;
            };
            let mut returned = Uniformity::Grid;
            for word in 0..WORDS {
                let word = self.returned_word(facts, result, word);
                returned = returned.join(word.unwrap_or(unknown));
            }
            for value in self.ssa.defs(site.stmt) {
                let Value::Def { variable, old, .. } = self.ssa.value(value) else {
                    continue;
                };
                if self.variables.of(register).contains(&variable) {
                    let kept = self.kept(
                        site,
                        Definition {
                            value,
                            variable,
                            old,
                        },
                    );
                    self.raise(value, returned.join(kept));
                }
            }
        }
    }

    /// The uniformity of a word of a result of a call, if the function is known.
    fn returned_word(&self, facts: &Facts<'_>, result: usize, word: usize) -> Option<Uniformity> {
        let Some(Callees::Function(callee)) = facts.callees() else {
            return None;
        };
        (self.callees.results)(ResultWord {
            callee,
            result,
            word,
        })
    }
}

/// The threads that share a memory.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Owner {
    Grid,
    /// Each CTA may have separate memory.
    Cta,
}

fn has_vector(operands: &[Operand]) -> bool {
    operands
        .iter()
        .any(|operand| matches!(operand, Operand::Vector(_)))
}

fn is_parameter(access: &MemoryAccess) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Param)
}

fn is_parameter_store(access: &MemoryAccess) -> bool {
    access.writes() && is_parameter(access)
}
