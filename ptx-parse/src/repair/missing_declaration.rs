//! The declaration or the label that an undeclared name most likely lacks, judged by its uses.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::scan::{self, class, is};
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::{Body, Inst, Module, Span};
use ptx_isa::{Control, Directive, EffectKind, Modifier, Opcode, ScalarType, StateSpace};

use crate::cascade;
use crate::statement_extent::line_end;

/// The most bytes around a name that are read.
const FAR: usize = 1 << 14;

/// The statement that contains a name.
struct Statement<'s> {
    text: &'s [u8],
    start: usize,
    tokens: Vec<Token>,
}

impl<'s> Statement<'s> {
    fn at(src: &'s [u8], at: usize) -> Option<Self> {
        let from = at.saturating_sub(FAR);
        let before = src.get(from..at)?;
        let line = memchr::memrchr(b'\n', before).map_or(0, |i| i + 1);
        let first = Lexer::fragment(before.get(line..)?).find(|t| !t.kind.is_trivia());
        let begins = first.is_some_and(|t| {
            let word = t.span.of(&before[line..]);
            word == b"@" || Opcode::from_text(word).is_some()
        });
        let start = if begins {
            line
        } else {
            before
                .iter()
                .rposition(|b| b";{}:".contains(b))
                .map_or(0, |i| i + 1)
        };
        let rest = src.get(at..src.len().min(at + FAR))?;
        let end = at + memchr::memchr(b';', rest)?;
        let text = src.get(from + start..end)?;
        let tokens = Lexer::fragment(text).filter(|t| !t.kind.is_trivia());
        let tokens: Vec<Token> = tokens.collect();
        Some(Self {
            text,
            start: from + start,
            tokens,
        })
    }

    fn words(&self) -> impl Iterator<Item = &'s [u8]> {
        self.tokens.iter().map(|t| t.span.of(self.text))
    }

    /// The modifiers after the opcode.
    fn modifiers(&self) -> Vec<Modifier> {
        let words = self.words().skip_while(|w| Opcode::from_text(w).is_none());
        words.skip(1).map_while(Modifier::from_text).collect()
    }

    fn space(&self) -> Option<StateSpace> {
        self.modifiers().iter().find_map(|m| m.state_space())
    }

    fn ty(&self) -> Option<ScalarType> {
        self.modifiers().iter().rev().find_map(|m| m.scalar_type())
    }

    /// The number of bytes that it accesses.
    fn bytes(&self) -> u32 {
        let length = self.modifiers().iter().find_map(|m| m.vector_len());
        let bits = self.ty().map_or(64, |ty| u32::from(ty.bits()));
        bits / 8 * length.map_or(1, u32::from)
    }

    /// The offset of its first token.
    fn begins_at(&self) -> usize {
        self.start + self.tokens.first().map_or(0, |t| t.span.start as usize)
    }

    /// The names in the lists in parentheses, before and after the name at `at`.
    fn lists(&self, at: usize) -> [Option<Vec<&'s [u8]>>; 2] {
        let mut lists = [None, None];
        let mut open = false;
        for token in &self.tokens {
            let list = usize::from(self.start + token.span.start as usize > at);
            match token.span.of(self.text) {
                b"(" => {
                    lists[list] = Some(Vec::new());
                    open = true;
                }
                b")" => open = false,
                word if open && word != b"," => lists[list].get_or_insert_default().push(word),
                _ => {}
            }
        }
        lists
    }
}

/// The header of the function whose body begins at `base`.
struct Header {
    /// The beginning of its first line.
    start: usize,
    /// The `(` and `)` of the parameters.
    list: Option<(usize, usize)>,
    /// The end of the name.
    name: usize,
}

fn header(src: &[u8], base: usize) -> Option<Header> {
    let from = base.saturating_sub(FAR);
    let text = src.get(from..base)?;
    let find = |d: Directive| memchr::memmem::rfind(text, d.text().as_bytes());
    let kind = find(Directive::Entry).max(find(Directive::Func))?;
    let line = memchr::memrchr(b'\n', text.get(..kind)?).map_or(0, |i| i + 1);
    let mut name = None;
    let (mut open, mut list) = (None, None);
    for token in Lexer::fragment(text.get(kind..)?).filter(|t| !t.kind.is_trivia()) {
        let at = from + kind + token.span.start as usize;
        match token.span.of(text.get(kind..)?) {
            b"(" => open = Some(at),
            b")" => list = open.take().map(|open| (open, at)),
            _ if token.kind == TokenKind::Ident && open.is_none() && name.is_none() => {
                name = Some(from + kind + token.span.end as usize);
                // The list before it is that of the results.
                list = None;
            }
            _ => {}
        }
    }
    Some(Header {
        start: from + line,
        list,
        name: name?,
    })
}

