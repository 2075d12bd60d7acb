//! Crafted files need no more memory than the limit allows.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::io::Write as _;

use peakmem_alloc::{PeakMemAlloc, PeakMemAllocTrait as _};
use ptx_container::{ContainerError, DEFAULT_LIMIT, entries, gunzip};
use ptx_ir::Code;

#[global_allocator]
static ALLOCATOR: PeakMemAlloc<std::alloc::System> = PeakMemAlloc::new(std::alloc::System);

/// A fatbin with one PTX entry.
fn fatbin(flags: u64, payload: &[u8], size: u64) -> Vec<u8> {
    let mut entry = vec![0; 64];
    entry[..8].copy_from_slice(&[1, 0, 1, 1, 64, 0, 0, 0]);
    entry[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    entry[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    entry[40..48].copy_from_slice(&flags.to_le_bytes());
    entry[56..].copy_from_slice(&size.to_le_bytes());
    let mut bytes = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    bytes.extend((64 + payload.len() as u64).to_le_bytes());
    bytes.extend(entry);
    bytes.extend(payload);
    bytes
}

/// Blocks of 128 KiB, each in four bytes.
fn zstd_bomb(blocks: usize, window: u8) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window];
    for block in 0..blocks {
        let header = (1 << 20) | 2 | u32::from(block + 1 == blocks);
        bytes.extend(&header.to_le_bytes()[..3]);
        bytes.push(b' ');
    }
    bytes
}

/// The code of the error, and the most memory that was in use at once.
fn peak<T>(work: impl FnOnce() -> Result<T, ContainerError>) -> (Option<Code>, usize) {
    ALLOCATOR.reset_peak_memory();
    let code = work().err().map(|e| e.code());
    (code, ALLOCATOR.get_peak_memory())
}

fn content(bytes: &[u8], limit: u64) -> (Option<Code>, usize) {
    peak(|| {
        let entry = entries(bytes).next().unwrap()?;
        entry.content(bytes, limit).map(|content| content.len())
    })
}

// One test: others would allocate at the same time.
#[test]
fn memory_is_bounded() {
    let (zstd, lz4) = (0x8000, 0x2000);
    let limit = 16 << 20;
    let most = 3 * limit as usize + (32 << 20);
    let bomb = zstd_bomb(8000, 13 << 3);
    for (name, bytes, expected) in [
        (
            "more than it says",
            fatbin(zstd, &bomb, 1000),
            Code::CorruptContent,
        ),
        (
            "as much as it says",
            fatbin(zstd, &bomb, 8000 << 17),
            Code::ContentTooLarge,
        ),
        (
            "more than the limit",
            fatbin(zstd, &bomb, limit),
            Code::CorruptContent,
        ),
        (
            "a large window",
            fatbin(zstd, &zstd_bomb(100, 20 << 3), limit),
            Code::CorruptContent,
        ),
        (
            "not as much as it says",
            fatbin(lz4, &[0; 100], limit),
            Code::CorruptContent,
        ),
        (
            "an impossible size",
            fatbin(lz4, &[0; 100], u64::MAX),
            Code::ContentTooLarge,
        ),
        (
            "an impossible size, stored",
            fatbin(0, &[], u64::MAX),
            Code::ContentTooLarge,
        ),
    ] {
        let (code, bytes) = content(&bytes, limit);
        match name {
            "an impossible size, stored" => assert_eq!(code, None),
            _ => assert_eq!(code, Some(expected), "{name}"),
        }
        println!("{name}: {bytes} bytes");
        assert!(bytes <= most, "{name}: {bytes} bytes");
    }
    // Memory is only allocated for what is present, whatever the limit is.
    let (code, bytes) = content(&fatbin(lz4, &[0; 100], DEFAULT_LIMIT), DEFAULT_LIMIT);
    assert_eq!(code, Some(Code::CorruptContent));
    assert!(bytes < 1 << 16, "{bytes} bytes");
    // The honest one is read.
    let honest = fatbin(zstd, &zstd_bomb(100, 13 << 3), 100 << 17);
    let (code, bytes) = content(&honest, limit);
    println!("100 blocks: {bytes} bytes");
    assert!(code.is_none() && bytes <= most, "{bytes} bytes");
    // One segment, whose window is the whole content.
    let mut segment = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    segment.extend((100u32 << 17).to_le_bytes());
    segment.extend(&zstd_bomb(100, 0)[6..]);
    let (code, bytes) = content(&fatbin(zstd, &segment, 100 << 17), limit);
    println!("one segment: {bytes} bytes");
    assert!(code.is_none() && bytes <= most, "{bytes} bytes");

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    for _ in 0..256 {
        gzip.write_all(&[0; 1 << 20]).unwrap();
    }
    let gzip = gzip.finish().unwrap();
    let (code, bytes) = peak(|| gunzip(&gzip, limit));
    assert_eq!(code, Some(Code::ContentTooLarge));
    assert!(bytes <= most, "gzip: {bytes} bytes");
}
