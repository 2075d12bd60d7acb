//! Reads the files and writes the tables.

use std::fs;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use arrow_ipc::writer::StreamWriter;
use ptx_report::clean;
use ptx_table::{RecordBatch, Scan, ScanOptions, SchemaRef, Source, TableName};

use super::{Args, Format, csv, json, parquet};
use crate::output::{self, Out, Status};
use crate::replace::NewFile;

pub(crate) fn run(args: &Args) -> Result<Status> {
    let tables = args
        .tables
        .iter()
        .map(|name| name.parse::<TableName>())
        .collect::<Result<Vec<_>, _>>()?;
    let mut options = ScanOptions::new(&tables).threads(rayon::current_num_threads());
    if !args.columns.is_empty() {
        let [table] = tables[..] else {
            bail!("`--columns` requires a single table");
        };
        let names: Vec<&str> = args.columns.iter().map(String::as_str).collect();
        options = options.columns(table, &names)?;
    }
    let mut writers = writers(args, &options)?;
    let mut scan = Scan::new(sources(&args.files)?, &options);
    for batch in &mut scan {
        let (table, batch) = batch?;
        if let Some((_, writer)) = writers.iter_mut().find(|(name, _)| *name == table) {
            writer.write(&batch)?;
        }
    }
    for (_, writer) in writers {
        writer.finish()?;
    }
    match scan.unreadable() {
        0 => Ok(Status::Ok),
        count => {
            let files = ptx_report::counted(count, "file or part of a file");
            output::note(format_args!(
                "ptxkit: {files} cannot be read; the table `diagnostics` contains the reasons"
            ));
            Ok(Status::UsageError)
        }
    }
}

/// The sources of the rows. Standard input is read here.
fn sources(files: &[PathBuf]) -> Result<Vec<Source>> {
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        sources.push(if file.as_os_str() == "-" {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            Source::Bytes("<stdin>".to_owned(), bytes)
        } else {
            Source::Path(file.clone())
        });
    }
    Ok(sources)
}

/// A writer of one table.
enum Writer {
    Parquet(Box<parquet::Writer>),
    Arrow(Box<StreamWriter<Destination>>),
    Text(Destination, Rows, Vec<u8>),
}

/// A file or standard output.
enum Destination {
    File(BufWriter<NewFile>),
    Stdout(Out),
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}

impl Destination {
    /// Writes all bytes that wait.
    fn finish(self) -> io::Result<()> {
        match self {
            Self::File(file) => file.into_inner()?.finish(),
            Self::Stdout(mut out) => out.flush(),
        }
    }
}

fn create(path: &Path) -> Result<NewFile> {
    NewFile::replace(path).with_context(|| clean(&path.to_string_lossy()).into_owned())
}

/// Appends rows as text.
type Rows = fn(&RecordBatch, &mut Vec<u8>) -> Result<()>;

/// A writer for each table.
fn writers(args: &Args, options: &ScanOptions) -> Result<Vec<(TableName, Writer)>> {
    let [(table, schema)] = options.tables() else {
        let Some(folder) = &args.output else {
            bail!("several tables need `--output DIR`");
        };
        fs::create_dir_all(folder)
            .with_context(|| clean(&folder.to_string_lossy()).into_owned())?;
        return options
            .tables()
            .iter()
            .map(|(table, schema)| {
                let name = format!("{table}.{}", args.format.extension());
                let writer = Writer::new(args.format, schema, Some(&folder.join(name)))?;
                Ok((*table, writer))
            })
            .collect();
    };
    let writer = Writer::new(args.format, schema, args.output.as_deref())?;
    Ok(vec![(*table, writer)])
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrows",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        }
    }
}

impl Writer {
    fn new(format: Format, schema: &SchemaRef, path: Option<&Path>) -> Result<Self> {
        if format == Format::Parquet {
            let Some(path) = path else {
                bail!("Parquet needs `--output FILE`");
            };
            let writer = parquet::Writer::new(create(path)?, schema)?;
            return Ok(Self::Parquet(Box::new(writer)));
        }
        let mut out = match path {
            Some(path) => Destination::File(BufWriter::new(create(path)?)),
            None => Destination::Stdout(Out::new()),
        };
        Ok(match format {
            Format::Arrow => Self::Arrow(Box::new(StreamWriter::try_new(out, schema)?)),
            Format::Csv => {
                let mut text = Vec::new();
                csv::header(schema, &mut text);
                out.write_all(&text)?;
                Self::Text(out, csv::write, text)
            }
            _ => Self::Text(out, json::write, Vec::new()),
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.write(batch)?,
            Self::Arrow(writer) => writer.write(batch)?,
            Self::Text(out, rows, text) => {
                text.clear();
                rows(batch, text)?;
                out.write_all(text)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        match self {
            Self::Parquet(writer) => writer.finish()?,
            Self::Arrow(writer) => writer.into_inner()?.finish()?,
            Self::Text(out, ..) => out.finish()?,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_not_complete_leaves_the_old_file() {
        let path = std::env::temp_dir().join(format!("ptxkit-table-{}", std::process::id()));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/hand");
        let options = ScanOptions::new(&[TableName::Functions]);
        let [(_, schema)] = options.tables() else {
            panic!("one table");
        };
        for format in [Format::Parquet, Format::Arrow, Format::Ndjson, Format::Csv] {
            fs::write(&path, "old").unwrap();
            for is_complete in [false, true] {
                let mut writer = Writer::new(format, schema, Some(&path)).unwrap();
                for batch in Scan::new([Source::Path(folder.clone())], &options) {
                    writer.write(&batch.unwrap().1).unwrap();
                }
                if is_complete {
                    writer.finish().unwrap();
                }
                assert_eq!(
                    fs::read(&path).unwrap() == b"old",
                    !is_complete,
                    "{format:?}"
                );
            }
        }
        fs::remove_file(&path).unwrap();
    }
}
