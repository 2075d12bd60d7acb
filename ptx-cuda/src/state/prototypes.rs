//! Declarations without the result of the function that they declare. The linker of machine code accepts them, since it does not see declarations: the callers ignore the
//! result.

use ptx_edit::{EditError, EditModule as _, Editor, NewParam, ParamList};
use ptx_ir::{FuncId, Module, Operand, Param, StmtId};
use ptx_isa::{ScalarType, StateSpace};

/// The name of an added result, and the first part of the names of the variables that calls ignore.
const NAME: &str = "ptxkit_ignored_result";

/// A result in the state space of parameters.
struct MissingResult {
    ty: ScalarType,
    /// In bytes; 0 if it is not written.
    align: u32,
    elements: Option<u32>,
}

/// Adds the results of definitions to declarations in other modules that have none, and to the calls, which ignore them. Declarations that cannot be changed stay as they
/// are.
pub(super) fn add_results(modules: &mut [Module]) {
    for index in 0..modules.len() {
        let missing = missing_results(modules, index);
        let Some(module) = modules.get_mut(index) else {
            continue;
        };
        let mut calls = 0;
        for (function, result) in missing {
            let parameter = result.parameter();
            let variable = |editor: &mut Editor<'_>, call| {
                calls += 1;
                result.variable(editor, call, calls)
            };
            let mut editor = module.editor();
            let _ = editor.insert_param(function, ParamList::Results, 0, &parameter, variable);
        }
    }
}

/// The functions that a module declares without results, each with the result of its definition in another module.
fn missing_results(modules: &[Module], index: usize) -> Vec<(FuncId, MissingResult)> {
    let Some(module) = modules.get(index) else {
        return Vec::new();
    };
    let functions = module.functions().iter();
    let declared = functions.filter(|(_, f)| f.body.is_none() && f.interface.returns.len == 0);
    declared
        .filter_map(|(id, function)| {
            let name = module.name(function.name);
            let mut results = modules.iter().filter_map(|other| result_of(other, name));
            Some((id, results.next()?))
        })
        .collect()
}

/// The result of a function that a module defines, if it has one.
fn result_of(module: &Module, name: &str) -> Option<MissingResult> {
    let function = module.functions().get(module.function(name)?)?;
    function.body.as_ref()?;
    match function.interface.returns.of(module.params()) {
        [result] => MissingResult::new(module, result),
        _ => None,
    }
}

impl MissingResult {
    fn new(module: &Module, param: &Param) -> Option<Self> {
        let number = |operand| u32::try_from(module.pool().integer(operand)?).ok();
        if param.space != StateSpace::Param || param.vector != 1 {
            return None;
        }
        let elements = match *module.pool().slice(param.dims) {
            [] => None,
            [size] => Some(number(size)?),
            _ => return None,
        };
        Some(Self {
            ty: param.ty.known()?,
            align: number(param.align).unwrap_or(0),
            elements,
        })
    }

    /// The result of the declaration.
    fn parameter(&self) -> NewParam {
        let parameter = NewParam::new(self.ty, NAME).with_align(self.align);
        match self.elements {
            Some(elements) => parameter.with_elements(elements),
            None => parameter,
        }
    }

    /// Declares a variable for the result of a call, which is never read.
    fn variable(
        &self,
        editor: &mut Editor<'_>,
        call: StmtId,
        number: u32,
    ) -> Result<Operand, EditError> {
        let name = format!("{NAME}_{number}");
        let align = match self.align {
            0 => String::new(),
            align => format!(".align {align} "),
        };
        let size = self.elements.map(|elements| format!("[{elements}]"));
        let text = format!(
            ".param {align}{} {name}{};",
            self.ty.text(),
            size.unwrap_or_default()
        );
        let statements = editor.insert_text_before(call, &text)?;
        let operand = editor.resolve_after(statements.last().copied(), &name);
        operand.ok_or(EditError::Undeclared(name))
    }
}
