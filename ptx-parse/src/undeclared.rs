//! Errors about names without a declaration: one for each declaration that is missing, at its first use.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::scan::{class, is};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::name::{split_numeric_suffix_str, suffix_number};
use ptx_ir::{Code, Diagnostic, NameId, Span, StmtId, SymbolKind};
use ptx_isa::{Directive, ForeignWord, Modifier, Opcode, Role, ScalarType, SpecialReg, TypeKind};

use crate::cascade;
use crate::labels::LabelRange;
use crate::missing_declaration;
use crate::missing_label;
use crate::mnemonic::{correct, suggestion};
use crate::output::{Level, Output};
use crate::parser::{Parser, late_declaration};
use crate::suggest;
use crate::unfinished;

/// How many names are compared with undeclared ones to find similar ones, so that the cost stays linear.
pub(crate) const MOST_COMPARISONS: usize = 1 << 18;
/// For how many names declarations are added.
const MOST_DECLARED: usize = 64;
/// How far before a name the opcode of its statement is looked for.
const LOOK_BACK: usize = 256;

/// A use of a name that the body does not declare before it.
pub(crate) struct UndeclaredUse {
    pub(crate) name: NameId,
    pub(crate) at: u32,
    /// Whether it is declared after this use.
    pub(crate) declared_later: bool,
}

/// Something that is declared.
#[derive(Copy, Clone)]
struct Declaration<'s> {
    name: &'s str,
    stmt: Option<StmtId>,
    /// The type of a register.
    ty: Option<ScalarType>,
    /// How many members a range has.
    count: u32,
}

impl<'s> Declaration<'s> {
    fn new(name: &'s str, stmt: Option<StmtId>) -> Self {
        Self {
            name,
            stmt,
            ty: None,
            count: 0,
        }
    }
}

/// What a body declares: labels and ranges in the order of their names.
#[derive(Default)]
struct Declared<'s> {
    labels: Vec<Declaration<'s>>,
    /// Ranges of registers.
    ranges: Vec<Declaration<'s>>,
    /// Other registers, variables and parameters.
    plain: Vec<Declaration<'s>>,
}

impl<'s> Declared<'s> {
    fn of(out: &'s Output) -> Self {
        let (module, body) = (&out.module, &out.body);
        let named = |name: NameId, stmt| Declaration::new(module.name(name), stmt);
        let labels = body.labels().values();
        let mut labels: Vec<_> = labels.map(|l| named(l.name, Some(l.stmt))).collect();
        let variables = body.vars().values().filter(|v| v.number.is_none());
        let mut plain: Vec<_> = variables.map(|v| named(v.name, v.stmt)).collect();
        let mut ranges = Vec::new();
        for register in body.reg_decls().values() {
            let list = match register.count {
                Some(_) => &mut ranges,
                None => &mut plain,
            };
            list.push(Declaration {
                ty: register.ty.known(),
                count: register.count.unwrap_or(0),
                ..named(register.name, register.stmt)
            });
        }
        labels.sort_unstable_by_key(|d| d.name);
        ranges.sort_unstable_by_key(|d| d.name);
        Self {
            labels,
            ranges,
            plain,
        }
    }

    fn len(&self) -> usize {
        self.labels.len() + self.ranges.len() + self.plain.len()
    }

    /// Whether all registers have names that begin with `%`, as those of compilers do: other names are those of variables.
    fn registers_are_marked(&self) -> bool {
        let registers = self.ranges.iter().chain(&self.plain);
        let mut registers = registers.filter(|d| d.ty.is_some()).peekable();
        registers.peek().is_some() && registers.all(|d| d.name.starts_with('%'))
    }

