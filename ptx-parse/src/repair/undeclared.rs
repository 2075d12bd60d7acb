//! Errors about names without a declaration: one for each missing declaration, at its first use.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::raw::name::{split_numeric_suffix_str, suffix_number};
use ptx_ir::raw::scan::{class, is};
use ptx_ir::{Body, Code, Diagnostic, FuncId, Module, Span, StmtId, Symbol, SymbolKind};
use ptx_isa::internals::ForeignWord;
use ptx_isa::{Modifier, Opcode, ScalarType, SpecialReg};

use crate::declared_names::{Declaration, DeclaredNames};
use crate::name_use::{Context, Expected};
use crate::record::{Undeclared, UndeclaredCause, late_declaration};
use crate::repair::keyword::{correct, suggestion};
use crate::repair::missing_declaration;
use crate::reporter::Reports;
use crate::suggest;

/// The number of declared names that are compared with undeclared ones, so that the cost stays linear.
const MOST_COMPARISONS: usize = 1 << 18;
/// The number of undeclared names for which declarations are added.
const MOST_DECLARED: usize = 64;
/// The number of names that are compared for each byte of a function if each function is reported on its own.
const COMPARISONS_PER_BYTE: usize = 64;

/// A use of a name without a declaration.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Use<'s> {
    /// The offset in the source.
    offset: u32,
    name: &'s str,
}

impl Use<'_> {
    fn span(&self) -> Span {
        Span::new(self.offset, self.offset + self.name.len() as u32)
    }
}

/// The state that the errors about names without a declaration share. The comparisons that are left are shared by a module, or
/// by a function if the errors of each function must not depend on those of others.
pub(crate) struct UndeclaredNames<'m> {
    module: &'m Module,
    reports: Reports,
    comparisons_left: usize,
    /// The function of the last error.
    function: Option<FuncId>,
    /// The declarations of that function.
    declared: DeclaredNames<'m>,
}

impl<'m> UndeclaredNames<'m> {
    pub(crate) fn new(module: &'m Module, reports: Reports) -> Self {
        Self {
            module,
            reports,
            comparisons_left: MOST_COMPARISONS,
            function: None,
            declared: DeclaredNames::default(),
        }
    }

    /// Prepares the repair of names of a body.
    fn enter(&mut self, function: FuncId, body: &Body) {
        if self.function == Some(function) {
            return;
        }
        self.function = Some(function);
        self.declared = DeclaredNames::new(self.module, body);
        if self.reports == Reports::OfFunctions {
            // The limit is proportional to the text, so that the cost stays linear.
            self.comparisons_left = (body.end() as usize)
                .saturating_mul(COMPARISONS_PER_BYTE)
                .min(MOST_COMPARISONS);
        }
    }

    /// The error of names without a declaration, with the missing declaration or the name that is meant.
    pub(crate) fn diagnostic(&mut self, undeclared: &Undeclared) -> Option<Diagnostic> {
        let module = self.module;
        let uses: Vec<Use<'_>> = undeclared
            .uses
            .iter()
            .map(|u| Use {
                offset: u.offset,
                name: module.name(u.name),
            })
            .collect();
        let first = *uses.first()?;
        let function = undeclared.function;
        let body = function.and_then(|f| Some((f, module.body(f)?)));
        let mut context = Context::outside(undeclared.expected);
        if let Some((function, body)) = body {
            self.enter(function, body);
            context = Context::of_name(module.source(), first.offset as usize, first.name);
            context.expected = undeclared.expected;
        }
        let outside = DeclaredNames::default();
        let group = Group {
            module,
            body: body.map(|(_, body)| body),
            symbol_count: undeclared.symbol_count,
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

/// The declared name that is nearest to an undeclared one.
struct SimilarName {
    name: String,
    /// The statement that declares it in the body.
    stmt: Option<StmtId>,
    /// Whether no other declared name is equally near.
    is_sole: bool,
}

/// A declared name that may be meant by an undeclared one.
struct Candidate {
    name: String,
    /// Whether the instruction with the undeclared name does not take an operand of its type.
    has_other_type: bool,
    /// The statement that declares it in the body.
    stmt: Option<StmtId>,
}

impl Candidate {
    /// A name without a type that is not declared in the body.
    fn without_type(name: &str) -> Self {
        Self {
            name: name.to_string(),
            has_other_type: true,
            stmt: None,
        }
    }
}

/// Uses that lack the same declaration, in the order of the text.
struct Group<'s> {
    module: &'s Module,
    /// The body with the uses; none outside of bodies.
    body: Option<&'s Body>,
    /// The number of symbols that the module declares before the uses.
    symbol_count: usize,
    cause: UndeclaredCause,
    /// The name; the name of members of a range without the number.
    common: &'s str,
    first: Use<'s>,
    uses: &'s [Use<'s>],
}

impl Group<'_> {
    /// The end of a sentence, with the number of names beside the first one.
    fn more_names(&self) -> String {
        let mut names: Vec<&str> = self.uses.iter().map(|u| u.name).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        }
    }

    /// The name or the range that a declaration of all names has.
    fn declared_text(&self) -> String {
        if self.common == self.first.name {
            self.first.name.to_string()
        } else {
            format!("{}<{}>", self.common, self.count())
        }
    }

    /// The count of a range that has all these names.
    fn count(&self) -> u64 {
        let largest = self.uses.iter().map(|u| number(u.name)).max();
        u64::from(largest.unwrap_or(0)) + 1
    }
}

