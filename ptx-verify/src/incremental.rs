//! A module whose verdict is kept, so that after an edit only what could change is checked again.

use alloc::vec::Vec;
use ptx_ir::edit::Changed;
use ptx_ir::{Body, Diagnostic, FuncId, Module, Operand, Severity, SymbolId};
use ptx_isa::{PtxVersion, Target};

use crate::context::Context;
use crate::instruction::Instructions;
use crate::{Environment, Options, body, debug, header, items, redeclaration};

/// What an edit changed.
#[derive(Copy, Clone, Default, Debug)]
pub struct Changes<'a> {
    /// Functions with another body.
    pub functions: &'a [FuncId],
    /// Names of the module with another declaration: the rules of the module and the functions that use them are checked
    /// again.
    pub symbols: &'a [SymbolId],
    /// Whether directives of the module came or went: everything is checked again.
    pub directives: bool,
}

impl<'a> From<&'a Changed> for Changes<'a> {
    /// What the edits of a module changed.
    fn from(changed: &'a Changed) -> Self {
        Self {
            functions: &changed.functions,
            symbols: &changed.symbols,
            directives: changed.directives,
        }
    }
}

/// The verdict on one body.
#[derive(Clone, Debug)]
struct BodyVerdict {
    function: FuncId,
    found: Vec<Diagnostic>,
    /// The names of the module that it uses, in order.
    symbols: Vec<SymbolId>,
}

/// A module that was checked, with the verdict on each of its functions.
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
/// let mut editor = module.edit(k)?;
/// let (add, _) = editor.body().statements().nth(1).expect("an addition");
/// editor.set_mnemonic(add, "add.f32")?;
/// checked.update(&module, Changes::from(&module.changed_since(revision)));
/// assert_eq!(checked.of_function(k).len(), 1);
/// # Ok::<(), ptx_ir::edit::EditError>(())
/// ```
#[derive(Debug)]
pub struct Checked {
    options: Options,
    environment: Environment,
    /// Of the rules that look at more than one function.
    outside: Vec<Diagnostic>,
    bodies: Vec<BodyVerdict>,
    /// Where the verdict on each function is.
    places: Vec<Option<usize>>,
    instructions: Instructions,
}

/// Says that a module was found legal for a version and a target. Only [`Checked::proof`] makes one; it speaks of the
/// module as it was at the last [`Checked::update`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    version: PtxVersion,
    target: Target,
}

impl Proof {
    /// The version it is legal in.
    pub const fn version(self) -> PtxVersion {
        self.version
    }

    /// The target it is legal on.
    pub const fn target(self) -> Target {
        self.target
    }
}

impl Checked {
    /// Checks a whole module.
    pub fn new(module: &Module, options: Options) -> Self {
        let mut context = Context::new(module, Environment::new(module, &options));
        let mut checked = Self {
            options,
            environment: context.environment,
            outside: Vec::new(),
            bodies: Vec::new(),
            places: Vec::new(),
            instructions: Instructions::new(module),
        };
        module_rules(&mut context);
        checked.outside = context.found;
        for (function, ..) in module.definitions() {
            checked.check_body(module, function);
        }
        checked
    }

    /// Checks again what an edit of the module could have changed.
    pub fn update(&mut self, module: &Module, changes: Changes<'_>) {
        let environment = Environment::new(module, &self.options);
        if environment != self.environment || changes.directives {
            *self = Self::new(module, self.options);
            return;
        }
        self.instructions.grow(module);
        // Which places code was inlined at is known across functions.
        let places = |f: &FuncId| module.body(*f).is_some_and(debug::names_places);
        if !changes.symbols.is_empty() || changes.functions.iter().any(places) {
            let mut context = Context::new(module, environment);
            module_rules(&mut context);
            self.outside = context.found;
        }
        if !changes.symbols.is_empty() {
            self.instructions.rename(module);
        }
        let mut stale: Vec<FuncId> = changes.functions.to_vec();
        if !changes.symbols.is_empty() {
            let used = |b: &&BodyVerdict| {
                let mut symbols = changes.symbols.iter();
                symbols.any(|s| b.symbols.binary_search(s).is_ok())
            };
            stale.extend(self.bodies.iter().filter(used).map(|b| b.function));
            stale.sort_unstable();
            stale.dedup();
        }
        for function in stale {
            self.check_body(module, function);
        }
    }

    /// Checks the body of a function, for the first time or again.
    fn check_body(&mut self, module: &Module, function: FuncId) {
        let verdict = module
            .body(function)
            .map(|body| self.judge(module, function, body));
        let index = function.as_u32() as usize;
        let place = self.places.get(index).copied().flatten();
        match (verdict, place.and_then(|p| self.bodies.get_mut(p))) {
            (Some(verdict), Some(old)) => *old = verdict,
            (Some(verdict), None) => {
                self.places.resize(self.places.len().max(index + 1), None);
                if let Some(entry) = self.places.get_mut(index) {
                    *entry = Some(self.bodies.len());
                }
                self.bodies.push(verdict);
            }
            // It is a declaration now.
            (None, Some(old)) => old.found.clear(),
            (None, None) => {}
        }
    }

    fn verdict(&self, function: FuncId) -> Option<&BodyVerdict> {
        let place = self.places.get(function.as_u32() as usize)?;
        self.bodies.get((*place)?)
    }

    fn judge(&mut self, module: &Module, function: FuncId, of_function: &Body) -> BodyVerdict {
        let mut context = Context::new(module, self.environment);
        self.instructions.enter(module, function, of_function);
        body::check(&mut context, &mut self.instructions, of_function);
        let mut symbols: Vec<SymbolId> = of_function
            .pool()
            .operands()
            .iter()
            .filter_map(symbol)
            .collect();
        for address in of_function.pool().addresses() {
            symbols.extend(symbol(&address.base));
        }
        symbols.sort_unstable();
        symbols.dedup();
        BodyVerdict {
            function,
            found: context.found,
            symbols,
        }
    }

    /// Everything that is wrong: what concerns the module first, then function by function.
    pub fn diagnostics(&self) -> impl Iterator<Item = &Diagnostic> {
        let bodies = self.bodies.iter().flat_map(|b| &b.found);
        self.outside.iter().chain(bodies)
    }

    /// What is wrong in the body of a function.
    pub fn of_function(&self, function: FuncId) -> &[Diagnostic] {
        self.verdict(function).map_or(&[], |v| &v.found)
    }

    /// The names of the module that the body of a function uses: its verdict depends on them, and on no others.
    pub fn used_symbols(&self, function: FuncId) -> &[SymbolId] {
        self.verdict(function).map_or(&[], |v| &v.symbols)
    }

    /// A proof that there is no error; `None` where there is one, or where the header names no known target.
    pub fn proof(&self) -> Option<Proof> {
        let legal = self.diagnostics().all(|d| d.severity != Severity::Error);
        let target = self.environment.target.filter(|_| legal)?;
        Some(Proof {
            version: self.environment.version,
            target,
        })
    }

    /// All diagnostics in the order of the source.
    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut found = self.outside;
        found.extend(self.bodies.into_iter().flat_map(|b| b.found));
        found.sort_by_key(|d| d.span.start);
        found
    }
}

fn symbol(operand: &Operand) -> Option<SymbolId> {
    match operand {
        Operand::Symbol(id) => Some(*id),
        _ => None,
    }
}

/// The rules that look at more than one function.
pub(crate) fn module_rules(context: &mut Context<'_>) {
    header::check(context);
    items(context);
    redeclaration::check(context);
    debug::check(context);
}
