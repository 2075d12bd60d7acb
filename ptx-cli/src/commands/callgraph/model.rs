//! The functions of a module and what they call.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use ptx_analysis::calls::{CallGraph, Target};
use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::{
    FuncId, FunctionKind, Interface, LabelId, LineIndex, Module, Operand, PrototypeId, Statement,
    SymbolId,
};
use serde::Serialize;

use ptx_report::SCHEMA;
use ptx_report::demangle::demangle;
use ptx_report::labels::Labeled;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Graph<'a> {
    schema: u32,
    pub(super) file: &'a str,
    /// All declarations of a function and its definition are one.
    pub(super) functions: Vec<Node<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Node<'a> {
    pub(super) name: &'a str,
    pub(super) demangled: Option<String>,
    pub(super) kind: Labeled<FunctionKind>,
    pub(super) defined: bool,
    pub(super) calls: Vec<&'a str>,
    /// The functions that are called by name, with the numbers of calls.
    #[serde(skip)]
    pub(super) direct: Vec<(&'a str, u32)>,
    pub(super) indirect: bool,
    pub(super) indirect_calls: Vec<IndirectCalls<'a>>,
    pub(super) address_taken: bool,
    pub(super) recursive: bool,
    /// The functions that call each other are in one component.
    #[serde(skip)]
    pub(super) component: Option<u32>,
}

/// How many candidates of an indirect call are listed: many calls may have the same ones.
const MOST_CANDIDATES: usize = 100;

/// The calls of a function through addresses with one list or one prototype.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct IndirectCalls<'a> {
    /// `list`, `prototype` or `unknown`.
    pub(super) by: &'static str,
    /// The label of the list or the prototype.
    pub(super) label: Option<&'a str>,
    /// Of the first call.
    pub(super) line: u32,
    pub(super) count: u32,
    /// The number of functions of this module that may be called. With a prototype, those whose address is taken and that have
    /// as many parameters and results.
    pub(super) candidate_count: usize,
    /// The first of them.
    pub(super) candidates: Vec<&'a str>,
}

impl<'a> Graph<'a> {
    pub(super) fn new(file: &'a str, module: &'a Module) -> Self {
        let facts = ModuleFacts::new(module);
        let calls = CallGraph::new(&facts);
        let lines = LineIndex::new(module.source());
        let name = |id: FuncId| {
            let function = module.functions().get(id);
            function.map_or("", |f| module.name(f.name))
        };
        let taken = calls.address_taken().iter();
        let taken: Vec<(FuncId, &str)> = taken.map(|&id| (id, name(id))).collect();
        let mut by_shape = HashMap::new();
        let mut functions = Vec::new();
        let mut known: HashSet<&str> = module.definitions().map(|(id, ..)| name(id)).collect();
        for (id, function) in module.functions().iter() {
            if function.body.is_none() && !known.insert(name(id)) {
                continue;
            }
            let mut all = Vec::new();
            let mut indirect = false;
            for target in calls.targets(id) {
                match target {
                    Target::Function(to) => all.push(name(to)),
                    _ => indirect = true,
                }
            }
            all.sort_unstable();
            all.dedup();
            let mut finder = Finder {
                module,
                lines: &lines,
                taken: &taken,
                by_shape: &mut by_shape,
            };
            let (direct, indirect_calls) = finder.calls(&facts, id);
            functions.push(Node {
                name: name(id),
                demangled: demangle(name(id)),
                kind: Labeled(function.kind),
                defined: function.body.is_some(),
                calls: all,
                direct,
                indirect,
                indirect_calls,
                address_taken: calls.is_address_taken(id),
                recursive: calls.is_recursive(id),
                component: calls.component(id).map(|c| c.as_u32()),
            });
        }
        Self {
            schema: SCHEMA,
            file,
            functions,
        }
    }
}

/// How an address is called.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Through {
    List(LabelId),
    Prototype(PrototypeId),
    Unknown,
}

/// Finds the calls of functions.
struct Finder<'f, 'a> {
    module: &'a Module,
    lines: &'f LineIndex,
    /// The functions whose address is taken.
    taken: &'f [(FuncId, &'a str)],
    /// Those with a number of results and of parameters.
    by_shape: &'f mut HashMap<(u32, u32), Candidates<'a>>,
}

