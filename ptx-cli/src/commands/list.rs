//! `ptxkit list`: shows and extracts the PTX in binary files.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use ptx_container::{ContainerEntry, ContainerError, DEFAULT_LIMIT, EntryKind, InputFormat};
use ptx_ir::SourceText;
use serde::Serialize;

use crate::format::{FormatOptions, TextOrJson};
use crate::input;
use crate::input::container::Opened;
use crate::input::{report_unreadable, unreadable};
use crate::output::{self, Out, Status};
use crate::replace::NewFile;
use ptx_report::{SCHEMA, clean, counted};

/// List the PTX and the machine code in fatbins, executables, libraries, objects and archives
///
/// Shows the PTX version, the target, the sizes in bytes and the compression of each module. All other commands accept such files, too,
/// and process all PTX modules in them, or one that is selected with `FILE!NAME`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("json", |arg| arg.help("Write one JSON object per file; the same as --format json")))]
#[command(after_help = "\
Examples:
  ptxkit list libfoo.so
  ptxkit list --json program.exe
  ptxkit list --extract ptx/ libfoo.a
  ptxkit check 'libfoo.so!3.sm_90.ptx'")]
pub(crate) struct Args {
    /// Files, directories (every file with modules in them) or `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    format: FormatOptions<TextOrJson>,
    /// Write the PTX to this directory, as libfoo.3.sm_90.ptx; existing files are not replaced
    #[arg(long, value_name = "DIR")]
    extract: Option<PathBuf>,
    /// Also extract machine code
    #[arg(long, requires = "extract")]
    all: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JsonFile<'a> {
    schema: u32,
    file: &'a str,
    format: &'static str,
    gzip: bool,
    modules: Vec<JsonModule<'a>>,
    errors: Vec<JsonError<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonModule<'a> {
    name: String,
    kind: String,
    fatbin: usize,
    index: usize,
    member: Option<&'a str>,
    offset: u64,
    version: String,
    target: String,
    size: u64,
    stored_size: u64,
    compression: &'static str,
    flags: Vec<&'static str>,
    options: &'a str,
    identifier: &'a str,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonError<'a> {
    code: String,
    member: Option<&'a str>,
    offset: u64,
    message: &'a str,
}

pub(crate) fn run(args: &Args) -> Result<Status> {
    let mut out = Out::new();
    let mut status = Status::Ok;
    if let Some(folder) = &args.extract {
        fs::create_dir_all(folder)
            .with_context(|| clean(&folder.to_string_lossy()).into_owned())?;
    }
    let mut totals = Totals::default();
    let paths = files(&args.files, &mut totals, &mut status);
    for (path, stem) in paths.iter().zip(distinct_stems(&paths)) {
        match read(path).and_then(|bytes| Opened::new(bytes).map_err(io::Error::other)) {
            Ok(opened) => {
                let file = NamedFile { path, stem, opened };
                totals.add(&list(args, &file, &mut out, &mut status)?);
                totals.machine_code += usize::from(file.opened.format == InputFormat::Cubin);
            }
            Err(error) => {
                report_unreadable(&path.to_string_lossy(), &error, &mut out, &mut status)?;
            }
        }
    }
    out.flush()?;
    if paths.len() > 1 || totals.texts > 0 {
        output::success(totals.text(paths.len()));
    }
    Ok(status)
}

/// The number of modules in all files.
#[derive(Default)]
struct Totals {
    ptx: usize,
    machine_code: usize,
    files: usize,
    /// The `.ptx` files in directories, which are not listed.
    texts: usize,
}

impl Totals {
    /// Counts the entries of a file.
    fn add(&mut self, entries: &[ContainerEntry]) {
        let count = |kind| entries.iter().filter(|entry| entry.kind() == kind).count();
        let (ptx, machine_code) = (count(EntryKind::Ptx), count(EntryKind::Cubin));
        self.ptx += ptx;
        self.machine_code += machine_code;
        self.files += usize::from(ptx > 0);
    }

    /// `12 PTX modules in 3 of 5 files, 7 cubins; 4 PTX texts`
    fn text(&self, file_count: usize) -> String {
        let ptx = counted(self.ptx, "PTX module");
        let files = counted(file_count, "file");
        let machine_code = match self.machine_code {
            0 => String::new(),
            count => format!(", {}", counted(count, "cubin")),
        };
        let texts = match self.texts {
            0 => String::new(),
            count => format!("; {}", counted(count, "PTX text")),
        };
        format!("{ptx} in {} of {files}{machine_code}{texts}", self.files)
    }
}

/// The files of the command line, and the files with modules in its directories and their subdirectories, sorted.
fn files(paths: &[PathBuf], totals: &mut Totals, status: &mut Status) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut container_files = input::files_in(path, &mut |folder, error| {
            unreadable(&folder.to_string_lossy(), &error, status);
        });
        let text_count = totals.texts;
        container_files.retain(|path| {
            let is_opened = input::container::is_opened(path);
            let is_text = path.extension().is_some_and(|extension| extension == "ptx");
            totals.texts += usize::from(is_text && !is_opened);
            is_opened
        });
        if container_files.is_empty() && totals.texts == text_count {
            let error = "no file with PTX or machine code in this directory";
            unreadable(&path.to_string_lossy(), &error, status);
        }
        files.extend(container_files);
    }
    files
}

