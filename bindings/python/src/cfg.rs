//! Control flow: blocks, edges, dominators, loops and live registers.

use std::collections::BTreeMap;
use std::{io, iter};

use ptx_report::control_flow::{self, Graph};
use ptx_report::labels;
use ptxkit::analysis::cfg::{self, BlockId};
use ptxkit::analysis::function_analysis::FunctionAnalysis;
use ptxkit::analysis::graph::{Graph as _, LoopId, LoopKind, is_reducible};
use ptxkit::analysis::pressure::{self, CLASSES};
use ptxkit::analysis::reg_lanes::{VariableId, VariableSet};
use ptxkit::analysis::source_lines::SourceLines;
use ptxkit::ir::{EntityId, FuncId, StmtId};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PyIterator, PyList};

use crate::conversions;
use crate::error::Failure;
use crate::function::Function;
use crate::instruction::{Instruction, InstructionIterator, Instructions};
use crate::module::Module;

/// A function of a module, and access to its analyses.
pub(crate) struct Place {
    pub(crate) module: Py<Module>,
    pub(crate) function: FuncId,
}

impl Place {
    pub(crate) fn new(py: Python<'_>, function: &Function) -> PyResult<Self> {
        let (module, id) = (function.module.get(), function.id);
        if module.analysis(id).is_none() {
            return Err(Failure::new(format!("`{}` has no body here", function.name())).into());
        }
        Ok(Self {
            module: function.module.clone_ref(py),
            function: id,
        })
    }

    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self {
            module: self.module.clone_ref(py),
            function: self.function,
        }
    }

    /// The analyses of the function.
    pub(crate) fn analysis(&self) -> PyResult<FunctionAnalysis<'_>> {
        let analysis = self.module.get().analysis(self.function);
        Ok(analysis.ok_or_else(|| Failure::new("the function has no body"))?)
    }

    pub(crate) fn block(&self, py: Python<'_>, id: BlockId) -> Block {
        Block {
            place: self.copy(py),
            id,
        }
    }

    fn r#loop(&self, py: Python<'_>, id: LoopId) -> Loop {
        Loop {
            place: self.copy(py),
            id,
        }
    }

    fn blocks(&self, py: Python<'_>, ids: impl IntoIterator<Item = BlockId>) -> Vec<Block> {
        ids.into_iter().map(|id| self.block(py, id)).collect()
    }

    /// The statement of an instruction of the function.
    pub(crate) fn stmt(&self, instruction: &Instruction) -> PyResult<StmtId> {
        let is_here = instruction.function == self.function
            && Module::same(&instruction.module, &self.module);
        let stmt = instruction.stmt().filter(|_| is_here);
        Ok(stmt.ok_or_else(|| Failure::new("the instruction is in another function"))?)
    }

    /// The id of a block of the function.
    pub(crate) fn id_of(&self, block: &Block) -> PyResult<BlockId> {
        let id = self.is(&block.place).then_some(block.id);
        Ok(id.ok_or_else(|| Failure::new("the block is in another function"))?)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        self.function == other.function && Module::same(&self.module, &other.module)
    }

    fn names<'py>(
        &self,
        py: Python<'py>,
        live: impl IntoIterator<Item = VariableId>,
    ) -> PyResult<Bound<'py, PyFrozenSet>> {
        let names = self.module.get().names(self.function);
        let live_names: Vec<_> = live
            .into_iter()
            .filter_map(|variable| Some(names?.get(py, variable)))
            .collect();
        PyFrozenSet::new(py, live_names)
    }

    /// The registers that are live before or after an instruction.
    pub(crate) fn live<'py>(
        &self,
        py: Python<'py>,
        stmt: StmtId,
        side: Side,
    ) -> PyResult<Bound<'py, PyFrozenSet>> {
        self.names(py, live_registers(&self.analysis()?, stmt, side).iter())
    }
}

