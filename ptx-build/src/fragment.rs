//! Fragments: statements as text, with typed operands, and their effects.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::facts::{Flow, MemoryAccess, ModuleFacts};
use ptx_ir::lex::Lexer;
use ptx_ir::{Body, Code, Diagnostic, Operand, Span, Statement, StmtId};

use crate::check::{self, Parsed};
use crate::error::{BuildError, BuildErrorKind};
use crate::function::FunctionBuilder;
use crate::operand::{IntoOperand, OperandExpr};
use crate::template::{AsmStyle, Filled, Substitute, fill};

/// The effects of a fragment.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct AsmReport {
    reads: Vec<String>,
    writes: Vec<String>,
    memory: Vec<MemoryAccess>,
    barrier: bool,
    fence: bool,
    side_effects: bool,
    control_flow: bool,
    instructions: usize,
    pub(crate) repeatable: bool,
}

impl AsmReport {
    ptx_isa::getters! {
        /// The operands, by their names, that are read; other registers by theirs.
        reads: &[String] = &reads;
        /// The operands and registers that are written, or may be.
        writes: &[String] = &writes;
        /// The accesses to memory, in order. Bases that are operands are among [`reads`](Self::reads).
        memory: &[MemoryAccess] = &memory;
        /// Whether threads wait for each other in it.
        has_barrier: bool = barrier;
        /// Whether it orders memory.
        has_fence: bool = fence;
        /// Whether it must be kept and not be moved even though no register shows why.
        has_side_effects: bool = side_effects;
        /// Whether it jumps, calls, returns or ends the thread.
        has_control_flow: bool = control_flow;
        /// The number of instructions.
        instruction_count: usize = instructions;
        /// Whether the text can be inserted twice in one function, as compilers may do: it declares no name and no label outside
        /// of braces that would then be declared twice. What [`FunctionBuilder::asm`] adds always can.
        is_repeatable: bool = repeatable;
    }
}

fn add(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|n| n == name) {
        list.push(name.to_string());
    }
}

/// A text with its operands.
pub(crate) struct Fragment<'t> {
    pub(crate) style: AsmStyle,
    pub(crate) template: &'t str,
    pub(crate) operands: Vec<Substitute>,
}

/// A fragment that was checked as legal at its place.
pub(crate) struct CheckedFragment {
    pub(crate) report: AsmReport,
    /// The names of the registers that are written, each with its place in the template.
    pub(crate) writes: Vec<(String, Span)>,
    parsed: Parsed,
    has_names: bool,
}

impl Fragment<'_> {
    /// The name of a register in reports: if it is an operand, the operand as the template mentions it.
    pub(crate) fn report_name(&self, register: &str) -> String {
        let operand = self.operands.iter().position(|o| o.text == register);
        match operand.and_then(|i| Some((i, self.operands.get(i)?))) {
            Some((_, o)) if self.style == AsmStyle::Braces => o.name.clone(),
            Some((i, o)) => self.style.spelled(i, &o.name),
            None => register.to_string(),
        }
    }

    pub(crate) fn fill(&self, unique: u32) -> Result<Filled, BuildError> {
        fill(self.style, self.template, &self.operands, unique)
            .map_err(|error| BuildError::illegal(self.template.to_string(), [error].into()))
    }

    /// The errors in the filled text as errors in the template: with its spans and its operands.
    fn error(&self, mut errors: Vec<Diagnostic>, filled: &Filled) -> BuildError {
        for d in &mut errors {
            d.relocate(|span| Some(filled.template_span(span)));
            d.message = self.renamed(&d.message);
            d.help = d.help.as_deref().map(|help| self.renamed(help));
            for label in &mut d.labels {
                label.message = self.renamed(&label.message);
            }
            for edit in d.fix.iter_mut() {
                edit.text = self.renamed(&edit.text);
            }
        }
        BuildError::illegal(self.template.to_string(), errors)
    }

    /// A message with operands instead of their substitutes.
    pub(crate) fn renamed(&self, message: &str) -> String {
        let mut renamed = message.to_string();
        for (i, operand) in self.operands.iter().enumerate() {
            let spelled = self.style.spelled(i, &operand.name);
            renamed = if operand.is_unique {
                renamed.replace(&operand.text, &spelled)
            } else {
                renamed.replace(&format!("`{}`", operand.text), &format!("`{spelled}`"))
            };
        }
        renamed
    }
}

/// The statements of a fragment in the module in which it is checked.
struct Part<'p>(&'p Parsed);

