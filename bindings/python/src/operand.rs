//! Operands of instructions.

use ptxkit::ir::ConstKind;
use ptxkit::ir::{Body, FuncId, Operand as IrOperand, OperandParts, SymbolId, SymbolKind};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::conversions::hash;
use crate::facts::operand_name;
use crate::module::Module;

/// An operand of an instruction.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<3>; .reg .b64 %rd; ld.global.b32 %r1, [%rd+8]; }")
/// >>> register, address = module.functions["k"].instructions[0].operands
/// >>> register.kind, register.name, register.type
/// ('register', '%r1', '.b32')
/// >>> address.kind, address.text, address.base.name, address.offset.value
/// ('address', '[%rd+8]', '%rd', 8)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Operand {
    module: Py<Module>,
    function: FuncId,
    operand: IrOperand,
}

impl Operand {
    /// The operand; `None` for an omitted one.
    pub(crate) fn new(module: Py<Module>, function: FuncId, operand: IrOperand) -> Option<Self> {
        let is_there = operand != IrOperand::Absent;
        is_there.then_some(Self {
            module,
            function,
            operand,
        })
    }

    pub(crate) fn tuple<'py>(
        py: Python<'py>,
        module: &Py<Module>,
        function: FuncId,
        operands: &[IrOperand],
    ) -> PyResult<Bound<'py, PyTuple>> {
        let objects: Vec<_> = operands
            .iter()
            .map(|operand| Self::new(module.clone_ref(py), function, *operand))
            .collect();
        PyTuple::new(py, objects)
    }

    fn body(&self) -> Option<&Body> {
        self.module.get().ir.body(self.function)
    }

    fn part(&self, py: Python<'_>, operand: IrOperand) -> Option<Self> {
        Self::new(self.module.clone_ref(py), self.function, operand)
    }

    fn is_variable(&self, symbol: SymbolId) -> bool {
        let symbol = self.module.get().ir.symbols().get(symbol);
        symbol.is_some_and(|symbol| matches!(symbol.kind, SymbolKind::Variable(..)))
    }

    fn address(&self) -> Option<&ptxkit::ir::Address> {
        match self.operand {
            IrOperand::Address(id) => self.body()?.pool().address(id),
            _ => None,
        }
    }
}

#[pymethods]
impl Operand {
    /// `"register"`, `"immediate"`, `"address"`, `"vector"`, `"label"`, `"variable"`, `"function"`, `"special_register"`,
    /// `"sink"`, `"component"`, `"not"`, `"negative"`, `"pair"`, `"list"`, `"bracket"`, `"name"` or `"string"`.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.operand {
            IrOperand::Reg(_) => "register",
            IrOperand::Small(_) | IrOperand::Imm(_) => "immediate",
            IrOperand::Address(_) => "address",
            IrOperand::Symbol(id) if !self.is_variable(id) => "function",
            IrOperand::Symbol(_) | IrOperand::Var(_) => "variable",
            IrOperand::Label(_) => "label",
            IrOperand::Special(_) => "special_register",
            IrOperand::Name(_) => "name",
            IrOperand::Section(_) => "section",
            IrOperand::Str(_) => "string",
            IrOperand::Sink => "sink",
            IrOperand::Vector(_) => "vector",
            IrOperand::Bracket(_) => "bracket",
            IrOperand::List(_) => "list",
            IrOperand::Pair(_) => "pair",
            IrOperand::Not(_) => "not",
            IrOperand::Neg(_) => "negative",
            IrOperand::Component(..) => "component",
            IrOperand::Generic(_) => "generic",
            IrOperand::Masked(_) => "masked",
            IrOperand::Difference(_) => "difference",
            IrOperand::Field(_) => "field",
            IrOperand::Range(_) => "range",
            _ => "unknown",
        }
    }

    /// The operand as text.
    #[getter]
    fn text(&self) -> String {
        let Some(body) = self.body() else {
            return String::new();
        };
        let text = ptxkit::print::canonical_operand(&self.module.get().ir, body, self.operand);
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The name of a register, a variable, a function or a label.
    #[getter]
    fn name(&self) -> Option<String> {
        operand_name(&self.module.get().ir, self.body()?, self.operand)
    }

    /// The declared type of a register, such as `".b32"` or `".v2.f32"`.
    #[getter]
    fn r#type(&self) -> Option<String> {
        let IrOperand::Reg(id) = self.operand else {
            return None;
        };
        let decl = self.body()?.reg_decl_of(id)?;
        Some(ptx_report::function_stats::type_name(
            &self.module.get().ir,
            decl.ty,
            decl.vector,
        ))
    }

    /// The number of an immediate: an `int` or a `float`.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = match self.operand {
            IrOperand::Small(value) => return Ok(Some(value.into_bound_py_any(py)?)),
            IrOperand::Imm(id) => self
                .body()
                .and_then(|body| body.pool().immediate(id))
                .map(|immediate| immediate.value),
            _ => None,
        };
        let number = value.map(
            |value| match (value.kind(), value.as_int(), value.as_float()) {
                (ConstKind::Unsigned, ..) => Some(value.bits().into_bound_py_any(py)),
                (_, Some(integer), _) => Some(integer.into_bound_py_any(py)),
                (_, _, Some(float)) => Some(float.into_bound_py_any(py)),
                _ => None,
            },
        );
        number.flatten().transpose()
    }

    /// The base of an address.
    #[getter]
    fn base(&self, py: Python<'_>) -> Option<Self> {
        self.part(py, self.address()?.base)
    }

    /// The offset of an address.
    #[getter]
    fn offset(&self, py: Python<'_>) -> Option<Self> {
        self.part(py, self.address()?.offset)
    }

    /// The selected part of a register, such as `"x"` or `"b0"`.
    #[getter]
    fn component(&self) -> Option<String> {
        let IrOperand::Component(selector, _) = self.operand else {
            return None;
        };
        let mut text = String::new();
        selector.write(|byte| text.push(byte.into()));
        Some(text)
    }

    /// The parts of the operand: the elements of a vector or a list, both halves of a pair, or the operand after a sign.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let pair;
        let parts = match (self.body().map(Body::pool), self.operand.parts()) {
            (Some(pool), OperandParts::List(id)) => pool.list(id),
            (Some(pool), OperandParts::One(slot)) => {
                pair = [pool.get(slot), IrOperand::Absent];
                &pair[..1]
            }
            (Some(pool), OperandParts::Two(slot)) => {
                pair = pool.pair(slot).into();
                &pair[..]
            }
            _ => &[],
        };
        Self::tuple(py, &self.module, self.function, parts)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.function == other.function
            && self.module.is(&other.module)
            && self.operand == other.operand
            || self.kind() == other.kind() && self.text() == other.text()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.text())
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<Operand {}: {}>", self.kind(), self.text())
    }
}
