//! Facts about an instruction: the guard, memory accesses, source lines and names of operands.

use std::sync::Arc;

use ptx_report::demangle::demangle;
use ptx_report::labels;
use ptx_report::source_frames::MAX_FRAMES;
use ptxkit::analysis::source_lines::SourceLines;
use ptxkit::ir::facts::MemoryAccess as IrAccess;
use ptxkit::ir::{Body, EntityId, Module as IrModule, Operand as IrOperand, Statement};
use ptxkit::isa::Modifier;
use pyo3::prelude::*;

/// The predicate under which an instruction executes.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; @!%p ret; }")
/// >>> guard = module.functions["k"].instructions[0].guard
/// >>> guard.register, guard.negated, str(guard)
/// ('%p', True, '!%p')
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Guard {
    /// The name of the predicate.
    register: String,
    /// Whether the instruction executes where the predicate is false.
    negated: bool,
}

impl Guard {
    pub(crate) fn new(register: String, negated: bool) -> Self {
        Self { register, negated }
    }
}

#[pymethods]
impl Guard {
    fn __str__(&self) -> String {
        let sign = if self.negated { "!" } else { "" };
        format!("{sign}{}", self.register)
    }

    fn __repr__(&self) -> String {
        format!("<Guard {}>", self.__str__())
    }
}

/// One access of an instruction to memory.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b64 %rd; .reg .b32 %r; st.global.b32 [%rd+8], %r; }")
/// >>> store = module.functions["k"].instructions[0].memory[0]
/// >>> store.space, store.access, store.bytes, store.base, store.offset
/// ('global', 'write', 4, '%rd', 8)
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct MemoryAccess {
    /// The state space, such as `"global"`; `"generic"`, `"tensor"`, `"texture"`, `"surface"` or `"any"`.
    space: &'static str,
    /// `"read"`, `"write"`, `"atomic"` or `"update"`.
    access: &'static str,
    /// The number of bytes that a thread accesses, if it is known.
    bytes: Option<u64>,
    /// The base of the address: a register or a variable.
    base: Option<String>,
    /// The offset from the base in bytes.
    offset: Option<i64>,
    /// The memory order, such as `"relaxed"`.
    order: Option<&'static str>,
    /// The scope of the order, such as `"gpu"`.
    scope: Option<&'static str>,
    /// Whether memory is read.
    reads: bool,
    /// Whether memory is written.
    writes: bool,
}

impl MemoryAccess {
    pub(crate) fn new(ir: &IrModule, body: &Body, access: &IrAccess) -> Self {
        let name = |modifier: Modifier| modifier.text().trim_start_matches('.');
        Self {
            space: labels::space(access.space),
            access: labels::access(access.access),
            bytes: access.bytes,
            base: access.base.and_then(|base| operand_name(ir, body, base)),
            offset: access.offset,
            order: access.order.map(name),
            scope: access.scope.map(name),
            reads: access.reads(),
            writes: access.writes(),
        }
    }
}

#[pymethods]
impl MemoryAccess {
    fn __repr__(&self) -> String {
        let bytes = self.bytes.map_or("?".to_owned(), |n| n.to_string());
        format!(
            "<MemoryAccess {} of {bytes} bytes, {}>",
            self.access, self.space
        )
    }
}

/// A line of the program that was compiled to an instruction.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse('.version 8.0\n.target sm_90\n.file 1 "a.cu"\n.entry k() { .loc 1 7 3\n ret; }')
/// >>> line = module.functions["k"].instructions[0].source[0]
/// >>> line.file, line.line, line.column, str(line)
/// ('a.cu', 7, 3, 'a.cu:7:3')
#[pyclass(frozen, eq, hash, skip_from_py_object, module = "ptxkit")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct SourceLine {
    file: Option<Arc<str>>,
    function: Option<Arc<str>>,
    /// The line, from 1; 0 for code without a line.
    #[pyo3(get)]
    line: u32,
    /// The column, from 1; 0 if it is not known.
    #[pyo3(get)]
    column: u32,
}

#[pymethods]
impl SourceLine {
    /// The path of the file, if the module contains it.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The name of the inlined function that contains the line. `None` for the function itself.
    #[getter]
    fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// The name of the inlined function in the source language.
    #[getter]
    fn demangled(&self) -> Option<String> {
        demangle(self.function.as_deref()?)
    }

    fn __str__(&self) -> String {
        let file = self.file.as_deref().unwrap_or("?");
        match self.column {
            0 => format!("{file}:{}", self.line),
            column => format!("{file}:{}:{column}", self.line),
        }
    }

    fn __repr__(&self) -> String {
        format!("<SourceLine {}>", self.__str__())
    }
}

/// The source lines of all instructions of a module.
pub(crate) struct Lines {
    /// The lines of each instruction, by its position in the module.
    lists: Vec<u32>,
    frames: Vec<Vec<SourceLine>>,
}

impl Lines {
    /// `starts` are the numbers of instructions before each function, and the number of all instructions.
    pub(crate) fn new(ir: &IrModule, starts: &[u32]) -> Self {
        let source = SourceLines::new(ir);
        let count = starts.last().copied().unwrap_or(0);
        let mut lines = Self {
            lists: vec![0; count as usize],
            frames: vec![Vec::new()],
        };
        for (id, _, body) in ir.definitions() {
            let start = starts.get(id.index()).copied().unwrap_or(0) as usize;
            let function_lines = source.function(body);
            let mut last_place = None;
            let mut last_list = 0;
            for (stmt, statement) in body.statements() {
                let Statement::Inst(inst) = statement else {
                    continue;
                };
                let place = function_lines.place(stmt);
                if place != last_place {
                    let frames = function_lines
                        .frames(stmt)
                        .take(MAX_FRAMES)
                        .map(|frame| SourceLine {
                            file: frame.file.map(Arc::from),
                            function: frame.function.map(Arc::from),
                            line: frame.line,
                            column: frame.column,
                        })
                        .collect();
                    last_place = place;
                    last_list = lines.frames.len() as u32;
                    lines.frames.push(frames);
                }
                if let Some(list) = lines.lists.get_mut(start + inst.index()) {
                    *list = last_list;
                }
            }
        }
        lines
    }

    /// The source lines of an instruction, the innermost first.
    pub(crate) fn of(&self, instruction: usize) -> &[SourceLine] {
        let list = self.lists.get(instruction).copied().unwrap_or(0);
        self.frames.get(list as usize).map_or(&[], Vec::as_slice)
    }
}

/// The name of a register, a variable, a function or a label.
pub(crate) fn operand_name(ir: &IrModule, body: &Body, operand: IrOperand) -> Option<String> {
    Some(match operand {
        IrOperand::Reg(id) => {
            let decl = body.reg_decl_of(id)?;
            let number = body.registers().get(id)?.number;
            numbered_name(ir.name(decl.name), decl.count.map(|_| number))
        }
        IrOperand::Symbol(id) => {
            let symbol = ir.symbols().get(id)?;
            numbered_name(ir.name(symbol.name), symbol.number)
        }
        IrOperand::Var(id) => {
            let var = body.vars().get(id)?;
            numbered_name(ir.name(var.name), var.number)
        }
        IrOperand::Label(id) => body.label_name(ir, id).to_owned(),
        IrOperand::Name(name) | IrOperand::Section(name) | IrOperand::Str(name) => {
            ir.name(name).to_owned()
        }
        IrOperand::Special(register) => register.text().to_owned(),
        _ => return None,
    })
}

fn numbered_name(name: &str, number: Option<u32>) -> String {
    number.map_or_else(|| name.to_owned(), |number| format!("{name}{number}"))
}
