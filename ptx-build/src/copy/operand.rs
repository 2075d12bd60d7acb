//! Copies operands and declarations from the tables of a module or a body to those of another one.

use alloc::vec::Vec;

use ptx_ir::{
    Attribute, Binding, DeclId, Declarations, Declarator, Immediate, NameId, Operand, OperandPool,
    OperandRange, TableRange, TypeName, VarDecl,
};

/// The ids of names in the destination of a copy.
pub(super) trait Leaves {
    fn name(&mut self, name: NameId) -> NameId;

    /// A register, a variable, a label or a name of the module.
    fn leaf(&mut self, operand: Operand) -> Operand;
}

/// Copies an operand that has no parts.
fn copy_leaf(
    leaves: &mut impl Leaves,
    source: &OperandPool,
    target: &mut OperandPool,
    operand: Operand,
) -> Operand {
    match operand {
        Operand::Reg(_) | Operand::Var(_) | Operand::Label(_) | Operand::Symbol(_) => {
            leaves.leaf(operand)
        }
        Operand::Name(name) => Operand::Name(leaves.name(name)),
        Operand::Section(name) => Operand::Section(leaves.name(name)),
        Operand::Str(name) => Operand::Str(leaves.name(name)),
        Operand::Imm(id) => match source.immediate(id) {
            Some(Immediate { text, value, .. }) => {
                let immediate = Immediate::new(leaves.name(*text), *value);
                Operand::Imm(target.add_immediate(immediate))
            }
            None => Operand::Absent,
        },
        other => other,
    }
}

/// Copies an operand with all its parts.
pub(super) fn copy_operand(
    leaves: &mut impl Leaves,
    source: &OperandPool,
    target: &mut OperandPool,
    operand: Operand,
) -> Operand {
    target.import_one(source, operand, |target, leaf| {
        copy_leaf(leaves, source, target, leaf)
    })
}

/// Copies a range of operands.
pub(super) fn copy_range(
    leaves: &mut impl Leaves,
    source: &OperandPool,
    target: &mut OperandPool,
    range: OperandRange,
) -> OperandRange {
    target.import(source, source.slice(range), |target, leaf| {
        copy_leaf(leaves, source, target, leaf)
    })
}

/// Copies the declarations of a module or a body.
pub(super) trait CopyDeclarations<'f> {
    fn source(&self) -> &'f Declarations;
    fn target(&mut self) -> &mut Declarations;
    fn name(&mut self, name: NameId) -> NameId;
    fn operand(&mut self, operand: Operand) -> Operand;
    fn range(&mut self, range: OperandRange) -> OperandRange;

    /// The binding of a name of the declaration `new`.
    fn bind(&mut self, declarator: &Declarator, decl: VarDecl, new: DeclId) -> Binding;

    fn type_name(&mut self, ty: TypeName) -> TypeName {
        match ty {
            TypeName::Unknown(name) => TypeName::Unknown(self.name(name)),
            TypeName::Known(_) => ty,
        }
    }

    fn attributes(&mut self, range: TableRange) -> TableRange {
        let mut copied = Vec::with_capacity(range.len as usize);
        for attribute in range.of(&self.source().attributes) {
            copied.push(match *attribute {
                Attribute::Unified(a, b) => Attribute::Unified(self.operand(a), self.operand(b)),
                Attribute::Unknown(name) => Attribute::Unknown(self.name(name)),
                other => other,
            });
        }
        let table = &mut self.target().attributes;
        let start = table.len() as u32;
        table.extend(copied);
        TableRange { start, ..range }
    }

    fn declaration(&mut self, id: DeclId) -> Option<DeclId> {
        let decl = *self.source().decls.get(id)?;
        let mut copied = decl;
        copied.bank = self.operand(decl.bank);
        copied.attributes = self.attributes(decl.attributes);
        copied.align = self.operand(decl.align);
        copied.ty = self.type_name(decl.ty);
        copied.declarators.start = self.target().declarators.len() as u32;
        let new = self.target().decls.push(copied);
        for declarator in self.source().declarators(id) {
            let (count, dims) = (self.operand(declarator.count), self.range(declarator.dims));
            let binding = self.bind(declarator, decl, new);
            let mut copied = Declarator::new(self.name(declarator.name), binding);
            (copied.count, copied.dims) = (count, dims);
            copied.init = self.operand(declarator.init);
            self.target().declarators.push(copied);
        }
        Some(new)
    }
}
