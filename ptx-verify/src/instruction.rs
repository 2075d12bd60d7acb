//! Checks instructions. The tables are queried once for each mnemonic and shape of operands.

use alloc::vec::Vec;
use ptx_ir::raw::TextChange;
use ptx_ir::raw::query::{Environment, NameKind, NameTypes, Queries, ShapeKey};
use ptx_ir::{Body, FuncId, Inst, InstId, Module, Operand, SigId, StmtId};
use ptx_isa::internals::InstQuery;
use ptx_isa::{Marks, Role, ScalarType};

use crate::call::Call;
use crate::call_tables::CallTables;
use crate::context::Context;
use crate::explain::{Explanation, Search, explain};
use crate::finding::{Repair, Repeat};
use crate::location::{Location, Part};
use crate::operand_repair::{self, WrongInst};
use crate::param_access::{Effects, Parameters};
use crate::problem::call::CallProblem;
use crate::problem::instruction::{InstProblem, InstProblemKind};
use crate::register_choice::{self, RegisterUses};
use crate::uses::{ModuleNames, OperandDeclarations};

/// The maximum number of different wrong instructions of a function for which repairs are searched. A search takes up to some milliseconds.
const MOST_SEARCHES: usize = 16;

/// The maximum number of errors of a function with labels at the declarations of operands.
const MOST_LABELS: usize = 64;

/// The errors of a wrong instruction of the body: an entry of the memo table for equal instructions.
#[derive(Clone, Debug)]
struct Explained {
    sig: SigId,
    operands: ShapeKey,
    explanations: Vec<Explanation>,
}

/// The properties of a mnemonic for the rules that are not in the table.
#[derive(Copy, Clone, Default, Debug)]
struct Traits {
    /// The instruction calls a function.
    is_call: bool,
    /// An operand is a sampler; in unified mode, a texture may replace it.
    has_sampler: bool,
    effects: Effects,
}

impl Traits {
    fn new(module: &Module, sig: SigId) -> Self {
        let signature = module.signature(sig);
        let Some(instruction) = signature.instruction() else {
            return Self::default();
        };
        let forms = instruction.forms();
        let name_words = instruction.words().len();
        Self {
            is_call: forms
                .iter()
                .flat_map(|form| form.operands())
                .any(|operand| matches!(operand.role(), Role::Args | Role::Rets)),
            has_sampler: forms.iter().any(|form| {
                let mut modifiers = signature.modifiers().skip(name_words);
                form.operands()
                    .iter()
                    .any(|operand| operand.marks().contains(Marks::SAMPLER))
                    && modifiers.all(|modifier| form.accepts(modifier))
            }),
            effects: Effects::new(forms),
        }
    }
}

/// The result of a query of the tables for an instruction.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Verdict {
    /// Legal, with nothing to report.
    Clean,
    /// Legal, with warnings.
    Deprecated,
    Illegal,
}

/// Queries the tables for an instruction. `has_wide_addresses` states whether the module has 64-bit addresses.
fn verdict(environment: Environment, has_wide_addresses: bool, query: &InstQuery<'_>) -> Verdict {
    let Ok(form) = environment.select(query) else {
        return Verdict::Illegal;
    };
    let has_small_address = has_wide_addresses && form.small_addresses().next().is_some();
    if environment.is_clean(&form) && !has_small_address {
        Verdict::Clean
    } else if form.violations().is_empty() {
        Verdict::Deprecated
    } else {
        Verdict::Illegal
    }
}

/// An instruction whose operands belong to the pool of a body.
#[derive(Copy, Clone, Debug)]
pub struct NewInst<'o> {
    /// The mnemonic.
    pub sig: SigId,
    /// The predicate of the guard.
    pub guard: Option<Operand>,
    /// The operands, without the guard.
    pub operands: &'o [Operand],
}

/// Checks the instructions of a module.
#[derive(Clone, Debug)]
pub(crate) struct Instructions {
    /// By mnemonic.
    traits: Vec<Traits>,
    queries: Queries<Verdict>,
    pub(crate) parameters: Parameters,
    pub(crate) tables: CallTables,
    explained: Vec<Explained>,
    /// The registers of the entered body, computed for the first wrong instruction.
    registers: Option<RegisterUses>,
    /// The function whose body was entered.
    function: FuncId,
    /// The declarations of the module, computed for the first wrong instruction.
    names: Option<ModuleNames>,
    /// The number of errors of the body that may still have labels at declarations.
    remaining_labels: usize,
    /// The number of instructions of the body for which registers may still be searched.
    remaining_searches: usize,
}

