//! Functions that are parsed one after another without the module around them.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::lex::scan::{self, Trivia};
use ptx_ir::raw::{self, Interner, NewIds, RawModule};
use ptx_ir::{
    Body, BodyId, FuncId, Function, Limits, NameId, Operand, Signatures, SourceText, Symbol,
    SymbolKind,
};

use super::ahead::Ahead;
use super::parts::{is_function, next_function};
use crate::parser::Parser;
use crate::scope::Meaning;

/// Functions with common tables, in the order of the source.
pub(crate) struct Batch {
    pub(super) functions: Vec<ParsedFunction>,
    /// Tables that functions have stretches of, and the index of the first function without.
    sealed: Vec<(Body, usize)>,
    pub(super) tables: Tables,
    /// The ids of the module for those of `tables`, as far as functions were adopted.
    pub(super) ids: NewIds,
}

/// What the functions of a batch refer to.
pub(super) struct Tables {
    pub(super) names: Interner,
    pub(super) signatures: Signatures,
    /// The names of functions of the batch, and those that no function of the batch declares.
    pub(super) symbols: Vec<NameId>,
    /// The names of all labels, function by function.
    pub(super) labels: Vec<NameId>,
    /// The prefixes of all ranges of registers and variables.
    pub(super) range_keys: Vec<u64>,
}

/// A function without errors.
pub(super) struct ParsedFunction {
    /// Where it begins, where the `{` of its body is, and where that ends.
    pub(super) start: usize,
    pub(super) open: usize,
    pub(super) end: usize,
    /// The body without the tables that it shares.
    body: Body,
    /// How many entries the tables of the batch have after it.
    pub(super) used: Used,
    /// Its body in the module, if it was adopted.
    pub(super) adopted: Option<BodyId>,
}

/// The lengths of [`Tables`].
#[derive(Copy, Clone, Default)]
pub(super) struct Used {
    pub(super) names: usize,
    pub(super) signatures: usize,
    pub(super) symbols: usize,
    pub(super) labels: usize,
}

/// After this many functions in a row that have to be parsed again, a part is left to the other parser.
const MOST_FAILURES: usize = 8;

/// How many functions may share tables. Where there are more, they are so short that adopting one takes as long as parsing
/// it, and the rest of the part is left to the other parser.
const MOST_SHARING: usize = raw::SHARED_TEXT / 256;

/// Parses the functions that begin in `part`. A function with errors ends a batch, because later functions may refer to its
/// names.
pub(super) fn parse(
    source: &SourceText,
    part: Range<usize>,
    limits: Limits,
    names: &Interner,
) -> Vec<Batch> {
    // What looks like a function and never ends is not read to the end of the source.
    let src = source.get(..part.end).unwrap_or_default();
    let mut batches = Vec::new();
    let (mut next, mut failures) = (Some(part.start), 0);
    while let Some(start) = next
        && failures < MOST_FAILURES
    {
        let mut run = Run::new(Parser::new(src, source.clone(), limits), names);
        next = run.functions(start);
        if run.functions.is_empty() {
            failures += 1;
        } else {
            failures = 0;
            batches.push(run.finish());
        }
    }
    batches
}

/// The parser of a batch.
struct Run<'s> {
    parser: Parser<'s>,
    functions: Vec<ParsedFunction>,
    sealed: Vec<(Body, usize)>,
    /// The end of the last function whose tables are sealed.
    sealed_to: usize,
    labels: Vec<NameId>,
}

impl<'s> Run<'s> {
    fn new(mut parser: Parser<'s>, names: &Interner) -> Self {
        *parser.out.module.names_mut() = names.sibling(raw::SHARED_TEXT / 100);
        parser.ahead = Ahead::Yes;
        Self {
            parser,
            functions: Vec::new(),
            sealed: Vec::new(),
            sealed_to: 0,
            labels: Vec::new(),
        }
    }

