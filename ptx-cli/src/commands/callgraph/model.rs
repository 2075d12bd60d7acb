//! The functions of a module with their calls.

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

/// The largest number of candidates of an indirect call that are listed. Many calls may have the same ones.
const MAX_CANDIDATES: usize = 100;

/// The calls of a function through addresses with one list or one prototype.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct IndirectCalls<'a> {
    /// `list`, `prototype` or `unknown`.
    pub(super) by: &'static str,
    /// The label of the list or the prototype.
    pub(super) label: Option<&'a str>,
    /// The line of the first call.
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
        let address_taken: Vec<(FuncId, &str)> = calls
            .address_taken()
            .iter()
            .map(|&id| (id, name(id)))
            .collect();
        let mut candidates_by_shape = HashMap::new();
        let mut functions = Vec::new();
        let mut listed: HashSet<&str> = module.definitions().map(|(id, ..)| name(id)).collect();
        for (id, function) in module.functions().iter() {
            if function.body.is_none() && !listed.insert(name(id)) {
                continue;
            }
            let mut callees = Vec::new();
            let mut indirect = false;
            for target in calls.targets(id) {
                match target {
                    Target::Function(callee) => callees.push(name(callee)),
                    _ => indirect = true,
                }
            }
            callees.sort_unstable();
            callees.dedup();
            let mut finder = Finder {
                module,
                lines: &lines,
                address_taken: &address_taken,
                candidates_by_shape: &mut candidates_by_shape,
            };
            let function_calls = finder.calls(&facts, id);
            functions.push(Node {
                name: name(id),
                demangled: demangle(name(id)),
                kind: Labeled(function.kind),
                defined: function.body.is_some(),
                calls: callees,
                direct: function_calls.direct,
                indirect,
                indirect_calls: function_calls.indirect,
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

/// The kind of an indirect call. Calls of one kind are counted together.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum IndirectKind {
    List(LabelId),
    Prototype(PrototypeId),
    Unknown,
}

impl IndirectKind {
    fn of(callees: &Callees<'_>) -> Self {
        match callees {
            Callees::List(list) => Self::List(list.label),
            Callees::Prototype(id) => Self::Prototype(*id),
            _ => Self::Unknown,
        }
    }
}

/// The numbers of results and parameters.
type Shape = (u32, u32);

fn shape(interface: &Interface) -> Shape {
    (interface.returns.len, interface.params.len)
}

/// The calls in a function, in the order of the first call.
#[derive(Default)]
struct FunctionCalls<'a> {
    /// The functions that are called by name, with the numbers of calls.
    direct: Vec<(&'a str, u32)>,
    indirect: Vec<IndirectCalls<'a>>,
}

/// The functions that an indirect call may call.
#[derive(Clone, Default)]
struct Candidates<'a> {
    count: usize,
    /// The first names.
    names: Vec<&'a str>,
}

impl<'a> Candidates<'a> {
    fn new(mut names: Vec<&'a str>) -> Self {
        let count = names.len();
        names.truncate(MAX_CANDIDATES);
        Self { count, names }
    }
}

/// Finds the calls in functions.
struct Finder<'f, 'a> {
    module: &'a Module,
    lines: &'f LineIndex,
    /// The functions whose address is taken.
    address_taken: &'f [(FuncId, &'a str)],
    /// The functions of each shape whose address is taken.
    candidates_by_shape: &'f mut HashMap<Shape, Candidates<'a>>,
}

impl<'a> Finder<'_, 'a> {
    fn calls(&mut self, facts: &ModuleFacts<'a>, id: FuncId) -> FunctionCalls<'a> {
        let (mut direct, mut indirect) = (Counts::default(), Counts::default());
        let (Some(facts), Some(body)) = (facts.function(id), self.module.body(id)) else {
            return FunctionCalls::default();
        };
        let mut prototype_labels = HashMap::new();
        let mut label = None;
        for (stmt, statement) in body.statements() {
            match statement {
                Statement::Label(id) => label = Some(id),
                Statement::Prototype(id) => {
                    prototype_labels.insert(id, label);
                }
                Statement::Inst(inst) => match facts.inst(inst).callees() {
                    None => {}
                    Some(Callees::Function(symbol)) => {
                        direct.add(symbol, || self.symbol(symbol).unwrap_or_default());
                    }
                    Some(callees) => {
                        indirect.add(IndirectKind::of(&callees), || (stmt, callees));
                    }
                },
                _ => {}
            }
        }
        let label_name = |label: LabelId| {
            let label = body.labels().get(label)?;
            Some(self.module.name(label.name))
        };
        let mut indirect_calls = Vec::new();
        for ((stmt, callees), count) in indirect.values {
            let (by, label, candidates) = match callees {
                Callees::List(list) => {
                    ("list", label_name(list.label), self.symbols(list.operands))
                }
                Callees::Prototype(id) => {
                    let label = prototype_labels.get(&id).copied().flatten();
                    let candidates = match body.prototypes().get(id) {
                        Some(prototype) => self.functions_with_shape(shape(&prototype.interface)),
                        None => Candidates::default(),
                    };
                    ("prototype", label.and_then(label_name), candidates)
                }
                _ => {
                    let names = self.address_taken.iter().map(|(_, name)| *name).collect();
                    ("unknown", None, Candidates::new(names))
                }
            };
            indirect_calls.push(IndirectCalls {
                by,
                label,
                line: self.lines.position(body.source_span(stmt).start).line,
                count,
                candidate_count: candidates.count,
                candidates: candidates.names,
            });
        }
        FunctionCalls {
            direct: direct.values,
            indirect: indirect_calls,
        }
    }

    fn symbol(&self, symbol: SymbolId) -> Option<&'a str> {
        let symbol = self.module.symbols().get(symbol)?;
        Some(self.module.name(symbol.name))
    }

    fn symbols(&self, operands: &[Operand]) -> Candidates<'a> {
        let names = operands
            .iter()
            .filter_map(|operand| match operand {
                Operand::Symbol(symbol) => self.symbol(*symbol),
                _ => None,
            })
            .collect();
        Candidates::new(names)
    }

    /// The functions with this shape whose address is taken.
    fn functions_with_shape(&mut self, wanted_shape: Shape) -> Candidates<'a> {
        let (module, address_taken) = (self.module, self.address_taken);
        self.candidates_by_shape
            .entry(wanted_shape)
            .or_insert_with(|| {
                let names = address_taken
                    .iter()
                    .filter(|(id, _)| {
                        let function = module.functions().get(*id);
                        function.is_some_and(|f| shape(&f.interface) == wanted_shape)
                    })
                    .map(|(_, name)| *name)
                    .collect();
                Candidates::new(names)
            })
            .clone()
    }
}
/// Values with the number of times that their keys were added, in the order of the first addition.
struct Counts<K, T> {
    indices: HashMap<K, usize>,
    values: Vec<(T, u32)>,
}

impl<K, T> Default for Counts<K, T> {
    fn default() -> Self {
        Self {
            indices: HashMap::new(),
            values: Vec::new(),
        }
    }
}

impl<K: Eq + Hash, T> Counts<K, T> {
    /// Counts a key. `value` is called for a new key.
    fn add(&mut self, key: K, value: impl FnOnce() -> T) {
        let index = *self.indices.entry(key).or_insert(self.values.len());
        match self.values.get_mut(index) {
            Some((_, count)) => *count += 1,
            None => self.values.push((value(), 1)),
        }
    }
}
