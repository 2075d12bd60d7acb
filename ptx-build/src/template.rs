//! Texts with operands, as inline assembly of several languages has them, and the way back from what they become.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ptx_ir::{Code, Diagnostic, Span};

/// How a text names its operands.
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
    /// Whether the text means nothing else wherever it is found.
    pub(crate) is_unique: bool,
}

impl AsmStyle {
    /// How a text of this style mentions an operand.
    pub(crate) fn spelled(self, index: usize, name: &str) -> String {
        match self {
            Self::Braces => format!("{{{name}}}"),
            Self::Cuda if !name.is_empty() => format!("%[{name}]"),
            Self::Cuda => format!("%{index}"),
            Self::Llvm => format!("${index}"),
        }
    }
}

/// A stretch of the text made, and the stretch of the template that it comes from.
#[derive(Copy, Clone, Debug)]
struct Piece {
    made: usize,
    from: usize,
    len: usize,
    /// Whether both are the same.
    is_copy: bool,
}

/// A template with its operands in place.
#[derive(Default, Debug)]
pub(crate) struct Filled {
    pub(crate) text: String,
    pieces: Vec<Piece>,
}

impl Filled {
    fn copy(&mut self, from: usize, text: &str) {
        self.piece(from, text.len(), text, true);
    }

    fn put(&mut self, from: usize, len: usize, text: &str) {
        self.piece(from, len, text, false);
    }

    fn piece(&mut self, from: usize, len: usize, text: &str, is_copy: bool) {
        let made = self.text.len();
        self.pieces.push(Piece {
            made,
            from,
            len,
            is_copy,
        });
        self.text.push_str(text);
    }

    /// The span in the template of a span in the text made: an operand is one unit.
    pub(crate) fn back(&self, span: Span) -> Span {
        let start = self.place(span.start as usize, false);
        let end = match span.end > span.start {
            true => self.place(span.end as usize - 1, true),
            false => start,
        };
        Span::new(start as u32, end.max(start) as u32)
    }

    /// Where a byte comes from, or the place after it.
    fn place(&self, at: usize, after: bool) -> usize {
        let next = self.pieces.partition_point(|p| p.made <= at);
        let Some(piece) = next.checked_sub(1).and_then(|i| self.pieces.get(i)) else {
            return 0;
        };
        match piece.is_copy {
            true => (piece.from + at - piece.made).min(piece.from + piece.len) + usize::from(after),
            false if after => piece.from + piece.len,
            false => piece.from,
        }
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
    let (mut filled, mut at) = (Filled::default(), 0);
    while let Some(rest) = template.get(at..).filter(|r| !r.is_empty()) {
        let next = rest.find(sign).unwrap_or(rest.len());
        let (before, mention) = rest.split_at(next);
        if !before.is_empty() {
            filled.copy(at, before);
        }
        at += next;
        if mention.is_empty() {
            break;
        }
        let found = match style {
            AsmStyle::Braces => Ok(braces(mention, operands)),
            AsmStyle::Cuda => percent(mention, operands, unique),
            AsmStyle::Llvm => dollar(mention, operands, unique),
        };
        match found {
            Ok((len, Some(text))) => {
                filled.put(at, len, &text);
                at += len;
            }
            Ok((len, None)) => {
                filled.copy(at, mention.get(..len).unwrap_or_default());
                at += len;
            }
            Err((len, code, message, help)) => {
                let span = Span::new(at as u32, (at + len) as u32);
                let mut found = Diagnostic::error(code, span, message);
                found.help = Some(help);
                return Err(found);
            }
        }
    }
    Ok(filled)
}

/// How long a mention is, and what it becomes; nothing for what stays.
type Mention = (usize, Option<String>);

/// How long the mistake is, its code, what it is, and what to write instead.
type Mistake = (usize, Code, String, String);

fn braces(mention: &str, operands: &[Substitute]) -> Mention {
    let name = mention.get(1..).and_then(|i| i.split_once('}'));
    let operand = name.and_then(|(name, _)| {
        let known = operands.iter().find(|o| o.name == name.trim())?;
        Some((name.len() + 2, Some(known.text.clone())))
    });
    operand.unwrap_or((1, None))
}

/// The number that begins a text, and how long it is.
fn number(text: &str) -> Option<(usize, usize)> {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text.get(..len)?.parse().ok()?, len))
}