    /// Parses functions from the one at `start` on, up to one with errors; gives the next one after that. `None` at the end of
    /// the part, or where functions are too short.
    fn functions(&mut self, start: usize) -> Option<usize> {
        let src = self.parser.cursor.src;
        self.sealed_to = start;
        let mut next = Some(start);
        while let Some(start) = next {
            let parser = &mut self.parser;
            parser.cursor.pos = start;
            if parser.is_declaration() {
                next = next_function(src, start + 1, src.len());
                continue;
            }
            let Some(function) = self.function(start) else {
                raw::clear(&mut self.parser.out.body);
                let end = match self.parser.ahead {
                    Ahead::Stopped(at) => at,
                    _ => self.parser.cursor.pos,
                };
                return next_function(src, end, src.len());
            };
            let end = function.end;
            self.functions.push(function);
            if end - self.sealed_to >= raw::SHARED_TEXT {
                let first = self.sealed.last().map_or(0, |(_, end)| *end);
                self.seal();
                self.sealed_to = end;
                if self.functions.len() - first > MOST_SHARING {
                    return None;
                }
            }
            let after = scan::skip_trivia(src, end, &mut Trivia::default());
            next = match is_function(src, after) {
                true => Some(after),
                false => next_function(src, end, src.len()),
            };
        }
        None
    }

    fn seal(&mut self) {
        let tables = raw::seal(&mut self.parser.out.body);
        self.sealed.push((tables, self.functions.len()));
    }

    /// Parses the function at `start`, unless it has errors or declares what belongs to the tables of the module.
    fn function(&mut self, start: usize) -> Option<ParsedFunction> {
        let parser = &mut self.parser;
        parser.cursor.last = start;
        let id = parser.out.module.functions_mut().push(Function::EMPTY);
        let open = parser.header_ahead(start, id)?;
        let functions = parser.out.module.functions().len();
        parser.body_statements();
        parser.scopes.close_scope();
        let own = parser.ahead == Ahead::Yes && parser.out.module.functions().len() == functions;
        if !own || !parser.reporter.is_empty() || !presume_symbols(parser) {
            return None;
        }
        parser.resolve_labels();
        let labels = parser.out.body.labels().values();
        self.labels.extend(labels.map(|l| l.name));
        let body = parser.take_body();
        let module = &parser.out.module;
        Some(ParsedFunction {
            start,
            open,
            end: parser.cursor.pos,
            body,
            used: Used {
                names: module.name_count(),
                signatures: module.signatures().len(),
                symbols: module.symbols().len(),
                labels: self.labels.len(),
            },
            adopted: None,
        })
    }

    fn finish(mut self) -> Batch {
        self.seal();
        let range_keys = self.parser.scopes.ranges.keys().collect();
        let mut module = self.parser.out.module;
        Batch {
            functions: self.functions,
            sealed: self.sealed,
            tables: Tables {
                names: core::mem::take(module.names_mut()),
                signatures: core::mem::take(module.signatures_mut()),
                symbols: module.symbols().values().map(|s| s.name).collect(),
                labels: self.labels,
                range_keys,
            },
            ids: NewIds::default(),
        }
    }
}

/// At the end of a function: names that it does not declare are presumed to be symbols of the module, which the following
/// functions see as well. Gives false if one is rather an undeclared register.
fn presume_symbols(parser: &mut Parser<'_>) -> bool {
    let mut undefined = core::mem::take(&mut parser.scopes.labels.undefined);
    for (_, operand) in &mut undefined {
        let Operand::Name(name) = *operand else {
            continue;
        };
        if parser.out.module.name_bytes(name).starts_with(b"%") {
            return false;
        }
        let symbol = match parser.scopes.find(name).map(|b| b.meaning) {
            Some(Meaning::Symbol(symbol)) => symbol,
            _ => {
                // Only its name is known.
                let symbol = Symbol::new(name, SymbolKind::Function(FuncId::new(u32::MAX)));
                let symbol = parser.out.module.symbols_mut().push(symbol);
                parser.scopes.bind(name, Meaning::Symbol(symbol), 0);
                symbol
            }
        };
        *operand = Operand::Symbol(symbol);
    }
    parser.scopes.labels.undefined = undefined;
    true
}

impl Batch {
    /// Gives the adopted bodies the ids of the module, and their tables.
    pub(super) fn finish(mut self) -> Vec<(BodyId, Body)> {
        let mut first = 0;
        for (mut tables, end) in self.sealed {
            self.ids.apply(&mut tables);
            let functions = self.functions.get_mut(first..end).unwrap_or_default();
            for function in &mut *functions {
                self.ids.apply(&mut function.body);
            }
            raw::attach(tables, functions.iter_mut().map(|f| &mut f.body));
            first = end;
        }
        let functions = self.functions.into_iter();
        functions
            .filter_map(|f| Some((f.adopted?, f.body)))
            .collect()
    }
}