    fn label(&self, name: &str) -> Option<&Declaration<'s>> {
        find(&self.labels, name)
    }

    fn range(&self, prefix: &str) -> Option<&Declaration<'s>> {
        find(&self.ranges, prefix)
    }

    /// The first missing label of each range. The labels of a prefix are counted once.
    fn missing_labels(&self, out: &Output, ranges: &[LabelRange]) -> Vec<Diagnostic> {
        let mut counted: Option<(NameId, u32)> = None;
        let mut ranges: Vec<&LabelRange> = ranges.iter().collect();
        ranges.sort_by_key(|r| (r.prefix, r.at));
        let mut missing = Vec::new();
        for range in ranges {
            let prefix = out.module.name(range.prefix);
            let defined = match counted {
                Some((prefix, defined)) if prefix == range.prefix => defined,
                _ => {
                    let is_label = |n: &u32| self.label(&format!("{prefix}{n}")).is_some();
                    let defined = (0..).take_while(is_label).count() as u32;
                    counted = Some((range.prefix, defined));
                    defined
                }
            };
            if i64::from(defined) < range.count {
                let message = format!("undeclared label `{prefix}{defined}` of this range");
                let span = Span::new(range.at, range.at + prefix.len() as u32);
                missing.push(Diagnostic::error(Code::UndefinedName, span, message));
            }
        }
        missing
    }
}

fn find<'d, 's>(sorted: &'d [Declaration<'s>], name: &str) -> Option<&'d Declaration<'s>> {
    let at = sorted.partition_point(|d| d.name < name);
    sorted.get(at).filter(|d| d.name == name)
}

/// Why names have no declaration.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// It follows their use.
    Late,
    /// They are labels of another scope.
    OtherScope,
    /// Their numbers are too large for a range.
    BeyondRange,
    /// There is none.
    Missing,
}

/// A use of a name without a declaration. Uses with the same cause and the same common part lack the same declaration.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use<'s> {
    cause: Cause,
    /// The name, of a member of a range without its number.
    common: &'s str,
    at: u32,
    name: &'s str,
}

impl Use<'_> {
    fn span(&self) -> Span {
        Span::new(self.at, self.at + self.name.len() as u32)
    }
}

/// Uses that lack the same declaration, in the order of the text.
struct Group<'u, 's> {
    first: Use<'s>,
    uses: &'u [Use<'s>],
}

