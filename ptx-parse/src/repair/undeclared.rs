//! Errors about names without a declaration: one for each declaration that is missing, at its first use.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::scan::{class, is};
use ptx_ir::name::{split_numeric_suffix_str, suffix_number};
use ptx_ir::{Body, Code, Diagnostic, FuncId, Module, Span, StmtId, SymbolKind};
use ptx_isa::{ForeignWord, Modifier, Opcode, ScalarType, SpecialReg};

use crate::declared::{Declaration, Declared};
use crate::name_use::{Context, Expected};
use crate::record::{Undeclared, UndeclaredCause, late_declaration};
use crate::repair::keyword::{correct, suggestion};
use crate::repair::missing_declaration;
use crate::reporter::Reports;
use crate::suggest;

/// The most names that are compared with undeclared ones to find similar ones, so that the cost stays linear.
const MOST_COMPARISONS: usize = 1 << 18;
/// The most names for which declarations are added.
const MOST_DECLARED: usize = 64;
/// The number of names that are compared for each byte of a function, where each function is reported on its own.
const COMPARISONS_PER_BYTE: usize = 64;

/// A use of a name without a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Use<'s> {
    /// The offset in the source.
    at: u32,
    name: &'s str,
}

impl Use<'_> {
    fn span(&self) -> Span {
        Span::new(self.at, self.at + self.name.len() as u32)
    }
}

/// The errors of names without a declaration. They share the number of names that may still be compared with undeclared ones, in a
/// module, or in a function if the errors of each function must not depend on those of others.
pub(crate) struct UndeclaredNames<'m> {
    module: &'m Module,
    reports: Reports,
    comparisons_left: usize,
    /// The function of the last error.
    function: Option<FuncId>,
    /// The declarations of that function.
    declared: Declared<'m>,
}

impl<'m> UndeclaredNames<'m> {
    pub(crate) fn new(module: &'m Module, reports: Reports) -> Self {
        Self {
            module,
            reports,
            comparisons_left: MOST_COMPARISONS,
            function: None,
            declared: Declared::default(),
        }
    }

    /// The names of a body are repaired next.
    fn enter(&mut self, function: FuncId, body: &Body) {
        if self.function == Some(function) {
            return;
        }
        self.function = Some(function);
        self.declared = Declared::of(self.module, body);
        if self.reports == Reports::OfFunctions {
            // In proportion to the text, so that the cost stays linear.
            self.comparisons_left = (body.end() as usize)
                .saturating_mul(COMPARISONS_PER_BYTE)
                .min(MOST_COMPARISONS);
        }
    }

    /// The error of names without a declaration, with the declaration that is missing or the name that is meant.
    pub(crate) fn diagnostic(&mut self, undeclared: &Undeclared) -> Option<Diagnostic> {
        let module = self.module;
        let uses: Vec<Use<'_>> = undeclared
            .uses
            .iter()
            .map(|u| Use {
                at: u.offset,
                name: module.name(u.name),
            })
            .collect();
        let first = *uses.first()?;
        let function = undeclared.function;
        let body = function.and_then(|f| Some((f, module.body(f)?)));
        let mut context = Context::outside(undeclared.expected);
        if let Some((function, body)) = body {
            self.enter(function, body);
            context = Context::at(module.source(), first.at as usize, first.name);
            context.expected = undeclared.expected;
        }
        let outside = Declared::default();
        let group = Group {
            module,
            body: body.map(|(_, body)| body),
            symbols: undeclared.symbols,
            cause: undeclared.cause,
            common: if undeclared.is_range {
                split_numeric_suffix_str(first.name).0
            } else {
                first.name
            },
            first,
            uses: &uses,
        };
        let declared = if body.is_some() {
            &self.declared
        } else {
            &outside
        };
        Some(group.diagnostic(declared, &context, &mut self.comparisons_left))
    }
}

/// Uses that lack the same declaration, in the order of the text.
struct Group<'s> {
    module: &'s Module,
    /// The body with the uses; none outside of bodies.
    body: Option<&'s Body>,
    /// The number of symbols that the module had declared before.
    symbols: usize,
    cause: UndeclaredCause,
    /// The name, of members of a range without the number.
    common: &'s str,
    first: Use<'s>,
    uses: &'s [Use<'s>],
}

