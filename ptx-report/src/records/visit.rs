//! Makes the records of a module, one at a time.

use std::borrow::Cow;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::raw::LineCursor;
use ptx_ir::{
    Body, DeclId, Declarations, DirectiveStmt, EntityId as _, FuncId, Item, LineIndex, Module,
    Span, Statement, TableRange,
};

use super::analysis::{Analyses, FunctionResults, ModuleAnalyses};
use super::operand::{Tables, type_text};
use super::{
    Attribute, Brace, Datum, Declaration, Directive, DirectiveRecord, Effects, Entry, File,
    Function, Head, Header, Instruction, Interface, Label, Modifiers, Name, Param, Pointer,
    Prototype, Record, Section, Unrecognized,
};
use crate::SCHEMA;
use crate::demangle::demangle;
use crate::instruction_facts::FactNames;
use crate::labels::{Labeled, without_dot};
use crate::source_frames::{FrameNames, StatementSources};
use crate::source_span::JsonSpan;

/// The records of a module.
#[derive(Debug)]
pub struct ModuleRecords<'a> {
    module: &'a Module,
    lines: LineIndex,
    /// The operands outside of functions.
    tables: Tables<'a>,
    schema: Option<u32>,
    with_analysis: bool,
}

impl<'a> ModuleRecords<'a> {
    /// The records of a module, each with the number of the schema.
    #[must_use]
    pub fn new(module: &'a Module) -> Self {
        Self {
            module,
            lines: LineIndex::new(module.source()),
            tables: Tables::of_module(module),
            schema: Some(SCHEMA),
            with_analysis: false,
        }
    }

    /// The records with the results of analyses.
    #[must_use]
    pub fn with_analysis(self) -> Self {
        Self {
            with_analysis: true,
            ..self
        }
    }

    /// The records without the number of the schema, as records contain them.
    #[must_use]
    pub fn nested(self) -> Self {
        Self {
            schema: None,
            ..self
        }
    }

