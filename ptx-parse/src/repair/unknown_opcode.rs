//! Statements that begin with a word that is not an opcode.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, Trivia, class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Diagnostic, Module, SigId, Span};
use ptx_isa::{Directive, DirectivePosition, ForeignWord, Modifier, Opcode, ScalarType};

use crate::repair::keyword::{apart, correct, glued, suggestion};
use crate::statement_extent::{assignment, is_opcode, line_end};
use crate::suggest::{self, LegalMnemonic, Similar};

/// Longer words are not compared with mnemonics.
const LONGEST_NAME: usize = 40;
/// The most bytes around a word in which uses of it are looked for, as it may be a label: the cost of each is limited.
const LABEL_DISTANCE: usize = 1 << 15;
/// The most bytes in which the operands of an unknown instruction are counted.
const LOOK_AHEAD: usize = 512;

/// The known opcodes that may be meant by the unknown ones of mnemonics.
pub(crate) type Suggestions = BTreeMap<SigId, Option<Similar<'static>>>;

/// A mnemonic with an unknown opcode.
struct Unknown<'m> {
    module: &'m Module,
    sig: SigId,
    opcode: &'m str,
    /// The offset of the opcode.
    start: usize,
}

/// The error of the opcode of a mnemonic, which is not known, with the word that is meant.
pub(crate) fn explain(
    module: &Module,
    suggestions: &mut Suggestions,
    d: Diagnostic,
    sig: SigId,
) -> Diagnostic {
    let unknown = Unknown {
        module,
        sig,
        opcode: module.signature(sig).opcode_text(),
        start: d.span.start as usize,
    };
    unknown.explain(d, suggestions)
}