impl Part<'_> {
    fn contains(&self, body: &Body, stmt: StmtId) -> bool {
        self.0.contains(body.source_span(stmt).start)
    }

    fn has(&self, condition: impl Fn(Statement) -> bool) -> bool {
        let mut bodies = self.0.module.definitions().map(|(_, _, body)| body);
        bodies.any(|body| {
            body.statements()
                .any(|(stmt, statement)| condition(statement) && self.contains(body, stmt))
        })
    }

    /// Whether the fragment itself declares a name.
    fn declares(&self, name: &str) -> bool {
        let is_member = |range: &str| {
            name.strip_prefix(range)
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        };
        let mut bodies = self.0.module.definitions().map(|(_, _, body)| body);
        bodies.any(|body| {
            let is_here = |stmt: Option<StmtId>| stmt.is_some_and(|s| self.contains(body, s));
            let mut registers = body.reg_decls().iter().filter(|(_, r)| is_here(r.stmt));
            let mut vars = body.vars().iter().filter(|(_, v)| is_here(v.stmt));
            let mut labels = body
                .labels()
                .iter()
                .filter(|(_, l)| self.contains(body, l.stmt));
            let text = |name| self.0.module.name(name);
            registers.any(|(_, r)| match r.count {
                Some(_) => is_member(text(r.name)),
                None => text(r.name) == name,
            }) || vars.any(|(_, v)| match v.number {
                Some(_) => is_member(text(v.name)),
                None => text(v.name) == name,
            }) || labels.any(|(_, l)| text(l.name) == name)
        })
    }

    /// The effects of the instructions, and the written registers with their places. `report_name` returns the name of a register in the report.
    fn report(&self, report_name: impl Fn(&str) -> String) -> (AsmReport, Vec<(String, Span)>) {
        let (mut report, mut writes) = (AsmReport::default(), Vec::new());
        let module = &self.0.module;
        let facts = ModuleFacts::new(module);
        for (id, _, body) in module.definitions() {
            let Some(function) = facts.function(id) else {
                continue;
            };
            let register = |place: ptx_ir::facts::RegisterComponent| {
                let register = body.registers().get(place.register);
                let decl = register.and_then(|r| Some((r, body.reg_decls().get(r.decl)?)));
                let text = decl.map_or(String::new(), |(r, d)| match d.count {
                    Some(_) => format!("{}{}", module.name(d.name), r.number),
                    None => module.name(d.name).to_string(),
                });
                report_name(&text)
            };
            for (stmt, statement) in body.statements() {
                let Statement::Inst(inst) = statement else {
                    continue;
                };
                if !self.contains(body, stmt) {
                    continue;
                }
                let f = function.inst(inst);
                report.instructions += 1;
                for place in f.reads() {
                    add(&mut report.reads, &register(place));
                }
                for place in f.writes().chain(f.conditional_writes()) {
                    let (name, span) = (register(place), body.source_span(stmt));
                    add(&mut report.writes, &name);
                    let [start, end] = [span.start, span.end]
                        .map(|offset| (offset as usize).saturating_sub(self.0.start) as u32);
                    writes.push((name, Span::new(start, end)));
                }
                report.memory.extend(f.memory());
                report.barrier |= f.is_barrier();
                report.fence |= f.is_fence();
                report.side_effects |= f.has_side_effects();
                report.control_flow |= f.flow() != Flow::Next;
            }
        }
        (report, writes)
    }
}

