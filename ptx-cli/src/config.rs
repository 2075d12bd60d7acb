//! The file `ptxkit.toml`: defaults of commands.

use std::borrow::Cow;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};
use ptx_ir::{LineIndex, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::input::read_limited;
use crate::query::similar;
use ptx_report::clean;

/// The name of the file.
const NAME: &str = "ptxkit.toml";

/// The configuration file that is read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ConfigFile {
    /// Read defaults from this file, instead of ptxkit.toml in the current directory or the nearest one above it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no ptxkit.toml
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

impl ConfigFile {
    /// Reads the file, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Text>> {
        let path = match &self.config {
            Some(path) => path.clone(),
            None if self.no_config => return Ok(None),
            None => {
                let folder = std::env::current_dir()?;
                let mut candidates = folder.ancestors().map(|folder| folder.join(NAME));
                match candidates.find(|path| path.is_file()) {
                    Some(path) => path.strip_prefix(&folder).unwrap_or(&path).to_owned(),
                    None => return Ok(None),
                }
            }
        };
        Text::read(&path).map(Some)
    }
}

/// The text of a file.
pub(crate) struct Text {
    path: PathBuf,
    text: String,
}

/// A value of the file with its position.
#[derive(Copy, Clone)]
pub(crate) struct Value<'t> {
    file: &'t Text,
    value: &'t Spanned<DeValue<'t>>,
}

/// A key and its value.
pub(crate) struct Entry<'t> {
    pub(crate) key: Cow<'t, str>,
    span: Range<usize>,
    pub(crate) value: Value<'t>,
}

impl Text {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = read_limited(path).with_context(|| path.display().to_string())?;
        crate::output::detail(format_args!("{}: read", path.display()));
        let path = path.to_owned();
        Ok(Self { path, text })
    }

    /// The name of the file, with control characters escaped.
    pub(crate) fn name(&self) -> String {
        clean(&self.path.to_string_lossy()).into_owned()
    }

    /// The entries of the file.
    pub(crate) fn parse(&self) -> Result<Spanned<DeTable<'_>>> {
        DeTable::parse(&self.text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            self.error(span, error.message())
        })
    }

    /// A section of the file, if there is one.
    pub(crate) fn section<'t>(
        &'t self,
        table: &'t DeTable<'t>,
        name: &str,
    ) -> Result<Vec<Entry<'t>>> {
        let sections = self.entries(table);
        for section in &sections {
            section.expect_one_of(&["check", "gate", "lint"])?;
        }
        match sections.into_iter().find(|s| s.key == name) {
            Some(section) => section.value.table(),
            None => Ok(Vec::new()),
        }
    }

    /// The entries of a table in the order of the file.
    pub(crate) fn entries<'t>(&'t self, table: &'t DeTable<'t>) -> Vec<Entry<'t>> {
        let mut entries: Vec<Entry<'t>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: Cow::Borrowed(key.get_ref()),
                span: key.span(),
                value: Value { file: self, value },
            })
            .collect();
        entries.sort_by_key(|entry| entry.span.start);
        entries
    }

    /// A path in the file, which is relative to its directory.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// `ptxkit.toml:12`
    fn place(&self, offset: usize) -> String {
        let position = LineIndex::new(self.text.as_bytes()).position(offset as u32);
        format!("{}:{}", self.name(), position.line)
    }

    /// An error message with its position, the line of the file, and marks below the first line of the span.
    fn error(&self, span: Range<usize>, message: &str) -> anyhow::Error {
        let position = LineIndex::new(self.text.as_bytes()).position(span.start as u32);
        let line = self
            .text
            .lines()
            .nth(position.line as usize - 1)
            .unwrap_or_default();
        let prefix = line.get(..position.column as usize - 1).unwrap_or(line);
        let marked = Span::new(span.start as u32, span.end as u32).of(self.text.as_bytes());
        let marked = String::from_utf8_lossy(marked);
        let marked_line = marked.lines().next().unwrap_or_default();
        anyhow!(
            "{}:{}:{}: {}\n  {}\n  {}{}",
            self.name(),
            position.line,
            prefix.chars().count() + 1,
            clean(message.lines().next().unwrap_or_default()),
            clean(line),
            " ".repeat(clean(prefix).chars().count()),
            "^".repeat(marked_line.chars().count().max(1))
        )
    }
}

