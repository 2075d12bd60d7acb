//! Instructions and sequences of instructions.

use std::borrow::Cow;

use ptx_report::labels;
use ptxkit::analysis::reg_lanes::VariableId;
use ptxkit::ir::facts::{Callees, Facts, Flow, RegUse, Targets};
use ptxkit::ir::{
    Body, EntityId, FuncId, Inst, InstId, Operand as IrOperand, Signature, Statement, StmtId,
};
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PySlice, PyString, PyTuple};

use crate::cfg::{Block, Place, Side};
use crate::conversions::{self, Restored, restored};
use crate::diagnostic::Span;
use crate::facts::{Guard, MemoryAccess, SourceLine, operand_name};
use crate::function::Function;
use crate::module::Module;
use crate::operand::Operand;

/// A sequence of instructions of a module. The objects are created when they are accessed, and slices are sequences of this type.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { bar.sync 0; ret; }")
/// >>> instructions = module.functions["k"].instructions
/// >>> len(instructions), instructions[-1].opcode, [i.opcode for i in instructions[::-1]]
/// (2, 'ret', ['ret', 'bar'])
#[pyclass(frozen, sequence, module = "ptxkit")]
pub(crate) struct Instructions {
    module: Py<Module>,
    /// The position of the first instruction in the module.
    first: i64,
    step: i64,
    len: u32,
}

impl Instructions {
    pub(crate) fn of_module(module: Bound<'_, Module>) -> Self {
        let len = module.get().starts().last().copied().unwrap_or(0);
        Self {
            module: module.unbind(),
            first: 0,
            step: 1,
            len,
        }
    }

    pub(crate) fn of_function(module: Py<Module>, id: FuncId) -> Self {
        let first = module.get().start(id.index());
        let len = module.get().start(id.index() + 1) - first;
        Self {
            module,
            first: first.into(),
            step: 1,
            len,
        }
    }

    pub(crate) fn of_range(module: Py<Module>, id: FuncId, first: u32, len: u32) -> Self {
        let start = module.get().start(id.index());
        Self {
            module,
            first: i64::from(start + first),
            step: 1,
            len,
        }
    }

    /// The position in the module of an element.
    fn number(&self, index: u32) -> u32 {
        (self.first + self.step * i64::from(index)) as u32
    }

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    fn element(&self, py: Python<'_>, index: u32) -> Instruction {
        let number = self.number(index);
        let starts = self.module.get().starts();
        let function = starts
            .partition_point(|start| *start <= number)
            .saturating_sub(1);
        let start = self.module.get().start(function);
        Instruction {
            module: self.module.clone_ref(py),
            function: FuncId::from_index(function),
            id: InstId::from_index((number - start) as usize),
        }
    }
}

#[pymethods]
impl Instructions {
    fn __len__(&self) -> usize {
        self.len()
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = key.py();
        if let Ok(slice) = key.cast::<PySlice>() {
            let indices = slice.indices(self.len as isize)?;
            let slice = Self {
                module: self.module.clone_ref(py),
                first: self.first + self.step * indices.start as i64,
                step: self.step * indices.step as i64,
                len: indices.slicelength as u32,
            };
            return Ok(slice.into_pyobject(py)?.into_any());
        }
        let position = conversions::position(key.extract()?, self.len())?;
        Ok(self
            .element(py, position as u32)
            .into_pyobject(py)?
            .into_any())
    }

    fn __contains__(&self, item: &Instruction) -> bool {
        let from_first = item.number() as i64 - self.first;
        let index = from_first / self.step;
        item.module.is(&self.module)
            && from_first % self.step == 0
            && (0..i64::from(self.len)).contains(&index)
    }

    pub(crate) fn __iter__(slf: Bound<'_, Self>) -> InstructionIterator {
        InstructionIterator {
            instructions: slf.unbind(),
            next: 0,
        }
    }

    fn __repr__(&self) -> String {
        format!("<{} instructions>", self.len)
    }
}

