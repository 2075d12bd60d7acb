//! The C interface of ptxkit. cbindgen generates `include/ptxkit.h` from this crate, and `docs/c.md` describes it.
//!
//! The signatures describe pointers of the caller by types of Rust: `Option<&T>` is a pointer to a constant and may be null, `Option<Box<T>>` is an owned
//! pointer, and `MaybeUninit<T>` is memory that need not be initialized. The compiler therefore checks nearly all code as usual. Unsafe code is only in
//! [`memory`], besides the attribute of exported names.
#![allow(
    non_camel_case_types,
    reason = "the names of types are those of the header"
)]

mod container;
mod diagnostics;
mod instructions;
mod memory;
mod module;
mod requirements;
mod rewrite;
mod status;

use memory::ptxkit_string;

/// Returns the version of this library, such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_version() -> ptxkit_string {
    ptxkit_string::new(env!("CARGO_PKG_VERSION"))
}

/// Checks that any thread may use and free the objects.
const _: () = {
    const fn assert_thread_safe<T: Send + Sync>() {}
    assert_thread_safe::<module::ptxkit_module>();
    assert_thread_safe::<instructions::ptxkit_instructions>();
    assert_thread_safe::<diagnostics::ptxkit_diagnostics>();
    assert_thread_safe::<requirements::ptxkit_requirements>();
    assert_thread_safe::<rewrite::ptxkit_text>();
    assert_thread_safe::<container::ptxkit_container>();
};