impl Instructions {
    pub(crate) fn new(module: &Module) -> Self {
        Self {
            traits: module
                .signatures()
                .ids()
                .map(|id| Traits::new(module, id))
                .collect(),
            queries: Queries::new(module),
            parameters: Parameters::default(),
            tables: CallTables::default(),
            explained: Vec::new(),
            registers: None,
            function: FuncId::new(0),
            names: None,
            remaining_labels: 0,
            remaining_searches: 0,
        }
    }

    /// Adds mnemonics that were added to the module.
    pub(crate) fn update_mnemonics(&mut self, module: &Module) {
        let new = module.signatures().ids().skip(self.traits.len());
        self.traits.extend(new.map(|id| Traits::new(module, id)));
        self.queries.update_mnemonics(module);
    }

    /// Moves the locations of declarations after a change of the text in the body of a function.
    pub(crate) fn move_text(&mut self, change: TextChange) {
        if let Some(names) = &mut self.names {
            names.move_text(change);
        }
    }

    /// Updates the declarations of the module after they changed.
    pub(crate) fn update_symbols(&mut self, module: &Module) {
        self.queries.update_symbols(module);
        self.names = None;
    }

    /// The meanings of the names of the module and of the entered body.
    pub(crate) fn names_mut(&mut self) -> &mut NameTypes {
        self.queries.names_mut()
    }

