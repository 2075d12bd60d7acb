//! Input: files, modules in files, directories and standard input, in the order of the command line.

mod batches;
pub(crate) mod container;
mod item;

use std::cmp::Ordering;
use std::fmt::Display;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use ptx_ir::SourceText;
use serde::Serialize;

#[cfg(feature = "table")]
pub(crate) use batches::FIRST_UPDATE;
pub(crate) use batches::{in_order, one_by_one};
pub(crate) use item::{Input, Origin, Source};

use crate::output::{self, Out, Status};
use container::Opened;
use item::Content;
use ptx_report::SCHEMA;
use ptx_report::clean;
use ptx_report::container_choice::Choice;

// The inputs of a command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Files {
    /// Files, directories (every .ptx file in them) or `-` for standard input. For a binary file, the PTX that it contains is read:
    /// `libfoo.so`, `libfoo.so!3.sm_90.ptx` or `libfoo.so!sm_90`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Files {
    /// A single input.
    pub(crate) fn one(file: impl Into<PathBuf>) -> Self {
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

    /// Lists the inputs. A file that cannot be listed is an input that cannot be read.
    pub(crate) fn list(&self) -> Result<Vec<Input>> {
        if self.files.iter().filter(|f| is_stdin(f)).count() > 1 {
            bail!("`-` can be read only once");
        }
        let mut inputs = Vec::new();
        for file in &self.files {
            if is_stdin(file) {
                let mut bytes = Vec::new();
                io::stdin().lock().read_to_end(&mut bytes)?;
                open(None, bytes.into(), None, &mut inputs);
            } else if file.is_dir() {
                let paths = walk(file, &mut inputs);
                if paths.is_empty() {
                    let origin = Origin::new(Some(file));
                    inputs.push(Input::unreadable(origin, &"no .ptx file in this directory"));
                }
                let root = fs::canonicalize(file).ok();
                for path in &paths {
                    let first = inputs.len();
                    list_file(path, None, &mut inputs);
                    let leads_out = path.is_symlink()
                        && fs::canonicalize(path)
                            .ok()
                            .zip(root.as_deref())
                            .is_none_or(|(target, root)| !target.starts_with(root));
                    for input in inputs.iter_mut().skip(first) {
                        input.origin.leads_out = leads_out;
                    }
                }
            } else {
                let (file, choice) = Choice::divide(file);
                list_file(&file, choice, &mut inputs);
            }
        }
        Ok(inputs)
    }

    /// The path of the result of an input in the output directory: its path below the directory that it was found in, or its name.
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
        self.files
            .iter()
            .filter_map(|folder| path.strip_prefix(folder).ok())
            .find(|path_below| !path_below.as_os_str().is_empty())
            .or(path.file_name().map(Path::new))
            .unwrap_or(path)
            .to_owned()
    }

    /// Whether standard input is one of the inputs.
    pub(crate) fn has_stdin(&self) -> bool {
        self.files.iter().any(|f| is_stdin(f))
    }
}

/// Lists a file, or the modules that it contains.
fn list_file(file: &Path, choice: Option<Choice>, inputs: &mut Vec<Input>) {
    // A file that cannot be read is reported when it is processed.
    if choice.is_none() && !container::has_to_be_read(file).unwrap_or(false) {
        inputs.push(Input::file(file));
        return;
    }
    match fs::read(file) {
        Ok(bytes) => open(Some(file), bytes.into(), choice, inputs),
        Err(error) => inputs.push(Input::unreadable(Origin::new(Some(file)), &error)),
    }
}

