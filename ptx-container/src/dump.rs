//! The text that `cuobjdump -ptx` writes.
//!
//! ```text
//! Fatbin ptx code:              heading
//! ================
//! arch = sm_90                  properties, up to an empty line
//! code version = [9,2]
//!
//! .version 9.2                  the module, up to the next heading
//! ```

use crate::entry::{ContainerEntry, EntryKind, target_flags};

/// The beginning of the line of a heading.
const HEADING_START: &[u8] = b"Fatbin ";
/// The end of the line of a heading.
const HEADING_END: &[u8] = b" code:";

/// Whether a text begins with a heading, or with the name of a member of an archive and a heading.
pub(crate) fn is_dump(bytes: &[u8]) -> bool {
    let mut lines = lines(bytes)
        .map(|(_, line)| line)
        .filter(|line| !line.is_empty());
    let mut line = lines.next();
    if line.is_some_and(|line| line.starts_with(b"member ")) {
        line = lines.next();
    }
    line.is_some_and(|line| heading(line).is_some()) && lines.next().is_some_and(is_rule)
}

/// The modules of a dump, in order. The cost is linear in the size of the dump.
pub(crate) fn entries(bytes: &[u8]) -> Vec<ContainerEntry> {
    let mut entries = Vec::new();
    let mut current: Option<Module> = None;
    let mut fatbins = 0;
    let mut lines = lines(bytes).peekable();
    while let Some((offset, line)) = lines.next() {
        let kind = heading(line).filter(|_| lines.peek().is_some_and(|(_, next)| is_rule(next)));
        if (kind.is_some() || line.starts_with(b"member "))
            && let Some(module) = current.take()
        {
            entries.extend(module.entry(bytes, offset, entries.len()));
        }
        if let Some(kind) = kind {
            current = (kind == b"ptx").then(|| Module::new(offset, fatbins));
            fatbins += 1;
        } else if let Some(module) = &mut current {
            module.add_line(offset, line);
        }
    }
    if let Some(module) = current {
        entries.extend(module.entry(bytes, bytes.len(), entries.len()));
    }
    entries
}

/// The lines of a text without line breaks and spaces at their ends, with their offsets.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut next_start = 0;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |line| {
            let start = next_start;
            next_start += line.len();
            (start, line.trim_ascii_end())
        })
}

/// The kind of code in a heading, such as `ptx` or `elf`; `None` for other lines.
fn heading(line: &[u8]) -> Option<&[u8]> {
    let kind = line
        .strip_prefix(HEADING_START)?
        .strip_suffix(HEADING_END)?;
    kind.iter().all(u8::is_ascii_lowercase).then_some(kind)
}

/// Whether a line is the rule below a heading.
fn is_rule(line: &[u8]) -> bool {
    line.len() >= 8 && line.iter().all(|byte| *byte == b'=')
}

/// A module of which the lines so far were read.
struct Module {
    /// The offset of the heading.
    start: usize,
    /// The index of the fatbin.
    fatbin: usize,
    /// The offset of the text after the properties; `None` while properties are read.
    text: Option<usize>,
    is_after_empty_line: bool,
    version: (u16, u16),
    target: String,
    /// Whether the target is that of the header of the module. The property may lack the letter of the target.
    is_target_of_header: bool,
    identifier: String,
    options: String,
}

impl Module {
    fn new(start: usize, fatbin: usize) -> Self {
        Self {
            start,
            fatbin,
            text: None,
            is_after_empty_line: false,
            version: (0, 0),
            target: String::new(),
            is_target_of_header: false,
            identifier: String::new(),
            options: String::new(),
        }
    }

    fn add_line(&mut self, offset: usize, line: &[u8]) {
        if self.text.is_none() {
            let is_text = line.starts_with(b".") || line.starts_with(b"//");
            if !self.is_after_empty_line && !is_text {
                self.is_after_empty_line = line.is_empty() && offset > self.start;
                self.add_property(line);
                return;
            }
            self.text = Some(offset);
        }
        if !self.is_target_of_header
            && let Some(target) = value(line, ".target")
        {
            let end = target.find([',', ' ', '/']).unwrap_or(target.len());
            self.target = target.get(..end).unwrap_or_default().to_owned();
            self.is_target_of_header = true;
        }
    }

    fn add_property(&mut self, line: &[u8]) {
        if let Some(target) = value(line, "arch =") {
            self.target = target.to_owned();
        } else if let Some(version) = value(line, "code version =") {
            self.version = version
                .trim_matches(['[', ']'])
                .split_once(',')
                .map_or((0, 0), |(major, minor)| {
                    (version_number(major), version_number(minor))
                });
        } else if let Some(identifier) = value(line, "identifier =") {
            self.identifier = identifier.to_owned();
        } else if let Some(options) = value(line, "ptxasOptions =") {
            self.options = options.to_owned();
        }
    }

    /// The entry of the module that ends at `end`; `None` if it has no text. `index` is the number of modules before it.
    fn entry(self, bytes: &[u8], end: usize, index: usize) -> Option<ContainerEntry> {
        let payload = self.text?;
        let text = bytes.get(payload..end)?.trim_ascii_end();
        let is_not_digit = |c: char| !c.is_ascii_digit();
        let digits_and_letter = self.target.trim_start_matches(is_not_digit);
        let digits = digits_and_letter.find(is_not_digit);
        let (sm, letter) = digits_and_letter.split_at(digits.unwrap_or(digits_and_letter.len()));
        Some(ContainerEntry {
            kind: EntryKind::Ptx,
            container: self.fatbin,
            index: 0,
            number: index + 1,
            member: None,
            offset: self.start,
            payload,
            stored: text.len(),
            size: text.len() as u64,
            version: self.version,
            sm: sm.parse().unwrap_or(0),
            flags: target_flags(letter),
            is_compressed: false,
            options: self.options,
            identifier: self.identifier,
        })
    }
}

fn version_number(digits: &str) -> u16 {
    digits.trim().parse().unwrap_or(0)
}

/// The text after a key at the start of a line; `None` if the line does not start with the key.
fn value<'t>(line: &'t [u8], key: &str) -> Option<&'t str> {
    let line = std::str::from_utf8(line).ok()?.trim();
    Some(line.strip_prefix(key)?.trim())
}
