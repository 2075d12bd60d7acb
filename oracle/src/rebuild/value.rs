//! Operands and initial values of a module, as those of the builder.

use ptx_ir::{Module, Operand as Ir, OperandPool};

use super::{RebuildError, Replay, unknown};
use ptx_build::{Init, OperandExpr};

/// What a name of a function is to the builder.
pub(crate) type Local<'l> = dyn Fn(Ir) -> Result<OperandExpr, RebuildError> + 'l;

/// Nothing that is legal nests deeper.
const DEPTH: usize = 48;

/// An operand as one of the builder; `name` says what a register, a label, or another name is.
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
    let of = |o| operand_expr(module, pool, o, name, depth + 1);
    let boxed = |o| of(o).map(Box::new);
    let all = |parts: &[Ir]| {
        let parts = parts.iter().map(|p| of(*p));
        parts.collect::<Result<Vec<OperandExpr>, RebuildError>>()
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
        Ir::Pair(at) => {
            let (p, q) = pool.pair(at);
            OperandExpr::Pair(boxed(p)?, boxed(q)?)
        }
        Ir::Not(at) => OperandExpr::Not(boxed(pool.get(at))?),
        Ir::Neg(at) => OperandExpr::Neg(boxed(pool.get(at))?),
        Ir::Lane(selector, at) => OperandExpr::Lane(boxed(pool.get(at))?, selector),
        Ir::Sink => OperandExpr::Sink,
        _ => return Err(unknown("an operand")),
    })
}

impl Replay<'_> {
    /// A variable or function of the module.
    pub(super) fn global(&self, id: ptx_ir::SymbolId) -> Result<OperandExpr, RebuildError> {
        let name = self.symbol(id);
        let variable = self
            .variables
            .get(&name)
            .copied()
            .map(OperandExpr::Variable);
        let found = variable.or_else(|| self.functions.get(&name).copied().map(OperandExpr::Func));
        found.ok_or_else(|| unknown(&format!("`{name}`")))
    }

    pub(super) fn operand(
        &self,
        pool: &OperandPool,
        operand: Ir,
        local: &Local<'_>,
    ) -> Result<OperandExpr, RebuildError> {
        let name = |o| match o {
            Ir::Symbol(id) => self.global(id),
            _ => local(o),
        };
        operand_expr(self.module, pool, operand, &name, 0)
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
        let of = |o| self.init(pool, o, local, depth + 1);
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
                    other => local(other)?,
                };
                match name {
                    OperandExpr::Variable(v) => Init::Address(v, 0),
                    OperandExpr::Func(f) => Init::Function(f),
                    OperandExpr::Label(l) => Init::Label(l),
                    _ => return Err(unknown("an initial value")),
                }
            }
            Ir::Generic(at) => match of(pool.get(at))? {
                Init::Address(v, n) => Init::Generic(v, n),
                _ => return Err(unknown("an address")),
            },
            Ir::Address(id) => {
                let address = pool.address(id).ok_or_else(|| unknown("an address"))?;
                Init::Plus(
                    Box::new(of(address.base)?),
                    self.number(pool, address.offset)?,
                )
            }
            Ir::Masked(at) => {
                let (mask, of_what) = pool.pair(at);
                Init::Masked(self.number(pool, mask)?, Box::new(of(of_what)?))
            }
            Ir::Field(at) => {
                let (field, value) = pool.pair(at);
                let text = |o| match o {
                    Ir::Name(n) => Ok::<String, RebuildError>(self.name(n).to_string()),
                    other => Ok(self.number(pool, other)?.text()?.to_string()),
                };
                Init::Field(text(field)?, text(value)?)
            }
            Ir::Vector(id) => {
                let parts = pool.list(id).iter().map(|p| of(*p));
                Init::List(parts.collect::<Result<_, RebuildError>>()?)
            }
            _ => return Err(unknown("an initial value")),
        })
    }
}
