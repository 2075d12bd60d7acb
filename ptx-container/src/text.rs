//! Which language a text is written in.

use crate::dump;
use crate::format::InputFormat;

/// How much of a text is searched for words.
const SEARCHED: usize = 1 << 16;

/// Words of C++ and CUDA C++ that PTX does not have.
const CUDA_WORDS: &[&[u8]] = &[
    b"#include",
    b"#pragma",
    b"__global__",
    b"__device__",
    b"__host__",
    b"extern \"C\"",
    b"namespace ",
    b"template",
];
const LLVM_WORDS: &[&[u8]] = &[
    b"; ModuleID",
    b"source_filename = ",
    b"target triple",
    b"target datalayout",
];
/// Lines that start with these are PTX, whatever else there is.
const PTX_LINES: &[&[u8]] = &[b".version", b".target", b".visible", b".entry", b".func"];

pub(crate) fn format(bytes: &[u8]) -> InputFormat {
    if is_utf16(bytes) {
        return InputFormat::Utf16;
    }
    if dump::is_dump(bytes.get(..SEARCHED).unwrap_or(bytes)) {
        return InputFormat::Dump;
    }
    if first_code(bytes)
        .is_some_and(|code| matches!(code, [b'.', next, ..] if next.is_ascii_alphabetic()))
    {
        return InputFormat::Ptx;
    }
    let head = bytes.get(..SEARCHED).unwrap_or(bytes);
    let mut lines = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_start);
    if lines.any(|line| PTX_LINES.iter().any(|word| line.starts_with(word))) {
        InputFormat::Text
    } else if head.iter().take(1024).any(|b| *b == 0) {
        InputFormat::Binary
    } else if contains(head, LLVM_WORDS) {
        InputFormat::LlvmIr
    } else if contains(head, CUDA_WORDS) {
        InputFormat::CudaSource
    } else {
        InputFormat::Text
    }
}

fn contains(text: &[u8], words: &[&[u8]]) -> bool {
    words
        .iter()
        .any(|word| text.windows(word.len()).any(|w| w == *word))
}

/// By its byte order mark, or by zeros beside ASCII characters.
fn is_utf16(bytes: &[u8]) -> bool {
    let ascii = |b: u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    match *bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => bytes.len().is_multiple_of(2),
        [a, 0, b, 0, c, 0, ..] | [0, a, 0, b, 0, c, ..] => [a, b, c].into_iter().all(ascii),
        _ => false,
    }
}

/// The text from its first character outside of comments.
fn first_code(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start();
        let end = match rest {
            [b'/', b'/', ..] => rest.iter().position(|b| *b == b'\n')?,
            [b'/', b'*', inner @ ..] => inner.windows(2).position(|w| w == b"*/")? + 4,
            _ => return Some(rest),
        };
        rest = rest.get(end..)?;
    }
}