impl Group<'_> {
    /// A phrase with the number of names beside the first one.
    fn others(&self) -> String {
        let mut names: Vec<&str> = self.uses.iter().map(|u| u.name).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        }
    }

    /// The names as a declaration writes them.
    fn declared(&self) -> String {
        if self.common == self.first.name {
            self.first.name.to_string()
        } else {
            format!("{}<{}>", self.common, self.count())
        }
    }

    /// The count of a range that has all these names.
    fn count(&self) -> u64 {
        let numbers = self.uses.iter().map(|u| number(u.name));
        u64::from(numbers.max().unwrap_or(0)) + 1
    }
}

/// The opcode right before the name of a use, after white space.
fn opcode_before(src: &[u8], first: Use<'_>) -> Option<Opcode> {
    let preceding = src.get(..first.at as usize)?;
    let text = preceding.trim_ascii_end();
    let start = text
        .iter()
        .rposition(|b| !is(*b, class::IDENT) && *b != b'.');
    let mnemonic = text.get(start.map_or(0, |i| i + 1)..)?;
    let opcode = mnemonic.split(|b| *b == b'.').next()?;
    Opcode::from_text(opcode).filter(|_| text.len() < preceding.len())
}

/// The modifier of an opcode that a name is without its dot, also in the words of other languages.
fn modifier_of(opcode: Opcode, name: &str) -> Option<&'static str> {
    let word = format!(".{name}");
    let word = ForeignWord::from_text(&word)
        .and_then(ForeignWord::instead)
        .unwrap_or(&word);
    let modifier = Modifier::from_text(word.as_bytes())?;
    let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
    forms.any(|f| f.accepts(modifier)).then(|| modifier.text())
}

/// The meaning of a name that is a mark and a number: an operand of inline assembly, or a constant of another assembler.
fn placeholder(name: &str) -> Option<String> {
    let digits = name.strip_prefix(['%', '$'])?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let constant = if name.starts_with('$') {
        format!(", and a constant is written `{digits}`")
    } else {
        String::new()
    };
    is_number.then(|| {
        format!("`{name}` is an operand in a template of inline assembly, for which the compiler writes a register{constant}")
    })
}

/// The number at the end of a name.
fn number(name: &str) -> u32 {
    suffix_number(split_numeric_suffix_str(name).1.as_bytes())
}

