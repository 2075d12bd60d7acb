//! Texts with operands, as inline assembly of several languages has them, and the way back from what they become.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::{Code, Diagnostic, Span};

/// The notation of operands in a text.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AsmStyle {
    /// `{name}`; other braces are vectors and scopes of PTX.
    Braces,
    /// `asm` of CUDA C++: `%0`, `%[name]`, `%%` for a `%`, `%=` for a number that is unique to each use of the text.
    Cuda,
    /// `asm` of LLVM IR: `$0`, `${0}`, `${0:c}`, `$$` for a `$`, `${:uid}` for a number that is unique to each use of the text.
    Llvm,
}

/// The substitute of an operand.
#[derive(Clone, Debug)]
pub(crate) struct Substitute {
    /// Its name; empty for one without.
    pub(crate) name: String,
    pub(crate) text: String,
    /// Whether each occurrence of the text is a use of the operand.
    pub(crate) is_unique: bool,
}

impl AsmStyle {
    /// The mention of an operand in a text of this style.
    pub(crate) fn spelled(self, index: usize, name: &str) -> String {
        match self {
            Self::Braces => format!("{{{name}}}"),
            Self::Cuda if !name.is_empty() => format!("%[{name}]"),
            Self::Cuda => format!("%{index}"),
            Self::Llvm => format!("${index}"),
        }
    }
}

/// A stretch of the filled text, and the stretch of the template that it comes from.
#[derive(Copy, Clone, Debug)]
struct Piece {
    /// The start in the filled text.
    target: usize,
    /// The start in the template.
    source: usize,
    /// The length in the template.
    len: usize,
    /// Whether the filled text has a copy of the template here.
    is_copy: bool,
}

/// A template with its operands in place.
#[derive(Default, Debug)]
pub(crate) struct Filled {
    pub(crate) text: String,
    pieces: Vec<Piece>,
}

impl Filled {
    /// Adds a part of the template that begins at `source`.
    fn copy(&mut self, source: usize, text: &str) {
        self.pieces.push(Piece {
            target: self.text.len(),
            source,
            len: text.len(),
            is_copy: true,
        });
        self.text.push_str(text);
    }

    /// Adds the substitute of `len` bytes of the template that begin at `source`.
    fn substitute(&mut self, source: usize, len: usize, text: &str) {
        self.pieces.push(Piece {
            target: self.text.len(),
            source,
            len,
            is_copy: false,
        });
        self.text.push_str(text);
    }

    /// The span in the template of a span in the filled text: an operand is one unit.
    pub(crate) fn template_span(&self, span: Span) -> Span {
        let start = self.source(span.start as usize).start;
        let last = (span.end as usize)
            .checked_sub(1)
            .filter(|_| span.end > span.start);
        let end = last.map_or(start, |last| self.source(last).end);
        Span::at(start, end.max(start))
    }

    /// The part of the template that a byte of the filled text comes from: one byte, or an operand.
    fn source(&self, target: usize) -> Range<usize> {
        let next = self.pieces.partition_point(|p| p.target <= target);
        let Some(piece) = next.checked_sub(1).and_then(|i| self.pieces.get(i)) else {
            return 0..0;
        };
        if !piece.is_copy {
            return piece.source..piece.source + piece.len;
        }
        let start = piece.source + (target - piece.target).min(piece.len);
        start..start + 1
    }
}

/// Puts the operands into a template; `unique` is the number of this place.
pub(crate) fn fill(
    style: AsmStyle,
    template: &str,
    operands: &[Substitute],
    unique: u32,
) -> Result<Filled, Diagnostic> {
    let sign = match style {
        AsmStyle::Braces => '{',
        AsmStyle::Cuda => '%',
        AsmStyle::Llvm => '$',
    };
    let (mut filled, mut position) = (Filled::default(), 0);
    while let Some(text) = template.get(position..).filter(|t| !t.is_empty()) {
        let next = text.find(sign).unwrap_or(text.len());
        let (plain, mention) = text.split_at(next);
        if !plain.is_empty() {
            filled.copy(position, plain);
        }
        position += next;
        if mention.is_empty() {
            break;
        }
        let result = match style {
            AsmStyle::Braces => Ok(braces(mention, operands)),
            AsmStyle::Cuda => percent(mention, operands, unique),
            AsmStyle::Llvm => dollar(mention, operands, unique),
        };
        let Mention { len, substitute } =
            result.map_err(|mistake| mistake.diagnostic_at(position))?;
        match substitute {
            Some(substitute) => filled.substitute(position, len, &substitute),
            None => filled.copy(position, mention.get(..len).unwrap_or_default()),
        }
        position += len;
    }
    Ok(filled)
}

