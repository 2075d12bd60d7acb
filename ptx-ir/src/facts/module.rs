//! The facts of every instruction of a module, in one pass.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::control::{NoReturn, branch_targets};
use super::stale::{ModuleStamp, StaleFacts};
use super::{Facts, FormFacts, Mentions};
use crate::query::{Environment, Queries};
use crate::{
    Binding, Body, BodyId, EntityId, FuncId, InstId, LabelId, Module, OpaqueId, Operand, RegDeclId,
    RegId, parallel,
};

/// The index of [`FormFacts::UNKNOWN`].
const UNKNOWN: u32 = 0;

/// Added to the index of a call that never returns.
const NEVER_RETURNS: u32 = 1 << 31;

/// The facts about every instruction of a module.
#[derive(Clone, Debug)]
pub struct ModuleFacts<'m> {
    module: &'m Module,
    tables: Arc<FactTables>,
}

/// The tables of [`ModuleFacts`] without the module, for values that own the module as well.
#[derive(Clone, Debug)]
pub struct FactTables {
    /// The facts of the distinct mnemonics with their shapes of operands; those of unknown instructions are the first.
    forms: Vec<FormFacts>,
    /// For each instruction of each body, the index of its facts in `forms`, perhaps with [`NEVER_RETURNS`].
    bodies: Vec<Vec<u32>>,
    /// The contents of the module; `None` before the first update.
    module: Option<ModuleStamp>,
}

/// The facts of some functions.
struct Run {
    forms: Vec<FormFacts>,
    bodies: Vec<(BodyId, Vec<u32>)>,
}

impl Run {
    fn new(module: &Module, functions: &[FuncId]) -> Self {
        let mut forms = vec![FormFacts::UNKNOWN];
        let mut queries = Queries::new(module);
        let mut noreturn = NoReturn::new(module);
        let mut bodies = Vec::new();
        for &id in functions {
            let function = module.functions.get(id);
            let (Some(body_id), Some(body)) = (function.and_then(|f| f.body), module.body(id))
            else {
                continue;
            };
            queries.enter(module, id, body);
            noreturn.enter_body();
            let numbers = body.insts.iter().map(|(id, inst)| {
                let operands = body.operands(id);
                let index = queries.answer(module, body, inst.sig, operands, |query| {
                    match Environment::ANYWHERE.select(query) {
                        Ok(form) if form.violations().is_empty() => {
                            forms.push(FormFacts::new(&form));
                            forms.len() as u32 - 1
                        }
                        _ => UNKNOWN,
                    }
                });
                let index = index.unwrap_or(UNKNOWN);
                let call = facts(module, body, &forms, id, index);
                if call.is_call() && noreturn.contains(&call) {
                    index | NEVER_RETURNS
                } else {
                    index
                }
            });
            bodies.push((body_id, numbers.collect()));
        }
        Self { forms, bodies }
    }
}

impl<'m> ModuleFacts<'m> {
    /// Computes the facts about all instructions. Each distinct mnemonic with each shape of operands is looked up once.
    ///
    /// ```
    /// use ptx_ir::facts::ModuleFacts;
    /// let text = b".version 8.0\n.target sm_80\n.shared .b32 s;\n.entry k() { .reg .b32 a; ld.shared.b32 a, [s]; bar.sync 0; }";
    /// let module = ptx_parse::parse(text).module;
    /// let facts = ModuleFacts::new(&module);
    /// let (id, _, body) = module.definitions().next().unwrap();
    /// let facts = facts.function(id).unwrap();
    /// let [load, barrier] = [0, 1].map(|i| facts.inst(body.insts().nth(i).unwrap().0));
    /// assert_eq!(load.memory().next().unwrap().bytes, Some(4));
    /// assert!(barrier.is_barrier() && !barrier.may_be_removed());
    /// ```
    #[must_use]
    pub fn new(module: &'m Module) -> Self {
        Self::of(module, |_| true)
    }

