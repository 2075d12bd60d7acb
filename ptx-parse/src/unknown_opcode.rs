//! Statements that begin with a word that is not an opcode.

use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, Trivia, class, is};
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::{Code, Diagnostic, SigId, Span};
use ptx_isa::{Directive, DirectivePosition, ForeignWord, Modifier, Opcode, ScalarType};

use crate::explain::line_end;
use crate::mnemonic::{correct, suggestion};
use crate::parser::Parser;
use crate::statement_extent::is_opcode;
use crate::suggest::{self, LegalMnemonic, Similar};

/// Longer words are not compared with mnemonics.
const LONGEST_NAME: usize = 40;
/// How far uses of a word are looked for that may be a label, so that the cost of each is limited.
const LABEL_DISTANCE: usize = 1 << 15;
/// How far the operands of an unknown instruction are counted.
const LOOK_AHEAD: usize = 512;

impl Parser<'_> {
    /// Reports the word at `start`, which is not an opcode.
    #[cold]
    pub(crate) fn unknown_opcode(&mut self, sig: SigId, opcode: &str, start: usize) {
        if self.is_cascading(start) {
            return;
        }
        let end = start + opcode.len();
        let before = self.statement_before(start);
        let assigned = assignment(self.cursor.src, end);
        let mut d = if opcode.starts_with('%') && self.at_opcode(end) {
            let message = format!("expected `@` before the guard `{opcode}`, found none");
            let span = Span::at(start, end);
            Diagnostic::error(Code::UnexpectedToken, span, message)
                .with_help(format!("write `@{opcode}`"))
                .with_fix(Span::at(start, start), "@")
                .machine_applicable()
        } else if let Some(semicolon) =
            before.filter(|_| opcode.starts_with('%') || self.is_declared(start, end))
            && assigned.is_none()
        {
            self.forget_statement_before(start);
            split_statement(semicolon, opcode)
        } else {
            let message = format!("expected an instruction, found unknown opcode `{opcode}`");
            let span = Span::at(start, end);
            let d = Diagnostic::error(Code::UnknownOpcode, span, message);
            if let Some((span, text)) = self.in_upper_case(sig, start) {
                self.in_lower_case(sig, d, span, text)
            } else if let Some(operator) = assigned {
                commented(assign(d, operator, self.cursor.src), self.cursor.src, start)
            } else if self.at_label_directive(end) {
                label(d, opcode, Span::at(end, end))
            } else if let Some(keyword) =
                undotted(opcode).filter(|keyword| self.may_be_mnemonic(sig, opcode, keyword))
            {
                correct(
                    d,
                    opcode,
                    Some(Similar {
                        text: &keyword,
                        sole: true,
                    }),
                )
            } else if ForeignWord::from_text(opcode).is_some() {
                let d = self.only_legal(sig, correct(d, opcode, None), start);
                replaced(d, self.cursor.src, start)
            } else if let Some(length) = glued(opcode) {
                apart(d, opcode, length)
            } else if let Some(meant) = ptx_isa::library_function(opcode) {
                let mnemonic = self.out.module.signature(sig).text();
                // The function of floats has a name with an `f`.
                let double = ptx_isa::library_function(&format!("{opcode}f")).is_some()
                    && mnemonic.contains(ScalarType::F32.text());
                let float = if double { "f" } else { "" };
                d.with_help(format!("`call` the function `{meant}{float}` of libdevice"))
            } else {
                self.similar_opcode(sig, d, opcode, end)
            }
        };
        d.severity = self.header.unknown;
        self.report(d);
    }

    /// The mnemonic at `start` in lower case, if PTX knows all of its words then, and where it is.
    fn in_upper_case(&self, sig: SigId, start: usize) -> Option<(Span, String)> {
        let found = self.out.module.signature(sig).text();
        let text = found.to_ascii_lowercase();
        let mut words = text.split('.');
        let known = words.next().is_some_and(|w| is_opcode(w.as_bytes()))
            && words.all(|w| Modifier::from_text(format!(".{w}").as_bytes()).is_some());
        let end = start + found.len();
        let joined = self.cursor.src.get(start..end) == Some(found.as_bytes());
        (known && joined).then(|| (Span::at(start, end), text))
    }

    /// The error of a mnemonic that is known in lower case, with the edit if that is all it needs.
    fn in_lower_case(&self, sig: SigId, d: Diagnostic, span: Span, text: String) -> Diagnostic {
        let word = text.split('.').next().unwrap_or_default();
        let modifiers: Vec<Modifier> = text
            .split('.')
            .skip(1)
            .filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
            .collect();
        let src = self.cursor.src;
        let end = span.start as usize + self.out.module.signature(sig).opcode_text().len();
        let operands = operand_count(src, start_of_operands(src, end));
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
    fn may_be_mnemonic(&self, sig: SigId, opcode: &str, keyword: &str) -> bool {
        let text = self.out.module.signature(sig).text();
        let rest = text.get(opcode.len()..).unwrap_or_default();
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
    fn only_legal(&self, sig: SigId, mut d: Diagnostic, start: usize) -> Diagnostic {
        let [edit] = &*d.fix else { return d };
        let Some(opcode) = Opcode::from_text(edit.text.as_bytes()) else {
            if !edit.text.starts_with('.') {
                d.fix = [].into();
            }
            return d;
        };
        match self.legal_mnemonic(sig, opcode, start) {
            LegalMnemonic::Written(legal) => self.with_mnemonic(sig, d, start, legal),
            LegalMnemonic::Incomplete | LegalMnemonic::Unknown => shown(d, opcode),
        }
    }

    /// The mnemonic at `start` with another opcode.
    fn legal_mnemonic(&self, sig: SigId, opcode: Opcode, start: usize) -> LegalMnemonic {
        let signature = self.out.module.signature(sig);
        let words = signature.text().split('.').skip(1);
        let modifiers: Option<Vec<Modifier>> = words
            .map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
            .collect();
        let src = self.cursor.src;
        let end = start + signature.opcode_text().len();
        let operands = operand_count(src, start_of_operands(src, end));
        match modifiers {
            Some(modifiers) => LegalMnemonic::of(opcode, &modifiers, operands),
            None => LegalMnemonic::Unknown,
        }
    }

    /// Suggests `legal` for the mnemonic at `start`, of which `d` replaces the opcode only.
    fn with_mnemonic(
        &self,
        sig: SigId,
        mut d: Diagnostic,
        start: usize,
        legal: String,
    ) -> Diagnostic {
        let signature = self.out.module.signature(sig);
        let modifiers = |text: &str| text.find('.').map_or(String::new(), |i| text[i..].into());
        let text = signature.text();
        if modifiers(&legal) == modifiers(text) {
            return d;
        }
        d.fix = [].into();
        let d = d.with_help(suggestion(&legal));
        let end = start + text.len();
        if self.cursor.src.get(start..end) == Some(text.as_bytes()) {
            d.with_fix(Span::at(start, end), legal)
        } else {
            d
        }
    }

    /// Whether the token after `end` is an opcode on the same line.
    fn at_opcode(&self, end: usize) -> bool {
        let src = self.cursor.src;
        let mut seen = Trivia::default();
        let next = scan::skip_trivia(src, end, &mut seen);
        !seen.newline
            && scan::starts_ident(src, next)
            && is_opcode(&src[next..scan::ident_end(src, next)])
    }

    /// The `;` of the statement before `start`, if that is on the same line.
    pub(crate) fn statement_before(&self, start: usize) -> Option<usize> {
        let end = self.out.end_of_previous();
        let gap = self.cursor.src.get(end..start)?;
        let ended = self.cursor.src.get(end.checked_sub(1)?) == Some(&b';');
        (ended && !gap.contains(&b'\n') && self.out.in_body()).then_some(end - 1)
    }

    /// Whether a directive follows that a label names.
    fn at_label_directive(&self, end: usize) -> bool {
        let src = self.cursor.src;
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        let word = src.get(next..scan::dot_word_end(src, next));
        let directive = word.and_then(Directive::from_text);
        next > end && directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Label))
    }

    /// A misspelled opcode, or a label without its colon.
    fn similar_opcode(
        &mut self,
        sig: SigId,
        d: Diagnostic,
        opcode: &str,
        end: usize,
    ) -> Diagnostic {
        let src = self.cursor.src;
        let mnemonic = self.out.module.signature(sig).text();
        let operands = operand_count(src, start_of_operands(src, end));
        let nearest = self.mnemonics.suggestions.entry((sig, 0));
        let nearest = nearest.or_insert_with(|| suggest::opcode_of(mnemonic, Some(operands)));
        let nearest = *nearest;
        let alone = is_alone(src, end);
        match nearest {
            Some(nearest) if !(alone && opcode.starts_with('$')) => {
                let start = end - opcode.len();
                let d = correct(d, opcode, Some(nearest));
                let meant = Opcode::from_text(nearest.text.as_bytes());
                match meant.filter(|_| !d.fix.is_empty()) {
                    Some(meant) => match self.legal_mnemonic(sig, meant, start) {
                        LegalMnemonic::Written(legal) => self.with_mnemonic(sig, d, start, legal),
                        LegalMnemonic::Incomplete => shown(d, meant),
                        LegalMnemonic::Unknown => d,
                    },
                    None => d,
                }
            }
            _ if alone && self.is_guarded(end - opcode.len()) => {
                d.with_help("an instruction follows a guard, such as a branch to a label")
            }
            _ if alone && (opcode.starts_with('$') || self.is_used(opcode, end)) => {
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
}

impl Parser<'_> {
    /// Whether a guard precedes the word at `start` on its line.
    fn is_guarded(&self, start: usize) -> bool {
        let src = &self.cursor.src[..start];
        let line = memchr::memrchr2(b'\n', b';', src).map_or(0, |i| i + 1);
        src[line..].trim_ascii_start().starts_with(b"@")
    }

    /// Whether a word, which ends at `end`, is near in the source again.
    fn is_used(&self, word: &str, end: usize) -> bool {
        let src = self.cursor.src;
        let (first, last) = (end.saturating_sub(LABEL_DISTANCE), end + LABEL_DISTANCE);
        let text = &src[first..src.len().min(last)];
        let is_part = |i: Option<usize>| {
            i.and_then(|i| text.get(i))
                .is_some_and(|b| is(*b, class::IDENT))
        };
        let mut places = memchr::memmem::find_iter(text, word.as_bytes());
        places.any(|i| {
            let whole = !is_part(i.checked_sub(1)) && !is_part(Some(i + word.len()));
            whole && first + i + word.len() != end
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
    let known = Modifier::from_text(modifier.as_bytes()).is_some();
    known.then(|| format!("{opcode}{modifier}"))
}

/// A label without its colon.
fn label(mut d: Diagnostic, name: &str, colon: Span) -> Diagnostic {
    d.message = format!("expected `:` after the label `{name}`, found none");
    d.code = Code::UnexpectedToken;
    d.with_help("a label ends with `:`").with_fix(colon, ":")
}

/// The length of the keyword at the beginning of a word that continues with a name: `bra$L`, `.b32$a`.
pub(crate) fn glued(word: &str) -> Option<usize> {
    let length = word.find('$')?;
    let keyword = &word.as_bytes()[..length];
    let known = is_opcode(keyword)
        || Directive::from_text(keyword).is_some()
        || ScalarType::from_text(keyword).is_some();
    known.then_some(length)
}

/// `word`, which begins with a keyword of that length.
#[cold]
pub(crate) fn apart(mut d: Diagnostic, word: &str, length: usize) -> Diagnostic {
    let (keyword, name) = word.split_at(length);
    let at = d.span.start + length as u32;
    d.message = format!("expected white space between `{keyword}` and `{name}`, found none");
    d.with_help(format!("write `{keyword} {name}`"))
        .with_fix(Span::new(at, at), " ")
        .machine_applicable()
}

/// The rest of a statement that ends too early.
pub(crate) fn split_statement(semicolon: usize, operand: &str) -> Diagnostic {
    let span = Span::at(semicolon, semicolon + 1);
    let message = format!("expected `,` before the operand `{operand}`, found `;`");
    Diagnostic::error(Code::UnexpectedToken, span, message)
        .with_help("separate operands with `,`")
        .with_fix(span, ",")
}

/// The operator of an assignment to the word that ends at `end`, which may have an index.
fn assignment(src: &[u8], end: usize) -> Option<&'static ForeignWord> {
    let rest = &src[end..line_end(src, end)];
    let rest = rest.trim_ascii_start();
    if rest.starts_with(b"[") {
        let equals = rest.iter().position(|b| *b == b'=')?;
        return ForeignWord::from_text(if equals > 0 { "[" } else { "=" });
    }
    let is_mark = |b: &&u8| b"=+-*/%&|^<>".contains(b);
    let len = rest.iter().take_while(is_mark).count();
    let text = core::str::from_utf8(&rest[..len]).ok()?;
    let doubled = matches!(text, "++" | "--");
    ForeignWord::from_text(text).filter(|_| doubled || text.ends_with('='))
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

/// Where the operands begin after the opcode that ends at `end`.
fn start_of_operands(src: &[u8], mut end: usize) -> usize {
    while scan::peek(src, end) == b'.' && is(scan::peek(src, end + 1), class::WORD) {
        end = scan::dot_word_end(src, end);
    }
    end
}

/// How many operands are between `start` and the next `;`; `usize::MAX` if words follow each other as in a sentence.
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