impl Group<'_> {
    fn diagnostic(
        &self,
        declared: &Declared<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let name = self.first.name;
        match self.cause {
            UndeclaredCause::Late => late_declaration(name, self.first.span()),
            UndeclaredCause::OtherScope => {
                let message =
                    format!("expected a label of this scope, found `{name}` of another scope");
                let d = Diagnostic::error(Code::LabelOutOfScope, self.first.span(), message)
                    .with_help("a label is visible in its own scope and the scopes inside it");
                let stmt = declared.label(name).and_then(|label| label.stmt);
                self.with_label(d, stmt, "defined here")
            }
            UndeclaredCause::BeyondRange => self.beyond_range(declared),
            UndeclaredCause::Missing => self.missing(declared, context, comparisons_left),
        }
    }

    /// The error of names that have no declaration.
    fn missing(
        &self,
        declared: &Declared<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let name = self.first.name;
        let noun = context.expected.noun();
        let message = format!("undeclared {noun} `{name}`{}", self.others());
        let d = Diagnostic::error(Code::UndefinedName, self.first.span(), message);
        if let Some(opcode) = opcode_before(self.module.source(), self.first) {
            if let Some(modifier) = modifier_of(opcode, name) {
                return d.with_help(format!(
                    "modifiers follow the opcode after a dot, without white space: `{modifier}`"
                ));
            }
            let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
            if forms.all(|f| f.operands().is_empty()) {
                return d.with_help(format!("`{opcode}` has no operands"));
            }
        }
        let foreign = name.strip_prefix('%').unwrap_or(name);
        let is_opcode = |text: &str| Opcode::from_text(text.as_bytes()).is_some();
        let word = ForeignWord::from_text(foreign);
        if word.is_some_and(|w| !w.instead().is_some_and(is_opcode)) {
            return correct(d, foreign, None);
        }
        let declaration = self.declaration(context);
        if let Some(help) = placeholder(name) {
            return d.with_help(format!("{help}; otherwise {declaration}"));
        }
        match self.similar(declared, context, comparisons_left) {
            Some((similar, stmt, _)) if similar == name => {
                let help = format!(
                    "the block that declares `{name}` ended: declare it outside of the block"
                );
                self.with_label(d.with_help(help), stmt, "declared in an inner block")
            }
            Some((similar, stmt, sole)) => {
                let help = match context.expected {
                    Expected::Register | Expected::Label => suggestion(&similar),
                    _ => format!("{} Otherwise {declaration}", suggestion(&similar)),
                };
                let d = self.with_label(d.with_help(help), stmt, "declared here");
                // Another number is another name.
                let digits = |name: &str| -> Vec<char> {
                    name.chars().filter(char::is_ascii_digit).collect()
                };
                if sole && digits(name) == digits(&similar) {
                    d.with_fix(self.first.span(), similar)
                } else {
                    self.declare(context, d, comparisons_left)
                }
            }
            None => self.undeclared(declaration, context, d, comparisons_left),
        }
    }

    /// The error of names to which no declared name is similar; `declaration` says how they are declared.
    fn undeclared(
        &self,
        declaration: String,
        context: &Context,
        d: Diagnostic,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let (name, common) = (self.first.name, self.common);
        let library = match context.expected {
            Expected::Function => ptx_isa::library_function(name),
            _ => None,
        };
        let d = d.with_help(match library {
            Some(meant) => format!("libdevice has it as `{meant}`; {declaration}"),
            None => declaration,
        });
        // The class is clear from names like those of compilers.
        let body = self.body.filter(|_| context.expected == Expected::Register);
        match register_class(common).zip(body) {
            Some((class, body)) => {
                let at = body.base() + 1;
                let text = format!("\n\t.reg {class} {};", self.declared());
                d.with_fix(Span::new(at, at), text)
            }
            None => self.declare(context, d, comparisons_left),
        }
    }

    /// Adds a label at a statement of the body.
    fn with_label(&self, d: Diagnostic, stmt: Option<StmtId>, text: &str) -> Diagnostic {
        match self.span(stmt) {
            Some(span) => d.with_label(span, text),
            None => d,
        }
    }

    /// The place of a statement of the body.
    fn span(&self, stmt: Option<StmtId>) -> Option<Span> {
        Some(self.body?.source_span(stmt?))
    }

    /// Adds the declaration that is probably missing.
    fn declare(
        &self,
        context: &Context,
        d: Diagnostic,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let cost = MOST_COMPARISONS / MOST_DECLARED;
        let (Some(left), Some(body)) = (comparisons_left.checked_sub(cost), self.body) else {
            return d;
        };
        *comparisons_left = left;
        let src = self.module.source();
        let (base, Use { name, at }) = (body.base() as usize, self.first);
        match context.expected {
            Expected::Function => match missing_declaration::function(src, base, name, at) {
                Some((span, text)) => d.with_fix(span, text),
                None => d,
            },
            Expected::Variable | Expected::Name => {
                let uses = self.uses.iter().map(|u| u.at);
                let Some(edit) = missing_declaration::variable(src, base, name, uses) else {
                    return d;
                };
                let (span, text, note) = edit;
                let help = d.help.clone().unwrap_or_default();
                d.with_help(format!("{help}; {note}")).with_fix(span, text)
            }
            Expected::Label => match missing_declaration::label_place(self.module, body) {
                Some(at) => {
                    let help = d.help.clone().unwrap_or_default();
                    let note = "it may belong before the only statement that is not reached";
                    d.with_help(format!("{help}; {note}"))
                        .with_fix(Span::new(at, at), format!("{name}:\n\t"))
                }
                None => d,
            },
            Expected::Register => d,
        }
    }

    /// The error of a member that a range does not have.
    fn beyond_range(&self, declared: &Declared<'_>) -> Diagnostic {
        let src = self.module.source();
        let (name, common) = (self.first.name, self.common);
        let range = declared.range(common);
        let (stmt, count) = range.map_or((None, 0), |r| (r.stmt, r.count));
        let last = count.saturating_sub(1);
        let message = format!(
            "expected `{common}0` to `{common}{last}`, found `{name}`{}",
            self.others()
        );
        let needed = self.count();
        let mut d = Diagnostic::error(Code::OutsideRange, self.first.span(), message)
            .with_help(format!("declare `{common}<{needed}>`"));
        let old = format!("{common}<{count}>");
        let place = self.span(stmt);
        let index = place.and_then(|p| memchr::memmem::find(p.of(src), old.as_bytes()));
        if let (Some(place), Some(i)) = (place, index) {
            let offset = place.start as usize + i;
            let span = Span::at(offset, offset + old.len());
            d = d.with_fix(span, format!("{common}<{needed}>"));
        }
        match place {
            Some(place) => d.with_label(place, format!("`{common}<{count}>` is declared here")),
            None => d,
        }
    }

    /// The declared name that is nearest to an undeclared one, with its declaration. None for registers that are named like
    /// those of compilers, and for several names: their declaration is missing. And whether it is the only one.
    fn similar(
        &self,
        declared: &Declared<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Option<(String, Option<StmtId>, bool)> {
        let (name, common) = (self.first.name, self.common);
        let special = format!("%{name}");
        if SpecialReg::from_text(special.as_bytes()).is_some() {
            return Some((special, None, true));
        }
        // A name that is used several times is hardly a typo.
        if self.uses.len() > 2 && name.starts_with('%') {
            return None;
        }
        let mut names = self.uses.iter().map(|u| u.name);
        if common != name && (register_class(common).is_some() || names.any(|n| n != name)) {
            return None;
        }
        let count = declared.len() + self.symbols;
        *comparisons_left = comparisons_left.checked_sub(count)?;
        // A name and whether its type is not one of the instruction.
        let candidate = |d: &Declaration<'_>| (d.name.to_string(), (!context.fits(d.ty), d.stmt));
        let symbols = self.module.symbols().values().take(self.symbols);
        let symbols = symbols.filter(|s| s.number.is_none());
        let symbol = |functions: bool| {
            let wanted = symbols.clone();
            let wanted =
                wanted.filter(move |s| functions == matches!(s.kind, SymbolKind::Function(_)));
            wanted.map(|s| (self.module.name(s.name).to_string(), (true, None)))
        };
        let mut all: Vec<(String, (bool, Option<StmtId>))> = match context.expected {
            Expected::Label => declared.labels.iter().map(candidate).collect(),
            Expected::Function => symbol(true).collect(),
            Expected::Register => {
                let special = SpecialReg::ALL.iter();
                special
                    .map(|r| (r.text().to_string(), (true, None)))
                    .collect()
            }
            Expected::Variable | Expected::Name => symbol(false).chain(symbol(true)).collect(),
        };
        if !matches!(context.expected, Expected::Label | Expected::Function) {
            all.extend(declared.plain.iter().map(candidate));
            let (_, digits) = split_numeric_suffix_str(name);
            let number = number(name);
            let members = declared.ranges.iter();
            let members = members.filter(|r| !digits.is_empty() && number < r.count);
            all.extend(members.map(|r| {
                let (prefix, rest) = candidate(r);
                (prefix + digits, rest)
            }));
        }
        let ranked = all.iter().map(|(n, (unfit, _))| (n.as_str(), *unfit));
        let (nearest, _) = suggest::nearest_of(name, ranked)?;
        let stmt = all.iter().find(|(n, _)| n == nearest.text);
        let stmt = stmt.and_then(|(_, (_, stmt))| *stmt);
        Some((nearest.text.to_string(), stmt, nearest.sole))
    }

    /// A sentence about the declaration that is missing.
    fn declaration(&self, context: &Context) -> String {
        let name = self.first.name;
        let common = self.common;
        match context.expected {
            Expected::Register => {
                let class = register_class(common).unwrap_or_else(|| context.class());
                let declared = self.declared();
                format!("declare it before its first use: `.reg {class} {declared};`")
            }
            Expected::Function => {
                format!("declare it before the call, for example `.extern .func {name};`")
            }
            Expected::Label => format!("define it in this scope: `{name}:`"),
            Expected::Variable => {
                format!("declare it before its first use, for example `.global .b32 {name};`")
            }
            Expected::Name => {
                "declare it before its first use, for example with `.reg` or `.global`".to_string()
            }
        }
    }
}

/// The type of the registers to which compilers give this name: a prefix and perhaps a number.
pub(crate) fn register_class_of(name: &[u8]) -> Option<ScalarType> {
    let name = core::str::from_utf8(name).ok()?;
    register_class(name.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The type of the registers to which compilers give names that begin like this.
fn register_class(prefix: &str) -> Option<ScalarType> {
    let mut types = ScalarType::ALL.iter().copied();
    types.find(|t| t.register_prefix() == Some(prefix))
}
