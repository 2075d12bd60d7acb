//! Which functions call which.
//!
//! A call through an address reaches the functions of its list, if it names one. With a prototype, or without either, it
//! may reach every function of the module whose address is taken, and functions of other modules.
//!
//! Cost: linear in instructions and calls.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::facts::{Callees, FunctionFacts, ModuleFacts, TargetList};
use ptx_ir::{Body, EntityId, FuncId, InstId, LabelId, Module, Operand, SymbolId, SymbolKind};

use crate::graph::{ComponentId, Components, Digraph, Graph};

/// What a call may reach.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Target {
    /// This function: its definition if it has one, else its first declaration.
    Function(FuncId),
    /// Any function whose address is taken, and any function of another module.
    AddressTaken,
}

impl Target {
    /// The function, if it is known.
    #[must_use]
    pub const fn function(self) -> Option<FuncId> {
        match self {
            Self::Function(id) => Some(id),
            Self::AddressTaken => None,
        }
    }
}

/// A call instruction with one of the targets it may reach.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The caller.
    pub from: FuncId,
    /// The instruction.
    pub inst: InstId,
    /// What it may reach.
    pub to: Target,
}

/// The calls of a module.
///
/// ```
/// use ptx_dataflow::calls::CallGraph;
/// use ptx_ir::facts::ModuleFacts;
///
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n\
///     .func leaf() { ret; }\n.func unused() { ret; }\n.entry k() { call leaf; ret; }\n";
/// let module = ptx_parse::parse(text).module;
/// let calls = CallGraph::new(&ModuleFacts::new(&module));
/// let (k, leaf) = (module.function("k").unwrap(), module.function("leaf").unwrap());
/// assert_eq!(calls.callees(k), [leaf]);
/// assert_eq!(calls.callers(leaf), [k]);
/// assert_eq!(calls.reachable([k]), [leaf, k]);
/// assert_eq!(calls.reaching([leaf]), [leaf, k]);
/// assert!(calls.is_called(leaf) && !calls.is_called(k));
/// assert!(!calls.is_recursive(k));
/// ```
#[derive(Clone, Debug)]
pub struct CallGraph {
    /// By function.
    functions: Vec<FunctionCalls>,
    /// The functions whose addresses are taken outside of functions.
    taken_by_module: Vec<FuncId>,
    /// In order.
    address_taken: Vec<FuncId>,
    /// Functions by number, and after them one node for all whose address is taken.
    graph: Digraph,
    components: Components,
    /// The function of each symbol.
    of_symbol: Vec<Option<FuncId>>,
}

/// The calls of a module without functions.
impl Default for CallGraph {
    fn default() -> Self {
        Self::without_calls(&Module::default())
    }
}

