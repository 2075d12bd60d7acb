//! Reaching definitions.

use std::collections::HashMap;

use ptxkit::analysis::reaching;
use ptxkit::analysis::reg_lanes::VariableId;
use ptxkit::ir::StmtId;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::cfg::Place;
use crate::error::Failure;
use crate::function::Function;
use crate::instruction::Instruction;

#[pymethods]
impl Function {
    /// The reaching definitions of the registers. Raises `PtxError` for a function without a body.
    #[getter]
    fn reaching(&self, py: Python<'_>) -> PyResult<Reaching> {
        let place = Place::new(py, self)?;
        let module = self.module.get();
        let reaching = py.detach(|| place.analysis().map(|a| a.reaching().clone()))?;
        let names = module
            .names(self.id)
            .into_iter()
            .flat_map(|names| names.all());
        let writes = reaching
            .defs()
            .map(|(id, site)| ((site.stmt, site.variable), id));
        Ok(Reaching {
            writes: writes.collect(),
            registers: names
                .map(str::to_owned)
                .zip((0..).map(VariableId::new))
                .collect(),
            place,
            reaching,
        })
    }
}

/// The reaching definitions of a function: the writes of registers that each read may see.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; .reg .pred %p; mov.b32 %r1, 2; @%p mov.b32 %r1, 3; add.s32 %r2, %r1, 1; }")
/// >>> first, second, add = module.functions["k"].instructions
/// >>> reaching = module.functions["k"].reaching
/// >>> reaching.definitions(add, "%r1") == [first, second], reaching.uses(first, "%r1") == [add]
/// (True, True)
/// >>> reaching.may_be_uninitialized(second, "%p"), reaching.may_be_uninitialized(add, "%r1")
/// (True, False)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Reaching {
    place: Place,
    reaching: reaching::Reaching,
    /// The writes by statement and register.
    writes: HashMap<(StmtId, VariableId), reaching::DefId>,
    registers: HashMap<String, VariableId>,
}

impl Reaching {
    fn instructions(
        &self,
        py: Python<'_>,
        statements: impl Iterator<Item = StmtId>,
    ) -> Vec<Instruction> {
        statements
            .filter_map(|stmt| {
                Instruction::at(self.place.module.clone_ref(py), self.place.function, stmt)
            })
            .collect()
    }

    /// The statement of an instruction and the variable of a register.
    fn site(&self, instruction: &Instruction, register: &str) -> PyResult<(StmtId, VariableId)> {
        let stmt = self.place.stmt(instruction)?;
        match self.registers.get(register) {
            Some(variable) => Ok((stmt, *variable)),
            None => Err(PyKeyError::new_err(register.to_owned())),
        }
    }

    fn read(&self, instruction: &Instruction, register: &str) -> PyResult<reaching::UseId> {
        let (stmt, variable) = self.site(instruction, register)?;
        let read = self.reaching.read(stmt, variable);
        Ok(read
            .ok_or_else(|| Failure::new(format!("the instruction does not read `{register}`")))?)
    }
}

#[pymethods]
impl Reaching {
    /// The instructions that may have written the value that an instruction reads from a register. Raises `PtxError` if it does not read the register.
    fn definitions(
        &self,
        py: Python<'_>,
        at: &Instruction,
        register: &str,
    ) -> PyResult<Vec<Instruction>> {
        let definitions = self.reaching.defs_of(self.read(at, register)?).iter();
        let sites = definitions.filter_map(|id| self.reaching.defs().nth(id.as_u32() as usize));
        Ok(self.instructions(py, sites.map(|(_, site)| site.stmt)))
    }

    /// The instructions that may read the value that an instruction writes to a register. Raises `PtxError` if it does not write the register.
    fn uses(&self, py: Python<'_>, at: &Instruction, register: &str) -> PyResult<Vec<Instruction>> {
        let definition = self
            .writes
            .get(&self.site(at, register)?)
            .ok_or_else(|| Failure::new(format!("the instruction does not write `{register}`")))?;
        let uses = self.reaching.uses_of(*definition).iter();
        let sites = uses.filter_map(|id| self.reaching.uses().nth(id.as_u32() as usize));
        Ok(self.instructions(py, sites.map(|(_, site)| site.stmt)))
    }

    /// Whether a register may be unwritten when an instruction reads it. Raises `PtxError` if the instruction does not read it.
    fn may_be_uninitialized(&self, at: &Instruction, register: &str) -> PyResult<bool> {
        let read = self.read(at, register)?;
        Ok(self.reaching.may_be_uninitialized(read))
    }

    fn __repr__(&self) -> String {
        let (writes, reads) = (self.reaching.defs().len(), self.reaching.uses().len());
        format!("<Reaching: {writes} writes, {reads} reads>")
    }
}
