//! Calls with the stores of their arguments and the loads of their results. Manual 7.1, 9.7.12.4.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::Code;
use ptx_isa::{ScalarType, StateSpace};

use crate::declaration::Declaration;
use crate::error::{BuildError, BuildErrorKind};
use crate::function::FunctionBuilder;
use crate::handle::{CodeLabel, Func, Reg, Variable};
use crate::interface::FunctionHeader;
use crate::operand::OperandExpr;

/// The value of a parameter, or the destination of a result.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Argument {
    /// One value, or the register that takes the result.
    Value(OperandExpr),
    /// The parts of an array of bytes: the offset of each in bytes, its type, and its value or register.
    Parts(Vec<(u64, ScalarType, OperandExpr)>),
    /// The values of the unsized array at the end of the parameters, with their types: laid out one after the other,
    /// each aligned to its size.
    Variadic(Vec<(ScalarType, OperandExpr)>),
}

impl<T: Into<OperandExpr>> From<T> for Argument {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// Refuses another number of arguments or results than the callee has.
fn check_count(
    callee: &str,
    noun: &str,
    count: usize,
    declared: &[Declaration],
    verb: &str,
) -> Result<(), BuildError> {
    if count == declared.len() {
        return Ok(());
    }
    let parameters: Result<Vec<String>, BuildError> =
        declared.iter().map(Declaration::parameter).collect();
    let message = format!(
        "{count} {noun}{} for the {} of {callee}",
        if count == 1 { "" } else { "s" },
        declared.len()
    );
    let help = if declared.is_empty() {
        format!("it {verb} nothing")
    } else {
        format!("it {verb} ({})", parameters?.join(", "))
    };
    BuildErrorKind::Argument.refuse(Code::CallCount, message, help)
}

/// A function that is called.
struct Callee<'c> {
    operand: OperandExpr,
    /// The name of the function in messages.
    name: &'c str,
    /// The table of an indirect call.
    table: Option<CodeLabel>,
    interface: &'c FunctionHeader,
}

/// A parameter on the side of the caller.
struct Passed {
    operand: OperandExpr,
    /// The offset of each part.
    parts: Vec<(Variable, u64, ScalarType, OperandExpr)>,
}

