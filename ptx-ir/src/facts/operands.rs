//! The operands of an instruction with the facts that its form states about each.

use ptx_isa::{Marks, ResultUniformity, Role, ScalarType};

use super::inst_facts::Part;
use super::{Facts, RegAccess};
use crate::Operand;

/// An operand of an instruction with the facts that the form of the instruction states about it.
#[derive(Copy, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TypedOperand {
    /// The index among the operands of the form. Optional operands that are not written have an index, too.
    pub index: usize,
    /// The name in the syntax of the form, such as `d` or `a`.
    pub name: &'static str,
    /// The purpose of the operand.
    pub role: Role,
    /// The type that the instruction gives to the value, or to each component of a vector; `None` for operands that have none, such
    /// as labels. A register may be declared with another type of the same size.
    pub ty: Option<ScalarType>,
    /// The operand as it is written.
    pub operand: Operand,
    /// The access to the registers in the operand when the instruction executes. Registers in an address are read.
    pub access: RegAccess,
    /// Further properties, such as [`Marks::THREAD_COUNT`].
    pub marks: Marks,
    /// For a result: the threads in which it is the same. `None` if equal operands and memory give equal results.
    pub uniformity: Option<ResultUniformity>,
}

impl TypedOperand {
    /// Returns whether the operand is a value that the instruction reads: a register, a constant, a special register or the
    /// address of a variable, and not a memory operand, a label, a callee or a list of a call.
    #[must_use]
    pub const fn is_source(&self) -> bool {
        matches!(
            self.role,
            Role::Use | Role::ReadWrite | Role::Imm | Role::Sreg | Role::Symbol
        )
    }

    /// Returns whether the operand is a register, or a vector of registers, that the instruction writes. The results of a call are
    /// in a list of the function's types ([`Facts::call_lists`]).
    #[must_use]
    pub const fn is_destination(&self) -> bool {
        matches!(self.role, Role::Def | Role::ReadWrite)
    }
}

impl<'a> Facts<'a> {
    fn typed(&self, part: &Part) -> Option<TypedOperand> {
        Some(TypedOperand {
            index: part.operand.into(),
            name: part.name,
            role: part.role,
            ty: part.ty,
            operand: self.operand_at(part)?,
            access: part.usage,
            marks: part.marks,
            uniformity: part.uniformity,
        })
    }

    /// The operands in the order of the form. Operands that are not written are left out. The halves of a pair and the components
    /// of a vector that the form names are separate operands. An unknown instruction has no operands here; the guard is
    /// [`guard`](Self::guard).
    ///
    /// ```
    /// use ptx_ir::facts::ModuleFacts;
    /// use ptx_isa::ScalarType;
    /// let text = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 d, a; .reg .b64 w; mad.wide.u32 w, d, 4, w; }";
    /// let module = ptx_parse::parse(text).module;
    /// let facts = ModuleFacts::new(&module);
    /// let (id, _, body) = module.definitions().next().unwrap();
    /// let inst = facts.function(id).unwrap().inst(body.insts().next().unwrap().0);
    /// let operands: Vec<_> = inst.operands().map(|o| (o.name, o.ty, o.access.reads())).collect();
    /// assert_eq!(operands, [
    ///     ("d", Some(ScalarType::U64), false),
    ///     ("a", Some(ScalarType::U32), true),
    ///     ("b", Some(ScalarType::U32), true),
    ///     ("c", Some(ScalarType::U64), true),
    /// ]);
    /// assert_eq!(inst.source(1).unwrap().name, "b");
    /// assert_eq!(inst.destination(0).unwrap().name, "d");
    /// ```
    pub fn operands(&self) -> impl Iterator<Item = TypedOperand> + use<'a> {
        let facts = *self;
        facts
            .form
            .parts
            .iter()
            .filter_map(move |part| facts.typed(part))
    }

    /// The operand with this index among the operands of the form, which is also its index in
    /// [`Computation`](ptx_isa::internals::Computation); `None` if it is not written.
    #[must_use]
    pub fn operand(&self, index: usize) -> Option<TypedOperand> {
        let part = self
            .form
            .parts
            .iter()
            .find(|part| usize::from(part.operand) == index)?;
        self.typed(part)
    }

    /// The operands that are [sources](TypedOperand::is_source).
    pub fn sources(&self) -> impl Iterator<Item = TypedOperand> + use<'a> {
        self.operands().filter(TypedOperand::is_source)
    }

    /// The operands that are [destinations](TypedOperand::is_destination).
    pub fn destinations(&self) -> impl Iterator<Item = TypedOperand> + use<'a> {
        self.operands().filter(TypedOperand::is_destination)
    }

    /// The source with this index among those that are written.
    #[must_use]
    pub fn source(&self, index: usize) -> Option<TypedOperand> {
        self.sources().nth(index)
    }

    /// The destination with this index among those that are written.
    #[must_use]
    pub fn destination(&self, index: usize) -> Option<TypedOperand> {
        self.destinations().nth(index)
    }
}
