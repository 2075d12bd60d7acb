//! The call graph of a module.
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

/// A target that a call may reach.
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
    #[doc(hidden)]
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
    /// The target.
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
    /// The calls of each function.
    functions: Vec<FunctionCalls>,
    /// The functions whose addresses are taken outside of functions.
    address_taken_by_module: Vec<FuncId>,
    /// All functions whose addresses are taken, in the order of their numbers.
    address_taken: Vec<FuncId>,
    /// The graph: a node for each function, by its number, and one node for any function whose address is taken.
    graph: Digraph,
    /// The strongly connected components of `graph`.
    components: Components,
    /// The function that each symbol names.
    symbol_functions: Vec<Option<FuncId>>,
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
        let mut graph = Self::without_calls(facts.module());
        graph.find_calls(facts, facts.module().definitions().map(|(id, ..)| id));
        graph.connect();
        graph
    }

    /// The functions of a module, with no calls so far: for [`update`](Self::update).
    #[doc(hidden)]
    #[must_use]
    pub fn without_calls(module: &Module) -> Self {
        let symbol_functions = functions_of_symbols(module);
        let mut address_taken_by_module = Vec::new();
        add_address_taken(
            &symbol_functions,
            module.pool().operands(),
            &mut address_taken_by_module,
        );
        let functions = vec![FunctionCalls::default(); module.functions().len()];
        let graph = Digraph::from_valid(functions.len() as u32 + 1, functions.len() as u32, &[]);
        let mut calls = Self {
            functions,
            address_taken_by_module,
            address_taken: Vec::new(),
            components: Components::new(&graph),
            graph,
            symbol_functions,
        };
        calls.connect();
        calls
    }

    /// Finds the calls of functions again, after their bodies changed. Returns whether these functions now call other functions than before, or take
    /// other addresses.
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
    #[doc(hidden)]
    pub fn update(&mut self, facts: &ModuleFacts<'_>, changed: &[FuncId]) -> bool {
        let links: Vec<(Vec<Target>, Vec<FuncId>)> = changed
            .iter()
            .filter_map(|id| self.functions.get(id.index()))
            .map(|calls| (calls.targets.clone(), calls.address_taken.clone()))
            .collect();
        self.find_calls(facts, changed.iter().copied());
        let is_unchanged = changed
            .iter()
            .filter_map(|id| self.functions.get(id.index()))
            .zip(&links)
            .all(|(calls, (targets, address_taken))| {
                calls.targets == *targets && calls.address_taken == *address_taken
            });
        if !is_unchanged {
            self.connect();
        }
        !is_unchanged
    }

    /// Finds the calls in functions. [`connect`](Self::connect) has to follow.
    fn find_calls(&mut self, facts: &ModuleFacts<'_>, functions: impl IntoIterator<Item = FuncId>) {
        for id in functions {
            if let (Some(function), Some(calls)) =
                (facts.function(id), self.functions.get_mut(id.index()))
            {
                *calls = Finder::new(&self.symbol_functions).calls(function);
            }
        }
    }

    /// Builds the graph from the calls of all functions.
    fn connect(&mut self) {
        self.address_taken = self
            .functions
            .iter()
            .flat_map(|calls| &calls.address_taken)
            .chain(&self.address_taken_by_module)
            .copied()
            .collect();
        self.address_taken.sort_unstable();
        self.address_taken.dedup();
        let any_address_taken = self.functions.len() as u32;
        let mut edges: Vec<(u32, u32)> = Vec::new();
        for (caller, calls) in (0..).zip(&self.functions) {
            edges.extend(calls.targets.iter().map(|target| match target {
                Target::Function(id) => (caller, id.as_u32()),
                Target::AddressTaken => (caller, any_address_taken),
            }));
        }
        let functions = self.address_taken.iter();
        edges.extend(functions.map(|function| (any_address_taken, function.as_u32())));
        self.graph = Digraph::from_valid(any_address_taken + 1, any_address_taken, &edges);
        self.components = Components::new(&self.graph);
    }

    /// The function that a symbol names: its definition if it has one, else its first declaration.
    #[doc(hidden)]
    #[must_use]
    pub fn function(&self, symbol: SymbolId) -> Option<FuncId> {
        self.symbol_functions.get(symbol.index()).copied().flatten()
    }

    /// Every call, by caller and in order. A call through a list of functions is contained once for each of them. Where many calls share a
    /// long list, there are many more of these than call instructions; see [`CallGraph::targets`].
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        let functions = (0..self.functions.len() as u32).map(FuncId::new);
        functions.flat_map(|id| self.calls_of(id))
    }

    /// The calls in a function, in order, as in [`CallGraph::calls`].
    pub fn calls_of(&self, function: FuncId) -> impl Iterator<Item = Call> + '_ {
        let calls = self.functions.get(function.index()).into_iter();
        calls.flat_map(move |calls| {
            calls.sites.iter().flat_map(move |site| {
                let targets = calls.targets.get(site.targets.clone());
                targets.unwrap_or_default().iter().map(move |&to| Call {
                    from: function,
                    inst: site.inst,
                    to,
                })
            })
        })
    }

    /// The targets that the calls in a function may reach, each once.
    #[must_use]
    pub fn targets(&self, function: FuncId) -> Vec<Target> {
        let mut nodes = self.graph.successors(function.as_u32()).to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
            .into_iter()
            .map(|node| {
                if node == self.graph.entry() {
                    Target::AddressTaken
                } else {
                    Target::Function(FuncId::new(node))
                }
            })
            .collect()
    }

    /// The functions of this module that a function may call, each once and in order.
    #[must_use]
    pub fn callees(&self, function: FuncId) -> Vec<FuncId> {
        let successors = self.graph.successors(function.as_u32());
        self.functions_of_nodes(successors, |node| self.graph.successors(node))
    }

    /// The functions of this module that may call a function, each once and in order.
    #[must_use]
    pub fn callers(&self, function: FuncId) -> Vec<FuncId> {
        let predecessors = self.graph.predecessors(function.as_u32());
        self.functions_of_nodes(predecessors, |node| self.graph.predecessors(node))
    }

    /// Returns whether a function of this module may call a function: whether it has [`callers`](Self::callers).
    #[must_use]
    pub fn is_called(&self, function: FuncId) -> bool {
        let any_address_taken = self.graph.entry();
        self.graph
            .predecessors(function.as_u32())
            .iter()
            .any(|node| {
                *node != any_address_taken || !self.graph.predecessors(any_address_taken).is_empty()
            })
    }

    /// The functions that call a function by its name or through a list of names.
    #[doc(hidden)]
    pub fn direct_callers(&self, function: FuncId) -> impl Iterator<Item = FuncId> + '_ {
        let any_address_taken = self.graph.entry();
        self.graph
            .predecessors(function.as_u32())
            .iter()
            .filter(move |node| **node != any_address_taken)
            .map(|node| FuncId::new(*node))
    }

    /// The functions that may run if `roots` are called: the roots and everything that they may call, in order.
    pub fn reachable(&self, roots: impl IntoIterator<Item = FuncId>) -> Vec<FuncId> {
        self.closure(roots, |node| self.graph.successors(node))
    }

    /// The functions `targets` and the functions that may call them, directly or through others, in order.
    pub fn reaching(&self, targets: impl IntoIterator<Item = FuncId>) -> Vec<FuncId> {
        self.closure(targets, |node| self.graph.predecessors(node))
    }

    /// The functions that are reached from `roots` if `next` returns the neighbors of a node.
    fn closure<'a>(
        &'a self,
        roots: impl IntoIterator<Item = FuncId>,
        next: impl Fn(u32) -> &'a [u32],
    ) -> Vec<FuncId> {
        let mut seen = vec![false; self.graph.node_count() as usize];
        let mut worklist: Vec<u32> = roots.into_iter().map(FuncId::as_u32).collect();
        let mut reached = Vec::new();
        while let Some(node) = worklist.pop() {
            if let Some(seen @ false) = seen.get_mut(node as usize) {
                *seen = true;
                reached.push(node);
                worklist.extend(next(node));
            }
        }
        reached.sort_unstable();
        self.functions_of_nodes(&reached, |_| &[])
    }

    /// The functions whose address is taken, in order.
    #[must_use]
    pub fn address_taken(&self) -> &[FuncId] {
        &self.address_taken
    }

    /// Returns whether the address of a function is taken.
    #[must_use]
    pub fn is_address_taken(&self, function: FuncId) -> bool {
        self.address_taken.binary_search(&function).is_ok()
    }

    /// Returns whether a function may call an unknown function: any function whose address is taken, and any of another module.
    #[must_use]
    pub fn may_call_unknown(&self, function: FuncId) -> bool {
        let successors = self.graph.successors(function.as_u32());
        successors.contains(&self.graph.entry())
    }

    /// The component of a function: functions that may call each other, directly or not, are in one component. Calls
    /// between components lead to greater numbers.
    #[doc(hidden)]
    #[must_use]
    pub fn component(&self, function: FuncId) -> Option<ComponentId> {
        self.components.of(function.as_u32())
    }

    /// Returns whether a function may call itself, directly or through others.
    #[must_use]
    pub fn is_recursive(&self, function: FuncId) -> bool {
        let node = function.as_u32();
        let component = self.components.of(node);
        component.is_some_and(|c| self.components.members(c).len() > 1)
            || self.graph.successors(node).contains(&node)
    }

    /// The functions of nodes, in order. The node for any function whose address is taken is replaced by its `neighbors`.
    fn functions_of_nodes<'a>(
        &'a self,
        nodes: &[u32],
        neighbors: impl Fn(u32) -> &'a [u32],
    ) -> Vec<FuncId> {
        let any_address_taken = self.graph.entry();
        let indirect: &[u32] = if nodes.contains(&any_address_taken) {
            neighbors(any_address_taken)
        } else {
            &[]
        };
        let mut functions: Vec<FuncId> = nodes
            .iter()
            .chain(indirect)
            .filter(|node| **node != any_address_taken)
            .map(|node| FuncId::new(*node))
            .collect();
        functions.sort_unstable();
        functions.dedup();
        functions
    }
}

