//! Editing signatures: parameters and results of a function, together with its declarations, prototypes and calls.

mod calls;
mod header;
mod list;
mod param;

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Binding, FuncId, Operand, StmtId};
use ptx_isa::ScalarType;

pub use self::param::{NewParam, ParamList};

use self::calls::{call_list, calls_of, write_call_list};
pub(crate) use self::header::inserted_list;
use self::header::{Header, SignatureChange, declarations};
use crate::editor::EditModule as _;
use crate::{EditError, Editor, ModuleEditor, UsePlace, UsedBy};

impl ModuleEditor<'_> {
    /// Inserts a parameter or a result into a function, all its declarations and all its calls. `argument` returns the operand
    /// for each call, in its caller: it may insert statements before the call, such as the declaration of a `.param` variable
    /// and the store of its value. Returns the operand that denotes the new parameter in the body of the function;
    /// `None` if it has no body. Linear in the module.
    ///
    /// Calls through the address of the function are changed as well, with their prototypes: all indirect calls of this module
    /// whose prototype has the type of the function. Calls from other modules are not visible here; the calls of a function
    /// that is not private to its module have to be changed by the caller of this method.
    ///
    /// ```
    /// use ptx_edit::{EditModule as _, NewParam, ParamList};
    /// use ptx_ir::Operand;
    /// use ptx_isa::ScalarType;
    /// let text = b".version 8.0\n.target sm_80\n.func f(.reg .b32 a) { ret; }\n.entry k() { call f, (1); ret; }\n";
    /// let mut module = ptx_parse::parse(text).module;
    /// let f = module.function("f").ok_or("no function")?;
    /// let new = NewParam::register(ScalarType::B32, "b");
    /// module.editor().insert_param(f, ParamList::Parameters, 1, &new, |_, _| Ok(Operand::Small(7)))?;
    /// let now = String::from_utf8(ptx_print::verbatim(&module))?;
    /// assert!(now.ends_with(".func f(.reg .b32 a, .reg .b32 b) { ret; }\n.entry k() { call f, (1, 7); ret; }\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if the address of the function is taken and its calls cannot be determined: no
    /// call has a prototype of its type, one has no prototype or lists other functions, or the address of another function of the same
    /// type is taken, and if a call has another number of arguments;
    /// [`EditError::Taken`] and [`EditError::Overlap`] if the name conflicts with another; [`EditError::NoPart`] if the index
    /// is greater than the number of parameters; and the errors of `argument`. The module is unchanged after an error.
    pub fn insert_param(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
        new: &NewParam,
        mut argument: impl FnMut(&mut Editor<'_>, StmtId) -> Result<Operand, EditError>,
    ) -> Result<Option<Operand>, EditError> {
        new.check()?;
        let change = SignatureChange::Insert(new);
        self.change_signature(function, list, index, change, |editor, stmt, operands| {
            let new = argument(editor, stmt)?;
            operands.insert(index.min(operands.len()), new);
            Ok(())
        })?;
        Ok(self.bound_operand(function, list, index))
    }

    /// Removes a parameter or a result from a function, all its declarations and all its calls. Statements of the callers that
    /// prepared the argument stay. Linear in the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if the body of the function uses the parameter, or the calls cannot be determined;
    /// [`EditError::NoPart`] if there is no such parameter. The module is unchanged after an error.
    pub fn remove_param(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
    ) -> Result<(), EditError> {
        if let Some(bound) = self.bound_operand(function, list, index) {
            let editor = self.module.edit(function)?;
            if let Some(user) = editor.first_use(|_, operand| operand == bound) {
                let name = crate::visibility::name_of(editor.body(), bound)
                    .map(|n| String::from(editor.module().name(n)));
                let place = UsePlace::statement(editor.module(), function, user);
                return Err(EditError::Used {
                    name: name.unwrap_or_default(),
                    by: UsedBy::Use(place),
                });
            }
        }
        let change = SignatureChange::Remove;
        self.change_signature(function, list, index, change, |_, _, operands| {
            if index < operands.len() {
                operands.remove(index);
            }
            Ok(())
        })
    }

    /// Changes the type of a parameter or a result in a function and all its declarations. `argument` returns the new operand
    /// of each call; its last argument is the present operand. It may insert statements before the call. Linear in the module.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`insert_param`](Self::insert_param).
    pub fn set_param_type(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
        ty: ScalarType,
        mut argument: impl FnMut(&mut Editor<'_>, StmtId, Operand) -> Result<Operand, EditError>,
    ) -> Result<(), EditError> {
        let change = SignatureChange::SetType(ty);
        self.change_signature(function, list, index, change, |editor, stmt, operands| {
            if let Some(old) = operands.get_mut(index) {
                *old = argument(editor, stmt, *old)?;
            }
            Ok(())
        })
    }

    fn change_signature(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
        edit_call: impl FnMut(&mut Editor<'_>, StmtId, &mut Vec<Operand>) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        let unedited_module = self.module.clone();
        let result = self.try_change_signature(function, list, index, change, edit_call);
        if result.is_err() {
            *self.module = unedited_module;
        }
        result
    }

    fn try_change_signature(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
        mut edit_call: impl FnMut(&mut Editor<'_>, StmtId, &mut Vec<Operand>) -> Result<(), EditError>,
    ) -> Result<(), EditError> {
        let symbol = self
            .module
            .functions()
            .get(function)
            .and_then(|f| f.symbol)
            .ok_or(EditError::NoStatement)?;
        let calls = calls_of(self.module, function, symbol)?;
        let mut count = 0;
        for id in declarations(self.module, symbol) {
            count = self.change_list(Header::Function(id), list, index, change)?;
        }
        for (caller, prototype) in calls.prototypes {
            let header = Header::Prototype(caller, prototype);
            self.change_list(header, list, index, change)?;
        }
        for (caller, call) in calls.calls {
            let mut editor = self.module.edit(caller)?;
            let (mut operands, call_list_index) = call_list(&editor, call, list)?;
            if operands.len() != count {
                let place = UsePlace::statement(editor.module(), caller, call);
                return Err(EditError::used(
                    editor.module(),
                    symbol,
                    UsedBy::Arguments(place),
                ));
            }
            edit_call(&mut editor, call, &mut operands)?;
            write_call_list(&mut editor, call, &operands, call_list_index)?;
        }
        self.symbol_changed(symbol);
        Ok(())
    }

    /// The operand that denotes a parameter in the body of the function.
    fn bound_operand(&self, function: FuncId, list: ParamList, index: usize) -> Option<Operand> {
        let record = self.module.functions().get(function)?;
        let params = list.range(&record.interface).of(self.module.params());
        let body = self.module.body(function)?;
        match params.get(index)?.binding {
            Binding::Var(var) => Some(Operand::Var(var)),
            Binding::Register(decl) => {
                let (id, _) = body.registers().iter().find(|(_, r)| r.decl == decl)?;
                Some(Operand::Reg(id))
            }
            _ => None,
        }
    }
}