/// Adds a text, or the modules in a container.
fn open(path: Option<&Path>, bytes: SourceText, choice: Option<Choice>, inputs: &mut Vec<Input>) {
    let origin = Origin {
        is_file: false,
        ..Origin::new(path)
    };
    let unreadable = |error: &dyn Display| Input::unreadable(origin.clone(), error);
    let opened = match Opened::new(bytes) {
        Ok(opened) => opened,
        Err(error) => return inputs.push(unreadable(&error)),
    };
    if !opened.format.is_container() {
        return inputs.push(match choice {
            Some(_) => unreadable(&format!(
                "{}, which does not contain modules to choose from",
                opened.description
            )),
            None if opened.is_text() => Input {
                content: Content::Text(opened.bytes),
                origin,
            },
            None => unreadable(&opened.refusal(0)),
        });
    }
    let opened = Arc::new(opened);
    let modules = container::modules(&opened, choice.as_ref());
    inputs.extend(modules.errors.iter().map(|error| unreadable(error)));
    inputs.extend(modules.entries.into_iter().map(|entry| Input {
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

/// Every `.ptx` file in a directory and its subdirectories, in [natural order](natural_order). Directories that cannot be read are added to the inputs.
fn walk(folder: &Path, inputs: &mut Vec<Input>) -> Vec<PathBuf> {
    let mut files = files_in(folder, &mut |folder, error| {
        inputs.push(Input::unreadable(Origin::new(Some(folder)), &error));
    });
    files.retain(|path| path.extension().is_some_and(|e| e == "ptx"));
    files
}

/// Every file in a directory and its subdirectories, in [natural order](natural_order). Links to directories are not followed.
pub(crate) fn files_in(folder: &Path, fail: &mut dyn FnMut(&Path, io::Error)) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) => {
                fail(&folder, error);
                continue;
            }
        };
        for entry in entries {
            match entry.and_then(|e| Ok((e.path(), e.file_type()?))) {
                Ok((path, file_type)) if file_type.is_dir() => folders.push(path),
                Ok((path, _)) if path.is_file() => files.push(path),
                Ok(_) => {}
                Err(error) => fail(&folder, error),
            }
        }
    }
    files.sort_by(|a, b| natural_order(a, b));
    files
}

/// The order of paths in which numbers are in numerical order: `sm_90` before `sm_100`. A folder and its files are together.
fn natural_order(a: &Path, b: &Path) -> Ordering {
    let (mut left, mut right) = (
        a.as_os_str().as_encoded_bytes(),
        b.as_os_str().as_encoded_bytes(),
    );
    while let (Some((x, left_tail)), Some((y, right_tail))) =
        (left.split_first(), right.split_first())
    {
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (number, left_rest) = split_number(left);
            let (other, right_rest) = split_number(right);
            match number.len().cmp(&other.len()).then(number.cmp(other)) {
                Ordering::Equal => (left, right) = (left_rest, right_rest),
                order => return order,
            }
        } else {
            let key = |byte: u8| (!std::path::is_separator(byte.into()), byte);
            match key(*x).cmp(&key(*y)) {
                Ordering::Equal => (left, right) = (left_tail, right_tail),
                order => return order,
            }
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Splits the digits at the beginning of a text off, without leading zeros.
fn split_number(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    (digits.get(zeros..).unwrap_or_default(), rest)
}

/// Reports on standard error that an input cannot be read.
pub(crate) fn unreadable(name: &str, error: &dyn Display, status: &mut Status) {
    output::note(format_args!("ptxkit: {}: {error}", clean(name)));
    status.worsen(Status::UsageError);
}

/// An input that cannot be read, in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unreadable<'a> {
    schema: u32,
    file: &'a str,
    /// The reason why it cannot be read.
    error: String,
}

/// Reports an input that cannot be read, also on standard output if that is JSON.
pub(crate) fn report_unreadable(
    name: &str,
    error: &dyn Display,
    out: &mut Out,
    status: &mut Status,
) -> io::Result<()> {
    unreadable(name, error, status);
    if !output::is_json() {
        return Ok(());
    }
    out.json(&Unreadable {
        schema: SCHEMA,
        file: &clean(name),
        error: error.to_string(),
    })
}

/// The length of the longest text that [`read_limited`] reads, in bytes.
const MAX_TEXT: u64 = 1 << 28;

/// Reads a text that is not PTX, such as ptxkit.toml or a baseline, of at most 256 MiB.
pub(crate) fn read_limited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut file = fs::File::open(path)?.take(MAX_TEXT + 1);
    if file.read_to_string(&mut text)? as u64 > MAX_TEXT {
        let mebibytes = MAX_TEXT >> 20;
        return Err(io::Error::other(format!("longer than {mebibytes} MiB")));
    }
    Ok(text)
}
