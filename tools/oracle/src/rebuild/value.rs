//! Converts operands and initial values of a module to those of the builder.

use ptx_ir::{Module, Operand as Ir, OperandPool};

use super::{RebuildError, Replay, unknown};
use ptx_build::{Init, OperandExpr};

/// Converts the name of a register, variable or label of a function.
pub(crate) type Local<'l> = dyn Fn(Ir) -> Result<OperandExpr, RebuildError> + 'l;

/// The greatest depth of nested operands. No legal operand is deeper.
const DEPTH: usize = 48;

/// Converts an operand; `name` converts the names of registers, labels, variables and functions.
pub(crate) fn operand_expr(
    module: &Module,
    pool: &OperandPool,
    operand: Ir,
    name: &Local<'_>,
    depth: usize,
) -> Result<OperandExpr, RebuildError> {
    if depth > DEPTH {
        return Err(unknown("an operand"));
    }
    let convert = |o| operand_expr(module, pool, o, name, depth + 1);
    let boxed = |o| convert(o).map(Box::new);
    let all = |parts: &[Ir]| {
        parts
            .iter()
            .map(|part| convert(*part))
            .collect::<Result<Vec<OperandExpr>, RebuildError>>()
    };
    Ok(match operand {
        Ir::Special(s) => OperandExpr::Special(s),
        Ir::Small(n) => OperandExpr::Int(n.into()),
        Ir::Imm(id) => {
            let text = pool.immediate(id).map_or("", |i| module.name(i.text));
            OperandExpr::Constant(text.to_string())
        }
        Ir::Reg(_) | Ir::Var(_) | Ir::Label(_) | Ir::Symbol(_) => name(operand)?,
        Ir::Address(id) => {
            let address = pool.address(id).ok_or_else(|| unknown("an address"))?;
            let offset = match address.offset {
                Ir::Absent => None,
                offset => Some(boxed(offset)?),
            };
            OperandExpr::Address(boxed(address.base)?, offset, address.form)
        }
        Ir::Bracket(id) => OperandExpr::Bracket(all(pool.list(id))?),
        Ir::Vector(id) => OperandExpr::Vector(all(pool.list(id))?),
        Ir::List(id) => OperandExpr::List(all(pool.list(id))?),
        Ir::Pair(id) => {
            let (p, q) = pool.pair(id);
            OperandExpr::Pair(boxed(p)?, boxed(q)?)
        }
        Ir::Not(id) => OperandExpr::Not(boxed(pool.get(id))?),
        Ir::Neg(id) => OperandExpr::Neg(boxed(pool.get(id))?),
        Ir::Component(selector, id) => OperandExpr::Component(boxed(pool.get(id))?, selector),
        Ir::Sink => OperandExpr::Sink,
        _ => return Err(unknown("an operand")),
    })
}

impl Replay<'_> {
    /// A variable or function of the module.
    pub(super) fn global(&self, id: ptx_ir::SymbolId) -> Result<OperandExpr, RebuildError> {
        let name = self.symbol(id);
        if let Some(&variable) = self.variables.get(&name) {
            return Ok(OperandExpr::Variable(variable));
        }
        match self.functions.get(&name) {
            Some(&function) => Ok(OperandExpr::Func(function)),
            None => Err(unknown(&format!("`{name}`"))),
        }
    }

    pub(super) fn operand(
        &self,
        pool: &OperandPool,
        operand: Ir,
        local: &Local<'_>,
    ) -> Result<OperandExpr, RebuildError> {
        let convert_name = |o| match o {
            Ir::Symbol(id) => self.global(id),
            _ => local(o),
        };
        operand_expr(self.module, pool, operand, &convert_name, 0)
    }

    pub(super) fn init(
        &self,
        pool: &OperandPool,
        operand: Ir,
        local: &Local<'_>,
        depth: usize,
    ) -> Result<Init, RebuildError> {
        if depth > DEPTH {
            return Err(unknown("an initial value"));
        }
        let convert = |o| self.init(pool, o, local, depth + 1);
        Ok(match operand {
            Ir::Small(n) => Init::Int(n.into()),
            Ir::Imm(id) => {
                let text = pool.immediate(id).map_or("", |i| self.name(i.text));
                Init::Constant(text.to_string())
            }
            Ir::Str(_) => Init::Text(self.string(operand)?.to_string()),
            Ir::Symbol(_) | Ir::Var(_) | Ir::Label(_) => {
                let name = match operand {
                    Ir::Symbol(id) => self.global(id)?,
                    _ => local(operand)?,
                };
                match name {
                    OperandExpr::Variable(v) => Init::Address(v, 0),
                    OperandExpr::Func(f) => Init::Function(f),
                    OperandExpr::Label(l) => Init::Label(l),
                    _ => return Err(unknown("an initial value")),
                }
            }
            Ir::Generic(id) => match convert(pool.get(id))? {
                Init::Address(v, n) => Init::Generic(v, n),
                _ => return Err(unknown("an address")),
            },
            Ir::Address(id) => {
                let address = pool.address(id).ok_or_else(|| unknown("an address"))?;
                Init::Plus(
                    Box::new(convert(address.base)?),
                    self.number(pool, address.offset)?,
                )
            }
            Ir::Masked(id) => {
                let (mask, value) = pool.pair(id);
                Init::Masked(self.number(pool, mask)?, Box::new(convert(value)?))
            }
            Ir::Field(id) => {
                let (field, value) = pool.pair(id);
                let text = |o| match o {
                    Ir::Name(n) => Ok::<String, RebuildError>(self.name(n).to_string()),
                    _ => Ok(self.number(pool, o)?.text()?.to_string()),
                };
                Init::Field(text(field)?, text(value)?)
            }
            Ir::Vector(id) => {
                let values = pool.list(id).iter().map(|value| convert(*value));
                Init::List(values.collect::<Result<_, RebuildError>>()?)
            }
            _ => return Err(unknown("an initial value")),
        })
    }
}
