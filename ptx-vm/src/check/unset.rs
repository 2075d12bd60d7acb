//! Registers that may be read before they are written, and registers that are computed from them.
//!
//! Compilers hoist computations above the branches that decide whether their results are needed. An uninitialized register therefore only matters
//! where a value that is computed from it is used as an address, decides a branch, or leaves the thread. Registers that may be uninitialized are
//! tracked during the run, also through exchanges between the lanes of a warp.
//!
//! The same holds for loads of shared memory, of which there are many. The registers that are uninitialized only if such a load reads bytes that were never
//! written are tracked once one does.

use std::collections::HashMap;

use ptx_analysis::cfg::Cfg;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::{DefId, Reaching, UseId};
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Binding, Body, EntityId as _, FuncId, InstId, Operand, Statement, StmtId};
use ptx_isa::{Action, StateSpace};

use super::deferring::DeferringLoads;
use super::sites::{MemoryTracking, Site, parameter_variables, variable_name};
use crate::lanes::Place;
use crate::program::{Function, Step};

/// Finds the registers of a function that may be uninitialized.
pub(super) struct Finder<'a> {
    pub(super) facts: FunctionFacts<'a>,
    id: FuncId,
    function: &'a Function,
    cfg: &'a Cfg,
    variables: &'a ptx_analysis::reg_lanes::Variables,
    reaching: &'a Reaching,
    /// The statement and the variable of each write, in the order of the statements.
    defs: Vec<(StmtId, VariableId)>,
    /// The statement and the variable of each read, in the order of the statements.
    pub(super) uses: Vec<(StmtId, VariableId)>,
    /// The variables that are written somewhere.
    written: Vec<bool>,
    /// For each statement, whether its results are needed by a statement that does more than computing registers.
    pub(super) is_needed: Vec<bool>,
    memory: MemoryTracking,
}

/// A register that may be uninitialized when it is read.
#[derive(Debug)]
pub(super) struct Variable {
    /// The name in messages.
    pub(super) name: Box<str>,
    pub(super) place: Place,
    /// The width.
    pub(super) bits: u32,
    /// It is only uninitialized if loads of shared memory read bytes that were never written.
    pub(super) depends_on_loads: bool,
}

/// The registers of a function that may be uninitialized.
#[derive(Debug)]
pub(super) struct UnsetRegisters {
    pub(super) variables: Vec<Variable>,
    /// One of them that is always tracked is stored to memory of the CTA or the thread.
    pub(super) is_stored: bool,
    /// One of them is stored to such memory.
    pub(super) is_stored_after_loads: bool,
}

