//! Input: files, modules in files, directories and standard input, in the order of the command line.

pub(crate) mod container;

use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ptx_container::{ContainerEntry, DEFAULT_LIMIT, InputFormat};
use ptx_ir::SourceText;
use rayon::prelude::*;

use crate::output::{self, Out, Status};
use crate::render::clean;
use container::{Choice, Opened};

/// The inputs of a command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Files {
    /// Files, directories (every .ptx file in them) or `-` for standard input. A binary file is the PTX that it contains:
    /// `libfoo.so`, `libfoo.so!3.sm_90.ptx` or `libfoo.so!sm_90`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// An input.
pub(crate) struct Input {
    origin: Origin,
    content: Content,
}

/// Where an input comes from.
#[derive(Clone)]
pub(crate) struct Origin {
    /// `None` for standard input.
    file: Option<PathBuf>,
    /// The name of a module in this file.
    module: Option<String>,
    /// Whether the file is the input.
    is_file: bool,
}

enum Content {
    /// That of the file, which is not read yet.
    File,
    /// A file that was read to know what it is.
    Text(SourceText),
    /// An entry of a file.
    Entry(Arc<Opened>, Box<ContainerEntry>),
}

/// The content of an input with its name.
pub(crate) struct Source {
    /// The path with control characters escaped.
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// Its content.
    pub(crate) bytes: SourceText,
}

impl Origin {
    fn new(file: Option<&Path>) -> Self {
        Self {
            file: file.map(Path::to_owned),
            module: None,
            is_file: file.is_some(),
        }
    }

    /// The file that it is, or is in; `None` for standard input.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The file that can be replaced by a result.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| self.is_file)
    }

    /// The file that contains it, if a result cannot replace that.
    pub(crate) fn container(&self) -> Option<&Path> {
        self.file.as_deref().filter(|_| !self.is_file)
    }

    /// Its name, with control characters escaped.
    pub(crate) fn name(&self) -> String {
        let file = self.file.as_ref().map(|path| path.to_string_lossy());
        let file = file.unwrap_or("<stdin>".into());
        match &self.module {
            Some(module) => clean(&format!("{file}!{module}")).into_owned(),
            None => clean(&file).into_owned(),
        }
    }
}

impl Input {
    fn file(path: &Path) -> Self {
        Self {
            origin: Origin::new(Some(path)),
            content: Content::File,
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The size in bytes, as far as it is known before reading.
    fn size(&self) -> u64 {
        match &self.content {
            Content::File => {
                let path = self.origin.file.as_deref();
                path.and_then(|p| fs::metadata(p).ok())
                    .map_or(0, |m| m.len())
            }
            Content::Text(text) => text.len() as u64,
            Content::Entry(_, entry) => entry.size(),
        }
    }

    fn read(&self) -> io::Result<Source> {
        let bytes: SourceText = match &self.content {
            Content::File => {
                let bytes = read_file(self.origin.file.as_deref().unwrap_or(Path::new("-")))?;
                let format = InputFormat::of(&bytes);
                if !container::may_be_ptx(format) {
                    let opened = Opened::new(bytes).map_err(io::Error::other)?;
                    return Err(io::Error::other(opened.refusal(0)));
                }
                bytes.into()
            }
            Content::Text(text) => text.clone(),
            Content::Entry(file, entry) => {
                let content = entry.content(&file.bytes, DEFAULT_LIMIT);
                content.map_err(io::Error::other)?.into_owned().into()
            }
        };
        Ok(Source {
            name: self.origin.name(),
            origin: self.origin.clone(),
            bytes,
        })
    }
}

/// A larger file is read by several threads, which share the page faults.
const LARGE_FILE: usize = 1 << 20;

/// Reads a file to where its bytes stay.
pub(crate) fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let len = fs::metadata(path)?.len();
    let large = usize::try_from(len).ok().filter(|len| *len > LARGE_FILE);
    match large.map(|len| read_large_file(path, len)) {
        Some(Ok(bytes)) => Ok(bytes),
        // It may have changed.
        _ => fs::read(path),
    }
}

#[cfg(unix)]
fn read_large_file(path: &Path, len: usize) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt as _;
    let file = fs::File::open(path)?;
    let mut bytes = vec![0; len];
    let chunks = bytes.par_chunks_mut(LARGE_FILE / 2).enumerate();
    chunks.try_for_each(|(i, chunk)| file.read_exact_at(chunk, (i * (LARGE_FILE / 2)) as u64))?;
    match file.read_at(&mut [0], len as u64)? {
        0 => Ok(bytes),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(not(unix))]
fn read_large_file(path: &Path, _len: usize) -> io::Result<Vec<u8>> {
    fs::read(path)
}

impl Files {
    /// A single input.
    pub(crate) fn one(file: &str) -> Self {
        Self {
            files: vec![file.into()],
        }
    }