/// A mention of an operand, or a character that only looks like one.
struct Mention {
    /// The length in the template.
    len: usize,
    /// The text in its place; `None` where the template is kept.
    substitute: Option<String>,
}

impl Mention {
    fn new(len: usize, substitute: impl Into<String>) -> Self {
        let substitute = Some(substitute.into());
        Self { len, substitute }
    }
}

/// An invalid mention.
struct Mistake {
    /// The length in the template.
    len: usize,
    message: String,
    help: String,
}

impl Mistake {
    /// The error at a place of the template.
    fn diagnostic_at(self, start: usize) -> Diagnostic {
        let span = Span::at(start, start + self.len);
        let mut error = Diagnostic::error(Code::UndefinedName, span, self.message);
        error.help = Some(self.help);
        error
    }
}

fn braces(mention: &str, operands: &[Substitute]) -> Mention {
    let name = mention.get(1..).and_then(|text| text.split_once('}'));
    let operand = name.and_then(|(name, _)| {
        let operand = operands.iter().find(|o| o.name == name.trim())?;
        Some(Mention::new(name.len() + 2, operand.text.clone()))
    });
    operand.unwrap_or(Mention {
        len: 1,
        substitute: None,
    })
}

/// An operand by its number in a mention.
struct Numbered {
    index: usize,
    /// The number of digits.
    digits: usize,
}

/// The number that begins a text.
fn number(text: &str) -> Option<Numbered> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let index = text.get(..digits)?.parse().ok()?;
    Some(Numbered { index, digits })
}

/// The text of the operand with a number; `len` bytes of the template mention it.
fn by_number(
    index: usize,
    len: usize,
    mention: &str,
    operands: &[Substitute],
) -> Result<String, Mistake> {
    operands.get(index).map(|o| o.text.clone()).ok_or_else(|| {
        let mention = mention.get(..len).unwrap_or_default();
        Mistake {
            len,
            message: format!("`{mention}` is not one of the {} operands", operands.len()),
            help: "operands count from 0: outputs first, then inputs".to_string(),
        }
    })
}

