//! Parses a source without keeping its bodies. Each body is visited by the same thread right after it was parsed, and the next body reuses
//! its tables, which are in the cache.
//!
//! Several threads parse the same source from the beginning to the end, each into a separate module. All of them read all declarations and headers,
//! so that names have the same meaning in each module. A body is parsed by the thread that comes first to its part of the source. The other threads
//! skip it up to its `}`, ignoring that comments may contain braces. At the end, all modules must have the same extents of all bodies.

use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ptx_ir::raw::{self, RawBody, RawModule, parallel};
use ptx_ir::{Body, BodyId, EntityId, FuncId, Limits, Module, SourceText};

use crate::output::Level;
use crate::parser::Parser;

/// The division of the bodies of a source among threads.
#[derive(Copy, Clone, Debug)]
pub struct Division {
    /// The number of threads that parse it.
    pub threads: usize,
    /// The length of the parts whose bodies are parsed by one thread, in bytes.
    pub part: usize,
}

/// The usual length of a part, in bytes. With short parts, all threads end at about the same time.
const PART: usize = 1 << 16;

/// The number of bytes of source that justify a further thread.
const BYTES_PER_THREAD: usize = 1 << 18;

impl Division {
    /// A division among all available threads, or one thread for a short source.
    #[must_use]
    pub fn of(source: &SourceText) -> Self {
        let most_threads = source.len() / BYTES_PER_THREAD;
        Self {
            threads: parallel::threads().min(most_threads.max(1)),
            part: PART,
        }
    }
}

/// A parsed source: the module without the tables of its bodies, and the visitors, one for each thread.
#[derive(Debug)]
pub struct Visited<V> {
    /// The module, whose bodies are empty.
    pub module: Module,
    /// The visitors, in any order.
    pub visitors: Vec<V>,
}

/// Parses a source and calls `visit` for each body, on one of several threads. The arguments of `visit` are a visitor of the thread, which `new` creates,
/// the module up to the function with the body, the function, and the body, which is empty in the module. `None` if `visit` returns `false`, which ends
/// the parsing, or if the source has errors. With several threads, also if a function is declared in a body, or if the braces in the comments of a
/// body do not match.
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
    let results = parallel::repeat(threads, |thread| {
        let parser = Parser::new(source, source.clone(), *limits);
        let mut visitor = new();
        let module = parser.visiting(&parts, thread, |module, function, body| {
            let is_visible = threads == 1 || !declares_functions(module, function);
            is_visible && visit(&mut visitor, module, function, body)
        });
        if module.is_none() {
            parts.stop.store(true, Ordering::Relaxed);
        }
        Some((module?, visitor))
    });
    let results: Option<Vec<(Module, V)>> = results.into_iter().collect();
    let (mut modules, visitors): (Vec<Module>, Vec<V>) = results?.into_iter().unzip();
    let module = modules.pop()?;
    let are_equal = modules
        .iter()
        .all(|other| body_extents(other).eq(body_extents(&module)));
    are_equal.then_some(Visited { module, visitors })
}

/// Whether functions are declared in the body of the function `last`: they come after it.
fn declares_functions(module: &Module, last: FuncId) -> bool {
    last.index() + 1 < module.functions().len()
}

/// The start and the length of each body.
fn body_extents(module: &Module) -> impl Iterator<Item = (u32, u32)> {
    module.bodies().values().map(|b| (b.base(), b.end()))
}

/// The length of the block at the beginning of a text; of the whole text if the block is not closed.
fn matching_brace(block: &[u8]) -> usize {
    let mut depth = 0usize;
    for offset in memchr::memchr2_iter(b'{', b'}', block) {
        match block.get(offset) {
            Some(b'{') => depth += 1,
            _ if depth <= 1 => return offset + 1,
            _ => depth -= 1,
        }
    }
    block.len()
}

/// The parts of a source.
struct Parts {
    /// For each part, the number of the thread that parses its bodies, + 1; 0 if no thread has reached it.
    threads: Vec<AtomicUsize>,
    /// The length of a part in bytes.
    len: usize,
    /// Whether a thread has failed, so that all threads can stop.
    stop: AtomicBool,
}

impl Parts {
    fn new(source_len: usize, len: usize) -> Self {
        let len = len.max(1);
        Self {
            threads: (0..=source_len / len)
                .map(|_| AtomicUsize::new(0))
                .collect(),
            len,
            stop: AtomicBool::new(false),
        }
    }

    /// Whether `thread` parses the body at `open`. The first thread that asks takes the part of the source with the body.
    fn claim(&self, thread: usize, open: usize) -> bool {
        let Some(part) = self.threads.get(open / self.len) else {
            return true;
        };
        let order = Ordering::Relaxed;
        match part.compare_exchange(0, thread + 1, order, order) {
            Ok(_) => true,
            Err(owner) => owner == thread + 1,
        }
    }
}

/// The visits of one thread.
pub(crate) struct Visits<'s> {
    parts: &'s Parts,
    thread: usize,
    /// The function whose body was just parsed, and the number of names in the module before it.
    parsed: Option<(FuncId, usize)>,
    /// The end of the text whose characters were checked by this thread, or belong to bodies of other threads.
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
            if let Some((function, name_count)) = self.visits.as_mut().and_then(|v| v.parsed.take())
            {
                let module = &mut self.out.module;
                if !visit(module, function, &self.out.body) {
                    return None;
                }
                raw::clear(&mut self.out.body);
                if !declares_functions(module, function) {
                    module.names_mut().truncate(name_count);
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

    /// Parses the body at the cursor for a visit, or skips a body of another thread. `None` if bodies are not visited.
    pub(crate) fn visited_body(&mut self, function: FuncId) -> Option<BodyId> {
        let open = self.cursor.pos;
        let name_count = self.out.module.name_count();
        let visits = self.visits.as_mut()?;
        if visits.parts.claim(visits.thread, open) {
            visits.parsed = Some((function, name_count));
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
        Some(self.out.keep_extent(self.cursor.pos))
    }
}