fn by_number(
    (index, len): (usize, usize),
    mention: &str,
    operands: &[Substitute],
) -> Result<String, Mistake> {
    let known = operands.get(index).map(|o| o.text.clone());
    known.ok_or_else(|| {
        let shown = mention.get(..len).unwrap_or_default();
        let message = format!("`{shown}` is not one of the {} operands", operands.len());
        let help = "operands count from 0: outputs first, then inputs".to_string();
        (len, Code::UndefinedName, message, help)
    })
}

fn percent(mention: &str, operands: &[Substitute], unique: u32) -> Result<Mention, Mistake> {
    let rest = mention.get(1..).unwrap_or_default();
    if rest.starts_with('%') {
        return Ok((2, Some("%".into())));
    }
    if rest.starts_with('=') {
        return Ok((2, Some(unique.to_string())));
    }
    if let Some((index, len)) = number(rest) {
        let text = by_number((index, len + 1), mention, operands)?;
        return Ok((len + 1, Some(text)));
    }
    if let Some((name, _)) = rest.strip_prefix('[').and_then(|r| r.split_once(']')) {
        let len = name.len() + 3;
        let known = operands.iter().find(|o| o.name == name && !name.is_empty());
        return match known {
            Some(operand) => Ok((len, Some(operand.text.clone()))),
            None => {
                let message = format!("no operand is named `{name}`");
                let help = "give the operand this name, or mention it by its number".into();
                Err((len, Code::UndefinedName, message, help))
            }
        };
    }
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let len = rest.find(|c| !word(c)).unwrap_or(rest.len());
    let shown = mention.get(..len + 1).unwrap_or_default();
    let message = format!("unknown operand `{shown}`");
    let help = format!("a `%` of PTX is written twice: `%{shown}`");
    Err((len + 1, Code::UndefinedName, message, help))
}

fn dollar(mention: &str, operands: &[Substitute], unique: u32) -> Result<Mention, Mistake> {
    let rest = mention.get(1..).unwrap_or_default();
    if rest.starts_with('$') {
        return Ok((2, Some("$".into())));
    }
    if let Some((index, len)) = number(rest) {
        let text = by_number((index, len + 1), mention, operands)?;
        return Ok((len + 1, Some(text)));
    }
    let wrong = |len: usize| {
        let shown = mention.get(..len).unwrap_or_default();
        let message = format!("unknown operand `{shown}`");
        let help = "a `$` of PTX is written twice: `$$`; operands are `$0` and `${0}`, with `:c` after the number for a bare constant, `:n` for a negated one".to_string();
        (len, Code::UndefinedName, message, help)
    };
    let Some((inner, _)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) else {
        return Err(wrong(1));
    };
    let len = inner.len() + 3;
    let (which, how) = inner.split_once(':').unwrap_or((inner, ""));
    let text = match (which, how) {
        ("", "uid") => unique.to_string(),
        ("", "comment") => "//".into(),
        ("", "private") => "$L__".into(),
        _ => {
            let (index, digits) = number(which).ok_or_else(|| wrong(len))?;
            let text = by_number((index, len), mention, operands)?;
            match how {
                _ if digits != which.len() => return Err(wrong(len)),
                "" | "r" | "c" => text,
                "n" => match text.strip_prefix('-') {
                    Some(positive) => positive.into(),
                    None => format!("-{text}"),
                },
                _ => return Err(wrong(len)),
            }
        }
    };
    Ok((len, Some(text)))
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
            let span = cuda.back(Span::new(start, start + part.len() as u32));
            span.of(template.as_bytes()).to_vec()
        };
        assert_eq!(back("add"), b"add");
        assert_eq!(back("%reg0"), b"%0");
        assert_eq!(back("reg"), b"%0");
        assert_eq!(back("%x"), b"%%x");
        assert_eq!(back("reg0, %x;"), b"%0, %%x;");
        let end = cuda.text.len() as u32;
        assert_eq!(
            cuda.back(Span::new(end, end)).start as usize,
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
