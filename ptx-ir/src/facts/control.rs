//! The control flow after an instruction.

use alloc::vec::Vec;

use hashbrown::HashMap;
use ptx_isa::internals::Control;
use ptx_isa::{Access, Directive, Role};

use super::Facts;
use super::inst_facts::Part;
use super::registers::plain;
use crate::{
    Body, EntityId as _, Interface, LabelId, Module, Operand, PrototypeId, Statement, SymbolId,
    SymbolKind,
};

/// The effect of an instruction on control flow when it executes.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Flow {
    /// The next instruction follows.
    Next,
    /// Control goes to a label.
    Jump,
    /// Control goes to one label of a table.
    Table,
    /// A function is called, which may return.
    Call,
    /// Control returns to the caller; a kernel ends.
    Return,
    /// The thread ends.
    Exit,
    /// The kernel is aborted.
    Trap,
    /// The instruction is unknown.
    Unknown,
}

/// A table of labels: `.branchtargets L0, L1;`
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TargetList<'a> {
    /// The label of the table.
    pub label: LabelId,
    /// The operands as written: labels or functions, undefined names, ranges of labels.
    pub operands: &'a [Operand],
}

/// The labels a jump may go to.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Targets<'a> {
    /// The instruction does not jump.
    None,
    /// One label.
    Label(LabelId),
    /// One label of a list.
    List(TargetList<'a>),
    /// Any label of the function.
    Unknown,
}

/// The functions a call may reach.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Callees<'a> {
    /// One function.
    Function(SymbolId),
    /// One of a list of functions, through its address.
    List(TargetList<'a>),
    /// Any function of a prototype, through its address.
    Prototype(PrototypeId),
    /// Any function.
    Unknown,
}

impl<'a> Facts<'a> {
    /// The effect on control flow when the instruction executes; a guard may prevent that.
    #[must_use]
    pub fn flow(&self) -> Flow {
        match self.form.control {
            _ if !self.is_known() => Flow::Unknown,
            None => Flow::Next,
            Some(Control::Jump) => Flow::Jump,
            Some(Control::Table) => Flow::Table,
            Some(Control::Call) => Flow::Call,
            Some(Control::Return) => Flow::Return,
            Some(Control::Exit) => Flow::Exit,
            Some(Control::Trap) => Flow::Trap,
            Some(_) => Flow::Unknown,
        }
    }

    pub(super) fn is_call(&self) -> bool {
        self.form.control == Some(Control::Call)
    }

    /// Returns whether control may reach the next instruction.
    #[must_use]
    pub fn falls_through(&self) -> bool {
        self.guard().is_some()
            || match self.flow() {
                Flow::Next | Flow::Unknown => true,
                Flow::Call => !self.never_returns(),
                _ => false,
            }
    }