/// A call instruction and the positions of its targets. Calls through one list share their targets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Site {
    inst: InstId,
    targets: Range<usize>,
}

/// The calls of a function, and the functions whose addresses it takes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct FunctionCalls {
    /// The call instructions, in the order of the text.
    sites: Vec<Site>,
    targets: Vec<Target>,
    address_taken: Vec<FuncId>,
}

/// Adds the functions whose names are among operands.
fn add_address_taken(
    symbol_functions: &[Option<FuncId>],
    operands: &[Operand],
    address_taken: &mut Vec<FuncId>,
) {
    for operand in operands {
        if let Operand::Symbol(symbol) = operand {
            address_taken.extend(symbol_functions.get(symbol.index()).copied().flatten());
        }
    }
}

/// Finds the calls and addresses of a function.
struct Finder<'a> {
    /// The function that each symbol names.
    symbol_functions: &'a [Option<FuncId>],
    /// The targets of the lists of functions, by their labels.
    lists: BTreeMap<LabelId, Range<usize>>,
    calls: FunctionCalls,
}

impl<'a> Finder<'a> {
    fn new(symbol_functions: &'a [Option<FuncId>]) -> Self {
        Self {
            symbol_functions,
            lists: BTreeMap::new(),
            calls: FunctionCalls::default(),
        }
    }

