//! The shape of a launch: the numbers of CTAs and threads.

use ptx_ir::{FuncId, Module};
use ptx_isa::Directive;

use crate::error::RunError;
use crate::launch::Launch;

/// The cluster size: that of the launch, or else the one that the kernel declares.
pub(crate) fn cluster(module: &Module, kernel: FuncId, launch: &Launch) -> [u32; 3] {
    if launch.cluster != [1; 3] {
        return launch.cluster;
    }
    declared(module, kernel, Directive::Reqnctapercluster).unwrap_or([1; 3])
}

/// The sizes that a directive of a kernel specifies.
fn declared(module: &Module, kernel: FuncId, directive: Directive) -> Option<[u32; 3]> {
    let interface = module.functions().get(kernel)?.interface;
    let declared = interface
        .directives
        .of(module.interface_directives())
        .iter()
        .find(|d| d.directive == directive)?;
    let mut sizes = [1; 3];
    let pool = module.pool();
    let numbers = pool.slice(declared.args).iter().map(|&o| pool.integer(o));
    for (size, number) in sizes.iter_mut().zip(numbers) {
        *size = number.and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
    }
    Some(sizes)
}

/// The threads that a CTA of a kernel may have, as the kernel declares.
pub(crate) fn block_threads(module: &Module, kernel: FuncId) -> u32 {
    let directives = [Directive::Reqntid, Directive::Maxntid];
    let sizes = directives.map(|directive| declared(module, kernel, directive));
    let products = sizes.into_iter().flatten().map(product);
    let limit = products.fold(MAX_THREADS, u128::min);
    limit as u32
}

/// The threads that any CTA may have.
const MAX_THREADS: u128 = 1024;

/// Checks that the CTA size is the one that the kernel declares.
pub(crate) fn check_declared(
    module: &Module,
    kernel: FuncId,
    launch: &Launch,
) -> Result<(), RunError> {
    if let Some([x, y, z]) = declared(module, kernel, Directive::Reqntid)
        && launch.block != [x, y, z]
    {
        return Err(RunError::impossible(format!(
            "the kernel requires CTAs of ({x}, {y}, {z}) threads (`.reqntid`)"
        )));
    }
    Ok(())
}

/// Checks that a launch with clusters of a shape is valid.
pub(crate) fn check(launch: &Launch, cluster: [u32; 3]) -> Result<(), RunError> {
    match fault(launch, cluster) {
        Some(why) => Err(RunError::impossible(why)),
        None => Ok(()),
    }
}

/// The reason why a launch with clusters of a shape is invalid.
fn fault(launch: &Launch, cluster: [u32; 3]) -> Option<&'static str> {
    if !(1..=MAX_THREADS).contains(&product(launch.block)) {
        return Some("a CTA must have 1 to 1024 threads");
    }
    if launch.block[2] > 64 {
        return Some("a CTA can have at most 64 threads in dimension z");
    }
    if launch.grid.contains(&0) || cluster.contains(&0) {
        return Some("a dimension of the grid or cluster is zero");
    }
    let mut dimensions = launch.grid.iter().zip(cluster);
    if dimensions.any(|(&grid, cluster)| grid % cluster != 0) {
        return Some("the grid size is not a multiple of the cluster size");
    }
    if product(cluster) > 16 {
        return Some("a cluster can have at most 16 CTAs");
    }
    let [x, y, z] = launch.grid;
    if x > i32::MAX as u32 || y.max(z) > u32::from(u16::MAX) {
        return Some(
            "a grid can have at most 2^31 - 1 CTAs in dimension x and 65535 in dimensions y and z",
        );
    }
    None
}

/// The product of three sizes, which does not overflow.
fn product(sizes: [u32; 3]) -> u128 {
    sizes.iter().map(|&n| u128::from(n)).product()
}
