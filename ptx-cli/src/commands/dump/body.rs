//! The statements of a function.

use anyhow::Result;
use ptx_analysis::source_lines::FunctionLines;
use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{Body, EntityId as _, FuncId, InstId, Statement};

use super::operand::{Pool, Registers};
use super::writer::Writer;
use ptx_report::facts_json::FactsWriter;
use ptx_report::json_text::{number, raw, string};
use ptx_report::source_frames::JsonLines;

impl<'a> Writer<'a> {
    /// The records of the statements of a function.
    pub(super) fn body(
        &mut self,
        id: FuncId,
        body: &'a Body,
        facts: FunctionFacts<'_>,
        lines: FunctionLines<'_, '_>,
    ) -> Result<()> {
        let module = self.module;
        let mut effects = FactsWriter::new(module, body);
        let mut lines = JsonLines::new(lines);
        self.registers = Registers::new(self, body, effects.names());
        let pool = Pool {
            pool: body.pool(),
            body: Some(body),
        };
        for (stmt, statement) in body.statements() {
            let span = body.source_span(stmt);
            if let Statement::Function(declared) = statement {
                self.function(declared, span, Some(id));
                self.end()?;
                continue;
            }
            self.begin(match statement {
                Statement::Inst(_) => "instruction",
                Statement::Label(_) => "label",
                Statement::Decl(_) => "declaration",
                Statement::Directive(_) => "directive",
                Statement::Prototype(_) => "prototype",
                Statement::Open(_) => "open",
                Statement::Close(_) => "close",
                _ => "unrecognized",
            });
            self.in_function(id);
            self.span(span);
            match statement {
                Statement::Inst(inst) => {
                    self.inst(pool, body, inst, &facts.inst(inst), &mut effects);
                    lines.write(stmt, &mut self.frame_parts, &mut self.out);
                }
                Statement::Opaque(opaque) => {
                    self.text(span);
                    effects.unknown(facts.opaque(opaque), &mut self.out);
                    lines.write(stmt, &mut self.frame_parts, &mut self.out);
                }
                Statement::Label(label) => {
                    let name = body.labels().get(label).map_or("", |l| module.name(l.name));
                    raw(&mut self.out, ",\"name\":");
                    string(&mut self.out, name);
                }
                Statement::Decl(decl) => self.declaration(pool, body.declarations(), decl),
                Statement::Directive(directive) => {
                    if let Some(directive) = body.directives().get(directive) {
                        self.directive(",\"directive\":", pool, directive);
                    }
                }
                Statement::Prototype(prototype) => {
                    if let Some(prototype) = body.prototypes().get(prototype) {
                        self.interface(&prototype.interface);
                    }
                }
                _ => {}
            }
            self.end()?;
        }
        Ok(())
    }

    /// The number of the function that contains a statement.
    pub(super) fn in_function(&mut self, id: FuncId) {
        raw(&mut self.out, ",\"function\":");
        number(&mut self.out, id.index() as u32);
    }

    fn inst(
        &mut self,
        pool: Pool<'a>,
        body: &'a Body,
        id: InstId,
        facts: &Facts<'_>,
        effects: &mut FactsWriter<'_>,
    ) {
        if let Some(inst) = body.inst(id) {
            self.mnemonic(inst.sig);
        }
        raw(&mut self.out, ",\"guard\":");
        effects.guard(facts, &mut self.out);
        raw(&mut self.out, ",\"operands\":");
        self.operands(pool, body.operands(id));
        effects.effects(facts, &mut self.out);
    }
}
