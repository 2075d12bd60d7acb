//! Modules and their functions.

use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use ptxkit::ir::facts::{FactTables, ModuleFacts};
use ptxkit::ir::{
    Diagnostic, EntityId, FuncId, FunctionKind, Item, LineIndex, Linkage, Module, Severity, Span,
};
use ptxkit::parse;

use crate::memory::{create, free, given, ptxkit_string};
use crate::status::{Failure, get, ptxkit_status, run};

/// A parsed module. It does not change: any number of threads may use it at the same time.
pub struct ptxkit_module {
    pub(crate) ir: Module,
    pub(crate) found: Vec<Diagnostic>,
    pub(crate) lines: LineIndex,
    /// Where each function is.
    spans: Vec<Span>,
    /// What its instructions do, once that was asked for.
    facts: OnceLock<Arc<FactTables>>,
}

/// A range of bytes of a source: from `start` to before `end`.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub struct ptxkit_span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl From<Span> for ptxkit_span {
    fn from(span: Span) -> Self {
        let (start, end) = (span.start, span.end);
        Self { start, end }
    }
}

/// A function or a kernel.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_function {
    /// Its name.
    pub name: ptxkit_string,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Whether it has a body.
    pub is_defined: bool,
    /// `visible`, `extern`, `weak`, or empty.
    pub linkage: ptxkit_string,
    /// Its place in the source; empty for one that is declared in the body of another.
    pub span: ptxkit_span,
    /// The line, counted from 1.
    pub line: u32,
    /// The number of its instructions.
    pub instruction_count: usize,
}

impl ptxkit_module {
    pub(crate) fn new(source: Vec<u8>) -> Self {
        let lines = LineIndex::new(&source);
        let parsed = parse::parse_shared(source, &Default::default());
        let ir = parsed.module;
        let mut spans = vec![Span::default(); ir.functions().len()];
        for (id, item) in ir.items() {
            if let Item::Function(function) = item
                && let Some(span) = spans.get_mut(function.index())
            {
                *span = ir.span(id);
            }
        }
        Self {
            ir,
            found: parsed.diagnostics,
            lines,
            spans,
            facts: OnceLock::new(),
        }
    }

    pub(crate) fn facts(&self) -> ModuleFacts<'_> {
        let new = || ModuleFacts::new(&self.ir).tables().clone();
        let tables = self.facts.get_or_init(new).clone();
        // The module is never edited.
        ModuleFacts::with_tables(&self.ir, tables).unwrap_or_else(|_| ModuleFacts::new(&self.ir))
    }

    /// The first error of some diagnostics, as the reason of a refusal.
    pub(crate) fn refuse<'d>(
        &self,
        found: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Result<(), Failure> {
        let mut errors = found.into_iter().filter(|d| d.severity == Severity::Error);
        let Some(error) = errors.next() else {
            return Ok(());
        };
        let line = self.lines.position(error.span.start).line;
        Err(Failure::refused(format_args!(
            "line {line}: {}: {}",
            error.code, error.message
        )))
    }

    pub(crate) fn position(&self, span: Span) -> (u32, u32) {
        let at = self.lines.position(span.start);
        (at.line, at.column)
    }

    fn function(&self, index: usize) -> Option<ptxkit_function> {
        let id = FuncId::from_index(index);
        let function = self.ir.functions().get(id)?;
        let span = self.spans.get(index).copied()?;
        let body = self.ir.body(id);
        let linkage = function.linkage.map(Linkage::directive);
        Some(ptxkit_function {
            name: ptxkit_string::of(self.ir.name(function.name)),
            is_kernel: function.kind == FunctionKind::Entry,
            is_defined: body.is_some(),
            linkage: ptxkit_string::of(linkage.map_or("", |d| d.text().trim_start_matches('.'))),
            span: span.into(),
            line: self.position(span).0,
            instruction_count: body.map_or(0, |b| b.inst_table().len()),
        })
    }
}

/// Parses a module from a copy of `source`. Any bytes are accepted: errors are diagnostics of the module, and what cannot be parsed is kept
/// as text. Free the module with `ptxkit_module_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_parse(
    source: ptxkit_string,
    module: Option<&mut MaybeUninit<Option<Box<ptxkit_module>>>>,
) -> ptxkit_status {
    run(|| create(module, || Ok(ptxkit_module::new(source.bytes()?.to_vec()))))
}

/// Frees a module. Objects that were made from it remain valid; strings about it do not.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_free(module: Option<Box<ptxkit_module>>) {
    free(module);
}

/// Returns the source of a module.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_source(module: Option<&ptxkit_module>) -> ptxkit_string {
    get(|| Some(ptxkit_string::bytes_of(module?.ir.source())))
}

/// Returns the target of a module, such as `sm_90a`; empty if its header has none.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_target(module: Option<&ptxkit_module>) -> ptxkit_string {
    get(|| Some(ptxkit_string::of(module?.ir.header().target?.text())))
}

/// Returns the number of functions and kernels of a module, declarations included.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_count(module: Option<&ptxkit_module>) -> usize {
    get(|| Some(module?.ir.functions().len()))
}

/// Returns a function of a module; with an empty name if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_get(
    module: Option<&ptxkit_module>,
    index: usize,
) -> ptxkit_function {
    get(|| module?.function(index))
}

/// Writes the index of the function of a name to `index`: the one with a body, if there are several.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_find(
    module: Option<&ptxkit_module>,
    name: ptxkit_string,
    index: Option<&mut MaybeUninit<usize>>,
) -> ptxkit_status {
    run(|| {
        let ir = &given(module)?.ir;
        let name = name.text()?;
        let out = index.ok_or_else(|| Failure::argument("the pointer to the result is null"))?;
        let named = |id: &FuncId| {
            ir.functions()
                .get(*id)
                .is_some_and(|f| ir.name(f.name) == name)
        };
        let all = || ir.functions().ids().filter(named);
        let found = all().find(|id| ir.body(*id).is_some()).or(all().next());
        let found =
            found.ok_or_else(|| Failure::not_found(format_args!("no function `{name}`")))?;
        out.write(found.index());
        Ok(())
    })
}
