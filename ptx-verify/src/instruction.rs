//! Whether an instruction is legal: asks the table once for each mnemonic and shape of operands.

use alloc::vec::Vec;
use ptx_ir::query::{Environment, NameKind, NameTypes, Queries, ShapeKey};
use ptx_ir::{Body, FuncId, Inst, InstId, Module, Operand, SigId, StmtId, TextChange};
use ptx_isa::{Form, FormMatch, FormOperand, InstQuery, Marks, Role, ScalarType};

use crate::call::Call;
use crate::call_tables::CallTables;
use crate::context::Context;
use crate::declared::Declarations;
use crate::explain::{Explanation, Search, explain};
use crate::finding::{Repair, Repeat};
use crate::location::{Location, Part};
use crate::operand_repair::{self, WrongInst};
use crate::param_access::{Effects, Parameters};
use crate::problem::call::CallProblem;
use crate::problem::instruction::{InstProblem, InstProblemKind};
use crate::register_choice::{self, RegisterUses};
use crate::uses::ModuleNames;

/// For how many different wrong instructions of a function repairs are searched: a search takes up to some milliseconds.
const MOST_SEARCHES: usize = 16;

/// For how many errors of a function the declarations of their operands are searched.
const MOST_LABELS: usize = 64;

/// The errors of a wrong instruction of the body, for the next one like it.
#[derive(Clone, Debug)]
struct Explained {
    sig: SigId,
    operands: ShapeKey,
    explanations: Vec<Explanation>,
}

/// The properties of a mnemonic for the rules that are not in the table.
#[derive(Copy, Clone, Default, Debug)]
struct Traits {
    /// Whether it calls a function.
    calls: bool,
    /// Whether an operand is a sampler; in unified mode, a texture may replace it.
    samples: bool,
    effects: Effects,
}

impl Traits {
    fn of(module: &Module, sig: SigId) -> Self {
        let signature = module.signature(sig);
        let instruction = signature.instruction();
        let forms = instruction.map_or(&[][..], |i| i.forms());
        let operands = forms.iter().flat_map(|f| f.operands());
        let words = instruction.map_or(0, |i| i.words().len());
        let takes = |form: &Form| (signature.modifiers().skip(words)).all(|m| form.accepts(m));
        let sampler = |o: &FormOperand| o.marks().contains(Marks::SAMPLER);
        let samples = |form: &&Form| form.operands().iter().any(sampler) && takes(form);
        Self {
            calls: (operands.clone()).any(|o| matches!(o.role(), Role::Args | Role::Rets)),
            samples: forms.iter().any(samples),
            effects: Effects::of(forms),
        }
    }
}

/// The result of the table for an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Verdict {
    /// Legal, with nothing to report.
    Clean,
    /// Legal, with warnings.
    Deprecated,
    Illegal,
}

/// `wide` tells whether the module has 64-bit addresses.
fn verdict(environment: Environment, wide: bool, query: &InstQuery<'_>) -> Verdict {
    let is_clean = |form: &FormMatch<'_>| {
        environment.is_clean(form) && !(wide && form.small_addresses().next().is_some())
    };
    match environment.select(query) {
        Ok(form) if is_clean(&form) => Verdict::Clean,
        Ok(form) if form.violations().is_empty() => Verdict::Deprecated,
        _ => Verdict::Illegal,
    }
}

/// An instruction whose operands belong to the pool of a body.
#[derive(Copy, Clone, Debug)]
pub struct NewInst<'o> {
    /// Its mnemonic.
    pub sig: SigId,
    /// The predicate of its guard.
    pub guard: Option<Operand>,
    /// Its operands, without the guard.
    pub operands: &'o [Operand],
}

/// Checks the instructions of a module.
#[derive(Clone, Debug)]
pub(crate) struct Instructions {
    traits: Vec<Traits>,
    queries: Queries<Verdict>,
    pub(crate) parameters: Parameters,
    pub(crate) tables: CallTables,
    explained: Vec<Explained>,
    /// The declarations of the entered body, computed when an instruction is wrong.
    registers: Option<RegisterUses>,
    /// The function whose body was entered.
    function: FuncId,
    /// The declarations of the module, computed when an instruction is wrong.
    names: Option<ModuleNames>,
    labels_left: usize,
    /// For how many instructions of the body registers are still searched.
    searches_left: usize,
}

impl Instructions {
    pub(crate) fn new(module: &Module) -> Self {
        let sigs = module.signatures().ids();
        Self {
            traits: sigs.map(|id| Traits::of(module, id)).collect(),
            queries: Queries::new(module),
            parameters: Parameters::default(),
            tables: CallTables::default(),
            explained: Vec::new(),
            registers: None,
            function: FuncId::new(0),
            names: None,
            labels_left: 0,
            searches_left: 0,
        }
    }

