//! Editing signatures: parameters and results of a function, together with its declarations and its calls.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::edit_log::{Change, NewText, Patch};
use ptx_ir::facts::{Callees, ModuleFacts};
use ptx_ir::raw::{RawBody, RawEdits, RawModule};
use ptx_ir::{
    Binding, FuncId, Function, Item, Module, NameId, Operand, Param, RegDecl, Register, ScopeId,
    Span, Statement, StmtId, SymbolId, TableRange, TypeName, Var,
};
use ptx_isa::{Directive, ScalarType, StateSpace};

use crate::editor::EditModule as _;
use crate::name_conflicts::{Visible, check_new_name};
use crate::names::NameForm;
use crate::param_list::{ListChange, change_list};
use crate::{EditError, Editor, ModuleEditor};

/// One of the two lists of a signature.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum ParamList {
    /// What the caller passes.
    Parameters,
    /// What the function returns.
    Results,
}

/// A parameter or a result to be inserted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewParam {
    space: StateSpace,
    ty: ScalarType,
    name: String,
    align: u32,
    elements: Option<u32>,
}

impl NewParam {
    /// `.param .ty name`
    #[must_use]
    pub fn new(ty: ScalarType, name: impl Into<String>) -> Self {
        Self {
            space: StateSpace::Param,
            ty,
            name: name.into(),
            align: 0,
            elements: None,
        }
    }

    /// `.reg .ty name`, for functions that pass values in registers.
    #[must_use]
    pub fn register(ty: ScalarType, name: impl Into<String>) -> Self {
        Self {
            space: StateSpace::Reg,
            ..Self::new(ty, name)
        }
    }

    /// The same with an alignment in bytes, a power of two.
    #[must_use]
    pub fn with_align(mut self, align: u32) -> Self {
        self.align = align;
        self
    }

    /// The same as an array of this many elements.
    #[must_use]
    pub fn with_elements(mut self, elements: u32) -> Self {
        self.elements = Some(elements);
        self
    }

    fn check(&self) -> Result<(), EditError> {
        let wrong = |wanted, n: u32| EditError::Spelling {
            wanted,
            text: n.to_string(),
        };
        if self.align > 0 && (!self.align.is_power_of_two() || self.align >= 1 << 30) {
            return Err(wrong("alignment", self.align));
        }
        match self.elements {
            Some(n) if i32::try_from(n).is_err() => Err(wrong("size", n)),
            _ => Ok(()),
        }
    }

    fn text(&self) -> String {
        let mut text = String::from(self.space.text());
        if self.align > 0 {
            text += &alloc::format!(" {} {}", Directive::Align.text(), self.align);
        }
        text += &alloc::format!(" {} {}", self.ty.text(), self.name);
        if let Some(n) = self.elements {
            text += &alloc::format!("[{n}]");
        }
        text
    }
}

/// What happens to one element of a list.
#[derive(Copy, Clone)]
enum SignatureChange<'p> {
    Insert(&'p NewParam),
    Remove,
    SetType(ScalarType),
}

/// A direct call: its function, its statement, and the indices of its operands.
struct Call {
    caller: FuncId,
    stmt: StmtId,
}