impl Unknown<'_> {
    fn src(&self) -> &[u8] {
        self.module.source()
    }

    fn end(&self) -> usize {
        self.start + self.opcode.len()
    }

    fn explain(&self, d: Diagnostic, suggestions: &mut Suggestions) -> Diagnostic {
        let (opcode, start, end) = (self.opcode, self.start, self.end());
        if let Some((span, text)) = self.in_upper_case() {
            self.in_lower_case(d, span, text)
        } else if let Some(operator) = assignment(self.src(), end) {
            commented(assign(d, operator, self.src()), self.src(), start)
        } else if self.at_label_directive() {
            label(d, opcode, Span::at(end, end))
        } else if let Some(keyword) = undotted(opcode).filter(|k| self.may_be_mnemonic(k)) {
            let text = &keyword;
            correct(d, opcode, Some(Similar { text, sole: true }))
        } else if ForeignWord::from_text(opcode).is_some() {
            let d = self.only_legal(correct(d, opcode, None));
            replaced(d, self.src(), start)
        } else if let Some(length) = glued(opcode) {
            apart(d, opcode, length)
        } else if let Some(meant) = ptx_isa::library_function(opcode) {
            // The function of floats has a name with an `f`.
            let double = ptx_isa::library_function(&format!("{opcode}f")).is_some()
                && self.mnemonic().contains(ScalarType::F32.text());
            let float = if double { "f" } else { "" };
            d.with_help(format!("`call` the function `{meant}{float}` of libdevice"))
        } else {
            self.similar_opcode(d, suggestions)
        }
    }

    fn mnemonic(&self) -> &str {
        self.module.signature(self.sig).text()
    }

    /// The number of operands of the statement.
    fn operand_count(&self) -> usize {
        let src = self.src();
        operand_count(src, start_of_operands(src, self.end()))
    }

    /// The mnemonic at `start` in lower case, if PTX knows all of its words then, and where it is.
    fn in_upper_case(&self) -> Option<(Span, String)> {
        let (start, found) = (self.start, self.mnemonic());
        let text = found.to_ascii_lowercase();
        let mut words = text.split('.');
        let is_known = words.next().is_some_and(|w| is_opcode(w.as_bytes()))
            && words.all(|w| Modifier::from_text(format!(".{w}").as_bytes()).is_some());
        let end = start + found.len();
        let joined = self.src().get(start..end) == Some(found.as_bytes());
        (is_known && joined).then(|| (Span::at(start, end), text))
    }

    /// The error of a mnemonic that is known in lower case, with the edit if that is all it needs.
    fn in_lower_case(&self, d: Diagnostic, span: Span, text: String) -> Diagnostic {
        let word = text.split('.').next().unwrap_or_default();
        let modifiers: Vec<Modifier> = text
            .split('.')
            .skip(1)
            .filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
            .collect();
        let operands = self.operand_count();
        let opcode = Opcode::from_text(word.as_bytes());
        let legal = opcode.map(|opcode| (opcode, LegalMnemonic::of(opcode, &modifiers, operands)));
        match legal {
            Some((_, LegalMnemonic::Written(legal))) if legal != text => {
                d.with_help(suggestion(&legal)).with_fix(span, legal)
            }
            Some((opcode, LegalMnemonic::Incomplete)) => shown(d, opcode),
            _ => d
                .with_help(suggestion(&text))
                .with_fix(span, text)
                .machine_applicable(),
        }
    }

    /// Whether a form takes the modifiers of a mnemonic whose opcode is replaced; directives have none.
    fn may_be_mnemonic(&self, keyword: &str) -> bool {
        let rest = self.mnemonic().get(self.opcode.len()..).unwrap_or_default();
        let mut words = keyword.split('.').chain(rest.split('.').skip(1));
        let known = words
            .next()
            .and_then(|word| Opcode::from_text(word.as_bytes()));
        let Some(known) = known else {
            return true;
        };
        let modifiers = words.map(|w| Modifier::from_text(format!(".{w}").as_bytes()));
        let modifiers: Vec<Modifier> = modifiers.flatten().collect();
        let mut forms = known.instructions().iter();
        forms.any(|i| {
            let takes =
                |m: &Modifier| i.words().contains(m) || i.forms().iter().any(|f| f.accepts(*m));
            modifiers.iter().all(takes)
        })
    }

    /// The error of an unknown opcode at `start`, whose edit writes another one. The edit writes a legal mnemonic, as far as the
    /// modifiers and the number of operands show; else there is none, and the help shows how the other opcode is used.
    fn only_legal(&self, mut d: Diagnostic) -> Diagnostic {
        let [edit] = &*d.fix else { return d };
        let Some(opcode) = Opcode::from_text(edit.text.as_bytes()) else {
            if !edit.text.starts_with('.') {
                d.fix = [].into();
            }
            return d;
        };
        match self.legal_mnemonic(opcode) {
            LegalMnemonic::Written(legal) => self.with_mnemonic(d, legal),
            LegalMnemonic::Incomplete | LegalMnemonic::Unknown => shown(d, opcode),
        }
    }

    /// The mnemonic at `start` with another opcode.
    fn legal_mnemonic(&self, opcode: Opcode) -> LegalMnemonic {
        let words = self.mnemonic().split('.').skip(1);
        let modifiers: Option<Vec<Modifier>> = words
            .map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
            .collect();
        let operands = self.operand_count();
        match modifiers {
            Some(modifiers) => LegalMnemonic::of(opcode, &modifiers, operands),
            None => LegalMnemonic::Unknown,
        }
    }

    /// Suggests `legal` for the mnemonic at `start`, of which `d` replaces the opcode only.
    fn with_mnemonic(&self, mut d: Diagnostic, legal: String) -> Diagnostic {
        let modifiers = |text: &str| text.find('.').map_or(String::new(), |i| text[i..].into());
        let (start, text) = (self.start, self.mnemonic());
        if modifiers(&legal) == modifiers(text) {
            return d;
        }
        d.fix = [].into();
        let d = d.with_help(suggestion(&legal));
        let end = start + text.len();
        if self.src().get(start..end) == Some(text.as_bytes()) {
            d.with_fix(Span::at(start, end), legal)
        } else {
            d
        }
    }

    /// Whether a directive follows that a label names.
    fn at_label_directive(&self) -> bool {
        let (src, end) = (self.src(), self.end());
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        let word = src.get(next..scan::dot_word_end(src, next));
        let directive = word.and_then(Directive::from_text);
        next > end && directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Label))
    }

    /// A misspelled opcode, or a label without its colon.
    fn similar_opcode(&self, d: Diagnostic, suggestions: &mut Suggestions) -> Diagnostic {
        let (src, opcode, end) = (self.src(), self.opcode, self.end());
        let nearest = *suggestions
            .entry(self.sig)
            .or_insert_with(|| suggest::opcode_of(self.mnemonic(), Some(self.operand_count())));
        let alone = is_alone(src, end);
        match nearest {
            Some(nearest) if !(alone && opcode.starts_with('$')) => {
                let d = correct(d, opcode, Some(nearest));
                let meant = Opcode::from_text(nearest.text.as_bytes());
                match meant.filter(|_| !d.fix.is_empty()) {
                    Some(meant) => match self.legal_mnemonic(meant) {
                        LegalMnemonic::Written(legal) => self.with_mnemonic(d, legal),
                        LegalMnemonic::Incomplete => shown(d, meant),
                        LegalMnemonic::Unknown => d,
                    },
                    None => d,
                }
            }
            _ if alone && self.is_guarded() => {
                d.with_help("an instruction follows a guard, such as a branch to a label")
            }
            _ if alone && (opcode.starts_with('$') || self.is_used()) => {
                let semicolon = scan::peek(src, end) == b';';
                let span = Span::at(end, end + usize::from(semicolon));
                let mut d = d.with_help("a label ends with `:`").with_fix(span, ":");
                if opcode.starts_with('$') {
                    let found = if semicolon { "`;`" } else { "none" };
                    d.message = format!("expected `:` after the label `{opcode}`, found {found}");
                    d.code = Code::UnexpectedToken;
                }
                d
            }
            _ => d,
        }
    }

    /// Whether a guard precedes the opcode on its line.
    fn is_guarded(&self) -> bool {
        let src = &self.src()[..self.start];
        let line = memchr::memrchr2(b'\n', b';', src).map_or(0, |i| i + 1);
        src[line..].trim_ascii_start().starts_with(b"@")
    }

    /// Whether the word is near in the source again.
    fn is_used(&self) -> bool {
        let (src, word, end) = (self.src(), self.opcode, self.end());
        let (first, last) = (end.saturating_sub(LABEL_DISTANCE), end + LABEL_DISTANCE);
        let text = &src[first..src.len().min(last)];
        let is_part = |i: Option<usize>| {
            i.and_then(|i| text.get(i))
                .is_some_and(|b| is(*b, class::IDENT))
        };
        let mut places = memchr::memmem::find_iter(text, word.as_bytes());
        places.any(|i| {
            let is_word = !is_part(i.checked_sub(1)) && !is_part(Some(i + word.len()));
            is_word && first + i + word.len() != end
        })
    }
}

