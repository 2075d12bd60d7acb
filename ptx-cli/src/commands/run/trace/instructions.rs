//! The positions and the texts of the instructions of a trace, and the names of their registers.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::source_lines::SourceLines;
use ptx_ir::facts::RegisterComponent;
use ptx_ir::{FuncId, InstId, Span, Statement};
use ptx_report::register_names::RegisterNames;
use ptx_report::source_frames::{Finder, JsonFrame};
use ptx_vm::StepRegister;

use crate::commands::rewrite::ParsedSource;

/// An instruction of a trace.
#[derive(Debug)]
pub(super) struct Instruction {
    pub(super) function: String,
    pub(super) line: u32,
    pub(super) text: String,
    pub(super) source: Vec<JsonFrame>,
}

/// The names and the instructions of a function.
struct Function {
    spans: HashMap<InstId, Span>,
    variables: Variables,
    names: RegisterNames,
}

/// The instructions of a module. Those that were shown are cached.
pub(super) struct Instructions<'m> {
    parsed: &'m ParsedSource,
    finder: Finder<'m>,
    functions: HashMap<FuncId, Function>,
    cache: HashMap<(FuncId, InstId), Arc<Instruction>>,
}

impl<'m> Instructions<'m> {
    /// `lines` are the source lines of the module.
    pub(super) fn new(parsed: &'m ParsedSource, lines: &'m SourceLines<'m>) -> Self {
        Self {
            parsed,
            finder: Finder::new(&parsed.module, lines),
            functions: HashMap::new(),
            cache: HashMap::new(),
        }
    }

    fn function(&mut self, id: FuncId) -> Option<&Function> {
        if !self.functions.contains_key(&id) {
            let module = &self.parsed.module;
            let body = module.body(id)?;
            let variables = Variables::new(body);
            let function = Function {
                spans: body
                    .statements()
                    .filter_map(|(stmt, statement)| match statement {
                        Statement::Inst(inst) => Some((inst, body.source_span(stmt))),
                        _ => None,
                    })
                    .collect(),
                names: RegisterNames::new(module, body, &variables),
                variables,
            };
            self.functions.insert(id, function);
        }
        self.functions.get(&id)
    }

    fn span(&mut self, function: FuncId, inst: InstId) -> Span {
        self.function(function)
            .and_then(|function| function.spans.get(&inst).copied())
            .unwrap_or_default()
    }

    /// The PTX line of an instruction.
    pub(super) fn line(&mut self, function: FuncId, inst: InstId) -> u32 {
        let start = self.span(function, inst).start;
        self.parsed.lines.position(start).line
    }

    pub(super) fn get(&mut self, function: FuncId, inst: InstId) -> Arc<Instruction> {
        if let Some(instruction) = self.cache.get(&(function, inst)) {
            return Arc::clone(instruction);
        }
        let span = self.span(function, inst);
        let place = self.finder.place(span.start);
        let text = String::from_utf8_lossy(span.of(&self.parsed.source.bytes));
        let words: Vec<&str> = text.split_whitespace().collect();
        let instruction = Arc::new(Instruction {
            function: place.function.unwrap_or_default(),
            line: self.parsed.lines.position(span.start).line,
            text: words.join(" "),
            source: place.source,
        });
        self.cache
            .insert((function, inst), Arc::clone(&instruction));
        instruction
    }

    /// The name of a register of a function.
    pub(super) fn register(&mut self, function: FuncId, register: StepRegister) -> String {
        match register {
            StepRegister::Register(lane) => self.register_name(function, lane).unwrap_or_default(),
            StepRegister::Special(register, component) => {
                let components: &[&str] = if register.is_vector() {
                    &[".x", ".y", ".z", ".w"]
                } else {
                    &[]
                };
                let component = components.get(usize::from(component));
                format!("{register}{}", component.unwrap_or(&""))
            }
            _ => String::new(),
        }
    }

    fn register_name(&mut self, function: FuncId, lane: RegisterComponent) -> Option<String> {
        let function = self.function(function)?;
        let variable = function.variables.of(lane).next()?;
        Some(function.names.get(variable).to_owned())
    }
}
