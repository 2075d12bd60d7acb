//! Labels, tables and scopes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_isa::Directive;

use super::body::{LabelInfo, Scope, Table};
use super::{FunctionBuilder, Meaning};
use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::interface::Interface;
use crate::operand::{Func, IntoOperands, Label, Operand};

/// An entry of a table of labels.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BranchTarget {
    /// A label.
    Label(Label),
    /// So many labels, `case0`, `case1`, …, written as `case<4>`; given is the first.
    Range(Label, u32),
}

impl From<Label> for BranchTarget {
    fn from(label: Label) -> Self {
        Self::Label(label)
    }
}

impl FunctionBuilder<'_> {
    /// A fresh label, to be [placed](Self::place) somewhere.
    pub fn label(&mut self) -> Label {
        loop {
            self.body.fresh_labels += 1;
            let name = format!("$L_{}", self.body.fresh_labels);
            let free = !self.module.tables.names.contains(&name);
            let index = self.body.labels.len() as u32;
            // Its name is its own, so that it can be placed in any scope.
            if free
                && !self.body.names.contains_key(&name)
                && self.claim_outside(&name, Meaning::Label(index)).is_ok()
            {
                return self.push_label(name, None);
            }
        }
    }

    /// A label with a name, to be placed in the scope that is open.
    pub fn named_label(&mut self, name: &str) -> Result<Label, Error> {
        self.claim(name, Meaning::Label(self.body.labels.len() as u32))?;
        Ok(self.push_label(name.to_string(), None))
    }

    /// The label that has a name here.
    pub fn local_label(&self, name: &str) -> Option<Label> {
        match self.body.names.get(name)?.last()? {
            (_, Meaning::Label(index)) => Some(Label {
                owner: self.body.owner,
                index: *index,
            }),
            _ => None,
        }
    }

    pub(super) fn push_label(&mut self, name: String, table: Option<Table>) -> Label {
        let index = self.body.labels.len() as u32;
        self.body.labels.push(LabelInfo {
            name,
            visible: true,
            placed: table.is_some(),
            used: false,
            table,
        });
        Label {
            owner: self.body.owner,
            index,
        }
    }

    /// Places a label: jumps to it come here.
    pub fn place(&mut self, label: Label) -> Result<(), Error> {
        let known = self.body.labels.get_mut(label.index as usize);
        let Some(info) = known.filter(|_| label.owner == self.body.owner) else {
            let message = format!("a label that does not belong to `{}`", self.body.name);
            return Err(Error::new(Kind::Foreign, message));
        };
        if !info.visible {
            let message = format!("the scope of the label `{}` is closed", info.name);
            return Err(Error::new(Kind::Scope, message));
        }
        if info.placed {
            let message = format!("the label `{}` is placed already", info.name);
            return Err(Error::new(Kind::Duplicate, message));
        }
        info.placed = true;
        let text = format!("{}:", info.name);
        self.label_line(&text);
        Ok(())
    }

    /// The name of a label of this function; empty for others.
    pub fn name_of_label(&self, label: Label) -> &str {
        let known = self.body.labels.get(label.index as usize);
        let known = known.filter(|_| label.owner == self.body.owner);
        known.map_or("", |l| &l.name)
    }

    pub(super) fn label_line(&mut self, text: &str) {
        let body = &mut self.body;
        body.abandon();
        for _ in 1..body.scopes.len().min(33) {
            body.text.push('\t');
        }
        body.text.push_str(text);
        body.text.push('\n');
        body.committed = body.text.len();
    }

    /// A fresh label, placed here: the beginning of a block.
    pub fn block(&mut self) -> Result<Label, Error> {
        let label = self.label();
        self.place(label)?;
        Ok(label)
    }

    /// `.branchtargets`: a table of labels, or of ranges of labels, for an indexed jump.
    pub fn branch_targets<T: Into<BranchTarget> + Copy>(
        &mut self,
        targets: &[T],
    ) -> Result<Label, Error> {
        let label = self.label();
        self.place_branch_targets(label, targets)?;
        Ok(label)
    }

    /// The same behind a label that is there already.
    pub fn place_branch_targets<T: Into<BranchTarget> + Copy>(
        &mut self,
        label: Label,
        targets: &[T],
    ) -> Result<(), Error> {
        let (mut labels, mut names) = (Vec::new(), Vec::new());
        for &target in targets {
            let first = labels.len();
            match target.into() {
                BranchTarget::Label(one) => {
                    labels.push(Operand::Label(one));
                    names.push(self.name_of_label(one).to_string());
                }
                BranchTarget::Range(zero, count) => {
                    let name = self.name_of_label(zero);
                    let stem = name.strip_suffix('0').unwrap_or(name);
                    let all = (0..count).map_while(|n| self.local_label(&format!("{stem}{n}")));
                    labels.extend(all.map(Operand::Label));
                    if labels.len() - first != count as usize
                        || labels.get(first) != Some(&zero.into())
                    {
                        let message = format!("`{stem}<{count}>` are not {count} labels here");
                        return Err(Error::new(Kind::Argument, message));
                    }
                    names.push(format!("{stem}<{count}>"));
                }
            }
        }
        self.mention(Directive::Branchtargets, &labels)?;
        let text = format!("{} {};", Directive::Branchtargets, names.join(", "));
        self.place_table(label, text)
    }

    /// `.calltargets`: a table of functions for an indirect call.
    pub fn call_targets(&mut self, functions: &[Func]) -> Result<Label, Error> {
        let label = self.label();
        self.place_call_targets(label, functions)?;
        Ok(label)
    }

    /// The same behind a label that is there already.
    pub fn place_call_targets(&mut self, label: Label, functions: &[Func]) -> Result<(), Error> {
        let functions: Vec<Operand> = functions.iter().copied().map(Operand::Func).collect();
        let text = self.mention(Directive::Calltargets, &functions)?;
        self.place_table(label, text)
    }

    /// `.callprototype`: what an indirect call calls.
    pub fn call_prototype(
        &mut self,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<Label, Error> {
        let unnamed = |all: &[Declaration]| all.iter().map(Declaration::unnamed).collect();
        let label = self.label();
        let interface = Interface {
            returns: unnamed(returns),
            params: unnamed(params),
            ..Interface::default()
        };
        self.place_prototype(label, &interface)?;
        Ok(label)
    }

    /// `.callprototype` with all that may be said in it, behind a label that is there already.
    pub fn place_prototype(&mut self, label: Label, interface: &Interface) -> Result<(), Error> {
        let text = interface.prototype()?;
        self.body.abandon();
        self.body.mentions.clear();
        self.place_table(label, text)
    }

    /// A directive with operands, which are noted.
    fn mention(&mut self, directive: Directive, of: &[Operand]) -> Result<String, Error> {
        self.body.abandon();
        let at = self.body.text.len();
        self.body.mentions.clear();
        let mut writer = self.writer(true);
        writer.push(directive.text());
        of.write_all(&mut writer);
        writer.push(";");
        let text = self.body.text.get(at..).unwrap_or_default().to_string();
        self.body.text.truncate(at);
        self.body.error.take().map_or(Ok(text), Err)
    }

    /// Places a label with a table that mentions what was noted.
    fn place_table(&mut self, label: Label, text: String) -> Result<(), Error> {
        let mentions = core::mem::take(&mut self.body.mentions);
        let name = self.name_of_label(label).to_string();
        if !name.is_empty() {
            self.check(&format!("{name}: {text}"), &mentions)?;
        }
        self.place(label)?;
        self.body.line(&text);
        if let Some(info) = self.body.labels.get_mut(label.index as usize) {
            info.table = Some(Table { text, mentions });
        }
        Ok(())
    }

    /// Opens a scope: `{`. What is declared in it is not visible outside.
    pub fn open(&mut self) {
        self.body.line("{");
        self.body.scopes.push(Scope::default());
    }

    /// Closes the scope that was opened last: `}`.
    pub fn close(&mut self) -> Result<(), Error> {
        if self.body.scopes.len() < 2 {
            let message = format!("no scope of `{}` is open", self.body.name);
            return Err(Error::new(Kind::Scope, message));
        }
        self.body.abandon();
        let scope = self.body.scopes.pop().unwrap_or_default();
        for name in scope.names {
            let meanings = self.body.names.get_mut(&name);
            let inner = meanings.and_then(|m| m.pop());
            let outer = self.body.names.get(&name).and_then(|m| m.last()).copied();
            if outer.is_none() {
                self.body.names.remove(&name);
            }
            if let Some((_, inner)) = inner {
                self.show(inner, false);
            }
            if let Some((_, outer)) = outer {
                self.show(outer, true);
            }
        }
        for range in scope.ranges {
            if let Some(range) = self.body.ranges.get_mut(range as usize) {
                range.is_open = false;
            }
        }
        self.body.line("}");
        Ok(())
    }
}
