//! Selects the form of an instruction from the tables.

use ptx_ir::facts::FunctionFacts;
use ptx_ir::raw::query::{Environment, Mnemonic, Queries};
use ptx_ir::{InstId, Operand};
use ptx_isa::internals::{Nesting, SlotAssignment};
use ptx_isa::{Form, Role, ScalarType};

/// The form of an instruction and its operands.
pub(super) struct SelectedForm {
    pub(super) form: &'static Form,
    pub(super) slots: SlotAssignment,
    pub(super) mnemonic: Mnemonic,
    /// The operands of the form, in its order.
    pub(super) operands: Vec<Option<Operand>>,
    /// The number of elements of vectors.
    pub(super) lengths: Vec<Option<usize>>,
    pub(super) types: Vec<Option<ScalarType>>,
}

impl SelectedForm {
    /// The index of the first operand with a role.
    pub(super) fn position_of(&self, role: Role) -> Option<usize> {
        let mut operands = self.form.operands().iter();
        operands.position(|operand| operand.role() == role)
    }

    pub(super) fn result_type(&self) -> Option<ScalarType> {
        self.types[self.position_of(Role::Def)?]
    }
}

/// Selects the form of an instruction, and the operands that belong to the operands of the form.
pub(super) fn select_form(
    facts: FunctionFacts<'_>,
    queries: &mut Queries<()>,
    inst: InstId,
) -> Option<SelectedForm> {
    let (module, body) = (facts.module(), facts.body());
    let mnemonic = Mnemonic::of(module, body.inst(inst)?.sig)?;
    let written = body.operands(inst);
    let environment = Environment::of(module);
    let pool = body.pool();
    let answer = queries.ask(body, &mnemonic, written, |query| {
        let selection = environment.select(query).ok()?;
        let (form, binding) = (selection.form(), selection.operands());
        let mut operands = Vec::new();
        let mut lengths = Vec::new();
        let mut types = Vec::new();
        for (index, operand) in form.operands().iter().enumerate() {
            let part = binding.part(index);
            let written_operand = binding.written(index).and_then(|w| written.get(w)).copied();
            let written_operand = written_operand.filter(|_| binding.get(index).is_some());
            operands.push(written_operand.and_then(|written_operand| {
                match (operand.nesting(), written_operand) {
                    (Nesting::Bracket(_), Operand::Bracket(list))
                    | (Nesting::Vector(_), Operand::Vector(list)) => {
                        pool.list(list).get(part).copied()
                    }
                    (Nesting::Pair, Operand::Pair(pair)) => Some(pool.pair(pair).1),
                    (Nesting::Whole, Operand::Pair(pair)) => Some(pool.pair(pair).0),
                    _ => Some(written_operand),
                }
            }));
            let bits = selection.width(index);
            let ty = operand.ty().scalar_type(selection.assignment(), form);
            let element_bits = ty.map(|ty| u32::from(ty.bits()).max(1));
            let length = bits.zip(element_bits);
            lengths.push(length.map(|(bits, element_bits)| (bits / element_bits) as usize));
            types.push(ty);
        }
        Some((form, *selection.assignment(), operands, lengths, types))
    });
    let (form, slots, operands, lengths, types) = answer??;
    Some(SelectedForm {
        form,
        slots,
        mnemonic,
        operands,
        lengths,
        types,
    })
}

/// An operand of an instruction, with its role and type from the form.
pub(crate) struct TypedOperand {
    pub(crate) operand: Operand,
    pub(crate) role: Role,
    pub(crate) ty: Option<ScalarType>,
}

/// The operands of an instruction of the function that the queries have entered.
pub(crate) fn typed_operands(
    facts: FunctionFacts<'_>,
    queries: &mut Queries<()>,
    inst: InstId,
) -> Option<Vec<TypedOperand>> {
    let selected = select_form(facts, queries, inst)?;
    let declared = selected.form.operands().iter();
    let operands = declared.zip(selected.operands).zip(selected.types);
    let written = operands.filter_map(|((declared, operand), ty)| {
        Some(TypedOperand {
            operand: operand?,
            role: declared.role(),
            ty,
        })
    });
    Some(written.collect())
}
