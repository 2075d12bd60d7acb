//! The lists of parameters of functions and prototypes: their records, and their text.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::raw::{Change, InterfaceSpans, NewText, Patch, RawBody, RawModule};
use ptx_ir::{
    Binding, FuncId, Interface, ItemId, Module, NameId, Operand, Param, PrototypeId, RegDecl,
    Register, ScopeId, Span, Statement, StmtId, SymbolId, TableRange, TypeName, Var,
};
use ptx_isa::{ScalarType, StateSpace};

use super::list::{ListChange, change_list};
use super::{NewParam, ParamList};
use crate::editor::EditModule as _;
use crate::name_conflicts::{Visible, check_new_name};
use crate::names::NameForm;
use crate::{EditError, Editor, ModuleEditor};

/// The error for a header that could not be parsed.
const INVALID_HEADER: EditError = EditError::Kind {
    wanted: "function with a valid header",
};

/// The change of one element of a list.
#[derive(Copy, Clone)]
pub(super) enum SignatureChange<'p> {
    Insert(&'p NewParam),
    Remove,
    SetType(ScalarType),
}

/// A function or a prototype, which has lists of parameters and results.
#[derive(Copy, Clone)]
pub(super) enum Header {
    /// A declaration or the definition of a function.
    Function(FuncId),
    /// A prototype in the body of a function.
    Prototype(FuncId, PrototypeId),
}

/// The place of a header: an item, or a statement of a function.
#[derive(Copy, Clone)]
enum Place {
    Item(ItemId),
    Statement(FuncId, StmtId),
}

/// The declarations and the definition of a symbol.
pub(super) fn declarations(module: &Module, symbol: SymbolId) -> Vec<FuncId> {
    module
        .functions()
        .iter()
        .filter(|(id, f)| f.symbol == Some(symbol) && Header::Function(*id).place(module).is_some())
        .map(|(id, _)| id)
        .collect()
}

impl Header {
    fn place(self, module: &Module) -> Option<Place> {
        let header_statement = match self {
            Self::Function(id) => {
                if let Some(item) = module.item_of(id) {
                    return Some(Place::Item(item));
                }
                Statement::Function(id)
            }
            Self::Prototype(_, id) => Statement::Prototype(id),
        };
        let mut bodies = module.definitions().filter(|(f, ..)| match self {
            Self::Function(_) => true,
            Self::Prototype(outer, _) => *f == outer,
        });
        bodies.find_map(|(f, _, body)| {
            let (stmt, _) = body.statements().find(|(_, s)| *s == header_statement)?;
            Some(Place::Statement(f, stmt))
        })
    }

    pub(super) fn interface(self, module: &Module) -> Option<Interface> {
        match self {
            Self::Function(id) => {
                let function = module.functions().get(id).filter(|f| !f.raw_header)?;
                Some(function.interface)
            }
            Self::Prototype(f, id) => Some(module.body(f)?.prototypes().get(id)?.interface),
        }
    }

    fn spans(self, module: &Module, place: Place) -> Option<InterfaceSpans> {
        match (self, place) {
            (Self::Function(id), _) => module.interface_spans(id),
            (Self::Prototype(..), Place::Statement(f, stmt)) => {
                let span = module.body(f)?.source_span(stmt);
                InterfaceSpans::read(span.of(module.source()), span.start)
            }
            _ => None,
        }
    }
}

