//! A source is parsed without keeping its bodies: each body is visited right after it was parsed, by the same thread, and the next one takes the place
//! of its tables, which stay in the cache.
//!
//! Several threads parse the same source from the beginning to the end, each into a separate module. All of them read all declarations and headers,
//! so that names mean the same to each. A body is parsed by the thread that comes first to its part of the source. The others pass over it, up to its
//! `}`, which they find without looking for comments. At the end, all modules must have the same places of all bodies.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ptx_ir::raw::{self, RawBody, RawModule};
use ptx_ir::{Body, BodyId, EntityId, FuncId, Limits, Module, SourceText, parallel};

use crate::output::Level;
use crate::parser::Parser;

/// How the bodies of a source are divided among threads.
#[derive(Copy, Clone, Debug)]
pub struct Division {
    /// How many threads parse it.
    pub threads: usize,
    /// The length of the parts whose bodies are parsed by one thread, in bytes.
    pub part: usize,
}

/// The shorter the parts, the less the last thread works alone.
const PART: usize = 1 << 16;

/// The least that is worth another thread, in bytes of source.
const LEAST: usize = 1 << 18;

impl Division {
    /// For all threads that there are, or one thread for a short source.
    #[must_use]
    pub fn of(source: &SourceText) -> Self {
        let most = source.len() / LEAST;
        Self {
            threads: parallel::threads().min(most.max(1)),
            part: PART,
        }
    }
}

/// A parsed source: the module without the tables of its bodies, and the visitors, one for each thread.
#[derive(Debug)]
pub struct Visited<V> {
    /// Its functions have bodies that are empty.
    pub module: Module,
    /// In any order.
    pub visitors: Vec<V>,
}

/// Parses a source and calls `visit` for each body, on one of several threads. It gets the module up to the function with the body, which has its
/// tables only in the argument. `None` if `visit` gives false, which ends the parsing, or if the source has errors; with several threads, also if
/// a function is declared in a body, or if the braces in the comments of a body do not match.
#[must_use]
pub fn visit_bodies<V: Send>(
    source: &SourceText,
    limits: &Limits,
    division: Division,
    new: impl Fn() -> V + Sync,
    visit: impl Fn(&mut V, &Module, FuncId, &Body) -> bool + Sync,
) -> Option<Visited<V>> {
    if source.len() > limits.source_bytes {
        return None;
    }
    let parts = Parts::new(source.len(), division.part);
    let threads = division.threads.max(1);
    let one = |thread| {
        let parser = Parser::new(source, source.clone(), *limits);
        let mut visitor = new();
        let module = parser.visiting(&parts, thread, |module, function, body| {
            let is_known = threads == 1 || !declares_functions(module, function);
            is_known && visit(&mut visitor, module, function, body)
        });
        if module.is_none() {
            parts.stop.store(true, Ordering::Relaxed);
        }
        Some((module?, visitor))
    };
    let all: Option<Vec<(Module, V)>> = parallel::repeat(threads, one).into_iter().collect();
    let (mut modules, visitors): (Vec<Module>, Vec<V>) = all?.into_iter().unzip();
    let module = modules.pop()?;
    let is_same = modules
        .iter()
        .all(|other| places(other).eq(places(&module)));
    is_same.then_some(Visited { module, visitors })
}

/// Whether functions are declared in the body of the last one: they come after it.
fn declares_functions(module: &Module, last: FuncId) -> bool {
    last.index() + 1 < module.functions().len()
}

/// Where each body begins and how long it is.
fn places(module: &Module) -> impl Iterator<Item = (u32, u32)> {
    module.bodies().values().map(|b| (b.base(), b.end()))
}

/// The length of a block with all that it contains; of the whole text if it is not closed.
fn matching_brace(block: &[u8]) -> usize {
    let mut depth = 0usize;
    for at in memchr::memchr2_iter(b'{', b'}', block) {
        match block.get(at) {
            Some(b'{') => depth += 1,
            _ if depth <= 1 => return at + 1,
            _ => depth -= 1,
        }
    }
    block.len()
}