impl<'a> Finder<'_, 'a> {
    /// The functions that are called by name with the numbers of calls, and the indirect calls, both in the order of the
    /// first call.
    fn calls(
        &mut self,
        facts: &ModuleFacts<'a>,
        id: FuncId,
    ) -> (Vec<(&'a str, u32)>, Vec<IndirectCalls<'a>>) {
        let (mut direct, mut indirect) = (Counts::default(), Counts::default());
        let (Some(facts), Some(body)) = (facts.function(id), self.module.body(id)) else {
            return Default::default();
        };
        let mut prototypes = HashMap::new();
        let mut label = None;
        for (stmt, statement) in body.statements() {
            match statement {
                Statement::Label(id) => label = Some(id),
                Statement::Prototype(id) => {
                    prototypes.insert(id, label);
                }
                Statement::Inst(inst) => match facts.inst(inst).callees() {
                    None => {}
                    Some(Callees::Function(symbol)) => {
                        direct.add(symbol, || self.symbol(symbol).unwrap_or_default());
                    }
                    Some(callees) => indirect.add(through(&callees), || (stmt, callees)),
                },
                _ => {}
            }
        }
        let mut found = Vec::new();
        for ((stmt, callees), count) in indirect.all {
            let name = |label: Option<LabelId>| {
                let label = body.labels().get(label?)?;
                Some(self.module.name(label.name))
            };
            let (by, label, (candidate_count, candidates)) = match callees {
                Callees::List(list) => {
                    ("list", name(Some(list.label)), self.symbols(list.operands))
                }
                Callees::Prototype(id) => {
                    let label = prototypes.get(&id).copied().flatten();
                    let interface = body.prototypes().get(id).map(|p| p.interface);
                    let label = name(label);
                    let candidates = interface.map(|i| self.with_shape(i));
                    ("prototype", label, candidates.unwrap_or_default())
                }
                _ => {
                    let all = self.taken.iter().map(|(_, name)| *name);
                    ("unknown", None, (all.len(), first(all)))
                }
            };
            found.push(IndirectCalls {
                by,
                label,
                line: self.lines.position(body.source_span(stmt).start).line,
                count,
                candidate_count,
                candidates,
            });
        }
        (direct.all, found)
    }

    fn symbol(&self, symbol: SymbolId) -> Option<&'a str> {
        let symbol = self.module.symbols().get(symbol)?;
        Some(self.module.name(symbol.name))
    }

    fn symbols(&self, operands: &[Operand]) -> Candidates<'a> {
        let names = operands.iter().filter_map(|operand| match operand {
            Operand::Symbol(symbol) => self.symbol(*symbol),
            _ => None,
        });
        let names: Vec<&str> = names.collect();
        (names.len(), first(names.into_iter()))
    }

    /// The functions whose address is taken with as many results and parameters.
    fn with_shape(&mut self, interface: Interface) -> Candidates<'a> {
        let shape = |i: Interface| (i.returns.len, i.params.len);
        let (module, taken) = (self.module, self.taken);
        let known = self.by_shape.entry(shape(interface)).or_insert_with(|| {
            let has_shape = |id: FuncId| {
                let function = module.functions().get(id);
                function.is_some_and(|f| shape(f.interface) == shape(interface))
            };
            let all = taken.iter().filter(|(id, _)| has_shape(*id));
            let names: Vec<&str> = all.map(|(_, name)| *name).collect();
            (names.len(), first(names.into_iter()))
        });
        known.clone()
    }
}

/// Their number, and the first ones.
type Candidates<'a> = (usize, Vec<&'a str>);

fn first<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    names.take(MOST_CANDIDATES).collect()
}

fn through(callees: &Callees<'_>) -> Through {
    match callees {
        Callees::List(list) => Through::List(list.label),
        Callees::Prototype(id) => Through::Prototype(*id),
        _ => Through::Unknown,
    }
}

/// Different things with their numbers, in the order in which they were added.
struct Counts<K, T> {
    index: HashMap<K, usize>,
    all: Vec<(T, u32)>,
}

impl<K, T> Default for Counts<K, T> {
    fn default() -> Self {
        Self {
            index: HashMap::new(),
            all: Vec::new(),
        }
    }
}

impl<K: Eq + Hash, T> Counts<K, T> {
    fn add(&mut self, key: K, value: impl FnOnce() -> T) {
        let at = *self.index.entry(key).or_insert(self.all.len());
        match self.all.get_mut(at) {
            Some((_, count)) => *count += 1,
            None => self.all.push((value(), 1)),
        }
    }
}
