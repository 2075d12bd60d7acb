//! The instruction that a condition examines, with its function and module. Properties of the function are computed when a condition needs them.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;

use ptx_analysis::cfg::{Block, BlockId};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::source_lines::{FunctionLines, SourceLines};
use ptx_ir::facts::{Facts, FunctionFacts, MemoryAccess, ModuleFacts, RegUse, RegisterComponent};
use ptx_ir::{Body, FuncId, Function, InstId, LineIndex, Module, OpaqueId, Span, StmtId};
use ptx_isa::{PtxVersion, Target};
use ptx_verify::InstRequirements;

use ptx_report::demangle::spellings;
use ptx_report::register_names::RegisterNames;

/// The module that contains the examined instructions.
pub(crate) struct InModule<'a> {
    pub(crate) file: &'a str,
    pub(crate) module: &'a Module,
    pub(crate) lines: &'a LineIndex,
    pub(crate) source_lines: &'a SourceLines<'a>,
    /// Computed when a condition first examines requirements.
    pub(crate) requirements: &'a RefCell<Option<InstRequirements>>,
}

/// The function that contains the examined instructions.
pub(crate) struct InFunction<'a> {
    pub(crate) module: &'a InModule<'a>,
    pub(crate) id: FuncId,
    pub(crate) function: &'a Function,
    pub(crate) body: &'a Body,
    facts: FunctionFacts<'a>,
    /// For each condition of `after` and `before`, the statements that satisfy it.
    pub(super) paths: Vec<Vec<bool>>,
    pub(crate) analysis: FunctionAnalysis<'a>,
    source: OnceCell<FunctionLines<'a, 'a>>,
    names: OnceCell<RegisterNames>,
    /// Set when the requirements have been prepared for the function.
    requirements_entered: OnceCell<()>,
    spellings: RefCell<HashMap<String, Rc<[String]>>>,
}

/// An instruction, or one of its memory accesses.
#[derive(Copy, Clone)]
pub(crate) struct Site<'f, 'a> {
    pub(crate) function: &'f InFunction<'a>,
    pub(crate) stmt: StmtId,
    pub(crate) inst: InstId,
    /// The unrecognized statement, if it is not an instruction.
    opaque: Option<OpaqueId>,
    pub(crate) facts: Facts<'a>,
    access: Option<MemoryAccess>,
}

/// Visits the selected functions of a module, as long as the visitor continues.
pub(crate) fn visit(
    file: &str,
    module: &Module,
    is_selected: impl Fn(FuncId) -> bool + Sync,
    mut visitor: impl FnMut(&mut InFunction<'_>) -> ControlFlow<()>,
) {
    let facts = ModuleFacts::of(module, &is_selected);
    let in_module = InModule {
        file,
        module,
        lines: &LineIndex::new(module.source()),
        source_lines: &SourceLines::new(module),
        requirements: &RefCell::new(None),
    };
    let selected = module.definitions().filter(|(id, ..)| is_selected(*id));
    for (id, function, _) in selected {
        if let Some(facts) = facts.function(id)
            && visitor(&mut InFunction::new(&in_module, id, function, facts)).is_break()
        {
            return;
        }
    }
}

impl<'a> InFunction<'a> {
    fn new(
        module: &'a InModule<'a>,
        id: FuncId,
        function: &'a Function,
        facts: FunctionFacts<'a>,
    ) -> Self {
        Self {
            module,
            id,
            function,
            body: facts.body(),
            facts,
            paths: Vec::new(),
            analysis: FunctionAnalysis::new(facts),
            source: OnceCell::new(),
            names: OnceCell::new(),
            requirements_entered: OnceCell::new(),
            spellings: RefCell::default(),
        }
    }

    pub(crate) fn name(&self) -> &'a str {
        self.module.module.name(self.function.name)
    }

    /// A name and its demangled forms.
    pub(super) fn spellings(&self, name: &str) -> Rc<[String]> {
        let mut cache = self.spellings.borrow_mut();
        if let Some(names) = cache.get(name) {
            return names.clone();
        }
        let names: Rc<[String]> = spellings(name).into();
        cache.insert(name.to_owned(), names.clone());
        names
    }

    /// The site of an unrecognized statement of the function.
    pub(crate) fn unrecognized(&self, stmt: StmtId, opaque: OpaqueId) -> Site<'_, 'a> {
        // No instruction has this id, and so the facts are unknown.
        Site {
            opaque: Some(opaque),
            ..self.site(stmt, InstId::new(u32::MAX))
        }
    }

    /// The site of an instruction of the function.
    pub(crate) fn site(&self, stmt: StmtId, inst: InstId) -> Site<'_, 'a> {
        Site {
            function: self,
            stmt,
            inst,
            opaque: None,
            facts: self.facts.inst(inst),
            access: None,
        }
    }

    pub(crate) fn source(&self) -> &FunctionLines<'a, 'a> {
        self.source
            .get_or_init(|| self.module.source_lines.function(self.body))
    }

    /// The names of the registers.
    fn names(&self) -> &RegisterNames {
        self.names.get_or_init(|| {
            RegisterNames::new(self.module.module, self.body, self.analysis.variables())
        })
    }

    /// The name of a register as `ptxkit dump` writes it.
    pub(crate) fn register(&self, place: RegisterComponent) -> &str {
        self.names()
            .get(self.analysis.variables().of(place).first())
    }
}