fn live_registers(analysis: &FunctionAnalysis<'_>, stmt: StmtId, side: Side) -> VariableSet {
    match side {
        Side::Before => analysis.live_before(stmt),
        Side::After => analysis.live_after(stmt),
    }
}

/// A position relative to an instruction.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    After,
}

/// The control-flow graph of a function: a sequence of its blocks, the entry first.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; L: @%p bra L; ret; }")
/// >>> cfg = module.functions["k"].cfg
/// >>> len(cfg), cfg.entry.label, [block.index for block in cfg[0].successors]
/// (2, 'L', [0, 1])
/// >>> cfg[0].dominates(cfg[1]), len(cfg.loops), cfg.is_reducible
/// (True, 1, True)
#[pyclass(frozen, sequence, module = "ptxkit")]
pub(crate) struct Cfg {
    pub(crate) place: Place,
}

#[pymethods]
impl Cfg {
    /// The function.
    #[getter]
    fn function(&self, py: Python<'_>) -> Function {
        Function::new(self.place.module.clone_ref(py), self.place.function)
    }

    /// The blocks, in the order of the text.
    #[getter]
    pub(crate) fn blocks(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        Ok(self.place.blocks(py, self.place.analysis()?.cfg().nodes()))
    }

    /// The entry block of the function.
    #[getter]
    fn entry(&self, py: Python<'_>) -> Block {
        self.place.block(py, cfg::Cfg::ENTRY)
    }

    /// The edges between blocks.
    #[getter]
    fn edges(&self, py: Python<'_>) -> PyResult<Vec<Edge>> {
        let analysis = self.place.analysis()?;
        Ok(analysis
            .cfg()
            .edges()
            .map(|(_, edge)| Edge::new(py, &self.place, edge))
            .collect())
    }

