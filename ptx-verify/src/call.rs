//! Compares arguments and results of calls with the parameters and results of the callee. Manual 7.1, 9.7.12.5, 11.3.

use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;

use ptx_ir::ConstKind;
use ptx_ir::raw::query::{NameKind, NameTypes};
use ptx_ir::{
    Binding, Body, Declarator, Interface, ListId, Operand, Param, RegId, Statement, StmtId,
    SymbolKind, VarDecl, VarId,
};
use ptx_isa::internals::{ConstantKind, Expected, RegisterWidth};
use ptx_isa::{ScalarType, StateSpace, TypeKind};

use crate::call_tables::{self, CallTables};
use crate::context::{Context, constant_kind};
use crate::finding::{Finding, Repair};
use crate::layout::{is_unsized, size_and_align};
use crate::location::{Location, Part};
use crate::problem::Side;
use crate::problem::call::{ArgumentMismatch, CallProblem, Formal};
use crate::problem::redeclaration::List;

/// Checks a call in a body.
pub(crate) struct Call<'c, 'm> {
    context: &'c mut Context<'m>,
    body: &'m Body,
    names: &'c NameTypes,
    stmt: StmtId,
}

impl<'c, 'm> Call<'c, 'm> {
    pub(crate) fn new(
        context: &'c mut Context<'m>,
        body: &'m Body,
        names: &'c NameTypes,
        stmt: StmtId,
    ) -> Self {
        Self {
            context,
            body,
            names,
            stmt,
        }
    }

