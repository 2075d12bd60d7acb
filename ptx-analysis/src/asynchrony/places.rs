//! The places in memory that instructions access: the variable, and the bytes in it if they are known.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_dataflow::internals::{Bounds, Item};
use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, Space};
use ptx_ir::{Operand, Statement, StmtId, SymbolId, VarId};
use ptx_isa::{Action, StateSpace};

use super::addresses::{Address, Addresses, Symbols, is_computed_once};
use super::kinds::may_do_anything;
use super::matrices::Descriptors;
use super::place::{Base, Place};
use super::selection::Conditions;
use crate::cfg::Cfg;
use crate::dataflow::{BitSet, JoinSemiLattice, SparseSolver};
use crate::function_dataflow::FunctionDataflow;
use crate::reg_lanes::VariableId;
use crate::ssa::{Ssa, Value, ValueId};
use crate::values::{Affine, AffineSymbol, Values};

/// An object in memory that is distinguished from others.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Root {
    /// A variable of the module.
    Symbol(SymbolId),
    /// A variable of the function.
    Variable(VarId),
    /// The memory that a parameter of the kernel points to, with the offset of the pointer in the parameter.
    Pointer(VarId, u32),
}

impl Root {
    fn of(operand: Operand) -> Option<Self> {
        match operand {
            Operand::Symbol(symbol) => Some(Self::Symbol(symbol)),
            Operand::Var(variable) => Some(Self::Variable(variable)),
            _ => None,
        }
    }
}

/// The roots from which a value may be derived: a lattice.
///
/// ```text
///             Several
///            ╱   │   ╲
///      One(0)  One(1)  One(2) ...
///            ╲   │   ╱
///              None
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Origin {
    /// No root.
    None,
    /// One root, by number.
    One(u32),
    /// Different roots.
    Several,
}

impl Origin {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, other) | (other, Self::None) => other,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }
}

impl JoinSemiLattice for Origin {
    fn join(&mut self, other: &Self) -> bool {
        let joined = Self::join(*self, *other);
        core::mem::replace(self, joined) != joined
    }
}

/// The maximum number of definitions on the path from an address to the value that it is derived from.
const MAX_DEFINITIONS: usize = 6;

/// The maximum number of values from which an address in a loop is computed.
const MAX_VALUES: usize = 32;

/// The number of bytes of a row of a matrix that are certainly read.
const MATRIX_ROW: u64 = 16;

/// The section of the PTX ISA manual about operations on bits.
const BITWISE: &str = "9.7.8.";

/// The greatest number that is combined with an address to avoid bank conflicts.
const MAX_SWIZZLE: i128 = 1023;

/// The maximum number of sweeps over a function; after that, values may be derived from any variable.
const MAX_SWEEPS: u32 = 8;

/// The start of an access, as far as it is known.
#[derive(Default)]
struct Location {
    root: Option<u32>,
    base: Option<Base>,
    address: Option<Address>,
}

/// The places of a function.
pub(super) struct Places<'a> {
    facts: FunctionFacts<'a>,
    analysis: &'a FunctionDataflow<'a>,
    ssa: Option<&'a Ssa>,
    values: Option<&'a Values>,
    addresses: Addresses,
    /// The number of each root.
    roots: BTreeMap<Root, u32>,
    /// The origin of each value.
    origins: Vec<Origin>,
    /// The values on which the path of execution depends.
    decisive: Option<BitSet>,
}

impl<'a> Places<'a> {
    pub(super) fn new(analysis: &'a FunctionDataflow<'a>) -> Self {
        let ssa = analysis.ssa().ok();
        let mut places = Self {
            facts: analysis.facts(),
            analysis,
            values: analysis.values().ok(),
            ssa,
            addresses: Addresses::default(),
            roots: BTreeMap::new(),
            origins: Vec::new(),
            decisive: None,
        };
        places.solve();
        places.decisive = ssa.map(|ssa| decisive(analysis.facts(), analysis.cfg(), ssa));
        places
    }

    /// Finds the origins of all values.
    fn solve(&mut self) {
        let (Some(ssa), Ok(graph)) = (self.ssa, self.analysis.ssa_graph()) else {
            return;
        };
        let bounds = Bounds {
            bottom: Origin::None,
            top: Origin::Several,
            max_sweeps: MAX_SWEEPS,
        };
        let mut solver = SparseSolver::new(self.analysis.cfg(), ssa, graph, bounds);
        solver.revisit_all();
        while let Some(item) = solver.next_item() {
            match item {
                Item::Phi(phi) => {
                    let origin = solver.join_arguments(phi);
                    solver.raise(phi, &origin);
                }
                Item::Statement(stmt) => self.statement(stmt, &mut solver),
                Item::BlockEnd(_) => {}
            }
        }
        self.origins = solver.finish().into_values();
    }