/// An edit that declares a variable or a parameter of the function whose body begins at `base`: where, what, and what is
/// assumed.
pub(crate) fn variable(
    src: &[u8],
    base: usize,
    name: &str,
    uses: impl Iterator<Item = u32>,
) -> Option<(Span, String, String)> {
    let mut space = None;
    let (mut size, mut scalar) = (0, None);
    for at in uses.take(64) {
        let at = at as usize;
        let statement = Statement::at(src, at)?;
        space = space.or(statement.space());
        let offset = offset_after(src, at + name.len());
        let bytes = statement.bytes();
        size = size.max(offset.saturating_add(bytes));
        if space.is_none() && statement.ty().is_some_and(|ty| ty.bits() == 32) {
            space = Some(StateSpace::Shared);
        }
        scalar = match statement.ty() {
            Some(ty) if offset == 0 && u32::from(ty.bits() / 8) == bytes => Some(ty),
            _ => scalar,
        };
    }
    let header = header(src, base)?;
    let scalar = scalar.filter(|ty| u32::from(ty.bits() / 8) == size && ty.is_parameter_type());
    let place = |at: usize| Span::at(at, at);
    let space = match space {
        Some(StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc) => {
            let parameter = match scalar {
                Some(ty) => format!(".param {ty} {name}"),
                None => format!(".param .align 8 .b8 {name}[{size}]"),
            };
            let (at, text) = match header.list {
                Some((open, close)) if src.get(open + 1..close)?.trim_ascii().is_empty() => {
                    (close, parameter)
                }
                Some((_, close)) => {
                    let end = src.get(..close)?.trim_ascii_end().len();
                    (end, format!(",\n\t{parameter}"))
                }
                None => (header.name, format!("({parameter})")),
            };
            return Some((
                place(at),
                text,
                "perhaps it is the last parameter".to_string(),
            ));
        }
        space => space.unwrap_or(StateSpace::Global),
    };
    let text = format!("{space} .align 16 .b8 {name}[{}];\n", size.max(16));
    let note = format!("perhaps it is in `{space}`");
    Some(match space {
        StateSpace::Local => (place(base + 1), format!("\n\t{}", text.trim_end()), note),
        _ => (place(header.start), text, note),
    })
}

/// The number that is added to the name that ends at `end`.
fn offset_after(src: &[u8], end: usize) -> u32 {
    let following = src.get(end..line_end(src, end)).unwrap_or_default();
    let digits = following
        .trim_ascii_start()
        .strip_prefix(b"+")
        .map(<[u8]>::trim_ascii_start);
    let digits = digits.unwrap_or_default();
    let len = digits.iter().take_while(|b| b.is_ascii_digit()).count();
    let text = core::str::from_utf8(&digits[..len]).unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// An edit that declares the function or the prototype `name` that the call at `at` mentions.
pub(crate) fn function(src: &[u8], base: usize, name: &str, at: u32) -> Option<(Span, String)> {
    let at = at as usize;
    let statement = Statement::at(src, at)?;
    let before = src.get(statement.begins_at()..at)?;
    let [results, arguments] = statement.lists(at);
    let start = statement.begins_at();
    // A call through a register has a prototype at its end.
    if arguments.is_none() && before.contains(&b'%') {
        let whole = src.get(start..at)?;
        let register = start + memchr::memchr(b'%', whole)?;
        let [results, arguments] = statement.lists(register);
        let results = list(src, start, results.unwrap_or_default(), |_| "_".to_string())?;
        let arguments = list(src, start, arguments.unwrap_or_default(), |_| {
            "_".to_string()
        })?;
        let results = match results.as_str() {
            "()" => String::new(),
            list => format!("{list} "),
        };
        let directive = Directive::Callprototype;
        let text = format!("{name}: {directive} {results}_ {arguments};\n\t");
        return Some((Span::at(start, start), text));
    }
    let results = list(src, start, results.unwrap_or_default(), |i| {
        format!("result{i}")
    })?;
    let arguments = match arguments {
        Some(all) => list(src, start, all, |i| format!("{name}_param_{i}"))?,
        None => String::new(),
    };
    let results = match results.as_str() {
        "()" => String::new(),
        list => format!("{list} "),
    };
    let [linkage, kind] = [Directive::Extern, Directive::Func];
    let text = format!("{linkage} {kind} {results}{name}{arguments};\n");
    let place = header(src, base)?.start;
    Some((Span::at(place, place), text))
}

/// The parameters for some arguments, which are variables that are declared before `end`.
fn list(
    src: &[u8],
    end: usize,
    arguments: Vec<&[u8]>,
    name: impl Fn(usize) -> String,
) -> Option<String> {
    let parameter = |(i, argument): (usize, &&[u8])| {
        let (before, after) = declaration(src, end, argument)?;
        Some(format!("{before}{}{after}", name(i)))
    };
    let all: Option<Vec<String>> = arguments.iter().enumerate().map(parameter).collect();
    Some(format!("({})", all?.join(", ")))
}

/// The declaration in `.param` of a variable: what is before and after its name.
fn declaration<'s>(src: &'s [u8], end: usize, name: &[u8]) -> Option<(&'s str, &'s str)> {
    let from = end.saturating_sub(FAR);
    let text = src.get(from..end)?;
    let occurrences = memchr::memmem::rfind_iter(text, name);
    let is_word = |at: &usize| {
        let neighbors = [
            at.checked_sub(1).and_then(|i| text.get(i)),
            text.get(at + name.len()),
        ];
        neighbors
            .into_iter()
            .flatten()
            .all(|b| !is(*b, class::IDENT))
    };
    let space = StateSpace::Param.text().as_bytes();
    for at in occurrences.filter(is_word).take(8) {
        let start = text.get(..at)?.iter().rposition(|b| b"\n;{}(,".contains(b));
        let preceding = text.get(start.map_or(0, |i| i + 1)..at)?.trim_ascii_start();
        let following = text.get(at + name.len()..)?;
        let len = following.iter().position(|b| b";,)".contains(b))?;
        if preceding.starts_with(space) {
            let text = |bytes| core::str::from_utf8(bytes).ok();
            return Some((text(preceding)?, text(following[..len].trim_ascii_end())?));
        }
    }
    None
}

