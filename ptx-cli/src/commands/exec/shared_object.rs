//! Shared objects without code that load another library: they have a name and a version definition, and need that library.
//!
//! Programs that NVIDIA's compiler linked ask for functions of the version `libcudart.so.13`. The loader looks up the version in the library of that name, and the
//! functions in all libraries: an object with the version that needs the library with the functions is enough.

/// The machine code of a shared object, which is empty.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
}

impl Architecture {
    /// The architecture of this program; `None` for others.
    pub(super) const fn current() -> Option<Self> {
        if cfg!(target_arch = "x86_64") {
            Some(Self::X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Some(Self::Aarch64)
        } else {
            None
        }
    }

    const fn number(self) -> u16 {
        match self {
            Self::X86_64 => 62,
            Self::Aarch64 => 183,
        }
    }
}

/// A shared object to write.
#[derive(Copy, Clone, Debug)]
pub(super) struct SharedObject<'a> {
    pub(super) architecture: Architecture,
    /// Its name.
    pub(super) name: &'a str,
    /// The path of the library that it needs, if it does.
    pub(super) needed: Option<&'a str>,
    /// The version that it defines, if it does.
    pub(super) version: Option<&'a str>,
}

/// The largest size of a page of the supported architectures.
const PAGE: u64 = 0x10000;
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
/// The size of a symbol.
const SYMBOL: u64 = 24;

const LOADED: u32 = 1;
const DYNAMIC: u32 = 2;
/// The permissions of the stack, without which the loader makes the stack executable.
const STACK: u32 = 0x6474_e551;
const READ_WRITE: u32 = 6;

/// The tags of the dynamic section.
mod tag {
    pub(super) const END: u64 = 0;
    pub(super) const NEEDED: u64 = 1;
    pub(super) const HASH: u64 = 4;
    pub(super) const STRINGS: u64 = 5;
    pub(super) const SYMBOLS: u64 = 6;
    pub(super) const STRINGS_SIZE: u64 = 10;
    pub(super) const SYMBOL_SIZE: u64 = 11;
    pub(super) const NAME: u64 = 14;
    pub(super) const SYMBOL_VERSIONS: u64 = 0x6fff_fff0;
    pub(super) const VERSIONS: u64 = 0x6fff_fffc;
    pub(super) const VERSION_COUNT: u64 = 0x6fff_fffd;
}

/// Strings that end with zero bytes, which other sections refer to by offset.
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u32 {
        let offset = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        offset
    }
}

/// The hash of the name of a version. System V Application Binary Interface, chapter 5.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0u32, |hash, byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

/// Appends a section at a multiple of 8, and returns its offset, which is also its address.
fn append(file: &mut Vec<u8>, section: &[u8]) -> u64 {
    file.resize(file.len().next_multiple_of(8), 0);
    let offset = file.len() as u64;
    file.extend_from_slice(section);
    offset
}

/// The bytes of numbers, one after the other.
fn words<const N: usize>(numbers: [u32; N]) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// A version definition with one name.
fn version(is_base: bool, index: u16, name: &str, offset: u32, next: u32) -> Vec<u8> {
    let halves = [1, u16::from(is_base), index, 1];
    let mut bytes: Vec<u8> = halves.into_iter().flat_map(u16::to_le_bytes).collect();
    // The names follow the definition after its 20 bytes.
    bytes.extend(words([hash(name), 20, next, offset, 0]));
    bytes
}