    /// Adds to the origins of the values that a statement defines.
    fn statement(&mut self, stmt: StmtId, solver: &mut SparseSolver<'_, Origin>) {
        let ssa = solver.ssa();
        let Some(Statement::Inst(inst)) = self.facts.body().statement(stmt) else {
            return;
        };
        if ssa.defs(stmt).len() == 0 {
            return;
        }
        let origin = self.computed(stmt, self.facts.inst(inst), solver);
        for def in ssa.defs(stmt) {
            if let Value::Def { old: Some(old), .. } = ssa.value(def)
                && old != Ssa::UNKNOWN
            {
                let old = *solver.value(old);
                solver.raise(def, &old);
            }
            solver.raise(def, &origin);
        }
    }

    fn origin(&self, value: ValueId) -> Origin {
        let origin = self.origins.get(value.as_u32() as usize);
        origin.copied().unwrap_or(Origin::None)
    }

    /// The origin of the results of an instruction: the join of its sources, or none if the results come from memory.
    fn computed(
        &mut self,
        stmt: StmtId,
        facts: Facts<'_>,
        solver: &SparseSolver<'_, Origin>,
    ) -> Origin {
        // The shared memory of another CTA is another variable.
        let is_remote = facts.action() == Some(Action::MapShared);
        if is_remote || facts.has_side_effects() || facts.memory().next().is_some() {
            return Origin::None;
        }
        let mut origin = Origin::None;
        for read in solver.ssa().uses(stmt) {
            if read.value != Ssa::UNKNOWN {
                origin = origin.join(*solver.value(read.value));
            }
        }
        for (operand, _) in facts.parts() {
            let operand = match operand {
                Operand::Address(id) => self.facts.body().pool().address(id).map(|a| a.base),
                other => Some(other),
            };
            if let Some(root) = operand.and_then(Root::of) {
                origin = origin.join(Origin::One(self.number(root)));
            }
        }
        origin
    }

    /// The number of a root; assigns the next one to a new root.
    fn number(&mut self, root: Root) -> u32 {
        let next = self.roots.len() as u32;
        *self.roots.entry(root).or_insert(next)
    }

    /// The number of roots.
    pub(super) fn root_count(&self) -> usize {
        self.roots.len()
    }

    /// The place of an access of a statement.
    pub(super) fn place(&mut self, stmt: StmtId, access: &MemoryAccess) -> Place {
        let location = match access.base {
            Some(Operand::Reg(register)) => self.register_location(stmt, register, access.offset),
            Some(operand) => self.variable_location(operand, access.offset),
            None => None,
        }
        .unwrap_or_default();
        Place {
            root: location.root,
            base: location.base,
            offset: access.offset,
            bytes: access.bytes.or_else(|| self.size(stmt, access)),
            address: location.address,
        }
    }

    /// The place of an access in the shared memory of another CTA: that of the same variable in this CTA.
    pub(super) fn remote_place(&mut self, stmt: StmtId, access: &MemoryAccess) -> Option<Place> {
        let value = self.read(stmt, access.base?)?;
        let (mapping, is_direct) = self.mapping(value, MAX_DEFINITIONS)?;
        let ssa = self.ssa?;
        let reads = ssa.uses(mapping);
        let (variable, root) = reads
            .iter()
            .find_map(|read| match self.origin(read.value) {
                Origin::One(root) => Some((read.variable, root)),
                _ => None,
            })?;
        let location = if is_direct {
            let register = self.analysis.variables().place(variable).register;
            self.register_location(mapping, register, access.offset)
        } else {
            None
        }
        .unwrap_or_default();
        Some(Place {
            root: Some(root),
            base: location.base,
            offset: access.offset.filter(|_| is_direct),
            bytes: access.bytes,
            address: location.address,
        })
    }

