//! Values of registers in static single assignment form, and constants.

use std::sync::{Arc, OnceLock};

use ptxkit::analysis::constants::Constants;
use ptxkit::analysis::reg_lanes::VariableId;
use ptxkit::analysis::ssa::{self, Use, Value, ValueId};
use ptxkit::ir::StmtId;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::cfg::{Block, Place};
use crate::conversions;
use crate::error::Failure;
use crate::function::Function;
use crate::instruction::Instruction;

/// The values of a function.
struct Values {
    ssa: ssa::Ssa,
    constants: OnceLock<Option<Constants>>,
    /// The reads, sorted by value.
    reads: OnceLock<Vec<Use>>,
}

#[pymethods]
impl Function {
    /// The values of the registers, in static single assignment form. Raises `PtxError` for a function without a body, and for
    /// one that needs too many phis.
    #[getter]
    fn ssa(&self, py: Python<'_>) -> PyResult<Ssa> {
        let place = Place::new(py, self)?;
        let ssa = py.detach(|| place.analysis().map(|analysis| analysis.ssa().cloned()))?;
        let values = Arc::new(Values {
            ssa: ssa.map_err(Failure::new)?,
            constants: OnceLock::new(),
            reads: OnceLock::new(),
        });
        Ok(Ssa { place, values })
    }
}

/// The values of a function: each is defined by a write, by a phi where different values meet, or on entry. This is a
/// sequence of `SsaValue`.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; mov.b32 %r1, 2; mov.b32 %r1, 3; add.s32 %r2, %r1, %r1; ret; }")
/// >>> function = module.functions["k"]
/// >>> ssa, add = function.ssa, function.instructions[2]
/// >>> ssa.reads(add)["%r1"].instruction.text, ssa.writes(add)["%r2"].constant
/// ('mov.b32 %r1, 3;', 6)
#[pyclass(frozen, sequence, module = "ptxkit")]
pub(crate) struct Ssa {
    place: Place,
    values: Arc<Values>,
}

impl Ssa {
    fn value(&self, py: Python<'_>, id: ValueId) -> SsaValue {
        SsaValue {
            ssa: Self {
                place: self.place.copy(py),
                values: Arc::clone(&self.values),
            },
            id,
        }
    }

    fn name<'py>(&self, py: Python<'py>, variable: VariableId) -> Bound<'py, PyString> {
        let names = self.place.module.get().names(self.place.function);
        match names {
            Some(names) if variable != self.values.ssa.carry() => {
                names.get(py, variable).into_bound(py)
            }
            _ => PyString::new(py, "CC.CF"),
        }
    }

    fn by_name<'py>(
        &self,
        py: Python<'py>,
        values: impl Iterator<Item = (VariableId, ValueId)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let by_name = PyDict::new(py);
        for (variable, id) in values {
            by_name.set_item(self.name(py, variable), self.value(py, id))?;
        }
        Ok(by_name)
    }

    fn constants(&self) -> Option<&Constants> {
        self.values
            .constants
            .get_or_init(|| {
                let analysis = self.place.analysis().ok()?;
                analysis.constants().ok().cloned()
            })
            .as_ref()
    }

    fn reads_of(&self, value: ValueId) -> &[Use] {
        let reads = self.values.reads.get_or_init(|| {
            let mut reads = self.values.ssa.all_uses().to_vec();
            reads.sort_by_key(|read| read.value);
            reads
        });
        let first = reads.partition_point(|read| read.value < value);
        let end = reads.partition_point(|read| read.value <= value);
        &reads[first..end]
    }
}

#[pymethods]
impl Ssa {
    /// The function.
    #[getter]
    fn function(&self, py: Python<'_>) -> Function {
        Function::new(self.place.module.clone_ref(py), self.place.function)
    }

    /// The value of each register that an instruction reads, including its guard. The carry flag is `"CC.CF"`.
    fn reads<'py>(&self, py: Python<'py>, at: &Instruction) -> PyResult<Bound<'py, PyDict>> {
        let reads = self.values.ssa.uses(self.place.stmt(at)?).iter();
        self.by_name(py, reads.map(|read| (read.variable, read.value)))
    }

    /// The value after an instruction of each register that it writes or may write.
    fn writes<'py>(&self, py: Python<'py>, at: &Instruction) -> PyResult<Bound<'py, PyDict>> {
        let ssa = &self.values.ssa;
        let writes = ssa.defs(self.place.stmt(at)?);
        self.by_name(py, writes.filter_map(|id| Some((ssa.variable(id)?, id))))
    }

    /// The phis at the start of a block.
    fn phis<'py>(&self, py: Python<'py>, block: &Block) -> PyResult<Bound<'py, PyDict>> {
        let ssa = &self.values.ssa;
        let id = self.place.id_of(block)?;
        self.by_name(
            py,
            ssa.phis(id).filter_map(|id| Some((ssa.variable(id)?, id))),
        )
    }

    /// Whether control can reach a block, as far as it depends on constants.
    fn is_executable(&self, py: Python<'_>, block: &Block) -> PyResult<bool> {
        let id = self.place.id_of(block)?;
        Ok(py.detach(|| {
            self.constants()
                .is_none_or(|constants| constants.is_executable(id))
        }))
    }

    fn __len__(&self) -> usize {
        self.values.ssa.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<SsaValue> {
        let position = conversions::position(index, self.__len__())?;
        Ok(self.value(py, ValueId::new(position as u32)))
    }

    fn __repr__(&self) -> String {
        format!("<Ssa of {} values>", self.__len__())
    }
}