    /// The loops, outer ones before inner ones.
    #[getter]
    pub(crate) fn loops(&self, py: Python<'_>) -> PyResult<Vec<Loop>> {
        let analysis = self.place.analysis()?;
        Ok(analysis
            .loops()
            .iter()
            .map(|(id, _)| self.place.r#loop(py, id))
            .collect())
    }

    /// Whether each loop is entered only at its header.
    #[getter]
    fn is_reducible(&self) -> PyResult<bool> {
        let analysis = self.place.analysis()?;
        Ok(is_reducible(analysis.cfg(), analysis.dominators()))
    }

    /// The graph in the language of Graphviz.
    fn dot(&self) -> PyResult<String> {
        self.draw(control_flow::dot)
    }

    /// The graph in the language of Mermaid.
    fn mermaid(&self) -> PyResult<String> {
        self.draw(control_flow::mermaid)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.place.analysis()?.cfg().len())
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Block> {
        let position = conversions::position(index, self.place.analysis()?.cfg().len())?;
        Ok(self.place.block(py, BlockId::from_index(position)))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        PyList::new(py, self.blocks(py)?)?.try_iter()
    }

    fn __repr__(&self) -> PyResult<String> {
        let analysis = self.place.analysis()?;
        let cfg = analysis.cfg();
        Ok(format!(
            "<Cfg of {} blocks and {} edges>",
            cfg.len(),
            cfg.edges().len()
        ))
    }
}

impl Cfg {
    fn draw(&self, write: impl FnOnce(&Graph, &mut Vec<u8>) -> io::Result<()>) -> PyResult<String> {
        let module = self.place.module.get();
        let lines = SourceLines::new(&module.ir);
        let file = module.name.as_deref().unwrap_or_default();
        let name = module
            .ir
            .functions()
            .get(self.place.function)
            .map(|function| function.name);
        let mut out = Vec::new();
        if let Some(name) = name {
            let analysis = self.place.analysis()?;
            write(&Graph::new(file, &lines, &analysis, name), &mut out)?;
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// An edge of a control-flow graph.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; L: @%p bra L; ret; }")
/// >>> [(edge.source.index, edge.target.index, edge.kind, edge.when) for edge in module.functions["k"].cfg.edges]
/// [(0, 0, 'jump', True), (0, 1, 'next', False)]
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Edge {
    place: Place,
    from: BlockId,
    to: BlockId,
    /// `"next"`, `"jump"`, `"table"` or `"unknown"`.
    #[pyo3(get)]
    kind: &'static str,
    /// The value of the guard for which the edge is taken; `None` for an unconditional edge.
    #[pyo3(get)]
    when: Option<bool>,
}

impl Edge {
    fn new(py: Python<'_>, place: &Place, edge: &cfg::Edge) -> Self {
        Self {
            place: place.copy(py),
            from: edge.from,
            to: edge.to,
            kind: labels::edge(edge.kind),
            when: edge.when,
        }
    }
}

#[pymethods]
impl Edge {
    /// The source of the edge.
    #[getter]
    fn source(&self, py: Python<'_>) -> Block {
        self.place.block(py, self.from)
    }

    /// The target of the edge.
    #[getter]
    fn target(&self, py: Python<'_>) -> Block {
        self.place.block(py, self.to)
    }

    fn __repr__(&self) -> String {
        format!(
            "<Edge {} -> {}: {}>",
            self.from.as_u32(),
            self.to.as_u32(),
            self.kind
        )
    }
}

/// A basic block: instructions that execute one after another.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; .reg .b32 %r; mov.b32 %r, 0; L: setp.eq.s32 %p, %r, 4; @%p bra L; ret; }")
/// >>> block = module.functions["k"].blocks[1]
/// >>> block.label, [i.opcode for i in block.instructions], sorted(block.live_in), block.loop_depth
/// ('L', ['setp', 'bra'], ['%r'], 1)
#[pyclass(frozen, skip_from_py_object, module = "ptxkit")]
pub(crate) struct Block {
    place: Place,
    id: BlockId,
}

impl Block {
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) const fn id(&self) -> BlockId {
        self.id
    }

    fn ir(&self) -> Option<cfg::Block> {
        self.place.analysis().ok()?.cfg().block(self.id).copied()
    }
}

#[pymethods]
impl Block {
    /// The function.
    #[getter]
    fn function(&self, py: Python<'_>) -> Function {
        Function::new(self.place.module.clone_ref(py), self.place.function)
    }

    /// The position of the block in the graph; 0 for the entry.
    #[getter]
    fn index(&self) -> usize {
        self.id.index()
    }

    /// The name of the label of the block.
    #[getter]
    fn label(&self) -> Option<&str> {
        let ir = &self.place.module.get().ir;
        let label = ir
            .body(self.place.function)?
            .labels()
            .get(self.ir()?.label?)?;
        Some(ir.name(label.name))
    }

    /// The instructions of the block; none for a dispatch block.
    #[getter]
    fn instructions(&self, py: Python<'_>) -> Instructions {
        let module = &self.place.module;
        let statements = module.get().statements(self.place.function);
        let (first, end) = self.ir().map_or((0, 0), |block| {
            (
                statements.partition_point(|stmt| *stmt < block.first),
                statements.partition_point(|stmt| *stmt < block.end),
            )
        });
        Instructions::of_range(
            module.clone_ref(py),
            self.place.function,
            first as u32,
            end.saturating_sub(first) as u32,
        )
    }

    /// The successors of the block.
    #[getter]
    fn successors(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let analysis = self.place.analysis()?;
        let ids = analysis.cfg().successors(self.id);
        Ok(self.place.blocks(py, ids.iter().copied()))
    }

    /// The predecessors of the block.
    #[getter]
    fn predecessors(&self, py: Python<'_>) -> PyResult<Vec<Self>> {
        let analysis = self.place.analysis()?;
        let ids = analysis.cfg().predecessors(self.id);
        Ok(self.place.blocks(py, ids.iter().copied()))
    }

    /// Whether the function may end after the block.
    #[getter]
    fn exits(&self) -> bool {
        self.ir().is_some_and(|block| block.exits)
    }

    /// Whether a path from the entry reaches the block.
    #[getter]
    fn is_reachable(&self) -> PyResult<bool> {
        Ok(self.place.analysis()?.is_reachable(self.id))
    }

    /// Whether the block is an empty one through which all branches through a table pass.
    #[getter]
    fn is_dispatch(&self) -> bool {
        self.ir().is_some_and(|block| block.is_dispatch)
    }

    /// The immediate dominator: the last other block on every path from the entry to the block.
    #[getter]
    fn immediate_dominator(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let id = self.place.analysis()?.idom(self.id);
        Ok(id.map(|id| self.place.block(py, id)))
    }

    /// The immediate post-dominator: the first other block on every path from the block to the end.
    #[getter]
    fn immediate_post_dominator(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let id = self.place.analysis()?.ipdom(self.id);
        Ok(id.map(|id| self.place.block(py, id)))
    }

    /// Whether every path from the entry to `other` contains this block.
    fn dominates(&self, other: &Self) -> PyResult<bool> {
        let analysis = self.place.analysis()?;
        Ok(self.place.is(&other.place) && analysis.dominators().dominates(self.id, other.id))
    }

    /// Whether every path from `other` to the end contains this block.
    fn post_dominates(&self, other: &Self) -> PyResult<bool> {
        let analysis = self.place.analysis()?;
        let mut post_dominators = iter::successors(Some(other.id), |id| analysis.ipdom(*id));
        Ok(self.place.is(&other.place) && post_dominators.any(|id| id == self.id))
    }

    /// The names of the registers that are live at the beginning of the block.
    #[getter]
    fn live_in<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let analysis = self.place.analysis()?;
        self.place
            .names(py, analysis.liveness().live_in(self.id).iter())
    }

    /// The names of the registers that are live at the end of the block.
    #[getter]
    fn live_out<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let analysis = self.place.analysis()?;
        self.place
            .names(py, analysis.liveness().live_out(self.id).iter())
    }