/// Iterates over instructions.
#[pyclass(module = "ptxkit._native")]
pub(crate) struct InstructionIterator {
    instructions: Py<Instructions>,
    next: u32,
}

#[pymethods]
impl InstructionIterator {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&mut self, py: Python<'_>) -> Option<Instruction> {
        let instructions = self.instructions.get();
        if self.next >= instructions.len {
            return None;
        }
        self.next += 1;
        Some(instructions.element(py, self.next - 1))
    }

    fn __length_hint__(&self) -> usize {
        (self.instructions.get().len - self.next) as usize
    }
}

/// An instruction.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; .reg .pred %p; @%p add.s32 %r1, %r2, 4; }")
/// >>> add = module.functions["k"].instructions[0]
/// >>> add.opcode, add.modifiers, add.mnemonic, add.text, add.line
/// ('add', ('s32',), 'add.s32', '@%p add.s32 %r1, %r2, 4;', 3)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Instruction {
    pub(crate) module: Py<Module>,
    pub(crate) function: FuncId,
    id: InstId,
}

impl Instruction {
    fn parts(&self) -> Option<(&ptxkit::ir::Module, &Body, &Inst)> {
        let ir = &self.module.get().ir;
        let body = ir.body(self.function)?;
        Some((ir, body, body.inst(self.id)?))
    }

    fn signature(&self) -> Option<Signature<'_>> {
        let (ir, _, inst) = self.parts()?;
        Some(ir.signature(inst.sig))
    }

    /// Applies `f` to the facts of the instruction. `None` for a function without a body.
    fn with_facts<T>(&self, read: impl FnOnce(Facts<'_>) -> T) -> Option<T> {
        let facts = self.module.get().function_facts(self.function)?;
        Some(read(facts.inst(self.id)))
    }

    /// Whether the facts of the instruction satisfy a condition.
    fn is(&self, condition: impl FnOnce(&Facts<'_>) -> bool) -> bool {
        self.with_facts(|facts| condition(&facts)).unwrap_or(false)
    }

    /// The names of the registers whose uses `is_selected` selects, each once.
    fn registers<'py>(
        &self,
        py: Python<'py>,
        is_selected: impl Fn(&RegUse) -> bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let Some(names) = self.module.get().names(self.function) else {
            return Ok(PyTuple::empty(py));
        };
        let mut variables: Vec<VariableId> = Vec::new();
        self.with_facts(|facts| {
            for mention in facts.registers().filter(is_selected) {
                for variable in names.variables.of(mention.place) {
                    if !variables.contains(&variable) {
                        variables.push(variable);
                    }
                }
            }
        });
        let texts: Vec<_> = variables
            .into_iter()
            .map(|variable| names.get(py, variable))
            .collect();
        PyTuple::new(py, texts)
    }

    /// The position of the instruction in the module.
    fn number(&self) -> usize {
        self.module.get().start(self.function.index()) as usize + self.id.index()
    }

    pub(crate) fn stmt(&self) -> Option<StmtId> {
        self.module
            .get()
            .statements(self.function)
            .get(self.id.index())
            .copied()
    }

    /// The instruction of a statement.
    pub(crate) fn at(module: Py<Module>, function: FuncId, stmt: StmtId) -> Option<Self> {
        let statement = module.get().ir.body(function)?.statement(stmt)?;
        match statement {
            Statement::Inst(id) => Some(Self {
                module,
                function,
                id,
            }),
            _ => None,
        }
    }

    fn place(&self, py: Python<'_>) -> PyResult<Place> {
        Place::new(py, &self.function(py))
    }

    fn live<'py>(&self, py: Python<'py>, side: Side) -> PyResult<Bound<'py, PyFrozenSet>> {
        match self.stmt() {
            Some(stmt) => self.place(py)?.live(py, stmt, side),
            None => PyFrozenSet::empty(py),
        }
    }

    fn ir_span(&self) -> ptxkit::ir::Span {
        self.stmt()
            .zip(self.module.get().ir.body(self.function))
            .map(|(stmt, body)| body.source_span(stmt))
            .unwrap_or_default()
    }
}

