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
    /// The offsets of the part in the text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// The function of the original statement.
    pub(super) function: FuncId,
    pub(super) stmt: StmtId,
    /// The index of the call through which the function is inlined; `None` in the kernel.
    pub(super) frame: Option<usize>,
}

/// A call that is inlined.
#[derive(Copy, Clone, Debug)]
pub(super) struct Frame {
    /// The function that contains the call.
    pub(super) function: FuncId,
    pub(super) stmt: StmtId,
    /// The index of the call through which `function` is inlined; `None` in the kernel.
    pub(super) outer: Option<usize>,
}

/// Writes the statements of a kernel, with inlined functions.
pub(super) struct Writer<'p, 'm> {
    plans: &'p Plans<'m>,
    pub(super) text: Vec<u8>,
    pub(super) pieces: Vec<Piece>,
    pub(super) frames: Vec<Frame>,
    /// The functions of which at least one call was inlined.
    pub(super) inlined: BTreeSet<FuncId>,
    /// The functions of which at least one call was not inlined.
    pub(super) called: BTreeSet<FuncId>,
    /// The number in the last new name.
    last_number: u32,
    /// The number of statements that may still be inlined.
    remaining_statements: usize,
    /// The number of functions that are inlined into each other at the current statement.
    depth: usize,
}

/// A copy of a function that is being written.
struct FunctionCopy {
    function: FuncId,
    /// The index of the call through which it is inlined; `None` for the kernel.
    frame: Option<usize>,
    /// The names of the registers that replace `.param` variables.
    registers: BTreeMap<VarId, String>,
    /// The number of the label at the end; `None` for the kernel.
    end_label: Option<u32>,
}

impl<'p, 'm> Writer<'p, 'm> {
    pub(super) fn new(plans: &'p Plans<'m>) -> Self {
        Self {
            plans,
            text: Vec::new(),
            pieces: Vec::new(),
            frames: Vec::new(),
            inlined: BTreeSet::new(),
            called: BTreeSet::new(),
            last_number: 0,
            remaining_statements: MOST_STATEMENTS,
            depth: 0,
        }
    }

    /// Writes the statements of a kernel, without the braces.
    pub(super) fn write_kernel(&mut self, function: FuncId) {
        self.write_function(&FunctionCopy {
            function,
            frame: None,
            registers: BTreeMap::new(),
            end_label: None,
        });
    }

    /// Returns a number for a new name.
    fn next_number(&mut self) -> u32 {
        self.last_number += 1;
        self.last_number
    }