    /// Returns `true` if an instruction of the entered body is certainly legal, perhaps with warnings.
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
        let has_wide_addresses = has_wide_addresses(module);
        let verdict = self
            .queries
            .answer(module, body, inst.sig, inst.operands, |query| {
                verdict(environment, has_wide_addresses, query)
            });
        let traits = self.traits.get(inst.sig.as_u32() as usize);
        let traits = traits.copied().unwrap_or_default();
        matches!(verdict, Some(Verdict::Clean | Verdict::Deprecated))
            && !traits.is_call
            && !traits.has_sampler
            && !self
                .parameters
                .has_rules(inst.guard.is_some(), traits.effects)
    }

    /// Enters a body.
    pub(crate) fn enter(&mut self, module: &Module, function: FuncId, body: &Body) {
        self.queries.enter(module, function, body);
        self.parameters.fill(module, function, body);
        self.tables.clear();
        self.explained.clear();
        self.function = function;
        self.registers = None;
        self.remaining_searches = MOST_SEARCHES;
        self.remaining_labels = MOST_LABELS;
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
            self.check_guard(context, body, stmt, inst);
        }
        let (module, environment) = (context.module, context.environment);
        let operands = body.operands(id);
        let has_wide_addresses = has_wide_addresses(module);
        let verdict = self
            .queries
            .answer(module, body, inst.sig, operands, |query| {
                verdict(environment, has_wide_addresses, query)
            });
        let Some(verdict) = verdict else { return };
        let index = inst.sig.as_u32() as usize;
        let traits = self.traits.get(index).copied().unwrap_or_default();
        if traits.is_call {
            let names = self.queries.names();
            Call::new(context, body, names, stmt).check(operands, &mut self.tables);
        } else {
            self.parameters
                .check(context, body, stmt, inst, operands, traits.effects);
        }
        if traits.has_sampler
            && verdict != Verdict::Illegal
            && context.independent_textures()
            && !has_sampler(self.queries.names(), body, operands)
        {
            let (sig, kind) = (inst.sig, InstProblemKind::NoSampler);
            let location = Location::part(body.source_span(stmt), Part::Mnemonic);
            context.report(location, InstProblem { sig, kind });
        }
        if verdict != Verdict::Clean {
            self.report(context, body, stmt, inst.sig, operands);
        }
    }

    /// Explains an instruction that is not clean.
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
        let has_wide_addresses = has_wide_addresses(module);
        let memo_table = &mut self.explained;
        let Some(shape) = self.queries.shape(body, sig, operands) else {
            return;
        };
        let explanations = self
            .queries
            .ask_again(module, body, sig, operands, |query| {
                let entry = memo_table
                    .iter()
                    .find(|entry| entry.sig == sig && entry.operands == shape);
                if let Some(entry) = entry {
                    return entry.explanations.clone();
                }
                if memo_table.len() >= MOST_SEARCHES {
                    return explain(environment, has_wide_addresses, query, Search::None);
                }
                let explanations = explain(environment, has_wide_addresses, query, Search::Full);
                memo_table.push(Explained {
                    sig,
                    operands: shape,
                    explanations: explanations.clone(),
                });
                explanations
            })
            .unwrap_or_default();
        let repairs = self.operand_repairs(context, body, stmt, sig, operands, &explanations);
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
            let mut declaration = None;
            if matches!(kind, InstProblemKind::Operand(_)) && self.remaining_labels > 0 {
                self.remaining_labels -= 1;
                let declarations = OperandDeclarations {
                    module,
                    names: self.names.get_or_insert_with(|| ModuleNames::new(module)),
                    function: self.function,
                    body,
                };
                declaration = declarations.declaration(operands, part);
            }
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
            if let Some(location) = declaration {
                finding.with_label(location, "declared here");
            }
        }
    }

    /// Reports a guard that is not a predicate.
    fn check_guard(&mut self, context: &mut Context<'_>, body: &Body, stmt: StmtId, inst: &Inst) {
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
        if let Some(remaining) = self.remaining_searches.checked_sub(1) {
            self.remaining_searches = remaining;
            let uses = self
                .registers
                .get_or_insert_with(|| RegisterUses::new(module, body));
            let name = register_choice::name(module, body, register);
            let inst = WrongInst {
                module,
                body,
                environment,
                stmt,
                operands: &[],
                uses,
            };
            finding.repair = operand_repair::guard_repair(&inst, register, &name);
        }
    }

    /// Returns a repair with other operands for each of the errors of an instruction.
    fn operand_repairs(
        &mut self,
        context: &Context<'_>,
        body: &Body,
        stmt: StmtId,
        sig: SigId,
        operands: &[Operand],
        explanations: &[Explanation],
    ) -> Vec<Option<Repair>> {
        let (module, environment) = (context.module, context.environment);
        let Some(remaining) = self.remaining_searches.checked_sub(1) else {
            return Vec::new();
        };
        let has_only_warnings = explanations.iter().all(|explanation| {
            matches!(
                explanation.kind,
                InstProblemKind::Deprecated(..)
                    | InstProblemKind::Redundant(..)
                    | InstProblemKind::SmallAddress
            )
        });
        if has_only_warnings {
            return Vec::new();
        }
        self.remaining_searches = remaining;
        let uses = self
            .registers
            .get_or_insert_with(|| RegisterUses::new(module, body));
        let inst = WrongInst {
            module,
            body,
            environment,
            stmt,
            operands,
            uses,
        };
        self.queries
            .ask_again(module, body, sig, operands, |query| {
                explanations
                    .iter()
                    .map(|explanation| inst.repair(query, explanation))
                    .collect()
            })
            .unwrap_or_default()
    }
}

/// Returns `true` if addresses of global and generic memory have 64 bits.
fn has_wide_addresses(module: &Module) -> bool {
    module.header().address_size == Some(64)
}

/// Returns `true` if an operand other than a texture is the address, or is between the texture and the coordinates: a sampler.
fn has_sampler(names: &NameTypes, body: &Body, operands: &[Operand]) -> bool {
    let is_texture = |operand| {
        let kind = match operand {
            Operand::Symbol(id) => names.symbol(id),
            Operand::Var(id) => names.var(id),
            _ => return false,
        };
        matches!(
            kind,
            NameKind::Variable {
                ty: ScalarType::Texref,
                ..
            }
        )
    };
    operands.iter().any(|operand| match operand {
        Operand::Address(id) => body
            .pool()
            .address(*id)
            .is_some_and(|address| !is_texture(address.base)),
        Operand::Bracket(list) => match body.pool().list(*list) {
            [_, sampler, _] => !is_texture(*sampler),
            _ => false,
        },
        _ => false,
    })
}