impl CallGraph {
    /// Finds every call of a module.
    #[must_use]
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        let mut new = Self::without_calls(facts.module());
        new.find(facts, facts.module().definitions().map(|(id, ..)| id));
        new.connect();
        new
    }

    /// The functions of a module, with no calls so far: for [`update`](Self::update).
    #[must_use]
    pub fn without_calls(module: &Module) -> Self {
        let of_symbol = functions_of_symbols(module);
        let mut taken_by_module = Vec::new();
        take(&of_symbol, module.pool().operands(), &mut taken_by_module);
        let functions = vec![FunctionCalls::default(); module.functions().len()];
        let graph = Digraph::from_valid(functions.len() as u32 + 1, functions.len() as u32, &[]);
        let mut new = Self {
            functions,
            taken_by_module,
            address_taken: Vec::new(),
            components: Components::new(&graph),
            graph,
            of_symbol,
        };
        new.connect();
        new
    }

    /// Finds the calls of some functions again, after their bodies changed. Gives whether functions now call others than before, or take other addresses.
    ///
    /// ```
    /// use ptx_dataflow::calls::CallGraph;
    /// use ptx_ir::facts::ModuleFacts;
    ///
    /// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.func leaf() { ret; }\n.entry k() { call leaf; ret; }\n";
    /// let module = ptx_parse::parse(text).module;
    /// let (k, leaf) = (module.function("k").unwrap(), module.function("leaf").unwrap());
    /// let mut calls = CallGraph::without_calls(&module);
    /// assert!(calls.update(&ModuleFacts::new(&module), &[k]));
    /// assert_eq!(calls.callees(k), [leaf]);
    /// ```
    pub fn update(&mut self, facts: &ModuleFacts<'_>, changed: &[FuncId]) -> bool {
        let links = |of: &Self| -> Vec<(Vec<Target>, Vec<FuncId>)> {
            let all = changed.iter().filter_map(|id| of.functions.get(id.index()));
            all.map(|f| (f.targets.clone(), f.taken.clone())).collect()
        };
        let before = links(self);
        self.find(facts, changed.iter().copied());
        let is_changed = links(self) != before;
        if is_changed {
            self.connect();
        }
        is_changed
    }

    /// Looks for the calls in functions.
    fn find(&mut self, facts: &ModuleFacts<'_>, functions: impl IntoIterator<Item = FuncId>) {
        for id in functions {
            if let (Some(of), Some(entry)) =
                (facts.function(id), self.functions.get_mut(id.index()))
            {
                *entry = Finder::new(&self.of_symbol).function(of);
            }
        }
    }

    /// Makes the graph of what was found.
    fn connect(&mut self) {
        let taken = self.functions.iter().flat_map(|f| &f.taken);
        self.address_taken = taken.chain(&self.taken_by_module).copied().collect();
        self.address_taken.sort_unstable();
        self.address_taken.dedup();
        let count = self.functions.len();
        let edges = (0..).zip(&self.functions).flat_map(|(from, of)| {
            let node = move |to: &Target| match to {
                Target::Function(id) => (from, id.as_u32()),
                Target::AddressTaken => (from, count as u32),
            };
            of.targets.iter().map(node)
        });
        let edges: Vec<(u32, u32)> = edges.collect();
        self.graph = graph(count, &edges, &self.address_taken);
        self.components = Components::new(&self.graph);
    }

    /// The function that a symbol names: its definition if it has one, else its first declaration.
    #[must_use]
    pub fn function(&self, symbol: SymbolId) -> Option<FuncId> {
        self.of_symbol.get(symbol.index()).copied().flatten()
    }

    /// Every call, by caller and in order; one through a list of functions once for each of them. Where many calls share a
    /// long list, this is much longer than the text; see [`CallGraph::targets`].
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        let functions = (0..self.functions.len() as u32).map(FuncId::new);
        functions.flat_map(|id| self.calls_of(id))
    }

    /// The calls in a function, in order, as in [`CallGraph::calls`].
    pub fn calls_of(&self, function: FuncId) -> impl Iterator<Item = Call> + '_ {
        let of = self.functions.get(function.index()).into_iter();
        of.flat_map(move |of| {
            of.sites.iter().flat_map(move |site| {
                let targets = of.targets.get(site.targets.clone()).unwrap_or_default();
                targets.iter().map(move |&to| Call {
                    from: function,
                    inst: site.inst,
                    to,
                })
            })
        })
    }

    /// What the calls in a function may reach, each once.
    #[must_use]
    pub fn targets(&self, function: FuncId) -> Vec<Target> {
        let mut nodes = self.graph.successors(function.as_u32()).to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        let target = |node| match node == self.graph.entry() {
            true => Target::AddressTaken,
            false => Target::Function(FuncId::new(node)),
        };
        nodes.into_iter().map(target).collect()
    }

    /// The functions of this module that a function may call, each once and in order.
    #[must_use]
    pub fn callees(&self, function: FuncId) -> Vec<FuncId> {
        let direct = self.graph.successors(function.as_u32());
        self.functions(direct, |any| self.graph.successors(any))
    }

    /// The functions of this module that may call a function, each once and in order.
    #[must_use]
    pub fn callers(&self, function: FuncId) -> Vec<FuncId> {
        let direct = self.graph.predecessors(function.as_u32());
        self.functions(direct, |any| self.graph.predecessors(any))
    }

    /// Whether a function of this module may call a function: whether it has [`callers`](Self::callers).
    #[must_use]
    pub fn is_called(&self, function: FuncId) -> bool {
        let any = self.graph.entry();
        let is_function = |node: &u32| *node != any;
        let mut direct = self.graph.predecessors(function.as_u32()).iter();
        direct.any(|node| is_function(node) || !self.graph.predecessors(any).is_empty())
    }

    /// The functions that call a function by its name or through a list of names.
    #[doc(hidden)]
    pub fn direct_callers(&self, function: FuncId) -> impl Iterator<Item = FuncId> + '_ {
        let any = self.graph.entry();
        let direct = self.graph.predecessors(function.as_u32()).iter();
        direct.filter(move |n| **n != any).map(|n| FuncId::new(*n))
    }

    /// The functions that run if these may be called: they and everything they may call, in order.
    pub fn reachable(&self, roots: impl IntoIterator<Item = FuncId>) -> Vec<FuncId> {
        self.closure(roots, |node| self.graph.successors(node))
    }

    /// These functions and those that may call them, directly or through others, in order.
    pub fn reaching(&self, targets: impl IntoIterator<Item = FuncId>) -> Vec<FuncId> {
        self.closure(targets, |node| self.graph.predecessors(node))
    }

    fn closure<'a>(
        &'a self,
        roots: impl IntoIterator<Item = FuncId>,
        next: impl Fn(u32) -> &'a [u32],
    ) -> Vec<FuncId> {
        let mut seen = vec![false; self.graph.node_count() as usize];
        let mut work: Vec<u32> = roots.into_iter().map(FuncId::as_u32).collect();
        let mut found = Vec::new();
        while let Some(node) = work.pop() {
            if let Some(seen @ false) = seen.get_mut(node as usize) {
                *seen = true;
                found.push(node);
                work.extend(next(node));
            }
        }
        found.sort_unstable();
        self.functions(&found, |_| &[])
    }

    /// The functions whose address is taken, in order.
    #[must_use]
    pub fn address_taken(&self) -> &[FuncId] {
        &self.address_taken
    }

    /// Whether the address of a function is taken.
    #[must_use]
    pub fn is_address_taken(&self, function: FuncId) -> bool {
        self.address_taken.binary_search(&function).is_ok()
    }

    /// Whether a function may call what is unknown: any function whose address is taken, and any of another module.
    #[must_use]
    pub fn may_call_unknown(&self, function: FuncId) -> bool {
        let successors = self.graph.successors(function.as_u32());
        successors.contains(&self.graph.entry())
    }

    /// The component of a function: functions that may call each other, directly or not, are in one component. Calls
    /// between components lead to greater numbers.
    #[must_use]
    pub fn component(&self, function: FuncId) -> Option<ComponentId> {
        self.components.of(function.as_u32())
    }

    /// Whether a function may call itself, directly or through others.
    #[must_use]
    pub fn is_recursive(&self, function: FuncId) -> bool {
        let node = function.as_u32();
        let component = self.components.of(node);
        component.is_some_and(|c| self.components.members(c).len() > 1)
            || self.graph.successors(node).contains(&node)
    }

    /// Nodes as functions, with `any` giving the functions for the node of all whose address is taken.
    fn functions<'a>(&'a self, nodes: &[u32], any: impl Fn(u32) -> &'a [u32]) -> Vec<FuncId> {
        let unknown = self.graph.entry();
        let others: &[u32] = match nodes.contains(&unknown) {
            true => any(unknown),
            false => &[],
        };
        let all = nodes.iter().chain(others).filter(|&&n| n != unknown);
        let mut functions: Vec<FuncId> = all.map(|&n| FuncId::new(n)).collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }
}