    /// The number of loops that contain the block.
    #[getter]
    fn loop_depth(&self) -> PyResult<u32> {
        Ok(self.place.analysis()?.loops().depth(self.id))
    }

    /// The innermost loop that contains the block.
    #[getter]
    fn r#loop(&self, py: Python<'_>) -> PyResult<Option<Loop>> {
        let id = self.place.analysis()?.loops().innermost(self.id);
        Ok(id.map(|id| self.place.r#loop(py, id)))
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        self.instructions(py).len()
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<InstructionIterator> {
        let instructions = self.instructions(py).into_pyobject(py)?;
        Ok(Instructions::__iter__(instructions))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id && self.place.is(&other.place)
    }

    fn __hash__(&self) -> u64 {
        conversions::hash(&(self.place.function.as_u32(), self.id.as_u32()))
    }

    fn __repr__(&self) -> String {
        match self.label() {
            Some(label) => format!("<Block {}: {label}>", self.id.as_u32()),
            None => format!("<Block {}>", self.id.as_u32()),
        }
    }
}

/// A loop.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; ret; L: @%p bra L; ret; }")
/// >>> module.functions["k"].loops
/// []
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; L: @%p bra L; ret; }")
/// >>> loop = module.functions["k"].loops[0]
/// >>> loop.header.label, loop.depth, len(loop.blocks), loop.parent
/// ('L', 1, 1, None)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Loop {
    place: Place,
    id: LoopId,
}

impl Loop {
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) const fn id(&self) -> LoopId {
        self.id
    }

    fn ir(&self) -> PyResult<ptxkit::analysis::graph::Loop<BlockId>> {
        let analysis = self.place.analysis()?;
        analysis
            .loops()
            .get(self.id)
            .cloned()
            .ok_or_else(|| PyIndexError::new_err("no such loop"))
    }
}

#[pymethods]
impl Loop {
    /// The header of the loop.
    #[getter]
    fn header(&self, py: Python<'_>) -> PyResult<Block> {
        Ok(self.place.block(py, self.ir()?.header()))
    }