    /// The statement that maps an address to another CTA from which a value is derived, and whether the value is its result itself. `depth` is the number of
    /// definitions that may be followed.
    fn mapping(&self, value: ValueId, depth: usize) -> Option<(StmtId, bool)> {
        let (stmt, facts) = self.definition(value)?;
        if facts.action() == Some(Action::MapShared) {
            return Some((stmt, true));
        }
        if facts.has_side_effects() || facts.memory().next().is_some() {
            return None;
        }
        let depth = depth.checked_sub(1)?;
        let mut reads = self.ssa?.uses(stmt).iter();
        let (mapping, _) = reads.find_map(|read| self.mapping(read.value, depth))?;
        Some((mapping, false))
    }

    /// The root from which an operand was loaded.
    pub(super) fn loaded_root(&mut self, stmt: StmtId, operand: Operand) -> Option<u32> {
        let (stmt, facts) = self.definition(self.read(stmt, operand)?)?;
        let access = facts.memory().next()?;
        self.place(stmt, &access).root
    }

    /// The instruction that defines a value.
    fn definition(&self, value: ValueId) -> Option<(StmtId, Facts<'a>)> {
        let Value::Def { stmt, .. } = self.ssa?.value(value) else {
            return None;
        };
        match self.facts.body().statement(stmt)? {
            Statement::Inst(inst) => Some((stmt, self.facts.inst(inst))),
            _ => None,
        }
    }

    /// The root from which an operand of a statement is derived.
    pub(super) fn operand_root(&self, stmt: StmtId, operand: Operand) -> Option<u32> {
        let value = self.read(stmt, operand)?;
        match self.origin(value) {
            Origin::One(root) => Some(root),
            _ => None,
        }
    }

    /// The first bytes of the matrices that descriptors of statements describe, if they are known.
    pub(super) fn matrix_starts(
        &mut self,
        descriptors: &[(StmtId, Operand)],
    ) -> Vec<Option<Place>> {
        let Some(symbols) = self.symbols() else {
            return vec![None; descriptors.len()];
        };
        let mut matrices = Descriptors::new(self.analysis, symbols.ssa, symbols.values);
        let mut places = Vec::with_capacity(descriptors.len());
        for &(stmt, operand) in descriptors {
            let value = self.read(stmt, operand);
            let origin = value.map(|value| self.origin(value));
            let start = value.and_then(|value| matrices.start(value));
            let (Some(Origin::One(root)), Some((symbol, distance))) = (origin, start) else {
                places.push(None);
                continue;
            };
            let form = Affine::symbol(symbol);
            let address = self.addresses.of(&symbols, &form, 64, distance);
            places.push(Some(Place {
                root: Some(root),
                base: Some(Base::Root),
                offset: Some(distance),
                bytes: Some(MATRIX_ROW),
                address: Some(address),
            }));
        }
        places
    }

    /// The value of an operand of a statement, if it is always the same.
    pub(super) fn constant(&self, stmt: StmtId, operand: Operand) -> Option<u64> {
        if let Some(number) = self.facts.body().pool().integer(operand) {
            return u64::try_from(number).ok();
        }
        let value = self.read(stmt, operand)?;
        let number = self.values?.interval(value).single()?;
        u64::try_from(number).ok()
    }

    /// The value of an operand of a statement where it is executed for the first time, if it is always the same there.
    pub(super) fn initial_constant(&self, stmt: StmtId, operand: Operand) -> Option<u64> {
        if let Some(number) = self.constant(stmt, operand) {
            return Some(number);
        }
        let (ssa, values) = (self.ssa?, self.values?);
        let (cfg, loops) = (self.analysis.cfg(), self.analysis.loops());
        let mut value = self.read(stmt, operand)?;
        for _ in 0..MAX_DEFINITIONS {
            let Value::Phi { block, .. } = ssa.value(value) else {
                break;
            };
            let id = loops
                .innermost(block)
                .filter(|_| loops.header(block) == Some(block))?;
            let edges = cfg.in_edges(block).zip(ssa.args(value));
            let mut entering = edges.filter(|((_, edge), _)| !loops.contains(id, edge.from));
            let (_, &first) = entering.next()?;
            if entering.any(|(_, other)| *other != first) {
                return None;
            }
            value = first;
        }
        u64::try_from(values.interval(value).single()?).ok()
    }

