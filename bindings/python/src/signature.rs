//! Edits of parameters and results.

use ptxkit::edit::{EditError, EditModule as _, Editor as IrEditor, NewParam, ParamList};
use ptxkit::ir::{FuncId, Module as IrModule, Operand as IrOperand, Statement, StmtId};
use ptxkit::isa::{ScalarType, StateSpace};
use pyo3::prelude::*;

use crate::build::{scalar, state_space};
use crate::edit::{Editor, probe, text_of};
use crate::error::Failure;
use crate::function::Function;

/// A parameter to be inserted, as Python describes it.
fn parameter(
    name: &str,
    ty: ScalarType,
    space: &str,
    align: Option<u32>,
    count: Option<u32>,
) -> PyResult<NewParam> {
    let mut new = match state_space(space)? {
        StateSpace::Param => NewParam::new(ty, name),
        StateSpace::Reg => NewParam::register(ty, name),
        _ => return Err(Failure::new(format!("a parameter in the state space `{space}`")).into()),
    };
    if let Some(align) = align {
        new = new.with_align(align);
    }
    if let Some(count) = count {
        new = new.with_elements(count);
    }
    Ok(new)
}

/// The operand that calls pass for a parameter, and the statements to insert before each call.
struct Argument {
    operand: String,
    before: Option<String>,
}

impl Argument {
    fn new(operand: &Bound<'_, PyAny>, before: Option<&str>) -> PyResult<Self> {
        Ok(Self {
            operand: text_of(operand)?,
            before: before.map(str::to_owned),
        })
    }

    /// Resolves the operand at a call of `callee`, after inserting the statements before it.
    fn at(
        &self,
        editor: &mut IrEditor<'_>,
        call: StmtId,
        callee: &str,
    ) -> Result<IrOperand, Failure> {
        if let Some(before) = &self.before {
            editor.insert_text_before(call, before)?;
        }
        let Statement::Inst(inst) = editor.statement(call)? else {
            return Err(self.not_an_operand());
        };
        let body = editor.body();
        let inst = body.inst(inst).ok_or_else(|| self.not_an_operand())?;
        let mnemonic = editor.module().signature(inst.sig).text().to_owned();
        let text = format!("{mnemonic} {callee}, ({});", self.operand);
        let mut parsed = None;
        probe(editor, call, &text, |editor, new| {
            if let Some(IrOperand::List(list)) = editor.operand(new, 1)
                && let [operand] = editor.body().pool().list(list)
            {
                parsed = Some(*operand);
            }
            Ok(())
        })?;
        parsed.ok_or_else(|| self.not_an_operand())
    }

    fn not_an_operand(&self) -> Failure {
        Failure::new(format!("`{}` is not an operand", self.operand))
    }
}

impl Editor {
    /// Changes the signature of a function. Each of its calls gets an operand.
    fn signature(
        &self,
        function: &Function,
        argument: Option<&Argument>,
        change: impl FnOnce(&mut IrModule, FuncId, Operands<'_>) -> Result<(), EditError>,
    ) -> PyResult<()> {
        self.check(&function.module)?;
        self.with(|ir| {
            let name = function.name();
            let mut failure = None;
            let mut operand = |editor: &mut IrEditor<'_>, call, old: Option<IrOperand>| {
                let new = match (argument, old) {
                    (Some(argument), _) => argument.at(editor, call, name),
                    (None, Some(old)) => Ok(old),
                    (None, None) => Err(Failure::new("no operand for the calls")),
                };
                new.map_err(|error| {
                    failure = Some(error);
                    EditError::NoPart("operand".to_owned())
                })
            };
            let result = change(ir, function.id, &mut operand);
            match (failure, result) {
                (Some(failure), Err(_)) => Err(failure),
                (_, result) => Ok(result?),
            }
        })
    }
}

/// A function that returns the new operand of a call, given the present one if there is one.
type Operands<'o> =
    &'o mut dyn FnMut(&mut IrEditor<'_>, StmtId, Option<IrOperand>) -> Result<IrOperand, EditError>;

fn list_of(result: bool) -> ParamList {
    if result {
        ParamList::Results
    } else {
        ParamList::Parameters
    }
}

#[pymethods]
impl Editor {
    /// Inserts a parameter, or a result, at a position: in the function, all its declarations and all its calls. All calls pass
    /// the operand `argument`; `before` are statements that are inserted before each of them.
    ///
    /// Raises `PtxError` if the calls are not known, because the address of the function is taken, or if a name conflicts with
    /// another one.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.func f(.reg .b32 a) { ret; }\n.entry k() { call f, (1); ret; }\n")
    /// >>> with module.edit() as edit:
    /// ...     edit.insert_parameter(module.functions["f"], 1, "b", "b32", 7, space="reg")
    /// >>> print(edit.module.text.split("sm_90")[1].strip())
    /// .func f(.reg .b32 a, .reg .b32 b) { ret; }
    /// .entry k() { call f, (1, 7); ret; }
    #[pyo3(signature = (function, index, name, r#type, argument, *, space="param", align=None, count=None, result=false, before=None))]
    #[expect(clippy::too_many_arguments, reason = "half of them have defaults")]
    fn insert_parameter(
        &self,
        function: &Function,
        index: usize,
        name: &str,
        r#type: &str,
        argument: &Bound<'_, PyAny>,
        space: &str,
        align: Option<u32>,
        count: Option<u32>,
        result: bool,
        before: Option<&str>,
    ) -> PyResult<()> {
        let new = parameter(name, scalar(r#type)?, space, align, count)?;
        let argument = Argument::new(argument, before)?;
        self.signature(function, Some(&argument), |ir, id, operand| {
            let operand = |editor: &mut IrEditor<'_>, call| operand(editor, call, None);
            let mut editor = ir.editor();
            editor
                .insert_param(id, list_of(result), index, &new, operand)
                .map(drop)
        })
    }

    /// Removes a parameter, or a result, from a function, all its declarations and all its calls. Raises `PtxError` if the
    /// function uses it.
    #[pyo3(signature = (function, index, *, result=false))]
    fn remove_parameter(&self, function: &Function, index: usize, result: bool) -> PyResult<()> {
        self.signature(function, None, |ir, id, _| {
            ir.editor().remove_param(id, list_of(result), index)
        })
    }

    /// Changes the type of a parameter, or of a result, in a function and all its declarations. Calls pass the operand `argument`
    /// instead of the present one, if it is given.
    #[pyo3(signature = (function, index, r#type, argument=None, *, result=false, before=None))]
    fn set_parameter_type(
        &self,
        function: &Function,
        index: usize,
        r#type: &str,
        argument: Option<&Bound<'_, PyAny>>,
        result: bool,
        before: Option<&str>,
    ) -> PyResult<()> {
        let ty = scalar(r#type)?;
        let argument = argument
            .map(|operand| Argument::new(operand, before))
            .transpose()?;
        self.signature(function, argument.as_ref(), |ir, id, operand| {
            let operand = |editor: &mut IrEditor<'_>, call, old| operand(editor, call, Some(old));
            ir.editor()
                .set_param_type(id, list_of(result), index, ty, operand)
        })
    }
}
