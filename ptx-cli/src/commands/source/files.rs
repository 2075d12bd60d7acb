//! Finds and reads source files.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::output;
use ptx_report::{clean, counted};

/// The options about the places of sources.
#[derive(Debug, Default, clap::Args)]
pub(in crate::commands) struct Search {
    /// Replace the prefix FROM of source paths by TO. May be repeated; the first matching prefix is used
    #[arg(long = "map", value_name = "FROM=TO", value_parser = map)]
    maps: Vec<(String, String)>,
    /// Search for sources in this directory. May be repeated
    #[arg(long = "source-dir", value_name = "DIR")]
    folders: Vec<PathBuf>,
}

fn map(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() => Ok((from.to_owned(), to.to_owned())),
        _ => Err("expected FROM=TO with two path prefixes".to_owned()),
    }
}

/// The length of the longest path that is looked for.
const MAX_PATH_LEN: usize = 4096;
/// The number of last parts of a path that are looked for in each directory.
const MAX_PARTS: usize = 32;
/// The size of the largest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// The largest number of places that a message names.
const MAX_LISTED: usize = 4;

/// A source file.
#[derive(Debug)]
pub(in crate::commands) struct SourceFile {
    /// The path at which it was found; `None` if the module contains it.
    pub(in crate::commands) path: Option<PathBuf>,
    /// The lines without their ends.
    lines: Vec<String>,
    /// Whether a line was asked for that does not exist.
    is_short: Cell<bool>,
}

impl SourceFile {
    fn new(path: Option<PathBuf>, text: &str) -> Self {
        Self {
            path,
            lines: text
                .lines()
                .map(|line| line.trim_end().replace('\t', "    "))
                .collect(),
            is_short: Cell::new(false),
        }
    }

    /// A line, counted from 1. Once it is reported that there is none.
    pub(in crate::commands) fn line(&self, number: u32) -> Option<&str> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let line = self.lines.get(index).map(String::as_str);
        if line.is_none() && !self.is_short.replace(true) {
            let path = self.path.as_ref().map(|path| path.to_string_lossy());
            output::summary(format_args!(
                "ptxkit: note: {} has {}, but the module refers to line {number}; it may be a different version",
                clean(path.as_deref().unwrap_or("a source in the module")),
                counted(self.lines.len(), "line")
            ));
        }
        line
    }

    /// The lines from a number to another, as far as there are any.
    pub(in crate::commands) fn lines(
        &self,
        range: Range<u32>,
    ) -> impl Iterator<Item = (u32, &str)> {
        range.filter_map(|number| {
            let index = (number as usize).checked_sub(1)?;
            Some((number, self.lines.get(index)?.as_str()))
        })
    }
}

/// The sources that were looked for so far.
pub(in crate::commands) struct Sources<'a> {
    search: &'a Search,
    /// The directory of the PTX file.
    folder: PathBuf,
    /// The texts in the module, by path.
    embedded: HashMap<String, String>,
    /// The sources by path in the PTX file; `None` for one that was not found.
    files: HashMap<String, Option<Rc<SourceFile>>>,
    /// The paths of the sources that were not found, in all PTX files.
    missing: BTreeSet<String>,
}

impl<'a> Sources<'a> {
    pub(in crate::commands) fn new(search: &'a Search) -> Self {
        Self {
            search,
            folder: PathBuf::new(),
            embedded: HashMap::new(),
            files: HashMap::new(),
            missing: BTreeSet::new(),
        }
    }

    /// Continues with another PTX file, which contains these sources.
    pub(in crate::commands) fn enter(
        &mut self,
        ptx: Option<&Path>,
        embedded: HashMap<String, String>,
    ) {
        let folder = ptx.and_then(Path::parent).unwrap_or(Path::new(""));
        if folder != self.folder || embedded != self.embedded {
            self.folder = folder.to_owned();
            self.embedded = embedded;
            self.files.clear();
        }
    }

    /// Reports the sources that were not found, in one line.
    pub(in crate::commands) fn note_missing(&self) {
        let Some(first) = self.missing.first() else {
            return;
        };
        let first = clean(first);
        let missing = match self.missing.len() {
            1 => format!("the source {first} was not found"),
            count => format!("{count} sources were not found, such as {first}"),
        };
        output::summary(format_args!(
            "ptxkit: note: {missing}; --source-dir DIR searches a directory"
        ));
    }

