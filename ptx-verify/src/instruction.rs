//! Asks the table about every instruction, once for each mnemonic and shape of operands.

use alloc::vec::Vec;
use ptx_ir::shape::{BodyTypes, ShapeCache, ShapeKey, Shapes, SymbolTypes};
use ptx_ir::{Body, Code, Diagnostic, FuncId, InstId, Module, Operand, SigId, Statement, StmtId};
use ptx_isa::{Modifier, Opcode, Request, ScalarType};

use crate::Environment;
use crate::layout::Layout;
use crate::words::Explainer;

/// What is known of a mnemonic before any operand is seen.
#[derive(Copy, Clone, Default)]
struct Mnemonic {
    /// The opcode; `None` where a word is unknown, which the parser reports.
    opcode: Option<Opcode>,
    /// Whether the values of constants decide.
    values: bool,
    /// The shape of operands that was legal last; most often the next one is the same.
    legal: Option<u128>,
}

/// Reports every instruction that is not legal.
pub(crate) fn check(module: &Module, environment: Environment, found: &mut Vec<Diagnostic>) {
    let mut checker = Checker {
        module,
        environment,
        mnemonics: module
            .signatures
            .ids()
            .map(|id| mnemonic(module, id))
            .collect(),
        verdicts: ShapeCache::new(),
        key: ShapeKey::new(),
        found,
    };
    let symbols = SymbolTypes::new(module);
    let mut types = BodyTypes::new();
    for (id, _, body) in module.definitions() {
        checker.body(id, body, &symbols, &mut types);
    }
}

fn mnemonic(module: &Module, id: SigId) -> Mnemonic {
    let signature = module.signature(id);
    let forms = signature.instruction().map_or(&[][..], |i| i.forms());
    let mut operands = forms.iter().flat_map(|f| f.operands());
    Mnemonic {
        opcode: signature.opcode().filter(|_| signature.is_known()),
        values: operands.any(|o| o.range.is_some()),
        legal: None,
    }
}

/// What the table says of a mnemonic with operands of some shape.
#[derive(Copy, Clone, PartialEq)]
enum Verdict {
    Legal,
    /// Illegal, or legal with a warning: it is asked again for the words.
    Remarkable,
}

struct Checker<'m, 'f> {
    module: &'m Module,
    environment: Environment,
    mnemonics: Vec<Mnemonic>,
    verdicts: ShapeCache<Verdict>,
    key: ShapeKey,
    found: &'f mut Vec<Diagnostic>,
}

impl<'m> Checker<'m, '_> {
    fn body(
        &mut self,
        function: FuncId,
        body: &'m Body,
        symbols: &SymbolTypes,
        types: &mut BodyTypes,
    ) {
        types.fill(self.module, function, body);
        let shapes = Shapes::new(body, symbols, types);
        for (stmt, statement) in body.statements() {
            let Statement::Inst(id) = statement else {
                continue;
            };
            let Some(inst) = body.insts.get(id) else {
                continue;
            };
            if let Some(guard) = inst.guard()
                && let Operand::Reg(register) = body.pool.get(guard.predicate)
                && !types.may_guard(register)
            {
                self.guard(body, stmt, types.register(register));
            }
            self.instruction(body, stmt, id, inst.sig, &shapes);
        }
    }

    #[inline]
    fn instruction(
        &mut self,
        body: &Body,
        stmt: StmtId,
        id: InstId,
        sig: SigId,
        shapes: &Shapes<'_>,
    ) {
        let index = sig.as_u32() as usize;
        let Some(mnemonic) = self.mnemonics.get(index).copied() else {
            return;
        };
        let Some(opcode) = mnemonic.opcode else {
            return;
        };
        if !shapes.write(id, mnemonic.values, &mut self.key) {
            return;
        }
        let short = self.key.short();
        if short.is_some() && short == mnemonic.legal {
            return;
        }
        let known = self.verdicts.get(sig, &self.key);
        let verdict = known.unwrap_or_else(|| self.judge(opcode, sig));
        if verdict == Verdict::Remarkable {
            self.report(body, stmt, sig, opcode);
        } else if let Some(mnemonic) = self.mnemonics.get_mut(index) {
            mnemonic.legal = short;
        }
    }

    #[cold]
    fn judge(&mut self, opcode: Opcode, sig: SigId) -> Verdict {
        let verdict = self.ask(opcode, sig, |request, environment| {
            match environment.select(request) {
                Ok(s) if s.problems.is_empty() && s.without_effect().next().is_none() => {
                    Verdict::Legal
                }
                _ => Verdict::Remarkable,
            }
        });
        self.verdicts.insert(sig, &self.key, verdict);
        verdict
    }

    fn ask<R>(
        &self,
        opcode: Opcode,
        sig: SigId,
        answer: impl FnOnce(&Request<'_>, Environment) -> R,
    ) -> R {
        let modifiers: Vec<Modifier> = self.module.signature(sig).modifiers().collect();
        self.key.read(|operands, in_entry| {
            let request = Request {
                opcode,
                modifiers: &modifiers,
                operands,
                in_entry,
            };
            answer(&request, self.environment)
        })
    }

    #[cold]
    fn report(&mut self, body: &Body, stmt: StmtId, sig: SigId, opcode: Opcode) {
        let module = self.module;
        let layout = Layout::new(module, body.source_span(stmt));
        let signature = module.signature(sig);
        let diagnostics = self.ask(opcode, sig, |request, environment| {
            let explainer = Explainer {
                module,
                environment,
                signature,
                request,
                layout: &layout,
            };
            explainer.diagnostics()
        });
        self.found.extend(diagnostics);
    }

    #[cold]
    fn guard(&mut self, body: &Body, stmt: StmtId, ty: Option<ScalarType>) {
        let layout = Layout::new(self.module, body.source_span(stmt));
        let span = layout.guard.unwrap_or(layout.mnemonic);
        let ty = ty.map_or_else(|| "a vector".into(), |ty| alloc::format!("of type `{ty}`"));
        self.found.push(
            Diagnostic::error(
                Code::GuardType,
                span,
                alloc::format!("a guard is a predicate; this register is {ty}"),
            )
            .with_help("declare it with `.reg .pred`, or compute a predicate with `setp`"),
        );
    }
}
