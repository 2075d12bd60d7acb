//! Where the instructions of a trace are, and what they are called.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::RegLane;
use ptx_ir::{FuncId, InstId, Span, Statement};
use ptx_report::register_names::RegisterNames;
use ptx_report::source_frames::{Finder, JsonFrame};
use ptx_vm::StepRegister;

use crate::commands::rewrite::ParsedSource;

/// An instruction.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) function: String,
    pub(super) line: u32,
    pub(super) instruction: String,
    pub(super) source: Vec<JsonFrame>,
}

/// The names and the instructions of a function.
struct Function {
    spans: HashMap<InstId, Span>,
    variables: Variables,
    names: RegisterNames,
}

/// What is known of the instructions that were shown.
pub(super) struct Places<'m> {
    read: &'m ParsedSource,
    finder: Finder<'m>,
    functions: HashMap<FuncId, Function>,
    known: HashMap<(FuncId, InstId), Arc<Place>>,
}

impl<'m> Places<'m> {
    pub(super) fn new(read: &'m ParsedSource, lines: &'m SourceLines<'m>) -> Self {
        Self {
            read,
            finder: Finder::new(&read.module, lines),
            functions: HashMap::new(),
            known: HashMap::new(),
        }
    }

    fn function(&mut self, id: FuncId) -> Option<&Function> {
        if !self.functions.contains_key(&id) {
            let module = &self.read.module;
            let body = module.body(id)?;
            let spans = body.statements().filter_map(|(stmt, kind)| match kind {
                Statement::Inst(inst) => Some((inst, body.source_span(stmt))),
                _ => None,
            });
            let variables = Variables::new(body);
            let function = Function {
                spans: spans.collect(),
                names: RegisterNames::new(module, body, &variables),
                variables,
            };
            self.functions.insert(id, function);
        }
        self.functions.get(&id)
    }

    /// The PTX line of an instruction.
    pub(super) fn line(&mut self, function: FuncId, inst: InstId) -> u32 {
        let span = self.function(function);
        let span = span.and_then(|f| f.spans.get(&inst).copied());
        self.read
            .lines
            .position(span.unwrap_or_default().start)
            .line
    }

    /// An instruction.
    pub(super) fn get(&mut self, function: FuncId, inst: InstId) -> Arc<Place> {
        if let Some(known) = self.known.get(&(function, inst)) {
            return Arc::clone(known);
        }
        let span = self.function(function);
        let span = span.and_then(|f| f.spans.get(&inst).copied());
        let span = span.unwrap_or_default();
        let found = self.finder.place(span.start);
        let text = String::from_utf8_lossy(span.of(&self.read.source.bytes));
        let words: Vec<&str> = text.split_whitespace().collect();
        let place = Arc::new(Place {
            function: found.function.unwrap_or_default(),
            line: self.read.lines.position(span.start).line,
            instruction: words.join(" "),
            source: found.source,
        });
        self.known.insert((function, inst), Arc::clone(&place));
        place
    }

    /// The name of a register of a function.
    pub(super) fn register(&mut self, function: FuncId, register: StepRegister) -> String {
        match register {
            StepRegister::Register(of) => self.variable(function, of).unwrap_or_default(),
            StepRegister::Special(register, element) => {
                let element = match register.is_vector() {
                    true => [".x", ".y", ".z", ".w"].get(usize::from(element)),
                    false => None,
                };
                format!("{register}{}", element.unwrap_or(&""))
            }
            _ => String::new(),
        }
    }

    fn variable(&mut self, function: FuncId, of: RegLane) -> Option<String> {
        let function = self.function(function)?;
        let variable = function.variables.of(of).next()?;
        Some(function.names.get(variable).to_owned())
    }
}
