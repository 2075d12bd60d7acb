//! Statements that were parsed, as records of the function.

use alloc::vec::Vec;
use core::mem;

use ptx_ir::{Body, Operand, ScopeId, Span, Statement, StmtId};

use super::FunctionBuilder;
use crate::check::Parsed;
use crate::copy::{BodyCopier, BodyNames, Copier, NamedOperands, Relation, numbered};
use crate::handle::Dependency;

impl FunctionBuilder<'_> {
    /// Copies statements that were parsed, with their comments, if `is_imported` returns `true`.
    pub(crate) fn import(&mut self, parsed: &Parsed, is_imported: &dyn Fn(Statement) -> bool) {
        self.body.abandon();
        let Some((_, _, source)) = parsed.module.definitions().next() else {
            return;
        };
        let names = self.mentioned_names();
        let records = mem::take(&mut self.body.records);
        let scope = ScopeId::new(self.body.scope());
        let draft = &mut self.module.draft;
        let mut module = Copier::new(&parsed.module, &mut draft.module, Relation::Separate);
        for (id, symbol) in parsed.module.symbols().iter() {
            let name = numbered(&parsed.module, symbol.name, symbol.number);
            if let Some(to) = self.module.tables.symbol(&name) {
                module.map_symbol(id, to);
            }
        }
        let mut copier = BodyCopier::new(&mut module, source, records, scope);
        map_names(&mut copier.names, parsed, source, &names);
        let part = Span::at(parsed.start, parsed.end);
        self.body
            .sequence
            .add_parsed(&parsed.module, source, part, |id| {
                source.statement(id).filter(|s| is_imported(*s))?;
                copier.statement(id)
            });
        self.body.records = copier.finish();
        // Scopes of the text have numbers as well.
        while self.body.parent_scopes.len() <= self.body.records.inner_scopes().len() {
            self.body.parent_scopes.push(scope.as_u32());
        }
        let draft = &mut self.module.draft;
        draft.checker.extend_mnemonics(&draft.module);
        draft.checker.extend_body(&self.body.records);
    }

    /// The names of the entities that the statement mentions.
    fn mentioned_names(&mut self) -> NamedOperands {
        let mut names = Vec::new();
        for mention in self.body.pending.mentions.clone() {
            match mention {
                Dependency::Reg(r) => drop(self.body.record_register(r)),
                Dependency::Label(l) => drop(self.body.record_label(l)),
                _ => {}
            }
            let body = &self.body;
            let named = match mention {
                Dependency::Reg(r) => {
                    let id = body.registers.get(r).and_then(|info| info.id);
                    id.map(|id| (body.registers.name(r), Operand::Reg(id)))
                }
                Dependency::Local(v) => {
                    let info = body.locals.get(v as usize);
                    info.map(|info| (info.name.clone(), Operand::Var(info.id)))
                }
                Dependency::Label(l) => {
                    let info = body.labels.get(l as usize);
                    info.and_then(|info| Some((info.name.clone(), Operand::Label(info.id?))))
                }
                Dependency::Global(_) | Dependency::Func(_) => None,
            };
            names.extend(named);
        }
        NamedOperands::new(names)
    }
}

/// Sets the meaning in the function of names that the parsed text does not declare.
fn map_names(
    copier: &mut BodyNames<'_, '_, '_>,
    parsed: &Parsed,
    source: &Body,
    names: &NamedOperands,
) {
    let module = &parsed.module;
    let is_declared_in_text = |stmt: StmtId| {
        let is_placed = (stmt.as_u32() as usize) < source.statement_table().len();
        is_placed && parsed.contains(source.source_span(stmt).start)
    };
    for (id, register) in source.registers().iter() {
        let Some(decl) = source.reg_decls().get(register.decl) else {
            continue;
        };
        let name = numbered(module, decl.name, decl.count.map(|_| register.number));
        if let Some(Operand::Reg(to)) = names.get(&name)
            && !decl.stmt.is_some_and(is_declared_in_text)
        {
            copier.map_register(id, to);
        }
    }
    for (id, var) in source.vars().iter() {
        let name = numbered(module, var.name, var.number);
        if let Some(Operand::Var(to)) = names.get(&name)
            && !var.stmt.is_some_and(is_declared_in_text)
        {
            copier.map_var(id, to);
        }
    }
    for (id, label) in source.labels().iter() {
        if let Some(Operand::Label(to)) = names.get(module.name(label.name))
            && !is_declared_in_text(label.stmt)
        {
            copier.map_label(id, to);
        }
    }
}