/// The error of a word instead of which another opcode may be meant, without an edit: with an example of it.
fn shown(mut d: Diagnostic, opcode: Opcode) -> Diagnostic {
    d.fix = [].into();
    let mut instructions = opcode.instructions().iter();
    match instructions.find_map(|i| i.examples().first()) {
        Some(example) => d.with_help(format!("use `{opcode}`, as in `{example}`")),
        None => d,
    }
}

/// The mnemonic or directive that a word is without its dots: `add_s32`, `shared`.
fn undotted(word: &str) -> Option<String> {
    let dotted = format!(".{word}");
    if Directive::from_text(dotted.as_bytes()).is_some() {
        return Some(dotted);
    }
    // Names of instructions are short.
    let lengths = (2..word.len().min(LONGEST_NAME)).rev();
    let mut splits = lengths.filter(|length| word.is_char_boundary(*length));
    let length = splits.find(|length| is_opcode(&word.as_bytes()[..*length]))?;
    let (opcode, modifier) = word.split_at(length);
    let modifier = format!(".{}", modifier.trim_start_matches('_'));
    let is_known = Modifier::from_text(modifier.as_bytes()).is_some();
    is_known.then(|| format!("{opcode}{modifier}"))
}

/// A label without its colon.
fn label(mut d: Diagnostic, name: &str, colon: Span) -> Diagnostic {
    d.message = format!("expected `:` after the label `{name}`, found none");
    d.code = Code::UnexpectedToken;
    d.with_help("a label ends with `:`").with_fix(colon, ":")
}

