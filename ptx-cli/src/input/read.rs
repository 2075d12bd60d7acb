//! Reads a file as a whole.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use ptx_ir::SourceText;

/// Reads a file to where its bytes stay.
pub(crate) fn read_file(path: &Path) -> io::Result<SourceText> {
    #[cfg(target_os = "linux")]
    if let Some(source) = large::read(path)? {
        return Ok(source);
    }
    fs::read(path).map(SourceText::from)
}

/// The longest text that [`read_limited`] reads.
const LONGEST: u64 = 1 << 28;

/// Reads a text that is not PTX, such as ptxkit.toml or a baseline, of at most 256 MiB.
pub(crate) fn read_limited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut file = fs::File::open(path)?.take(LONGEST + 1);
    if file.read_to_string(&mut text)? as u64 > LONGEST {
        let most = LONGEST >> 20;
        return Err(io::Error::other(format!("longer than {most} MiB")));
    }
    Ok(text)
}

#[cfg(target_os = "linux")]
mod large {
    use std::fs::{self, File};
    use std::io;
    use std::os::unix::fs::FileExt as _;
    use std::path::Path;

    use memmap2::{Advice, MmapMut};
    use ptx_ir::SourceText;
    use rayon::prelude::*;

    /// A larger file is read by several threads, which share the page faults, into huge pages. A vector would be filled with
    /// zeros first.
    const LARGE: usize = 1 << 20;

    /// How much a thread reads at a time.
    const CHUNK: usize = LARGE / 2;

    /// The size of a huge page; memory that has whole pages begins with one.
    const PAGE: usize = 1 << 21;

    /// Memory of which a file takes the beginning.
    struct Mapped {
        memory: MmapMut,
        len: usize,
    }

    impl AsRef<[u8]> for Mapped {
        fn as_ref(&self) -> &[u8] {
            self.memory.get(..self.len).unwrap_or_default()
        }
    }

    /// Reads a large file; `None` if it is another, or if its length changes.
    pub(super) fn read(path: &Path) -> io::Result<Option<SourceText>> {
        let len = usize::try_from(fs::metadata(path)?.len()).unwrap_or(0);
        if len <= LARGE {
            return Ok(None);
        }
        let file = File::open(path)?;
        let mut memory = MmapMut::map_anon(len.next_multiple_of(PAGE))?;
        // Without huge pages, it only takes longer.
        let _ = memory.advise(Advice::HugePage);
        let bytes = memory.get_mut(..len).unwrap_or_default();
        let chunks = bytes.par_chunks_mut(CHUNK).enumerate();
        let read = chunks.try_for_each(|(i, chunk)| file.read_exact_at(chunk, (i * CHUNK) as u64));
        let is_whole = read.is_ok() && file.read_at(&mut [0], len as u64)? == 0;
        Ok(is_whole.then(|| SourceText::from_owner(Mapped { memory, len })))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::env;

    use super::*;

    /// Lengths around those of chunks and huge pages.
    const LENGTHS: [usize; 8] = [
        0,
        1,
        1 << 20,
        (1 << 20) + 1,
        1 << 21,
        (1 << 21) + 1,
        5_000_000,
        3 << 21,
    ];

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let path = env::temp_dir().join(format!("ptxkit-read-{}", std::process::id()));
        for len in LENGTHS {
            let bytes: Vec<u8> = (0..len).map(|i| (i * 31 + i / 251) as u8).collect();
            fs::write(&path, &bytes).unwrap();
            assert!(read_file(&path).unwrap()[..] == bytes[..], "{len}");
        }
        fs::remove_file(&path).unwrap();
        assert!(read_file(&path).is_err());
    }

    /// Such files have contents, but no length.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_length_of_a_file_may_be_unknown() {
        let status = read_file(Path::new("/proc/self/status")).unwrap();
        assert!(status.starts_with(b"Name:"));
    }
}