    /// Writes a text that replaces a statement, or a part of this text.
    fn write(&mut self, copy: &FunctionCopy, stmt: StmtId, text: &[u8]) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(text);
        self.pieces.push(Piece {
            start,
            end: self.text.len() as u32,
            function: copy.function,
            stmt,
            frame: copy.frame,
        });
        self.text.push(b'\n');
    }

    /// Writes the statements of a function. The recursion through [`write_call`](Self::write_call) is limited by `MOST_DEPTH`.
    fn write_function(&mut self, copy: &FunctionCopy) {
        let plans = self.plans;
        let module = plans.facts.module();
        let (Some(plan), Some(body)) = (plans.plan(copy.function), module.body(copy.function))
        else {
            return;
        };
        let mut registers = copy.registers.clone();
        // The registers for the results and arguments of each inlined call.
        let mut call_registers: BTreeMap<StmtId, Vec<String>> = BTreeMap::new();
        for (stmt, call) in &plan.calls {
            let Some(names) = self.declare_call_registers(copy, *stmt, call) else {
                self.called.insert(call.callee);
                continue;
            };
            for (slot, name) in call.results.iter().chain(&call.arguments).zip(&names) {
                if let Slot::Memory(variable) = slot {
                    registers.insert(*variable, name.clone());
                }
            }
            call_registers.insert(*stmt, names);
        }
        let last = body.statements().next_back().map(|(stmt, _)| stmt);
        for (stmt, statement) in body.statements() {
            let replaced_access = plan
                .moves
                .get(&stmt)
                .and_then(|access| Some((access, registers.get(&access.variable)?)));
            if let (Some(names), Some(call)) = (call_registers.get(&stmt), plan.calls.get(&stmt)) {
                self.write_call(copy, stmt, call, names);
            } else if let Some((access, register)) = replaced_access {
                self.write(copy, stmt, register_move(access, register).as_bytes());
            } else if let Some(text) = self.branch_to_end(copy, stmt, statement) {
                if last != Some(stmt) || !text.starts_with("bra") {
                    self.write(copy, stmt, text.as_bytes());
                }
            } else {
                let text = ptx_print::verbatim_statement(module, body, stmt);
                self.write(copy, stmt, &text);
            }
        }
    }

    /// Declares registers for the results and arguments of a call, and returns their names. Returns `None` if the call is not inlined.
    fn declare_call_registers(
        &mut self,
        copy: &FunctionCopy,
        stmt: StmtId,
        call: &Call,
    ) -> Option<Vec<String>> {
        let plans = self.plans;
        let statement_count = plans
            .facts
            .module()
            .body(call.callee)
            .map_or(0, |body| body.statement_table().len());
        let sizes = plans.value_sizes(copy.function, call)?;
        if statement_count > self.remaining_statements || self.depth >= MOST_DEPTH {
            return None;
        }
        self.remaining_statements -= statement_count;
        let names: Vec<String> = sizes
            .iter()
            .map(|_| format!("$value_{}", self.next_number()))
            .collect();
        for (name, bytes) in names.iter().zip(&sizes) {
            let declaration = format!(".reg .b{} {name};", 8 * bytes);
            self.write(copy, stmt, declaration.as_bytes());
        }
        Some(names)
    }

    /// Returns the branch to the end that replaces a return from an inlined function; `None` for other statements.
    fn branch_to_end(
        &self,
        copy: &FunctionCopy,
        stmt: StmtId,
        statement: Statement,
    ) -> Option<String> {
        let (end_label, Statement::Inst(inst)) = (copy.end_label?, statement) else {
            return None;
        };
        let module = self.plans.facts.module();
        let body = module.body(copy.function)?;
        let facts = self.plans.facts.function(copy.function)?.inst(inst);
        if facts.flow() != Flow::Return {
            return None;
        }
        let text = ptx_print::verbatim_statement(module, body, stmt);
        let text = core::str::from_utf8(&text).ok()?;
        let mnemonic = module.signature(body.inst(inst)?.sig).text();
        let (guard, _) = text.rsplit_once(mnemonic)?;
        Some(format!("{guard}bra $end_{end_label};"))
    }

    /// Writes the statements of the called function instead of a call. `names` are the registers for its results and arguments.
    ///
    /// ```text
    /// arguments are copied to `names` { parameters are declared
    ///     statements of the function
    /// $end_1: results are copied to `names` } `names` are copied to the registers of the call
    /// ```
    fn write_call(&mut self, copy: &FunctionCopy, stmt: StmtId, call: &Call, names: &[String]) {
        let plans = self.plans;
        let Some(interface) = plans
            .plan(call.callee)
            .and_then(|plan| plan.interface.as_ref())
        else {
            return;
        };
        let (result_names, argument_names) = names.split_at(call.results.len().min(names.len()));
        self.inlined.insert(call.callee);
        let end_label = self.next_number();
        let mut callee = FunctionCopy {
            function: call.callee,
            frame: Some(self.frames.len()),
            registers: BTreeMap::new(),
            end_label: Some(end_label),
        };
        self.frames.push(Frame {
            function: copy.function,
            stmt,
            outer: copy.frame,
        });
        let (mut arguments, mut parameters) = (String::new(), String::new());
        let (mut callee_results, mut call_results) = (String::new(), String::new());
        for (slot, name) in call.arguments.iter().zip(argument_names) {
            if let Slot::Register { text, bytes } = slot {
                arguments += &copy_instruction(name, text, *bytes);
            }
        }
        for (slot, name) in interface.parameters.iter().zip(argument_names) {
            match slot {
                Slot::Memory(variable) => drop(callee.registers.insert(*variable, name.clone())),
                Slot::Register { text, bytes } => {
                    let copy = copy_instruction(text, name, *bytes);
                    parameters += &format!(".reg .b{} {text}; {copy}", 8 * bytes);
                }
            }
        }
        for (slot, name) in interface.results.iter().zip(result_names) {
            match slot {
                Slot::Memory(variable) => drop(callee.registers.insert(*variable, name.clone())),
                Slot::Register { text, bytes } => {
                    parameters += &format!(".reg .b{} {text};", 8 * bytes);
                    callee_results += &copy_instruction(name, text, *bytes);
                }
            }
        }
        for (slot, name) in call.results.iter().zip(result_names) {
            if let Slot::Register { text, bytes } = slot {
                call_results += &copy_instruction(text, name, *bytes);
            }
        }
        self.write(
            copy,
            stmt,
            format!("{arguments} {{ {parameters}").as_bytes(),
        );
        self.depth += 1;
        self.write_function(&callee);
        self.depth -= 1;
        let end = format!("$end_{end_label}: {callee_results} }} {call_results}");
        self.write(copy, stmt, end.as_bytes());
    }
}

/// Returns the text of an instruction that copies a register.
fn copy_instruction(to: &str, from: &str, bytes: u64) -> String {
    let bits = if bytes == 0 { 32 } else { 8 * bytes };
    format!("mov.b{bits} {to}, {from}; ")
}

/// Returns the copy of a register that replaces a load or a store of a parameter.
fn register_move(access: &Move, register: &str) -> String {
    let value = access.value.as_str();
    let (to, from) = if access.is_store {
        (register, value)
    } else {
        (value, register)
    };
    let copy = copy_instruction(to, from, access.bytes);
    format!("{} {copy}", access.guard)
}