    /// Calls `sink` with the record of the file and then, in the order of the file, with those of the items and statements. With
    /// `functions`, only these functions are visited, without other items.
    ///
    /// # Errors
    ///
    /// The first error of `sink`, which ends the visit.
    pub fn visit<E>(
        &self,
        file: &str,
        functions: Option<&(dyn Fn(FuncId) -> bool + Sync)>,
        sink: &mut dyn FnMut(&Record<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let module = self.module;
        sink(&Record::File(self.file(file)))?;
        let is_visited = |id: FuncId| functions.is_none_or(|is_visited| is_visited(id));
        let facts = ModuleFacts::of(module, is_visited);
        let analyses = self
            .with_analysis
            .then(|| ModuleAnalyses::new(module, &facts, functions));
        let source_lines = SourceLines::new(module);
        let mut visitor = Visitor {
            records: self,
            lines: LineCursor::new(&self.lines, module.source()),
            frame_names: FrameNames::default(),
            function: None,
            sink,
        };
        for (id, item) in module.items() {
            let span = module.span(id);
            match item {
                Item::Function(id) => {
                    if let Some(facts) = facts.function(id).filter(|_| is_visited(id)) {
                        visitor.definition(id, span, facts, &source_lines, analyses.as_ref())?;
                    } else if is_visited(id) {
                        visitor.function(id, span, None)?;
                    }
                }
                item if functions.is_none() => visitor.item(item, span)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn file<'f>(&self, file: &'f str) -> File<'f> {
        let header = self.module.header();
        File {
            schema: SCHEMA,
            file,
            header: Header {
                ptx: header.version.map(|version| version.to_string()),
                target: header.target.map(|target| target.text()),
                address_size: header.address_size,
            },
            bytes: self.module.source().len() as u32,
            items: None,
        }
    }

    fn text(&self, span: Span) -> Cow<'a, str> {
        String::from_utf8_lossy(span.of(self.module.source()))
    }

    fn function<'f>(
        &'f self,
        id: FuncId,
        head: Head,
        results: Option<FunctionResults<'f>>,
    ) -> Option<Function<'f>> {
        let module = self.module;
        let function = module.functions().get(id)?;
        let name = module.name(function.name);
        let body = module.body(id);
        let header_end = body.map_or(head.span.end, Body::base);
        Some(Function {
            head,
            id: id.index() as u32,
            name,
            demangled: demangle(name),
            kind: Labeled(function.kind),
            defined: body.is_some(),
            linkage: function.linkage.map(Labeled),
            attributes: self.attributes(function.attributes, module.declarations()),
            interface: self.interface(&function.interface),
            text: function
                .raw_header
                .then(|| self.text(Span::new(head.span.start, header_end))),
            results,
            statements: None,
        })
    }

    fn interface(&'a self, interface: &ptx_ir::Interface) -> Interface<'a> {
        let directives = interface.directives.of(self.module.interface_directives());
        Interface {
            results: interface
                .has_returns
                .then(|| self.params(interface.returns)),
            params: interface.has_params.then(|| self.params(interface.params)),
            directives: directives
                .iter()
                .map(|statement| directive(&self.tables, statement))
                .collect(),
        }
    }

    fn params(&'a self, range: TableRange) -> Vec<Param<'a>> {
        let params = range.of(self.module.params());
        params.iter().map(|param| self.param(param)).collect()
    }

    fn param(&'a self, param: &ptx_ir::Param) -> Param<'a> {
        let (module, tables) = (self.module, &self.tables);
        Param {
            name: param.name.map(|name| module.name(name)),
            space: Labeled(param.space),
            ty: type_text(module, param.ty),
            vector: param.vector,
            align: tables.view(param.align),
            trailing_align: tables.view(param.trailing_align),
            hidden: param.hidden,
            ptr: param.ptr.map(|pointer| Pointer {
                space: pointer
                    .space
                    .map(|space| space.text())
                    .or(pointer.opaque.map(|ty| ty.text()))
                    .map(without_dot),
                align: tables.view(pointer.align),
            }),
            dims: tables.views(tables.pool().slice(param.dims)),
        }
    }

    fn attributes(&'a self, range: TableRange, tables: &Declarations) -> Vec<Attribute<'a>> {
        let attributes = range.of(&tables.attributes).iter().map(|attribute| {
            let (name, arguments) = match *attribute {
                ptx_ir::Attribute::Managed => ("managed", Vec::new()),
                ptx_ir::Attribute::Unified(first, second) => ("unified", vec![first, second]),
                ptx_ir::Attribute::Unknown(name) => {
                    (without_dot(self.module.name(name)), Vec::new())
                }
                _ => ("", Vec::new()),
            };
            Attribute {
                name,
                arguments: arguments
                    .into_iter()
                    .map(|operand| self.tables.view(operand))
                    .collect(),
            }
        });
        attributes.collect()
    }

    fn section(&'a self, section: &ptx_ir::Section, head: Head) -> Section<'a> {
        let mut entries = Vec::new();
        for entry in &section.entries {
            let (ty, is_first, datum) = match *entry {
                ptx_ir::SectionEntry::Label(name) => {
                    entries.push(Entry::Label {
                        label: self.module.name(name),
                    });
                    continue;
                }
                ptx_ir::SectionEntry::Int { ty, first, value } => (ty, first, Datum::Number(value)),
                ptx_ir::SectionEntry::Other { ty, first, value } => {
                    let operand = self.tables.pool().get(value);
                    (ty, first, Datum::Operand(self.tables.view(operand)))
                }
                _ => continue,
            };
            match entries.last_mut() {
                Some(Entry::Data { values, .. }) if !is_first => values.push(datum),
                _ => entries.push(Entry::Data {
                    ty,
                    values: vec![datum],
                }),
            }
        }
        Section {
            head,
            name: self.module.name(section.name),
            entries,
        }
    }

    /// A declaration in the tables of the module or of a function, with operands in `operands`.
    fn declaration<'t>(
        &'t self,
        id: DeclId,
        declarations: &'t Declarations,
        operands: &'t Tables<'t>,
        head: Head,
    ) -> Option<Declaration<'t>> {
        let declaration = declarations.decls.get(id)?;
        let names = declarations.declarators(id).iter().map(|declarator| Name {
            name: self.module.name(declarator.name),
            count: operands.view(declarator.count),
            dims: operands.views(operands.pool().slice(declarator.dims)),
            initializer: operands.view(declarator.init),
        });
        Some(Declaration {
            head,
            linkage: declaration.linkage.map(Labeled),
            space: Labeled(declaration.space),
            bank: operands.view(declaration.bank),
            attributes: self.attributes(declaration.attributes, declarations),
            align: operands.view(declaration.align),
            ty: type_text(self.module, declaration.ty),
            vector: declaration.vector,
            names: names.collect(),
        })
    }
}

/// A directive with operands in `tables`.
fn directive<'t>(tables: &'t Tables<'t>, statement: &DirectiveStmt) -> Directive<'t> {
    Directive {
        directive: without_dot(statement.directive.text()),
        arguments: tables.views(tables.pool().slice(statement.args)),
    }
}

/// The state of a visit.
struct Visitor<'v, 'a, E> {
    records: &'v ModuleRecords<'a>,
    lines: LineCursor<'v>,
    frame_names: FrameNames,
    /// The function whose statements are visited.
    function: Option<FuncId>,
    sink: &'v mut dyn FnMut(&Record<'_>) -> Result<(), E>,
}

impl<E> Visitor<'_, '_, E> {
    fn head(&mut self, span: Span) -> Head {
        Head {
            schema: self.records.schema,
            function: self.function.map(|id| id.index() as u32),
            span: JsonSpan::at(span, &mut self.lines),
        }
    }

    /// Passes a record to the sink, if the tables contain it.
    fn emit(&mut self, record: Option<Record<'_>>) -> Result<(), E> {
        record.map_or(Ok(()), |record| (self.sink)(&record))
    }

    fn function(
        &mut self,
        id: FuncId,
        span: Span,
        results: Option<FunctionResults<'_>>,
    ) -> Result<(), E> {
        let (records, head) = (self.records, self.head(span));
        self.emit(records.function(id, head, results).map(Record::Function))
    }

    /// An item that is not a function.
    fn item(&mut self, item: Item, span: Span) -> Result<(), E> {
        let (records, head) = (self.records, self.head(span));
        let (module, tables) = (records.module, &records.tables);
        self.emit(match item {
            Item::Directive(id) => module.directives().get(id).map(|statement| {
                Record::Directive(DirectiveRecord {
                    head,
                    directive: directive(tables, statement),
                })
            }),
            Item::Decl(id) => records
                .declaration(id, module.declarations(), tables, head)
                .map(Record::Declaration),
            Item::Section(id) => {
                let section = module.sections().get(id);
                section.map(|section| Record::Section(records.section(section, head)))
            }
            _ => Some(Record::Unrecognized(Unrecognized {
                head,
                text: records.text(span),
                effects: None,
            })),
        })
    }

    /// A function with a body, and its statements.
    fn definition(
        &mut self,
        id: FuncId,
        span: Span,
        facts: FunctionFacts<'_>,
        source_lines: &SourceLines<'_>,
        analyses: Option<&ModuleAnalyses>,
    ) -> Result<(), E> {
        let names = FactNames::new(self.records.module, facts.body());
        let lines = &self.records.lines;
        let analyzed = analyses.map(|module| {
            (
                module,
                FunctionAnalysis::new(facts).with_calls(&module.calls),
            )
        });
        let analyses = analyzed
            .as_ref()
            .map(|(module, analysis)| Analyses::new(id, facts, analysis, &names, lines, module));
        self.function(id, span, analyses.as_ref().map(Analyses::function))?;
        self.function = Some(id);
        self.body(facts, &names, source_lines, analyses.as_ref())?;
        self.function = None;
        Ok(())
    }

    /// The statements of a function.
    fn body(
        &mut self,
        facts: FunctionFacts<'_>,
        names: &FactNames<'_>,
        source_lines: &SourceLines<'_>,
        analyses: Option<&Analyses<'_>>,
    ) -> Result<(), E> {
        let (module, body) = (self.records.module, facts.body());
        let tables = Tables::of_function(module, body, names);
        let mut sources = StatementSources::new(source_lines.function(body));
        for (stmt, statement) in body.statements() {
            let span = body.source_span(stmt);
            if let Statement::Function(declared) = statement {
                self.function(declared, span, None)?;
                continue;
            }
            let (records, head) = (self.records, self.head(span));
            let facts_of_statement = match statement {
                Statement::Inst(inst) => Some(names.facts(&facts.inst(inst))),
                Statement::Opaque(opaque) => Some(names.unrecognized(facts.opaque(opaque))),
                _ => None,
            };
            let effects = facts_of_statement.map(|facts| Effects {
                facts,
                source: sources.get(stmt, &mut self.frame_names),
                results: analyses.and_then(|analyses| analyses.instruction(stmt)),
            });
            let record = match statement {
                Statement::Inst(inst) => body.inst(inst).zip(effects).map(|(record, effects)| {
                    let signature = module.signature(record.sig);
                    Record::Instruction(Instruction {
                        head,
                        opcode: signature.opcode_text(),
                        modifiers: Modifiers(signature),
                        guard: names.guard(&facts.inst(inst)),
                        operands: tables.views(body.operands(inst)),
                        effects,
                    })
                }),
                Statement::Label(label) => Some(Record::Label(Label {
                    head,
                    name: body
                        .labels()
                        .get(label)
                        .map_or("", |label| module.name(label.name)),
                })),
                Statement::Decl(decl) => records
                    .declaration(decl, body.declarations(), &tables, head)
                    .map(Record::Declaration),
                Statement::Directive(id) => body.directives().get(id).map(|statement| {
                    Record::Directive(DirectiveRecord {
                        head,
                        directive: directive(&tables, statement),
                    })
                }),
                Statement::Prototype(id) => body.prototypes().get(id).map(|prototype| {
                    Record::Prototype(Prototype {
                        head,
                        interface: records.interface(&prototype.interface),
                    })
                }),
                Statement::Open(_) => Some(Record::Open(Brace { head })),
                Statement::Close(_) => Some(Record::Close(Brace { head })),
                _ => Some(Record::Unrecognized(Unrecognized {
                    head,
                    text: records.text(span),
                    effects,
                })),
            };
            self.emit(record)?;
        }
        Ok(())
    }
}