/// A call instruction and the positions of its targets; calls through one list share them.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Site {
    inst: InstId,
    targets: Range<usize>,
}

/// What a function calls, and the functions whose addresses it takes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct FunctionCalls {
    /// In order.
    sites: Vec<Site>,
    targets: Vec<Target>,
    taken: Vec<FuncId>,
}

/// Takes the addresses of the functions among some operands.
fn take(of_symbol: &[Option<FuncId>], operands: &[Operand], taken: &mut Vec<FuncId>) {
    for operand in operands {
        if let Operand::Symbol(symbol) = operand {
            taken.extend(of_symbol.get(symbol.index()).copied().flatten());
        }
    }
}

/// Finds the calls and addresses of a function.
struct Finder<'a> {
    /// The function of each symbol.
    of_symbol: &'a [Option<FuncId>],
    /// The targets of the lists of the function.
    lists: BTreeMap<LabelId, Range<usize>>,
    found: FunctionCalls,
}

impl<'a> Finder<'a> {
    fn new(of_symbol: &'a [Option<FuncId>]) -> Self {
        Self {
            of_symbol,
            lists: BTreeMap::new(),
            found: FunctionCalls::default(),
        }
    }

    fn function(mut self, facts: FunctionFacts<'_>) -> FunctionCalls {
        let body = facts.body();
        for (inst, _) in body.insts() {
            self.inst(facts, inst);
        }
        for opaque in body.opaques().values() {
            let mentions = body.pool().slice(opaque.mentions);
            take(self.of_symbol, mentions, &mut self.found.taken);
        }
        let mut declarators = body.declarations().all_declarators().iter();
        if declarators.any(|d| d.init != Operand::Absent) {
            take(
                self.of_symbol,
                body.pool().operands(),
                &mut self.found.taken,
            );
        }
        self.found.taken.sort_unstable();
        self.found.taken.dedup();
        self.found
    }

