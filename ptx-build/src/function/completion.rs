//! The end of a function: its records become those of the module.

use alloc::vec::Vec;
use core::mem;

use ptx_ir::raw::RawBody;
use ptx_ir::{Binding, Body, EntityId, RegDeclId, StmtId};

use super::FunctionBuilder;
use crate::check::Parsed;
use crate::sequence::Sequence;

impl FunctionBuilder<'_> {
    /// Adds the function to its module, with its header and the declarations of its fresh registers.
    pub(super) fn complete(&mut self, parsed: &Parsed, fresh: Sequence) {
        let bindings = self.parameter_bindings();
        let record = self.body.record;
        let draft = &mut self.module.draft;
        draft.set_function_header(&parsed.module, parsed.start, record, bindings);
        let declared_last = fresh.ids().count();
        let is_in_order = self.body.is_in_order && self.body.records.prototypes().is_empty();
        let statements = self.body.take_statements(fresh);
        let mut records = mem::take(&mut self.body.records);
        if is_in_order {
            move_to_front(&mut records, declared_last);
        } else {
            records = draft.renumber(record, &records, statements.ids());
        }
        *records.closed_mut() = true;
        *records.comments_mut() = statements.comments();
        draft.add_definition(record, records);
        self.module.add_definition(&self.body);
    }

    /// Declares the fresh registers that statements mention.
    pub(super) fn declare_fresh_registers(&mut self) -> Sequence {
        let mut sequence = Sequence::default();
        for index in 0..self.body.fresh.len() {
            let fresh = self.body.fresh.get(index);
            let Some(fresh) = fresh.filter(|f| f.highest_used > 0) else {
                continue;
            };
            let (ty, decl, count) = (fresh.ty, fresh.decl, u64::from(fresh.highest_used) + 1);
            let module = &mut self.module.draft.module;
            sequence.push(self.body.declare_fresh(module, ty, decl, count));
        }
        sequence
    }
}

/// Moves the last `count` statements, which declare registers, before the others.
fn move_to_front(records: &mut Body, count: usize) {
    let first = records.statement_table().len() - count;
    let new_id = |id: StmtId| match id.index().checked_sub(first) {
        Some(index) => StmtId::from_index(index),
        None => StmtId::from_index(id.index() + count),
    };
    let statements = records.statements_mut().values_mut();
    statements.into_slice().rotate_right(count);
    for label in records.labels_mut().values_mut() {
        label.stmt = new_id(label.stmt);
    }
    for var in records.vars_mut().values_mut() {
        var.stmt = var.stmt.map(new_id);
    }
    for decl in records.reg_decls_mut().values_mut() {
        decl.stmt = decl.stmt.map(new_id);
    }
    for scope in records.inner_scopes_mut().iter_mut() {
        scope.open = new_id(scope.open);
        scope.close = scope.close.map(new_id);
    }
    sort_register_names(records);
}

/// Numbers the names of registers in the order of their declarations, without those that are not declared.
fn sort_register_names(records: &mut Body) {
    let declared = records.reg_decls().iter();
    let mut order: Vec<(StmtId, RegDeclId)> = declared
        .filter_map(|(id, decl)| Some((decl.stmt?, id)))
        .collect();
    order.sort_unstable();
    let mut new_ids = vec![RegDeclId::new(0); records.reg_decls().len()];
    let old = records.reg_decls().as_slice().to_vec();
    records.reg_decls_mut().clear();
    for (_, id) in order {
        if let (Some(decl), Some(new)) = (old.get(id.index()), new_ids.get_mut(id.index())) {
            *new = records.reg_decls_mut().push(*decl);
        }
    }
    let new_id = |id: RegDeclId| new_ids.get(id.index()).copied().unwrap_or(id);
    for register in records.registers_mut().values_mut() {
        register.decl = new_id(register.decl);
    }
    for declarator in records.declarations_mut().declarators.iter_mut() {
        if let Binding::Register(id) = &mut declarator.binding {
            *id = new_id(*id);
        }
    }
}
