//! Cooperative launches: the number of CTAs that are resident at the same time.

use crate::error::RunError;
use crate::launch::Cooperative;

/// What a multiprocessor of an architecture has, as the CUDA programming guide lists it.
#[derive(Copy, Clone, Debug)]
struct Multiprocessor {
    threads: u32,
    blocks: u32,
    /// Bytes of shared memory.
    shared: u64,
    /// Bytes of shared memory that the system reserves for each CTA.
    reserved: u64,
}

impl Multiprocessor {
    /// The multiprocessors of an architecture with a number such as 90. Later ones are like the last one.
    const fn of(architecture: u32) -> Self {
        let (threads, blocks, kibibytes) = match architecture {
            ..75 => (2048, 32, 96),
            75..80 => (1024, 16, 64),
            80 => (2048, 32, 164),
            87 => (1536, 16, 164),
            81..89 => (1536, 16, 100),
            89 => (1536, 24, 100),
            90..110 => (2048, 32, 228),
            110..120 => (1536, 24, 228),
            _ => (1536, 24, 100),
        };
        Self {
            threads,
            blocks,
            shared: kibibytes << 10,
            reserved: if architecture < 80 { 0 } else { 1 << 10 },
        }
    }

    /// The number of CTAs with a number of threads and bytes of shared memory that fit.
    fn blocks(self, threads: u32, shared: u64) -> u64 {
        let by_threads = u64::from(self.threads / threads.next_multiple_of(32).max(32));
        let by_shared = match shared + self.reserved {
            0 => u64::MAX,
            bytes => self.shared / bytes,
        };
        u64::from(self.blocks).min(by_threads).min(by_shared)
    }
}

/// Checks that all CTAs of a cooperative launch fit on the device at the same time.
pub(super) fn check(
    cooperative: Cooperative,
    architecture: u32,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u64,
) -> Result<(), RunError> {
    let threads: u32 = block.iter().product();
    let count = grid
        .iter()
        .fold(1u64, |count, &n| count.saturating_mul(n.into()));
    let of_multiprocessor = Multiprocessor::of(architecture).blocks(threads, shared);
    let multiprocessors = cooperative.multiprocessors;
    let most = of_multiprocessor * u64::from(multiprocessors);
    if count <= most {
        return Ok(());
    }
    Err(RunError::impossible(format!(
        "the CTAs of a cooperative launch are resident at the same time: expected at most {most} \
         ({multiprocessors} multiprocessors with {of_multiprocessor} each), found {count}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_decides() {
        let blocks = |architecture, threads, shared| {
            Multiprocessor::of(architecture).blocks(threads, shared)
        };
        // 32 CTAs; 2048 threads; 228 KiB with 1 KiB for the system.
        assert_eq!(blocks(90, 1, 0), 32);
        assert_eq!(blocks(90, 65, 0), 21);
        assert_eq!(blocks(90, 1024, 0), 2);
        assert_eq!(blocks(90, 32, 56 << 10), 4);
        assert_eq!(blocks(90, 32, 227 << 10), 1);
        assert_eq!(blocks(90, 32, 228 << 10), 0);
        assert_eq!(blocks(75, 1024, 0), 1);
        assert_eq!(blocks(75, 32, 64 << 10), 1);
        assert_eq!(blocks(120, 1024, 0), 1);
        assert_eq!(blocks(86, 32, 0), 16);
    }
}