    /// Takes note of mnemonics that the module got since.
    pub(crate) fn update_mnemonics(&mut self, module: &Module) {
        let new = module.signatures().ids().skip(self.traits.len());
        self.traits.extend(new.map(|id| Traits::of(module, id)));
        self.queries.update_mnemonics(module);
    }

    /// The text of the module has changed in the body of a function.
    pub(crate) fn move_text(&mut self, change: TextChange) {
        if let Some(names) = &mut self.names {
            names.move_text(change);
        }
    }

    /// Takes note of changed declarations of the module.
    pub(crate) fn update_symbols(&mut self, module: &Module) {
        self.queries.update_symbols(module);
        self.names = None;
    }

    /// The meanings of the names of the module and of the entered body.
    pub(crate) fn names_mut(&mut self) -> &mut NameTypes {
        self.queries.names_mut()
    }

    /// Whether an instruction of the entered body is certainly legal, perhaps with warnings.
    #[inline]
    pub(crate) fn is_legal(
        &mut self,
        module: &Module,
        environment: Environment,
        body: &Body,
        inst: NewInst<'_>,
    ) -> bool {
        match inst.guard {
            None => {}
            Some(Operand::Reg(register)) if self.queries.names().may_guard(register) => {}
            Some(_) => return false,
        }
        let wide = has_wide_addresses(module);
        let legal = (self.queries).answer(module, body, inst.sig, inst.operands, |query| {
            verdict(environment, wide, query)
        });
        let traits = self.traits.get(inst.sig.as_u32() as usize);
        let traits = traits.copied().unwrap_or_default();
        matches!(legal, Some(Verdict::Clean | Verdict::Deprecated))
            && !traits.calls
            && !traits.samples
            && !(self.parameters).matters(inst.guard.is_some(), traits.effects)
    }

    /// Enters a body.
    pub(crate) fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.queries.enter(module, function, body);
        self.parameters.fill(module, function, body);
        self.tables.clear();
        self.explained.clear();
        self.function = function;
        self.registers = None;
        self.searches_left = MOST_SEARCHES;
        self.labels_left = MOST_LABELS;
    }

    /// Checks one instruction of the body that was entered.
    #[inline]
    pub(crate) fn check<'m>(
        &mut self,
        context: &mut Context<'m>,
        body: &'m Body,
        stmt: StmtId,
        id: InstId,
        inst: &Inst,
    ) {
        if inst.guard().is_some() {
            self.guard(context, body, stmt, inst);
        }
        let (module, environment) = (context.module, context.environment);
        let operands = body.operands(id);
        let wide = has_wide_addresses(module);
        let legal = self
            .queries
            .answer(module, body, inst.sig, operands, |query| {
                verdict(environment, wide, query)
            });
        let Some(legal) = legal else { return };
        let index = inst.sig.as_u32() as usize;
        let traits = self.traits.get(index).copied().unwrap_or_default();
        if traits.calls {
            let names = self.queries.names();
            Call::new(context, body, names, stmt).check(operands, &mut self.tables);
        } else {
            self.parameters
                .check(context, body, stmt, inst, operands, traits.effects);
        }
        if traits.samples
            && legal != Verdict::Illegal
            && context.independent_textures()
            && !has_sampler(self.queries.names(), body, operands)
        {
            let (sig, kind) = (inst.sig, InstProblemKind::NoSampler);
            let location = Location::part(body.source_span(stmt), Part::Mnemonic);
            context.report(location, InstProblem { sig, kind });
        }
        if legal != Verdict::Clean {
            self.report(context, body, stmt, inst.sig, operands);
        }
    }

    #[cold]
    fn report(
        &mut self,
        context: &mut Context<'_>,
        body: &Body,
        stmt: StmtId,
        sig: SigId,
        operands: &[Operand],
    ) {
        let (module, environment) = (context.module, context.environment);
        let statement = body.source_span(stmt);
        let wide = has_wide_addresses(module);
        let memo_table = &mut self.explained;
        let Some(shape) = self.queries.shape(body, sig, operands) else {
            return;
        };
        let explanations = (self.queries).ask_again(module, body, sig, operands, |query| {
            let entry = memo_table
                .iter()
                .find(|entry| entry.sig == sig && entry.operands == shape);
            if let Some(entry) = entry {
                return entry.explanations.clone();
            }
            if memo_table.len() >= MOST_SEARCHES {
                return explain(environment, wide, query, Search::None);
            }
            let explanations = explain(environment, wide, query, Search::Full);
            memo_table.push(Explained {
                sig,
                operands: shape,
                explanations: explanations.clone(),
            });
            explanations
        });
        let explanations = explanations.unwrap_or_default();
        let repairs = self.operand_repairs(context, body, stmt, (sig, operands), &explanations);
        let repairs = repairs.into_iter().chain(core::iter::repeat(None));
        for (
            Explanation {
                part,
                kind,
                repeats,
            },
            repair,
        ) in explanations.into_iter().zip(repairs)
        {
            let is_operand = matches!(kind, InstProblemKind::Operand(_));
            let declared = match is_operand && self.labels_left > 0 {
                true => {
                    self.labels_left -= 1;
                    let names = self.names.get_or_insert_with(|| ModuleNames::new(module));
                    let function = self.function;
                    let declarations = Declarations {
                        module,
                        names,
                        function,
                        body,
                    };
                    declarations.of(operands, part)
                }
                false => None,
            };
            let location = Location::part(statement, part);
            let finding = context.report(location, InstProblem { sig, kind });
            finding.repair = repair;
            finding.repeats = repeats
                .into_iter()
                .map(|(part, kind)| Repeat {
                    location: Location::part(statement, part),
                    problem: InstProblem { sig, kind }.into(),
                    edited_text: finding.edited_text.clone(),
                })
                .collect();
            if let Some(location) = declared {
                finding.with_label(location, "declared here");
            }
        }
    }
}

