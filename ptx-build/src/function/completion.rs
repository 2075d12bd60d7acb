//! The end of a function: its text and its records become those of the module.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use ptx_ir::raw::RawBody;
use ptx_ir::{Binding, EntityId, RegDeclId, Span, StmtId, StmtSpan};
use ptx_isa::{ScalarType, StateSpace};

use super::FunctionBuilder;
use super::chunk::Chunk;
use crate::check::Parsed;
use crate::draft::{Definition, Order};

/// Moves statements to a later place in the text.
fn shift<'s>(spans: impl IntoIterator<Item = &'s mut StmtSpan>, by: u32) {
    for span in spans {
        *span = StmtSpan::new(span.span().shifted(by), span.has_comments());
    }
}

impl FunctionBuilder<'_> {
    /// Adds the function to its module, with its header and the declarations of its fresh registers.
    pub(super) fn complete(&mut self, header: &str, parsed: &Parsed, fresh: &mut Chunk) {
        let bindings = self.parameter_bindings();
        let record = self.body.record;
        let draft = &mut self.module.draft;
        draft.set_function_header(&parsed.module, parsed.start, record, bindings);
        let before = header.len().saturating_sub(fresh.text.len());
        let (start, open) = (self.module.text_len(), parsed.open_brace());
        let is_in_order = self.is_in_order();
        let text = self.module.text_mut();
        text.push_str(header.get(..before).unwrap_or_default());
        // Places of statements count from the brace.
        let at = |text: &String| text.len() as u32 - start - open;
        shift(fresh.order.iter_mut().map(|(_, span)| span), at(text));
        text.push_str(&fresh.text);
        let mut order: Order = fresh.order.clone();
        let first = at(text);
        self.body.layout(|chunk| {
            let text = self.module.text_mut();
            if !is_in_order {
                shift(chunk.order.iter_mut().map(|(_, span)| span), at(text));
                order.append(&mut chunk.order);
            }
            text.push_str(&chunk.text);
        });
        let text = self.module.text_mut();
        text.push('}');
        let end = at(text);
        if is_in_order {
            self.settle(&fresh.order, first);
        }
        let mut records = mem::take(&mut self.body.records);
        *records.base_mut() = start + open;
        *records.end_mut() = end;
        *records.closed_mut() = true;
        let definition = match is_in_order {
            true => Definition::Final(records),
            false => Definition::Ordered(records, order),
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
        let fresh = self.body.fresh.iter().filter(|f| f.highest_used > 0);
        let fresh: Vec<(ScalarType, String, RegDeclId, u32)> = fresh
            .map(|f| (f.ty, f.prefix.clone(), f.decl, f.highest_used))
            .collect();
        for (ty, prefix, decl, highest) in fresh {
            let count = u64::from(highest) + 1;
            let text = format!("{} {ty} {prefix}<{count}>;", StateSpace::Reg.text());
            let module = &mut self.module.draft.module;
            let stmt = self.body.declare_fresh(module, ty, decl, count);
            chunk.text.push('\t');
            let start = chunk.text.len();
            chunk.text.push_str(&text);
            let span = Span::at(start, chunk.text.len());
            chunk.text.push('\n');
            chunk.order.push((stmt, StmtSpan::new(span, false)));
        }
        chunk
    }

    /// Moves the declarations of fresh registers, which are the last statements, before the others, which begin at `first`.
    fn settle(&mut self, fresh: &Order, first: u32) {
        let records = &mut self.body.records;
        let (all, new) = (records.statement_table().len(), fresh.len());
        let others = all - new;
        let moved = |id: StmtId| match id.index().checked_sub(others) {
            Some(index) => StmtId::from_index(index),
            None => StmtId::from_index(id.index() + new),
        };
        let statements = records.statements_mut().values_mut();
        statements.into_slice().rotate_right(new);
        let spans = records.origins_mut();
        shift(spans.iter_mut().take(others), first);
        spans.rotate_right(new);
        for (span, (_, place)) in spans.iter_mut().zip(fresh) {
            *span = *place;
        }
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
        let mut new_ids = alloc::vec![RegDeclId::new(0); records.reg_decls().len()];
        let old = mem::take(records.reg_decls_mut());
        for (_, id) in order {
            if let (Some(decl), Some(new)) = (old.get(id), new_ids.get_mut(id.index())) {
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