    /// Computes the facts about the instructions of some functions. Those of other functions are unknown.
    pub fn of(module: &'m Module, is_included: impl Fn(FuncId) -> bool + Sync) -> Self {
        let runs = parallel::map_functions(module, |run| {
            let functions: Vec<FuncId> = run.iter().copied().filter(|f| is_included(*f)).collect();
            let facts = (!functions.is_empty()).then(|| Run::new(module, &functions));
            facts.into_iter().collect()
        });
        let mut tables = FactTables {
            forms: vec![FormFacts::UNKNOWN],
            bodies: vec![Vec::new(); module.bodies.len()],
            module: Some(ModuleStamp::of(module)),
        };
        for run in runs {
            tables.add(run);
        }
        let tables = Arc::new(tables);
        Self { module, tables }
    }

    /// The facts again, from the tables of the same module.
    ///
    /// # Errors
    ///
    /// The module was edited since, or the tables are of another module. A clone of a module is the same module until one of them
    /// is edited.
    pub fn with_tables(module: &'m Module, tables: Arc<FactTables>) -> Result<Self, StaleFacts> {
        if let Some(stamp) = tables.module {
            stamp.check(module)?;
        }
        Ok(Self { module, tables })
    }

    /// The facts without the module.
    #[must_use]
    pub fn tables(&self) -> &Arc<FactTables> {
        &self.tables
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &'m Module {
        self.module
    }

    /// The facts of a function that has a body.
    #[must_use]
    pub fn function(&self, id: FuncId) -> Option<FunctionFacts<'_>> {
        self.tables.of_function(self.module, id)
    }
}

impl FactTables {
    /// Tables with facts about no function, for [`update`](Self::update).
    #[must_use]
    pub fn empty() -> Self {
        Self {
            forms: vec![FormFacts::UNKNOWN],
            bodies: Vec::new(),
            module: None,
        }
    }

    /// The facts of a function that has a body, borrowed from the tables and the module.
    ///
    /// # Errors
    ///
    /// As [`ModuleFacts::with_tables`].
    pub fn function<'a>(
        &'a self,
        module: &'a Module,
        id: FuncId,
    ) -> Result<Option<FunctionFacts<'a>>, StaleFacts> {
        if let Some(stamp) = self.module {
            stamp.check(module)?;
        }
        Ok(self.of_function(module, id))
    }

    fn of_function<'a>(&'a self, module: &'a Module, id: FuncId) -> Option<FunctionFacts<'a>> {
        let body = module.functions.get(id)?.body?;
        Some(FunctionFacts {
            module,
            id,
            body: module.bodies.get(body)?,
            forms: &self.forms,
            numbers: self.bodies.get(body.index())?,
        })
    }

    /// Computes the facts about some functions of a module, for the first time or after they changed. The facts about other
    /// functions stay as they are: `functions` are all that [changed](Module::changed_since).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ptx_ir::facts::{FactTables, ModuleFacts};
    /// let text = b".version 8.0\n.target sm_80\n.entry k() { bar.sync 0; }\n.entry l() { bar.sync 0; }";
    /// let module = ptx_parse::parse(text).module;
    /// let mut tables = FactTables::empty();
    /// tables.update(&module, &[module.function("l").unwrap()]);
    /// let facts = ModuleFacts::with_tables(&module, Arc::new(tables))?;
    /// let is_barrier = |(id, _, body): (_, _, &ptx_ir::Body)| facts.function(id).unwrap().inst(body.insts().next().unwrap().0).is_barrier();
    /// assert_eq!(module.definitions().map(is_barrier).collect::<Vec<_>>(), [false, true]);
    /// # Ok::<(), ptx_ir::facts::StaleFacts>(())
    /// ```
    pub fn update(&mut self, module: &Module, functions: &[FuncId]) {
        self.bodies.resize(module.bodies.len(), Vec::new());
        self.module = Some(ModuleStamp::of(module));
        let old_length = self.forms.len();
        self.add(Run::new(module, functions));
        // The previous facts of changed functions are not needed any more.
        if self.forms.len().ilog2() > old_length.ilog2() {
            self.compact();
        }
    }

    /// Removes facts to which no instruction refers.
    fn compact(&mut self) {
        const NONE: u32 = u32::MAX;
        let mut numbers = vec![NONE; self.forms.len()];
        let mut forms = vec![FormFacts::UNKNOWN];
        for number in self.bodies.iter_mut().flatten() {
            let form = *number & !NEVER_RETURNS;
            let Some(new) = numbers.get_mut(form as usize).filter(|_| form != UNKNOWN) else {
                continue;
            };
            if *new == NONE {
                *new = forms.len() as u32;
                forms.extend(self.forms.get(form as usize).cloned());
            }
            *number = *new | (*number & NEVER_RETURNS);
        }
        self.forms = forms;
    }

    /// Adds the facts of some functions.
    fn add(&mut self, run: Run) {
        let first_form = self.forms.len() as u32 - 1;
        self.forms.extend(run.forms.into_iter().skip(1));
        for (body, mut numbers) in run.bodies {
            for number in &mut numbers {
                if *number & !NEVER_RETURNS != UNKNOWN {
                    *number += first_form;
                }
            }
            if let Some(entry) = self.bodies.get_mut(body.index()) {
                *entry = numbers;
            }
        }
    }
}

