//! Indirect calls in modules that are built.

use ptxkit::build::{CodeLabel, Declaration, FunctionHeader, OperandExpr};
use ptxkit::isa::StateSpace;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::build::{FunctionBuilder, Value, lock, scalar, values};

/// A table of functions, or a prototype, with the types of its parameters and results.
pub(crate) struct CallTable {
    label: CodeLabel,
    results: Vec<Declaration>,
    parameters: Vec<Declaration>,
}

/// Declares parameters of these types. Their names are `name` with a number.
fn declarations(types: &[String], name: &str) -> PyResult<Vec<Declaration>> {
    types
        .iter()
        .enumerate()
        .map(|(number, ty)| {
            let name = format!("{name}{number}");
            Ok(Declaration::new(StateSpace::Param, scalar(ty)?, &name))
        })
        .collect()
}

fn interface(
    results: Option<Vec<String>>,
    parameters: &[String],
) -> PyResult<(Vec<Declaration>, Vec<Declaration>)> {
    let results = declarations(&results.unwrap_or_default(), "result")?;
    Ok((results, declarations(parameters, "parameter")?))
}

#[pymethods]
impl FunctionBuilder {
    /// A table of the functions that an indirect call may call, with the types of their parameters and results.
    ///
    /// >>> import ptxkit
    /// >>> with ptxkit.Builder("8.0", "sm_90") as builder:
    /// ...     with builder.function("f") as f:
    /// ...         _ = f.parameter("a", "b32")
    /// ...         f.ret()
    /// ...     with builder.kernel("k") as k:
    /// ...         address = k.register("b64")
    /// ...         k.mov.u64(address, f.value)
    /// ...         k.call_indirect(address, k.call_targets([f.value], ["b32"]), [7])
    /// ...         k.ret()
    /// >>> builder.module.functions["k"].callees[0].name
    /// 'f'
    #[pyo3(signature = (functions, parameters, results=None))]
    fn call_targets(
        &self,
        functions: Vec<Bound<'_, Value>>,
        parameters: Vec<String>,
        results: Option<Vec<String>>,
    ) -> PyResult<Value> {
        let functions = functions
            .iter()
            .map(|value| match value.get().0 {
                OperandExpr::Func(function) => Ok(function),
                _ => Err(PyTypeError::new_err("expected a function")),
            })
            .collect::<PyResult<Vec<_>>>()?;
        let (results, parameters) = interface(results, &parameters)?;
        let label = self.with(|builder| builder.call_targets(&functions))?;
        lock(&self.tables).push(CallTable {
            label,
            results,
            parameters,
        });
        Ok(Value(OperandExpr::Label(label)))
    }

    /// A prototype: the types of the parameters and results of the functions that an indirect call may call.
    #[pyo3(signature = (parameters, results=None))]
    fn call_prototype(
        &self,
        parameters: Vec<String>,
        results: Option<Vec<String>>,
    ) -> PyResult<Value> {
        let (results, parameters) = interface(results, &parameters)?;
        let label = self.with(|builder| builder.call_prototype(&results, &parameters))?;
        lock(&self.tables).push(CallTable {
            label,
            results,
            parameters,
        });
        Ok(Value(OperandExpr::Label(label)))
    }

    /// Calls the function whose address is in a register: declares parameters, stores the arguments, calls, and loads the results
    /// into registers. `table` is the result of `call_targets` or `call_prototype`.
    #[pyo3(signature = (address, table, arguments, results=None))]
    fn call_indirect(
        &self,
        address: &Value,
        table: &Value,
        arguments: Vec<Bound<'_, PyAny>>,
        results: Option<Vec<Bound<'_, PyAny>>>,
    ) -> PyResult<()> {
        let OperandExpr::Reg(address) = address.0 else {
            return Err(PyTypeError::new_err("the address is not a register"));
        };
        let (arguments, results) = (values(&arguments)?, values(&results.unwrap_or_default())?);
        let tables = lock(&self.tables);
        let table = tables
            .iter()
            .find(|call_table| table.0 == OperandExpr::Label(call_table.label))
            .ok_or_else(|| {
                PyTypeError::new_err("expected what `call_targets` or `call_prototype` returned")
            })?;
        let mut header = FunctionHeader::new();
        for result in &table.results {
            header = header.result(result.clone());
        }
        for parameter in &table.parameters {
            header = header.param(parameter.clone());
        }
        self.with(|builder| {
            builder.call_indirect(address, table.label, &header, &results, &arguments)
        })
    }
}
