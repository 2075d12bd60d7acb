//! Decodes calls.

use ptx_ir::facts::{Callees, Facts, TargetList};
use ptx_ir::{InstId, Interface, Module, Operand, Param, SymbolId, SymbolKind};
use ptx_isa::ScalarType;

use super::operands::{Context, OPERANDS};
use super::step::{Argument, Call, Callee, Step, Window};

/// The function of the system that allocates memory of the heap.
pub(crate) const MALLOC: &str = "malloc";

/// Decodes a call.
pub(super) fn call(
    context: &mut Context<'_>,
    inst: InstId,
    facts: &Facts<'_>,
) -> Result<Step, &'static str> {
    let operands = context.facts.body().operands(inst);
    let callees = facts.callees().ok_or(UNKNOWN)?;
    let callee = callee(context, callees, operands).ok_or(UNKNOWN)?;
    let interface = interface(context, callees);
    let mut written = operands.iter();
    let callee_index =
        written.position(|operand| matches!(operand, Operand::Symbol(_) | Operand::Reg(_)));
    let callee_index = callee_index.ok_or(UNKNOWN)?;
    let mut lists = [Vec::new(), Vec::new()];
    let mut last_bytes = 0;
    for (index, operand) in operands.iter().enumerate() {
        let Operand::List(list) = operand else {
            continue;
        };
        let formal = if index > callee_index {
            interface.map(|i| i.params)
        } else {
            interface.map(|i| i.returns)
        };
        let formal = formal
            .unwrap_or_default()
            .of(context.facts.module().params());
        let arguments = &mut lists[usize::from(index > callee_index)];
        for (index, &part) in context.facts.body().pool().list(*list).iter().enumerate() {
            let ty = formal.get(index).and_then(|param: &Param| param.ty.known());
            arguments.push(argument(context, part, ty).ok_or(OPERANDS)?);
            last_bytes = match part {
                Operand::Var(var) => context.frame.sizes.get(&var).copied().unwrap_or(0),
                _ => 0,
            };
        }
    }
    let [results, arguments] = lists;
    Ok(Step::Call(Box::new(Call {
        callee,
        arguments,
        last_bytes,
        results,
    })))
}

const UNKNOWN: &str = "unknown callee";

/// The function that a call calls.
fn callee(context: &Context<'_>, callees: Callees<'_>, operands: &[Operand]) -> Option<Callee> {
    let module = context.facts.module();
    if let Callees::Function(symbol) = callees {
        return match module.symbols().get(symbol)?.kind {
            SymbolKind::Function(id) if module.body(id).is_some() => Some(Callee::Function(id)),
            SymbolKind::Function(_) => {
                let name = module.name(module.symbols().get(symbol)?.name);
                Some(Callee::System(name.into()))
            }
            _ => None,
        };
    }
    let register = operands.iter().find_map(|&operand| match operand {
        Operand::Reg(register) => Some(context.register(register, None)),
        _ => None,
    })?;
    match register[..] {
        [place] => Some(Callee::Indirect(place)),
        _ => None,
    }
}

/// The parameters and results that a call expects.
fn interface(context: &Context<'_>, callees: Callees<'_>) -> Option<Interface> {
    let module = context.facts.module();
    match callees {
        Callees::Function(symbol) => interface_of_symbol(module, symbol),
        Callees::List(TargetList { operands, .. }) => match operands.first()? {
            Operand::Symbol(symbol) => interface_of_symbol(module, *symbol),
            _ => None,
        },
        Callees::Prototype(id) => Some(context.facts.body().prototypes().get(id)?.interface),
        _ => None,
    }
}

fn interface_of_symbol(module: &Module, symbol: SymbolId) -> Option<Interface> {
    match module.symbols().get(symbol)?.kind {
        SymbolKind::Function(id) => Some(module.functions().get(id)?.interface),
        _ => None,
    }
}

fn argument(
    context: &mut Context<'_>,
    operand: Operand,
    ty: Option<ScalarType>,
) -> Option<Argument> {
    Some(match operand {
        Operand::Sink => Argument::None,
        Operand::Var(_) => Argument::Memory(context.address(operand, Window::Local)?.offset),
        other => Argument::Registers(context.source(other, ty)?),
    })
}