/// A value of a register.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; .reg .pred %p; mov.b32 %r, 0; L: add.s32 %r, %r, 1; setp.lt.s32 %p, %r, 9; @%p bra L; }")
/// >>> add = module.functions["k"].instructions[1]
/// >>> phi = module.functions["k"].ssa.reads(add)["%r"]
/// >>> phi, [value.instruction.opcode for _, value in phi.arguments], [i.opcode for i in phi.uses]
/// (<SsaValue %r: phi>, ['mov', 'add'], ['add'])
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct SsaValue {
    ssa: Ssa,
    id: ValueId,
}

impl SsaValue {
    fn ir(&self) -> Value {
        self.ssa.values.ssa.value(self.id)
    }

    fn of(&self, py: Python<'_>, id: ValueId) -> Self {
        self.ssa.value(py, id)
    }

    fn instruction_at(&self, py: Python<'_>, stmt: StmtId) -> Option<Instruction> {
        let place = &self.ssa.place;
        Instruction::at(place.module.clone_ref(py), place.function, stmt)
    }
}

#[pymethods]
impl SsaValue {
    /// The position of the value among the values of the function.
    #[getter]
    fn index(&self) -> u32 {
        self.id.as_u32()
    }

    /// The register, or the element of a vector register; `"CC.CF"` for the carry flag. `None` for the unknown value.
    #[getter]
    fn register<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyString>> {
        let variable = self.ssa.values.ssa.variable(self.id)?;
        Some(self.ssa.name(py, variable))
    }

    /// The kind of the definition: `"write"`, `"merge"` for a conditional write, `"phi"`, `"entry"` for the content of the register when
    /// the function began, or `"unknown"` in code that cannot be reached.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.ir() {
            Value::Unknown => "unknown",
            Value::Entry { .. } => "entry",
            Value::Def { old: None, .. } => "write",
            Value::Def { old: Some(_), .. } => "merge",
            Value::Phi { .. } => "phi",
        }
    }

    /// The instruction that writes the value. `None` for other kinds, and if a statement that was not recognized may write it.
    #[getter]
    fn instruction(&self, py: Python<'_>) -> Option<Instruction> {
        match self.ir() {
            Value::Def { stmt, .. } => self.instruction_at(py, stmt),
            _ => None,
        }
    }

    /// The block of a phi.
    #[getter]
    fn block(&self, py: Python<'_>) -> Option<Block> {
        match self.ir() {
            Value::Phi { block, .. } => Some(self.ssa.place.block(py, block)),
            _ => None,
        }
    }

    /// The value that remains if the conditional write of a merge does not happen.
    #[getter]
    fn old(&self, py: Python<'_>) -> Option<Self> {
        match self.ir() {
            Value::Def { old, .. } => Some(self.of(py, old?)),
            _ => None,
        }
    }

    /// The arguments of a phi: pairs of a predecessor, which is `None` for the entry of the function, and a value.
    #[getter]
    fn arguments(&self, py: Python<'_>) -> Vec<(Option<Block>, Self)> {
        let Value::Phi { block, .. } = self.ir() else {
            return Vec::new();
        };
        let place = &self.ssa.place;
        let Ok(analysis) = place.analysis() else {
            return Vec::new();
        };
        let predecessors = analysis
            .cfg()
            .in_edges(block)
            .map(|(_, edge)| Some(edge.from))
            .chain(std::iter::repeat(None));
        let values = self.ssa.values.ssa.args(self.id).iter();
        values
            .zip(predecessors)
            .map(|(value, id)| (id.map(|id| place.block(py, id)), self.of(py, *value)))
            .collect()
    }

    /// The instructions that read the value.
    #[getter]
    fn uses(&self, py: Python<'_>) -> Vec<Instruction> {
        let reads = self.ssa.reads_of(self.id).iter();
        reads
            .filter_map(|read| self.instruction_at(py, read.stmt))
            .collect()
    }

    /// The value, if it is a known constant: an unsigned number. A predicate is 0 or 1.
    #[getter]
    fn constant(&self, py: Python<'_>) -> Option<u128> {
        py.detach(|| self.ssa.constants()?.value(self.id).known())
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.id == other.id && self.ssa.place.is(&other.ssa.place)
    }

    fn __hash__(&self) -> u64 {
        conversions::hash(&(self.ssa.place.function.as_u32(), self.id.as_u32()))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.register(py) {
            Some(register) => format!("<SsaValue {register}: {}>", self.kind()),
            None => format!("<SsaValue: {}>", self.kind()),
        }
    }
}