    /// The source of a path in the PTX file, which the module may contain.
    pub(in crate::commands) fn get(&mut self, path: &str) -> Option<Rc<SourceFile>> {
        if let Some(file) = self.files.get(path) {
            return file.clone();
        }
        let file = match (self.find(path), self.embedded.get(path)) {
            (Ok(file), _) => Some(Rc::new(file)),
            (Err(_), Some(text)) => Some(Rc::new(SourceFile::new(None, text))),
            (Err(error), None) => {
                if self.missing.insert(path.to_owned()) {
                    output::detail(format_args!("ptxkit: {}: {error}", clean(path)));
                }
                None
            }
        };
        self.files.insert(path.to_owned(), file.clone());
        file
    }

    fn find(&self, path: &str) -> Result<SourceFile, String> {
        if path.len() > MAX_PATH_LEN {
            return Err("the path is too long".to_owned());
        }
        let candidates = self.candidates(path);
        let Some(file) = candidates.iter().find(|path| path.is_file()) else {
            let listed: Vec<_> = candidates
                .iter()
                .take(MAX_LISTED)
                .map(|path| clean(&path.to_string_lossy()).into_owned())
                .collect();
            let unlisted = match candidates.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                count => format!(" and {count} more places"),
            };
            let listed = listed.join(", ");
            return Err(format!("source not found, searched {listed}{unlisted}"));
        };
        let size = fs::metadata(file).map_or(0, |metadata| metadata.len());
        if size > MAX_FILE_BYTES {
            return Err("the source is too large".to_owned());
        }
        let bytes = fs::read(file).map_err(|error| format!("source not readable: {error}"))?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(SourceFile::new(Some(file.clone()), &text))
    }

    /// The paths at which a source may be, the most likely one first.
    fn candidates(&self, path: &str) -> Vec<PathBuf> {
        let mapped = self.search.maps.iter().find_map(|(from, to)| {
            let suffix = path.strip_prefix(from.as_str())?;
            let is_complete = suffix.is_empty()
                || suffix.starts_with(is_separator)
                || from.ends_with(is_separator);
            is_complete.then(|| PathBuf::from(format!("{to}{suffix}")))
        });
        let mut candidates: Vec<PathBuf> = mapped.into_iter().collect();
        candidates.push(path.into());
        let parts = parts(path);
        let first = parts.len().saturating_sub(MAX_PARTS);
        let default_folders = [self.folder.as_path(), Path::new("")];
        let search_folders = self.search.folders.iter().map(PathBuf::as_path);
        for folder in search_folders.chain(default_folders) {
            for start in first..parts.len() {
                let last_parts = parts.get(start..).unwrap_or_default();
                candidates.push(folder.join(last_parts.join("/")));
            }
        }
        let mut seen = HashSet::new();
        candidates.retain(|path| seen.insert(path.clone()));
        candidates
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\')
}

/// The parts of a path; `..` removes the one before it.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split(is_separator) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_sources_may_be() {
        let search = Search {
            maps: vec![("/build".into(), "src".into()), ("/b".into(), "no".into())],
            folders: vec!["inc".into()],
        };
        let mut sources = Sources::new(&search);
        sources.enter(Some(Path::new("out/k.ptx")), HashMap::new());
        let candidates = |path: &str| {
            let all = sources.candidates(path);
            let all = all
                .iter()
                .map(|p| p.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"));
            all.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            candidates("/build/x/../a.cu"),
            "src/x/../a.cu /build/x/../a.cu inc/build/a.cu inc/a.cu out/build/a.cu out/a.cu build/a.cu a.cu"
        );
        // Only whole directories are mapped.
        assert_eq!(
            candidates("/building/a.cu"),
            "/building/a.cu inc/building/a.cu inc/a.cu out/building/a.cu out/a.cu building/a.cu a.cu"
        );
        #[cfg(not(windows))]
        assert_eq!(
            candidates("C:\\a.cu"),
            "C:\\a.cu inc/C:/a.cu inc/a.cu out/C:/a.cu out/a.cu C:/a.cu a.cu"
        );
        assert_eq!(
            candidates(&"a/".repeat(1000)).split(' ').count(),
            1 + 3 * MAX_PARTS
        );
    }
}