impl ModuleEditor<'_> {
    /// Changes one list of a header. Returns the number of elements before the change.
    pub(super) fn change_list(
        &mut self,
        header: Header,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
    ) -> Result<usize, EditError> {
        let mut interface = header.interface(self.module).ok_or(INVALID_HEADER)?;
        let mut params = list.range(&interface).of(self.module.params()).to_vec();
        let old_count = params.len();
        let index_limit = old_count + usize::from(matches!(change, SignatureChange::Insert(_)));
        if index >= index_limit {
            return Err(EditError::NoPart(format!("parameter {index}")));
        }
        self.change_list_text(header, list, index, change)?;
        match change {
            SignatureChange::Insert(new) => {
                let param = self.new_param(header, new)?;
                params.insert(index, param);
            }
            SignatureChange::Remove => {
                params.remove(index);
            }
            SignatureChange::SetType(ty) => {
                if let Some(param) = params.get_mut(index) {
                    param.ty = TypeName::Known(ty);
                    self.set_bound_type(header, param.binding, ty);
                }
            }
        }
        let table = self.module.params_mut();
        let start = table.len() as u32;
        table.extend_from_slice(&params);
        let len = params.len() as u32;
        let range = TableRange { start, len };
        match list {
            ParamList::Parameters => (interface.params, interface.has_params) = (range, true),
            ParamList::Results => (interface.returns, interface.has_returns) = (range, true),
        }
        match header {
            Header::Function(id) => self.module.functions_mut()[id].interface = interface,
            Header::Prototype(f, id) => {
                let mut editor = self.module.edit(f)?;
                if let Some(prototype) = editor.body_mut().prototypes_mut().get_mut(id) {
                    prototype.interface = interface;
                }
            }
        }
        Ok(old_count)
    }

    /// The record of a new parameter, bound in the body if there is one.
    fn new_param(&mut self, header: Header, new: &NewParam) -> Result<Param, EditError> {
        let align = match new.align {
            0 => Operand::Absent,
            n => Operand::Small(n as i32),
        };
        let dims = new.elements.map(|n| Operand::Small(n as i32));
        let mut param = Param::new(new.space, TypeName::Known(new.ty));
        param.align = align;
        param.dims = self.module.pool_mut().extend(dims.as_slice());
        let Header::Function(id) = header else {
            return Ok(param);
        };
        if let Some(body) = self.module.body(id) {
            let visible = Visible::In(body);
            check_new_name(self.module, &new.name, NameForm::Plain, visible)?;
        }
        let name = self.intern(&new.name);
        param.name = Some(name);
        if let Ok(mut editor) = self.module.edit(id) {
            param.binding = bind_param(&mut editor, new, name);
        }
        Ok(param)
    }

    /// Sets the type of the register that is a parameter.
    fn set_bound_type(&mut self, header: Header, binding: Binding, ty: ScalarType) {
        if let (Header::Function(id), Binding::Register(decl)) = (header, binding)
            && let Ok(mut editor) = self.module.edit(id)
            && let Some(decl) = editor.body_mut().reg_decls_mut().get_mut(decl)
        {
            decl.ty = TypeName::Known(ty);
        }
    }

    /// Patches a list in the text of a header.
    fn change_list_text(
        &mut self,
        header: Header,
        list: ParamList,
        index: usize,
        change: SignatureChange<'_>,
    ) -> Result<(), EditError> {
        let param_text = match (change, header) {
            (SignatureChange::Insert(new), Header::Function(_)) => new.text(&new.name),
            (SignatureChange::Insert(new), Header::Prototype(..)) => new.text("_"),
            _ => String::new(),
        };
        let change = match change {
            SignatureChange::Insert(_) => ListChange::Insert(index, &param_text),
            SignatureChange::Remove => ListChange::Remove(index),
            SignatureChange::SetType(ty) => ListChange::SetType(index, ty),
        };
        let place = header.place(self.module).ok_or(EditError::NoStatement)?;
        let spans = header.spans(self.module, place).ok_or(INVALID_HEADER)?;
        let source_list = match list {
            ParamList::Parameters => spans.params,
            ParamList::Results => spans.results,
        };
        // A list that the source does not have is inserted after the name, or before it and a space.
        let (span, separator) = match (&source_list, list) {
            (Some(source_list), _) => (source_list.list, ""),
            (None, ParamList::Parameters) => (Span::new(spans.name.end, spans.name.end), ""),
            (None, ParamList::Results) => (Span::new(spans.name.start, spans.name.start), " "),
        };
        let current = current_text(self.module, place, span);
        // Directives may have been inserted at the place of a list that the source does not have.
        let (current_list, directives) = match (&source_list, list) {
            (None, ParamList::Parameters) => inserted_list(&current),
            _ => (&*current, ""),
        };
        let old_list = match current_list.trim_ascii() {
            "" => "()",
            list_text => list_text,
        };
        let new_list = change_list(old_list, change).ok_or(INVALID_HEADER)?;
        let new_text = format!("{new_list}{separator}{directives}");
        let text = NewText::Text(self.intern(&new_text));
        let patch = Patch { span, text };
        match place {
            Place::Item(item) => self.edits().patch(item, patch),
            Place::Statement(outer, stmt) => {
                self.module.edit(outer)?.edits().patch(stmt, patch);
            }
        }
        Ok(())
    }
}

/// The text of a part of a header with the edits so far, without text that was inserted before and after it.
fn current_text(module: &Module, place: Place, span: Span) -> String {
    let change = match place {
        Place::Item(item) => module.edits().and_then(|e| e.change(item)),
        Place::Statement(outer, stmt) => module
            .body(outer)
            .and_then(|b| b.edits())
            .and_then(|e| e.change(stmt)),
    };
    let patches = match change {
        Some(Change::Patched(patches)) => &**patches,
        _ => &[],
    };
    let inner_patches = patches
        .iter()
        .filter(|p| {
            let is_at_end = p.span.is_empty() && [span.start, span.end].contains(&p.span.start);
            span.is_empty() || !is_at_end
        })
        .copied()
        .collect();
    let text = module.patched_text(span, Some(&Change::Patched(inner_patches)));
    String::from_utf8_lossy(&text).into_owned()
}

/// Splits the text that edits inserted after the name of a function into the list of parameters at its beginning, which can be
/// empty, and the directives.
pub(crate) fn inserted_list(text: &str) -> (&str, &str) {
    let end = if text.starts_with('(') {
        text.find(')').map_or(0, |last| last + 1)
    } else {
        0
    };
    text.split_at_checked(end).unwrap_or(("", text))
}

/// Adds a register or a variable for a new parameter to the body of its function.
fn bind_param(editor: &mut Editor<'_>, new: &NewParam, name: NameId) -> Binding {
    editor.edits();
    let body = editor.body_mut();
    let scope = ScopeId::new(0);
    if new.space == StateSpace::Reg {
        let decl = body
            .reg_decls_mut()
            .push(RegDecl::new(name, TypeName::Known(new.ty), scope));
        body.registers_mut().push(Register::new(decl, 0));
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
