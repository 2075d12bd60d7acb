//! The options `--format` and `--json`, which every command that can write JSON has.

use clap::ValueEnum;

/// The formats of a command.
pub(crate) trait OutputFormat: ValueEnum + Copy + Send + Sync + 'static {
    /// The format that `--json` selects.
    const JSON: Self;
    /// The help of `--format`.
    const HELP: &'static str;
}

// The options that choose the format of the output. A documentation comment would replace the description of commands.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct FormatOptions<F: OutputFormat> {
    #[arg(long, value_enum, help = F::HELP)]
    format: Option<F>,
    /// Write JSON, the same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl<F: OutputFormat> FormatOptions<F> {
    /// The format that an option chooses.
    pub(crate) fn choice(&self) -> Option<F> {
        if self.json {
            Some(F::JSON)
        } else {
            self.format
        }
    }
}

impl<F: OutputFormat + Default> FormatOptions<F> {
    /// The chosen format, or the default.
    pub(crate) fn format(&self) -> F {
        self.choice().unwrap_or_default()
    }
}

/// The formats of commands that write text or JSON.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum TextOrJson {
    /// Text
    #[default]
    #[value(alias = "human")]
    Text,
    /// JSON objects, one per line
    #[value(alias = "ndjson")]
    Json,
}

impl OutputFormat for TextOrJson {
    const JSON: Self = Self::Json;
    const HELP: &'static str = "Output format [default: text]";
}

impl FormatOptions<TextOrJson> {
    pub(crate) fn is_json(&self) -> bool {
        self.format() == TextOrJson::Json
    }
}

/// The format that the extension of an output file selects; `None` for standard output.
///
/// # Errors
///
/// The extension is not one of a format.
pub(crate) fn of_extension<F: OutputFormat>(
    output: Option<&std::path::Path>,
    formats: &[(&str, F)],
) -> anyhow::Result<Option<F>> {
    let Some(path) = output else {
        return Ok(None);
    };
    let extension = path.extension().unwrap_or_default();
    if let Some((_, format)) = formats
        .iter()
        .find(|(name, _)| extension.eq_ignore_ascii_case(name))
    {
        return Ok(Some(*format));
    }
    let extensions: Vec<String> = formats.iter().map(|(name, _)| format!(".{name}")).collect();
    let path = ptx_report::clean(&path.to_string_lossy()).into_owned();
    anyhow::bail!(
        "{path}: the extension selects no format; expected one of {}, or --format",
        extensions.join(", ")
    )
}
