//! Work on the functions of a module, on several threads with the feature `parallel`.

#[cfg(feature = "parallel")]
extern crate std;

use alloc::vec::Vec;
#[cfg(feature = "parallel")]
use std::sync::{Mutex, PoisonError};

use crate::{FuncId, Module};

/// The minimum length of a run in bytes of source. A thread for a shorter run would cost more time than it saves.
#[cfg(feature = "parallel")]
const MIN_RUN_BYTES: u32 = 1 << 16;

/// Calls `work` for runs of consecutive functions that have bodies, and returns all results in the order of the functions. The
/// number of threads determines the lengths of the runs.
///
/// ```
/// let module = ptx_parse::parse(b".func f() { ret; }\n.func g();\n.func h() { ret; }").module;
/// let name = |f| module.function_name(f);
/// let names = ptx_ir::raw::parallel::map_functions(&module, |run| run.iter().map(|f| name(*f)).collect());
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
        let runs = runs(module, functions);
        if runs.len() > 1 {
            let results = repeat_on_threads(runs.len(), |index| work(runs[index]));
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

/// Calls `work` with each number below `count`, if possible on separate threads, and returns all results in order.
pub fn repeat<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    #[cfg(feature = "parallel")]
    if count > 1 {
        return repeat_on_threads(count, work);
    }
    (0..count).map(work).collect()
}

/// Calls `work` with each number below `count` on separate threads, and returns all results in order.
#[cfg(feature = "parallel")]
fn repeat_on_threads<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut results: Vec<Mutex<Option<T>>> = Vec::new();
    results.resize_with(count, Mutex::default);
    for_each(count, &|index| {
        let result = work(index);
        *results[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    results
        .into_iter()
        .filter_map(|cell| cell.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Calls a function with each number below `count` on the threads of rayon. The function is called through a pointer, so that the code of rayon is compiled
/// once instead of once for each function.
#[cfg(feature = "parallel")]
fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    (0..count).into_par_iter().for_each(work);
}

/// Calls both functions and returns both results.
#[cfg(feature = "parallel")]
pub fn join<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    rayon::join(first, second)
}

/// Calls both functions and returns both results.
#[cfg(not(feature = "parallel"))]
#[inline]
pub fn join<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
    (first(), second())
}

/// Divides functions into runs of about the same length of text, a few for each thread. Returns no runs if one thread is enough.
#[cfg(feature = "parallel")]
fn runs<'f>(module: &Module, functions: &'f [FuncId]) -> Vec<&'f [FuncId]> {
    let body_len = |f: &FuncId| module.body(*f).map_or(0, |b| b.end);
    let total_len = functions.iter().map(body_len).fold(0, u32::saturating_add);
    // Checked first, as the number of threads is only known once they are started.
    if total_len < 2 * MIN_RUN_BYTES {
        return Vec::new();
    }
    let threads = threads() as u32;
    if threads == 1 {
        return Vec::new();
    }
    let max_run_len = (total_len / (threads * 2)).max(MIN_RUN_BYTES);
    let mut runs = Vec::new();
    let (mut start, mut run_len) = (0, 0u32);
    for (index, function) in functions.iter().enumerate() {
        run_len = run_len.saturating_add(body_len(function).max(1));
        if index > start && run_len > max_run_len {
            runs.push(&functions[start..index]);
            start = index;
            run_len = body_len(function).max(1);
        }
    }
    runs.push(&functions[start..]);
    runs
}
