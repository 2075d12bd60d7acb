//! Registers that may be read before they are written, and registers that are computed from them.
//!
//! Compilers hoist computations above the branches that decide whether their results are needed. An uninitialized register therefore only matters
//! where a value that is computed from it is used as an address, decides a branch, or leaves the thread.

use std::collections::HashMap;

use ptx_analysis::cfg::Cfg;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reaching::{DefId, Reaching, UseId};
use ptx_analysis::reg_lanes::VariableId;
use ptx_ir::facts::{Facts, Flow, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Binding, EntityId as _, FuncId, InstId, Operand, Statement, StmtId};
use ptx_isa::StateSpace;

use super::sites::{Site, name, parameters};
use crate::lanes::Place;
use crate::program::{Function, Step};

/// Finds the registers of a function that may be uninitialized.
pub(super) struct Finder<'a> {
    facts: FunctionFacts<'a>,
    id: FuncId,
    function: &'a Function,
    cfg: &'a Cfg,
    variables: &'a ptx_analysis::reg_lanes::Variables,
    reaching: &'a Reaching,
    /// The statement of each write, which are in this order.
    defs: Vec<(StmtId, VariableId)>,
    /// The variable that each read reads, and its statement.
    uses: Vec<(StmtId, VariableId)>,
    /// The variables that are written somewhere.
    written: Vec<bool>,
    /// The statements that do nothing but compute registers for others that do more.
    computing: Vec<bool>,
    /// Whether memory of the CTA or the thread may hold values that are computed from uninitialized registers.
    memory: bool,
}

/// A register that may be uninitialized when it is read.
#[derive(Debug)]
pub(super) struct Variable {
    /// For messages.
    pub(super) name: Box<str>,
    pub(super) place: Place,
    /// Its width.
    pub(super) bits: u32,
}

/// The registers of a function that may be uninitialized.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) variables: Vec<Variable>,
    /// Whether one of them is stored to memory of the CTA or the thread.
    pub(super) stores: bool,
}

/// The reads of a function that matter.
struct Suspects {
    /// The reads that may see a register without a value, or a value that was computed from one.
    reads: Vec<bool>,
    /// The statements that store such variables to memory of the CTA or the thread.
    stored: Vec<(StmtId, VariableId)>,
}

impl<'a> Finder<'a> {
    /// `memory` says whether memory of the CTA or the thread may hold values that are computed from uninitialized registers.
    pub(super) fn new(
        analysis: &'a FunctionAnalysis<'a>,
        function: &'a Function,
        memory: bool,
    ) -> Self {
        let (variables, reaching) = (analysis.variables(), analysis.reaching());
        let mut written = vec![false; variables.len()];
        for (_, of) in reaching.defs() {
            written[of.variable.index()] = true;
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
            computing: Vec::new(),
            memory,
        };
        finder.computing = finder.computing();
        finder
    }

    /// Notes at each instruction which registers may have no value there; gives these. `step` is the index of a statement among the
    /// instructions.
    pub(super) fn find(&self, sites: &mut [Site], step: &dyn Fn(StmtId) -> Option<usize>) -> Found {
        for stmt in self.loads() {
            if let Some(site) = step(stmt).and_then(|s| sites.get_mut(s)) {
                site.defers = true;
            }
        }
        let suspects = self.suspects(&parameters(self.facts, self.id, self.variables));
        let mut numbers: Vec<Option<u32>> = vec![None; self.variables.len()];
        let mut unset = Vec::new();
        self.follow_carry(&mut unset, sites, step);
        for &(_, variable) in &suspects.stored {
            self.number(variable, &mut numbers, &mut unset);
        }
        let reads = self.uses.iter().zip(&suspects.reads);
        for (&(stmt, variable), _) in reads.filter(|(_, s)| **s) {
            let number = self.number(variable, &mut numbers, &mut unset);
            if let Some(site) = step(stmt).and_then(|s| sites.get_mut(s)) {
                site.reads.push(number);
                site.computes = self.computes(stmt);
                if self.guard(stmt) == Some(variable) {
                    site.guard = Some(number);
                }
            }
        }
        for &(stmt, variable) in &self.defs {
            if let Some(number) = numbers[variable.index()]
                && let Some(site) = step(stmt).and_then(|s| sites.get_mut(s))
            {
                site.writes.push(number);
            }
        }
        self.follow_elements(&unset, sites);
        Found {
            variables: unset,
            stores: !suspects.stored.is_empty(),
        }
    }

    /// The number of a variable among those that are followed.
    fn number(
        &self,
        variable: VariableId,
        numbers: &mut [Option<u32>],
        found: &mut Vec<Variable>,
    ) -> u32 {
        let Some(number) = numbers.get_mut(variable.index()) else {
            return u32::MAX;
        };
        *number.get_or_insert_with(|| {
            let place = self.function.registers.get(variable.index()).copied();
            let class = self.variables.class(self.facts.body(), variable);
            found.push(Variable {
                name: format!("`{}`", name(self.facts, self.variables, variable)).into(),
                place: place.unwrap_or(Place::Predicate(0)),
                bits: class.map_or(64, |c| c.bits().into()),
            });
            found.len() as u32 - 1
        })
    }