fn read(path: &Path) -> io::Result<SourceText> {
    if path.as_os_str() != "-" {
        return fs::read(path).map(SourceText::from);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// A file that is listed.
struct NamedFile<'a> {
    path: &'a Path,
    /// The first part of the names of extracted files: `libfoo` in `libfoo.3.sm_90.ptx`.
    stem: String,
    opened: Opened,
}

/// For each path, its last part without the extension. Paths for which these are equal, even if only letter case differs, get the last
/// part with the extension, and as many directories before it as distinguish them: `debug_libfoo.so` and `release_libfoo.so`.
fn distinct_stems(paths: &[PathBuf]) -> Vec<String> {
    let mut stems: Vec<String> = paths
        .iter()
        .map(|path| {
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    // Some file systems do not distinguish upper from lower case.
    let mut keys: Vec<String> = stems.iter().map(|stem| stem.to_lowercase()).collect();
    for part_count in 1.. {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for key in &keys {
            *counts.entry(key).or_default() += 1;
        }
        let ambiguous: Vec<usize> = (0..keys.len())
            .filter(|&index| counts[&*keys[index]] > 1)
            .collect();
        let mut is_changed = false;
        for index in ambiguous {
            if let Some(stem) = last_parts(&paths[index], part_count) {
                keys[index] = stem.to_lowercase();
                stems[index] = stem;
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    stems
}

/// The last parts of a path, joined by `_`; `None` if it has fewer.
fn last_parts(path: &Path, count: usize) -> Option<String> {
    let parts: Vec<_> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy()),
            _ => None,
        })
        .collect();
    Some(parts.get(parts.len().checked_sub(count)?..)?.join("_"))
}

/// Lists the entries of a file, and extracts those that the options select.
fn list(
    args: &Args,
    NamedFile {
        path,
        stem,
        opened: file,
    }: &NamedFile<'_>,
    out: &mut Out,
    status: &mut Status,
) -> Result<Vec<ContainerEntry>> {
    let (entries, errors) = file.entries();
    let name = clean(&path.to_string_lossy()).into_owned();
    if args.format.is_json() {
        out.json(&JsonFile {
            schema: SCHEMA,
            file: &name,
            format: file.format_name,
            gzip: file.is_gzip,
            modules: entries.iter().map(json).collect(),
            errors: errors.iter().map(json_error).collect(),
        })?;
    } else {
        writeln!(out, "{name}: {}", file.description)?;
        write_entries(&entries, out)?;
    }
    out.flush()?;
    for error in &errors {
        unreadable(&name, error, status);
    }
    // In a directory, files without PTX are expected.
    let is_requested = args.files.iter().any(|requested| requested == path);
    if entries.is_empty() && errors.is_empty() && !file.is_text() && is_requested {
        unreadable(&name, &file.refusal(0), status);
    }
    if let Some(folder) = &args.extract {
        let is_extracted = |entry: &ContainerEntry| match entry.kind() {
            EntryKind::Ptx => true,
            EntryKind::Cubin => args.all,
            _ => false,
        };
        let mut written = 0;
        for entry in entries.iter().filter(|entry| is_extracted(entry)) {
            let path = folder.join(format!("{stem}.{}", entry.name()));
            match extract(file, entry, &path) {
                Ok(()) => written += 1,
                Err(error) => unreadable(&path.to_string_lossy(), &error, status),
            }
        }
        output::summary(format_args!(
            "{name}: {} written to {}",
            counted(written, "file"),
            folder.display()
        ));
    }
    Ok(entries)
}

/// Writes the content of an entry to a new file.
fn extract(file: &Opened, entry: &ContainerEntry, path: &Path) -> io::Result<()> {
    let content = entry
        .content(&file.bytes, DEFAULT_LIMIT)
        .map_err(io::Error::other)?;
    let mut new_file = NewFile::create(path)?;
    new_file.write_all(&content)?;
    new_file.finish()
}

fn json(entry: &ContainerEntry) -> JsonModule<'_> {
    JsonModule {
        name: entry.name(),
        kind: entry.kind().to_string(),
        fatbin: entry.container(),
        index: entry.index(),
        member: entry.member(),
        offset: entry.offset(),
        version: version(entry),
        target: entry.target(),
        size: entry.size(),
        stored_size: entry.stored_size(),
        compression: entry.compression().name(),
        flags: entry.flag_names(),
        options: entry.options(),
        identifier: entry.identifier(),
    }
}

fn json_error(error: &ContainerError) -> JsonError<'_> {
    JsonError {
        code: error.code().to_string(),
        member: error.member(),
        offset: error.offset(),
        message: error.message(),
    }
}

fn version(entry: &ContainerEntry) -> String {
    let (major, minor) = entry.version();
    format!("{major}.{minor}")
}

const COLUMNS: [&str; 10] = [
    "Name",
    "Version",
    "Size",
    "In file",
    "Compression",
    "Flags",
    "Fatbin",
    "Member",
    "Source",
    "Options",
];

/// Writes a line for each entry. Columns without content are omitted.
fn write_entries(entries: &[ContainerEntry], out: &mut Out) -> io::Result<()> {
    let rows: Vec<[String; COLUMNS.len()]> = entries
        .iter()
        .map(|entry| {
            [
                entry.name(),
                version(entry),
                entry.size().to_string(),
                entry.stored_size().to_string(),
                entry.compression().name().to_owned(),
                entry.flag_names().join(" "),
                entry.container().to_string(),
                clean(entry.member().unwrap_or_default()).into_owned(),
                clean(entry.identifier()).into_owned(),
                clean(entry.options()).into_owned(),
            ]
        })
        .collect();
    let columns: Vec<usize> = (0..COLUMNS.len())
        .filter(|&column| rows.iter().any(|row| !row[column].is_empty()))
        .collect();
    if columns.is_empty() {
        return Ok(());
    }
    let mut table = output::table();
    table.set_header(columns.iter().map(|&column| COLUMNS[column]));
    for row in &rows {
        table.add_row(columns.iter().map(|&column| &row[column]));
    }
    output::align_right(&mut table, &[2, 3]);
    output::write_table(out, &table)
}
