//! The C interface of ptxkit. `include/ptxkit.h` is made from this crate, and `docs/c.md` describes it.
//!
//! Pointers of the caller are references of Rust in the signatures: `Option<&T>` is a pointer to a constant that may be null,
//! `Option<Box<T>>` one that is owned, `MaybeUninit<T>` a place that need not be initialized. So nearly all code is checked as usual;
//! what remains unsafe is in [`memory`], besides the attribute of exported names.
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
    ptxkit_string::of(env!("CARGO_PKG_VERSION"))
}

/// Any thread may use and free the objects.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<module::ptxkit_module>();
    shared::<instructions::ptxkit_instructions>();
    shared::<diagnostics::ptxkit_diagnostics>();
    shared::<requirements::ptxkit_requirements>();
    shared::<rewrite::ptxkit_text>();
    shared::<container::ptxkit_container>();
};
