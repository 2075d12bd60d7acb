//! Text that `cuobjdump -ptx` writes: headings, each with a module after it.

use crate::entry::{ContainerEntry, EntryKind};
use crate::flags_of_target;

/// The beginning of the line above a heading.
const HEADING: &[u8] = b"Fatbin ";
/// Its end.
const MARK: &[u8] = b" code:";

/// Whether a text begins with a heading, or with the name of a member of an archive and a heading.
pub(crate) fn is_dump(bytes: &[u8]) -> bool {
    let mut lines = lines(bytes).map(|(_, line)| line).filter(|l| !l.is_empty());
    let first = lines.next();
    let first = match first {
        Some(line) if line.starts_with(b"member ") => lines.next(),
        line => line,
    };
    first.is_some_and(|line| heading(line).is_some()) && lines.next().is_some_and(is_rule)
}

/// The modules of a dump, in order. Linear in its size.
pub(crate) fn entries(bytes: &[u8]) -> Vec<ContainerEntry> {
    let mut all = Vec::new();
    let mut open: Option<Module> = None;
    let mut fatbins = 0;
    let mut lines = lines(bytes).peekable();
    while let Some((at, line)) = lines.next() {
        let begins = heading(line).filter(|_| lines.peek().is_some_and(|(_, l)| is_rule(l)));
        if begins.is_some() || line.starts_with(b"member ") {
            all.extend(open.take().and_then(|m| m.entry(bytes, at, all.len())));
        }
        if let Some(kind) = begins {
            fatbins += 1;
            open = (kind == b"ptx").then(|| Module::new(at, fatbins - 1));
        } else if let Some(module) = &mut open {
            module.line(at, line);
        }
    }
    all.extend(open.and_then(|m| m.entry(bytes, bytes.len(), all.len())));
    all
}

/// The lines of a text without their ends, and where they begin.
fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    bytes.split_inclusive(|b| *b == b'\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_ascii_end())
    })
}

/// The kind of code that a heading announces: `ptx`, `elf`.
fn heading(line: &[u8]) -> Option<&[u8]> {
    let kind = line.strip_prefix(HEADING)?.strip_suffix(MARK)?;
    kind.iter().all(u8::is_ascii_lowercase).then_some(kind)
}

/// The line below a heading.
fn is_rule(line: &[u8]) -> bool {
    line.len() >= 8 && line.iter().all(|b| *b == b'=')
}

/// A module whose end was not found yet.
struct Module {
    start: usize,
    fatbin: usize,
    /// Where the text begins, after the first empty line of the heading.
    text: Option<usize>,
    after_empty_line: bool,
    version: (u16, u16),
    target: String,
    identifier: String,
    options: String,
    has_target: bool,
}

impl Module {
    fn new(start: usize, fatbin: usize) -> Self {
        Self {
            start,
            fatbin,
            text: None,
            after_empty_line: false,
            version: (0, 0),
            target: String::new(),
            identifier: String::new(),
            options: String::new(),
            has_target: false,
        }
    }

    fn line(&mut self, at: usize, line: &[u8]) {
        if self.text.is_some() {
            // The header of the module has the letter of the target, which the heading may lack.
            if let (false, Some(target)) = (self.has_target, value(line, ".target")) {
                let end = target.find([',', ' ', '/']).unwrap_or(target.len());
                self.target = target.get(..end).unwrap_or_default().to_owned();
                self.has_target = true;
            }
            return;
        }
        if self.after_empty_line || line.starts_with(b".") || line.starts_with(b"//") {
            self.text = Some(at);
            return self.line(at, line);
        }
        self.after_empty_line = line.is_empty() && at > self.start;
        if let Some(arch) = value(line, "arch =") {
            self.target = arch.to_owned();
        } else if let Some(version) = value(line, "code version =") {
            let version = version.trim_matches(['[', ']']);
            let numbers = version.split_once(',');
            let parse = |text: &str| text.trim().parse().unwrap_or(0);
            self.version = numbers.map_or((0, 0), |(a, b)| (parse(a), parse(b)));
        } else if let Some(name) = value(line, "identifier =") {
            self.identifier = name.to_owned();
        } else if let Some(options) = value(line, "ptxasOptions =") {
            self.options = options.to_owned();
        }
    }

    /// The entry of the module that ends at `end`; `None` if it has no text.
    fn entry(self, bytes: &[u8], end: usize, number: usize) -> Option<ContainerEntry> {
        let payload = self.text?;
        let text = bytes.get(payload..end)?.trim_ascii_end();
        let digits = self
            .target
            .trim_start_matches(|c: char| !c.is_ascii_digit());
        let number_end = digits.find(|c: char| !c.is_ascii_digit());
        let (sm, letter) = digits.split_at(number_end.unwrap_or(digits.len()));
        Some(ContainerEntry {
            kind: EntryKind::Ptx,
            container: self.fatbin,
            index: 0,
            number: number + 1,
            member: None,
            offset: self.start,
            payload,
            stored: text.len(),
            size: text.len() as u64,
            version: self.version,
            sm: sm.parse().unwrap_or(0),
            flags: flags_of_target(letter),
            compressed: false,
            options: self.options,
            identifier: self.identifier,
        })
    }
}

/// What follows a word at the start of a line.
fn value<'t>(line: &'t [u8], word: &str) -> Option<&'t str> {
    let line = core::str::from_utf8(line).ok()?.trim();
    Some(line.strip_prefix(word)?.trim())
}
