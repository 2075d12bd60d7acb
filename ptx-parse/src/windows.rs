//! A large source is parsed in windows: the bodies of a window are complete, and can be dropped, before the next window is parsed. Thus
//! the memory of all bodies is not needed at once, and what looks at them finds them in the cache.

use alloc::vec::Vec;
use core::ops::Range;

use ptx_ir::{EntityId, FuncId, Limits, Module, SourceText, parallel};

use crate::Parsed;
use crate::parser::{Parser, is_plain};

/// How a source is divided.
#[derive(Copy, Clone, Debug)]
pub struct Windows {
    /// The length of a window, in bytes of the source.
    pub window: usize,
    /// The length of the parts of a window that are parsed in parallel; `None` for one thread.
    pub part: Option<usize>,
}

impl Windows {
    /// Windows of this length, whose parts depend on the number of threads.
    #[must_use]
    pub fn new(window: usize) -> Self {
        Self {
            window,
            part: crate::part_len(window),
        }
    }
}

/// Parses a source in windows. After each one, `visit` gets the module so far and the functions of the window that have bodies. It may change these
/// bodies: nothing looks at them later. `None` if `visit` gives false, which ends the parsing, if the source has
/// errors, or if it has characters outside of ASCII, even in comments.
#[must_use]
pub fn parse_in_windows(
    source: &SourceText,
    limits: &Limits,
    windows: Windows,
    mut visit: impl FnMut(&mut Module, &[FuncId]) -> bool,
) -> Option<Parsed> {
    if source.len() > limits.source_bytes {
        return None;
    }
    let mut parser = Parser::new(source, source.clone(), *limits);
    parser.byte_order_mark();
    let mut end = 0;
    while end < source.len() {
        let first = parser.out.module.functions().len();
        let start = end;
        end = window_end(source, start.saturating_add(windows.window.max(1)));
        if !parser.window(source, start..end, windows.part) {
            return None;
        }
        let module = &mut parser.out.module;
        let new = (first..module.functions().len()).map(FuncId::from_index);
        let defined: Vec<FuncId> = new.filter(|f| module.body(*f).is_some()).collect();
        if !visit(module, &defined) {
            return None;
        }
    }
    parser.end_of_module();
    parser.is_plain = true;
    let (module, _, diagnostics) = parser.finish();
    diagnostics.is_empty().then_some(Parsed {
        module,
        diagnostics,
    })
}

impl Parser<'_> {
    /// Parses the items that begin in a window. Gives whether it has no errors.
    fn window(&mut self, source: &SourceText, window: Range<usize>, part: Option<usize>) -> bool {
        self.parse_ahead(source, window.clone(), part);
        let end = window.end;
        let text = self.cursor.src.get(window).unwrap_or_default();
        let is_plain = || is_plain(text);
        let ((), is_plain) = match part {
            Some(_) => parallel::join(|| self.items(end), is_plain),
            None => (self.items(end), is_plain()),
        };
        let is_legal = is_plain && self.reporter.is_empty();
        if is_legal {
            self.finish_bodies();
        }
        is_legal
    }
}

/// The first function from `at` on: a window that ends in a function would leave it to one thread.
#[cfg(feature = "parallel")]
fn window_end(src: &[u8], at: usize) -> usize {
    crate::parallel::next_function(src, at, src.len()).unwrap_or(src.len())
}

/// Any item ends a window.
#[cfg(not(feature = "parallel"))]
fn window_end(src: &[u8], at: usize) -> usize {
    at.min(src.len())
}