#[pymethods]
impl Instruction {
    /// The function that contains the instruction.
    #[getter]
    fn function(&self, py: Python<'_>) -> Function {
        Function::new(self.module.clone_ref(py), self.function)
    }

    /// The position of the instruction in the function.
    #[getter]
    fn index(&self) -> usize {
        self.id.index()
    }

    /// The opcode, such as `"add"`.
    #[getter]
    fn opcode(&self, py: Python<'_>) -> Option<Py<PyString>> {
        let (_, _, inst) = self.parts()?;
        Some(self.module.get().opcode(py, inst.sig))
    }

    /// The opcode with its modifiers as written, such as `"add.s32"`.
    #[getter]
    pub(crate) fn mnemonic(&self) -> &str {
        self.signature().map_or("", |signature| signature.text())
    }

    /// The modifiers, without their dots.
    #[getter]
    fn modifiers(&self, py: Python<'_>) -> PyResult<Py<PyTuple>> {
        match self.parts() {
            Some((_, _, inst)) => self.module.get().modifiers(py, inst.sig),
            None => Ok(PyTuple::empty(py).unbind()),
        }
    }

    /// The place in the source, from the guard to the semicolon.
    #[getter]
    fn span(&self) -> Span {
        Span::new(self.ir_span())
    }

    /// The line in the source, from 1.
    #[getter]
    fn line(&self) -> u32 {
        self.module
            .get()
            .lines()
            .position(self.ir_span().start)
            .line
    }

