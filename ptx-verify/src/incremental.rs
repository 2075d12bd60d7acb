//! A checked module whose diagnostics are kept, so that after an edit only what could have changed is checked again.

use alloc::vec::Vec;
use ptx_ir::raw::{TextChange, parallel, query::Environment};
use ptx_ir::{Body, Diagnostic, EntityId, FuncId, Module, Severity, Statement, SymbolId};
use ptx_ir::{Budget, BudgetExhausted, Changed};
use ptx_isa::{PtxVersion, Target};

use crate::context::Context;
use crate::instruction::Instructions;
use crate::rules::{check_module, check_statement};
use crate::{Options, alias, debug, too_old, uses, wrong_declaration};

/// The changes of an edit.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Default, Debug)]
#[non_exhaustive]
pub struct Changes<'a> {
    /// Functions with another body.
    pub functions: &'a [FuncId],
    /// Names of the module with another declaration: the rules of the module and the functions that use them are checked
    /// again.
    pub symbols: &'a [SymbolId],
    /// Whether directives of the module were added or removed: everything is checked again.
    pub directives: bool,
}

impl<'a> Changes<'a> {
    /// Changed bodies and changed declarations.
    #[must_use]
    pub const fn new(functions: &'a [FuncId], symbols: &'a [SymbolId]) -> Self {
        Self {
            functions,
            symbols,
            directives: false,
        }
    }
}

impl<'a> From<&'a Changed> for Changes<'a> {
    /// The changes of the edits of a module.
    fn from(changed: &'a Changed) -> Self {
        Self {
            functions: &changed.functions,
            symbols: &changed.symbols,
            directives: changed.directives,
        }
    }
}

/// The diagnostics of one body.
#[derive(Clone, Debug)]
struct CheckedBody {
    function: FuncId,
    diagnostics: Vec<Diagnostic>,
    /// The names of the module that the body uses, in ascending order.
    symbols: Vec<SymbolId>,
    concerns_module: bool,
}

/// Returns `true` if the rules about several functions examine a body: a `.loc` with `inlined_at` and an `.alias` refer to other functions.
fn concerns_module(body: &Body) -> bool {
    debug::has_inlined_code(body) || alias::has_alias(body)
}

impl CheckedBody {
    fn new(function: FuncId, body: &Body, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            function,
            diagnostics,
            symbols: uses::used_symbols(body),
            concerns_module: concerns_module(body),
        }
    }
}

/// A checked module, with the diagnostics of each function.
///
/// Checking is linear in the module; [`update`](Self::update) after an edit is linear in the changed functions, and in
/// the declarations at module level where one of them changed.
///
/// ```
/// # use ptx_verify::{Changes, Checked, Options};
/// let text = b".version 8.0 .target sm_80 .address_size 64 .entry k() { .reg .b32 %r<2>; add.s32 %r0, %r1, 1; ret; }";
/// let mut module = ptx_parse::parse(text).module;
/// let mut checked = Checked::new(&module, Options::default());
/// let proof = checked.proof().expect("it is legal");
/// assert_eq!(proof.version().to_string(), "8.0");
/// let k = module.function("k").expect("it is there");
/// let revision = module.revision();
/// use ptx_edit::EditModule as _;
/// let mut editor = module.edit(k)?;
/// let (add, _) = editor.body().statements().nth(1).expect("an addition");
/// editor.set_mnemonic(add, "add.f32")?;
/// checked.update(&module, Changes::from(&module.changed_since(revision)));
/// assert_eq!(checked.of_function(k).len(), 1);
/// # Ok::<(), ptx_edit::EditError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checked {
    options: Options,
    environment: Environment,
    /// The diagnostics of the rules about items and several functions.
    module_diagnostics: Vec<Diagnostic>,
    bodies: Vec<CheckedBody>,
    /// The index of each function's body in `bodies`.
    indices: Vec<Option<usize>>,
    instructions: Instructions,
}

/// Evidence that a module is legal for a version and a target. Only [`Checked::proof`] creates it. It holds for the
/// module as of the last [`Checked::update`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Proof {
    version: PtxVersion,
    target: Target,
}

impl Proof {
    /// The version in which the module is legal.
    #[must_use]
    pub const fn version(self) -> PtxVersion {
        self.version
    }

    /// The target on which the module is legal.
    #[must_use]
    pub const fn target(self) -> Target {
        self.target
    }
}