    /// The blocks of the loop, including those of inner loops.
    #[getter]
    fn blocks(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        let analysis = self.place.analysis()?;
        let blocks = analysis.loops().body(self.id).iter().copied();
        Ok(self.place.blocks(py, blocks))
    }

    /// The nesting depth; 1 for an outermost loop.
    #[getter]
    fn depth(&self) -> PyResult<u32> {
        Ok(self.ir()?.depth())
    }

    /// The enclosing loop.
    #[getter]
    fn parent(&self, py: Python<'_>) -> PyResult<Option<Self>> {
        let parent = self.ir()?.parent();
        Ok(parent.map(|id| self.place.r#loop(py, id)))
    }

    /// Whether the loop is entered only at its header.
    #[getter]
    fn is_natural(&self) -> PyResult<bool> {
        Ok(self.ir()?.kind() == LoopKind::Natural)
    }

    /// The latches: the blocks of the loop that branch to its header.
    #[getter]
    fn latches(&self, py: Python<'_>) -> PyResult<Vec<Block>> {
        let analysis = self.place.analysis()?;
        let latches = analysis.loops().latches(analysis.cfg(), self.id);
        Ok(self.place.blocks(py, latches))
    }

    /// The exit edges, each as a block of the loop and a block outside of it.
    #[getter]
    fn exits(&self, py: Python<'_>) -> PyResult<Vec<(Block, Block)>> {
        let analysis = self.place.analysis()?;
        let exits = analysis.loops().exits(analysis.cfg(), self.id);
        Ok(exits
            .map(|(from, to)| (self.place.block(py, from), self.place.block(py, to)))
            .collect())
    }

    /// The preheader: the only predecessor outside of the loop, if the header is its only successor.
    #[getter]
    fn preheader(&self, py: Python<'_>) -> PyResult<Option<Block>> {
        let analysis = self.place.analysis()?;
        let id = analysis.loops().preheader(analysis.cfg(), self.id);
        Ok(id.map(|id| self.place.block(py, id)))
    }

    fn __contains__(&self, block: &Block) -> PyResult<bool> {
        let analysis = self.place.analysis()?;
        Ok(self.place.is(&block.place) && analysis.loops().contains(self.id, block.id))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id && self.place.is(&other.place)
    }

    fn __hash__(&self) -> u64 {
        conversions::hash(&(self.place.function.as_u32(), self.id.as_u32()))
    }

    fn __repr__(&self) -> PyResult<String> {
        let analysis = self.place.analysis()?;
        let blocks = analysis.loops().body(self.id).len();
        Ok(format!("<Loop of {blocks} blocks>"))
    }
}

/// The greatest number of registers that are live at once, before ptxas allocates them.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b64 %rd; .reg .b32 %r; mov.b64 %rd, 1; cvt.u32.u64 %r, %rd; ret; }")
/// >>> pressure = module.functions["k"].pressure
/// >>> pressure.units, pressure.by_class, pressure.at.opcode
/// (2, {'b32': 1, 'b64': 1}, 'mov')
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Pressure {
    pub(crate) place: Place,
    pub(crate) pressure: pressure::Pressure,
}

#[pymethods]
impl Pressure {
    /// The greatest number of live registers, in units of 32 bits. Predicates are not counted.
    #[getter]
    fn units(&self) -> u32 {
        self.pressure.units
    }

    /// The first instruction at which the pressure is greatest.
    #[getter]
    fn at(&self, py: Python<'_>) -> Option<Instruction> {
        Instruction::at(
            self.place.module.clone_ref(py),
            self.place.function,
            self.pressure.at?,
        )
    }

    /// The greatest number of live registers of each class separately: `pred`, `b16`, `b32` and so on.
    #[getter]
    fn by_class(&self) -> BTreeMap<&'static str, u32> {
        CLASSES
            .iter()
            .zip(self.pressure.by_class)
            .filter(|(_, count)| *count > 0)
            .map(|(class, count)| (labels::class(*class), count))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<Pressure of {} units>", self.pressure.units)
    }
}