impl<'t> Entry<'t> {
    /// An error at the key.
    pub(crate) fn error(&self, message: &str) -> anyhow::Error {
        self.value.file.error(self.span.clone(), message)
    }

    /// `ptxkit.toml:12`
    pub(crate) fn place(&self) -> String {
        self.value.file.place(self.span.start)
    }

    /// Checks that the key is one of these.
    pub(crate) fn expect_one_of(&self, keys: &[&str]) -> Result<()> {
        if keys.contains(&&*self.key) {
            return Ok(());
        }
        let hint = similar(&self.key, keys)
            .unwrap_or_else(|| format!("expected one of `{}`", keys.join("`, `")));
        Err(self.error(&format!("unknown key `{}`; {hint}", clean(&self.key))))
    }
}

impl<'t> Value<'t> {
    /// `ptxkit.toml:12`
    pub(crate) fn place(self) -> String {
        self.file.place(self.value.span().start)
    }

    pub(crate) fn error(self, message: &str) -> anyhow::Error {
        self.file.error(self.value.span(), message)
    }

    fn expected(self, expected: &str) -> anyhow::Error {
        let actual = self.value.get_ref().type_str();
        self.error(&format!("expected {expected}, found {actual}"))
    }

    pub(crate) fn table(self) -> Result<Vec<Entry<'t>>> {
        match self.value.get_ref() {
            DeValue::Table(table) => Ok(self.file.entries(table)),
            _ => Err(self.expected("a table")),
        }
    }

    pub(crate) fn text(self) -> Result<&'t str> {
        self.value
            .get_ref()
            .as_str()
            .ok_or_else(|| self.expected("a string"))
    }

    pub(crate) fn flag(self) -> Result<bool> {
        self.value
            .get_ref()
            .as_bool()
            .ok_or_else(|| self.expected("true or false"))
    }

    /// A path of a file that is read: it is relative to the directory of this file, and not a device or a pipe, which might have
    /// no end.
    pub(crate) fn file(self) -> Result<PathBuf> {
        let path = self.file.path(self.text()?);
        match fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() => Err(self.error("not a regular file")),
            _ => Ok(path),
        }
    }

    /// A string, parsed by `parse`.
    pub(crate) fn parsed<T>(self, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>> {
        let value = parse(self.text()?).map_err(|error| self.error(&error))?;
        Ok(Some(value))
    }

    /// The values of a list; a single value is a list of one.
    pub(crate) fn list(self) -> Vec<Self> {
        match self.value.get_ref() {
            DeValue::Array(array) => array.iter().map(|value| Self { value, ..self }).collect(),
            _ => vec![self],
        }
    }

    /// A list of strings, each parsed by `parse`.
    pub(crate) fn parsed_list<T>(
        self,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>> {
        self.list()
            .into_iter()
            .map(|value| parse(value.text()?).map_err(|error| value.error(&error)))
            .collect()
    }

    /// The entries of nested tables, with dots between the keys.
    pub(crate) fn leaves(self) -> Result<Vec<Entry<'t>>> {
        let mut leaves = Vec::new();
        for entry in self.table()? {
            match entry.value.value.get_ref() {
                DeValue::Table(_) => {
                    leaves.extend(entry.value.leaves()?.into_iter().map(|leaf| Entry {
                        key: format!("{}.{}", entry.key, leaf.key).into(),
                        ..leaf
                    }));
                }
                _ => leaves.push(entry),
            }
        }
        Ok(leaves)
    }

    /// The text of a number, or a text.
    pub(crate) fn text_or_number(self) -> Result<String> {
        match self.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.expected("a number or a string")),
        }
    }

    /// The digits of a number, or a text.
    pub(crate) fn amount(self) -> Result<String> {
        match self.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.expected("a number or a string such as \"48K\"")),
        }
    }
}