fn percent(mention: &str, operands: &[Substitute], unique: u32) -> Result<Mention, Mistake> {
    let text = mention.get(1..).unwrap_or_default();
    if text.starts_with('%') {
        return Ok(Mention::new(2, "%"));
    }
    if text.starts_with('=') {
        return Ok(Mention::new(2, unique.to_string()));
    }
    if let Some(Numbered { index, digits }) = number(text) {
        let len = digits + 1;
        return Ok(Mention::new(len, by_number(index, len, mention, operands)?));
    }
    if let Some((name, _)) = text.strip_prefix('[').and_then(|r| r.split_once(']')) {
        let len = name.len() + 3;
        let mut named = operands.iter().filter(|o| !o.name.is_empty());
        return match named.find(|o| o.name == name) {
            Some(operand) => Ok(Mention::new(len, operand.text.clone())),
            None => Err(Mistake {
                len,
                message: format!("no operand is named `{name}`"),
                help: "give the operand this name, or mention it by its number".into(),
            }),
        };
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let len = text.find(|c| !is_word(c)).unwrap_or(text.len()) + 1;
    let mention = mention.get(..len).unwrap_or_default();
    Err(Mistake {
        len,
        message: format!("unknown operand `{mention}`"),
        help: format!("a `%` of PTX is written twice: `%{mention}`"),
    })
}

fn dollar(mention: &str, operands: &[Substitute], unique: u32) -> Result<Mention, Mistake> {
    let text = mention.get(1..).unwrap_or_default();
    if text.starts_with('$') {
        return Ok(Mention::new(2, "$"));
    }
    if let Some(Numbered { index, digits }) = number(text) {
        let len = digits + 1;
        return Ok(Mention::new(len, by_number(index, len, mention, operands)?));
    }
    let Some((inner, _)) = text.strip_prefix('{').and_then(|r| r.split_once('}')) else {
        return Err(unknown_dollar(mention, 1));
    };
    let len = inner.len() + 3;
    let (operand, modifier) = inner.split_once(':').unwrap_or((inner, ""));
    let substitute = match (operand, modifier) {
        ("", "uid") => unique.to_string(),
        ("", "comment") => "//".into(),
        ("", "private") => "$L__".into(),
        _ => {
            let numbered = number(operand).ok_or_else(|| unknown_dollar(mention, len))?;
            let text = by_number(numbered.index, len, mention, operands)?;
            match modifier {
                _ if numbered.digits != operand.len() => return Err(unknown_dollar(mention, len)),
                "" | "r" | "c" => text,
                "n" => match text.strip_prefix('-') {
                    Some(positive) => positive.into(),
                    None => format!("-{text}"),
                },
                _ => return Err(unknown_dollar(mention, len)),
            }
        }
    };
    Ok(Mention::new(len, substitute))
}

/// A mention of `len` bytes that LLVM does not have.
fn unknown_dollar(mention: &str, len: usize) -> Mistake {
    let mention = mention.get(..len).unwrap_or_default();
    Mistake {
        len,
        message: format!("unknown operand `{mention}`"),
        help: "a `$` of PTX is written twice: `$$`; operands are `$0` and `${0}`, with `:c` after the number for a bare constant, `:n` for a negated one".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operands() -> Vec<Substitute> {
        let operand = |(name, text): (&str, &str)| Substitute {
            name: name.into(),
            text: text.into(),
            is_unique: true,
        };
        [("d", "%reg0"), ("", "%reg1"), ("n", "16")]
            .map(operand)
            .into()
    }

    fn filled(style: AsmStyle, template: &str) -> Filled {
        fill(style, template, &operands(), 7).unwrap_or_default()
    }

    #[test]
    fn every_style() {
        let cuda = filled(AsmStyle::Cuda, "L%=: add %0, %1, %[n]; mov %[d], %%tid.x;");
        assert_eq!(cuda.text, "L7: add %reg0, %reg1, 16; mov %reg0, %tid.x;");
        let llvm = filled(
            AsmStyle::Llvm,
            "$$L_${:uid}: add $0, ${1}, ${2:c}, ${2:n}; %tid",
        );
        assert_eq!(llvm.text, "$L_7: add %reg0, %reg1, 16, -16; %tid");
        let braces = filled(AsmStyle::Braces, "{ .reg .b32 t; mov {d}, { n }; {t, u} }");
        assert_eq!(braces.text, "{ .reg .b32 t; mov %reg0, 16; {t, u} }");
    }

    #[test]
    fn the_way_back() {
        let template = "add %0, %%x;";
        let cuda = filled(AsmStyle::Cuda, template);
        let back = |part: &str| {
            let start = cuda.text.find(part).unwrap_or_default() as u32;
            let span = cuda.template_span(Span::new(start, start + part.len() as u32));
            span.of(template.as_bytes()).to_vec()
        };
        assert_eq!(back("add"), b"add");
        assert_eq!(back("%reg0"), b"%0");
        assert_eq!(back("reg"), b"%0");
        assert_eq!(back("%x"), b"%%x");
        assert_eq!(back("reg0, %x;"), b"%0, %%x;");
        let end = cuda.text.len() as u32;
        assert_eq!(
            cuda.template_span(Span::new(end, end)).start as usize,
            template.len()
        );
    }

    #[test]
    fn mistakes() {
        let wrong = |style, template: &str| {
            let found = fill(style, template, &operands(), 0).err();
            found.map(|d| String::from_utf8_lossy(d.span.of(template.as_bytes())).into_owned())
        };
        for (style, template, at) in [
            (AsmStyle::Cuda, "mov %0, %laneid;", "%laneid"),
            (AsmStyle::Cuda, "mov %0, %3;", "%3"),
            (AsmStyle::Cuda, "mov %[e], 1;", "%[e]"),
            (AsmStyle::Cuda, "mov %", "%"),
            (AsmStyle::Cuda, "é %é", "%"),
            (AsmStyle::Cuda, "%99999999999999999999999", "%"),
            (AsmStyle::Llvm, "bra $L;", "$"),
            (AsmStyle::Llvm, "mov ${0:q};", "${0:q}"),
            (AsmStyle::Llvm, "mov ${é};", "${é}"),
            (AsmStyle::Llvm, "mov ${9};", "${9}"),
            (AsmStyle::Llvm, "mov ${0", "$"),
        ] {
            assert!(
                wrong(style, template).is_some_and(|w| w.starts_with(at)),
                "{template}"
            );
        }
    }
}