fn assign(mut d: Diagnostic, operator: &ForeignWord, src: &[u8]) -> Diagnostic {
    d.message = String::from("expected an instruction, found an assignment");
    // `%r1 = add.s32 …`
    let name = d.span.of(src);
    let rest = &src[d.span.end as usize..line_end(src, d.span.end as usize)];
    let value = rest.trim_ascii_start().strip_prefix(b"=");
    let value = value.unwrap_or_default().trim_ascii_start();
    let end = value
        .iter()
        .position(|b| !is(*b, class::IDENT) && *b != b'.');
    let mnemonic = &value[..end.unwrap_or(value.len())];
    if is_opcode(mnemonic.split(|b| *b == b'.').next().unwrap_or_default()) {
        let [mnemonic, name] = [mnemonic, name].map(String::from_utf8_lossy);
        return d.with_help(format!(
            "the result is the first operand: write `{mnemonic} {name}, …`"
        ));
    }
    match (operator.instead(), operator.help()) {
        (Some(opcode), _) => d.with_help(format!(
            "an instruction names its result first: use `{opcode}`, as in `{opcode}.b32 d, …;`"
        )),
        (None, help) => d.with_help(help.unwrap_or_default()),
    }
}

/// A statement of another language at `start`: the help says what to write, or it becomes a comment.
fn replaced(d: Diagnostic, src: &[u8], start: usize) -> Diagnostic {
    let line = &src[start..line_end(src, start)];
    let instead = d
        .help
        .as_deref()
        .and_then(|help| help.strip_prefix("write `"));
    let instead = instead.and_then(|help| help.strip_suffix('`'));
    let instead = instead.filter(|text| text.ends_with(';')).map(String::from);
    match (instead, memchr::memchr(b';', line)) {
        (Some(text), Some(end)) => d.with_fix(Span::at(start, start + end + 1), text),
        _ => commented(d, src, start),
    }
}

/// A line of another language, which becomes a comment until someone translates it.
pub(crate) fn commented(d: Diagnostic, src: &[u8], start: usize) -> Diagnostic {
    if !d.fix.is_empty() || !scan::at_line_start(src, start) {
        return d;
    }
    let help = d.help.clone().unwrap_or_default();
    d.with_help(format!("{help}; until then it can be a comment"))
        .with_fix(Span::at(start, start), "// ")
}

/// The beginning of the operands after the opcode that ends at `end`.
fn start_of_operands(src: &[u8], mut end: usize) -> usize {
    while scan::peek(src, end) == b'.' && is(scan::peek(src, end + 1), class::WORD) {
        end = scan::dot_word_end(src, end);
    }
    end
}

/// The number of operands between `start` and the next `;`; `usize::MAX` if words follow each other as in a sentence.
fn operand_count(src: &[u8], start: usize) -> usize {
    let text = &src[start..src.len().min(start + LOOK_AHEAD)];
    let (mut depth, mut commas, mut any) = (0usize, 0, false);
    let mut after_word = false;
    for token in Lexer::fragment(text).filter(|t| !t.kind.is_trivia()) {
        match token.span.of(text) {
            b";" => break,
            b"(" | b"[" | b"{" => depth += 1,
            b")" | b"]" | b"}" => depth = depth.saturating_sub(1),
            b"," if depth == 0 => commas += 1,
            _ if after_word && token.kind == TokenKind::Ident => return usize::MAX,
            _ => {}
        }
        after_word = token.kind == TokenKind::Ident;
        any |= token.kind != TokenKind::DotWord;
    }
    commas + usize::from(any)
}

/// Whether the word that ends at `end` is the only one of its statement.
fn is_alone(src: &[u8], end: usize) -> bool {
    let mut seen = Trivia::default();
    let next = scan::skip_trivia(src, end, &mut seen);
    scan::peek(src, next) == b';' || seen.newline || next >= src.len()
}
