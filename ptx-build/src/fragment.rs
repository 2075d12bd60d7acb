//! Fragments: statements as text, with typed operands, and what they do.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::facts::{Flow, MemoryAccess, ModuleFacts};
use ptx_ir::{Code, Module, Statement};
use ptx_isa::{PtxVersion, ScalarType, Target};

use crate::error::{Error, Kind};
use crate::function::FunctionBuilder;
use crate::judge;
use crate::module::ModuleBuilder;
use crate::operand::{IntoOperand, Operand, Reg};

/// What a fragment does.
#[derive(Clone, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The operands, by their names, that are read; other registers by theirs.
    pub reads: Vec<String>,
    /// The operands and registers that are written, or may be.
    pub writes: Vec<String>,
    /// The accesses to memory, in order. Bases that are operands stand in `reads`.
    pub memory: Vec<MemoryAccess>,
    /// Whether threads wait for each other in it.
    pub barrier: bool,
    /// Whether it orders memory.
    pub fence: bool,
    /// Whether it must be kept and not be moved even though no register shows why.
    pub side_effects: bool,
    /// Whether it jumps, calls, returns or ends the thread.
    pub control: bool,
    /// How many instructions it has.
    pub instructions: usize,
}

/// Text with `{name}` replaced. Braces around what is not given stay: they are vectors and scopes of PTX.
fn replace(text: &str, mut operand: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, inner) = rest.split_at(open);
        out.push_str(before);
        let name = inner.get(1..).and_then(|i| i.split_once('}'));
        match name.and_then(|(name, behind)| Some((operand(name.trim())?, behind))) {
            Some((text, behind)) => {
                out.push_str(&text);
                rest = behind;
            }
            None => {
                out.push('{');
                rest = inner.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    out
}

fn add(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|n| n == name) {
        list.push(name.to_string());
    }
}

/// What the instructions of a text do that stands in `module` from `start` to `end`; `name` says what a register is called.
fn report(module: &Module, start: usize, end: usize, name: impl Fn(&str) -> String) -> Report {
    let mut report = Report::default();
    let facts = ModuleFacts::new(module);
    for (id, _, body) in module.definitions() {
        let Some(function) = facts.function(id) else {
            continue;
        };
        let register = |place: ptx_ir::facts::Place| {
            let register = body.registers.get(place.register);
            let decl = register.and_then(|r| Some((r, body.reg_decls.get(r.decl)?)));
            let text = decl.map_or(String::new(), |(r, d)| match d.count {
                Some(_) => format!("{}{}", module.name(d.name), r.number),
                None => module.name(d.name).to_string(),
            });
            name(&text)
        };
        for (stmt, statement) in body.statements() {
            let at = body.source_span(stmt).start as usize;
            let Statement::Inst(inst) = statement else {
                continue;
            };
            if at < start || at >= end {
                continue;
            }
            let f = function.inst(inst);
            report.instructions += 1;
            for place in f.reads() {
                add(&mut report.reads, &register(place));
            }
            for place in f.writes().chain(f.conditional_writes()) {
                add(&mut report.writes, &register(place));
            }
            report.memory.extend(f.memory());
            report.barrier |= f.is_barrier();
            report.fence |= f.is_fence();
            report.side_effects |= f.has_side_effects();
            report.control |= f.flow() != Flow::Next;
        }
    }
    report
}

/// Whether there is such a statement.
fn declares(module: &Module, start: usize, end: usize, what: impl Fn(Statement) -> bool) -> bool {
    let mut bodies = module.definitions().map(|(_, _, body)| body);
    bodies.any(|body| {
        body.statements().any(|(stmt, statement)| {
            let at = body.source_span(stmt).start as usize;
            what(statement) && start <= at && at < end
        })
    })
}

