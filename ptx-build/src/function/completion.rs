//! The end of a function: its text and its records become those of the module.

use alloc::vec::Vec;
use core::fmt::Write as _;
use core::mem;

use ptx_ir::raw::{RawBody, split_off};
use ptx_ir::{Binding, EntityId, RegDeclId, Span, StmtId, StmtSpan};
use ptx_isa::StateSpace;

use super::FunctionBuilder;
use super::chunk::Chunk;
use crate::check::Parsed;
use crate::draft::{Definition, Order};

/// Moves a statement to another place in the text.
fn shift(span: &mut StmtSpan, from: u32, to: u32) {
    let old = span.span();
    *span = StmtSpan::new(
        Span::new(old.start - from + to, old.end - from + to),
        span.has_comments(),
    );
}

impl FunctionBuilder<'_> {
    /// Adds the function to its module, with its header and the declarations of its fresh registers.
    pub(super) fn complete(&mut self, header: &str, parsed: &Parsed, fresh: Chunk) {
        let bindings = self.parameter_bindings();
        let record = self.body.record;
        let draft = &mut self.module.draft;
        draft.set_function_header(&parsed.module, parsed.start, record, bindings);
        // The brace is after the newline.
        let (start, open) = (self.module.text_len(), header.len() as u32 + 1);
        let is_in_order = self.is_in_order();
        let mut order = Order::new();
        let text = self.module.text_mut();
        text.push_str(header);
        text.push_str("\n{\n");
        let declared_last = fresh.ids().count();
        for chunk in self.body.layout(fresh) {
            // Places of statements count from the brace.
            let at = self.module.text_len() - start - open;
            let records = &mut self.body.records;
            let spans = records.origins_mut();
            for (first, end) in &chunk.statements {
                let spans = spans.get_mut(*first as usize..*end as usize);
                for span in spans.unwrap_or_default() {
                    shift(span, chunk.cut, at);
                }
            }
            if !is_in_order {
                let spans = records.stmt_spans();
                let placed = chunk.ids().map(|id| (id, spans.get(id.index())));
                order.extend(placed.filter_map(|(id, span)| Some((id, *span?))));
            }
            self.module.text_mut().push_text(chunk.text);
        }
        self.module.text_mut().push_str("}");
        if is_in_order {
            self.settle(declared_last);
        }
        let records = &mut self.body.records;
        *records.base_mut() = start + open;
        *records.end_mut() = self.module.text_len() - start - open;
        *records.closed_mut() = true;
        let definition = Definition {
            body: match self.body.shares_tables {
                true => split_off(records),
                false => mem::take(records),
            },
            order: (!is_in_order).then_some(order),
            has_symbols: self.body.has_symbols,
        };
        self.module.add_definition(&self.body, definition, start);
    }

    /// Whether the records need not be copied to be numbered like those of a parsed function.
    fn is_in_order(&self) -> bool {
        self.body.is_in_order && self.body.records.prototypes().is_empty()
    }

    /// Declarations of the fresh registers that statements mention.
    pub(super) fn fresh_registers(&mut self) -> Chunk {
        let mut chunk = Chunk::default();
        for index in 0..self.body.fresh.len() {
            let fresh = self.body.fresh.get(index);
            let Some(fresh) = fresh.filter(|f| f.highest_used > 0) else {
                continue;
            };
            let (ty, decl, count) = (fresh.ty, fresh.decl, u64::from(fresh.highest_used) + 1);
            chunk.text.push(b'\t');
            let start = chunk.text.len();
            let _ = writeln!(
                chunk.text,
                "{} {ty} {}<{count}>;",
                StateSpace::Reg.text(),
                fresh.prefix
            );
            let span = StmtSpan::new(Span::at(start, chunk.text.len() - 1), false);
            let module = &mut self.module.draft.module;
            chunk.push(self.body.declare_fresh(module, ty, decl, count, span));
        }
        chunk
    }

    /// Moves the declarations of fresh registers, which are the last `new` statements, before the others.
    fn settle(&mut self, new: usize) {
        let records = &mut self.body.records;
        let others = records.statement_table().len() - new;
        let moved = |id: StmtId| match id.index().checked_sub(others) {
            Some(index) => StmtId::from_index(index),
            None => StmtId::from_index(id.index() + new),
        };
        let statements = records.statements_mut().values_mut();
        statements.into_slice().rotate_right(new);
        records.origins_mut().rotate_right(new);
        for label in records.labels_mut().values_mut() {
            label.stmt = moved(label.stmt);
        }
        for var in records.vars_mut().values_mut() {
            var.stmt = var.stmt.map(moved);
        }
        for decl in records.reg_decls_mut().values_mut() {
            decl.stmt = decl.stmt.map(moved);
        }
        for scope in records.inner_scopes_mut().iter_mut() {
            scope.open = moved(scope.open);
            scope.close = scope.close.map(moved);
        }
        self.sort_register_names();
    }

    /// Numbers the names of registers in the order of their declarations, without those that are not declared.
    fn sort_register_names(&mut self) {
        let records = &mut self.body.records;
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
}
