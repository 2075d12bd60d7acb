//! Asks the table about every instruction, once for each mnemonic and shape of operands.

use alloc::vec::Vec;
use ptx_ir::operand_shape::{BodyTypes, ShapeCache, ShapeKey, Shapes, SymbolTypes};
use ptx_ir::{Body, Code, FuncId, Inst, InstId, Module, Operand, SigId, StmtId};
use ptx_isa::{InstQuery, Modifier, Opcode, Role, ScalarType};

use crate::call::Call;
use crate::context::Context;
use crate::explain::Explainer;
use crate::inst_spans::Layout;
use crate::param_access::{Effects, Parameters};

/// What is known of a mnemonic before any operand is seen.
#[derive(Copy, Clone, Default, Debug)]
struct Mnemonic {
    /// The opcode; `None` where a word is unknown, which the parser reports.
    opcode: Option<Opcode>,
    /// Whether the values of constants decide.
    values: bool,
    /// Whether it calls a function.
    calls: bool,
    effects: Effects,
    /// The shape of operands that was legal last; most often the next one is the same.
    legal: Option<u128>,
}

fn mnemonic(module: &Module, id: SigId) -> Mnemonic {
    let signature = module.signature(id);
    let forms = signature.instruction().map_or(&[][..], |i| i.forms());
    let mut operands = forms.iter().flat_map(|f| f.operands());
    Mnemonic {
        opcode: signature.opcode().filter(|_| signature.is_known()),
        values: forms.iter().any(|f| f.depends_on_immediates()),
        calls: operands.any(|o| matches!(o.role, Role::Args | Role::Rets)),
        effects: Effects::of(forms),
        legal: None,
    }
}

/// What the table says of a mnemonic with operands of some shape.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Verdict {
    Legal,
    /// Illegal, or legal with a warning: it is asked again for the words.
    NeedsReport,
}

/// Judges the instructions of a module.
#[derive(Debug)]
pub(crate) struct Instructions {
    mnemonics: Vec<Mnemonic>,
    verdicts: ShapeCache<Verdict>,
    key: ShapeKey,
    symbols: SymbolTypes,
    types: BodyTypes,
    parameters: Parameters,
}

impl Instructions {
    pub(crate) fn new(module: &Module) -> Self {
        Self {
            mnemonics: module
                .signatures()
                .ids()
                .map(|id| mnemonic(module, id))
                .collect(),
            verdicts: ShapeCache::new(),
            key: ShapeKey::new(),
            symbols: SymbolTypes::new(module),
            types: BodyTypes::new(),
            parameters: Parameters::default(),
        }
    }

    /// Takes note of mnemonics that came since.
    pub(crate) fn grow(&mut self, module: &Module) {
        let known = self.mnemonics.len();
        let new = module.signatures().ids().skip(known);
        self.mnemonics.extend(new.map(|id| mnemonic(module, id)));
    }

    /// Takes note of other declarations of the module.
    pub(crate) fn rename(&mut self, module: &Module) {
        self.symbols = SymbolTypes::new(module);
    }

    /// Begins a body.
    pub(crate) fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.types.fill(module, function, body);
        self.parameters.fill(module, function, body);
    }

    /// Judges one instruction of the body that was entered.
    #[inline]
    pub(crate) fn check<'m>(
        &mut self,
        context: &mut Context<'m>,
        body: &'m Body,
        stmt: StmtId,
        id: InstId,
        inst: &Inst,
    ) {
        if let Some(guard) = inst.guard() {
            match body.pool().get(guard.predicate) {
                Operand::Reg(register) if self.types.may_guard(register) => {}
                Operand::Reg(register) => {
                    guard_type(context, body, stmt, self.types.register(register));
                }
                Operand::Name(_) => {}
                _ => guard_type(context, body, stmt, None),
            }
        }
        let index = inst.sig.as_u32() as usize;
        let Some(mnemonic) = self.mnemonics.get(index).copied() else {
            return;
        };
        let Some(opcode) = mnemonic.opcode else {
            return;
        };
        let shapes = Shapes::new(body, &self.symbols, &self.types);
        if !shapes.write(id, mnemonic.values, &mut self.key) {
            return;
        }
        if mnemonic.calls {
            self.call(context, body, stmt, id);
        } else {
            let operands = body.operands(id);
            self.parameters
                .check(context, body, stmt, inst, operands, mnemonic.effects);
        }
        let short = self.key.short();
        if short.is_some() && short == mnemonic.legal {
            return;
        }
        let known = self.verdicts.get(inst.sig, &self.key);
        let verdict = known.unwrap_or_else(|| self.judge(context, opcode, inst.sig));
        if verdict == Verdict::NeedsReport {
            self.report(context, body, stmt, inst.sig, opcode);
        } else if let Some(mnemonic) = self.mnemonics.get_mut(index) {
            mnemonic.legal = short;
        }
    }

    fn call<'m>(&self, context: &mut Context<'m>, body: &'m Body, stmt: StmtId, id: InstId) {
        let (types, symbols) = (&self.types, &self.symbols);
        let call = Call {
            context,
            body,
            types,
            symbols,
            stmt,
        };
        call.check(id);
    }

    #[cold]
    fn judge(&mut self, context: &Context<'_>, opcode: Opcode, sig: SigId) -> Verdict {
        let environment = context.environment;
        let verdict = self.ask(context.module, opcode, sig, |request| {
            match environment.select(request) {
                Ok(s)
                    if s.problems.is_empty()
                        && s.redundant().next().is_none()
                        && environment.deprecations(&s).next().is_none() =>
                {
                    Verdict::Legal
                }
                _ => Verdict::NeedsReport,
            }
        });
        self.verdicts.insert(sig, &self.key, verdict);
        verdict
    }

    fn ask<R>(
        &self,
        module: &Module,
        opcode: Opcode,
        sig: SigId,
        answer: impl FnOnce(&InstQuery<'_>) -> R,
    ) -> R {
        let modifiers: Vec<Modifier> = module.signature(sig).modifiers().collect();
        self.key.read(|operands, in_entry| {
            answer(&InstQuery {
                opcode,
                modifiers: &modifiers,
                operands,
                in_entry,
            })
        })
    }

    #[cold]
    fn report(
        &self,
        context: &mut Context<'_>,
        body: &Body,
        stmt: StmtId,
        sig: SigId,
        opcode: Opcode,
    ) {
        let module = context.module;
        let layout = Layout::new(module, body.source_span(stmt));
        let signature = module.signature(sig);
        let environment = context.environment;
        let diagnostics = self.ask(module, opcode, sig, |request| {
            let explainer = Explainer {
                module,
                environment,
                signature,
                request,
                layout: &layout,
            };
            explainer.diagnostics()
        });
        context.found.extend(diagnostics);
    }
}

#[cold]
fn guard_type(context: &mut Context<'_>, body: &Body, stmt: StmtId, ty: Option<ScalarType>) {
    let layout = Layout::new(context.module, body.source_span(stmt));
    let span = layout.guard.unwrap_or(layout.mnemonic);
    let message = match ty {
        Some(ty) => alloc::format!("a guard is a predicate; this register is of type `{ty}`"),
        None => "a guard is a predicate; this is none".into(),
    };
    context.error(Code::GuardType, span, message).help =
        Some("declare it with `.reg .pred`, or compute a predicate with `setp`".into());
}
