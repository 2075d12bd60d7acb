//! Finds PTX in binary files.
//!
//! The CUDA compiler puts PTX and machine code for several targets into a *fatbin*, and the fatbin into an object, a library or an executable. [`entries`]
//! lists the entries of the fatbins of a file:
//!
//! | file | location of the fatbins |
//! |---|---|
//! | fatbin | the whole file |
//! | ELF executable, library, object | sections `.nv_fatbin` and `__nv_relfatbin` |
//! | PE executable and DLL, COFF object | sections `.nv_fatb…` |
//! | archive (`.a`, `.lib`) | each member |
//! | text of `cuobjdump -ptx` | after each heading, one module |
//! | other binary file, or a file without these sections | the whole file, at multiples of 8 bytes |
//!
//! Several fatbins may follow each other. A gzip file has to be decompressed by [`gunzip`] first, and a zip archive by [`unzip`]; [`unpack`] does both.
//! [`InputFormat::of`] recognizes all of these formats, and formats that are often confused with them.
//!
//! # Untrusted files
//!
//! No input leads to a panic. [`entries`] needs time linear in the size of the file, and memory for one entry at a time. Decompression has a limit, and
//! never allocates more than a small multiple of it, independent of the sizes that the file states.
//!
//! # Example
//!
//! ```
//! use ptx_container::{DEFAULT_LIMIT, EntryKind, InputFormat, entries};
//!
//! let bytes = include_bytes!("../tests/data/size.fatbin");
//! assert_eq!(InputFormat::of(bytes), InputFormat::Fatbin);
//! for entry in entries(bytes) {
//!     let entry = entry?;
//!     if entry.kind() == EntryKind::Ptx {
//!         assert_eq!((entry.name().as_str(), entry.version()), ("1.sm_90.ptx", (9, 2)));
//!         let text = entry.content(bytes, DEFAULT_LIMIT)?;
//!         assert!(text.starts_with(b"\n") && text.ends_with(b"}\n\n"));
//!     }
//! }
//! # Ok::<(), ptx_container::ContainerError>(())
//! ```
#![forbid(unsafe_code)]

mod archive;
mod content;
mod dump;
mod entry;
mod error;
mod fatbin;
mod format;
mod little_endian;
mod regions;
mod unpack;
mod zip;

pub use content::{DEFAULT_LIMIT, gunzip};
pub use entry::{Compression, ContainerEntry, EntryKind};
pub use error::ContainerError;
pub use fatbin::{Entries, entries};
pub use format::InputFormat;
pub use unpack::{Unpacked, unpack};
pub use zip::unzip;
