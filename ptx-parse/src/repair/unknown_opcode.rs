//! Repairs of statements that begin with a word that is not an opcode.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::scan::{self, Trivia, class, is};
use ptx_ir::{Code, Diagnostic, Module, SigId, Span};
use ptx_isa::internals::{DirectivePosition, ForeignWord};
use ptx_isa::{Directive, Modifier, Opcode, ScalarType};

use crate::repair::keyword::{correct, joined_keyword_len, separate, suggestion};
use crate::statement_extent::{assignment, is_opcode, line_end};
use crate::suggest::{self, LegalMnemonic, Similar};

/// The length of the longest words that are split into an opcode and modifiers, in bytes.
const LONGEST_NAME: usize = 40;
/// The number of bytes before and after a word in which uses of it as a label are searched, so that the cost is limited.
const LABEL_DISTANCE: usize = 1 << 15;
/// The number of bytes in which the operands of an unknown instruction are counted.
const LOOK_AHEAD: usize = 512;

/// A cache of the opcodes that are most similar to the unknown ones of mnemonics.
pub(crate) type Suggestions = BTreeMap<SigId, Option<Similar<'static>>>;

/// A mnemonic with an unknown opcode.
struct Unknown<'m> {
    module: &'m Module,
    sig: SigId,
    opcode: &'m str,
    /// The offset of the opcode.
    start: usize,
}

/// Completes the error of a mnemonic with an unknown opcode.
pub(crate) fn explain(
    module: &Module,
    suggestions: &mut Suggestions,
    error: Diagnostic,
    sig: SigId,
) -> Diagnostic {
    let unknown = Unknown {
        module,
        sig,
        opcode: module.signature(sig).opcode_text(),
        start: error.span.start as usize,
    };
    unknown.explain(error, suggestions)
}