/// The reads of a function that may see uninitialized values.
struct Suspects {
    /// For each read, whether it may see an uninitialized register, or a value that was computed from one.
    is_suspect: Vec<bool>,
    /// The variables with such values that are stored to memory of the CTA or the thread.
    stored_variables: Vec<VariableId>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        analysis: &'a FunctionAnalysis<'a>,
        function: &'a Function,
        memory: MemoryTracking,
    ) -> Self {
        let (variables, reaching) = (analysis.variables(), analysis.reaching());
        let mut written = vec![false; variables.len()];
        for (_, definition) in reaching.defs() {
            written[definition.variable.index()] = true;
        }
        let mut finder = Self {
            facts: analysis.facts(),
            id: analysis.id(),
            function,
            cfg: analysis.cfg(),
            variables,
            reaching,
            defs: reaching.defs().map(|(_, d)| (d.stmt, d.variable)).collect(),
            uses: reaching.uses().map(|(_, u)| (u.stmt, u.variable)).collect(),
            written,
            is_needed: Vec::new(),
            memory,
        };
        finder.is_needed = finder.needed_statements();
        finder
    }

    /// Records at each instruction the registers that may be uninitialized there, and returns these registers. `step_of` returns the index of a
    /// statement among the instructions.
    pub(super) fn find(
        &self,
        sites: &mut [Site],
        step_of: &dyn Fn(StmtId) -> Option<usize>,
    ) -> UnsetRegisters {
        for stmt in self.deferring_loads(DeferringLoads::All) {
            if let Some(site) = step_of(stmt).and_then(|step| sites.get_mut(step)) {
                site.defers = true;
            }
        }
        let parameters = parameter_variables(self.facts, self.id, self.variables);
        let always = self.suspects(&parameters, DeferringLoads::WithoutShared);
        let suspects = self.suspects(&parameters, DeferringLoads::All);
        let mut numbers: Vec<Option<u32>> = vec![None; self.variables.len()];
        let mut tracked = Vec::new();
        self.track_carry(&mut tracked, sites, step_of);
        for (of_loads, suspects) in [(false, &always), (true, &suspects)] {
            for variable in self.variables_of(suspects) {
                self.track(variable, of_loads, &mut numbers, &mut tracked);
            }
        }
        self.note_reads(&suspects, &numbers, sites, step_of);
        for &(stmt, variable) in &self.defs {
            if let Some(number) = numbers[variable.index()]
                && let Some(site) = step_of(stmt).and_then(|step| sites.get_mut(step))
            {
                site.writes.push(number);
            }
        }
        for site in sites.iter_mut() {
            let mut tracked_here = site.reads.iter().chain(&site.writes);
            site.is_always_tracked = tracked_here.any(|number| {
                let variable = tracked.get(*number as usize);
                variable.is_some_and(|variable| !variable.depends_on_loads)
            });
        }
        self.note_elements(&tracked, sites);
        UnsetRegisters {
            variables: tracked,
            is_stored: !always.stored_variables.is_empty(),
            is_stored_after_loads: !suspects.stored_variables.is_empty(),
        }
    }

    /// The variables that may contain uninitialized values.
    fn variables_of<'s>(&'s self, suspects: &'s Suspects) -> impl Iterator<Item = VariableId> + 's {
        let reads = self.uses.iter().zip(&suspects.is_suspect);
        let variables_read =
            reads.filter_map(|((_, variable), is_suspect)| is_suspect.then_some(*variable));
        suspects
            .stored_variables
            .iter()
            .copied()
            .chain(variables_read)
    }

    /// Records at each instruction the tracked registers that it reads.
    fn note_reads(
        &self,
        suspects: &Suspects,
        numbers: &[Option<u32>],
        sites: &mut [Site],
        step_of: &dyn Fn(StmtId) -> Option<usize>,
    ) {
        for (&(stmt, variable), is_suspect) in self.uses.iter().zip(&suspects.is_suspect) {
            let Some(number) = numbers[variable.index()].filter(|_| *is_suspect) else {
                continue;
            };
            let Some(site) = step_of(stmt).and_then(|step| sites.get_mut(step)) else {
                continue;
            };
            site.reads.push(number);
            site.computes = self.computes(stmt);
            site.exchanges = self.exchanges(stmt);
            if self.guard(stmt) == Some(variable) {
                site.guard = Some(number);
            }
            if self.is_member_mask(stmt, variable) {
                site.member_mask = Some(number);
            }
        }
    }

    /// Adds a variable to the tracked ones, if it is not one of them.
    fn track(
        &self,
        variable: VariableId,
        depends_on_loads: bool,
        numbers: &mut [Option<u32>],
        tracked: &mut Vec<Variable>,
    ) {
        let Some(number) = numbers.get_mut(variable.index()) else {
            return;
        };
        number.get_or_insert_with(|| {
            let name = variable_name(self.facts, self.variables, variable);
            let place = self.function.registers.get(variable.index()).copied();
            let class = self.variables.class(variable);
            tracked.push(Variable {
                name: format!("`{name}`").into(),
                place: place.unwrap_or(Place::Predicate(0)),
                bits: class.map_or(64, |c| c.bits().into()),
                depends_on_loads,
            });
            tracked.len() as u32 - 1
        });
    }

    /// Records at loads and stores the tracked registers of their elements.
    fn note_elements(&self, tracked: &[Variable], sites: &mut [Site]) {
        let numbers: HashMap<Place, u32> = (0..)
            .zip(tracked)
            .map(|(number, variable)| (variable.place, number))
            .collect();
        for (target, site) in self.function.steps.iter().zip(sites) {
            let (Step::Load(access) | Step::Store(access)) = &target.step else {
                continue;
            };
            let elements: Vec<Option<u32>> = access
                .places
                .iter()
                .map(|place| numbers.get(place.as_ref()?).copied())
                .collect();
            if elements.iter().any(Option::is_some) {
                site.elements = elements;
            }
        }
    }

    /// Finds the reads that may see uninitialized values. `parameters` are the variables that the caller initializes, and the results of `loads` may be
    /// uninitialized.
    fn suspects(&self, parameters: &[VariableId], loads: DeferringLoads) -> Suspects {
        let mut suspects = Suspects {
            is_suspect: vec![false; self.uses.len()],
            stored_variables: Vec::new(),
        };
        let mut worklist: Vec<UseId> = self
            .reaching
            .uses()
            .filter(|(id, usage)| {
                self.reaching.may_be_uninitialized(*id) && !parameters.contains(&usage.variable)
            })
            .map(|(id, _)| id)
            .collect();
        for stmt in self
            .deferring_loads(loads)
            .chain(self.unset_carry_reads())
            .chain(self.loads_of_tainted_memory(loads))
        {
            worklist.extend(self.uses_of_results(stmt));
        }
        let mut seen = vec![false; self.uses.len()];
        while let Some(id) = worklist.pop() {
            let index = id.as_u32() as usize;
            let Some(&(stmt, variable)) = self.uses.get(index) else {
                continue;
            };
            if core::mem::replace(&mut seen[index], true) {
                continue;
            }
            if self.passes_on(stmt, variable) {
                if self.is_stored_by(stmt, variable) {
                    suspects.stored_variables.push(variable);
                }
                continue;
            }
            suspects.is_suspect[index] = true;
            if self.computes(stmt) || self.exchanges(stmt) {
                worklist.extend(self.uses_of_results(stmt));
            }
        }
        suspects
    }

    /// The reads of the results of a statement.
    pub(super) fn uses_of_results(&self, stmt: StmtId) -> impl Iterator<Item = UseId> + '_ {
        self.defs_at(stmt)
            .flat_map(|def| self.reaching.uses_of(def).iter().copied())
    }

    /// The loads from memory of the CTA or the thread, if that may contain values that are computed from uninitialized registers.
    fn loads_of_tainted_memory(&self, loads: DeferringLoads) -> impl Iterator<Item = StmtId> + '_ {
        let may_be_tainted = match self.memory {
            MemoryTracking::Initialized => false,
            MemoryTracking::MayBeTaintedByLoads => loads == DeferringLoads::All,
            MemoryTracking::MayBeTainted => true,
        };
        self.facts
            .body()
            .statements()
            .filter(move |_| may_be_tainted)
            .filter_map(|(id, _)| {
                let mut accesses = self.facts.inst(self.inst(id)?).memory();
                let (access, None) = (accesses.next()?, accesses.next()) else {
                    return None;
                };
                let is_other_memory = matches!(
                    state_space(&access),
                    Some(StateSpace::Global | StateSpace::Const | StateSpace::Param)
                );
                (access.access == ptx_isa::Access::Read && !is_other_memory).then_some(id)
            })
    }

    /// Whether a statement stores a variable to memory of the CTA or the thread.
    pub(super) fn is_stored_by(&self, stmt: StmtId, variable: VariableId) -> bool {
        self.inst(stmt)
            .is_some_and(|inst| self.stores_to_own_memory(&self.facts.inst(inst), variable))
    }
}

