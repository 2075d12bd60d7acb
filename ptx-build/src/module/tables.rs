//! The names that a module has so far.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::{Code, FuncId, FunctionKind, SymbolId};

use crate::error::{BuildError, BuildErrorKind, discarded, not_finished};
use crate::handle::{Dependency, Func, Variable};
use crate::handle_owner::{Handle, HandleOwners};
use crate::interface::FunctionHeader;
use crate::name_table::{Meaning, NameTable};

/// A variable of the module.
#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: String,
    /// Its declaration without the initial value.
    pub(crate) text: String,
    pub(crate) symbol: SymbolId,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) kind: FunctionKind,
    pub(crate) interface: FunctionHeader,
    /// The last declaration of it without a body; empty where there is none.
    pub(crate) declared: String,
    pub(super) is_defined: bool,
    /// Whether statements were checked by its interface since it was declared or begun.
    pub(super) is_fixed: bool,
    pub(crate) symbol: SymbolId,
    /// Its last record.
    pub(super) record: FuncId,
    /// Whether the record has no parameters so far.
    pub(super) lacks_header: bool,
    pub(crate) declaration_state: DeclState,
}

/// The part of the module in which a function can be mentioned.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum DeclState {
    /// The body of the function itself, until it is finished.
    Open,
    /// A scope of another function, until that is finished.
    Nested { owner: u32, scope: u32 },
    /// No part: the function was discarded before it was finished.
    Discarded,
    /// Everything that follows.
    Declared,
}

/// The variables, functions and names that the module has so far.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) owner: u32,
    pub(crate) header: String,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) names: NameTable,
    pub(crate) handle_owners: HandleOwners,
}

impl Tables {
    /// A variable of this module, used in a function or, without a name of one, outside.
    pub(crate) fn global(&self, var: Variable, place: Option<&str>) -> Result<&Global, BuildError> {
        let global = self.globals.get(var.index as usize);
        let global = global.filter(|_| var.owner == self.owner);
        global.ok_or_else(|| self.handle_owners.refuse(Handle::Var(var), place))
    }

    /// A function of this module, used in a function or outside.
    pub(crate) fn func(&self, func: Func, place: Option<&str>) -> Result<&Function, BuildError> {
        let function = self
            .functions
            .get(func.index as usize)
            .filter(|_| func.owner == self.owner)
            .ok_or_else(|| self.handle_owners.refuse(Handle::Func(func), place))?;
        match (place, function.declaration_state) {
            (_, DeclState::Discarded) => Err(discarded(&function.name)),
            (None, DeclState::Open | DeclState::Nested { .. }) => Err(not_finished(&function.name)),
            _ => Ok(function),
        }
    }

    /// Forgets a function; its handles are refused from now on.
    pub(super) fn remove_function(&mut self, index: u32) {
        if let Some(f) = self.functions.get_mut(index as usize) {
            f.declaration_state = DeclState::Discarded;
            self.names.set(&f.name, None);
        }
    }

    /// Statements were checked that mention these.
    pub(crate) fn fix(&mut self, mentions: &[Dependency]) {
        for mention in mentions {
            if let Dependency::Func(f) = mention
                && let Some(f) = self.functions.get_mut(*f as usize)
            {
                f.is_fixed = true;
            }
        }
    }

    /// Refuses to change an interface that statements were checked by.
    pub(crate) fn check_change(&self, func: Func) -> Result<(), BuildError> {
        match self.functions.get(func.index as usize) {
            Some(f) if f.is_fixed => BuildErrorKind::Argument.refuse(
                Code::Prototype,
                format!(
                    "`{}` is mentioned already with the interface that it had",
                    f.name
                ),
                "say what it takes and returns before statements mention it",
            ),
            _ => Ok(()),
        }
    }

    /// A variable as a declaration, for statements that mention it.
    pub(crate) fn global_text(&self, var: u32) -> String {
        let global = self.globals.get(var as usize);
        global.map_or(String::new(), |g| format!("{}\n", g.text))
    }

    /// A variable or function by its name.
    pub(crate) fn symbol(&self, name: &str) -> Option<SymbolId> {
        match self.names.get(name)?.1 {
            Meaning::Global(index) => Some(self.globals.get(index as usize)?.symbol),
            Meaning::Function(index) => Some(self.functions.get(index as usize)?.symbol),
            _ => None,
        }
    }

    /// The interface of a function as a declaration, for statements that mention it.
    pub(crate) fn prototype(&self, func: u32) -> String {
        let Some(f) = self.functions.get(func as usize) else {
            return String::new();
        };
        let header = f.interface.shape().header(f.kind, &f.name);
        format!("{};\n", header.unwrap_or_default())
    }
}