/// A fragment must not close the scope around it.
fn is_balanced(text: &str) -> bool {
    use ptx_ir::lex::Lexer;
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

fn unbalanced() -> Error {
    Error::new(
        Kind::Scope,
        "the braces of the fragment do not match",
        "a fragment closes the scopes that it opens, and no others",
    )
}

impl FunctionBuilder<'_> {
    /// Adds statements as text. `{name}` stands for an operand; what is declared in the text stays in a scope of its own. A
    /// guard before it goes over all of it.
    ///
    /// ```
    /// # use ptx_build::ModuleBuilder;
    /// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
    /// # fn main() -> Result<(), ptx_build::Error> {
    /// # let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    /// # let mut k = m.kernel("k")?;
    /// let (d, a) = (k.reg(T::B32), k.reg(T::B32));
    /// let report = k.asm("add.s32 {d}, {a}, {n};", &[("d", d.into()), ("a", a.into()), ("n", 4.into())])?;
    /// assert_eq!((report.reads, report.writes), (vec!["a".to_string()], vec!["d".to_string()]));
    /// # k.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn asm(&mut self, text: &str, operands: &[(&str, Operand)]) -> Result<Report, Error> {
        let made = self.all_or_none(|f| f.fragment(text, operands));
        if made.is_err() {
            self.body.unmention();
        }
        made
    }

    fn fragment(&mut self, text: &str, operands: &[(&str, Operand)]) -> Result<Report, Error> {
        let mark = self.mark();
        self.body.mentions.clear();
        let mut names: Vec<(String, String)> = Vec::new();
        for (name, operand) in operands {
            operand.write(&mut self.any_writer());
            let text = self.body.text.get(mark..).unwrap_or_default().to_string();
            self.reset(mark);
            names.push((name.to_string(), text));
        }
        if let Some(error) = self.body.error.take() {
            return Err(error);
        }
        let find = |name: &str| {
            names
                .iter()
                .find(|(n, _)| n == name)
                .map(|(_, t)| t.clone())
        };
        let text = replace(text, find);
        if !is_balanced(&text) {
            return Err(unbalanced());
        }
        let (whole, start) = judge::around(&self.body, &self.module.tables, &text);
        let end = start + text.len();
        let module = judge::errors(&whole, start, end)
            .map_err(|found| Error::illegal(text.clone(), found))?;
        self.module.tables.fix(&self.body.mentions);
        let called = |register: &str| {
            let operand = names.iter().find(|(_, t)| t == register);
            operand.map_or(register, |(n, _)| n).to_string()
        };
        let report = report(&module, start, end, called);
        if declares(&module, start, end, |s| matches!(s, Statement::Function(_))) {
            return Err(Error::new(
                Kind::Argument,
                "a fragment declares a function",
                "`ModuleBuilder::declare_function` declares it for all",
            )
            .code_is(Code::MisplacedDirective));
        }
        let is_name = |s| matches!(s, Statement::Decl(_) | Statement::Label(_));
        let scope = declares(&module, start, end, is_name);
        if scope {
            self.open();
        }
        self.add_lines(&text);
        if scope {
            self.close()?;
        }
        Ok(report)
    }
}

/// Checks statements as text alone, as inline assembly of another language has it: `{name}` stands for a register of the type
/// that is given with the name.
///
/// ```
/// # use ptx_isa::{PtxVersion, ScalarType as T, Target};
/// let check = |text| ptx_build::check_asm(PtxVersion::new(8, 0), Target::Sm80, text, &[("d", T::F32), ("a", T::F32)]);
/// assert_eq!(check("sin.approx.f32 {d}, {a};").unwrap().writes, ["d"]);
/// assert!(check("sin.approx.f64 {d}, {a};").is_err());
/// ```
pub fn check_asm(
    version: PtxVersion,
    target: Target,
    text: &str,
    operands: &[(&str, ScalarType)],
) -> Result<Report, Error> {
    let mut module = ModuleBuilder::new(version, target);
    // In a function and not a kernel, as inline assembly may stand in both.
    let mut function = module.func("asm")?;
    let registers: Vec<(&str, Reg)> = operands
        .iter()
        .map(|(name, ty)| (*name, function.reg(*ty)))
        .collect();
    let operands: Vec<(&str, Operand)> = registers
        .iter()
        .map(|(name, reg)| (*name, Operand::Reg(*reg)))
        .collect();
    let report = function.asm(text, &operands);
    function.finish()?;
    report
}
