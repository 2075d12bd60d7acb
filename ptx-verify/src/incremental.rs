//! A checked module whose diagnostics are kept, so that after an edit only what could have changed is checked again.

use alloc::vec::Vec;
use ptx_ir::Changed;
use ptx_ir::query::Environment;
use ptx_ir::{
    Body, Diagnostic, EntityId, FuncId, Module, Severity, Statement, SymbolId, TextChange, parallel,
};
use ptx_isa::{PtxVersion, Target};

use crate::context::Context;
use crate::instruction::Instructions;
use crate::{Options, alias, body, debug, module_rules, too_old, uses, wrong_declaration};

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
    /// The names of the module that it uses, in order.
    symbols: Vec<SymbolId>,
    /// Whether rules of the module look at it.
    concerns_module: bool,
}

/// Whether rules of the module look at a body: a `.loc` with `inlined_at` and an `.alias` refer to those of other functions.
fn concerns_module(body: &Body) -> bool {
    debug::has_inlined_code(body) || alias::has_alias(body)
}

impl CheckedBody {
    fn new(function: FuncId, body: &Body, diagnostics: Vec<Diagnostic>) -> Self {
        Self {
            function,
            diagnostics,
            symbols: uses::of_body(body),
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
    /// The diagnostics of the rules about more than one function.
    of_module: Vec<Diagnostic>,
    bodies: Vec<CheckedBody>,
    /// The index of each function's body in `bodies`.
    indices: Vec<Option<usize>>,
    instructions: Instructions,
}

/// Evidence that a module was found legal for a version and a target. Only [`Checked::proof`] makes one; it is about the
/// module as of the last [`Checked::update`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Proof {
    version: PtxVersion,
    target: Target,
}

impl Proof {
    /// The version it is legal in.
    #[must_use]
    pub const fn version(self) -> PtxVersion {
        self.version
    }

    /// The target it is legal on.
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
        let (of_module, bodies) = check(module, environment, &instructions, CheckedBody::new);
        let mut indices = vec![None; module.functions().len()];
        for (i, body) in bodies.iter().enumerate() {
            if let Some(index) = indices.get_mut(body.function.index()) {
                *index = Some(i);
            }
        }
        Self {
            options,
            environment,
            of_module,
            bodies,
            indices,
            instructions,
        }
    }

    /// The text of the module has changed in the body of a function: moves the places of all others. Follow it by
    /// [`update`](Self::update) with that function.
    pub fn move_text(&mut self, change: TextChange) {
        let of_bodies = self.bodies.iter_mut().flat_map(|b| &mut b.diagnostics);
        for d in self.of_module.iter_mut().chain(of_bodies) {
            change.relocate(d);
        }
        self.instructions.move_text(change);
    }

    /// Checks again what an edit of the module could have changed.
    pub fn update(&mut self, module: &Module, changes: Changes<'_>) {
        let environment = self.options.environment(module);
        if environment != self.environment || changes.directives {
            *self = Self::new(module, self.options);
            return;
        }
        self.instructions.update_mnemonics(module);
        let of_module_rules = |f: &FuncId| {
            let before = self.of_body(*f).is_some_and(|b| b.concerns_module);
            before || module.body(*f).is_some_and(concerns_module)
        };
        if !changes.symbols.is_empty() || changes.functions.iter().any(of_module_rules) {
            self.of_module = of_module(module, environment);
        }
        let mut stale: Vec<FuncId> = changes.functions.to_vec();
        if !changes.symbols.is_empty() {
            self.instructions.update_symbols(module);
            let uses = |b: &&CheckedBody| {
                let mut symbols = changes.symbols.iter();
                symbols.any(|s| b.symbols.binary_search(s).is_ok())
            };
            stale.extend(self.bodies.iter().filter(uses).map(|b| b.function));
        }
        stale.sort_unstable();
        stale.dedup();
        for function in stale {
            self.check_body(module, function);
        }
    }