/// The facts about the instructions of one function.
#[derive(Copy, Clone, Debug)]
pub struct FunctionFacts<'a> {
    module: &'a Module,
    id: FuncId,
    body: &'a Body,
    forms: &'a [FormFacts],
    numbers: &'a [u32],
}

impl<'a> FunctionFacts<'a> {
    ptx_isa::getters! {
        /// The module.
        module: &'a Module = module;
        /// The function.
        id: FuncId = id;
        /// The body.
        body: &'a Body = body;
    }

    /// The registers that hold the results when the function returns, of those the body mentions: `r` of
    /// `.func (.reg .b32 r) f()`. The caller reads them, which the facts of no instruction include.
    pub fn results(&self) -> impl Iterator<Item = RegId> + use<'a> {
        let function = self.module.functions.get(self.id);
        let returns = function.map(|f| f.interface.returns).unwrap_or_default();
        let mut declarations: Vec<RegDeclId> = returns
            .of(&self.module.params)
            .iter()
            .filter_map(|p| match p.binding {
                Binding::Register(declaration) => Some(declaration),
                _ => None,
            })
            .collect();
        declarations.sort_unstable();
        // Most functions have no such results: then the registers are not visited.
        let registers = (!declarations.is_empty()).then(|| self.body.registers.iter());
        registers
            .into_iter()
            .flatten()
            .filter(move |(_, r)| declarations.binary_search(&r.decl).is_ok())
            .map(|(id, _)| id)
    }

    /// The facts about an instruction.
    #[inline]
    #[must_use]
    pub fn inst(&self, id: InstId) -> Facts<'a> {
        let number = self.numbers.get(id.index()).copied().unwrap_or(UNKNOWN);
        facts(self.module, self.body, self.forms, id, number)
    }

    /// The labels in the table that a label names; `None` if it names no table.
    #[must_use]
    pub fn table(&self, label: LabelId) -> Option<&'a [Operand]> {
        branch_targets(self.body, label)
    }

    /// The registers that an unrecognized statement contains: each may be read and written.
    #[must_use]
    pub fn opaque(&self, id: OpaqueId) -> Mentions<'a> {
        let opaque = self.body.opaques.get(id);
        Mentions::opaque(
            self.body,
            opaque.map_or(&[][..], |o| self.body.pool.slice(o.mentions)),
        )
    }
}

#[inline]
fn facts<'a>(
    module: &'a Module,
    body: &'a Body,
    forms: &'a [FormFacts],
    id: InstId,
    number: u32,
) -> Facts<'a> {
    const NOTHING: &FormFacts = &FormFacts::UNKNOWN;
    Facts {
        module,
        body,
        id,
        form: forms
            .get((number & !NEVER_RETURNS) as usize)
            .unwrap_or(NOTHING),
        never_returns: number & NEVER_RETURNS != 0,
    }
}