impl Checked {
    /// Checks a whole module.
    #[must_use]
    pub fn new(module: &Module, options: Options) -> Self {
        let environment = options.environment(module);
        let instructions = Instructions::new(module);
        let (module_diagnostics, bodies) = check(
            module,
            environment,
            &instructions,
            &Budget::unlimited(),
            CheckedBody::new,
        );
        let mut indices = vec![None; module.functions().len()];
        for (index, body) in bodies.iter().enumerate() {
            if let Some(entry) = indices.get_mut(body.function.index()) {
                *entry = Some(index);
            }
        }
        Self {
            options,
            environment,
            module_diagnostics,
            bodies,
            indices,
            instructions,
        }
    }

    /// Moves the spans of diagnostics after a change of the text in the body of a function. Call [`update`](Self::update) with that function
    /// afterwards.
    pub fn move_text(&mut self, change: TextChange) {
        let body_diagnostics = self
            .bodies
            .iter_mut()
            .flat_map(|body| &mut body.diagnostics);
        for diagnostic in self.module_diagnostics.iter_mut().chain(body_diagnostics) {
            change.relocate(diagnostic);
        }
        self.instructions.move_text(change);
    }

    /// Checks the parts again whose diagnostics an edit of the module may have changed.
    pub fn update(&mut self, module: &Module, changes: Changes<'_>) {
        let environment = self.options.environment(module);
        if environment != self.environment || changes.directives {
            *self = Self::new(module, self.options);
            return;
        }
        self.instructions.update_mnemonics(module);
        let concerns_module = changes.functions.iter().any(|id| {
            self.checked_body(*id)
                .is_some_and(|checked| checked.concerns_module)
                || module.body(*id).is_some_and(concerns_module)
        });
        if !changes.symbols.is_empty() || concerns_module {
            self.module_diagnostics = module_diagnostics(module, environment);
        }
        let mut dirty: Vec<FuncId> = changes.functions.to_vec();
        if !changes.symbols.is_empty() {
            self.instructions.update_symbols(module);
            dirty.extend(
                self.bodies
                    .iter()
                    .filter(|checked| {
                        let mut symbols = changes.symbols.iter();
                        symbols.any(|symbol| checked.symbols.binary_search(symbol).is_ok())
                    })
                    .map(|checked| checked.function),
            );
        }
        dirty.sort_unstable();
        dirty.dedup();
        for function in dirty {
            self.check_body(module, function);
        }
    }

    /// Checks the body of a function, for the first time or again.
    fn check_body(&mut self, module: &Module, function: FuncId) {
        let instructions = &mut self.instructions;
        let checked = module.body(function).map(|body| {
            let diagnostics =
                body_diagnostics(module, self.environment, instructions, function, body);
            CheckedBody::new(function, body, diagnostics)
        });
        let index = function.index();
        let body_index = self.indices.get(index).copied().flatten();
        match (
            checked,
            body_index.and_then(|index| self.bodies.get_mut(index)),
        ) {
            (Some(checked), Some(old)) => *old = checked,
            (Some(checked), None) => {
                let len = self.indices.len().max(index + 1);
                self.indices.resize(len, None);
                if let Some(entry) = self.indices.get_mut(index) {
                    *entry = Some(self.bodies.len());
                }
                self.bodies.push(checked);
            }
            // The function has no body any more.
            (None, Some(old)) => old.diagnostics.clear(),
            (None, None) => {}
        }
    }

    fn checked_body(&self, function: FuncId) -> Option<&CheckedBody> {
        let index = self.indices.get(function.as_u32() as usize)?;
        self.bodies.get((*index)?)
    }

    /// Returns all diagnostics: first those of the module, then those of the functions. Each use of a feature that the version or the target does
    /// not have is a separate diagnostic, while [`verify`](crate::verify) merges them.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let bodies = self.bodies.iter().flat_map(|body| &body.diagnostics);
        self.module_diagnostics.iter().chain(bodies)
    }

    /// The diagnostics of the body of a function.
    #[must_use]
    pub fn of_function(&self, function: FuncId) -> &[Diagnostic] {
        self.checked_body(function).map_or(&[], |b| &b.diagnostics)
    }

    /// The names of the module that the body of a function uses: its diagnostics depend on their declarations, and on no
    /// others.
    #[must_use]
    pub fn used_symbols(&self, function: FuncId) -> &[SymbolId] {
        self.checked_body(function).map_or(&[], |b| &b.symbols)
    }

    /// Returns evidence that there is no error; `None` if there is one, or if the header names no known target.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        let has_error = self
            .diagnostics()
            .any(|diagnostic| diagnostic.severity == Severity::Error);
        let target = self.environment.target().filter(|_| !has_error)?;
        Some(Proof {
            version: self.environment.version(),
            target,
        })
    }

    /// Returns all diagnostics in the order of the source.
    #[must_use]
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.module_diagnostics;
        diagnostics.extend(self.bodies.into_iter().flat_map(|body| body.diagnostics));
        ptx_ir::sort_by_position(&mut diagnostics);
        diagnostics
    }
}

