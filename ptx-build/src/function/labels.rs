//! Labels, tables and scopes.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::raw::RawBody;
use ptx_ir::{Code, FunctionKind, Scope, ScopeId, Statement};
use ptx_isa::Directive;

use super::{FunctionBuilder, Meaning};
use crate::declaration::Declaration;
use crate::declared::{LabelInfo, Table};
use crate::error::{BuildError, BuildErrorKind, hidden};
use crate::handle::{CodeLabel, Func};
use crate::handle_owner::Handle;
use crate::interface::FunctionHeader;
use crate::operand::{IntoOperands, OperandExpr};

/// An entry of a table of labels.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum BranchTarget {
    /// A label.
    Label(CodeLabel),
    /// A number of labels `case0`, `case1`, …, written as `case<4>`: the first label and the number.
    Range(CodeLabel, u32),
}

impl From<CodeLabel> for BranchTarget {
    fn from(label: CodeLabel) -> Self {
        Self::Label(label)
    }
}

impl FunctionBuilder<'_> {
    /// A fresh label, to be [placed](Self::place) somewhere.
    pub fn label(&mut self) -> CodeLabel {
        loop {
            self.body.fresh_labels += 1;
            let name = format!("$L_{}", self.body.fresh_labels);
            let is_free = !self.module.tables.names.contains(&name);
            let index = self.body.labels.len() as u32;
            // No other name of the function is equal, so that the label can be placed in any scope.
            if is_free
                && !self.body.names.contains(&name)
                && self.claim_outside(&name, Meaning::Label(index)).is_ok()
            {
                return self.push_label(name, None);
            }
        }
    }

    /// A label with a name, to be placed in the scope that is open.
    ///
    /// # Errors
    ///
    /// The name is invalid or taken.
    pub fn named_label(&mut self, name: &str) -> Result<CodeLabel, BuildError> {
        self.claim(name, Meaning::Label(self.body.labels.len() as u32))?;
        let home = self.body.scope();
        Ok(self.push_label(name.to_string(), Some(home)))
    }

    /// The label that has a name here.
    #[must_use]
    pub fn local_label(&self, name: &str) -> Option<CodeLabel> {
        match self.body.names.get(name)? {
            (_, Meaning::Label(index)) => Some(CodeLabel {
                owner: self.body.owner,
                index,
            }),
            _ => None,
        }
    }

    fn push_label(&mut self, name: String, home: Option<u32>) -> CodeLabel {
        let index = self.body.labels.len() as u32;
        let record = self.module.draft.intern(&name);
        self.body.labels.push(LabelInfo {
            id: None,
            record,
            name,
            visible: true,
            place: None,
            home,
            waiting: Vec::new(),
            table: None,
        });
        CodeLabel {
            owner: self.body.owner,
            index,
        }
    }

    /// The label of a handle of this function.
    pub(super) fn label_info(&self, label: CodeLabel) -> Result<&LabelInfo, BuildError> {
        let owners = &self.module.tables.handle_owners;
        let info = self.body.label(label);
        info.ok_or_else(|| owners.refuse(Handle::Label(label), Some(&self.body.name)))
    }

    /// Places a label: jumps to it come here.
    ///
    /// # Errors
    ///
    /// The label is placed already, belongs to another function, or was mentioned outside the scope that is open.
    pub fn place(&mut self, label: CodeLabel) -> Result<(), BuildError> {
        let info = self.label_info(label)?;
        if !info.visible {
            return Err(hidden("label", &info.name));
        }
        if info.place.is_some() {
            let message = format!("the label `{}` is placed already", info.name);
            let help = "a label is placed once: make another one with `label`";
            return Err(BuildError::new(BuildErrorKind::Duplicate, message, help));
        }
        let current_scope = self.body.scope();
        let mut waiting = info.waiting.iter();
        if info.home.is_some_and(|home| home != current_scope)
            || !waiting.all(|scope| self.body.is_inside(*scope, current_scope))
        {
            let message = format!(
                "the label `{}` cannot be placed in this scope: it was named in another one, or a statement outside mentions it",
                info.name
            );
            let help = "place it where the scope is closed: what is inside a scope cannot be jumped to from outside";
            return BuildErrorKind::Scope.refuse(Code::LabelOutOfScope, message, help);
        }
        let name = info.name.clone();
        let depth = self.body.depth();
        if info.home.is_none() && depth > 1 {
            // The label is the only meaning of its name in the scope.
            self.bind(&name, Meaning::Label(label.index), depth);
        }
        if let Some(info) = self.body.labels.get_mut(label.index as usize) {
            info.place = Some(current_scope);
            info.visible = true;
        }
        self.body.abandon();
        let (id, scope) = (
            self.body.record_label(label.index),
            ScopeId::new(current_scope),
        );
        let stmt = self.body.push_statement(Statement::Label(id));
        if let Some(record) = self.body.records.labels_mut().get_mut(id) {
            (record.stmt, record.scope) = (stmt, scope);
        }
        Ok(())
    }

    /// The name of a label of this function; empty for others.
    #[must_use]
    pub fn name_of_label(&self, label: CodeLabel) -> &str {
        self.body.label(label).map_or("", |info| &info.name)
    }

    /// A fresh label, placed here: the beginning of a block.
    ///
    /// # Errors
    ///
    /// As [`place`](Self::place).
    pub fn block(&mut self) -> Result<CodeLabel, BuildError> {
        let label = self.label();
        self.place(label)?;
        Ok(label)
    }

    /// `.branchtargets`: a table of labels, or of ranges of labels, for an indexed jump.
    ///
    /// # Errors
    ///
    /// A target is not a label of this function that can be branched to, or a range is incomplete.
    pub fn branch_targets<T: Into<BranchTarget> + Copy>(
        &mut self,
        targets: &[T],
    ) -> Result<CodeLabel, BuildError> {
        let label = self.label();
        self.place_branch_targets(label, targets)?;
        Ok(label)
    }

    /// Places a label that exists already before a [table of labels](Self::branch_targets).
    ///
    /// # Errors
    ///
    /// As [`branch_targets`](Self::branch_targets) and [`place`](Self::place).
    pub fn place_branch_targets<T: Into<BranchTarget> + Copy>(
        &mut self,
        label: CodeLabel,
        targets: &[T],
    ) -> Result<(), BuildError> {
        let (mut labels, mut names) = (Vec::new(), Vec::new());
        for &target in targets {
            let first = labels.len();
            match target.into() {
                BranchTarget::Label(entry) => {
                    labels.push(OperandExpr::Label(entry));
                    names.push(self.name_of_label(entry).to_string());
                }
                BranchTarget::Range(first_label, count) => {
                    let name = self.name_of_label(first_label);
                    let stem = name.strip_suffix('0').unwrap_or(name);
                    let members = (0..count).map_while(|n| self.local_label(&format!("{stem}{n}")));
                    labels.extend(members.map(OperandExpr::Label));
                    if labels.len() - first != count as usize
                        || labels.get(first) != Some(&first_label.into())
                    {
                        let message = format!("`{stem}<{count}>` are not {count} labels here");
                        let help = "pass the first label of a range whose other labels have the next numbers in their names";
                        return Err(BuildError::new(BuildErrorKind::Argument, message, help));
                    }
                    names.push(format!("{stem}<{count}>"));
                }
            }
        }
        for target in &labels {
            let OperandExpr::Label(target) = target else {
                continue;
            };
            if let Some(info) = self.body.label(*target).filter(|info| info.table.is_some()) {
                let message = format!(
                    "the label `{}` is a table and no place to jump to",
                    info.name
                );
                let help = "list labels that are placed before statements";
                return BuildErrorKind::Argument.refuse(Code::OperandKind, message, help);
            }
        }
        self.mention(&labels)?;
        // The table mentions them after its own label.
        self.body.is_in_order = false;
        let text = format!("{} {};", Directive::Branchtargets, names.join(", "));
        self.place_table(label, text)
    }

    /// `.calltargets`: a table of functions for an indirect call.
    ///
    /// # Errors
    ///
    /// A target is not a function that is declared before, or is a kernel.
    pub fn call_targets(&mut self, functions: &[Func]) -> Result<CodeLabel, BuildError> {
        let label = self.label();
        self.place_call_targets(label, functions)?;
        Ok(label)
    }

    /// Places a label that exists already before a [table of functions](Self::call_targets).
    ///
    /// # Errors
    ///
    /// As [`call_targets`](Self::call_targets) and [`place`](Self::place).
    pub fn place_call_targets(
        &mut self,
        label: CodeLabel,
        functions: &[Func],
    ) -> Result<(), BuildError> {
        let mut names = Vec::new();
        for function in functions {
            let tables = &self.module.tables;
            let callee = tables.func(*function, Some(&self.body.name))?;
            if callee.kind == FunctionKind::Entry {
                let message = format!("`{}` is a kernel and cannot be called", callee.name);
                let help = "only functions are called: put what both need into one";
                return BuildErrorKind::Argument.refuse(Code::CallTarget, message, help);
            }
            names.push(callee.name.clone());
        }
        let functions: Vec<OperandExpr> =
            functions.iter().copied().map(OperandExpr::Func).collect();
        self.mention(&functions)?;
        let text = format!("{} {};", Directive::Calltargets, names.join(", "));
        self.place_table(label, text)
    }

    /// `.callprototype`: the interface of the functions that an indirect call may call.
    ///
    /// # Errors
    ///
    /// A parameter or result is illegal.
    pub fn call_prototype(
        &mut self,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<CodeLabel, BuildError> {
        let label = self.label();
        let interface = FunctionHeader {
            returns: returns.iter().map(Declaration::unnamed).collect(),
            params: params.iter().map(Declaration::unnamed).collect(),
            ..FunctionHeader::default()
        };
        self.place_prototype(label, &interface)?;
        Ok(label)
    }

    /// `.callprototype` with any header, at a label that exists already.
    ///
    /// # Errors
    ///
    /// As [`call_prototype`](Self::call_prototype) and [`place`](Self::place).
    pub fn place_prototype(
        &mut self,
        label: CodeLabel,
        interface: &FunctionHeader,
    ) -> Result<(), BuildError> {
        let text = interface.prototype()?;
        self.body.abandon();
        self.body.pending.mentions.clear();
        self.place_table(label, text)
    }

    /// Records the names that the operands of a directive mention.
    fn mention(&mut self, operands: &[OperandExpr]) -> Result<(), BuildError> {
        self.body.abandon();
        self.body.pending.mentions.clear();
        operands.write_all(&mut self.writer(false));
        match self.body.pending.error.take() {
            Some(error) => {
                self.body.forget_mentions();
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Places a label with a table that mentions the pending names.
    fn place_table(&mut self, label: CodeLabel, text: String) -> Result<(), BuildError> {
        let mentions = self.body.pending.mentions.clone();
        let name = self.name_of_label(label).to_string();
        let is_branch_target =
            (self.body.label(label)).is_some_and(|info| !info.waiting.is_empty());
        let placed = if is_branch_target {
            BuildErrorKind::Argument.refuse(
                Code::LateDeclaration,
                format!("the label `{name}` is mentioned as a place to jump to, and cannot be a table"),
                "make another label for the table, and place it before the statements that mention it",
            )
        } else if name.is_empty() {
            Ok(None)
        } else {
            self.check(&format!("{name}: {text}"), &mentions).map(Some)
        };
        let placed = placed.and_then(|parsed| {
            self.with_declarations(|f| {
                f.place(label)?;
                if let Some(parsed) = parsed {
                    f.import(&parsed, &|s| !matches!(s, Statement::Label(_)));
                }
                Ok(())
            })
        });
        if let Err(error) = placed {
            self.body.forget_mentions();
            return Err(error);
        }
        if let Some(info) = self.body.labels.get_mut(label.index as usize) {
            info.table = Some(Table { text, mentions });
            let id = info.id;
            self.enter();
            let checker = &mut self.module.draft.checker;
            if let Some(id) = id {
                checker.declare_table(&self.body.records, id);
            }
        }
        Ok(())
    }

    /// Opens a scope: `{`. Its declarations are not visible outside.
    pub fn open(&mut self) {
        let parent = ScopeId::new(self.body.scope());
        let id = ScopeId::new(self.body.parent_scopes.len() as u32);
        self.body.abandon();
        let open = self.body.push_statement(Statement::Open(id));
        self.body
            .records
            .inner_scopes_mut()
            .push(Scope::new(parent, open));
        self.body.push_scope();
    }

    /// Closes the scope that was opened last: `}`.
    ///
    /// # Errors
    ///
    /// No inner scope is open.
    pub fn close(&mut self) -> Result<(), BuildError> {
        if self.body.scopes.len() < 2 {
            let message = format!("no scope of `{}` is open", self.body.name);
            let help = "`close` closes what `open` opened; `finish` ends the function";
            return BuildErrorKind::Scope.refuse(Code::StrayBrace, message, help);
        }
        self.body.abandon();
        let scope = self.body.scopes.pop().unwrap_or_default();
        for (name, outer) in &scope.names {
            self.unbind(name, *outer);
        }
        for range in &scope.ranges {
            if let Some(range) = self.body.ranges.get_mut(*range as usize) {
                range.is_open = false;
            }
        }
        let id = ScopeId::new(scope.id);
        let close = self.body.push_statement(Statement::Close(id));
        let scopes = self.body.records.inner_scopes_mut();
        if let Some(record) = scopes.get_mut((scope.id as usize).wrapping_sub(1)) {
            record.close = Some(close);
        }
        Ok(())
    }
}