    /// Returns whether an address repeats in a loop: it is computed from constants and its value in the iteration before, and is not a multiple of the number of
    /// iterations.
    pub(super) fn is_repeating(&self, stmt: StmtId, address: Operand) -> bool {
        let (Some(ssa), Some(values)) = (self.ssa, self.values) else {
            return false;
        };
        let Some(value) = self.read(stmt, address) else {
            return false;
        };
        let (form, _) = values.without_wrap(&values.affine(value), values.width(value));
        let mut changing = 0;
        for term in form.terms() {
            match values.symbol(term.symbol) {
                Some(AffineSymbol::Value { value, .. })
                    if !is_computed_once(ssa, self.analysis, value) =>
                {
                    if !self.is_cyclic(ssa, value) {
                        return false;
                    }
                    changing += 1;
                }
                Some(AffineSymbol::Product(..)) => {
                    let changes = |symbol| match values.symbol(symbol) {
                        Some(AffineSymbol::Value { value, .. }) => {
                            !is_computed_once(ssa, self.analysis, value)
                        }
                        symbol => matches!(symbol, Some(AffineSymbol::Counter(_))),
                    };
                    if values.factors(term.symbol).into_iter().any(changes) {
                        return false;
                    }
                }
                Some(AffineSymbol::Counter(_)) => return false,
                _ => {}
            }
        }
        changing > 0
    }

    /// Returns whether a value is computed from constants and its value in the iteration before.
    fn is_cyclic(&self, ssa: &Ssa, value: ValueId) -> bool {
        let (mut visited, mut worklist, mut has_phi) = (Vec::new(), vec![value], false);
        while let Some(value) = worklist.pop() {
            if visited.contains(&value) {
                continue;
            }
            visited.push(value);
            if visited.len() > MAX_VALUES {
                return false;
            }
            match ssa.value(value) {
                Value::Phi { .. } => {
                    has_phi = true;
                    worklist.extend(ssa.args(value));
                }
                Value::Def { old, .. } => {
                    let Some((stmt, facts)) = self.definition(value) else {
                        return false;
                    };
                    let parameter = Space::State(StateSpace::Param);
                    if facts.memory().any(|a| a.space != parameter) || facts.has_side_effects() {
                        return false;
                    }
                    worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
                    worklist.extend(old);
                }
                Value::Entry { .. } => {}
                Value::Unknown => return false,
            }
        }
        has_phi
    }

    /// The value that a statement reads from a register.
    fn read(&self, stmt: StmtId, operand: Operand) -> Option<ValueId> {
        let Operand::Reg(register) = operand else {
            return None;
        };
        let variable = self.analysis.variables().of(register.into()).first();
        self.ssa?.read(stmt, variable)
    }