impl Group<'_, '_> {
    /// How many names there are beside the first one.
    fn others(&self) -> String {
        let mut names: Vec<&str> = self.uses.iter().map(|u| u.name).collect();
        names.sort_unstable();
        names.dedup();
        match names.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        }
    }

    /// How a declaration writes these names.
    fn declared(&self) -> String {
        match self.first.common == self.first.name {
            true => self.first.name.to_string(),
            false => format!("{}<{}>", self.first.common, self.count()),
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
    let before = src.get(..first.at as usize)?;
    let text = before.trim_ascii_end();
    let start = text
        .iter()
        .rposition(|b| !is(*b, class::IDENT) && *b != b'.');
    let mnemonic = text.get(start.map_or(0, |i| i + 1)..)?;
    let opcode = mnemonic.split(|b| *b == b'.').next()?;
    Opcode::from_text(opcode).filter(|_| text.len() < before.len())
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

/// What a name may be that is a mark and a number: an operand of inline assembly, or a constant of another assembler.
fn placeholder(name: &str) -> Option<String> {
    let digits = name.strip_prefix(['%', '$'])?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let constant = match name.starts_with('$') {
        true => format!(", and a constant is written `{digits}`"),
        false => String::new(),
    };
    is_number.then(|| {
        format!("`{name}` is an operand in a template of inline assembly, for which the compiler writes a register{constant}")
    })
}

/// The number at the end of a name.
fn number(name: &str) -> u32 {
    suffix_number(split_numeric_suffix_str(name).1.as_bytes())
}

impl Parser<'_> {
    /// Reports names that the body that ended does not declare before their use, and ranges of labels that it does not define.
    #[cold]
    pub(crate) fn report_undeclared(&mut self, uses: &[UndeclaredUse], ranges: &[LabelRange]) {
        let (src, end) = (self.cursor.src, self.cursor.last);
        self.reporter
            .enter_undeclared(end.saturating_sub(self.out.body.base() as usize));
        if self.reporter.cascade.ends_early(src, end) {
            let rest = cascade::rest_of_function(src, end);
            self.suppressed.suppress(rest, Level::Body);
        }
        let declared = Declared::of(&self.out);
        let mut all = declared.missing_labels(&self.out, ranges);
        let mut found = Vec::new();
        for &UndeclaredUse {
            name,
            at,
            declared_later,
        } in uses
        {
            let name = self.out.module.name(name);
            let spelled = &src[at as usize..][..name.len()];
            let (prefix, digits) = split_numeric_suffix_str(name);
            let in_range = !digits.is_empty() && declared.range(prefix).is_some();
            let suppressed = match in_range {
                true => self.suppressed.contains_exactly(spelled),
                false => self.suppressed.contains(spelled),
            };
            if let Some(number) = self.suppressed.report_of(spelled) {
                let span = Span::new(at, at + name.len() as u32);
                self.reporter.repeat(number, span);
                continue;
            }
            let (cause, common) = if suppressed {
                continue;
            } else if declared_later {
                (Cause::Late, name)
            } else if declared.label(name).is_some() {
                if self.reporter.cascade.has_brace_mismatch() {
                    continue;
                }
                (Cause::OtherScope, name)
            } else if in_range {
                (Cause::BeyondRange, prefix)
            } else if self.suppressed.suppresses(spelled) {
                continue;
            } else if name.starts_with('%') && !digits.is_empty() {
                (Cause::Missing, prefix)
            } else {
                (Cause::Missing, name)
            };
            found.push(Use {
                cause,
                common,
                at,
                name,
            });
        }
        found.sort_unstable();
        let groups = found.chunk_by(|a, b| (a.cause, a.common) == (b.cause, b.common));
        let mut groups: Vec<Group<'_, '_>> = groups
            .filter_map(|uses| {
                let first = *uses.first()?;
                Some(Group { first, uses })
            })
            .collect();
        groups.sort_by_key(|g| g.first.at);
        for group in groups {
            let mut context = Context::at(src, group.first.at as usize, group.first.name);
            if context.expected == Expected::Name && declared.registers_are_marked() {
                context.expected = Expected::Variable;
            }
            let number = self.reporter.count() + all.len();
            if context.expected.is_of_module() {
                self.suppressed.reported(group.first.span().of(src), number);
            }
            let left = &mut self.reporter.comparisons_left;
            all.push(group.diagnostic(src, &self.out, &declared, &context, left));
            for other in group.uses.iter().filter(|u| **u != group.first) {
                self.reporter.repeat(number, other.span());
            }
        }
        all.into_iter().for_each(|d| self.report(d));
    }

    /// Reports an undeclared name outside of functions, unless that was done before.
    #[cold]
    pub(crate) fn report_undeclared_symbol(&mut self, name: NameId, at: usize, expected: Expected) {
        let name = self.out.module.name(name);
        let first = Use {
            cause: Cause::Missing,
            common: name,
            at: at as u32,
            name,
        };
        let uses = &[first];
        let group = Group { first, uses };
        let spelled = first.span().of(self.cursor.src);
        if let Some(number) = self.suppressed.report_of(spelled) {
            return self.reporter.repeat(number, first.span());
        }
        self.suppressed.reported(spelled, self.reporter.count());
        let context = Context {
            expected,
            guards: false,
            types: Vec::new(),
        };
        let (declared, left) = (Declared::default(), &mut self.reporter.comparisons_left);
        let d = group.diagnostic(self.cursor.src, &self.out, &declared, &context, left);
        self.report(d);
    }
}

impl Group<'_, '_> {
    fn diagnostic(
        &self,
        src: &[u8],
        out: &Output,
        declared: &Declared<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let Use { name, common, .. } = self.first;
        let with_label = |d: Diagnostic, stmt: Option<StmtId>, text: &str| match stmt {
            Some(stmt) => d.with_label(out.body.source_span(stmt), text),
            None => d,
        };
        match self.first.cause {
            Cause::Late => late_declaration(name, self.first.span()),
            Cause::OtherScope => {
                let message =
                    format!("expected a label of this scope, found `{name}` of another scope");
                let d = Diagnostic::error(Code::LabelOutOfScope, self.first.span(), message)
                    .with_help("a label is visible in its own scope and the scopes inside it");
                let stmt = declared.label(name).and_then(|label| label.stmt);
                with_label(d, stmt, "defined here")
            }
            Cause::BeyondRange => self.beyond_range(src, out, declared),
            Cause::Missing => {
                if let Some(unfinished) = unfinished::before(src, self.first.span()) {
                    return unfinished;
                }
                let noun = context.expected.noun();
                let message = format!("undeclared {noun} `{name}`{}", self.others());
                let d = Diagnostic::error(Code::UndefinedName, self.first.span(), message);
                if let Some(opcode) = opcode_before(src, self.first) {
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
                match self.similar(out, declared, context, comparisons_left) {
                    Some((similar, stmt, _)) if similar == name => {
                        let help = format!(
                            "the block that declares `{name}` ended: declare it outside of the block"
                        );
                        with_label(d.with_help(help), stmt, "declared in an inner block")
                    }
                    Some((similar, stmt, sole)) => {
                        let help = match context.expected {
                            Expected::Register | Expected::Label => suggestion(&similar),
                            _ => format!("{} Otherwise {declaration}", suggestion(&similar)),
                        };
                        let d = with_label(d.with_help(help), stmt, "declared here");
                        // Another number is another name.
                        let digits = |name: &str| -> Vec<char> {
                            name.chars().filter(char::is_ascii_digit).collect()
                        };
                        match sole && digits(name) == digits(&similar) {
                            true => d.with_fix(self.first.span(), similar),
                            false => self.declare(src, out, context, d, comparisons_left),
                        }
                    }
                    None => {
                        let library = match context.expected {
                            Expected::Function => ptx_isa::library_function(name),
                            _ => None,
                        };
                        let d = d.with_help(match library {
                            Some(meant) => format!("libdevice has it as `{meant}`; {declaration}"),
                            None => declaration,
                        });
                        // The class is clear from names like those of compilers.
                        let known = context.expected == Expected::Register && out.in_body();
                        match register_class(common).filter(|_| known) {
                            Some(class) => {
                                let at = out.body.base() + 1;
                                let text = format!("\n\t.reg {class} {};", self.declared());
                                d.with_fix(Span::new(at, at), text)
                            }
                            None => self.declare(src, out, context, d, comparisons_left),
                        }
                    }
                }
            }
        }
    }

    /// Adds the declaration that is probably missing.
    fn declare(
        &self,
        src: &[u8],
        out: &Output,
        context: &Context,
        d: Diagnostic,
        comparisons_left: &mut usize,
    ) -> Diagnostic {
        let cost = MOST_COMPARISONS / MOST_DECLARED;
        match comparisons_left.checked_sub(cost) {
            Some(left) if out.in_body() => *comparisons_left = left,
            _ => return d,
        }
        let (base, Use { name, at, .. }) = (out.body.base() as usize, self.first);
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
            Expected::Label => match missing_label::place(out) {
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
    fn beyond_range(&self, src: &[u8], out: &Output, declared: &Declared<'_>) -> Diagnostic {
        let Use { name, common, .. } = self.first;
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
        let place = stmt.map(|stmt| out.body.source_span(stmt));
        let found = place.and_then(|p| memchr::memmem::find(p.of(src), old.as_bytes()));
        if let (Some(place), Some(i)) = (place, found) {
            let at = place.start as usize + i;
            let span = Span::at(at, at + old.len());
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
        out: &Output,
        declared: &Declared<'_>,
        context: &Context,
        comparisons_left: &mut usize,
    ) -> Option<(String, Option<StmtId>, bool)> {
        let Use { name, common, .. } = self.first;
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
        let count = declared.len() + out.module.symbols().len();
        *comparisons_left = comparisons_left.checked_sub(count)?;
        // A name and whether its type is not one of the instruction.
        let candidate = |d: &Declaration<'_>| (d.name.to_string(), (!context.fits(d.ty), d.stmt));
        let symbols = out.module.symbols().values().filter(|s| s.number.is_none());
        let symbol = |functions: bool| {
            let wanted = symbols.clone();
            let wanted =
                wanted.filter(move |s| functions == matches!(s.kind, SymbolKind::Function(_)));
            wanted.map(|s| (out.module.name(s.name).to_string(), (true, None)))
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

    /// How to declare it.
    fn declaration(&self, context: &Context) -> String {
        let name = self.first.name;
        let common = self.first.common;
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

/// What an undeclared name should be, judged by its use.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Expected {
    Register,
    Function,
    Label,
    Variable,
    Name,
}

impl Expected {
    /// Whether one declaration at module level is missing, in all functions.
    const fn is_of_module(self) -> bool {
        matches!(self, Self::Function | Self::Variable)
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Function => "function",
            Self::Label => "label",
            Self::Variable => "variable",
            Self::Name => "name",
        }
    }
}

/// The instruction before a name.
struct Context {
    expected: Expected,
    /// Whether the name is a guard.
    guards: bool,
    /// The types among its modifiers.
    types: Vec<ScalarType>,
}

impl Context {
    fn at(src: &[u8], at: usize, name: &str) -> Self {
        let before = &src[at.saturating_sub(LOOK_BACK)..at];
        let start = before.iter().rposition(|b| b";{}:".contains(b));
        let statement = &before[start.map_or(0, |i| i + 1)..];
        let tokens = Lexer::fragment(statement).filter(|t| !t.kind.is_trivia());
        let tokens: Vec<Token> = tokens.collect();
        let text = |t: &Token| t.span.of(statement);
        let mut words = tokens.iter().filter(|t| t.kind == TokenKind::Ident);
        let opcode = words.find_map(|t| Opcode::from_text(text(t)));
        let takes = |role| {
            let forms = opcode.iter().flat_map(|o| o.instructions());
            let mut operands = forms.flat_map(|i| i.forms()).flat_map(|f| f.operands());
            operands.any(|o| o.role() == role)
        };
        let takes_only_labels = takes(Role::Label) && {
            let forms = opcode.iter().flat_map(|o| o.instructions());
            let mut operands = forms.flat_map(|i| i.forms()).flat_map(|f| f.operands());
            operands.all(|o| o.role() == Role::Label)
        };
        let count = |mark: &[u8]| tokens.iter().filter(|t| text(t) == mark).count();
        let list = tokens.first().map(text).and_then(Directive::from_text);
        let expected = match tokens.last().map(text) {
            _ if takes_only_labels => Expected::Label,
            _ if list == Some(Directive::Branchtargets) => Expected::Label,
            _ if list == Some(Directive::Calltargets) => Expected::Function,
            _ if name.starts_with('%') => Expected::Register,
            // A guard.
            Some(b"@") => Expected::Register,
            Some(b"!") if tokens.len() == 2 => Expected::Register,
            Some(b"[") => Expected::Variable,
            _ if count(b"(") > count(b")") => Expected::Name,
            // Only calls have arguments.
            _ if takes(Role::Args) => Expected::Function,
            _ if takes(Role::Label) => Expected::Label,
            // The result comes first.
            _ if count(b",") == 0 && takes(Role::Def) => Expected::Register,
            _ => Expected::Name,
        };
        Self {
            expected,
            guards: tokens.first().map(text) == Some(b"@") && opcode.is_none(),
            types: tokens
                .iter()
                .filter_map(|t| ScalarType::from_text(text(t)))
                .collect(),
        }
    }

    /// Whether a register of a type can be an operand.
    fn fits(&self, ty: Option<ScalarType>) -> bool {
        ty.is_some_and(|ty| self.types.iter().any(|t| t.bits() == ty.bits()))
    }

    /// A type for a register.
    fn class(&self) -> ScalarType {
        if self.guards {
            return ScalarType::Pred;
        }
        let width = self.types.last().map_or(32, |t| t.bits());
        let mut types = ScalarType::ALL.iter().copied();
        let class = types.find(|t| t.kind() == TypeKind::Bits && t.bits() == width);
        class.unwrap_or(ScalarType::B32)
    }
}
