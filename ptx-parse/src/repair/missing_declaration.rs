//! Edits that add the declaration or the label that an undeclared name most likely lacks, judged by its uses.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use ptx_ir::lex::{Lexer, Token, TokenKind};
use ptx_ir::raw::scan::{self, class, is};
use ptx_ir::{Body, Inst, Module, Span};
use ptx_isa::internals::{Control, EffectKind};
use ptx_isa::{Directive, Modifier, Opcode, ScalarType, StateSpace};

use crate::cascade;
use crate::statement_extent::line_end;

/// The number of bytes before and after a name that are read, so that the cost stays linear.
const REACH: usize = 1 << 14;

/// The statement that contains a name.
struct Statement<'s> {
    text: &'s [u8],
    start: usize,
    tokens: Vec<Token>,
}

impl<'s> Statement<'s> {
    /// The statement with the name at `offset`. It begins with the line of the name, if an opcode or guard does, and otherwise
    /// after the previous `;`, brace or `:`.
    fn around(src: &'s [u8], offset: usize) -> Option<Self> {
        let window_start = offset.saturating_sub(REACH);
        let preceding = src.get(window_start..offset)?;
        let line_start = memchr::memrchr(b'\n', preceding).map_or(0, |i| i + 1);
        let line = preceding.get(line_start..)?;
        let first_token = Lexer::fragment(line).find(|t| !t.kind.is_trivia());
        let line_begins_statement = first_token.is_some_and(|t| {
            let word = t.span.of(line);
            word == b"@" || Opcode::from_text(word).is_some()
        });
        let start = window_start
            + if line_begins_statement {
                line_start
            } else {
                preceding
                    .iter()
                    .rposition(|b| b";{}:".contains(b))
                    .map_or(0, |i| i + 1)
            };
        let following = src.get(offset..src.len().min(offset + REACH))?;
        let end = offset + memchr::memchr(b';', following)?;
        let text = src.get(start..end)?;
        Some(Self {
            text,
            start,
            tokens: Lexer::fragment(text)
                .filter(|t| !t.kind.is_trivia())
                .collect(),
        })
    }