impl Unknown<'_> {
    fn src(&self) -> &[u8] {
        self.module.source()
    }

    fn end(&self) -> usize {
        self.start + self.opcode.len()
    }

    fn explain(&self, error: Diagnostic, suggestions: &mut Suggestions) -> Diagnostic {
        let (opcode, start, end) = (self.opcode, self.start, self.end());
        if let Some((span, text)) = self.in_upper_case() {
            self.in_lower_case(error, span, text)
        } else if let Some(operator) = assignment(self.src(), end) {
            make_comment(assign(error, operator, self.src()), self.src(), start)
        } else if self.at_label_directive() {
            label(error, opcode, Span::at(end, end))
        } else if let Some(keyword) = undotted(opcode).filter(|k| self.may_be_mnemonic(k)) {
            let text = &keyword;
            correct(error, opcode, Some(Similar { text, sole: true }))
        } else if ForeignWord::from_text(opcode).is_some() {
            let error = self.only_legal(correct(error, opcode, None));
            replace_statement(error, self.src(), start)
        } else if let Some(length) = joined_keyword_len(opcode) {
            separate(error, opcode, length)
        } else if let Some(function) = ptx_isa::internals::library_function(opcode) {
            // The variant for `.f32` has a name with an `f` at its end.
            let has_single_variant =
                ptx_isa::internals::library_function(&format!("{opcode}f")).is_some();
            let is_single = has_single_variant && self.mnemonic().contains(ScalarType::F32.text());
            let suffix = if is_single { "f" } else { "" };
            error.with_help(format!(
                "`call` the function `{function}{suffix}` of libdevice"
            ))
        } else {
            self.similar_opcode(error, suggestions)
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

    /// The span of the mnemonic and its text in lower case, if all of its words are known in lower case.
    fn in_upper_case(&self) -> Option<(Span, String)> {
        let (start, mnemonic) = (self.start, self.mnemonic());
        let text = mnemonic.to_ascii_lowercase();
        let mut words = text.split('.');
        let is_known = words.next().is_some_and(|w| is_opcode(w.as_bytes()))
            && words.all(|w| Modifier::from_text(format!(".{w}").as_bytes()).is_some());
        let end = start + mnemonic.len();
        let has_no_gaps = self.src().get(start..end) == Some(mnemonic.as_bytes());
        (is_known && has_no_gaps).then(|| (Span::at(start, end), text))
    }

    /// Completes the error of a mnemonic that is known in lower case. Adds an edit if it is legal then.
    fn in_lower_case(&self, error: Diagnostic, span: Span, text: String) -> Diagnostic {
        let word = text.split('.').next().unwrap_or_default();
        let modifiers: Vec<Modifier> = text
            .split('.')
            .skip(1)
            .filter_map(|w| Modifier::from_text(format!(".{w}").as_bytes()))
            .collect();
        let operands = self.operand_count();
        let opcode = Opcode::from_text(word.as_bytes());
        let legal = opcode.map(|opcode| (opcode, LegalMnemonic::new(opcode, &modifiers, operands)));
        match legal {
            Some((_, LegalMnemonic::Written(legal))) if legal != text => {
                error.with_help(suggestion(&legal)).with_fix(span, legal)
            }
            Some((opcode, LegalMnemonic::Incomplete)) => with_example(error, opcode),
            _ => error
                .with_help(suggestion(&text))
                .with_fix(span, text)
                .machine_applicable(),
        }
    }

    /// Whether an instruction takes the modifiers of the mnemonic with `keyword` instead of its opcode. A directive has no
    /// modifiers.
    fn may_be_mnemonic(&self, keyword: &str) -> bool {
        let modifiers = self.mnemonic().get(self.opcode.len()..).unwrap_or_default();
        let mut words = keyword.split('.').chain(modifiers.split('.').skip(1));
        let opcode = words
            .next()
            .and_then(|word| Opcode::from_text(word.as_bytes()));
        let Some(opcode) = opcode else {
            return true;
        };
        let modifiers: Vec<Modifier> = words
            .filter_map(|word| Modifier::from_text(format!(".{word}").as_bytes()))
            .collect();
        opcode.instructions().iter().any(|instruction| {
            modifiers.iter().all(|modifier| {
                instruction.words().contains(modifier)
                    || instruction.forms().iter().any(|f| f.accepts(*modifier))
            })
        })
    }

    /// Restricts the edit of the error, which writes another opcode, to legal mnemonics, as far as the modifiers and the number
    /// of operands show. Otherwise an example in the help replaces the edit.
    fn only_legal(&self, mut error: Diagnostic) -> Diagnostic {
        let [edit] = &*error.fix else { return error };
        let Some(opcode) = Opcode::from_text(edit.text.as_bytes()) else {
            if !edit.text.starts_with('.') {
                error.fix = [].into();
            }
            return error;
        };
        match self.legal_mnemonic(opcode) {
            LegalMnemonic::Written(mnemonic) => self.with_mnemonic(error, mnemonic),
            LegalMnemonic::Incomplete | LegalMnemonic::Unknown => with_example(error, opcode),
        }
    }

    /// The legal mnemonic with another opcode and the modifiers of this one.
    fn legal_mnemonic(&self, opcode: Opcode) -> LegalMnemonic {
        let modifiers: Option<Vec<Modifier>> = self
            .mnemonic()
            .split('.')
            .skip(1)
            .map(|word| Modifier::from_text(format!(".{word}").as_bytes()))
            .collect();
        let operands = self.operand_count();
        match modifiers {
            Some(modifiers) => LegalMnemonic::new(opcode, &modifiers, operands),
            None => LegalMnemonic::Unknown,
        }
    }

    /// Suggests `legal` for the mnemonic, of which the edit of the error replaces only the opcode.
    fn with_mnemonic(&self, mut error: Diagnostic, legal: String) -> Diagnostic {
        let (start, mnemonic) = (self.start, self.mnemonic());
        if modifiers_text(&legal) == modifiers_text(mnemonic) {
            return error;
        }
        error.fix = [].into();
        let error = error.with_help(suggestion(&legal));
        let end = start + mnemonic.len();
        if self.src().get(start..end) == Some(mnemonic.as_bytes()) {
            error.with_fix(Span::at(start, end), legal)
        } else {
            error
        }
    }

    /// Whether a directive that needs a label follows.
    fn at_label_directive(&self) -> bool {
        let (src, end) = (self.src(), self.end());
        let next = scan::skip_trivia(src, end, &mut Trivia::default());
        let word = src.get(next..scan::dot_word_end(src, next));
        let directive = word.and_then(Directive::from_text);
        next > end && directive.is_some_and(|d| d.is_allowed_in(DirectivePosition::Label))
    }

    /// Completes the error of a misspelled opcode, or of a label without its colon.
    fn similar_opcode(&self, error: Diagnostic, suggestions: &mut Suggestions) -> Diagnostic {
        let (src, opcode, end) = (self.src(), self.opcode, self.end());
        let nearest = *suggestions
            .entry(self.sig)
            .or_insert_with(|| suggest::opcode_of(self.mnemonic(), Some(self.operand_count())));
        let is_last_word = is_last_word(src, end);
        match nearest {
            Some(nearest) if !(is_last_word && opcode.starts_with('$')) => {
                let error = correct(error, opcode, Some(nearest));
                let similar = Opcode::from_text(nearest.text.as_bytes());
                match similar.filter(|_| !error.fix.is_empty()) {
                    Some(similar) => match self.legal_mnemonic(similar) {
                        LegalMnemonic::Written(mnemonic) => self.with_mnemonic(error, mnemonic),
                        LegalMnemonic::Incomplete => with_example(error, similar),
                        LegalMnemonic::Unknown => error,
                    },
                    None => error,
                }
            }
            _ if is_last_word && self.is_guarded() => {
                error.with_help("an instruction follows a guard, such as a branch to a label")
            }
            _ if is_last_word && (opcode.starts_with('$') || self.is_used()) => {
                let semicolon = scan::peek(src, end) == b';';
                let span = Span::at(end, end + usize::from(semicolon));
                let mut error = error.with_help("a label ends with `:`").with_fix(span, ":");
                if opcode.starts_with('$') {
                    let next_token = if semicolon { "`;`" } else { "none" };
                    error.message =
                        format!("expected `:` after the label `{opcode}`, found {next_token}");
                    error.code = Code::UnexpectedToken;
                }
                error
            }
            _ => error,
        }
    }

    /// Whether a guard precedes the opcode on its line.
    fn is_guarded(&self) -> bool {
        let src = &self.src()[..self.start];
        let line = memchr::memrchr2(b'\n', b';', src).map_or(0, |i| i + 1);
        src[line..].trim_ascii_start().starts_with(b"@")
    }

    /// Whether the word is a second time in the source, near to this place.
    fn is_used(&self) -> bool {
        let (src, word, end) = (self.src(), self.opcode, self.end());
        let (text_start, text_end) = (end.saturating_sub(LABEL_DISTANCE), end + LABEL_DISTANCE);
        let text = &src[text_start..src.len().min(text_end)];
        let is_in_name = |i: Option<usize>| {
            i.and_then(|i| text.get(i))
                .is_some_and(|b| is(*b, class::IDENT))
        };
        let mut occurrences = memchr::memmem::find_iter(text, word.as_bytes());
        occurrences.any(|i| {
            let is_word = !is_in_name(i.checked_sub(1)) && !is_in_name(Some(i + word.len()));
            is_word && text_start + i + word.len() != end
        })
    }
}

/// The modifiers of a mnemonic, with the dots before them.
fn modifiers_text(mnemonic: &str) -> &str {
    mnemonic.find('.').map_or("", |i| &mnemonic[i..])
}

/// Replaces the edit of an error by an example of the opcode that may be meant.
fn with_example(mut error: Diagnostic, opcode: Opcode) -> Diagnostic {
    error.fix = [].into();
    let example = opcode
        .instructions()
        .iter()
        .find_map(|instruction| instruction.examples().first());
    match example {
        Some(example) => error.with_help(format!("use `{opcode}`, as in `{example}`")),
        None => error,
    }
}

/// The mnemonic or directive that a word such as `add_s32` or `shared` means, whose dots are missing.
fn undotted(word: &str) -> Option<String> {
    let dotted = format!(".{word}");
    if Directive::from_text(dotted.as_bytes()).is_some() {
        return Some(dotted);
    }
    let opcode_len = (2..word.len().min(LONGEST_NAME))
        .rev()
        .filter(|len| word.is_char_boundary(*len))
        .find(|len| is_opcode(&word.as_bytes()[..*len]))?;
    let (opcode, suffix) = word.split_at(opcode_len);
    let modifier = format!(".{}", suffix.trim_start_matches('_'));
    let is_known = Modifier::from_text(modifier.as_bytes()).is_some();
    is_known.then(|| format!("{opcode}{modifier}"))
}

/// Completes the error of a label without its colon, which belongs at `colon`.
fn label(mut error: Diagnostic, name: &str, colon: Span) -> Diagnostic {
    error.message = format!("expected `:` after the label `{name}`, found none");
    error.code = Code::UnexpectedToken;
    error
        .with_help("a label ends with `:`")
        .with_fix(colon, ":")
}

/// Completes the error of an assignment with `operator` to a word, as in `%r1 = add.s32 …`.
fn assign(mut error: Diagnostic, operator: &ForeignWord, src: &[u8]) -> Diagnostic {
    error.message = String::from("expected an instruction, found an assignment");
    let name = error.span.of(src);
    let name_end = error.span.end as usize;
    let value = src[name_end..line_end(src, name_end)]
        .trim_ascii_start()
        .strip_prefix(b"=")
        .unwrap_or_default()
        .trim_ascii_start();
    let end = value
        .iter()
        .position(|b| !is(*b, class::IDENT) && *b != b'.');
    let mnemonic = &value[..end.unwrap_or(value.len())];
    if is_opcode(mnemonic.split(|b| *b == b'.').next().unwrap_or_default()) {
        let [mnemonic, name] = [mnemonic, name].map(String::from_utf8_lossy);
        return error.with_help(format!(
            "the result is the first operand: write `{mnemonic} {name}, …`"
        ));
    }
    match (operator.instead(), operator.help()) {
        (Some(opcode), _) => error.with_help(format!(
            "an instruction names its result first: use `{opcode}`, as in `{opcode}.b32 d, …;`"
        )),
        (None, help) => error.with_help(help.unwrap_or_default()),
    }
}

/// Adds the edit that replaces the statement of another language at `start` by the statement in the help, or makes it a comment.
fn replace_statement(error: Diagnostic, src: &[u8], start: usize) -> Diagnostic {
    let line = &src[start..line_end(src, start)];
    let translation = error
        .help
        .as_deref()
        .and_then(|help| help.strip_prefix("write `")?.strip_suffix('`'))
        .filter(|text| text.ends_with(';'))
        .map(String::from);
    match (translation, memchr::memchr(b';', line)) {
        (Some(text), Some(end)) => error.with_fix(Span::at(start, start + end + 1), text),
        _ => make_comment(error, src, start),
    }
}

/// Adds the edit that makes the line at `start`, which is in another language, a comment.
pub(crate) fn make_comment(error: Diagnostic, src: &[u8], start: usize) -> Diagnostic {
    if !error.fix.is_empty() || !scan::at_line_start(src, start) {
        return error;
    }
    let help = error.help.clone().unwrap_or_default();
    error
        .with_help(format!("{help}; until then it can be a comment"))
        .with_fix(Span::at(start, start), "// ")
}

/// The beginning of the operands after the opcode that ends at `end`.
fn start_of_operands(src: &[u8], mut end: usize) -> usize {
    while scan::peek(src, end) == b'.' && is(scan::peek(src, end + 1), class::WORD) {
        end = scan::dot_word_end(src, end);
    }
    end
}

/// The number of operands between `start` and the next `;`. `usize::MAX` if words follow each other as in a sentence.
fn operand_count(src: &[u8], start: usize) -> usize {
    let text = &src[start..src.len().min(start + LOOK_AHEAD)];
    let (mut depth, mut commas, mut has_operand) = (0usize, 0, false);
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
        has_operand |= token.kind != TokenKind::DotWord;
    }
    commas + usize::from(has_operand)
}

/// Whether the word that ends at `end` is the last one of its statement or line.
fn is_last_word(src: &[u8], end: usize) -> bool {
    let mut trivia = Trivia::default();
    let next = scan::skip_trivia(src, end, &mut trivia);
    scan::peek(src, next) == b';' || trivia.newline || next >= src.len()
}
