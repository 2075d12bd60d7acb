//! Writes kernels with inlined functions.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::facts::Flow;
use ptx_ir::{FuncId, Statement, StmtId, VarId};

use super::plan::{Call, Move, Plans, Slot};

/// The maximum number of statements that are written for a kernel.
const MOST_STATEMENTS: usize = 1 << 12;
/// The maximum number of functions that are inlined into each other.
const MOST_DEPTH: usize = 64;

/// A part of the new text and its original statement.
#[derive(Copy, Clone, Debug)]
pub(super) struct Piece {
    /// Where it begins.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) function: FuncId,
    pub(super) stmt: StmtId,
    /// The call into which it is inlined.
    pub(super) frame: Option<usize>,
}

/// A call that is inlined.
#[derive(Copy, Clone, Debug)]
pub(super) struct Frame {
    pub(super) function: FuncId,
    pub(super) stmt: StmtId,
    pub(super) outer: Option<usize>,
}

/// The new text.
pub(super) struct Writer<'p, 'm> {
    plans: &'p Plans<'m>,
    pub(super) text: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    pub(super) frames: Vec<Frame>,
    /// The functions whose calls were inlined, and those with remaining calls.
    pub(super) replaced: BTreeSet<FuncId>,
    pub(super) remaining: BTreeSet<FuncId>,
    /// The number of the next name.
    next: u32,
    left: usize,
    /// How many functions are inlined into each other at this place.
    depth: usize,
}

/// A function that is written: in which registers its parameters are, and which labels and registers are new.
struct Place {
    function: FuncId,
    frame: Option<usize>,
    held: BTreeMap<VarId, String>,
    /// The number of the label at the end, if it is inlined.
    end: Option<u32>,
}

impl<'p, 'm> Writer<'p, 'm> {
    pub(super) fn new(plans: &'p Plans<'m>) -> Self {
        Self {
            plans,
            text: Vec::new(),
            pieces: Vec::new(),
            frames: Vec::new(),
            replaced: BTreeSet::new(),
            remaining: BTreeSet::new(),
            next: 0,
            left: 0,
            depth: 0,
        }
    }

    /// Writes what is between the braces of a kernel.
    pub(super) fn kernel(&mut self, function: FuncId) {
        self.left = MOST_STATEMENTS;
        self.function(&Place {
            function,
            frame: None,
            held: BTreeMap::new(),
            end: None,
        });
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Writes a text instead of a statement, or of a part of it.
    fn put(&mut self, place: &Place, stmt: StmtId, text: &[u8]) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        self.pieces.push(Piece {
            start,
            end: self.text.len() as u32,
            function: place.function,
            stmt,
            frame: place.frame,
        });
        self.text.push(b'\n');
    }

    fn function(&mut self, place: &Place) {
        let plans = self.plans;
        let module = plans.facts.module();
        let (Some(plan), Some(body)) = (plans.of(place.function), module.body(place.function))
        else {
            return;
        };
        let mut held = place.held.clone();
        let mut values: BTreeMap<StmtId, Vec<String>> = BTreeMap::new();
        for (stmt, call) in &plan.calls {
            let count = module
                .body(call.callee)
                .map_or(0, |b| b.statement_table().len());
            let bytes = plans
                .values(place.function, call)
                .filter(|_| count <= self.left && self.depth < MOST_DEPTH);
            let Some(bytes) = bytes else {
                self.remaining.insert(call.callee);
                continue;
            };
            self.left -= count;
            let names: Vec<String> = bytes
                .iter()
                .map(|_| format!("$value_{}", self.number()))
                .collect();
            for (name, bytes) in names.iter().zip(&bytes) {
                self.put(
                    place,
                    *stmt,
                    format!(".reg .b{} {name};", 8 * bytes).as_bytes(),
                );
            }
            for (slot, name) in call.results.iter().chain(&call.arguments).zip(&names) {
                if let Slot::Memory(variable) = slot {
                    held.insert(*variable, name.clone());
                }
            }
            values.insert(*stmt, names);
        }
        let last = body.statements().next_back().map(|(stmt, _)| stmt);
        for (stmt, statement) in body.statements() {
            if let (Some(names), Some(call)) = (values.get(&stmt), plan.calls.get(&stmt)) {
                self.call(place, stmt, call, names);
            } else if let Some((of, name)) = plan
                .moves
                .get(&stmt)
                .and_then(|m| Some((m, held.get(&m.variable)?)))
            {
                self.put(place, stmt, moved(of, name).as_bytes());
            } else if let Some(text) = self.returned(place, stmt, statement) {
                if last != Some(stmt) || !text.starts_with("bra") {
                    self.put(place, stmt, text.as_bytes());
                }
            } else {
                self.put(
                    place,
                    stmt,
                    &ptx_print::verbatim_statement(module, body, stmt),
                );
            }
        }
    }