    /// Notes at loads and stores which elements are followed.
    fn follow_elements(&self, found: &[Variable], sites: &mut [Site]) {
        let numbers: HashMap<Place, u32> = (0..).zip(found).map(|(n, v)| (v.place, n)).collect();
        for (target, site) in self.function.steps.iter().zip(sites) {
            let (Step::Load(access) | Step::Store(access)) = &target.step else {
                continue;
            };
            let number = |place: &Option<Place>| numbers.get(place.as_ref()?).copied();
            let elements: Vec<Option<u32>> = access.places.iter().map(number).collect();
            if elements.iter().any(Option::is_some) {
                site.elements = elements;
            }
        }
    }

    /// The reads that may see a register without a value, or a value that was computed from one.
    fn suspects(&self, parameters: &[VariableId]) -> Suspects {
        let mut suspects = Suspects {
            reads: vec![false; self.uses.len()],
            stored: Vec::new(),
        };
        let first = self.reaching.uses().filter(|(read, of)| {
            self.reaching.may_be_uninitialized(*read) && !parameters.contains(&of.variable)
        });
        let mut work: Vec<UseId> = first.map(|(read, _)| read).collect();
        let sources = self.loads().chain(self.unset_carry());
        for stmt in sources.chain(self.loads_of_memory()) {
            let uses = self.defs_at(stmt).map(|def| self.reaching.uses_of(def));
            work.extend(uses.flatten());
        }
        let mut seen = vec![false; self.uses.len()];
        while let Some(read) = work.pop() {
            let index = read.as_u32() as usize;
            let Some(&(stmt, variable)) = self.uses.get(index) else {
                continue;
            };
            if core::mem::replace(&mut seen[index], true) {
                continue;
            }
            if self.passes_on(stmt, variable) {
                if self.is_kept(stmt, variable) {
                    suspects.stored.push((stmt, variable));
                }
                continue;
            }
            suspects.reads[index] = true;
            if self.computes(stmt) {
                let uses = self.defs_at(stmt).map(|def| self.reaching.uses_of(def));
                work.extend(uses.flatten());
            }
        }
        suspects
    }

    /// The loads of what may be memory of the CTA or the thread, if that may hold values that are computed from uninitialized registers.
    fn loads_of_memory(&self) -> impl Iterator<Item = StmtId> + '_ {
        let statements = self.facts.body().statements().filter(|_| self.memory);
        statements.filter_map(|(id, _)| {
            let facts = self.facts.inst(self.inst(id)?);
            let mut all = facts.memory();
            let access = all.next().filter(|_| all.next().is_none())?;
            let outside = matches!(
                space(&access),
                Some(StateSpace::Global | StateSpace::Const | StateSpace::Param)
            );
            (access.access == ptx_isa::Access::Read && !outside).then_some(id)
        })
    }

    /// Whether a statement stores a variable to memory where it is followed.
    fn is_kept(&self, stmt: StmtId, variable: VariableId) -> bool {
        self.inst(stmt)
            .is_some_and(|inst| self.is_stored(&self.facts.inst(inst), variable))
    }
}