/// The parts of a source.
struct Parts {
    /// For each part, the number of the thread that parses its bodies, + 1; 0 if no thread has come to it.
    threads: Vec<AtomicUsize>,
    len: usize,
    /// Whether the result of all threads is known.
    stop: AtomicBool,
}

impl Parts {
    fn new(source: usize, len: usize) -> Self {
        let len = len.max(1);
        Self {
            threads: (0..=source / len).map(|_| AtomicUsize::new(0)).collect(),
            len,
            stop: AtomicBool::new(false),
        }
    }

    /// Whether a thread parses the body at `open`.
    fn takes(&self, thread: usize, open: usize) -> bool {
        let Some(part) = self.threads.get(open / self.len) else {
            return true;
        };
        let order = Ordering::Relaxed;
        match part.compare_exchange(0, thread + 1, order, order) {
            Ok(_) => true,
            Err(taken) => taken == thread + 1,
        }
    }
}

/// The visits of one thread.
pub(crate) struct Visits<'s> {
    parts: &'s Parts,
    thread: usize,
    /// The function whose body was just parsed, and how many names there were before it.
    parsed: Option<(FuncId, usize)>,
    /// The characters before this place are checked, here or by the threads that parse them.
    checked_to: usize,
}

impl<'s> Parser<'s> {
    /// Parses the whole source and visits bodies; `None` as for [`visit_bodies`].
    fn visiting(
        mut self,
        parts: &'s Parts,
        thread: usize,
        mut visit: impl FnMut(&Module, FuncId, &Body) -> bool,
    ) -> Option<Module> {
        self.visits = Some(Visits {
            parts,
            thread,
            parsed: None,
            checked_to: 0,
        });
        self.byte_order_mark();
        while self.next_item() {
            self.item();
            if let Some((function, names)) = self.visits.as_mut().and_then(|v| v.parsed.take()) {
                let module = &mut self.out.module;
                if !visit(module, function, &self.out.body) {
                    return None;
                }
                raw::clear(&mut self.out.body);
                if !declares_functions(module, function) {
                    module.names_mut().truncate(names);
                }
            }
            self.check_characters_to(self.cursor.pos);
            if !self.reporter.is_empty() || parts.stop.load(Ordering::Relaxed) {
                return None;
            }
        }
        self.check_characters_to(self.cursor.src.len());
        self.is_plain = true;
        self.end_of_module();
        let (module, _, errors) = self.finish();
        errors.records.is_empty().then_some(module)
    }

    /// Checks the characters up to the end of a token, which were just read.
    fn check_characters_to(&mut self, end: usize) {
        if let Some(visits) = &mut self.visits {
            let start = core::mem::replace(&mut visits.checked_to, end);
            self.check_characters(start, end);
        }
    }

    /// Parses the body at the cursor for a visit, or passes over it; `None` if bodies are not visited.
    pub(crate) fn visited_body(&mut self, function: FuncId) -> Option<BodyId> {
        let open = self.cursor.pos;
        let names = self.out.module.name_count();
        let visits = self.visits.as_mut()?;
        if visits.parts.takes(visits.thread, open) {
            visits.parsed = Some((function, names));
            self.body_statements();
            self.scopes.close_scope();
            self.resolve_labels();
            self.out.level = Level::Module;
        } else {
            self.check_characters_to(open);
            let len = matching_brace(self.cursor.src.get(open..).unwrap_or_default());
            *self.out.body.base_mut() = open as u32;
            *self.out.body.end_mut() = len as u32;
            self.cursor.pos = open + len;
            self.cursor.last = open + len;
            self.end_scope();
            self.visits.as_mut()?.checked_to = open + len;
        }
        Some(self.out.keep_place(self.cursor.pos))
    }
}