    /// A branch to the end instead of a return from an inlined function.
    fn returned(&self, place: &Place, stmt: StmtId, statement: Statement) -> Option<String> {
        let (end, Statement::Inst(inst)) = (place.end?, statement) else {
            return None;
        };
        let module = self.plans.facts.module();
        let body = module.body(place.function)?;
        let facts = self.plans.facts.function(place.function)?.inst(inst);
        if facts.flow() != Flow::Return {
            return None;
        }
        let text = ptx_print::verbatim_statement(module, body, stmt);
        let text = core::str::from_utf8(&text).ok()?;
        let mnemonic = module.signature(body.inst(inst)?.sig).text();
        let (guard, _) = text.rsplit_once(mnemonic)?;
        Some(format!("{guard}bra $end_{end};"))
    }

    /// Writes the statements of a function instead of a call.
    fn call(&mut self, place: &Place, stmt: StmtId, call: &Call, names: &[String]) {
        let plans = self.plans;
        let interface = plans.of(call.callee).and_then(|p| p.interface.as_ref());
        let Some((returns, params)) = interface else {
            return;
        };
        let (results, arguments) = names.split_at(call.results.len().min(names.len()));
        self.replaced.insert(call.callee);
        let end = self.number();
        let mut inner = Place {
            function: call.callee,
            frame: Some(self.frames.len()),
            held: BTreeMap::new(),
            end: Some(end),
        };
        self.frames.push(Frame {
            function: place.function,
            stmt,
            outer: place.frame,
        });
        let (mut before, mut start, mut after, mut stop) =
            (String::new(), String::new(), String::new(), String::new());
        for (slot, name) in call.arguments.iter().zip(arguments) {
            if let Slot::Register { text, bytes } = slot {
                before += &copied(name, text, *bytes);
            }
        }
        for (slot, name) in params.iter().zip(arguments) {
            match slot {
                Slot::Memory(variable) => drop(inner.held.insert(*variable, name.clone())),
                Slot::Register { text, bytes } => {
                    start += &format!(
                        ".reg .b{} {text}; {}",
                        8 * bytes,
                        copied(text, name, *bytes)
                    );
                }
            }
        }
        for (slot, name) in returns.iter().zip(results) {
            match slot {
                Slot::Memory(variable) => drop(inner.held.insert(*variable, name.clone())),
                Slot::Register { text, bytes } => {
                    start += &format!(".reg .b{} {text};", 8 * bytes);
                    stop += &copied(name, text, *bytes);
                }
            }
        }
        for (slot, name) in call.results.iter().zip(results) {
            if let Slot::Register { text, bytes } = slot {
                after += &copied(text, name, *bytes);
            }
        }
        self.put(place, stmt, format!("{before} {{ {start}").as_bytes());
        self.depth += 1;
        self.function(&inner);
        self.depth -= 1;
        self.put(
            place,
            stmt,
            format!("$end_{end}: {stop} }} {after}").as_bytes(),
        );
    }
}

/// The text of a copy of a register.
fn copied(to: &str, from: &str, bytes: u64) -> String {
    let bits = if bytes == 0 { 32 } else { 8 * bytes };
    format!("mov.b{bits} {to}, {from}; ")
}

/// A copy of a register instead of a load or a store of a parameter.
fn moved(of: &Move, name: &str) -> String {
    let (to, from) = match of.is_store {
        true => (name, of.value.as_str()),
        false => (of.value.as_str(), name),
    };
    format!("{} {}", of.guard, copied(to, from, of.bytes))
}