    fn words(&self) -> impl Iterator<Item = &'s [u8]> {
        self.tokens.iter().map(|t| t.span.of(self.text))
    }

    /// The modifiers after the opcode.
    fn modifiers(&self) -> Vec<Modifier> {
        self.words()
            .skip_while(|word| Opcode::from_text(word).is_none())
            .skip(1)
            .map_while(Modifier::from_text)
            .collect()
    }

    fn space(&self) -> Option<StateSpace> {
        self.modifiers().iter().find_map(|m| m.state_space())
    }

    fn ty(&self) -> Option<ScalarType> {
        self.modifiers().iter().rev().find_map(|m| m.scalar_type())
    }

    /// The number of bytes that the instruction accesses in memory.
    fn access_size(&self) -> u32 {
        let length = self.modifiers().iter().find_map(|m| m.vector_len());
        let bits = self.ty().map_or(64, |ty| u32::from(ty.bits()));
        bits / 8 * length.map_or(1, u32::from)
    }

    /// The offset of the first token in the source.
    fn first_token_start(&self) -> usize {
        self.start + self.tokens.first().map_or(0, |t| t.span.start as usize)
    }

    /// The names in the lists in parentheses before and after the name at `offset`.
    fn lists(&self, offset: usize) -> [Option<Vec<&'s [u8]>>; 2] {
        let mut lists = [None, None];
        let mut open = false;
        for token in &self.tokens {
            let list = usize::from(self.start + token.span.start as usize > offset);
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

/// The header of a function.
struct Header {
    /// The beginning of its first line.
    start: usize,
    /// The offsets of the `(` and the `)` of the parameters.
    parameters: Option<(usize, usize)>,
    name_end: usize,
}

/// The header of the function whose body begins at `base`.
fn header(src: &[u8], base: usize) -> Option<Header> {
    let window_start = base.saturating_sub(REACH);
    let text = src.get(window_start..base)?;
    let find = |directive: Directive| memchr::memmem::rfind(text, directive.text().as_bytes());
    let keyword = find(Directive::Entry).max(find(Directive::Func))?;
    let line_start = memchr::memrchr(b'\n', text.get(..keyword)?).map_or(0, |i| i + 1);
    let mut name_end = None;
    let (mut open, mut list) = (None, None);
    let following = text.get(keyword..)?;
    for token in Lexer::fragment(following).filter(|t| !t.kind.is_trivia()) {
        let span = token.span.shifted((window_start + keyword) as u32);
        match token.span.of(following) {
            b"(" => open = Some(span.start as usize),
            b")" => list = open.take().map(|open| (open, span.start as usize)),
            _ if token.kind == TokenKind::Ident && open.is_none() && name_end.is_none() => {
                name_end = Some(span.end as usize);
                // The list before the name is that of the results.
                list = None;
            }
            _ => {}
        }
    }
    Some(Header {
        start: window_start + line_start,
        parameters: list,
        name_end: name_end?,
    })
}

/// An edit that adds a declaration.
pub(crate) struct AddedVariable {
    /// The place of the declaration, which is empty.
    pub(crate) place: Span,
    pub(crate) text: String,
    /// The assumption about the declaration, for the help.
    pub(crate) note: String,
}

/// An edit that declares a variable or a parameter of the function whose body begins at `base`. At most 64 uses are read.
pub(crate) fn variable(
    src: &[u8],
    base: usize,
    name: &str,
    uses: impl Iterator<Item = u32>,
) -> Option<AddedVariable> {
    let mut space = None;
    let (mut size, mut scalar) = (0, None);
    for use_start in uses.take(64).map(|start| start as usize) {
        let statement = Statement::around(src, use_start)?;
        space = space.or(statement.space());
        let offset = offset_after(src, use_start + name.len());
        let access_size = statement.access_size();
        size = size.max(offset.saturating_add(access_size));
        if space.is_none() && statement.ty().is_some_and(|ty| ty.bits() == 32) {
            space = Some(StateSpace::Shared);
        }
        scalar = match statement.ty() {
            Some(ty) if offset == 0 && u32::from(ty.bits() / 8) == access_size => Some(ty),
            _ => scalar,
        };
    }
    let header = header(src, base)?;
    let scalar = scalar.filter(|ty| u32::from(ty.bits() / 8) == size && ty.is_parameter_type());
    let space = match space {
        Some(StateSpace::Param | StateSpace::ParamEntry | StateSpace::ParamFunc) => {
            let parameter = match scalar {
                Some(ty) => format!(".param {ty} {name}"),
                None => format!(".param .align 8 .b8 {name}[{size}]"),
            };
            return added_parameter(src, &header, parameter);
        }
        space => space.unwrap_or(StateSpace::Global),
    };
    let declaration = format!("{space} .align 16 .b8 {name}[{}];", size.max(16));
    let (offset, text) = match space {
        StateSpace::Local => (base + 1, format!("\n\t{declaration}")),
        _ => (header.start, format!("{declaration}\n")),
    };
    Some(AddedVariable {
        place: Span::at(offset, offset),
        text,
        note: format!("perhaps it is in `{space}`"),
    })
}

/// An edit that adds a parameter at the end of the parameters of a function.
fn added_parameter(src: &[u8], header: &Header, parameter: String) -> Option<AddedVariable> {
    let (offset, text) = match header.parameters {
        Some((open, close)) if src.get(open + 1..close)?.trim_ascii().is_empty() => {
            (close, parameter)
        }
        Some((_, close)) => {
            let end = src.get(..close)?.trim_ascii_end().len();
            (end, format!(",\n\t{parameter}"))
        }
        None => (header.name_end, format!("({parameter})")),
    };
    Some(AddedVariable {
        place: Span::at(offset, offset),
        text,
        note: "perhaps it is the last parameter".to_string(),
    })
}

/// The number that is added to the name that ends at `end`; 0 if none is.
fn offset_after(src: &[u8], end: usize) -> u32 {
    let following = src.get(end..line_end(src, end)).unwrap_or_default();
    let number = following
        .trim_ascii_start()
        .strip_prefix(b"+")
        .map(<[u8]>::trim_ascii_start)
        .unwrap_or_default();
    let len = number.iter().take_while(|b| b.is_ascii_digit()).count();
    let digits = core::str::from_utf8(&number[..len]).unwrap_or_default();
    digits.parse().unwrap_or(0)
}

/// An edit that declares the function or the prototype `name`, which the call mentions at `offset`.
pub(crate) fn function(src: &[u8], base: usize, name: &str, offset: u32) -> Option<(Span, String)> {
    let offset = offset as usize;
    let statement = Statement::around(src, offset)?;
    let start = statement.first_token_start();
    let preceding = src.get(start..offset)?;
    let [results, arguments] = statement.lists(offset);
    // A call through a register has a prototype at its end.
    if arguments.is_none() && preceding.contains(&b'%') {
        let register = start + memchr::memchr(b'%', preceding)?;
        let [results, arguments] = statement.lists(register);
        let results = result_list(src, start, results, |_| "_".to_string())?;
        let arguments = parameter_list(src, start, &arguments.unwrap_or_default(), |_| {
            "_".to_string()
        })?;
        let directive = Directive::Callprototype;
        let text = format!("{name}: {directive} {results}_ {arguments};\n\t");
        return Some((Span::at(start, start), text));
    }
    let results = result_list(src, start, results, |i| format!("result{i}"))?;
    let arguments = match arguments {
        Some(names) => parameter_list(src, start, &names, |i| format!("{name}_param_{i}"))?,
        None => String::new(),
    };
    let [linkage, kind] = [Directive::Extern, Directive::Func];
    let text = format!("{linkage} {kind} {results}{name}{arguments};\n");
    let header_start = header(src, base)?.start;
    Some((Span::at(header_start, header_start), text))
}

/// The list of the results of a call, with a space after it; empty without results.
fn result_list(
    src: &[u8],
    end: usize,
    results: Option<Vec<&[u8]>>,
    name: impl Fn(usize) -> String,
) -> Option<String> {
    let results = results.unwrap_or_default();
    let list = parameter_list(src, end, &results, name)?;
    Some(if results.is_empty() {
        String::new()
    } else {
        format!("{list} ")
    })
}

/// The list of parameters for some arguments, which are variables that are declared before `end`. `name` names each parameter.
fn parameter_list(
    src: &[u8],
    end: usize,
    arguments: &[&[u8]],
    name: impl Fn(usize) -> String,
) -> Option<String> {
    let mut parameters = Vec::new();
    for (i, argument) in arguments.iter().enumerate() {
        let (prefix, suffix) = param_declaration(src, end, argument)?;
        parameters.push(format!("{prefix}{}{suffix}", name(i)));
    }
    Some(format!("({})", parameters.join(", ")))
}

/// The declaration of a variable in the state space `.param`: the text before and after its name.
fn param_declaration<'s>(src: &'s [u8], end: usize, name: &[u8]) -> Option<(&'s str, &'s str)> {
    let text = src.get(end.saturating_sub(REACH)..end)?;
    let space = StateSpace::Param.text().as_bytes();
    let occurrences = memchr::memmem::rfind_iter(text, name)
        .filter(|offset| is_word(text, *offset, name.len()))
        .take(8);
    for offset in occurrences {
        let preceding = text.get(..offset)?;
        let start = preceding.iter().rposition(|b| b"\n;{}(,".contains(b));
        let prefix = preceding
            .get(start.map_or(0, |i| i + 1)..)?
            .trim_ascii_start();
        let following = text.get(offset + name.len()..)?;
        let len = following.iter().position(|b| b";,)".contains(b))?;
        if prefix.starts_with(space) {
            let suffix = following[..len].trim_ascii_end();
            return Some((
                core::str::from_utf8(prefix).ok()?,
                core::str::from_utf8(suffix).ok()?,
            ));
        }
    }
    None
}

/// Whether the `len` bytes from `offset` on are neither preceded nor followed by further characters of a name.
fn is_word(text: &[u8], offset: usize, len: usize) -> bool {
    let previous = offset.checked_sub(1).and_then(|i| text.get(i));
    let next = text.get(offset + len);
    [previous, next]
        .into_iter()
        .flatten()
        .all(|b| !is(*b, class::IDENT))
}

/// The type of a parameter or register, judged by the first instruction after `start` that uses its name.
pub(crate) fn type_by_use(src: &[u8], start: usize, name: &[u8]) -> Option<ScalarType> {
    by_use(src, start, name, |statement| statement.ty())
}

/// The state space of the name at `name_start`, judged by the first instruction that uses it in an address.
pub(crate) fn space_by_use(src: &[u8], name_start: usize) -> Option<StateSpace> {
    let end = scan::ident_end(src, name_start);
    let name = &src[name_start..end];
    by_use(src, end, name, |statement| statement.space())
}

/// The first property that an instruction after `start` with `name` has, in the same function. At most 16 uses are read.
fn by_use<T>(
    src: &[u8],
    start: usize,
    name: &[u8],
    property: impl Fn(&Statement<'_>) -> Option<T>,
) -> Option<T> {
    let text = cascade::rest_of_function(src.get(..src.len().min(start + 4 * REACH))?, start);
    memchr::memmem::find_iter(text, name)
        .map(|i| start + i)
        .filter(|offset| is_word(src, *offset, name.len()))
        .take(16)
        .find_map(|offset| {
            let statement = Statement::around(src, offset)?;
            let has_opcode = statement.words().any(|w| Opcode::from_text(w).is_some());
            property(&statement).filter(|_| has_opcode)
        })
}

/// An edit that adds the prototype of the function whose name is at `definition`, before the function with the use at
/// `use_offset`.
pub(crate) fn prototype(
    src: &[u8],
    use_offset: usize,
    definition: usize,
) -> Option<(Span, String)> {
    let caller = header(src, use_offset)?;
    let window_start = definition.saturating_sub(REACH);
    let preceding = src.get(window_start..definition)?;
    let start = window_start + memchr::memrchr(b'\n', preceding).map_or(0, |i| i + 1);
    let following = src.get(start..src.len().min(start + REACH))?;
    let header_tokens: Vec<Token> = Lexer::fragment(following)
        .filter(|t| !t.kind.is_trivia())
        .take_while(|t| t.span.of(following) != b"{")
        .collect();
    let is_func = header_tokens
        .iter()
        .any(|t| t.span.of(following) == Directive::Func.text().as_bytes());
    if !is_func {
        return None;
    }
    let end = header_tokens.last()?.span.end as usize;
    let header = core::str::from_utf8(following.get(..end)?).ok()?;
    Some((Span::at(caller.start, caller.start), format!("{header};\n")))
}

/// The start of the only instruction of a body that follows an instruction which never continues with the next one, and has no
/// label. `None` if there are several.
pub(crate) fn label_place(module: &Module, body: &Body) -> Option<u32> {
    let mut is_unreachable = false;
    let mut unreachable = None;
    for (id, statement) in body.statements() {
        match statement {
            ptx_ir::Statement::Inst(inst) => {
                let start = body.source_span(id).start;
                if is_unreachable && unreachable.replace(start).is_some() {
                    return None;
                }
                is_unreachable = body.inst(inst).is_some_and(|i| ends_path(module, i));
            }
            ptx_ir::Statement::Directive(_) | ptx_ir::Statement::Decl(_) => {}
            _ => is_unreachable = false,
        }
    }
    unreachable
}

/// Whether control never continues with the next instruction.
fn ends_path(module: &Module, inst: &Inst) -> bool {
    let instruction = module.signature(inst.sig).instruction();
    let forms = instruction.map_or(&[][..], |i| i.forms());
    inst.guard().is_none()
        && forms
            .iter()
            .flat_map(|form| form.effects())
            .any(|effect| matches!(effect.kind(), EffectKind::Control(c) if c != Control::Call))
}
