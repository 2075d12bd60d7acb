//! The exported functions that are not implemented, and tables of all functions.

/// Jumps to a function, with all arguments as they are.
#[cfg(target_arch = "x86_64")]
macro_rules! jump_to {
    ($function:path) => {
        core::arch::naked_asm!("jmp {}@PLT", sym $function)
    };
}

/// Jumps to a function, with all arguments as they are.
#[cfg(target_arch = "aarch64")]
macro_rules! jump_to {
    ($function:path) => {
        core::arch::naked_asm!("b {}", sym $function)
    };
}

/// A function that programs ask for by name.
pub(crate) struct Function {
    /// The name, without the suffixes of versions and of per-thread default streams.
    pub(crate) name: &'static str,
    /// The first version of CUDA with this function, 1000 times the major and 10 times the minor version; 0 if programs do not ask for it by version.
    pub(crate) since: u32,
    /// Whether the default stream is one of the thread.
    pub(crate) per_thread: bool,
    /// The function. Its type is not this one.
    pub(crate) address: unsafe extern "C" fn(),
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// The newest function of a table with a name that CUDA has had since `version` or an earlier one.
pub(crate) fn find(
    table: &'static [Function],
    name: &str,
    version: u32,
    per_thread: bool,
) -> Option<&'static Function> {
    let start = table.partition_point(|function| function.name < name);
    let named = table[start..].iter().take_while(|f| f.name == name);
    let known = named.filter(|f| f.since <= version && (per_thread || !f.per_thread));
    known.max_by_key(|f| (f.per_thread, f.since))
}

/// Whether a table has a function with a name, of any version.
pub(crate) fn has(table: &'static [Function], name: &str) -> bool {
    table
        .binary_search_by(|function| function.name.cmp(name))
        .is_ok()
}