    /// The conditions of the function, for asking whether they depend on the thread.
    pub(super) fn conditions(&self) -> Option<Conditions<'_>> {
        Some(Conditions {
            facts: self.facts,
            analysis: self.analysis,
            ssa: self.ssa?,
            values: self.values?,
        })
    }

    /// Returns whether an operand has 64 bits, as the descriptor of a matrix in shared memory has.
    pub(super) fn has_64_bits(&self, stmt: StmtId, operand: Operand) -> bool {
        let value = self.read(stmt, operand).zip(self.values);
        value.is_some_and(|(value, values)| values.width(value) == 64)
    }

    /// The number of bytes of an access, if an operand states it.
    fn size(&self, stmt: StmtId, access: &MemoryAccess) -> Option<u64> {
        self.constant(stmt, access.size?)
    }

    /// The symbols of affine forms; `None` without an SSA form.
    fn symbols(&self) -> Option<Symbols<'a>> {
        Some(Symbols {
            values: self.values?,
            ssa: self.ssa?,
            analysis: self.analysis,
        })
    }

    /// The location of an access to a variable that an operand names.
    fn variable_location(&mut self, operand: Operand, offset: Option<i64>) -> Option<Location> {
        let root = Root::of(operand)?;
        Some(Location {
            root: Some(self.number(root)),
            base: Some(Base::Root),
            address: self.variable_address(operand, offset),
        })
    }

    /// The address of a variable that an operand names.
    fn variable_address(&mut self, operand: Operand, offset: Option<i64>) -> Option<Address> {
        let symbols = self.symbols()?;
        let form = Affine::symbol(symbols.values.address_symbol(operand)?);
        Some(self.addresses.of(&symbols, &form, 64, offset?))
    }

    /// The location of an access through a register.
    fn register_location(
        &mut self,
        stmt: StmtId,
        register: ptx_ir::RegId,
        offset: Option<i64>,
    ) -> Option<Location> {
        let symbols = self.symbols()?;
        let (ssa, values) = (symbols.ssa, symbols.values);
        let variable = self.analysis.variables().of(register.into()).first();
        let value = ssa.read(stmt, variable)?;
        let pointer = pointer(values, value);
        let base = is_computed_once(ssa, self.analysis, value).then_some(Base::Value(value));
        let (form, bits) = (values.affine(value), values.width(value));
        let swizzled = self.swizzled(value).map(|value| values.affine(value));
        let address = offset.map(|offset| {
            let mut address = self.addresses.of(&symbols, &form, bits, offset);
            if let Some(form) = swizzled {
                let (form, _) = values.without_wrap(&form, bits);
                address.start = form.constant().wrapping_add(offset);
            }
            address
        });
        let root = match self.origin(value) {
            Origin::One(root) => Some(root),
            Origin::None => pointer.map(|root| self.number(root)),
            Origin::Several => None,
        };
        Some(Location {
            root,
            base,
            address,
        })
    }

    /// The address from which a value is computed by a bitwise operation with a small number.
    fn swizzled(&self, value: ValueId) -> Option<ValueId> {
        let (ssa, values) = (self.ssa.as_ref()?, self.values.as_ref()?);
        let (stmt, facts) = self.definition(value)?;
        let [first, second] = ssa.uses(stmt) else {
            return None;
        };
        if !facts.section().starts_with(BITWISE) || facts.guard().is_some() {
            return None;
        }
        let is_small = |value| values.interval(value).max <= MAX_SWIZZLE;
        match [is_small(first.value), is_small(second.value)] {
            [true, false] => Some(second.value),
            [false, true] => Some(first.value),
            _ => None,
        }
    }

    /// Returns whether the path of execution depends on a value.
    pub(super) fn is_decisive(&self, value: ValueId) -> bool {
        self.decisive
            .as_ref()
            .is_none_or(|values| values.contains(value.as_u32()))
    }

    /// The values that a statement writes.
    pub(super) fn definitions(&self, stmt: StmtId) -> Vec<ValueId> {
        self.ssa
            .map_or_else(Vec::new, |ssa| ssa.defs(stmt).collect())
    }

    /// The value of the guard of a statement.
    pub(super) fn guard_value(&self, stmt: StmtId, variable: VariableId) -> Option<ValueId> {
        self.ssa?.read(stmt, variable)
    }

    /// Returns whether each CTA of the launches has one thread.
    pub(super) fn is_one_thread(&self) -> bool {
        let threads = self.values.and_then(|values| values.bounds().threads);
        threads.is_some_and(|threads| threads.iter().product::<u32>() == 1)
    }
}

/// The values on which the path of execution depends: guards, the values from which they are computed, and values that leave the function in a way that is not
/// followed.
fn decisive(facts: FunctionFacts<'_>, cfg: &Cfg, ssa: &Ssa) -> BitSet {
    let mut decisive = BitSet::new(ssa.len() as u32);
    let mut worklist: Vec<ValueId> = Vec::new();
    for (_, block) in cfg.blocks() {
        for (stmt, inst) in block.insts(facts.body()) {
            let inst = facts.inst(inst);
            if inst.guard().is_some() || !is_followed(inst) {
                worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
            }
        }
    }
    while let Some(value) = worklist.pop() {
        if !decisive.insert(value.as_u32()) {
            continue;
        }
        match ssa.value(value) {
            Value::Def { stmt, old, .. } => {
                worklist.extend(ssa.uses(stmt).iter().map(|read| read.value));
                worklist.extend(old);
            }
            Value::Phi { .. } => worklist.extend(ssa.args(value)),
            _ => {}
        }
    }
    decisive
}

/// Returns whether an instruction only computes its results, or stores values where other threads see them.
fn is_followed(facts: Facts<'_>) -> bool {
    let mut stores = facts.memory().filter(|access| access.writes()).peekable();
    if stores.peek().is_none() {
        return !facts.has_side_effects() && !may_do_anything(facts);
    }
    stores.all(
        |store| matches!(store.space, Space::State(space) if space.base() == StateSpace::Global),
    )
}

/// The parameter of a kernel whose pointer is the only pointer in an address.
fn pointer(values: &Values, value: ValueId) -> Option<Root> {
    if !values.is_kernel() {
        return None;
    }
    let form = values.affine(value);
    let mut pointers = form.terms().iter().filter_map(|term| {
        let AffineSymbol::Parameter {
            variable,
            offset,
            bytes: 8,
        } = values.symbol(term.symbol)?
        else {
            return None;
        };
        (term.factor == 1).then_some(Root::Pointer(variable, offset))
    });
    let pointer = pointers.next()?;
    pointers.next().is_none().then_some(pointer)
}
