//! Modules and their functions.

use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

use ptxkit::ir::facts::{FactTables, ModuleFacts};
use ptxkit::ir::{
    Diagnostic, EntityId, FuncId, FunctionKind, Item, LineIndex, Linkage, Module, Severity, Span,
};
use ptxkit::parse;

use crate::memory::{create, free, non_null, ptxkit_string};
use crate::status::{Failure, get, ptxkit_status, run};

/// A parsed module. It never changes, so any number of threads may use it at the same time.
pub struct ptxkit_module {
    pub(crate) ir: Module,
    /// The diagnostics of the parser.
    pub(crate) diagnostics: Vec<Diagnostic>,
    pub(crate) lines: LineIndex,
    /// The span of each function by its index.
    spans: Vec<Span>,
    /// The facts of instructions, which are computed on first use.
    facts: OnceLock<Arc<FactTables>>,
}

/// A range of bytes of a source. It includes the byte at `start` and excludes the byte at `end`.
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
    /// The name.
    pub name: ptxkit_string,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Whether it has a body.
    pub is_defined: bool,
    /// `visible`, `extern`, `weak`, or empty.
    pub linkage: ptxkit_string,
    /// The location in the source; empty for a function that is declared in the body of another one.
    pub span: ptxkit_span,
    /// The line of the beginning, counted from 1.
    pub line: u32,
    /// The number of instructions.
    pub instruction_count: usize,
}

impl ptxkit_module {
    pub(crate) fn new(source: Vec<u8>) -> Self {
        let lines = LineIndex::new(&source);
        let parsed = parse::parse_with(source, &Default::default());
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
            diagnostics: parsed.diagnostics,
            lines,
            spans,
            facts: OnceLock::new(),
        }
    }

    pub(crate) fn facts(&self) -> ModuleFacts<'_> {
        let tables = self
            .facts
            .get_or_init(|| ModuleFacts::new(&self.ir).tables().clone())
            .clone();
        // The tables always fit, because the module is never edited.
        ModuleFacts::with_tables(&self.ir, tables).unwrap_or_else(|_| ModuleFacts::new(&self.ir))
    }

    /// Fails with the message of the first error of some diagnostics.
    pub(crate) fn refuse_errors<'d>(
        &self,
        diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    ) -> Result<(), Failure> {
        let mut diagnostics = diagnostics.into_iter();
        let Some(error) = diagnostics.find(|d| d.severity == Severity::Error) else {
            return Ok(());
        };
        let line = self.line(error.span);
        Err(Failure::refused(format_args!(
            "line {line}: {}: {}",
            error.code, error.message
        )))
    }

    /// The line of the beginning of a span, counted from 1.
    pub(crate) fn line(&self, span: Span) -> u32 {
        self.lines.position(span.start).line
    }

    fn function(&self, index: usize) -> Option<ptxkit_function> {
        let id = FuncId::from_index(index);
        let function = self.ir.functions().get(id)?;
        let span = self.spans.get(index).copied()?;
        let body = self.ir.body(id);
        let linkage = function.linkage.map(Linkage::directive);
        Some(ptxkit_function {
            name: ptxkit_string::new(self.ir.name(function.name)),
            is_kernel: function.kind == FunctionKind::Entry,
            is_defined: body.is_some(),
            linkage: ptxkit_string::new(linkage.map_or("", |d| d.text().trim_start_matches('.'))),
            span: span.into(),
            line: self.line(span),
            instruction_count: body.map_or(0, |b| b.inst_table().len()),
        })
    }
}

/// Parses a module from a copy of `source`. Any bytes are accepted: errors become diagnostics of the module, and statements that cannot be parsed are
/// kept as text. Free the module with `ptxkit_module_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_parse(
    source: ptxkit_string,
    module: Option<&mut MaybeUninit<Option<Box<ptxkit_module>>>>,
) -> ptxkit_status {
    run(|| create(module, || Ok(ptxkit_module::new(source.bytes()?.to_vec()))))
}

/// Frees a module. Objects that were created from it remain valid; strings that were returned for it do not.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_free(module: Option<Box<ptxkit_module>>) {
    free(module);
}

/// Returns the source of a module.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_source(module: Option<&ptxkit_module>) -> ptxkit_string {
    get(|| Some(ptxkit_string::from_bytes(module?.ir.source())))
}

/// Returns the target of a module, such as `sm_90a`; empty if its header has none.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_module_target(module: Option<&ptxkit_module>) -> ptxkit_string {
    get(|| Some(ptxkit_string::new(module?.ir.header().target?.text())))
}

/// Returns the number of functions and kernels of a module, including declarations.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_count(module: Option<&ptxkit_module>) -> usize {
    get(|| Some(module?.ir.functions().len()))
}

/// Returns a function of a module; one with an empty name if there is no function at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_get(
    module: Option<&ptxkit_module>,
    index: usize,
) -> ptxkit_function {
    get(|| module?.function(index))
}

/// Finds a function by its name, preferring one with a body, and writes its index to `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_function_find(
    module: Option<&ptxkit_module>,
    name: ptxkit_string,
    index: Option<&mut MaybeUninit<usize>>,
) -> ptxkit_status {
    run(|| {
        let ir = &non_null(module)?.ir;
        let name = name.text()?;
        let index = index.ok_or_else(|| Failure::argument("the pointer to the result is null"))?;
        let Some(function) = ir.function(name) else {
            return Err(Failure::not_found(format_args!("no function `{name}`")));
        };
        index.write(function.index());
        Ok(())
    })
}