/// Whether a text closes all scopes that it opens, and no others.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0usize;
    for token in Lexer::fragment(text.as_bytes()) {
        match token.span.of(text.as_bytes()) {
            b"{" => depth += 1,
            b"}" if depth == 0 => return false,
            b"}" => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn unbalanced() -> BuildError {
    BuildError::new(
        BuildErrorKind::Scope,
        "the braces of the fragment do not match",
        "a fragment closes the scopes that it opens, and no others",
    )
}

impl FunctionBuilder<'_> {
    /// Adds statements as text. `{name}` denotes an operand; declarations of the text are visible only in the text. A
    /// guard before it goes over all of it.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # fn main() -> Result<(), ptx_build::BuildError> {
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// let (d, a) = (k.reg(T::B32), k.reg(T::B32));
    /// let report = k.asm("add.s32 {d}, {a}, {n};", &[("d", d.into()), ("a", a.into()), ("n", 4.into())])?;
    /// assert_eq!((report.reads(), report.writes()), (&["a".to_string()][..], &["d".to_string()][..]));
    /// # k.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The text is illegal here, its braces do not match, or it declares a name that an operand has. Spans of
    /// diagnostics are in the text as it was given.
    pub fn asm(
        &mut self,
        text: &str,
        operands: &[(&str, OperandExpr)],
    ) -> Result<AsmReport, BuildError> {
        self.inline_asm(AsmStyle::Braces, text, operands)
    }

    /// Adds statements as text with the operands of another language; a name may be empty where numbers are meant.
    ///
    /// ```
    /// # use ptx_build::{AsmStyle, ModuleBuilder};
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # fn main() -> Result<(), ptx_build::BuildError> {
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// let d = k.reg(T::B32);
    /// k.inline_asm(AsmStyle::Cuda, "mov.u32 %0, %%laneid;", &[("", d.into())])?;
    /// # k.finish()?;
    /// assert!(m.text().contains("mov.u32 %r1, %laneid;"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`asm`](Self::asm).
    pub fn inline_asm(
        &mut self,
        style: AsmStyle,
        text: &str,
        operands: &[(&str, OperandExpr)],
    ) -> Result<AsmReport, BuildError> {
        let report = self.all_or_none(|f| f.add_fragment(style, text, operands));
        if report.is_err() {
            self.body.forget_mentions();
        }
        report
    }

    fn add_fragment(
        &mut self,
        style: AsmStyle,
        template: &str,
        operands: &[(&str, OperandExpr)],
    ) -> Result<AsmReport, BuildError> {
        self.body.abandon();
        self.body.pending.mentions.clear();
        // The text need not mention them in this order, or at all.
        self.body.is_in_order &= operands.is_empty();
        let mut texts: Vec<Substitute> = Vec::new();
        for (name, operand) in operands {
            operand.write(&mut self.writer(true));
            let operand = self.body.pending.operands.pop().unwrap_or(Operand::Absent);
            let module = &self.module.draft.module;
            let text = ptx_print::canonical_operand(module, &self.body.records, operand);
            let text = String::from_utf8_lossy(&text).into_owned();
            texts.push(Substitute {
                name: name.to_string(),
                text,
                is_unique: false,
            });
        }
        if let Some(error) = self.body.pending.error.take() {
            return Err(error);
        }
        let fragment = Fragment {
            style,
            template,
            operands: texts,
        };
        self.body.fresh_labels += 1;
        let filled = fragment.fill(self.body.fresh_labels)?;
        let checked = self.check_fragment(&fragment, &filled)?;
        self.module.tables.fix(&self.body.pending.mentions);
        self.body.record_first_uses();
        if checked.has_names {
            self.open();
        }
        self.import(&checked.parsed, &|_| true);
        if checked.has_names {
            self.close()?;
        }
        Ok(checked.report)
    }

    /// Checks a fragment at the end of the function, without adding it.
    pub(crate) fn check_fragment(
        &self,
        fragment: &Fragment<'_>,
        filled: &Filled,
    ) -> Result<CheckedFragment, BuildError> {
        let text = &filled.text;
        if !is_balanced(text) {
            return Err(unbalanced());
        }
        let (context, start) = check::minimal_context(&self.body, &self.module.tables, text);
        let end = start + text.len();
        let module =
            check::errors(&context, start, end).map_err(|errors| fragment.error(errors, filled))?;
        let parsed = Parsed { module, start, end };
        let part = Part(&parsed);
        if part.has(|s| matches!(s, Statement::Function(_))) {
            return BuildErrorKind::Argument.refuse(
                Code::MisplacedDirective,
                "a fragment declares a function",
                "`ModuleBuilder::declare_function` declares it for all",
            );
        }
        for (i, operand) in fragment.operands.iter().enumerate() {
            let bytes = operand.text.as_bytes();
            let mut tokens =
                Lexer::fragment(bytes).filter_map(|t| core::str::from_utf8(t.span.of(bytes)).ok());
            if let Some(word) = tokens.find(|t| part.declares(t)) {
                let spelled = fragment.style.spelled(i, &operand.name);
                return Err(BuildError::new(
                    BuildErrorKind::Duplicate,
                    format!("the fragment declares `{word}`, which `{spelled}` would be taken for"),
                    "take another name inside the fragment",
                ));
            }
        }
        let (mut report, mut writes) = part.report(|register| fragment.report_name(register));
        report.repeatable = true;
        for (_, span) in &mut writes {
            *span = filled.template_span(*span);
        }
        let has_names = part.has(|s| matches!(s, Statement::Decl(_) | Statement::Label(_)));
        Ok(CheckedFragment {
            report,
            writes,
            parsed,
            has_names,
        })
    }

    /// Whether a legal text may be inserted twice in a row.
    pub(crate) fn is_repeatable(&self, first_copy: &Filled, second_copy: &Filled) -> bool {
        let text = format!("{}\n{}", first_copy.text, second_copy.text);
        let (context, start) = check::minimal_context(&self.body, &self.module.tables, &text);
        check::errors(&context, start, start + text.len()).is_ok()
    }
}