impl Finder<'_> {
    /// The statements that read the carry flag where no instruction before them in the block writes it.
    fn unset_carry(&self) -> impl Iterator<Item = StmtId> + '_ {
        let blocks = self.cfg.blocks();
        blocks.flat_map(move |(_, block)| {
            let mut is_written = false;
            let statements = self.facts.body().range(block.first, block.end);
            statements.filter_map(move |(stmt, _)| {
                let facts = self.facts.inst(self.inst(stmt)?);
                let unset = facts.reads_carry() && !is_written;
                is_written |= facts.writes_carry();
                unset.then_some(stmt)
            })
        })
    }

    /// Follows the carry flag if it may have no value where it is read.
    fn follow_carry(
        &self,
        found: &mut Vec<Variable>,
        sites: &mut [Site],
        step: &dyn Fn(StmtId) -> Option<usize>,
    ) {
        if self.unset_carry().next().is_none() {
            return;
        }
        let number = found.len() as u32;
        found.push(Variable {
            name: "the carry flag".into(),
            place: Place::Predicate(crate::lower::Code::CARRY),
            bits: 1,
        });
        for (stmt, _) in self.facts.body().statements() {
            let Some(inst) = self.inst(stmt) else {
                continue;
            };
            let facts = self.facts.inst(inst);
            let Some(site) = step(stmt).and_then(|s| sites.get_mut(s)) else {
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
        let body = self.facts.body();
        let first = self.defs.partition_point(|(s, _)| body.precedes(*s, stmt));
        let all = self.reaching.defs().map(|(id, _)| id).skip(first);
        all.zip(self.defs[first..].iter())
            .take_while(move |(_, (s, _))| *s == stmt)
            .map(|(id, _)| id)
    }

    /// The reads of a statement.
    fn uses_at(&self, stmt: StmtId) -> impl Iterator<Item = UseId> + '_ {
        let body = self.facts.body();
        let first = self.uses.partition_point(|(s, _)| body.precedes(*s, stmt));
        let all = self.reaching.uses().map(|(id, _)| id).skip(first);
        all.zip(self.uses[first..].iter())
            .take_while(move |(_, (s, _))| *s == stmt)
            .map(|(id, _)| id)
    }

    fn inst(&self, stmt: StmtId) -> Option<InstId> {
        match self.facts.body().statement(stmt)? {
            Statement::Inst(inst) => Some(inst),
            _ => None,
        }
    }

    fn guard(&self, stmt: StmtId) -> Option<VariableId> {
        let (register, _) = self.facts.inst(self.inst(stmt)?).guard_register()?;
        Some(self.variables.of(register).first())
    }

    /// The loads, perhaps from memory of one thread or CTA, whose results may not matter. Those of shared variables are left out: there are many.
    fn loads(&self) -> impl Iterator<Item = StmtId> + '_ {
        let statements = self.facts.body().statements();
        statements.filter_map(|(id, _)| {
            let facts = self.facts.inst(self.inst(id)?);
            let mut all = facts.memory();
            let access = all.next()?;
            let is_needed = self.computing.get(id.as_u32() as usize) == Some(&true);
            let defers = match access.space {
                Space::State(space) => space.base() == StateSpace::Local && is_needed,
                // Code that is not optimized has loads whose results are never read.
                _ => {
                    let mut reads = self.defs_at(id).map(|def| self.reaching.uses_of(def));
                    is_needed || reads.all(<[_]>::is_empty)
                }
            };
            let is_load = access.access == ptx_isa::Access::Read && all.next().is_none();
            (is_load && defers).then_some(id)
        })
    }

    /// The statements that compute registers for others that do more. A result that nothing else needs counts as needed.
    fn computing(&self) -> Vec<bool> {
        let count = self.facts.body().statement_table().len();
        let mut computing = vec![false; count];
        let mut work: Vec<UseId> = Vec::new();
        for (read, of) in self.reaching.uses() {
            if !self.only_computes(of.stmt) {
                work.push(read);
            }
        }
        let mut seen = vec![false; self.uses.len()];
        while let Some(read) = work.pop() {
            if std::mem::replace(&mut seen[read.as_u32() as usize], true) {
                continue;
            }
            for def in self.reaching.defs_of(read) {
                let Some(&(stmt, _)) = self.defs.get(def.as_u32() as usize) else {
                    continue;
                };
                let was_computing = std::mem::replace(&mut computing[stmt.as_u32() as usize], true);
                if !was_computing && self.only_computes(stmt) {
                    work.extend(self.uses_at(stmt));
                }
            }
        }
        computing
    }

    /// Whether a statement does nothing but compute registers that others need.
    fn computes(&self, stmt: StmtId) -> bool {
        self.computing.get(stmt.as_u32() as usize) == Some(&true) && self.only_computes(stmt)
    }

    /// Whether a statement does nothing but compute registers.
    fn only_computes(&self, stmt: StmtId) -> bool {
        let Some(inst) = self.inst(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        facts.flow() == Flow::Next
            && !facts.has_side_effects()
            && facts.memory().next().is_none()
            && facts.lanes().is_none()
    }

    /// Whether a statement only passes a variable on, which may not be needed: to a parameter, where padding of a structure may never have been
    /// written, to other lanes, or to memory of the CTA, where blocks of threads exchange elements that only some of them have.
    fn passes_on(&self, stmt: StmtId, variable: VariableId) -> bool {
        let Some(inst) = self.inst(stmt) else {
            return false;
        };
        let facts = self.facts.inst(inst);
        if self.guard(stmt) == Some(variable) {
            return false;
        }
        let is_parameter = |m: MemoryAccess| {
            let param = m.writes() && space(&m) == Some(StateSpace::Param);
            param && !m.base.is_some_and(|base| self.is_result(base))
        };
        if facts.memory().any(is_parameter) || facts.lanes().is_some() {
            return true;
        }
        self.is_stored(&facts, variable)
    }

    /// Whether an operand is a result of the function, and not a structure.
    fn is_result(&self, operand: Operand) -> bool {
        let module = self.facts.module();
        let function = module.functions().get(self.id);
        let returns = function.map(|f| f.interface.returns).unwrap_or_default();
        returns.of(module.params()).iter().any(|param| {
            let same =
                matches!((param.binding, operand), (Binding::Var(a), Operand::Var(b)) if a == b);
            same && param.dims.is_empty()
        })
    }

    /// Whether an instruction stores a variable to memory that is not that of the whole device, and does not use it as the address.
    fn is_stored(&self, facts: &Facts<'_>, variable: VariableId) -> bool {
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
        let is_memory = match space(&store) {
            Some(StateSpace::Global | StateSpace::Param) => false,
            Some(StateSpace::Shared) => self.written[variable.index()],
            _ => true,
        };
        store.access == ptx_isa::Access::Write && is_memory && !is_address
    }
}

fn space(access: &MemoryAccess) -> Option<StateSpace> {
    match access.space {
        Space::State(space) => Some(space.base()),
        _ => None,
    }
}