/// The type of a parameter or register, judged by the first instruction after `from` that uses its name.
pub(crate) fn type_by_use(src: &[u8], from: usize, name: &[u8]) -> Option<ScalarType> {
    by_use(src, from, name, |statement| statement.ty())
}

/// The state space of the name at `name`, judged by the first instruction that uses it in an address.
pub(crate) fn space_by_use(src: &[u8], name: usize) -> Option<StateSpace> {
    let end = scan::ident_end(src, name);
    by_use(src, end, &src[name..end], |statement| statement.space())
}

fn by_use<T>(
    src: &[u8],
    from: usize,
    name: &[u8],
    of: impl Fn(&Statement<'_>) -> Option<T>,
) -> Option<T> {
    // Other functions have separate names.
    let text = cascade::rest_of_function(src.get(..src.len().min(from + 4 * FAR))?, from);
    let found = memchr::memmem::find_iter(text, name).map(|i| from + i);
    let mut uses = found.filter(|at| {
        let after = scan::peek(src, at + name.len());
        let before = at.checked_sub(1).map_or(b' ', |i| src[i]);
        !is(after, class::IDENT) && !is(before, class::IDENT)
    });
    let of_use = |at: usize| {
        let statement = Statement::at(src, at)?;
        let opcode = statement.words().any(|w| Opcode::from_text(w).is_some());
        of(&statement).filter(|_| opcode)
    };
    uses.by_ref().take(16).find_map(of_use)
}

/// The prototype of the function whose name is at `defined`, before the function with the use at `at`.
pub(crate) fn prototype(src: &[u8], at: usize, defined: usize) -> Option<(Span, String)> {
    let caller = header(src, at)?;
    let line = defined.saturating_sub(FAR);
    let preceding = src.get(line..defined)?;
    let start = line + memchr::memrchr(b'\n', preceding).map_or(0, |i| i + 1);
    let following = src.get(start..src.len().min(start + FAR))?;
    let tokens = Lexer::fragment(following).filter(|t| !t.kind.is_trivia());
    let of_header = tokens.map(|t| (t.span.of(following), t.span.end as usize));
    let of_header: Vec<(&[u8], usize)> = of_header.take_while(|(t, _)| *t != b"{").collect();
    let is_func = |(t, _): &(&[u8], usize)| *t == Directive::Func.text().as_bytes();
    of_header.iter().find(|t| is_func(t))?;
    let header = core::str::from_utf8(following.get(..of_header.last()?.1)?).ok()?;
    Some((Span::at(caller.start, caller.start), format!("{header};\n")))
}

/// The start of the only instruction after one that ends a path and before a label.
pub(crate) fn label_place(module: &Module, body: &Body) -> Option<u32> {
    let mut ended = false;
    let mut unreachable = None;
    for (id, statement) in body.statements() {
        match statement {
            ptx_ir::Statement::Inst(inst) => {
                let start = body.source_span(id).start;
                if ended && unreachable.replace(start).is_some() {
                    return None;
                }
                ended = body.inst(inst).is_some_and(|i| ends(module, i));
            }
            ptx_ir::Statement::Directive(_) | ptx_ir::Statement::Decl(_) => {}
            _ => ended = false,
        }
    }
    unreachable
}

/// Whether control never reaches the next instruction.
fn ends(module: &Module, inst: &Inst) -> bool {
    let instruction = module.signature(inst.sig).instruction();
    let mut forms = instruction.map_or(&[][..], |i| i.forms()).iter();
    let leaves = |kind| matches!(kind, EffectKind::Control(c) if c != Control::Call);
    inst.guard().is_none() && forms.any(|f| f.effects().iter().any(|e| leaves(e.kind())))
}
