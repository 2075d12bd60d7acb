//! The shape of a launch: how many CTAs and threads there are.

use ptx_ir::{FuncId, Module};
use ptx_isa::Directive;

use crate::error::{RunError, StopReason};
use crate::launch::Launch;

/// The CTAs of a cluster: those of the launch, or else those that the kernel declares.
pub(crate) fn cluster(module: &Module, kernel: FuncId, launch: &Launch) -> [u32; 3] {
    if launch.cluster != [1; 3] {
        return launch.cluster;
    }
    let interface = module.functions().get(kernel).map(|f| f.interface);
    let directives = interface.map(|i| i.directives).unwrap_or_default();
    let mut directives = directives.of(module.interface_directives()).iter();
    let declared = directives.find(|d| d.directive == Directive::Reqnctapercluster);
    let mut sizes = [1; 3];
    if let Some(declared) = declared {
        let pool = module.pool();
        let numbers = pool.slice(declared.args).iter().map(|&o| pool.integer(o));
        for (size, number) in sizes.iter_mut().zip(numbers) {
            *size = number.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
        }
    }
    sizes
}

/// An error if a launch with clusters of this shape is impossible.
pub(crate) fn check(launch: &Launch, cluster: [u32; 3]) -> Result<(), RunError> {
    let impossible = |why: &str| Err(RunError::new(StopReason::Launch(why.into())));
    let threads = product(launch.block);
    if !(1..=1024).contains(&threads) {
        return impossible("a CTA has 1 to 1024 threads");
    }
    if launch.grid.contains(&0) || cluster.contains(&0) {
        return impossible("a dimension is zero");
    }
    let whole = launch.grid.iter().zip(cluster);
    if whole.clone().any(|(&grid, cluster)| grid % cluster != 0) {
        return impossible("the grid does not consist of whole clusters");
    }
    if product(cluster) > 16 {
        return impossible("a cluster has at most 16 CTAs");
    }
    if product(launch.grid) > u128::from(u64::MAX) {
        return impossible("the grid has more than 2^64 CTAs");
    }
    Ok(())
}

/// The product of three sizes, which does not overflow.
fn product(sizes: [u32; 3]) -> u128 {
    sizes.iter().map(|&n| u128::from(n)).product()
}
