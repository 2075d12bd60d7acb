//! Labels, tables and scopes.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write as _;

use ptx_isa::Directive;

use super::body::{LabelInfo, Table};
use super::{FunctionBuilder, Meaning};
use crate::declaration::Declaration;
use crate::error::{Error, Kind};
use crate::operand::{Func, IntoOperands, Label, Operand};

impl FunctionBuilder<'_> {
    /// A fresh label, to be [placed](Self::place) somewhere.
    pub fn label(&mut self) -> Label {
        loop {
            self.body.fresh_labels += 1;
            let name = format!("$L_{}", self.body.fresh_labels);
            let free = !self.module.tables.names.contains(&name);
            if free && self.claim(&name, Meaning::Label).is_ok() {
                return self.push_label(name, None);
            }
        }
    }

    /// A label with a name.
    pub fn named_label(&mut self, name: &str) -> Result<Label, Error> {
        self.claim(name, Meaning::Label)?;
        Ok(self.push_label(name.to_string(), None))
    }

    pub(super) fn push_label(&mut self, name: String, table: Option<Table>) -> Label {
        let index = self.body.labels.len() as u32;
        self.body.labels.push(LabelInfo {
            name,
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
        if info.placed {
            let message = format!("the label `{}` is placed already", info.name);
            return Err(Error::new(Kind::Duplicate, message));
        }
        info.placed = true;
        let text = format!("{}:", info.name);
        self.label_line(&text);
        Ok(())
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

    /// `.branchtargets`: a table of labels for an indexed jump.
    pub fn branch_targets(&mut self, labels: &[Label]) -> Result<Label, Error> {
        let labels: Vec<Operand> = labels.iter().copied().map(Operand::Label).collect();
        self.table(Directive::Branchtargets, &labels)
    }

    /// `.calltargets`: a table of functions for an indirect call.
    pub fn call_targets(&mut self, functions: &[Func]) -> Result<Label, Error> {
        let functions: Vec<Operand> = functions.iter().copied().map(Operand::Func).collect();
        self.table(Directive::Calltargets, &functions)
    }

    /// `.callprototype`: what an indirect call calls.
    pub fn call_prototype(
        &mut self,
        returns: &[Declaration],
        params: &[Declaration],
    ) -> Result<Label, Error> {
        let list = |all: &[Declaration]| {
            let all: Vec<String> = all.iter().map(Declaration::nameless).collect();
            format!("({})", all.join(", "))
        };
        let mut text = format!("{} ", Directive::Callprototype);
        if !returns.is_empty() {
            let _ = write!(text, "{} ", list(returns));
        }
        let _ = write!(text, "_ {};", list(params));
        self.body.mentions.clear();
        self.add_table(text)
    }

    pub(super) fn table(&mut self, directive: Directive, of: &[Operand]) -> Result<Label, Error> {
        let at = self.body.text.len();
        self.body.abandon();
        self.body.mentions.clear();
        let mut writer = self.writer(true);
        writer.push(directive.text());
        of.write_all(&mut writer);
        writer.push(";");
        let text = self.body.text.get(at..).unwrap_or_default().to_string();
        self.body.text.truncate(at);
        if let Some(error) = self.body.error.take() {
            return Err(error);
        }
        self.add_table(text)
    }

    pub(super) fn add_table(&mut self, text: String) -> Result<Label, Error> {
        let mentions = core::mem::take(&mut self.body.mentions);
        let label = self.label();
        let name = self
            .body
            .labels
            .last()
            .map_or(String::new(), |l| l.name.clone());
        let line = format!("{name}: {text}");
        if let Err(error) = self.check(&line, &mentions) {
            self.body.labels.pop();
            return Err(error);
        }
        self.label_line(&format!("{name}:"));
        self.body.line(&text);
        if let Some(info) = self.body.labels.get_mut(label.index as usize) {
            info.placed = true;
            info.table = Some(Table { text, mentions });
        }
        Ok(label)
    }

    /// Opens a scope: `{`. What is declared in it is not visible outside.
    pub fn open(&mut self) {
        self.body.line("{");
        self.body.scopes.push(Vec::new());
    }

    /// Closes the scope that was opened last: `}`.
    pub fn close(&mut self) -> Result<(), Error> {
        if self.body.scopes.len() < 2 {
            let message = format!("no scope of `{}` is open", self.body.name);
            return Err(Error::new(Kind::Scope, message));
        }
        self.body.abandon();
        for name in self.body.scopes.pop().unwrap_or_default() {
            let meanings = self.body.names.get_mut(&name);
            let inner = meanings.and_then(|m| m.pop());
            let outer = self.body.names.get(&name).and_then(|m| m.last()).copied();
            if outer.is_none() {
                self.body.names.remove(&name);
            }
            if let Some(inner) = inner {
                self.show(inner, false);
            }
            if let Some(outer) = outer {
                self.show(outer, true);
            }
        }
        self.body.line("}");
        Ok(())
    }
}