    fn inst(&mut self, facts: FunctionFacts<'_>, inst: InstId) {
        let mut direct = None;
        let targets = match facts.inst(inst).callees() {
            None => None,
            Some(Callees::Function(symbol)) => {
                direct = Some(symbol);
                Some(self.add_targets(&[Operand::Symbol(symbol)]))
            }
            Some(Callees::List(list)) => Some(self.list(list)),
            Some(_) => Some(self.add_targets(&[Operand::Absent])),
        };
        let sites = &mut self.found.sites;
        sites.extend(targets.map(|targets| Site { inst, targets }));
        let of_symbol = self.of_symbol;
        let function = |s: SymbolId| of_symbol.get(s.index()).copied().flatten();
        let taken = &mut self.found.taken;
        mentioned(facts.body(), inst, direct, |symbol| {
            taken.extend(function(symbol))
        });
    }

    /// The targets of a list of functions.
    fn list(&mut self, list: TargetList<'_>) -> Range<usize> {
        if let Some(targets) = self.lists.get(&list.label) {
            return targets.clone();
        }
        let targets = self.add_targets(list.operands);
        self.lists.insert(list.label, targets.clone());
        targets
    }

    fn add_targets(&mut self, operands: &[Operand]) -> Range<usize> {
        let start = self.found.targets.len();
        for operand in operands {
            let function = match operand {
                Operand::Symbol(symbol) => {
                    let known = self.of_symbol.get(symbol.index());
                    known.copied().flatten()
                }
                _ => None,
            };
            let target = function.map_or(Target::AddressTaken, Target::Function);
            self.found.targets.push(target);
        }
        start..self.found.targets.len()
    }
}

/// The function that each symbol names.
fn functions_of_symbols(module: &Module) -> Vec<Option<FuncId>> {
    let of = module.symbols().values().map(|s| match s.kind {
        SymbolKind::Function(id) => Some(id),
        _ => None,
    });
    let mut functions: Vec<Option<FuncId>> = of.collect();
    for (id, function, _) in module.definitions() {
        let entry = function.symbol.and_then(|s| functions.get_mut(s.index()));
        if let Some(entry) = entry {
            *entry = Some(id);
        }
    }
    functions
}

/// Calls `each` with the symbols in the operands of an instruction, apart from that of the function it calls.
fn mentioned(body: &Body, inst: InstId, direct: Option<SymbolId>, mut each: impl FnMut(SymbolId)) {
    let mut look = |operand: &Operand| match *operand {
        Operand::Symbol(symbol) => each(symbol),
        Operand::Address(id) => {
            if let Some(Operand::Symbol(symbol)) = body.pool().address(id).map(|a| a.base) {
                each(symbol);
            }
        }
        _ => {}
    };
    for operand in body.operands(inst) {
        match *operand {
            Operand::Symbol(symbol) if Some(symbol) == direct => {}
            Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) => {
                body.pool().list(id).iter().for_each(&mut look);
            }
            _ => look(operand),
        }
    }
}

/// The graph of all functions. The node after the last function is any function whose address is taken.
fn graph(functions: usize, calls: &[(u32, u32)], address_taken: &[FuncId]) -> Digraph {
    let any = functions as u32;
    let taken = address_taken.iter().map(|f| (any, f.as_u32()));
    let edges: Vec<(u32, u32)> = calls.iter().copied().chain(taken).collect();
    Digraph::from_valid(any + 1, any, &edges)
}
