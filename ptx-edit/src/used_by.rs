//! The uses of a name that prevent an edit, as errors describe them.

use alloc::string::String;
use core::fmt;

use ptx_ir::{FuncId, Item, ItemId, LineIndex, Module, Operand, Span, Statement, StmtId};

/// The number of characters of a statement that a description quotes.
const QUOTED_CHARACTERS: usize = 60;

/// The use of a name that prevents an edit.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UsedBy {
    /// A statement of a function, or an item outside functions.
    Use(UsePlace),
    /// A debug section, a range of names in a table, or text that could not be parsed: names are not resolved there.
    Unresolved,
    /// The address of the function is taken, but no call of the module has a prototype of its type.
    Address(UsePlace),
    /// The addresses of this function and of another one of the same type are taken, so that a call through an address may reach both.
    SharedAddress {
        /// The place that takes the address of the function.
        place: UsePlace,
        /// The name of the other function.
        other: String,
    },
    /// A call that may reach other functions as well.
    Call(UsePlace),
    /// A call whose number of arguments is not that of the parameters.
    Arguments(UsePlace),
}

/// The place of a use: a statement of a function, or an item outside functions.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct UsePlace {
    /// The function with the statement; `None` for an item.
    pub function: Option<FuncId>,
    /// The statement; `None` for an item.
    pub statement: Option<StmtId>,
    /// The line in the source of the module; `None` for what an edit inserted.
    pub line: Option<u32>,
    /// The beginning of the text in the source, or the mnemonic of an inserted instruction.
    pub text: String,
    /// The name of the function, or an empty text.
    pub function_name: String,
}

impl UsePlace {
    pub(crate) fn statement(module: &Module, function: FuncId, statement: StmtId) -> Self {
        let body = module.body(function);
        let span = body
            .filter(|body| body.is_in_source())
            .filter(|body| body.edits().is_none_or(|edits| edits.was_read(statement)))
            .map(|body| body.source_span(statement));
        let mnemonic = body.and_then(|body| match body.statement(statement)? {
            Statement::Inst(inst) => Some(module.signature(body.inst(inst)?.sig).text()),
            _ => None,
        });
        let name = module
            .functions()
            .get(function)
            .and_then(|record| record.symbol)
            .map(|symbol| crate::error::symbol_name(module, symbol));
        Self {
            function: Some(function),
            statement: Some(statement),
            function_name: name.unwrap_or_default(),
            ..Self::new(module, span, mnemonic.unwrap_or("a statement"))
        }
    }

    pub(crate) fn item(module: &Module, item: ItemId) -> Self {
        let was_read = module.edits().is_none_or(|edits| edits.was_read(item));
        let span = Some(module.span(item)).filter(|_| was_read && module.has_source());
        Self::new(module, span, "an item")
    }

    fn new(module: &Module, span: Option<Span>, description: &str) -> Self {
        let source = module.source();
        let text = span.map(|span| quoted(&String::from_utf8_lossy(span.of(source))));
        Self {
            function: None,
            statement: None,
            line: span.map(|span| LineIndex::new(source).position(span.start).line),
            text: text.unwrap_or_else(|| String::from(description)),
            function_name: String::new(),
        }
    }
}

/// The first line of a text, at most [`QUOTED_CHARACTERS`] long.
fn quoted(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("").trim_end();
    match line.char_indices().nth(QUOTED_CHARACTERS) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or(line)),
        None => String::from(line),
    }
}

/// Finds the first statement or item, in the order of the text, with an operand that `is_use` accepts. `excluded` is not searched.
/// Linear in the module.
pub(crate) fn first_place(
    module: &Module,
    excluded: Item,
    mut is_use: impl FnMut(Operand) -> bool,
) -> Option<UsePlace> {
    let pool = module.pool();
    for (id, item) in module.items().filter(|(_, item)| *item != excluded) {
        let is_found = match item {
            Item::Decl(decl) => module.declarations().walk(decl, pool).any(&mut is_use),
            Item::Directive(directive) => module
                .directives()
                .get(directive)
                .is_some_and(|directive| pool.walk(directive.args).any(&mut is_use)),
            Item::Opaque(opaque) => module
                .opaques()
                .get(opaque)
                .is_some_and(|opaque| pool.walk(opaque.mentions).any(&mut is_use)),
            Item::Function(function) => {
                let statement = module.body(function).and_then(|body| {
                    body.statements()
                        .find(|(_, statement)| body.walk(*statement).any(&mut is_use))
                });
                if let Some((statement, _)) = statement {
                    return Some(UsePlace::statement(module, function, statement));
                }
                false
            }
            _ => false,
        };
        if is_found {
            return Some(UsePlace::item(module, id));
        }
    }
    None
}

/// `` `mov.b32 c, b;` in line 7, in function `k` ``.
impl fmt::Display for UsePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)?;
        if let Some(line) = self.line {
            write!(f, " in line {line}")?;
        }
        if !self.function_name.is_empty() {
            write!(f, ", in function `{}`", self.function_name)?;
        }
        Ok(())
    }
}

impl UsedBy {
    /// Writes why `name` cannot be changed, and what to do.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        /// The remedy for calls that cannot be changed.
        const COPY: &str = "change a copy of the function with another name";
        match self {
            Self::Use(place) => write!(
                f,
                "`{name}` is still used by {place}; change or remove its uses first"
            ),
            Self::Unresolved => write!(
                f,
                "`{name}` is used where names are not resolved: in a debug section, a range of names, or text that could not be \
                 parsed; remove that first"
            ),
            Self::Address(place) => write!(
                f,
                "the address of `{name}` is used by {place}, and the module has no call with a prototype of its type, so its \
                 calls are unknown; {COPY}"
            ),
            Self::SharedAddress { place, other } => write!(
                f,
                "the address of `{name}` is used by {place}, and that of `{other}`, which has the same type, as well, so a call \
                 may reach either; {COPY}"
            ),
            Self::Call(place) => write!(
                f,
                "`{name}` may be called by {place}, which may call other functions as well; {COPY}"
            ),
            Self::Arguments(place) => write!(
                f,
                "`{name}` has another number of parameters than {place} has arguments; correct the call first"
            ),
        }
    }
}
