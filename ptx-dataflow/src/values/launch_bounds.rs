//! Bounds on the launches of a kernel, from its directives.

use ptx_ir::facts::FunctionFacts;
use ptx_isa::Directive;

/// The maximum number of threads of a CTA in each dimension and in total.
const MOST: [u32; 3] = [1024, 1024, 64];
const MOST_TOGETHER: u32 = 1024;
/// The number of threads of a whole warp.
const LANES: u32 = 32;

/// The CTA sizes that a kernel allows.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct LaunchBounds {
    /// The number of threads in each dimension, if only one size is allowed.
    pub threads: Option<[u32; 3]>,
    /// The maximum number of threads.
    pub most: u32,
}

impl LaunchBounds {
    /// Any size.
    pub const ANY: Self = Self {
        threads: None,
        most: MOST_TOGETHER,
    };

    /// The bounds from the directives `.reqntid` and `.maxntid` of a function.
    #[must_use]
    pub fn of(facts: FunctionFacts<'_>) -> Self {
        let module = facts.module();
        let mut bounds = Self::ANY;
        let Some(function) = module.functions().get(facts.id()) else {
            return bounds;
        };
        let directives = function.interface.directives;
        for directive in directives.of(module.interface_directives()) {
            let mut sizes = [1u32; 3];
            let arguments = module.pool().slice(directive.args);
            for (size, &argument) in sizes.iter_mut().zip(arguments) {
                let value = module.pool().integer(argument);
                *size = value.and_then(|v| u32::try_from(v).ok()).unwrap_or(0);
            }
            let product = sizes.iter().try_fold(1u32, |all, &n| all.checked_mul(n));
            let Some(product @ 1..) = product else {
                continue;
            };
            match directive.directive {
                Directive::Reqntid => {
                    bounds.threads = Some(sizes);
                    bounds.most = product;
                }
                // It is the product that is not exceeded.
                Directive::Maxntid => bounds.most = bounds.most.min(product),
                _ => {}
            }
        }
        bounds
    }

    /// The maximum number of threads of a warp: fewer than 32 only if CTAs are smaller than a warp.
    ///
    /// ```
    /// use ptx_dataflow::values::LaunchBounds;
    /// assert_eq!(LaunchBounds::ANY.lanes(), 32);
    /// ```
    #[must_use]
    pub const fn lanes(&self) -> u32 {
        match self.most {
            0 => 1,
            most @ 1..LANES => most,
            _ => LANES,
        }
    }

    /// The maximum number of threads in a dimension.
    pub(super) fn most_threads(&self, dimension: usize) -> u32 {
        match self.threads {
            Some(threads) => threads.get(dimension).copied().unwrap_or(1).max(1),
            None => MOST
                .get(dimension)
                .copied()
                .unwrap_or(1)
                .min(self.most.max(1)),
        }
    }
}