    /// Checks the body of a function, for the first time or again.
    fn check_body(&mut self, module: &Module, function: FuncId) {
        let instructions = &mut self.instructions;
        let checked = module.body(function).map(|body| {
            let diagnostics = of_body(module, self.environment, instructions, function, body);
            CheckedBody::new(function, body, diagnostics)
        });
        let index = function.index();
        let body_index = self.indices.get(index).copied().flatten();
        match (checked, body_index.and_then(|i| self.bodies.get_mut(i))) {
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

    fn of_body(&self, function: FuncId) -> Option<&CheckedBody> {
        let index = self.indices.get(function.as_u32() as usize)?;
        self.bodies.get((*index)?)
    }

    /// All diagnostics: first those of the module, then function by function. Each use of what the version or the target does
    /// not have has its own, while [`verify`](crate::verify) reports one for all.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let bodies = self.bodies.iter().flat_map(|b| &b.diagnostics);
        self.of_module.iter().chain(bodies)
    }

    /// The diagnostics of the body of a function.
    #[must_use]
    pub fn of_function(&self, function: FuncId) -> &[Diagnostic] {
        self.of_body(function).map_or(&[], |b| &b.diagnostics)
    }

    /// The names of the module that the body of a function uses: its diagnostics depend on their declarations, and on no
    /// others.
    #[must_use]
    pub fn used_symbols(&self, function: FuncId) -> &[SymbolId] {
        self.of_body(function).map_or(&[], |b| &b.symbols)
    }

    /// Evidence that there is no error; `None` where there is one, or where the header names no known target.
    #[must_use]
    pub fn proof(&self) -> Option<Proof> {
        let legal = self.diagnostics().all(|d| d.severity != Severity::Error);
        let target = self.environment.target().filter(|_| legal)?;
        Some(Proof {
            version: self.environment.version(),
            target,
        })
    }

    /// All diagnostics in the order of the source.
    #[must_use]
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.of_module;
        diagnostics.extend(self.bodies.into_iter().flat_map(|b| b.diagnostics));
        ptx_ir::sort_by_position(&mut diagnostics);
        diagnostics
    }
}

/// All diagnostics of a module, in the order of the source.
pub(crate) fn of_all(module: &Module, options: &Options) -> Vec<Diagnostic> {
    let environment = options.environment(module);
    let instructions = Instructions::new(module);
    let keep = |_, _: &Body, found| found;
    let (mut found, bodies) = check(module, environment, &instructions, keep);
    found.extend(bodies.into_iter().flatten());
    ptx_ir::sort_by_position(&mut found);
    too_old::merge(module, environment, &mut found);
    found
}

/// A shorter source is not worth another thread.
const LARGE_SOURCE: usize = 1 << 16;

/// Applies all rules to a module. Gives the diagnostics of those that look at more than one function, and what `keep` makes of
/// the diagnostics of each body.
fn check<T: Send>(
    module: &Module,
    environment: Environment,
    instructions: &Instructions,
    keep: impl Fn(FuncId, &Body, Vec<Diagnostic>) -> T + Sync,
) -> (Vec<Diagnostic>, Vec<T>) {
    let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    let of_module = || of_module(module, environment);
    let of_bodies = || of_functions(module, &functions, environment, instructions, &keep);
    match module.source().len() < LARGE_SOURCE {
        // Without starting threads.
        true => (of_module(), of_bodies()),
        false => parallel::join(of_module, of_bodies),
    }
}

/// Applies `keep` to the diagnostics of the bodies of some functions.
fn of_functions<T: Send>(
    module: &Module,
    functions: &[FuncId],
    environment: Environment,
    instructions: &Instructions,
    keep: &(impl Fn(FuncId, &Body, Vec<Diagnostic>) -> T + Sync),
) -> Vec<T> {
    parallel::map_some(module, functions, |functions| {
        let mut instructions = instructions.clone();
        functions
            .iter()
            .filter_map(|&f| {
                let body = module.body(f)?;
                let diagnostics = of_body(module, environment, &mut instructions, f, body);
                Some(keep(f, body, diagnostics))
            })
            .collect()
    })
}

/// The diagnostics of the body of a function.
pub(crate) fn of_body(
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
            body::check(&mut context, body, statement, span);
        }
    }
    wrong_declaration::merge(&mut context, body);
    context.into_diagnostics()
}

/// The diagnostics of [`of_module`], in the order of the source.
pub(crate) fn of_items(module: &Module) -> Vec<Diagnostic> {
    let mut diagnostics = of_module(module, Environment::of(module));
    ptx_ir::sort_by_position(&mut diagnostics);
    diagnostics
}

/// The diagnostics of the rules that look at more than one function.
pub(crate) fn of_module(module: &Module, environment: Environment) -> Vec<Diagnostic> {
    let mut context = Context::new(module, environment);
    module_rules::check(&mut context);
    context.into_diagnostics()
}