    /// Checks the lists of the call. The other operands are checked by the table of instructions.
    pub(crate) fn check(mut self, operands: &[Operand], tables: &mut CallTables) {
        let mut operands = operands.iter().copied().enumerate().peekable();
        let results = next_list(&mut operands);
        let Some((_, callee)) = operands.next() else {
            return;
        };
        let arguments = next_list(&mut operands);
        let table = operands.next().map(|(_, operand)| operand);
        let module = self.context.module;
        match (callee, table) {
            (Operand::Symbol(id), None) => {
                if let Some(symbol) = module.symbols().get(id)
                    && let SymbolKind::Function(function) = symbol.kind
                    && let Some(interface) = call_tables::function_interface(module, function)
                {
                    self.check_lists(&interface, results, arguments);
                }
            }
            (Operand::Reg(_), Some(Operand::Label(label))) => {
                for interface in tables.interfaces(module, self.body, label) {
                    if !self.check_lists(interface, results, arguments) {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks results and arguments. Returns `false` if it reports a problem.
    fn check_lists(
        &mut self,
        interface: &Interface,
        results: Option<WrittenList>,
        arguments: Option<WrittenList>,
    ) -> bool {
        self.check_list(interface, List::Results, results)
            && self.check_list(interface, List::Parameters, arguments)
    }

    fn location(&self, part: Part) -> Location {
        Location::part(self.body.source_span(self.stmt), part)
    }

    fn report(&mut self, part: Part, problem: CallProblem) -> &mut Finding {
        self.context.report(self.location(part), problem)
    }

    /// Returns the texts of variables of the block that are legal for the parameters `formals` and are not in the call, separated by commas; `_` for
    /// results without such a variable.
    fn candidates(&self, list: List, formals: &[Param]) -> Option<String> {
        let pool = self.body.pool();
        let Some(Statement::Inst(inst)) = self.body.statement(self.stmt) else {
            return None;
        };
        let mut used: Vec<Operand> = Vec::new();
        for operand in self.body.operands(inst) {
            if let Operand::List(id) = operand {
                used.extend(pool.list(*id));
            }
        }
        let scope = self.body.scope_around(self.stmt);
        let mut texts = Vec::new();
        for formal in formals {
            let candidate = self.body.vars().ids().find(|id| {
                let variable = Operand::Var(*id);
                let stmt = self.body.vars().get(*id).and_then(|var| var.stmt);
                stmt.is_some_and(|stmt| self.body.scope_around(stmt) == scope)
                    && !used.contains(&variable)
                    && self.check_argument(formal, variable, list).is_ok()
            });
            match (candidate, list) {
                (Some(id), _) => {
                    used.push(Operand::Var(id));
                    let name = self.body.vars().get(id)?.name;
                    texts.push(self.context.module.name(name));
                }
                (None, List::Results) => texts.push("_"),
                (None, List::Parameters) => return None,
            }
        }
        (!texts.is_empty()).then(|| texts.join(", "))
    }

    /// Returns a repair that adds arguments or results for the parameters `formals`, the last ones of the interface.
    fn missing_repair(
        &self,
        list: List,
        formals: &[Param],
        written: Option<WrittenList>,
        interface: &Interface,
    ) -> Option<Repair> {
        let text = self.candidates(list, formals)?;
        let note = format!("perhaps `{text}` is missing");
        let has_results = interface.returns.len > 0;
        let (part, side, text) = match (written, list) {
            (Some(written), _) => match self.body.pool().list(written.list).len().checked_sub(1) {
                Some(last) => {
                    let last = Part::Element(written.index, last as u32);
                    (last, Side::After, format!(", {text}"))
                }
                None => (
                    Part::Operand(written.index),
                    Side::Whole,
                    format!("({text})"),
                ),
            },
            (None, List::Results) => (Part::Operand(0), Side::Before, format!("({text}), ")),
            (None, List::Parameters) => {
                let callee = Part::Operand(u32::from(has_results));
                (callee, Side::After, format!(", ({text})"))
            }
        };
        Some(Repair::new(self.location(part), side, text, note).with_placeholders())
    }

    /// Checks the results or the arguments. Returns `false` if it reports a problem.
    fn check_list(
        &mut self,
        interface: &Interface,
        list: List,
        written: Option<WrittenList>,
    ) -> bool {
        let module = self.context.module;
        let range = match list {
            List::Results => interface.returns,
            List::Parameters => interface.params,
        };
        let formals = range.of(module.params());
        let actuals = written.map_or(&[][..], |written| self.body.pool().list(written.list));
        // A last parameter without a size may have no argument.
        let is_last_optional = list == List::Parameters
            && formals
                .last()
                .is_some_and(|formal| is_unsized(module, formal));
        let least = formals.len() - usize::from(is_last_optional);
        if actuals.len() < least || actuals.len() > formals.len() {
            let (found, expected) = (actuals.len() as u32, formals.len() as u32);
            let is_legal_otherwise = formals
                .iter()
                .zip(actuals)
                .all(|(formal, actual)| self.check_argument(formal, *actual, list).is_ok());
            let extra_operand = written
                .filter(|_| is_legal_otherwise && found > expected)
                .map(|written| written.index);
            let repair = if is_legal_otherwise {
                let missing = formals.get(actuals.len()..).unwrap_or_default();
                self.missing_repair(list, missing, written, interface)
            } else {
                None
            };
            let problem = CallProblem::Count(list, found, expected, extra_operand);
            self.report(Part::Mnemonic, problem).repair = repair;
            return false;
        }
        for (index, (formal, &actual)) in (0..).zip(formals.iter().zip(actuals)) {
            let Err(mismatch) = self.check_argument(formal, actual, list) else {
                continue;
            };
            let part = written.map_or(Part::Mnemonic, |written| {
                Part::Element(written.index, index)
            });
            // A program without the result is another program.
            let repair = self
                .candidates(list, core::slice::from_ref(formal))
                .filter(|name| written.is_some() && name != "_")
                .map(|name| {
                    let note = format!("perhaps `{name}` is meant");
                    Repair::new(self.location(part), Side::Whole, name, note)
                });
            let formal = Formal {
                position: index + 1,
                space: formal.space,
                ty: formal.ty.known(),
                name: formal.name,
            };
            self.report(part, CallProblem::Argument(mismatch, formal))
                .repair = repair;
            return false;
        }
        true
    }

    /// Compares an argument or result with a parameter.
    fn check_argument(
        &self,
        formal: &Param,
        actual: Operand,
        list: List,
    ) -> Result<(), ArgumentMismatch> {
        let Some(ty) = formal.ty.known() else {
            return Ok(());
        };
        let Some(ty) = value_type(ty, formal.vector) else {
            return Err(ArgumentMismatch::Type);
        };
        let is_array = !formal.dims.is_empty();
        match actual {
            Operand::Reg(_) if is_array && !self.is_unsized(formal) => Err(ArgumentMismatch::Kind),
            Operand::Reg(id) => match self.register_type(id) {
                Some(register) => self.check_scalar(formal, ty, register, natural_align(register)),
                None => Err(ArgumentMismatch::Type),
            },
            Operand::Var(id) => self.check_variable(formal, ty, id),
            Operand::Symbol(id) => match self.names.symbol(id) {
                NameKind::Unknown => Ok(()),
                // The address of a function is an integer.
                NameKind::Function if ty.is_integer() && ty.bits() >= 32 => Ok(()),
                _ => Err(ArgumentMismatch::Kind),
            },
            Operand::Sink if list == List::Results => Ok(()),
            Operand::Name(_) => Ok(()),
            Operand::Small(_) | Operand::Imm(_) if is_array => Err(ArgumentMismatch::Kind),
            Operand::Small(_) | Operand::Imm(_) => self.check_constant(ty, formal.vector, actual),
            // Expressions, and parts of registers.
            _ => Err(ArgumentMismatch::Kind),
        }
    }

    /// Returns the type of a register; for a vector register, the bits type of its width.
    fn register_type(&self, id: RegId) -> Option<ScalarType> {
        let decl = self.body.reg_decl_of(id)?;
        value_type(decl.ty.known()?, decl.vector)
    }

    fn check_variable(
        &self,
        formal: &Param,
        ty: ScalarType,
        id: VarId,
    ) -> Result<(), ArgumentMismatch> {
        match self.names.var(id) {
            NameKind::Variable {
                space: StateSpace::ParamFunc,
                ty: actual,
                array: is_array,
                ..
            } => {
                if !formal.dims.is_empty() {
                    self.check_array(formal, id)
                } else if is_array {
                    Err(ArgumentMismatch::Type)
                } else {
                    let declaration = self.declaration(id);
                    let align = declaration.map_or(Operand::Absent, |(decl, _)| decl.align);
                    let align = self.body.pool().integer(align).unwrap_or(0);
                    self.check_scalar(formal, ty, actual, align.max(natural_align(actual)))
                }
            }
            NameKind::Unknown => Ok(()),
            _ => Err(ArgumentMismatch::Kind),
        }
    }

    /// Checks a scalar argument: its type must be compatible, and its alignment the same.
    fn check_scalar(
        &self,
        formal: &Param,
        ty: ScalarType,
        actual: ScalarType,
        align: i64,
    ) -> Result<(), ArgumentMismatch> {
        let formal_align = self.context.module.pool().integer(formal.align);
        if !formal.dims.is_empty()
            || !Expected::Type(ty).takes_register(actual, RegisterWidth::Exact)
        {
            Err(ArgumentMismatch::Type)
        } else if formal_align.unwrap_or(0).max(natural_align(ty)) != align {
            Err(ArgumentMismatch::Alignment)
        } else {
            Ok(())
        }
    }

    fn check_constant(
        &self,
        ty: ScalarType,
        vector: u8,
        actual: Operand,
    ) -> Result<(), ArgumentMismatch> {
        let accepts = |constant| Expected::Type(ty).takes_constant(constant);
        let is_legal = match constant_kind(self.body.pool(), actual) {
            Some(ConstKind::Signed | ConstKind::Unsigned) => {
                accepts(ConstantKind::Integer) && ty != ScalarType::Pred
            }
            Some(ConstKind::Single) if vector > 1 => accepts(ConstantKind::F32Bits),
            Some(ConstKind::Double | ConstKind::Single) => {
                ty.is_float() || ty.kind() == TypeKind::Bits
            }
            _ => true,
        };
        if is_legal {
            Ok(())
        } else {
            Err(ArgumentMismatch::Type)
        }
    }

    /// Checks an array argument: its alignment must be the same, and its size unless the parameter has none.
    fn check_array(&self, formal: &Param, actual: VarId) -> Result<(), ArgumentMismatch> {
        let Some((decl, declarator)) = self.declaration(actual) else {
            return Ok(());
        };
        if declarator.dims.len() != formal.dims.len() {
            return Err(ArgumentMismatch::Type);
        }
        let actual = decl.layout(&declarator, self.body.pool());
        let Some((size, align)) = actual.and_then(size_and_align) else {
            return Err(ArgumentMismatch::Type);
        };
        let formal_layout = formal.layout(self.context.module.pool());
        let Some((formal_size, formal_align)) = formal_layout.and_then(size_and_align) else {
            return Ok(());
        };
        if !self.is_unsized(formal) && size != formal_size {
            Err(ArgumentMismatch::Type)
        } else if align != formal_align {
            Err(ArgumentMismatch::Alignment)
        } else {
            Ok(())
        }
    }

    fn is_unsized(&self, param: &Param) -> bool {
        is_unsized(self.context.module, param)
    }

    /// Returns the declaration of a variable of the body.
    fn declaration(&self, id: VarId) -> Option<(VarDecl, Declarator)> {
        let declarations = self.body.declarations();
        let var = self.body.vars().get(id)?;
        let Some(Statement::Decl(decl)) = self.body.statement(var.stmt?) else {
            return None;
        };
        let declarator = declarations
            .declarators(decl)
            .iter()
            .find(|declarator| declarator.binding == Binding::Var(id))?;
        Some((*declarations.decls.get(decl)?, *declarator))
    }
}

/// A list of results or arguments in a call.
#[derive(Copy, Clone)]
struct WrittenList {
    /// The index of the operand.
    index: u32,
    list: ListId,
}

/// Returns the next operand if it is a list.
fn next_list(
    operands: &mut Peekable<impl Iterator<Item = (usize, Operand)>>,
) -> Option<WrittenList> {
    let &(index, Operand::List(list)) = operands.peek()? else {
        return None;
    };
    operands.next();
    Some(WrittenList {
        index: index as u32,
        list,
    })
}

/// Returns the type of a scalar, or the bits type with the width of a vector.
fn value_type(ty: ScalarType, vector: u8) -> Option<ScalarType> {
    if vector < 2 {
        return Some(ty);
    }
    let bits = ty.bits() * u16::from(vector);
    ScalarType::ALL
        .iter()
        .copied()
        .find(|ty| ty.kind() == TypeKind::Bits && ty.bits() == bits)
}

/// Returns the alignment in bytes without `.align`.
fn natural_align(ty: ScalarType) -> i64 {
    i64::from(ty.bits() / 8).max(1)
}