    /// The text, from the guard to the semicolon.
    #[getter]
    fn text(&self) -> Cow<'_, str> {
        self.module.get().text_of(self.ir_span())
    }

    /// The operands, in the order of the text.
    #[getter]
    fn operands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let operands = self
            .parts()
            .map_or(&[][..], |(_, body, _)| body.operands(self.id));
        Operand::tuple(py, &self.module, self.function, operands)
    }

    /// The guard.
    #[getter]
    fn guard(&self) -> Option<Guard> {
        let (ir, body, inst) = self.parts()?;
        let guard = inst.guard()?;
        let names = self.module.get().names(self.function);
        let name = self
            .with_facts(|facts| facts.guard_register())
            .flatten()
            .and_then(|(register, _)| Some(names?.of(register).to_owned()))
            .or_else(|| operand_name(ir, body, body.pool().get(guard.predicate)))
            .unwrap_or_default();
        Some(Guard::new(name, guard.sense.is_negated()))
    }

    /// The names of the registers that the instruction reads, including that of its guard.
    ///
    /// Registers with equal names get a number: `%r1#2`.
    #[getter]
    fn reads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.registers(py, |mention| mention.usage.reads())
    }

    /// The names of the registers that the instruction writes whenever it is reached.
    #[getter]
    fn writes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.registers(py, |mention| mention.usage.writes())
    }

    /// The names of the registers that the instruction writes only under a guard, or that an unknown instruction may write.
    #[getter]
    fn conditional_writes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.registers(py, |mention| mention.usage.may_write())
    }

    /// The memory accesses.
    #[getter]
    fn memory(&self) -> Vec<MemoryAccess> {
        let Some((ir, body, _)) = self.parts() else {
            return Vec::new();
        };
        self.with_facts(|facts| {
            facts
                .memory()
                .map(|access| MemoryAccess::new(ir, body, &access))
                .collect()
        })
        .unwrap_or_default()
    }

    /// Whether the instruction has an effect besides writing its registers and reading memory.
    #[getter]
    fn side_effects(&self) -> bool {
        self.is(|facts| facts.has_side_effects())
    }

    /// Whether the instruction is known. The facts of an unknown instruction are the most pessimistic ones.
    #[getter]
    fn is_known(&self) -> bool {
        self.is(|facts| facts.is_known())
    }

    /// Whether the instruction is a barrier, or arrives at one.
    #[getter]
    fn is_barrier(&self) -> bool {
        self.is(|facts| facts.is_barrier())
    }

    /// Whether the instruction orders memory accesses.
    #[getter]
    fn is_fence(&self) -> bool {
        self.is(|facts| facts.is_fence())
    }

    /// Whether the instruction multiplies matrices on tensor cores.
    #[getter]
    fn is_matrix_multiply(&self) -> bool {
        self.is(|facts| facts.is_matrix_multiply())
    }

    /// Whether the instruction may be removed if none of its results is read.
    #[getter]
    fn may_be_removed(&self) -> bool {
        self.is(|facts| facts.may_be_removed())
    }

    /// The effect on control flow: `"next"`, `"jump"`, `"table"`, `"call"`, `"return"`, `"exit"`, `"trap"` or `"unknown"`.
    #[getter]
    fn flow(&self) -> &'static str {
        let flow = self.with_facts(|facts| facts.flow());
        labels::flow(flow.unwrap_or(Flow::Unknown))
    }

    /// The names of the labels to which the instruction may jump.
    #[getter]
    fn targets(&self) -> Vec<String> {
        let Some((ir, body, _)) = self.parts() else {
            return Vec::new();
        };
        self.with_facts(|facts| match facts.targets() {
            Targets::Label(id) => operand_names(ir, body, &[IrOperand::Label(id)]),
            Targets::List(list) => operand_names(ir, body, list.operands),
            _ => Vec::new(),
        })
        .unwrap_or_default()
    }

    /// The names of the functions that the instruction may call; `None` if it is not a call, or may call any function.
    #[getter]
    fn callees(&self) -> Option<Vec<String>> {
        let (ir, body, _) = self.parts()?;
        self.with_facts(|facts| match facts.callees()? {
            Callees::Function(id) => Some(operand_names(ir, body, &[IrOperand::Symbol(id)])),
            Callees::List(list) => Some(operand_names(ir, body, list.operands)),
            _ => None,
        })
        .flatten()
    }

    /// The section of the PTX ISA manual that describes the instruction, such as `"9.7.1.1"`.
    #[getter]
    fn section(&self) -> Option<&'static str> {
        self.with_facts(|facts| facts.section())
            .filter(|section| !section.is_empty())
    }

    /// The source lines, the innermost first and then those of the inlined calls.
    #[getter]
    fn source(&self, py: Python<'_>) -> Vec<SourceLine> {
        let module = self.module.get();
        let lines = py.detach(|| module.source_lines());
        lines.of(self.number()).to_vec()
    }

    /// The basic block that contains the instruction.
    #[getter]
    fn block(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        let place = self.place(py)?;
        let analysis = place.analysis()?;
        let id = self
            .stmt()
            .and_then(|stmt| analysis.cfg().of_statement(stmt));
        Ok(id.map(|id| place.block(py, id)))
    }

    /// The names of the registers that are live before the instruction.
    #[getter]
    fn live_before<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        self.live(py, Side::Before)
    }

    /// The names of the registers that are live after the instruction.
    #[getter]
    fn live_after<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        self.live(py, Side::After)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Restored<'py>> {
        let instruction = slf.get();
        let module = instruction.module.clone_ref(slf.py());
        restored(slf.py(), "instruction", (module, instruction.number()))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.function == other.function
            && self.id == other.id
            && Module::same(&self.module, &other.module)
    }

    fn __hash__(&self) -> usize {
        self.function.index() << 32 | self.id.index()
    }

    fn __str__(&self) -> Cow<'_, str> {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Instruction {}>", self.text())
    }
}

/// The names of the operands that have names.
fn operand_names(ir: &ptxkit::ir::Module, body: &Body, operands: &[IrOperand]) -> Vec<String> {
    operands
        .iter()
        .filter_map(|operand| operand_name(ir, body, *operand))
        .collect()
}
