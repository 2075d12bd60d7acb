//! A body that was parsed with separate tables gets the ids of its module.

use alloc::vec::Vec;

use crate::body::Body;
use crate::entity::EntityId;
use crate::{NameId, Operand, SigId, SymbolId};

/// The ids of a module for those of other tables, by index.
#[derive(Clone, Default, Debug)]
pub struct NewIds {
    /// Spellings.
    pub names: Vec<NameId>,
    /// Mnemonics.
    pub signatures: Vec<SigId>,
    /// Variables and functions of the module.
    pub symbols: Vec<SymbolId>,
}

fn replace<I: EntityId>(id: &mut I, ids: &[I]) {
    if let Some(new) = ids.get(id.index()) {
        *id = *new;
    }
}

impl NewIds {
    /// Replaces the ids in the tables of a body that was parsed without an error. Tables that wait for their rows, or share
    /// them already, stay as they are.
    pub fn apply(&self, body: &mut Body) {
        let name = |id: &mut NameId| replace(id, &self.names);
        let operand = |operand: &mut Operand| match operand {
            Operand::Symbol(id) => replace(id, &self.symbols),
            Operand::Name(id) | Operand::Section(id) | Operand::Str(id) => name(id),
            _ => {}
        };
        body.insts
            .rows
            .update(|inst| replace(&mut inst.sig, &self.signatures));
        body.pool.operands.update(operand);
        body.pool.addresses.rows.update(|address| {
            operand(&mut address.base);
            operand(&mut address.offset);
        });
        (body.pool.immediates.rows).update(|immediate| name(&mut immediate.text));
        body.reg_decls.rows.update(|decl| name(&mut decl.name));
        body.vars.rows.update(|var| name(&mut var.name));
        body.labels.rows.update(|label| name(&mut label.name));
        body.declarations.declarators.update(|declarator| {
            name(&mut declarator.name);
            operand(&mut declarator.init);
        });
    }
}