impl Finder<'_> {
    /// The statements that read the carry flag where no instruction before them in the block writes it.
    fn unset_carry_reads(&self) -> impl Iterator<Item = StmtId> + '_ {
        self.cfg.blocks().flat_map(move |(_, block)| {
            let mut is_written = false;
            self.facts
                .body()
                .range(block.first, block.end)
                .filter_map(move |(stmt, _)| {
                    let facts = self.facts.inst(self.inst(stmt)?);
                    let is_unset = facts.reads_carry() && !is_written;
                    is_written |= facts.writes_carry();
                    is_unset.then_some(stmt)
                })
        })
    }

    /// Tracks the carry flag if it may be uninitialized where it is read.
    fn track_carry(
        &self,
        tracked: &mut Vec<Variable>,
        sites: &mut [Site],
        step_of: &dyn Fn(StmtId) -> Option<usize>,
    ) {
        if self.unset_carry_reads().next().is_none() {
            return;
        }
        let number = tracked.len() as u32;
        tracked.push(Variable {
            name: "the carry flag".into(),
            place: Place::Predicate(crate::lower::Code::CARRY),
            bits: 1,
            depends_on_loads: false,
        });
        for (stmt, _) in self.facts.body().statements() {
            let Some(inst) = self.inst(stmt) else {
                continue;
            };
            let facts = self.facts.inst(inst);
            let Some(site) = step_of(stmt).and_then(|step| sites.get_mut(step)) else {
                continue;
            };
            if facts.reads_carry() {
                site.reads.push(number);
                site.computes = self.computes(stmt);
            }
            if facts.writes_carry() {
                site.writes.push(number);
            }
        }
    }

    /// The writes of a statement.
    fn defs_at(&self, stmt: StmtId) -> impl Iterator<Item = DefId> + '_ {
        let ids = self.reaching.defs().map(|(id, _)| id);
        ids_at(self.facts.body(), &self.defs, ids, stmt)
    }

    /// The reads of a statement.
    fn uses_at(&self, stmt: StmtId) -> impl Iterator<Item = UseId> + '_ {
        let ids = self.reaching.uses().map(|(id, _)| id);
        ids_at(self.facts.body(), &self.uses, ids, stmt)
    }

    pub(super) fn inst(&self, stmt: StmtId) -> Option<InstId> {
        match self.facts.body().statement(stmt)? {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    /// The variable of the guard of a statement.
    fn guard(&self, stmt: StmtId) -> Option<VariableId> {
        let (register, _) = self.facts.inst(self.inst(stmt)?).guard_register()?;
        Some(self.variables.of(register).first())
    }

    /// For each statement, whether its results are needed, directly or by other computations, by a statement that does more than computing
    /// registers. What is computed from values of other lanes counts as needed: an exchange is performed whether its results are needed or not.
    fn needed_statements(&self) -> Vec<bool> {
        let count = self.facts.body().statement_table().len();
        let mut is_needed = vec![false; count];
        let mut worklist: Vec<UseId> = self
            .reaching
            .uses()
            .filter(|(_, usage)| !self.only_computes(usage.stmt))
            .map(|(id, _)| id)
            .collect();
        let mut seen = vec![false; self.uses.len()];
        while let Some(id) = worklist.pop() {
            if std::mem::replace(&mut seen[id.as_u32() as usize], true) {
                continue;
            }
            for def in self.reaching.defs_of(id) {
                let Some(&(stmt, _)) = self.defs.get(def.as_u32() as usize) else {
                    continue;
                };
                let was_needed = std::mem::replace(&mut is_needed[stmt.as_u32() as usize], true);
                if !was_needed && self.only_computes(stmt) {
                    worklist.extend(self.uses_at(stmt));
                }
            }
        }
        let mut computed: Vec<StmtId> = self
            .facts
            .body()
            .statements()
            .map(|(id, _)| id)
            .filter(|id| self.exchanges(*id))
            .collect();
        while let Some(stmt) = computed.pop() {
            for id in self.uses_of_results(stmt) {
                let Some(&(user, _)) = self.uses.get(id.as_u32() as usize) else {
                    continue;
                };
                if self.only_computes(user)
                    && !std::mem::replace(&mut is_needed[user.as_u32() as usize], true)
                {
                    computed.push(user);
                }
            }
        }
        is_needed
    }

    /// Whether a statement only computes registers, and these are needed.
    fn computes(&self, stmt: StmtId) -> bool {
        self.is_needed.get(stmt.as_u32() as usize) == Some(&true) && self.only_computes(stmt)
    }

    /// Whether a statement only computes registers.
    pub(super) fn only_computes(&self, stmt: StmtId) -> bool {
        let Some(inst) = self.inst(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        facts.flow() == Flow::Next
            && !facts.has_side_effects()
            && facts.memory().next().is_none()
            && facts.member_mask().is_none()
    }

    /// Whether a statement exchanges values between lanes, from which it computes registers.
    pub(super) fn exchanges(&self, stmt: StmtId) -> bool {
        let action = self
            .inst(stmt)
            .and_then(|inst| self.facts.inst(inst).action());
        matches!(
            action,
            Some(Action::Shuffle | Action::Vote | Action::Match | Action::WarpReduce)
        )
    }

    /// Whether a variable is the mask of the lanes that execute a statement together.
    fn is_member_mask(&self, stmt: StmtId, variable: VariableId) -> bool {
        let facts = self.inst(stmt).map(|inst| self.facts.inst(inst));
        let mask = facts.and_then(|facts| Some((facts, facts.member_mask()?)));
        mask.is_some_and(|(facts, mask)| {
            facts
                .places(&mask)
                .any(|place| self.variables.of(place).contains(&variable))
        })
    }

    /// Whether a statement only passes a variable on, so that its value may not be needed: to a parameter, where padding of a structure may never be
    /// written; or to memory of the CTA, where threads exchange elements that only some of them have.
    pub(super) fn passes_on(&self, stmt: StmtId, variable: VariableId) -> bool {
        let Some(inst) = self.inst(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        if self.guard(stmt) == Some(variable) {
            return false;
        }
        let writes_parameter = facts.memory().any(|access| {
            access.writes()
                && state_space(&access) == Some(StateSpace::Param)
                && !access.base.is_some_and(|base| self.is_scalar_result(base))
        });
        writes_parameter || self.stores_to_own_memory(&facts, variable)
    }

    /// Whether an operand is a result of the function that is not a structure.
    fn is_scalar_result(&self, operand: Operand) -> bool {
        let module = self.facts.module();
        let function = module.functions().get(self.id);
        let returns = function.map(|f| f.interface.returns).unwrap_or_default();
        returns.of(module.params()).iter().any(|param| {
            let is_operand =
                matches!((param.binding, operand), (Binding::Var(a), Operand::Var(b)) if a == b);
            is_operand && param.dims.is_empty()
        })
    }

    /// Whether an instruction stores a variable to memory of the CTA or the thread, and does not use it as the address.
    fn stores_to_own_memory(&self, facts: &Facts<'_>, variable: VariableId) -> bool {
        let mut stores = facts.memory().filter(MemoryAccess::writes);
        let (Some(store), None) = (stores.next(), facts.memory().nth(1)) else {
            return false;
        };
        let Some(address) = store.operand else {
            return false;
        };
        let is_address = facts
            .places(&address)
            .any(|place| self.variables.of(place).contains(&variable));
        let is_own_memory = match state_space(&store) {
            Some(StateSpace::Global | StateSpace::Param) => false,
            Some(StateSpace::Shared) => self.written[variable.index()],
            _ => true,
        };
        store.access == ptx_isa::Access::Write && is_own_memory && !is_address
    }
}

pub(super) fn state_space(access: &MemoryAccess) -> Option<StateSpace> {
    match access.space {
        Space::State(space) => Some(space.base()),
        _ => None,
    }
}

/// The ids of the entries of a statement. `entries` are in the order of the statements, and `ids` are their ids.
fn ids_at<'a, I: 'a, E>(
    body: &'a Body,
    entries: &'a [(StmtId, E)],
    ids: impl Iterator<Item = I> + 'a,
    stmt: StmtId,
) -> impl Iterator<Item = I> + 'a {
    let first = entries.partition_point(|(entry_stmt, _)| body.precedes(*entry_stmt, stmt));
    ids.skip(first)
        .zip(&entries[first..])
        .take_while(move |(_, (entry_stmt, _))| *entry_stmt == stmt)
        .map(|(id, _)| id)
}