impl<'f, 'a> Site<'f, 'a> {
    pub(super) fn with_access(self, access: MemoryAccess) -> Self {
        Self {
            access: Some(access),
            ..self
        }
    }

    /// The memory accesses of the instruction, or the single access that is examined.
    pub(super) fn accesses(&self) -> impl Iterator<Item = MemoryAccess> + use<'a> {
        let accesses = self.access.is_none().then(|| self.facts.memory());
        self.access
            .into_iter()
            .chain(accesses.into_iter().flatten())
    }

    pub(crate) fn module(&self) -> &'a Module {
        self.function.module.module
    }

    pub(crate) fn span(&self) -> Span {
        self.function.body.source_span(self.stmt)
    }

    /// The text of the statement with one space between words.
    pub(crate) fn text(&self) -> String {
        let text = String::from_utf8_lossy(self.span().of(self.module().source()));
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ")
    }

    /// The opcode and modifiers of an instruction; of an unrecognized statement, the first word after a guard.
    pub(crate) fn mnemonic(&self) -> &'a str {
        let module = self.module();
        if let Some(inst) = self.function.body.inst(self.inst) {
            return module.signature(inst.sig).text();
        }
        let text = self.span().of(module.source());
        let text = std::str::from_utf8(text).unwrap_or_default();
        text.split(|c: char| c.is_whitespace() || "{[(,;".contains(c))
            .find(|word| !word.is_empty() && !word.starts_with('@'))
            .unwrap_or_default()
    }

    /// The guard: `%p1`, `!%p1`, or `?` for a guard that is not a register.
    pub(crate) fn guard(&self) -> Option<String> {
        self.facts.guard()?;
        Some(match self.facts.guard_register() {
            Some((place, sense)) => {
                let not = if sense.is_negated() { "!" } else { "" };
                format!("{not}{}", self.function.register(place))
            }
            None => "?".to_owned(),
        })
    }

    /// Visits the names of the registers whose mentions `is_selected` accepts, each once.
    pub(super) fn registers(
        &self,
        is_selected: impl Fn(&RegUse) -> bool,
        mut visit_name: impl FnMut(&str),
    ) {
        let (variables, names) = (self.function.analysis.variables(), self.function.names());
        let mentions = match self.opaque {
            Some(opaque) => self.function.facts.opaque(opaque),
            None => self.facts.registers(),
        };
        let mut selected: Vec<VariableId> = mentions
            .filter(is_selected)
            .flat_map(|mention| variables.of(mention.place))
            .collect();
        selected.sort_unstable();
        selected.dedup();
        for variable in selected {
            visit_name(names.get(variable));
        }
    }

    pub(crate) fn block(&self) -> Option<(BlockId, &'f Block)> {
        let cfg = self.function.analysis.cfg();
        let id = cfg.of_statement(self.stmt)?;
        Some((id, cfg.block(id)?))
    }

    /// The nesting depth of loops, and the header of the innermost one.
    pub(crate) fn loops(&self) -> (u32, Option<BlockId>) {
        let analysis = &self.function.analysis;
        let Some((block, _)) = self.block() else {
            return (0, None);
        };
        let is_listed = |id: &BlockId| analysis.cfg().block(*id).is_some_and(|b| !b.is_dispatch);
        let header = analysis.loops().header(block).filter(is_listed);
        (analysis.loops().depth(block), header)
    }

    /// Visits the lowest targets and versions that have the instruction.
    pub(super) fn requirements(&self, mut visit: impl FnMut(Target, PtxVersion)) {
        let (module, function) = (self.module(), self.function);
        let mut requirements = function.module.requirements.borrow_mut();
        let requirements = requirements.get_or_insert_with(|| InstRequirements::new(module));
        function
            .requirements_entered
            .get_or_init(|| requirements.enter(module, function.id, function.body));
        for &(target, version) in requirements.minimal(module, function.body, self.inst) {
            visit(target, version);
        }
    }
}