    /// Two inputs.
    pub(crate) fn pair(first: &Path, second: &Path) -> Self {
        Self {
            files: vec![first.to_owned(), second.to_owned()],
        }
    }

    /// Lists the inputs. What cannot be listed is reported and worsens the status.
    pub(crate) fn list(&self, status: &mut Status) -> Result<Vec<Input>> {
        if self.files.iter().filter(|f| is_stdin(f)).count() > 1 {
            bail!("`-` can be read only once");
        }
        let mut inputs = Vec::new();
        for file in &self.files {
            if is_stdin(file) {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes)?;
                open(None, bytes, None, &mut inputs, status);
            } else if file.is_dir() {
                let found = walk(file, status);
                if found.is_empty() {
                    unreadable(
                        &file.to_string_lossy(),
                        &"no .ptx file in this directory",
                        status,
                    );
                }
                inputs.extend(found.iter().map(|path| Input::file(path)));
            } else {
                list_file(file, &mut inputs, status);
            }
        }
        Ok(inputs)
    }

    /// Where the result of an input goes in a directory: its path below the directory that it was found in, or its name.
    pub(crate) fn relative(&self, origin: &Origin) -> PathBuf {
        let Some(path) = &origin.file else {
            return match &origin.module {
                Some(module) => format!("stdin.{module}").into(),
                None => "stdin.ptx".into(),
            };
        };
        if !origin.is_file {
            return container::file_name(path, origin.module.as_deref()).into();
        }
        let below = |folder: &PathBuf| {
            path.strip_prefix(folder)
                .ok()
                .filter(|p| !p.as_os_str().is_empty())
        };
        let below = self.files.iter().find_map(below);
        let name = below.or(path.file_name().map(Path::new));
        name.unwrap_or(path).to_owned()
    }

    /// Whether standard input is among them.
    pub(crate) fn has_stdin(&self) -> bool {
        self.files.iter().any(|f| is_stdin(f))
    }
}

/// Lists a file, or the modules that it contains.
fn list_file(path: &Path, inputs: &mut Vec<Input>, status: &mut Status) {
    let (file, choice) = container::split(path);
    // What cannot be read is reported when it is its turn.
    if choice.is_none() && !container::is_container(&file).unwrap_or(false) {
        inputs.push(Input::file(&file));
        return;
    }
    match read_file(&file) {
        Ok(bytes) => open(Some(&file), bytes, choice, inputs, status),
        Err(error) => unreadable(&file.to_string_lossy(), &error, status),
    }
}

