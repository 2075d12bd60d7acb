//! Work on the functions of a module, on several threads with the feature `parallel`.

use alloc::vec::Vec;

use crate::{FuncId, Module};

/// The least that is worth another thread, in bytes of source.
#[cfg(feature = "parallel")]
const LEAST: u32 = 1 << 16;

/// Calls `work` for runs of consecutive functions that have bodies, and gives all results in the order of the functions. Where
/// one run ends and the next begins depends on the number of threads.
///
/// ```
/// let module = ptx_parse::parse(b".func f() { ret; }\n.func g();\n.func h() { ret; }").module;
/// let name = |f| module.function_name(f);
/// let names = ptx_ir::parallel::map_functions(&module, |run| run.iter().map(|f| name(*f)).collect());
/// assert_eq!(names, ["f", "h"]);
/// ```
#[cfg_attr(not(feature = "parallel"), inline)]
pub fn map_functions<T: Send>(
    module: &Module,
    work: impl Fn(&[FuncId]) -> Vec<T> + Sync,
) -> Vec<T> {
    let functions: Vec<FuncId> = module.definitions().map(|(id, ..)| id).collect();
    map_some(module, &functions, work)
}

/// [`map_functions`] for some of the functions.
#[cfg_attr(not(feature = "parallel"), inline)]
pub fn map_some<T: Send>(
    module: &Module,
    functions: &[FuncId],
    work: impl Fn(&[FuncId]) -> Vec<T> + Sync,
) -> Vec<T> {
    #[cfg(feature = "parallel")]
    {
        use rayon::prelude::*;
        let runs = runs(module, functions);
        if runs.len() > 1 {
            let results: Vec<Vec<T>> = runs.into_par_iter().map(&work).collect();
            return results.into_iter().flatten().collect();
        }
    }
    let _ = module;
    work(functions)
}

/// The number of threads.
#[must_use]
pub fn threads() -> usize {
    #[cfg(feature = "parallel")]
    return rayon::current_num_threads();
    #[cfg(not(feature = "parallel"))]
    1
}

/// Calls `work` with the numbers from 0 on, each on another thread if there are as many, and gives all results.
pub fn repeat<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    #[cfg(feature = "parallel")]
    if count > 1 {
        use rayon::prelude::*;
        return (0..count).into_par_iter().map(&work).collect();
    }
    (0..count).map(work).collect()
}

/// Calls both functions and gives both results.
#[cfg(feature = "parallel")]
pub fn join<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    rayon::join(first, second)
}

/// Calls both functions and gives both results.
#[cfg(not(feature = "parallel"))]
#[inline]
pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    (first(), second())
}

/// Divides functions into runs of about the same length of text, a few for each thread; none where one thread does all.
#[cfg(feature = "parallel")]
fn runs<'f>(module: &Module, functions: &'f [FuncId]) -> Vec<&'f [FuncId]> {
    let len = |f: &FuncId| module.body(*f).map_or(0, |b| b.end);
    let all = (functions.iter().map(len)).fold(0, u32::saturating_add);
    if all < 2 * LEAST {
        // Without starting any threads.
        return Vec::new();
    }
    let most = match threads() as u32 {
        1 => return Vec::new(),
        threads => (all / (threads * 2)).max(LEAST),
    };
    let (mut runs, mut rest) = (Vec::new(), functions);
    while !rest.is_empty() {
        let mut bytes = 0u32;
        let fits = |f: &&FuncId| {
            let first = bytes == 0;
            bytes = bytes.saturating_add(len(f).max(1));
            first || bytes <= most
        };
        let (run, after) = rest.split_at(rest.iter().take_while(fits).count());
        runs.push(run);
        rest = after;
    }
    runs
}