/// Returns all diagnostics of a module, in the order of the source.
pub(crate) fn all_diagnostics(
    module: &Module,
    options: &Options,
    budget: &Budget,
) -> Vec<Diagnostic> {
    let environment = options.environment(module);
    let instructions = Instructions::new(module);
    let (mut diagnostics, bodies) = check(
        module,
        environment,
        &instructions,
        budget,
        |_, _, diagnostics| diagnostics,
    );
    diagnostics.extend(bodies.into_iter().flatten());
    ptx_ir::sort_by_position(&mut diagnostics);
    too_old::merge(module, environment, &mut diagnostics);
    diagnostics
}

/// The cost of checking a statement or an item: about the bytes of an instruction.
const STATEMENT_COST: usize = 32;

/// The minimum length of a source in bytes that is checked by several threads.
const LEAST_PARALLEL_BYTES: usize = 1 << 16;

/// Applies all rules to a module. Returns the diagnostics of the rules about items and several functions, and the results of `keep` for
/// the diagnostics of each body. Bodies are skipped as soon as the budget is exhausted.
fn check<T: Send>(
    module: &Module,
    environment: Environment,
    instructions: &Instructions,
    budget: &Budget,
    keep: impl Fn(FuncId, &Body, Vec<Diagnostic>) -> T + Sync,
) -> (Vec<Diagnostic>, Vec<T>) {
    let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    let check_items = || match budget.spend(STATEMENT_COST * module.items().count()) {
        Ok(()) => module_diagnostics(module, environment),
        Err(BudgetExhausted) => Vec::new(),
    };
    let check_body = |function, instructions: &mut Instructions| {
        let body = module.body(function)?;
        let cost = STATEMENT_COST * body.statement_table().len();
        budget.spend(cost).ok()?;
        let diagnostics = body_diagnostics(module, environment, instructions, function, body);
        Some(keep(function, body, diagnostics))
    };
    let check_bodies = || check_functions(module, &functions, instructions, &check_body);
    if module.source().len() < LEAST_PARALLEL_BYTES {
        (check_items(), check_bodies())
    } else {
        parallel::join(check_items, check_bodies)
    }
}

/// Applies `check_body` to the bodies of functions.
fn check_functions<T: Send>(
    module: &Module,
    functions: &[FuncId],
    instructions: &Instructions,
    check_body: &(impl Fn(FuncId, &mut Instructions) -> Option<T> + Sync),
) -> Vec<T> {
    parallel::map_some(module, functions, |functions| {
        let mut instructions = instructions.clone();
        functions
            .iter()
            .filter_map(|&function| check_body(function, &mut instructions))
            .collect()
    })
}

/// Returns the diagnostics of the body of a function.
pub(crate) fn body_diagnostics(
    module: &Module,
    environment: Environment,
    instructions: &mut Instructions,
    function: FuncId,
    body: &Body,
) -> Vec<Diagnostic> {
    let mut context = Context::new(module, environment);
    instructions.enter(module, function, body);
    for (stmt, statement) in body.statements() {
        context.enter_statement(body, stmt);
        if let Statement::Inst(id) = statement {
            if let Some(inst) = body.inst(id) {
                instructions.check(&mut context, body, stmt, id, inst);
            }
        } else {
            let span = body.source_span(stmt);
            check_statement(&mut context, body, statement, span);
        }
    }
    wrong_declaration::merge(&mut context, body);
    context.into_diagnostics()
}

/// Returns the diagnostics of [`module_diagnostics`] for the version and target of the header, in the order of the source.
pub(crate) fn item_diagnostics(module: &Module) -> Vec<Diagnostic> {
    let mut diagnostics = module_diagnostics(module, Environment::of(module));
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

/// Returns the diagnostics of the rules about items and several functions.
pub(crate) fn module_diagnostics(module: &Module, environment: Environment) -> Vec<Diagnostic> {
    let mut context = Context::new(module, environment);
    check_module(&mut context);
    context.into_diagnostics()
}