/// The opcode of the mnemonic right before a name, with white space between them.
fn opcode_before(src: &[u8], name: Use<'_>) -> Option<Opcode> {
    let preceding = src.get(..name.offset as usize)?;
    let text = preceding.trim_ascii_end();
    let start = text
        .iter()
        .rposition(|b| !is(*b, class::IDENT) && *b != b'.');
    let mnemonic = text.get(start.map_or(0, |i| i + 1)..)?;
    let opcode = mnemonic.split(|b| *b == b'.').next()?;
    Opcode::from_text(opcode).filter(|_| text.len() < preceding.len())
}

/// The modifier of an opcode that `name` means, without its dot, or as a word of another language.
fn modifier_of(opcode: Opcode, name: &str) -> Option<&'static str> {
    let dotted = format!(".{name}");
    let word = ForeignWord::from_text(&dotted)
        .and_then(ForeignWord::instead)
        .unwrap_or(&dotted);
    let modifier = Modifier::from_text(word.as_bytes())?;
    let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
    forms.any(|f| f.accepts(modifier)).then(|| modifier.text())
}

/// Explains a name that is `%` or `$` and a number: an operand of inline assembly, or a constant of another assembler.
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

/// The digits in a name.
fn digits(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(char::is_ascii_digit)
}

/// The number at the end of a name.
fn number(name: &str) -> u32 {
    suffix_number(split_numeric_suffix_str(name).1.as_bytes())
}

