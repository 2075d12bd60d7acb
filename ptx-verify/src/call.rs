//! Arguments and results of calls against the parameters of what is called. Manual 7.1, 9.7.12.5, 11.3.

use alloc::string::String;
use alloc::vec::Vec;

use ptx_ir::constant::ConstKind;
use ptx_ir::query::{NameKind, NameTypes};
use ptx_ir::{
    Binding, Body, Declarator, Interface, Operand, Param, RegId, Statement, StmtId, SymbolKind,
    VarDecl, VarId,
};
use ptx_isa::{ConstantKind, Expected, RegisterWidth, ScalarType, StateSpace, TypeKind};

use crate::call_tables::{self, CallTables};
use crate::context::{Context, constant_kind};
use crate::finding::{Finding, Repair};
use crate::location::{Location, Part};
use crate::param_layout::{is_unsized, size_and_align};
use crate::problem::Side;
use crate::problem::call::{ArgumentMismatch, CallProblem, Formal};
use crate::problem::redeclaration::List;

/// One call in a body.
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

    /// Checks the lists of the call; the table of instructions checks its other operands.
    pub(crate) fn check(mut self, operands: &[Operand], tables: &mut CallTables) {
        let mut rest = operands.iter().copied().enumerate().peekable();
        let list = |o: &(usize, Operand)| matches!(o.1, Operand::List(_));
        let returns = rest.next_if(list);
        let Some((_, callee)) = rest.next() else {
            return;
        };
        let args = rest.next_if(list);
        let table = rest.next().map(|(_, o)| o);
        let module = self.context.module;
        match (callee, table) {
            (Operand::Symbol(id), None) => {
                if let Some(SymbolKind::Function(f)) = module.symbols().get(id).map(|s| s.kind)
                    && let Some(interface) = call_tables::function(module, f)
                {
                    self.lists(&interface, returns, args);
                }
            }
            (Operand::Reg(_), Some(Operand::Label(label))) => {
                let interfaces = tables.interfaces(module, self.body, label).iter();
                for interface in interfaces {
                    if !self.lists(interface, returns, args) {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    /// Checks results and arguments; false where something was reported.
    fn lists(
        &mut self,
        interface: &Interface,
        returns: Option<(usize, Operand)>,
        args: Option<(usize, Operand)>,
    ) -> bool {
        self.list(interface, List::Results, returns) && self.list(interface, List::Parameters, args)
    }

    fn at(&self, part: Part) -> Location {
        Location::part(self.body.source_span(self.stmt), part)
    }

    fn report(&mut self, part: Part, problem: CallProblem) -> &mut Finding {
        self.context.report(self.at(part), problem)
    }

    /// Variables of the block that fit parameters and are not in the call; `_` for results without one.
    fn candidates(&self, list: List, formals: &[Param]) -> Option<String> {
        let pool = self.body.pool();
        let Some(Statement::Inst(inst)) = self.body.statement(self.stmt) else {
            return None;
        };
        let operands = self.body.operands(inst);
        let mut used: Vec<Operand> = Vec::new();
        for operand in operands {
            if let Operand::List(id) = operand {
                used.extend(pool.list(*id));
            }
        }
        let scope = self.body.scope_around(self.stmt);
        let mut texts = Vec::new();
        for formal in formals {
            let fits = |id: &VarId| {
                let stmt = self.body.vars().get(*id).and_then(|v| v.stmt);
                let here = stmt.is_some_and(|s| self.body.scope_around(s) == scope);
                let unused = !used.contains(&Operand::Var(*id));
                here && unused && self.argument(formal, Operand::Var(*id), list).is_ok()
            };
            match (self.body.vars().ids().find(fits), list) {
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

    /// Arguments or results for the last parameters, which have none.
    fn missing(
        &self,
        list: List,
        formals: &[Param],
        written: Option<(usize, Operand)>,
        has_results: bool,
    ) -> Option<Repair> {
        let text = self.candidates(list, formals)?;
        let note = format!("perhaps `{text}` is missing");
        let count = match written {
            Some((_, Operand::List(id))) => self.body.pool().list(id).len(),
            _ => 0,
        };
        let (part, side, text) = match (written, list) {
            (Some((nth, _)), _) if count == 0 => {
                (Part::Operand(nth as u32), Side::Whole, format!("({text})"))
            }
            (Some((nth, _)), _) => {
                let last = Part::Element(nth as u32, count as u32 - 1);
                (last, Side::After, format!(", {text}"))
            }
            (None, List::Results) => (Part::Operand(0), Side::Before, format!("({text}), ")),
            (None, List::Parameters) => {
                let callee = Part::Operand(u32::from(has_results));
                (callee, Side::After, format!(", ({text})"))
            }
        };
        Some(Repair::new(self.at(part), side, text, note).with_placeholders())
    }

    /// Checks the results or the arguments against the parameters; false where something was reported.
    fn list(
        &mut self,
        interface: &Interface,
        list: List,
        written: Option<(usize, Operand)>,
    ) -> bool {
        let module = self.context.module;
        let range = match list {
            List::Results => interface.returns,
            List::Parameters => interface.params,
        };
        let formals = range.of(module.params());
        let actuals = match written {
            Some((_, Operand::List(id))) => self.body.pool().list(id),
            _ => &[],
        };
        let last = formals.last().filter(|_| list == List::Parameters);
        let optional = last.is_some_and(|p| is_unsized(module, p));
        let least = formals.len() - usize::from(optional);
        if actuals.len() < least || actuals.len() > formals.len() {
            let (found, expected) = (actuals.len() as u32, formals.len() as u32);
            let fit = formals.iter().zip(actuals);
            let fit = fit
                .map(|(f, a)| self.argument(f, *a, list))
                .all(|r| r.is_ok());
            let extra = written.filter(|_| fit && found > expected);
            let extra = extra.map(|(nth, _)| nth as u32);
            let problem = CallProblem::Count(list, found, expected, extra);
            let missing = formals.get(actuals.len()..).unwrap_or_default();
            let repair = match fit {
                true => self.missing(list, missing, written, interface.returns.len > 0),
                false => None,
            };
            self.report(Part::Mnemonic, problem).repair = repair;
            return false;
        }
        for (i, (formal, &actual)) in formals.iter().zip(actuals).enumerate() {
            let Err(mismatch) = self.argument(formal, actual, list) else {
                continue;
            };
            let part = written.map_or(Part::Mnemonic, |(nth, _)| {
                Part::Element(nth as u32, i as u32)
            });
            let likely = self.candidates(list, core::slice::from_ref(formal));
            // Without a result, it is another program.
            let is_likely = |name: &String| written.is_some() && name != "_";
            let repair = likely.filter(is_likely).map(|name| {
                let note = format!("perhaps `{name}` is meant");
                Repair::new(self.at(part), Side::Whole, name, note)
            });
            let described = Formal {
                position: i as u32 + 1,
                space: formal.space,
                ty: formal.ty.known(),
                name: formal.name,
            };
            self.report(part, CallProblem::Argument(mismatch, described))
                .repair = repair;
            return false;
        }
        true
    }

    fn argument(
        &self,
        formal: &Param,
        actual: Operand,
        list: List,
    ) -> Result<(), ArgumentMismatch> {
        let Some(ty) = formal.ty.known() else {
            return Ok(());
        };
        let Some(ty) = whole(ty, formal.vector) else {
            return Err(ArgumentMismatch::Type);
        };
        let array = !formal.dims.is_empty();
        match actual {
            Operand::Reg(_) if array && !self.is_unsized(formal) => Err(ArgumentMismatch::Kind),
            Operand::Reg(id) => match self.register(id) {
                Some(register) => self.scalar(formal, ty, register, natural_align(register)),
                None => Err(ArgumentMismatch::Type),
            },
            Operand::Var(id) => self.variable(formal, ty, id),
            Operand::Symbol(id) => match self.names.symbol(id) {
                NameKind::Unknown => Ok(()),
                // The address of a function is an integer.
                NameKind::Function if ty.is_integer() && ty.bits() >= 32 => Ok(()),
                _ => Err(ArgumentMismatch::Kind),
            },
            Operand::Sink if list == List::Results => Ok(()),
            Operand::Name(_) => Ok(()),
            Operand::Small(_) | Operand::Imm(_) if array => Err(ArgumentMismatch::Kind),
            Operand::Small(_) | Operand::Imm(_) => self.constant(ty, formal.vector, actual),
            // Neither expressions nor parts of registers.
            _ => Err(ArgumentMismatch::Kind),
        }
    }

    /// The type of a register; of a vector register, the bits type of its width.
    fn register(&self, id: RegId) -> Option<ScalarType> {
        let decl = self.body.registers().get(id).map(|r| r.decl);
        let decl = self.body.reg_decls().get(decl?)?;
        whole(decl.ty.known()?, decl.vector)
    }

    fn variable(&self, formal: &Param, ty: ScalarType, id: VarId) -> Result<(), ArgumentMismatch> {
        match self.names.var(id) {
            NameKind::Variable {
                space: StateSpace::ParamFunc,
                ty: found,
                array,
                ..
            } => match (formal.dims.is_empty(), array) {
                (false, _) => self.array(formal, id),
                (true, true) => Err(ArgumentMismatch::Type),
                (true, false) => {
                    let declared = self.declared(id);
                    let align = declared.map_or(Operand::Absent, |(decl, _)| decl.align);
                    let align = self.body.pool().integer(align).unwrap_or(0);
                    self.scalar(formal, ty, found, align.max(natural_align(found)))
                }
            },
            NameKind::Unknown => Ok(()),
            _ => Err(ArgumentMismatch::Kind),
        }
    }

    /// A scalar as an argument: of a compatible type and of the same alignment.
    fn scalar(
        &self,
        formal: &Param,
        ty: ScalarType,
        found: ScalarType,
        align: i64,
    ) -> Result<(), ArgumentMismatch> {
        let declared = self.context.module.pool().integer(formal.align);
        if !formal.dims.is_empty()
            || !Expected::Type(ty).takes_register(found, RegisterWidth::Exact)
        {
            Err(ArgumentMismatch::Type)
        } else if declared.unwrap_or(0).max(natural_align(ty)) != align {
            Err(ArgumentMismatch::Alignment)
        } else {
            Ok(())
        }
    }

    fn constant(
        &self,
        ty: ScalarType,
        vector: u8,
        actual: Operand,
    ) -> Result<(), ArgumentMismatch> {
        let takes = |constant| Expected::Type(ty).takes_constant(constant);
        let fits = match constant_kind(self.body.pool(), actual) {
            Some(ConstKind::Signed | ConstKind::Unsigned) => {
                takes(ConstantKind::Integer) && ty != ScalarType::Pred
            }
            Some(ConstKind::Single) if vector > 1 => takes(ConstantKind::F32Bits),
            Some(ConstKind::Double | ConstKind::Single) => {
                ty.is_float() || ty.kind() == TypeKind::Bits
            }
            _ => true,
        };
        match fits {
            true => Ok(()),
            false => Err(ArgumentMismatch::Type),
        }
    }

    /// An array as an argument: of the same size, unless the parameter has none, and of the same alignment.
    fn array(&self, formal: &Param, actual: VarId) -> Result<(), ArgumentMismatch> {
        let Some((decl, declarator)) = self.declared(actual) else {
            return Ok(());
        };
        if declarator.dims.len() != formal.dims.len() {
            return Err(ArgumentMismatch::Type);
        }
        let actual = decl.layout(&declarator, self.body.pool());
        let Some((size, align)) = actual.and_then(size_and_align) else {
            return Err(ArgumentMismatch::Type);
        };
        let wanted = formal.layout(self.context.module.pool());
        let Some((wanted, wanted_align)) = wanted.and_then(size_and_align) else {
            return Ok(());
        };
        if !self.is_unsized(formal) && size != wanted {
            Err(ArgumentMismatch::Type)
        } else if align != wanted_align {
            Err(ArgumentMismatch::Alignment)
        } else {
            Ok(())
        }
    }

    fn is_unsized(&self, param: &Param) -> bool {
        is_unsized(self.context.module, param)
    }

    fn declared(&self, id: VarId) -> Option<(VarDecl, Declarator)> {
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

/// The type of a scalar, or the bits type with the width of a vector.
fn whole(ty: ScalarType, vector: u8) -> Option<ScalarType> {
    if vector < 2 {
        return Some(ty);
    }
    let bits = ty.bits() * u16::from(vector);
    let mut all = ScalarType::ALL.iter().copied();
    all.find(|t| t.kind() == TypeKind::Bits && t.bits() == bits)
}

/// The alignment in bytes without `.align`.
fn natural_align(ty: ScalarType) -> i64 {
    i64::from(ty.bits() / 8).max(1)
}