impl ModuleEditor<'_> {
    /// Inserts a parameter or a result into a function, all its declarations and all its calls. `argument` gives the operand
    /// for each call, in its caller: it may insert statements before the call, such as the declaration of a `.param` variable
    /// and the store of its value. Returns what the function's body uses for the new parameter; `None` if the function has no
    /// body. Linear in the module.
    ///
    /// Calls from other modules are not visible here: of a function that is not private to its module, they have to be
    /// changed as well.
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
    /// [`EditError::Used`] if the address of the function is taken, so that indirect calls may reach it;
    /// [`EditError::Taken`] and [`EditError::Overlap`] if the name conflicts with another; [`EditError::NoPart`] if the index
    /// is greater than the number of parameters; and the errors of `argument`. Nothing has changed then.
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
        Ok(self.bound(function, list, index))
    }

    /// Removes a parameter or a result from a function, all its declarations and all its calls. Statements of the callers that
    /// prepared the argument stay. Linear in the module.
    ///
    /// # Errors
    ///
    /// [`EditError::Used`] if the body of the function uses the parameter, or the address of the function is taken;
    /// [`EditError::NoPart`] if there is no such parameter. Nothing has changed then.
    pub fn remove_param(
        &mut self,
        function: FuncId,
        list: ParamList,
        index: usize,
    ) -> Result<(), EditError> {
        if let Some(bound) = self.bound(function, list, index) {
            let editor = self.module.edit(function)?;
            if editor.first_use(|_, operand| operand == bound).is_some() {
                let name = crate::visibility::name_of(editor.body(), bound);
                let name = name.map(|n| String::from(editor.module().name(n)));
                return Err(EditError::Used(name.unwrap_or_default()));
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

    /// Changes the type of a parameter or a result in a function and all its declarations. `argument` gives the operand for
    /// each call from the present one; it may insert statements before the call. Linear in the module.
    ///
    /// # Errors
    ///
    /// As for [`insert_param`](Self::insert_param).
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
        let before = self.module.clone();
        let result = self.try_change_signature(function, list, index, change, edit_call);
        if result.is_err() {
            *self.module = before;
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
        let record = self.module.functions().get(function);
        let symbol = record
            .and_then(|f| f.symbol)
            .ok_or(EditError::NoStatement)?;
        let calls = direct_calls(self.module, symbol)?;
        let functions = self.module.functions().iter();
        let declarations: Vec<FuncId> = functions
            .filter(|(id, f)| f.symbol == Some(symbol) && is_placed(self.module, *id))
            .map(|(id, _)| id)
            .collect();
        let mut count = 0;
        for &id in &declarations {
            count = self.change_declaration(id, list, index, change)?;
        }
        for call in calls {
            let mut editor = self.module.edit(call.caller)?;
            let (mut operands, at) = call_list(&editor, call.stmt, symbol, list)?;
            if operands.len() != count {
                let name =
                    String::from(editor.module().name(editor.module().symbols()[symbol].name));
                return Err(EditError::Used(name));
            }
            edit_call(&mut editor, call.stmt, &mut operands)?;
            write_call_list(&mut editor, call.stmt, &operands, at)?;
        }
        self.symbol_changed(symbol);
        Ok(())
    }

    /// Changes one declaration or the definition; gives the number of elements before.
    fn change_declaration(
        &mut self,
        id: FuncId,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
    ) -> Result<usize, EditError> {
        let function = self.module.functions()[id];
        if function.raw_header {
            let wanted = "function with a valid header";
            return Err(EditError::Kind { wanted });
        }
        let range = range_of(&function, list);
        let mut params = range.of(self.module.params()).to_vec();
        let count = params.len();
        let last = count + usize::from(matches!(change, SignatureChange::Insert(_)));
        if index >= last {
            return Err(EditError::NoPart(alloc::format!("parameter {index}")));
        }
        self.change_header_text(id, list, index, change)?;
        match change {
            SignatureChange::Insert(new) => {
                let param = self.new_param(id, new)?;
                params.insert(index, param);
            }
            SignatureChange::Remove => {
                params.remove(index);
            }
            SignatureChange::SetType(ty) => {
                if let Some(param) = params.get_mut(index) {
                    param.ty = TypeName::Known(ty);
                    self.set_bound_type(id, param.binding, ty);
                }
            }
        }
        let table = self.module.params_mut();
        let start = table.len() as u32;
        table.extend_from_slice(&params);
        let len = params.len() as u32;
        let interface = &mut self.module.functions_mut()[id].interface;
        match list {
            ParamList::Parameters => {
                (interface.params, interface.has_params) = (TableRange { start, len }, true);
            }
            ParamList::Results => {
                (interface.returns, interface.has_returns) = (TableRange { start, len }, true);
            }
        }
        Ok(count)
    }

    /// The record of a new parameter, bound in the body if there is one.
    fn new_param(&mut self, id: FuncId, new: &NewParam) -> Result<Param, EditError> {
        if let Some(body) = self.module.body(id) {
            let visible = Visible::In(body);
            check_new_name(self.module, &new.name, NameForm::Plain, visible)?;
        }
        let name = self.intern(&new.name);
        let binding = match self.module.edit(id) {
            Ok(mut editor) => bind_param(&mut editor, new, name),
            Err(_) => Binding::None,
        };
        let align = match new.align {
            0 => Operand::Absent,
            n => Operand::Small(n as i32),
        };
        let dims = new.elements.map(|n| Operand::Small(n as i32));
        Ok(Param {
            space: new.space,
            align,
            vector: 1,
            ty: TypeName::Known(new.ty),
            trailing_align: Operand::Absent,
            ptr: None,
            name: Some(name),
            binding,
            dims: self.module.pool_mut().extend(dims.as_slice()),
        })
    }

    fn set_bound_type(&mut self, id: FuncId, binding: Binding, ty: ScalarType) {
        if let Binding::Register(decl) = binding
            && let Ok(mut editor) = self.module.edit(id)
            && let Some(decl) = editor.body_mut().reg_decls_mut().get_mut(decl)
        {
            decl.ty = TypeName::Known(ty);
        }
    }

    /// What the body of a function uses for a parameter.
    fn bound(&self, function: FuncId, list: ParamList, index: usize) -> Option<Operand> {
        let record = self.module.functions().get(function)?;
        let param = range_of(record, list).of(self.module.params()).get(index)?;
        let body = self.module.body(function)?;
        match param.binding {
            Binding::Var(var) => Some(Operand::Var(var)),
            Binding::Register(decl) => {
                let mut registers = body.registers().iter();
                let (id, _) = registers.find(|(_, r)| r.decl == decl)?;
                Some(Operand::Reg(id))
            }
            _ => None,
        }
    }

    /// Patches the list in the text of a header.
    fn change_header_text(
        &mut self,
        id: FuncId,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
    ) -> Result<(), EditError> {
        let new = match change {
            SignatureChange::Insert(new) => new.text(),
            _ => String::new(),
        };
        let change = match change {
            SignatureChange::Insert(_) => ListChange::Insert(index, &new),
            SignatureChange::Remove => ListChange::Remove(index),
            SignatureChange::SetType(ty) => ListChange::SetType(index, ty),
        };
        let wanted = "function with a valid header";
        let spans = self.module.interface_spans(id);
        let spans = spans.ok_or(EditError::Kind { wanted })?;
        let written = match list {
            ParamList::Parameters => spans.params,
            ParamList::Results => spans.results,
        };
        // A list that the source does not have is inserted after the name, or before it.
        let (span, before, after) = match (written, list) {
            (Some(list), _) => (list.list, "", ""),
            (None, ParamList::Parameters) => (Span::new(spans.name.end, spans.name.end), "", ""),
            (None, ParamList::Results) => (Span::new(spans.name.start, spans.name.start), "", " "),
        };
        let place = header_place(self.module, id).ok_or(EditError::NoStatement)?;
        let current = current_text(self.module, place, span);
        let current = match current.trim_ascii() {
            "" => "()",
            text => text,
        };
        let text = change_list(current, change).ok_or(EditError::Kind { wanted })?;
        let text = NewText::Text(self.intern(&alloc::format!("{before}{text}{after}")));
        let patch = Patch { span, text };
        match place {
            HeaderPlace::Item(item) => self.edits().patch(item, patch),
            HeaderPlace::Statement(outer, stmt) => {
                self.module.edit(outer)?.edits().patch(stmt, patch);
            }
        }
        Ok(())
    }
}

/// Where a header is: an item, or a statement of another function.
#[derive(Copy, Clone)]
enum HeaderPlace {
    Item(ptx_ir::ItemId),
    Statement(FuncId, StmtId),
}

fn header_place(module: &Module, id: FuncId) -> Option<HeaderPlace> {
    let mut items = module.items();
    if let Some((item, _)) = items.find(|(_, i)| *i == Item::Function(id)) {
        return Some(HeaderPlace::Item(item));
    }
    module.definitions().find_map(|(outer, _, body)| {
        let mut all = body.statements();
        let found = all.find(|(_, s)| *s == Statement::Function(id))?;
        Some(HeaderPlace::Statement(outer, found.0))
    })
}

fn is_placed(module: &Module, id: FuncId) -> bool {
    header_place(module, id).is_some()
}

/// The text of a part of a header with the edits so far.
fn current_text(module: &Module, place: HeaderPlace, span: Span) -> String {
    let change = match place {
        HeaderPlace::Item(item) => module.edits().and_then(|e| e.change(item)),
        HeaderPlace::Statement(outer, stmt) => {
            let body = module.body(outer);
            body.and_then(|b| b.edits()).and_then(|e| e.change(stmt))
        }
    };
    let text = module.patched_text(span, change.filter(|c| matches!(c, Change::Patched(_))));
    String::from_utf8_lossy(&text).into_owned()
}

fn range_of(function: &Function, list: ParamList) -> TableRange {
    match list {
        ParamList::Parameters => function.interface.params,
        ParamList::Results => function.interface.returns,
    }
}

fn bind_param(editor: &mut Editor<'_>, new: &NewParam, name: NameId) -> Binding {
    editor.edits();
    let body = editor.body_mut();
    let scope = ScopeId::new(0);
    if new.space == StateSpace::Reg {
        let decl = body.reg_decls_mut().push(RegDecl {
            name,
            count: None,
            ty: TypeName::Known(new.ty),
            vector: 1,
            scope,
            stmt: None,
        });
        body.registers_mut().push(Register { decl, number: 0 });
        editor.registers = None;
        return Binding::Register(decl);
    }
    Binding::Var(body.vars_mut().push(Var {
        name,
        number: None,
        space: new.space,
        scope,
        stmt: None,
    }))
}

/// All calls of a function.
///
/// # Errors
///
/// [`EditError::Used`] if something else uses it.
fn direct_calls(module: &Module, symbol: SymbolId) -> Result<Vec<Call>, EditError> {
    let name = module.symbols().get(symbol).map(|s| module.name(s.name));
    let used = || EditError::Used(String::from(name.unwrap_or_default()));
    let is_it = |o: Operand| o == Operand::Symbol(symbol);
    let pool = module.pool();
    let bases = pool.addresses().iter().map(|a| a.base);
    if pool.operands().iter().copied().chain(bases).any(is_it) {
        return Err(used());
    }
    let facts = ModuleFacts::new(module);
    let mut calls = Vec::new();
    for (caller, _, body) in module.definitions() {
        let facts = facts.function(caller);
        for (stmt, statement) in body.statements() {
            let uses = body
                .walk(statement)
                .operands()
                .filter(|o| is_it(*o))
                .count();
            if uses == 0 {
                continue;
            }
            let callees = match (statement, &facts) {
                (Statement::Inst(inst), Some(facts)) => facts.inst(inst).callees(),
                _ => None,
            };
            if uses > 1 || callees != Some(Callees::Function(symbol)) {
                return Err(used());
            }
            calls.push(Call { caller, stmt });
        }
    }
    Ok(calls)
}

/// Where a list of a call is among its operands.
#[derive(Copy, Clone)]
enum CallList {
    /// At this index.
    At(usize),
    /// It would be inserted at this index.
    Absent(usize),
}

/// The elements of a list of a call.
fn call_list(
    editor: &Editor<'_>,
    stmt: StmtId,
    symbol: SymbolId,
    list: ParamList,
) -> Result<(Vec<Operand>, CallList), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let body = editor.body();
    let operands = body.operands(id);
    let callee = operands.iter().position(|o| *o == Operand::Symbol(symbol));
    let callee = callee.ok_or(EditError::NoPart(String::from("callee")))?;
    let (index, absent) = match list {
        ParamList::Parameters => (Some(callee + 1), callee + 1),
        ParamList::Results => (callee.checked_sub(1), callee),
    };
    let found = index.and_then(|i| Some((i, operands.get(i)?)));
    Ok(match found {
        Some((i, &Operand::List(id))) => (body.pool().list(id).to_vec(), CallList::At(i)),
        _ => (Vec::new(), CallList::Absent(absent)),
    })
}

fn write_call_list(
    editor: &mut Editor<'_>,
    stmt: StmtId,
    elements: &[Operand],
    at: CallList,
) -> Result<(), EditError> {
    let (id, _) = editor.instruction(stmt)?;
    let mut operands = editor.body().operands(id).to_vec();
    match (at, elements.is_empty()) {
        (CallList::At(i), false) => {
            let list = editor.list(elements)?;
            return editor.set_operand(stmt, i, list);
        }
        (CallList::At(i), true) => {
            operands.remove(i);
        }
        (CallList::Absent(i), false) => {
            let list = editor.list(elements)?;
            operands.insert(i.min(operands.len()), list);
        }
        (CallList::Absent(_), true) => return Ok(()),
    }
    editor.set_operands(stmt, &operands)
}
