//! Operands and declarations, from the tables of one module or body to those of another one.

use alloc::vec::Vec;

use ptx_ir::{
    Address, Attribute, Binding, DeclId, Declarations, Declarator, Immediate, NameId, Operand,
    OperandParts, OperandPool, OperandRange, TableRange, TypeName, VarDecl,
};

/// What names become.
pub(super) trait Leaves {
    fn name(&mut self, name: NameId) -> NameId;

    /// A register, a variable, a label or a name of the module.
    fn leaf(&mut self, operand: Operand) -> Operand;
}

/// Copies an operand with all its parts.
pub(super) fn copy_operand(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    operand: Operand,
) -> Operand {
    let parts = match operand.parts() {
        OperandParts::Leaf => return copy_leaf(leaves, from, to, operand),
        OperandParts::Address(id) => {
            let Some(address) = from.address(id).copied() else {
                return Operand::Absent;
            };
            let base = copy_operand(leaves, from, to, address.base);
            let offset = copy_operand(leaves, from, to, address.offset);
            OperandParts::Address(to.add_address(Address::new(base, offset, address.form)))
        }
        OperandParts::List(id) => {
            let copied = copy_all(leaves, from, to, from.list(id));
            OperandParts::List(to.add_list(&copied))
        }
        OperandParts::One(at) => {
            let part = copy_operand(leaves, from, to, from.get(at));
            OperandParts::One(to.extend(&[part]).at(0))
        }
        OperandParts::Two(at) => {
            let (first, second) = from.pair(at);
            let copied = copy_all(leaves, from, to, &[first, second]);
            OperandParts::Two(to.extend(&copied).at(0))
        }
    };
    operand.with_parts(parts)
}

fn copy_leaf(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    operand: Operand,
) -> Operand {
    match operand {
        Operand::Reg(_) | Operand::Var(_) | Operand::Label(_) | Operand::Symbol(_) => {
            leaves.leaf(operand)
        }
        Operand::Name(name) => Operand::Name(leaves.name(name)),
        Operand::Section(name) => Operand::Section(leaves.name(name)),
        Operand::Str(name) => Operand::Str(leaves.name(name)),
        Operand::Imm(id) => match from.immediate(id) {
            Some(Immediate { text, value, .. }) => {
                let immediate = Immediate::new(leaves.name(*text), *value);
                Operand::Imm(to.add_immediate(immediate))
            }
            None => Operand::Absent,
        },
        other => other,
    }
}

fn copy_all(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    parts: &[Operand],
) -> Vec<Operand> {
    let mut copied = Vec::with_capacity(parts.len());
    for part in parts {
        copied.push(copy_operand(leaves, from, to, *part));
    }
    copied
}

/// Copies a range of operands.
pub(super) fn copy_range(
    leaves: &mut impl Leaves,
    from: &OperandPool,
    to: &mut OperandPool,
    range: OperandRange,
) -> OperandRange {
    if range.is_empty() {
        return OperandRange::default();
    }
    let copied = copy_all(leaves, from, to, from.slice(range));
    to.extend(&copied)
}

/// Copies the declarations of a module or a body.
pub(super) trait CopyDeclarations<'f> {
    fn from(&self) -> &'f Declarations;
    fn to(&mut self) -> &mut Declarations;
    fn name(&mut self, name: NameId) -> NameId;
    fn operand(&mut self, operand: Operand) -> Operand;
    fn range(&mut self, range: OperandRange) -> OperandRange;

    /// What a name of the declaration `new` declares.
    fn bind(&mut self, declarator: &Declarator, decl: VarDecl, new: DeclId) -> Binding;

    fn type_name(&mut self, ty: TypeName) -> TypeName {
        match ty {
            TypeName::Unknown(name) => TypeName::Unknown(self.name(name)),
            known => known,
        }
    }

    fn attributes(&mut self, range: TableRange) -> TableRange {
        let mut copied = Vec::with_capacity(range.len as usize);
        for attribute in range.of(&self.from().attributes) {
            copied.push(match *attribute {
                Attribute::Managed => Attribute::Managed,
                Attribute::Unified(a, b) => Attribute::Unified(self.operand(a), self.operand(b)),
                Attribute::Unknown(name) => Attribute::Unknown(self.name(name)),
            });
        }
        let table = &mut self.to().attributes;
        let start = table.len() as u32;
        table.extend(copied);
        TableRange { start, ..range }
    }

    fn declaration(&mut self, id: DeclId) -> Option<DeclId> {
        let decl = *self.from().decls.get(id)?;
        let mut copied = decl;
        copied.bank = self.operand(decl.bank);
        copied.attributes = self.attributes(decl.attributes);
        copied.align = self.operand(decl.align);
        copied.ty = self.type_name(decl.ty);
        copied.declarators.start = self.to().declarators.len() as u32;
        let new = self.to().decls.push(copied);
        for declarator in self.from().declarators(id) {
            let (count, dims) = (self.operand(declarator.count), self.range(declarator.dims));
            let binding = self.bind(declarator, decl, new);
            let mut copied = Declarator::new(self.name(declarator.name), binding);
            (copied.count, copied.dims) = (count, dims);
            copied.init = self.operand(declarator.init);
            self.to().declarators.push(copied);
        }
        Some(new)
    }
}
