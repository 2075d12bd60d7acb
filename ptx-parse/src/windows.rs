//! A large source is parsed in windows: the bodies of a window are complete, and can be dropped, before the next window is parsed. Thus
//! the memory of all bodies is not needed at once, and what looks at them finds them in the cache. While a window is visited, the functions of the
//! next one are parsed.

use alloc::vec::Vec;

use ptx_ir::{EntityId, FuncId, Limits, Module, SourceText, parallel};

use crate::Parsed;
use crate::parallel::{FunctionParser, ParsedFunctions};
use crate::parser::Parser;

/// How a source is divided.
#[derive(Copy, Clone, Debug)]
pub struct Windows {
    /// The length of a window, in bytes of the source.
    pub window: usize,
    /// The length of the parts of a window that are parsed in parallel; `None` for one thread.
    pub part: Option<usize>,
}

/// The parts of a window for each thread: few, because a thread without a part continues with the window before.
const PARTS_PER_THREAD: usize = 2;

impl Windows {
    /// Windows of this length for each thread.
    #[must_use]
    pub fn new(bytes_per_thread: usize) -> Self {
        let window = bytes_per_thread.saturating_mul(parallel::threads());
        Self {
            window,
            part: crate::part_len(window, PARTS_PER_THREAD),
        }
    }
}

/// Parses a source in windows. After each one with functions that have bodies, `visit` gets the module so far and these functions. It may change these
/// bodies: nothing looks at them later. `None` if `visit` gives false, which ends the parsing, if the source has
/// errors, or if it has characters outside of ASCII, even in comments.
#[must_use]
pub fn parse_in_windows(
    source: &SourceText,
    limits: &Limits,
    windows: Windows,
    mut visit: impl FnMut(&mut Module, &[FuncId]) -> bool + Send,
) -> Option<Parsed> {
    if source.len() > limits.source_bytes {
        return None;
    }
    let mut parser = Parser::new(source, source.clone(), *limits);
    parser.byte_order_mark();
    let window_after = |start: usize| {
        let end = start.saturating_add(windows.window.max(1));
        start..window_end(source, end.min(source.len()))
    };
    let ahead = FunctionParser::new(&mut parser, source, windows.part);
    let mut window = window_after(0);
    let mut functions = ahead.functions(window.clone());
    while !window.is_empty() {
        let next = window_after(window.end);
        let this = || {
            let first = parser.out.module.functions().len();
            if !parser.window(window.end, functions) {
                return false;
            }
            let module = &mut parser.out.module;
            let new = (first..module.functions().len()).map(FuncId::from_index);
            let defined: Vec<FuncId> = new.filter(|f| module.body(*f).is_some()).collect();
            defined.is_empty() || visit(module, &defined)
        };
        let is_legal;
        (is_legal, functions) = parallel::join(this, || ahead.functions(next.clone()));
        if !is_legal {
            return None;
        }
        window = next;
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
    /// Parses the items that begin in a window, which ends at `end`. Gives whether it has no errors.
    fn window(&mut self, end: usize, functions: ParsedFunctions) -> bool {
        let is_plain = functions.is_plain;
        self.expect_functions(functions);
        self.items(end);
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
fn window_end(_: &[u8], at: usize) -> usize {
    at
}