    fn calls(mut self, facts: FunctionFacts<'_>) -> FunctionCalls {
        let body = facts.body();
        for (inst, _) in body.insts() {
            self.add_instruction(facts, inst);
        }
        for opaque in body.opaques().values() {
            add_address_taken(
                self.symbol_functions,
                body.pool().slice(opaque.mentions),
                &mut self.calls.address_taken,
            );
        }
        let mut declarators = body.declarations().all_declarators().iter();
        if declarators.any(|d| d.init != Operand::Absent) {
            add_address_taken(
                self.symbol_functions,
                body.pool().operands(),
                &mut self.calls.address_taken,
            );
        }
        self.calls.address_taken.sort_unstable();
        self.calls.address_taken.dedup();
        self.calls
    }

    fn add_instruction(&mut self, facts: FunctionFacts<'_>, inst: InstId) {
        let mut callee = None;
        let targets = match facts.inst(inst).callees() {
            None => None,
            Some(Callees::Function(symbol)) => {
                callee = Some(symbol);
                Some(self.add_targets(&[Operand::Symbol(symbol)]))
            }
            Some(Callees::List(list)) => Some(self.list_targets(list)),
            Some(_) => Some(self.add_targets(&[Operand::Absent])),
        };
        let sites = &mut self.calls.sites;
        sites.extend(targets.map(|targets| Site { inst, targets }));
        visit_symbols(facts.body(), inst, callee, |symbol| {
            let function = self.symbol_functions.get(symbol.index());
            self.calls.address_taken.extend(function.copied().flatten());
        });
    }

    /// The targets of a list of functions.
    fn list_targets(&mut self, list: TargetList<'_>) -> Range<usize> {
        if let Some(targets) = self.lists.get(&list.label) {
            return targets.clone();
        }
        let targets = self.add_targets(list.operands);
        self.lists.insert(list.label, targets.clone());
        targets
    }

    fn add_targets(&mut self, operands: &[Operand]) -> Range<usize> {
        let start = self.calls.targets.len();
        for operand in operands {
            let function = match operand {
                Operand::Symbol(symbol) => {
                    let function = self.symbol_functions.get(symbol.index());
                    function.copied().flatten()
                }
                _ => None,
            };
            let target = function.map_or(Target::AddressTaken, Target::Function);
            self.calls.targets.push(target);
        }
        start..self.calls.targets.len()
    }
}

/// The function that each symbol names.
fn functions_of_symbols(module: &Module) -> Vec<Option<FuncId>> {
    let mut functions: Vec<Option<FuncId>> = module
        .symbols()
        .values()
        .map(|symbol| match symbol.kind {
            SymbolKind::Function(id) => Some(id),
            _ => None,
        })
        .collect();
    for (id, function, _) in module.definitions() {
        if let Some(symbol) = function.symbol
            && let Some(named_function) = functions.get_mut(symbol.index())
        {
            *named_function = Some(id);
        }
    }
    functions
}

/// Calls `visit` with the symbols in the operands of an instruction, without `callee`, the function that it calls by name.
fn visit_symbols(
    body: &Body,
    inst: InstId,
    callee: Option<SymbolId>,
    mut visit: impl FnMut(SymbolId),
) {
    let mut visit_operand = |operand: &Operand| match *operand {
        Operand::Symbol(symbol) => visit(symbol),
        Operand::Address(id) => {
            if let Some(Operand::Symbol(symbol)) = body.pool().address(id).map(|a| a.base) {
                visit(symbol);
            }
        }
        _ => {}
    };
    for operand in body.operands(inst) {
        match *operand {
            Operand::Symbol(symbol) if Some(symbol) == callee => {}
            Operand::List(id) | Operand::Vector(id) | Operand::Bracket(id) => {
                body.pool().list(id).iter().for_each(&mut visit_operand);
            }
            _ => visit_operand(operand),
        }
    }
}