/// Adds a text, or the modules that a container has.
fn open(
    path: Option<&Path>,
    bytes: Vec<u8>,
    choice: Option<Choice>,
    inputs: &mut Vec<Input>,
    status: &mut Status,
) {
    let origin = Origin {
        is_file: false,
        ..Origin::new(path)
    };
    let fail = |error: &dyn Display, status: &mut Status| unreadable(&origin.name(), error, status);
    let opened = match Opened::new(bytes) {
        Ok(opened) => opened,
        Err(error) => return fail(&error, status),
    };
    if !opened.format.is_container() {
        match choice {
            Some(_) => fail(
                &format!(
                    "{}, which does not contain modules to choose from",
                    opened.describe()
                ),
                status,
            ),
            None if opened.is_text() => inputs.push(Input {
                content: Content::Text(opened.bytes.into()),
                origin,
            }),
            None => fail(&opened.refusal(0), status),
        }
        return;
    }
    let opened = Arc::new(opened);
    let modules = container::modules(&opened, choice.as_ref());
    modules.errors.iter().for_each(|error| fail(error, status));
    inputs.extend(modules.chosen.into_iter().map(|entry| Input {
        origin: Origin {
            module: Some(entry.name()),
            ..origin.clone()
        },
        content: Content::Entry(Arc::clone(&opened), Box::new(entry)),
    }));
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Every `.ptx` file in a directory and its subdirectories, sorted. Links to directories are not followed.
fn walk(folder: &Path, status: &mut Status) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                unreadable(&folder.to_string_lossy(), &error, status);
                continue;
            }
        };
        for entry in entries {
            let typed = entry.and_then(|e| Ok((e.path(), e.file_type()?)));
            match typed {
                Ok((path, kind)) if kind.is_dir() => folders.push(path),
                Ok((path, _)) if path.extension().is_some_and(|e| e == "ptx") && path.is_file() => {
                    files.push(path);
                }
                Ok(_) => {}
                Err(error) => unreadable(&folder.to_string_lossy(), &error, status),
            }
        }
    }
    files.sort();
    files
}

pub(crate) fn unreadable(name: &str, error: &dyn Display, status: &mut Status) {
    output::note(format_args!("ptxkit: {}: {error}", clean(name)));
    status.worsen(Status::UsageError);
}

/// The number of bytes of sources that are held at a time, unless a single file is larger.
const BATCH_BYTES: u64 = 256 << 20;

/// Reads every input and works on several at a time; `emit` gets the results in the order of the
/// inputs. Files that cannot be read are reported and worsen the status.
pub(crate) fn in_order<T: Send>(
    inputs: &[Input],
    out: &mut Out,
    status: &mut Status,
    work: impl Fn(Source) -> T + Sync,
    mut emit: impl FnMut(&mut Out, T) -> Result<Status>,
) -> Result<()> {
    let bar = progress(inputs);
    let mut rest = inputs;
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch_len(rest));
        rest = later;
        let results: Vec<io::Result<T>> = batch
            .par_iter()
            .map(|input| process(input, &bar, &work))
            .collect();
        bar.suspend(|| -> Result<()> {
            for (input, result) in batch.iter().zip(results) {
                match result {
                    Ok(result) => status.worsen(emit(out, result)?),
                    Err(error) => unreadable(&input.origin.name(), &error, status),
                }
            }
            Ok(out.show()?)
        })?;
    }
    bar.finish_and_clear();
    Ok(())
}

/// Reads every input and works on one at a time.
pub(crate) fn one_by_one(
    inputs: &[Input],
    out: &mut Out,
    status: &mut Status,
    mut work: impl FnMut(&mut Out, Source) -> Result<Status>,
) -> Result<()> {
    let bar = progress(inputs);
    for input in inputs {
        let worked = process(input, &bar, |source| {
            bar.suspend(|| -> Result<Status> {
                let found = work(out, source)?;
                out.show()?;
                Ok(found)
            })
        });
        match worked {
            Ok(found) => status.worsen(found?),
            Err(error) => unreadable(&input.origin.name(), &error, status),
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Reads an input and works on it.
fn process<T>(input: &Input, bar: &ProgressBar, work: impl FnOnce(Source) -> T) -> io::Result<T> {
    let start = Instant::now();
    let source = input.read()?;
    let (size, read) = (source.bytes.len(), start.elapsed());
    let result = work(source);
    bar.inc(size as u64);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    output::detail(format_args!(
        "{}: {size} bytes read in {:.1} ms, processed in {:.1} ms",
        input.origin.name(),
        ms(read),
        ms(start.elapsed() - read)
    ));
    Ok(result)
}

/// The number of inputs that are processed before the results are written.
fn batch_len(inputs: &[Input]) -> usize {
    let most = rayon::current_num_threads() * 8;
    let mut bytes = 0u64;
    let fit = inputs.iter().take(most).take_while(|input| {
        bytes = bytes.saturating_add(input.size());
        bytes <= BATCH_BYTES
    });
    fit.count().max(1)
}

/// A progress bar on standard error if that is a terminal and there is much to read.
fn progress(inputs: &[Input]) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bytes = inputs.iter().map(Input::size).sum();
    if bytes < 32 << 20 {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
