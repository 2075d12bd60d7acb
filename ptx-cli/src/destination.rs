//! Where commands that write PTX put their results.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::input::{Files, Input, Origin, Source};
use crate::output::{self, Out, Status};
use crate::render::clean;

/// Where the results go.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Destination {
    /// Write the result to this file; with several inputs, to files of the same names in this directory
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write the result to the input files
    #[arg(long, conflicts_with = "output")]
    write: bool,
}

impl Destination {
    /// Whether the results go to standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.is_none() && !self.write
    }

    /// Refuses what would put several results into one place.
    pub(crate) fn open<'a>(&'a self, files: &'a Files, inputs: &[Input]) -> Result<Writer<'a>> {
        if self.write && files.has_stdin() {
            bail!("standard input cannot be rewritten in place");
        }
        let mut containers = inputs.iter().filter_map(|input| input.origin().container());
        if let (true, Some(path)) = (self.write, containers.next()) {
            let path = clean(&path.to_string_lossy()).into_owned();
            bail!(
                "{path} contains PTX, but is not a PTX file: use `--output` instead of `--write`"
            );
        }
        if self.is_stdout()
            && let [first, _, ..] = inputs
        {
            if first.origin().container().is_some() {
                let name = first.origin().name();
                bail!("several inputs: choose one, such as `{name}`, or use `--output DIR`");
            }
            bail!("several inputs need `--output DIR` or `--write`");
        }
        let folder = match &self.output {
            Some(path) if inputs.len() > 1 && path.is_file() => {
                bail!(
                    "{}: several inputs need a directory",
                    clean(&path.to_string_lossy())
                )
            }
            Some(path) => inputs.len() > 1 || path.is_dir(),
            None => false,
        };
        let writer = Writer {
            destination: self,
            files,
            folder,
        };
        let mut places = HashSet::new();
        for input in inputs.iter().filter(|_| folder) {
            let place = writer.place(input.origin());
            if let Some(place) = place
                && !places.insert(place.clone())
            {
                bail!(
                    "two results would be written to {}",
                    clean(&place.to_string_lossy())
                );
            }
        }
        Ok(writer)
    }
}

/// Writes the results of the inputs of a command.
pub(crate) struct Writer<'a> {
    destination: &'a Destination,
    files: &'a Files,
    /// Whether the output is a directory.
    folder: bool,
}

impl Writer<'_> {
    /// The file for the result of an input; `None` for standard output.
    fn place(&self, origin: &Origin) -> Option<PathBuf> {
        match &self.destination.output {
            Some(folder) if self.folder => Some(folder.join(self.files.relative(origin))),
            Some(file) => Some(file.clone()),
            None => {
                let path = origin.path().filter(|_| self.destination.write);
                path.map(Path::to_owned)
            }
        }
    }

    /// Writes the result of an input. A file that would not change is left alone; one that cannot be written is reported.
    pub(crate) fn write(&self, out: &mut Out, source: &Source, text: &[u8]) -> Result<Status> {
        let Some(place) = self.place(&source.origin) else {
            out.write_all(text)?;
            return Ok(Status::Ok);
        };
        if source.origin.path() == Some(&*place) && *source.bytes == *text {
            return Ok(Status::Ok);
        }
        match write_file(&place, text, self.folder) {
            Ok(()) => Ok(Status::Ok),
            Err(error) => {
                let place = place.to_string_lossy();
                output::note(format_args!("ptxkit: {}: {error}", clean(&place)));
                Ok(Status::UsageError)
            }
        }
    }
}

fn write_file(path: &Path, text: &[u8], with_folders: bool) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|_| with_folders) {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