impl Group<'_> {
    fn diagnostic(
        &self,
        declared: &DeclaredNames<'_>,
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
        declared: &DeclaredNames<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let name = self.first.name;
        let noun = context.expected.noun();
        let message = format!("undeclared {noun} `{name}`{}", self.more_names());
        let error = Diagnostic::error(Code::UndefinedName, self.first.span(), message);
        if let Some(opcode) = opcode_before(self.module.source(), self.first) {
            if let Some(modifier) = modifier_of(opcode, name) {
                return error.with_help(format!(
                    "modifiers follow the opcode after a dot, without white space: `{modifier}`"
                ));
            }
            let mut forms = opcode.instructions().iter().flat_map(|i| i.forms());
            if forms.all(|f| f.operands().is_empty()) {
                return error.with_help(format!("`{opcode}` has no operands"));
            }
        }
        let foreign = name.strip_prefix('%').unwrap_or(name);
        let word = ForeignWord::from_text(foreign);
        let translation = word.and_then(ForeignWord::instead);
        let is_opcode =
            translation.is_some_and(|text| Opcode::from_text(text.as_bytes()).is_some());
        if word.is_some() && !is_opcode {
            return correct(error, foreign, None);
        }
        let declaration = self.declaration(context);
        if let Some(help) = placeholder(name) {
            return error.with_help(format!("{help}; otherwise {declaration}"));
        }
        match self.similar(declared, context, comparisons_left) {
            Some(similar) if similar.name == name => {
                let help = format!(
                    "the block that declares `{name}` ended: declare it outside of the block"
                );
                let message = "declared in an inner block";
                self.with_label(error.with_help(help), similar.stmt, message)
            }
            Some(similar) => {
                let help = match context.expected {
                    Expected::Register | Expected::Label => suggestion(&similar.name),
                    _ => format!("{} Otherwise {declaration}", suggestion(&similar.name)),
                };
                let error = self.with_label(error.with_help(help), similar.stmt, "declared here");
                // A name with another number is hardly meant.
                if similar.is_sole && digits(name).eq(digits(&similar.name)) {
                    error.with_fix(self.first.span(), similar.name)
                } else {
                    self.declare(context, error, comparisons_left)
                }
            }
            None => self.undeclared(declaration, context, error, comparisons_left),
        }
    }

    /// Completes the error of names to which no declared name is similar. `declaration` says how they are declared.
    fn undeclared(
        &self,
        declaration: String,
        context: &Context,
        error: Diagnostic,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let (name, common) = (self.first.name, self.common);
        let library = match context.expected {
            Expected::Function => ptx_isa::internals::library_function(name),
            _ => None,
        };
        let error = error.with_help(match library {
            Some(function) => format!("libdevice has it as `{function}`; {declaration}"),
            None => declaration,
        });
        let body = self.body.filter(|_| context.expected == Expected::Register);
        match register_class(common).zip(body) {
            Some((class, body)) => {
                let body_start = body.base() + 1;
                let text = format!("\n\t.reg {class} {};", self.declared_text());
                error.with_fix(Span::new(body_start, body_start), text)
            }
            None => self.declare(context, error, comparisons_left),
        }
    }

    /// Adds a label at a statement of the body.
    fn with_label(&self, error: Diagnostic, stmt: Option<StmtId>, text: &str) -> Diagnostic {
        match self.span(stmt) {
            Some(span) => error.with_label(span, text),
            None => error,
        }
    }

    /// The place of a statement of the body.
    fn span(&self, stmt: Option<StmtId>) -> Option<Span> {
        Some(self.body?.source_span(stmt?))
    }

    /// Adds an edit with the declaration that is probably missing.
    fn declare(
        &self,
        context: &Context,
        error: Diagnostic,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let cost = MOST_COMPARISONS / MOST_DECLARED;
        let (Some(remaining), Some(body)) = (comparisons_left.checked_sub(cost), self.body) else {
            return error;
        };
        *comparisons_left = remaining;
        let src = self.module.source();
        let (base, Use { name, offset }) = (body.base() as usize, self.first);
        match context.expected {
            Expected::Function => match missing_declaration::function(src, base, name, offset) {
                Some((span, text)) => error.with_fix(span, text),
                None => error,
            },
            Expected::Variable | Expected::Name => {
                let uses = self.uses.iter().map(|u| u.offset);
                let Some(added) = missing_declaration::variable(src, base, name, uses) else {
                    return error;
                };
                let help = error.help.clone().unwrap_or_default();
                error
                    .with_help(format!("{help}; {}", added.note))
                    .with_fix(added.place, added.text)
            }
            Expected::Label => match missing_declaration::label_place(self.module, body) {
                Some(offset) => {
                    let help = error.help.clone().unwrap_or_default();
                    let note = "it may belong before the only statement that is not reached";
                    error
                        .with_help(format!("{help}; {note}"))
                        .with_fix(Span::new(offset, offset), format!("{name}:\n\t"))
                }
                None => error,
            },
            Expected::Register => error,
        }
    }

    /// The error of a member that a range does not have.
    fn beyond_range(&self, declared: &DeclaredNames<'_>) -> Diagnostic {
        let src = self.module.source();
        let (name, common) = (self.first.name, self.common);
        let range = declared.range(common);
        let (stmt, count) = range.map_or((None, 0), |r| (r.stmt, r.count));
        let last = count.saturating_sub(1);
        let message = format!(
            "expected `{common}0` to `{common}{last}`, found `{name}`{}",
            self.more_names()
        );
        let needed = self.count();
        let mut error = Diagnostic::error(Code::OutsideRange, self.first.span(), message)
            .with_help(format!("declare `{common}<{needed}>`"));
        let old = format!("{common}<{count}>");
        let declaration = self.span(stmt);
        let index = declaration.and_then(|p| memchr::memmem::find(p.of(src), old.as_bytes()));
        if let (Some(declaration), Some(i)) = (declaration, index) {
            let offset = declaration.start as usize + i;
            let span = Span::at(offset, offset + old.len());
            error = error.with_fix(span, format!("{common}<{needed}>"));
        }
        match declaration {
            Some(declaration) => {
                error.with_label(declaration, format!("`{common}<{count}>` is declared here"))
            }
            None => error,
        }
    }

    /// The declared name that is nearest to the undeclared one. None for registers that are named like those of compilers, and
    /// for several names, as their declaration is missing.
    fn similar(
        &self,
        declared: &DeclaredNames<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Option<SimilarName> {
        let (name, common) = (self.first.name, self.common);
        let special = format!("%{name}");
        if SpecialReg::from_text(special.as_bytes()).is_some() {
            return Some(SimilarName {
                name: special,
                stmt: None,
                is_sole: true,
            });
        }
        // A name that is used several times is hardly a typo.
        if self.uses.len() > 2 && name.starts_with('%') {
            return None;
        }
        let mut names = self.uses.iter().map(|u| u.name);
        if common != name && (register_class(common).is_some() || names.any(|n| n != name)) {
            return None;
        }
        let count = declared.len() + self.symbol_count;
        *comparisons_left = comparisons_left.checked_sub(count)?;
        let candidates = self.candidates(declared, context);
        let ranked = candidates
            .iter()
            .map(|candidate| (candidate.name.as_str(), candidate.has_other_type));
        let (nearest, _) = suggest::nearest_of(name, ranked)?;
        let stmt = candidates
            .iter()
            .find(|candidate| candidate.name == nearest.text)
            .and_then(|candidate| candidate.stmt);
        Some(SimilarName {
            name: nearest.text.to_string(),
            stmt,
            is_sole: nearest.sole,
        })
    }

    /// The declared names of the expected kind.
    fn candidates(&self, declared: &DeclaredNames<'_>, context: &Context) -> Vec<Candidate> {
        let declaration = |declaration: &Declaration<'_>| Candidate {
            name: declaration.name.to_string(),
            has_other_type: !context.fits(declaration.ty),
            stmt: declaration.stmt,
        };
        let (functions, variables): (Vec<&Symbol>, Vec<&Symbol>) = self
            .module
            .symbols()
            .values()
            .take(self.symbol_count)
            .filter(|symbol| symbol.number.is_none())
            .partition(|symbol| matches!(symbol.kind, SymbolKind::Function(_)));
        let symbol = |symbol: &Symbol| Candidate::without_type(self.module.name(symbol.name));
        let mut candidates: Vec<Candidate> = match context.expected {
            Expected::Label => return declared.labels.iter().map(declaration).collect(),
            Expected::Function => return functions.into_iter().map(symbol).collect(),
            Expected::Register => SpecialReg::ALL
                .iter()
                .map(|register| Candidate::without_type(register.text()))
                .collect(),
            Expected::Variable | Expected::Name => {
                variables.into_iter().chain(functions).map(symbol).collect()
            }
        };
        candidates.extend(declared.plain.iter().map(declaration));
        let name = self.first.name;
        let (_, digits) = split_numeric_suffix_str(name);
        if !digits.is_empty() {
            let number = number(name);
            let ranges = declared.ranges.iter().filter(|range| number < range.count);
            candidates.extend(ranges.map(|range| {
                let mut member = declaration(range);
                member.name += digits;
                member
            }));
        }
        candidates
    }

    /// An imperative sentence about the missing declaration.
    fn declaration(&self, context: &Context) -> String {
        let name = self.first.name;
        let common = self.common;
        match context.expected {
            Expected::Register => {
                let class = register_class(common).unwrap_or_else(|| context.register_type());
                let declared = self.declared_text();
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

/// The type of the registers to which compilers give `name`, which is a prefix and perhaps a number.
pub(crate) fn register_class_of(name: &[u8]) -> Option<ScalarType> {
    let name = core::str::from_utf8(name).ok()?;
    register_class(name.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The type of the registers to which compilers give names with this prefix.
fn register_class(prefix: &str) -> Option<ScalarType> {
    ScalarType::ALL
        .iter()
        .copied()
        .find(|ty| ty.register_prefix() == Some(prefix))
}