impl FunctionBuilder<'_> {
    /// Calls a function: declares its parameters, stores the arguments, calls, loads the results. Under a guard, a jump goes
    /// over all of it.
    ///
    /// # Errors
    ///
    /// The number of arguments or results is wrong, a value does not fit its parameter, or the call is illegal. Nothing
    /// is added then.
    pub fn call_function(
        &mut self,
        function: Func,
        results: &[Argument],
        arguments: &[Argument],
    ) -> Result<(), BuildError> {
        self.all_or_none(|f| {
            let tables = &f.module.tables;
            let callee = tables.func(function, Some(&f.body.name))?;
            let interface = callee.interface.clone();
            let callee = Callee {
                operand: OperandExpr::Func(function),
                name: &format!("`{}`", callee.name),
                table: None,
                interface: &interface,
            };
            f.emit_call(&callee, results, arguments)
        })
    }

    /// Calls the function that a register points to. The table is one of [`call_targets`](Self::call_targets) or
    /// [`call_prototype`](Self::call_prototype); the interface repeats its parameters and results.
    ///
    /// # Errors
    ///
    /// As [`call_function`](Self::call_function).
    pub fn call_indirect(
        &mut self,
        target: Reg,
        table: CodeLabel,
        interface: &FunctionHeader,
        results: &[Argument],
        arguments: &[Argument],
    ) -> Result<(), BuildError> {
        let callee = Callee {
            operand: target.into(),
            name: "the function that is called",
            table: Some(table),
            interface,
        };
        // ptxas refuses a guard on the loads of results: a branch skips a guarded call.
        self.all_or_none(|f| f.emit_call(&callee, results, arguments))
    }

    fn emit_call(
        &mut self,
        callee: &Callee<'_>,
        results: &[Argument],
        arguments: &[Argument],
    ) -> Result<(), BuildError> {
        let (name, interface) = (callee.name, callee.interface);
        check_count(name, "result", results.len(), &interface.returns, "returns")?;
        check_count(
            name,
            "argument",
            arguments.len(),
            &interface.params,
            "takes",
        )?;
        self.open();
        self.emit_call_in_scope(callee, results, arguments)
            .and(self.close())
    }

    fn emit_call_in_scope(
        &mut self,
        callee: &Callee<'_>,
        results: &[Argument],
        arguments: &[Argument],
    ) -> Result<(), BuildError> {
        let mut inputs = Vec::new();
        for (declaration, argument) in callee.interface.params.iter().zip(arguments) {
            let passed = self.pass("param", declaration, argument)?;
            for (var, offset, ty, value) in passed.parts {
                let address = place(var, offset);
                self.st().param().typed(ty, (address, value))?;
            }
            inputs.push(passed.operand);
        }
        let mut outputs = Vec::new();
        let mut loads = Vec::new();
        for (declaration, result) in callee.interface.returns.iter().zip(results) {
            let passed = self.pass("retval", declaration, result)?;
            loads.extend(passed.parts);
            outputs.push(passed.operand);
        }
        let mut operands = Vec::new();
        if !outputs.is_empty() {
            operands.push(OperandExpr::List(outputs));
        }
        operands.push(callee.operand.clone());
        if !inputs.is_empty() || callee.table.is_some() {
            operands.push(OperandExpr::List(inputs));
        }
        operands.extend(callee.table.map(OperandExpr::Label));
        self.call().emit(&operands[..])?;
        for (var, offset, ty, value) in loads {
            let address = place(var, offset);
            self.ld().param().typed(ty, (value, address))?;
        }
        Ok(())
    }

    /// Declares the variable that passes a parameter, and lists the values that are stored to it or loaded from it.
    fn pass(
        &mut self,
        stem: &str,
        declaration: &Declaration,
        argument: &Argument,
    ) -> Result<Passed, BuildError> {
        if declaration.space == StateSpace::Reg {
            let Argument::Value(operand) = argument else {
                return Err(BuildError::new(
                    BuildErrorKind::Argument,
                    format!("`{}` is a register and takes one value", declaration.name()),
                    "pass `Argument::Value`",
                ));
            };
            let parts = Vec::new();
            let operand = operand.clone();
            return Ok(Passed { operand, parts });
        }
        let name = self.fresh_name(stem);
        let mut local = Declaration::new(StateSpace::Param, declaration.ty, &name);
        local = local.vector(declaration.vector_len());
        if let Some(align) = &declaration.align {
            local = local.align(align.clone());
        }
        let mut parts: Vec<(u64, ScalarType, OperandExpr)> = Vec::new();
        match argument {
            Argument::Value(value) if !declaration.is_array() => {
                parts.push((0, declaration.ty, value.clone()));
            }
            Argument::Parts(values) if declaration.bytes().is_some() => {
                for size in declaration.dims().iter().flatten() {
                    local = local.dimension(size.clone());
                }
                parts.clone_from(values);
            }
            Argument::Variadic(values) if declaration.dims().contains(&None) => {
                let mut end = 0u64;
                for (ty, value) in values {
                    let bytes = u64::from(ty.bits()).div_ceil(8).max(1);
                    let start = end.next_multiple_of(bytes);
                    end = start + bytes;
                    parts.push((start, *ty, value.clone()));
                }
                let element = u64::from(declaration.ty.bits()).div_ceil(8).max(1);
                local = local.array([end.div_ceil(element).max(1)]);
            }
            _ => {
                let message = format!("what is passed does not fit `{}`", declaration.parameter()?);
                let help = match (declaration.is_array(), declaration.dims().contains(&None)) {
                    (false, _) => "a scalar takes one value: `Argument::Value`",
                    (true, false) => {
                        "an array takes values with their places in it: `Argument::Parts`"
                    }
                    (true, true) => {
                        "an array without a size takes any number of values: `Argument::Variadic`"
                    }
                };
                return Err(BuildError::new(BuildErrorKind::Argument, message, help));
            }
        }
        if let Some(bytes) = local.bytes() {
            let end = |(offset, ty, _): &(u64, ScalarType, OperandExpr)| {
                offset.saturating_add(u64::from(ty.bits()).div_ceil(8))
            };
            if parts.iter().map(end).max().unwrap_or(0) > bytes {
                let message = format!("more than the {bytes} bytes of `{}`", declaration.name());
                let help = "every part ends inside the parameter: look at offsets and types";
                return Err(BuildError::new(BuildErrorKind::Argument, message, help));
            }
        }
        let var = self.declare(local)?;
        let parts = parts
            .into_iter()
            .map(|(at, ty, value)| (var, at, ty, value));
        Ok(Passed {
            operand: OperandExpr::Variable(var),
            parts: parts.collect(),
        })
    }
}

fn place(var: Variable, offset: u64) -> OperandExpr {
    match i64::try_from(offset) {
        Ok(0) | Err(_) => crate::at(var).into(),
        Ok(offset) => (var + offset).into(),
    }
}
