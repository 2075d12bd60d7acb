//! Statements that were parsed, as records of the function.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::mem;

use ptx_ir::{Body, Operand, ScopeId, Span, Statement, StmtId, StmtSpan};

use super::FunctionBuilder;
use crate::check::Parsed;
use crate::copy::{BodyCopier, BodyNames, Copier, NamedOperands, Spellings, numbered};
use crate::handle::Dependency;

impl FunctionBuilder<'_> {
    /// Copies statements that were parsed: those that are `wanted`. `place` says where something of the parsed text, counted
    /// from its start, is in the text of the block.
    pub(crate) fn import(
        &mut self,
        parsed: &Parsed,
        place: &dyn Fn(u32) -> u32,
        wanted: &dyn Fn(Statement) -> bool,
    ) {
        let Some((_, _, from)) = parsed.module.definitions().next() else {
            return;
        };
        let names = self.mentioned_names();
        self.body.has_symbols = true;
        let records = mem::take(&mut self.body.records);
        let scope = ScopeId::new(self.body.scope());
        let mut module = Copier::new(
            &parsed.module,
            &mut self.module.draft.module,
            Spellings::Copied,
        );
        for (id, symbol) in parsed.module.symbols().iter() {
            let name = numbered(&parsed.module, symbol.name, symbol.number);
            if let Some(to) = self.module.tables.symbol(&name) {
                module.map_symbol(id, to);
            }
        }
        let mut copier = BodyCopier::new(&mut module, from, records, scope);
        map_names(&mut copier.names, parsed, from, &names);
        for (id, statement) in from.statements() {
            let span = from.source_span(id);
            if !parsed.holds(span.start) || !wanted(statement) {
                continue;
            }
            let shifted = |at: u32| place((at as usize).saturating_sub(parsed.start) as u32);
            let comments = from.stmt_spans().get(id.as_u32() as usize);
            let comments = comments.is_some_and(|s| s.has_comments());
            let span = Span::new(shifted(span.start), shifted(span.end));
            let new = copier.names.to.statement_table().next_id();
            let span = StmtSpan::new(span, comments);
            copier.statement(id, span);
            self.body.out.push(new);
        }
        self.body.records = copier.finish();
        // Scopes of the text have numbers as well.
        while self.body.outer.len() <= self.body.records.inner_scopes().len() {
            self.body.outer.push(scope.as_u32());
        }
        let draft = &mut self.module.draft;
        draft.checker.extend_mnemonics(&draft.module);
        draft.checker.extend_body(&self.body.records);
    }

    /// The names of what the statement mentions.
    fn mentioned_names(&mut self) -> NamedOperands {
        let mut names = Vec::new();
        for mention in self.body.mentions.clone() {
            match mention {
                Dependency::Reg(r) => drop(self.body.record_register(r)),
                Dependency::Label(l) => drop(self.body.record_label(l)),
                _ => {}
            }
            let body = &self.body;
            let (name, operand) = match mention {
                Dependency::Reg(r) => match body.registers.get(r as usize) {
                    Some(info) => match info.id {
                        Some(id) => (body.register_name(info), Operand::Reg(id)),
                        None => continue,
                    },
                    None => continue,
                },
                Dependency::Local(v) => match body.locals.get(v as usize) {
                    Some(info) => (info.name.as_str(), Operand::Var(info.id)),
                    None => continue,
                },
                Dependency::Label(l) => match body.labels.get(l as usize) {
                    Some(info) => match info.id {
                        Some(id) => (info.name.as_str(), Operand::Label(id)),
                        None => continue,
                    },
                    None => continue,
                },
                Dependency::Global(_) | Dependency::Func(_) => continue,
            };
            names.push((name.to_string(), operand));
        }
        NamedOperands::new(names)
    }
}

/// Gives names that the parsed text does not declare itself their meaning in the function.
fn map_names(
    copier: &mut BodyNames<'_, '_, '_>,
    parsed: &Parsed,
    from: &Body,
    names: &NamedOperands,
) {
    let module = &parsed.module;
    let meaning = |name: &str| names.get(name);
    let is_own = |stmt: StmtId| {
        let is_placed = (stmt.as_u32() as usize) < from.statement_table().len();
        is_placed && parsed.holds(from.source_span(stmt).start)
    };
    for (id, register) in from.registers().iter() {
        let Some(decl) = from.reg_decls().get(register.decl) else {
            continue;
        };
        let name = numbered(module, decl.name, decl.count.map(|_| register.number));
        if let Some(Operand::Reg(to)) = meaning(&name)
            && !decl.stmt.is_some_and(is_own)
        {
            copier.map_register(id, to);
        }
    }
    for (id, var) in from.vars().iter() {
        let name = numbered(module, var.name, var.number);
        if let Some(Operand::Var(to)) = meaning(&name)
            && !var.stmt.is_some_and(is_own)
        {
            copier.map_var(id, to);
        }
    }
    for (id, label) in from.labels().iter() {
        if let Some(Operand::Label(to)) = meaning(module.name(label.name))
            && !is_own(label.stmt)
        {
            copier.map_label(id, to);
        }
    }
}

/// Where lines that are trimmed and indented are in the new text.
#[derive(Default)]
pub(crate) struct Lines {
    /// The start of each line and where it went.
    moved: Vec<(u32, u32)>,
}

impl Lines {
    pub(crate) fn push(&mut self, from: usize, to: usize) {
        self.moved.push((from as u32, to as u32));
    }

    pub(crate) fn place(&self, at: u32) -> u32 {
        let next = self.moved.partition_point(|(from, _)| *from <= at);
        let line = next.checked_sub(1).and_then(|i| self.moved.get(i));
        line.map_or(at, |(from, to)| to + (at - from))
    }
}