impl SharedObject<'_> {
    /// The bytes of the file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut strings = Strings(vec![0]);
        let name = strings.add(self.name);
        let needed = self.needed.map(|needed| strings.add(needed));
        let defined = self.version.map(|version| (version, strings.add(version)));
        let mut file = vec![0; HEADER + 3 * PROGRAM_HEADER];
        let strings_offset = append(&mut file, &strings.0);
        // The first symbol, which is that of no name, and a hash table with one empty bucket and one chain.
        let symbols = append(&mut file, &[0; SYMBOL as usize]);
        let hashes = append(&mut file, &words([1, 1, 0, 0]));
        let mut entries = vec![(tag::NAME, u64::from(name))];
        entries.extend(needed.map(|needed| (tag::NEEDED, u64::from(needed))));
        entries.extend([
            (tag::HASH, hashes),
            (tag::STRINGS, strings_offset),
            (tag::SYMBOLS, symbols),
            (tag::STRINGS_SIZE, strings.0.len() as u64),
            (tag::SYMBOL_SIZE, SYMBOL),
        ]);
        if let Some((defined, offset)) = defined {
            let mut definitions = version(true, 1, self.name, name, 28);
            definitions.extend(version(false, 2, defined, offset, 0));
            let versions = append(&mut file, &definitions);
            let symbol_versions = append(&mut file, &[0; 2]);
            entries.extend([
                (tag::VERSIONS, versions),
                (tag::VERSION_COUNT, 2),
                (tag::SYMBOL_VERSIONS, symbol_versions),
            ]);
        }
        entries.push((tag::END, 0));
        let dynamic: Vec<u8> = entries
            .iter()
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
            .collect();
        let dynamic_offset = append(&mut file, &dynamic);
        let size = file.len() as u64;
        let headers = [
            program_header(LOADED, 0, size, PAGE),
            program_header(DYNAMIC, dynamic_offset, dynamic.len() as u64, 8),
            program_header(STACK, 0, 0, 16),
        ];
        let head = [self.header(), headers.concat()].concat();
        file.splice(..head.len(), head);
        file
    }

    /// The header of a file with 64-bit addresses and three program headers.
    fn header(&self) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(16, 0);
        let shared_object = 3u16;
        bytes.extend(shared_object.to_le_bytes());
        bytes.extend(self.architecture.number().to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        for address in [0, HEADER as u64, 0] {
            bytes.extend(address.to_le_bytes());
        }
        bytes.extend(0u32.to_le_bytes());
        for number in [HEADER as u16, PROGRAM_HEADER as u16, 3, 64, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }
}

/// A program header of a part of the file.
fn program_header(kind: u32, offset: u64, size: u64, alignment: u64) -> Vec<u8> {
    let mut bytes = words([kind, READ_WRITE]);
    for number in [offset, offset, offset, size, size, alignment] {
        bytes.extend(number.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panics")]

    use super::*;

    fn u64_at(bytes: &[u8], offset: usize) -> u64 {
        u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap())
    }

    #[test]
    fn the_hash_is_that_of_the_abi() {
        // From the version needs of a program that the linker made.
        assert_eq!(hash("GLIBC_2.2.5"), 0x0969_1a75);
        assert_eq!(hash("GLIBC_2.34"), 0x0696_91b4);
    }

    #[test]
    fn the_dynamic_section_names_the_library() {
        let object = SharedObject {
            architecture: Architecture::X86_64,
            name: "libcudart.so.13",
            needed: Some("/lib/libptx_cuda.so"),
            version: Some("libcudart.so.13"),
        };
        let bytes = object.bytes();
        let header = HEADER + PROGRAM_HEADER;
        let (offset, size) = (u64_at(&bytes, header + 8), u64_at(&bytes, header + 32));
        let dynamic = &bytes[offset as usize..(offset + size) as usize];
        let value = |wanted| {
            let entries = dynamic.chunks(16);
            let mut matching = entries.filter(|entry| u64_at(entry, 0) == wanted);
            matching.next().map(|entry| u64_at(entry, 8) as usize)
        };
        let text = |offset: usize| {
            let text = &bytes[value(tag::STRINGS).unwrap() + offset..];
            let end = text.iter().position(|byte| *byte == 0).unwrap();
            String::from_utf8_lossy(&text[..end]).into_owned()
        };
        assert_eq!(text(value(tag::NAME).unwrap()), "libcudart.so.13");
        assert_eq!(text(value(tag::NEEDED).unwrap()), "/lib/libptx_cuda.so");
        assert_eq!(value(tag::VERSION_COUNT), Some(2));
        // The second definition has the hash and the name.
        let second = value(tag::VERSIONS).unwrap() + 28;
        let word = |offset: usize| {
            u32::from_le_bytes(
                bytes[second + offset..second + offset + 4]
                    .try_into()
                    .unwrap(),
            )
        };
        assert_eq!(word(8), hash("libcudart.so.13"));
        assert_eq!(text(word(20) as usize), "libcudart.so.13");
    }
}
