//! Arguments and results of calls against the parameters of what is called. Manual 7.1, 9.7.12.5, 11.3.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::constant::ConstKind;
use ptx_ir::operand_shape::{BodyTypes, Named, SymbolTypes};
use ptx_ir::{
    Binding, Body, Code, Declarator, FunctionKind, InstId, Interface, LabelId, Operand, Param,
    Span, Statement, StmtId, SymbolKind, VarDecl,
};
use ptx_isa::{Directive, Expected, ScalarType, StateSpace};

use crate::context::{Context, constant_kind, integer};
use crate::inst_spans::Layout;

/// One call in a body.
pub(crate) struct Call<'c, 'm> {
    pub(crate) context: &'c mut Context<'m>,
    pub(crate) body: &'m Body,
    pub(crate) types: &'c BodyTypes,
    pub(crate) symbols: &'c SymbolTypes,
    pub(crate) stmt: StmtId,
}

/// Why an argument does not fit.
struct Misfit {
    message: &'static str,
}

const TYPE: Misfit = Misfit {
    message: "is of another type than",
};
const ALIGNMENT: Misfit = Misfit {
    message: "is aligned otherwise than",
};
const KIND: Misfit = Misfit {
    message: "cannot be passed for",
};

impl<'m> Call<'_, 'm> {
    /// Checks the call; what the table of instructions says of it is not said again.
    pub(crate) fn check(mut self, inst: InstId) {
        let body = self.body;
        let mut rest = body.operands(inst).iter().copied().enumerate().peekable();
        let list = |o: &(usize, Operand)| matches!(o.1, Operand::List(_));
        let returns = rest.next_if(list);
        let Some((_, callee)) = rest.next() else {
            return;
        };
        let args = rest.next_if(list);
        let table = rest.next().map(|(_, o)| o);
        let interfaces = match (callee, table) {
            (Operand::Symbol(id), None) => {
                match self.context.module.symbols().get(id).map(|s| s.kind) {
                    Some(SymbolKind::Function(f)) => self.function(f).into_iter().collect(),
                    _ => return,
                }
            }
            (Operand::Reg(_), Some(Operand::Label(label))) => self.table(label),
            _ => return,
        };
        for interface in interfaces {
            let fits = self.list(&interface, true, returns) && self.list(&interface, false, args);
            if !fits {
                return;
            }
        }
    }

    fn function(&self, id: ptx_ir::FuncId) -> Option<Interface> {
        let function = self.context.module.functions().get(id)?;
        (function.kind == FunctionKind::Func && !function.raw_header).then_some(function.interface)
    }

    /// The prototype, or those of all targets.
    fn table(&self, label: LabelId) -> Vec<Interface> {
        let Some(label) = self.body.labels().get(label) else {
            return Vec::new();
        };
        let next = self.body.after(label.stmt);
        match next.and_then(|s| self.body.statement(s)) {
            Some(Statement::Prototype(id)) => {
                let prototype = self.body.prototypes().get(id);
                prototype.map(|p| p.interface).into_iter().collect()
            }
            Some(Statement::Directive(id)) => {
                let stmt = self.body.directives().get(id);
                let Some(stmt) = stmt.filter(|s| s.directive == Directive::Calltargets) else {
                    return Vec::new();
                };
                let function = |o: &Operand| match o {
                    Operand::Symbol(id) => match self.context.module.symbols().get(*id)?.kind {
                        SymbolKind::Function(f) => self.function(f),
                        _ => None,
                    },
                    _ => None,
                };
                self.body
                    .pool()
                    .slice(stmt.args)
                    .iter()
                    .filter_map(function)
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Holds the results or the arguments against the parameters; false where something was reported.
    fn list(
        &mut self,
        interface: &Interface,
        results: bool,
        written: Option<(usize, Operand)>,
    ) -> bool {
        let module = self.context.module;
        let range = if results {
            interface.returns
        } else {
            interface.params
        };
        let formals = range.of(module.params());
        let actuals = match written {
            Some((_, Operand::List(id))) => self.body.pool().list(id),
            _ => &[],
        };
        let optional = !results && formals.last().is_some_and(|p| self.is_incomplete(p));
        let least = formals.len() - usize::from(optional);
        if actuals.len() < least || actuals.len() > formals.len() {
            let (what, count) = (if results { "results" } else { "arguments" }, actuals.len());
            let wanted = formals.len();
            let span = self.layout().mnemonic;
            let message = format!("the call has {count} {what}, and what is called has {wanted}");
            self.context.error(Code::CallCount, span, message);
            return false;
        }
        for (i, (formal, &actual)) in formals.iter().zip(actuals).enumerate() {
            let Err(misfit) = self.fits(formal, actual, results) else {
                continue;
            };
            let name = formal.name.map_or("_", |n| module.name(n));
            let ty = formal.ty.known().map_or("", ScalarType::text);
            let layout = self.layout();
            let span = written.and_then(|(nth, _)| {
                let outer = *layout.operands.get(nth)?;
                layout.parts(module.source(), outer).get(i).copied()
            });
            let span = span.unwrap_or(layout.mnemonic);
            let text = core::str::from_utf8(span.of(module.source())).unwrap_or_default();
            let message = format!(
                "`{text}` {} parameter {} (`{} {ty} {name}`)",
                misfit.message,
                i + 1,
                formal.space
            );
            self.context.error(Code::CallArgument, span, message);
            return false;
        }
        true
    }

    fn layout(&self) -> Layout {
        Layout::new(self.context.module, self.body.source_span(self.stmt))
    }

    fn is_incomplete(&self, param: &Param) -> bool {
        let pool = self.context.module.pool();
        let first = pool.slice(param.dims).first();
        first.is_some_and(|d| *d == Operand::Absent || integer(pool, *d) == Some(0))
    }

    fn fits(&self, formal: &Param, actual: Operand, result: bool) -> Result<(), Misfit> {
        let Some(ty) = formal.ty.known() else {
            return Ok(());
        };
        let array = !formal.dims.is_empty();
        let takes = |register: ScalarType| {
            let fits = Expected::Type(ty).takes_register(register, false);
            if fits && !array { Ok(()) } else { Err(TYPE) }
        };
        match actual {
            Operand::Reg(_) if array && !self.is_incomplete(formal) => Err(KIND),
            Operand::Reg(id) => match self.types.register(id) {
                Some(register) if formal.vector < 2 => takes(register),
                Some(_) => Err(TYPE),
                None if formal.vector > 1 => Ok(()),
                None => Err(TYPE),
            },
            Operand::Var(id) => match self.types.var(id) {
                Named::Variable {
                    space: StateSpace::ParamFunc,
                    ty: actual_type,
                    array: actual_array,
                    ..
                } => {
                    if array {
                        return self.array(formal, id);
                    }
                    if actual_array {
                        Err(TYPE)
                    } else {
                        takes(actual_type)
                    }
                }
                Named::Unknown => Ok(()),
                _ => Err(KIND),
            },
            Operand::Symbol(id) => match self.symbols.get(id) {
                Named::Unknown => Ok(()),
                // The address of a function is a number.
                Named::Function if ty.is_integer() => Ok(()),
                _ => Err(KIND),
            },
            Operand::Sink if result => Ok(()),
            Operand::Sink => Err(KIND),
            Operand::Name(_) => Ok(()),
            Operand::Small(_) | Operand::Imm(_) => {
                let expected = Expected::Type(ty);
                let fits = match constant_kind(self.body.pool(), actual) {
                    Some(ConstKind::Signed | ConstKind::Unsigned) => {
                        expected.takes_integer() && ty != ScalarType::Pred
                    }
                    Some(ConstKind::Double | ConstKind::Single) => {
                        ty.is_float() || ty.kind() == ptx_isa::TypeKind::Bits
                    }
                    _ => true,
                };
                if fits || result { Ok(()) } else { Err(TYPE) }
            }
            // Neither expressions nor parts of anything.
            _ => Err(KIND),
        }
    }

    /// An array passed for an array: as large, unless the size is open, and aligned alike.
    fn array(&self, formal: &Param, actual: ptx_ir::VarId) -> Result<(), Misfit> {
        let Some((decl, declarator)) = self.declared(actual) else {
            return Ok(());
        };
        let pool = self.body.pool();
        let (Some(ty), false) = (decl.ty.known(), declarator.dims.is_empty()) else {
            return Err(TYPE);
        };
        let bytes = i64::from(ty.bits() / 8);
        let dims = pool.slice(declarator.dims).iter();
        let size = dims.fold(bytes, |s, d| {
            s.saturating_mul(integer(pool, *d).unwrap_or(0))
        });
        let align = integer(pool, decl.align).unwrap_or(bytes);
        let Some((wanted, wanted_align)) = crate::interface::size_of(self.context, formal) else {
            return Ok(());
        };
        if !self.is_incomplete(formal) && size != wanted {
            Err(TYPE)
        } else if align != wanted_align {
            Err(ALIGNMENT)
        } else {
            Ok(())
        }
    }

    fn declared(&self, id: ptx_ir::VarId) -> Option<(VarDecl, Declarator)> {
        let declarations = self.body.declarations();
        let var = self.body.vars().get(id)?;
        let Some(Statement::Decl(decl)) = self.body.statement(var.stmt?) else {
            return None;
        };
        let mut names = declarations.declarators(decl).iter();
        let declarator = names.find(|d| d.binding == Binding::Var(id))?;
        Some((*declarations.decls.get(decl)?, *declarator))
    }
}

/// All names in a table of targets are functions; a kernel passes there, and cannot be called.
pub(crate) fn targets(context: &mut Context<'_>, args: &[Operand], span: Span) {
    for &operand in args {
        let Operand::Symbol(id) = operand else {
            continue;
        };
        let Some(symbol) = context.module.symbols().get(id).copied() else {
            continue;
        };
        if !matches!(symbol.kind, SymbolKind::Function(_)) {
            let name = context.module.name(symbol.name);
            let at = context.statement(span).find(name);
            let message: String = format!("`{name}` is no function");
            context.error(Code::CallTarget, at, message);
        }
    }
}
