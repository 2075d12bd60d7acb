//! The table of modules.

use ptx_ir::{Body, Diagnostic, FunctionKind, Module, Severity};
use ptx_isa::StateSpace;
use ptx_report::function_stats::bytes_of;

use crate::column::Value::{Int, Long, Word};
use crate::column::{Column, Table, column, optional};

/// The table with a row for each PTX file and each module in a container.
pub(crate) struct Modules;

/// A module with its diagnostics from parsing.
pub(crate) struct ModuleRow<'a> {
    pub(crate) file: &'a str,
    pub(crate) module: &'a Module,
    pub(crate) version: Option<String>,
    pub(crate) diagnostics: &'a [Diagnostic],
}

impl ModuleRow<'_> {
    /// The number of diagnostics.
    fn count(&self, severity: Severity) -> Option<u32> {
        let diagnostics = self.diagnostics.iter();
        Some(diagnostics.filter(|d| d.severity == severity).count() as u32)
    }

    /// The number of functions with a body.
    fn definitions(&self, kind: FunctionKind) -> Option<u32> {
        let definitions = self.module.definitions();
        Some(definitions.filter(|(_, f, _)| f.kind == kind).count() as u32)
    }

    /// The sum of a number over all bodies.
    fn sum_of_bodies(&self, number: impl Fn(&Body) -> usize) -> Option<u32> {
        Some(self.module.bodies().values().map(number).sum::<usize>() as u32)
    }

    /// The bytes of variables in a state space.
    fn bytes(&self, space: StateSpace) -> Option<i64> {
        let module = self.module;
        let mut bytes = bytes_of(module.declarations(), module.pool(), space);
        for body in module.bodies().values() {
            bytes = bytes.saturating_add(bytes_of(body.declarations(), body.pool(), space));
        }
        Some(i64::try_from(bytes).unwrap_or(i64::MAX))
    }

    /// The number of lines. A last line without a newline counts.
    fn lines(&self) -> Option<u32> {
        let source = self.module.source();
        let newlines = source.iter().filter(|&&b| b == b'\n').count() as u32;
        Some(newlines + u32::from(source.last().is_some_and(|&b| b != b'\n')))
    }
}

impl Table for Modules {
    type Row<'a> = ModuleRow<'a>;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column("file", Word(|r| Some(r.file)), "The path of the file; for a module in a container, `FILE!NAME`."),
        optional("ptx", Word(|r| r.version.as_deref()), "The PTX version of the header."),
        optional("target", Word(|r| r.module.header().target.map(|t| t.text())), "The target of the header."),
        column("address_size", Int(|r| Some(r.module.header().address_size.map_or(32, u32::from))), "The size of addresses in bits."),
        column("bytes", Long(|r| Some(r.module.source().len() as i64)), "The size of the source."),
        column("lines", Int(|r| r.lines()), "Its lines; a last line without a newline counts."),
        column("errors", Int(|r| r.count(Severity::Error)), "The errors of the parser; `diagnostics` contains all errors."),
        column("warnings", Int(|r| r.count(Severity::Warning)), "Its warnings."),
        column("kernels", Int(|r| r.definitions(FunctionKind::Entry)), "Kernels with a body."),
        column("device", Int(|r| r.definitions(FunctionKind::Func)), "Other functions with a body."),
        column("declarations", Int(|r| Some(r.module.functions().values().filter(|f| f.body.is_none()).count() as u32)), "Functions without a body."),
        column("statements", Int(|r| Some(r.module.item_table().len() as u32 + r.sum_of_bodies(|b| b.statement_table().len())?)), "Header directives, declarations, functions, instructions, labels, directives and braces of inner scopes."),
        column("instructions", Int(|r| r.sum_of_bodies(|b| b.insts().count())), "Instructions in all bodies."),
        column("labels", Int(|r| r.sum_of_bodies(|b| b.labels().len())), "Labels in all bodies."),
        column("const_bytes", Long(|r| r.bytes(StateSpace::Const)), "Bytes of variables in constant memory as declared, without padding."),
        column("global_bytes", Long(|r| r.bytes(StateSpace::Global)), "The same in global memory."),
        column("local_bytes", Long(|r| r.bytes(StateSpace::Local)), "The same in local memory."),
        column("shared_bytes", Long(|r| r.bytes(StateSpace::Shared)), "The same in shared memory."),
    ];
}