    /// The labels that the instruction may jump to.
    #[must_use]
    pub fn targets(&self) -> Targets<'a> {
        let role = match self.flow() {
            Flow::Jump => Role::Label,
            Flow::Table => Role::LabelTable,
            Flow::Unknown => return Targets::Unknown,
            _ => return Targets::None,
        };
        match self.operand_with_role(role) {
            Some(Operand::Label(label)) if role == Role::Label => Targets::Label(label),
            Some(Operand::Label(label)) => match branch_targets(self.body, label) {
                Some(operands) => Targets::List(TargetList { label, operands }),
                None => Targets::Unknown,
            },
            _ => Targets::Unknown,
        }
    }

    /// The functions that a call may reach; `None` for any other instruction.
    #[must_use]
    pub fn callees(&self) -> Option<Callees<'a>> {
        if !self.is_call() {
            return None;
        }
        let callee = self
            .operand_with_role(Role::Func)
            .map(|o| plain(self.body, o).0);
        if let Some(Operand::Symbol(symbol)) = callee {
            return Some(Callees::Function(symbol));
        }
        let Some(Operand::Label(label)) = self.operand_with_role(Role::LabelTable) else {
            return Some(Callees::Unknown);
        };
        Some(match statement_after(self.body, label) {
            Some(Statement::Prototype(id)) => Callees::Prototype(id),
            Some(Statement::Directive(id)) => match self.body.directives.get(id) {
                Some(list) if list.directive == Directive::Calltargets => {
                    let operands = self.body.pool.slice(list.args);
                    Callees::List(TargetList { label, operands })
                }
                _ => Callees::Unknown,
            },
            _ => Callees::Unknown,
        })
    }

    /// Returns whether the instruction is a call of functions that never return.
    #[inline]
    #[must_use]
    pub fn never_returns(&self) -> bool {
        self.never_returns
    }

    /// The lists of results and arguments of a call, with the access to each.
    pub fn call_lists(&self) -> impl Iterator<Item = (&'a [Operand], Access)> + use<'a> {
        let facts = *self;
        let parts = facts.form.parts.iter();
        parts.filter_map(move |part| facts.call_list(part))
    }

    /// The list of results or arguments of a call that a part of its form denotes, with the access to it.
    pub(super) fn call_list(&self, part: &Part) -> Option<(&'a [Operand], Access)> {
        let access = match part.role {
            Role::Rets => Access::Write,
            Role::Args => Access::Read,
            _ => return None,
        };
        match self.operand_at(part) {
            Some(Operand::List(id)) => Some((self.body.pool.list(id), access)),
            _ => None,
        }
    }
}

/// The statement after a label.
fn statement_after(body: &Body, label: LabelId) -> Option<Statement> {
    let next = body.after(body.labels.get(label)?.stmt)?;
    body.statements.get(next).copied()
}

/// The functions and tables whose calls never return. Each function, and each table and prototype of a body, is examined once.
pub(super) struct NoReturn {
    functions: Vec<bool>,
    labels: HashMap<LabelId, bool>,
}

impl NoReturn {
    pub(super) fn new(module: &Module) -> Self {
        Self {
            functions: module
                .functions
                .values()
                .map(|f| is_noreturn(module, f.interface))
                .collect(),
            labels: HashMap::new(),
        }
    }

    /// Forgets the labels of the previous body.
    pub(super) fn enter_body(&mut self) {
        self.labels.clear();
    }

    pub(super) fn contains(&mut self, call: &Facts<'_>) -> bool {
        let callees = call.callees();
        if let Some(Callees::Function(symbol)) = callees {
            return self.has_function(call.module, symbol);
        }
        let Some(Operand::Label(label)) = call.operand_with_role(Role::LabelTable) else {
            return false;
        };
        if let Some(&never_returns) = self.labels.get(&label) {
            return never_returns;
        }
        let noreturn = match callees {
            Some(Callees::List(list)) => {
                let mut operands = list.operands.iter();
                !list.operands.is_empty()
                    && operands.all(
                        |o| matches!(o, Operand::Symbol(s) if self.has_function(call.module, *s)),
                    )
            }
            Some(Callees::Prototype(id)) => {
                let prototype = call.body.prototypes.get(id);
                prototype.is_some_and(|p| is_noreturn(call.module, p.interface))
            }
            _ => false,
        };
        self.labels.insert(label, noreturn);
        noreturn
    }

    fn has_function(&self, module: &Module, symbol: SymbolId) -> bool {
        match module.symbols.get(symbol).map(|s| s.kind) {
            Some(SymbolKind::Function(id)) => self.functions.get(id.index()) == Some(&true),
            _ => false,
        }
    }
}

fn is_noreturn(module: &Module, interface: Interface) -> bool {
    let mut directives = interface.directives.of(&module.interface_directives).iter();
    directives.any(|d| d.directive == Directive::Noreturn)
}

/// The table of labels that a label names.
pub(super) fn branch_targets(body: &Body, label: LabelId) -> Option<&[Operand]> {
    let Some(Statement::Directive(id)) = statement_after(body, label) else {
        return None;
    };
    let list = body.directives.get(id)?;
    (list.directive == Directive::Branchtargets).then(|| body.pool.slice(list.args))
}