impl Instructions {
    /// Reports a guard that is not a predicate.
    fn guard(&mut self, context: &mut Context<'_>, body: &Body, stmt: StmtId, inst: &Inst) {
        let Some(guard) = inst.guard() else { return };
        let names = self.queries.names();
        let (ty, register) = match body.pool().get(guard.predicate) {
            Operand::Reg(register) if names.may_guard(register) => return,
            Operand::Reg(register) => (names.register(register), Some(register)),
            Operand::Name(_) => return,
            _ => (None, None),
        };
        let (module, environment) = (context.module, context.environment);
        let location = Location::part(body.source_span(stmt), Part::Guard);
        let finding = context.report(location, CallProblem::Guard(ty));
        let Some(register) = register else { return };
        if let Some(stmt) = body.reg_decl_of(register).and_then(|d| d.stmt) {
            finding.with_label(Location::exact(body.source_span(stmt)), "declared here");
        }
        if let Some(left) = self.searches_left.checked_sub(1) {
            self.searches_left = left;
            let uses = (self.registers).get_or_insert_with(|| RegisterUses::of(module, body));
            let name = register_choice::name(module, body, register);
            let inst = WrongInst {
                module,
                body,
                environment,
                stmt,
                operands: &[],
                uses,
            };
            finding.repair = operand_repair::guard(&inst, register, &name);
        }
    }

    /// Other operands for each of the errors of an instruction.
    fn operand_repairs(
        &mut self,
        context: &Context<'_>,
        body: &Body,
        stmt: StmtId,
        (sig, operands): (SigId, &[Operand]),
        found: &[Explanation],
    ) -> Vec<Option<Repair>> {
        let (module, environment) = (context.module, context.environment);
        let is_warning = |e: &Explanation| {
            let kind = &e.kind;
            matches!(
                kind,
                InstProblemKind::Deprecated(..)
                    | InstProblemKind::Redundant(..)
                    | InstProblemKind::SmallAddress
            )
        };
        let Some(left) = self.searches_left.checked_sub(1) else {
            return Vec::new();
        };
        if found.iter().all(is_warning) {
            return Vec::new();
        }
        self.searches_left = left;
        let uses = (self.registers).get_or_insert_with(|| RegisterUses::of(module, body));
        let inst = WrongInst {
            module,
            body,
            environment,
            stmt,
            operands,
            uses,
        };
        let of_all = |query: &InstQuery<'_>| found.iter().map(|e| inst.repair(query, e)).collect();
        let repairs = (self.queries).ask_again(module, body, sig, operands, of_all);
        repairs.unwrap_or_default()
    }
}

/// Whether addresses of global and generic memory have 64 bits.
fn has_wide_addresses(module: &Module) -> bool {
    module.header().address_size == Some(64)
}

/// Whether a sampler that is not a texture is the address, or between the texture and the coordinates.
fn has_sampler(names: &NameTypes, body: &Body, operands: &[Operand]) -> bool {
    let texture = |kind| {
        matches!(
            kind,
            NameKind::Variable {
                ty: ScalarType::Texref,
                ..
            }
        )
    };
    let is_texture = |operand| match operand {
        Operand::Symbol(id) => texture(names.symbol(id)),
        Operand::Var(id) => texture(names.var(id)),
        _ => false,
    };
    operands.iter().any(|o| match o {
        Operand::Address(id) => body
            .pool()
            .address(*id)
            .is_some_and(|a| !is_texture(a.base)),
        Operand::Bracket(list) => match body.pool().list(*list) {
            [_, sampler, _] => !is_texture(*sampler),
            _ => false,
        },
        _ => false,
    })
}
