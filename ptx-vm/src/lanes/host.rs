//! The vector instructions of the host.

pub(super) use level::select;

/// x86: a host with AVX2 and FMA executes code for them.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
mod level {
    use std::sync::LazyLock;

    use fearless_simd::{Level, Simd as _};

    static LEVEL: LazyLock<Level> = LazyLock::new(Level::new);

    /// Calls `fused` with a state, compiled for AVX2 and FMA, if the host has them, otherwise `plain`.
    #[inline(always)]
    pub(in crate::lanes) fn select<S, R>(
        state: S,
        fused: impl FnOnce(S) -> R,
        plain: impl FnOnce(S) -> R,
    ) -> R {
        match LEVEL.as_avx2() {
            Some(avx2) => avx2.vectorize(
                #[inline(always)]
                || fused(state),
            ),
            None => plain(state),
        }
    }
}

/// Other hosts: vectors are those that the compiler uses for the target.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
mod level {
    /// Calls `fused` with a state if the host has an instruction that rounds the sum of a product and a number once, otherwise `plain`.
    #[inline(always)]
    pub(in crate::lanes) fn select<S, R>(
        state: S,
        fused: impl FnOnce(S) -> R,
        plain: impl FnOnce(S) -> R,
    ) -> R {
        if cfg!(target_arch = "aarch64") {
            fused(state)
        } else {
            plain(state)
        }
    }
}

/// Calls a function whose loops over lanes are compiled for the vector instructions of the host. What it calls has to be inlined.
#[expect(
    clippy::redundant_closure,
    reason = "a reference to the function may not be inlined"
)]
#[inline(always)]
pub(crate) fn vectorized<S, R>(state: S, function: impl Fn(S) -> R) -> R {
    level::select(
        state,
        #[inline(always)]
        |state| function(state),
        |state| function(state),
    )
}
