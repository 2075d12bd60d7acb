//! Which functions call which.
//!
//! A call through an address reaches what its list of functions says; with a prototype or nothing it may reach every
//! function whose address is taken in the module, and functions of other modules. Cost: linear in instructions and
//! edges, where the functions with taken addresses stand for one edge.

use alloc::vec::Vec;

use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::{Body, EntityId, FuncId, InstId, Module, Operand, OperandPool, SymbolId, SymbolKind};

use crate::graph::{Components, Digraph, Graph};

/// What a call may reach.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// This function: its definition if it has one, else its first declaration.
    Function(FuncId),
    /// Any function whose address is taken, and any of another module.
    Taken,
}

/// A call instruction with one of the functions it may reach.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The caller.
    pub from: FuncId,
    /// The instruction.
    pub inst: InstId,
    /// What it may reach.
    pub to: Target,
}

/// The calls of a module.
#[derive(Clone, Debug)]
pub struct CallGraph {
    /// Every call, by caller and in order; one with a list of functions several times.
    pub calls: Vec<Call>,
    /// The functions whose address is taken, in order.
    pub taken: Vec<FuncId>,
    /// For each function the number of its group: those that call each other in a circle have the same. What a group
    /// calls has a greater number.
    pub groups: Vec<u32>,
    /// Whether each function may call itself, on its own or through others.
    pub recursive: Vec<bool>,
}

impl CallGraph {
    /// Looks at every call of a module.
    pub fn new(facts: &ModuleFacts<'_>) -> Self {
        let module = facts.module();
        let homes = homes(module);
        let home = |symbol: SymbolId| homes.get(symbol.index()).copied().flatten();
        let mut taken: Vec<FuncId> = Vec::new();
        let functions = |pool: &OperandPool| {
            let symbols = pool.operands().iter().filter_map(|o| match o {
                Operand::Symbol(symbol) => home(*symbol),
                _ => None,
            });
            symbols.collect::<Vec<_>>()
        };
        taken.extend(functions(module.pool()));
        let mut calls = Vec::new();
        for (from, _, body) in module.definitions() {
            let Some(function) = facts.function(from) else {
                continue;
            };
            for (inst, _) in body.insts() {
                let of_inst = function.inst(inst);
                let callees = of_inst.callees();
                let mut call = |to| calls.push(Call { from, inst, to });
                let mut direct = None;
                match callees {
                    None => {}
                    Some(Callees::Function(symbol)) => {
                        direct = Some(symbol);
                        match home(symbol) {
                            Some(id) => call(Target::Function(id)),
                            None => call(Target::Taken),
                        }
                    }
                    Some(Callees::List(list)) => {
                        for operand in list {
                            match operand {
                                Operand::Symbol(symbol) => match home(*symbol) {
                                    Some(id) => call(Target::Function(id)),
                                    None => call(Target::Taken),
                                },
                                _ => call(Target::Taken),
                            }
                        }
                    }
                    Some(_) => call(Target::Taken),
                }
                mentioned(body, inst, direct, |symbol| taken.extend(home(symbol)));
            }
            for opaque in body.opaques().values() {
                let symbols = body.pool().slice(opaque.mentions).iter();
                taken.extend(symbols.filter_map(|o| match o {
                    Operand::Symbol(symbol) => home(*symbol),
                    _ => None,
                }));
            }
            for declarator in &body.declarations().declarators {
                if declarator.init != Operand::Absent {
                    taken.extend(functions(body.pool()));
                    break;
                }
            }
        }
        taken.sort_unstable_by_key(|f| f.as_u32());
        taken.dedup();
        let (groups, recursive) = groups(module.functions().len(), &calls, &taken);
        Self {
            calls,
            taken,
            groups,
            recursive,
        }
    }
}

/// The function that each symbol stands for.
fn homes(module: &Module) -> Vec<Option<FuncId>> {
    let of = module.symbols().values().map(|s| match s.kind {
        SymbolKind::Function(id) => Some(id),
        _ => None,
    });
    let mut homes: Vec<Option<FuncId>> = of.collect();
    for (id, function, _) in module.definitions() {
        let entry = function.symbol.and_then(|s| homes.get_mut(s.index()));
        if let Some(entry) = entry {
            *entry = Some(id);
        }
    }
    homes
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

/// The groups, from the strongly connected components. The node behind the last function stands for all whose address
/// is taken.
fn groups(functions: usize, calls: &[Call], taken: &[FuncId]) -> (Vec<u32>, Vec<bool>) {
    let any = functions as u32;
    let target = |to: Target| match to {
        Target::Function(id) => id.as_u32(),
        Target::Taken => any,
    };
    let pairs = calls.iter().map(|c| (c.from.as_u32(), target(c.to)));
    let pairs = pairs.chain(taken.iter().map(|f| (any, f.as_u32())));
    let edges: Vec<(u32, u32)> = pairs.collect();
    let graph = Digraph::from_valid(any + 1, any, &edges);
    let components = Components::new(&graph);
    let group = |node: u32| components.of(node).unwrap_or(0);
    let recursive = |node: u32| {
        components.members(group(node)).len() > 1 || graph.successors(node).contains(&node)
    };
    (
        (0..any).map(group).collect(),
        (0..any).map(recursive).collect(),
    )
}
