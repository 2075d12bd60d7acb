//! The messages that ptxas prints while it assembles a module.

use serde::Serialize;

use crate::clean;

/// A message of ptxas.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AssemblerMessage {
    /// The severity that ptxas prints: `info`, `warning` or `error`.
    pub severity: String,
    /// The code, such as `C7510`; `None` if ptxas prints none.
    pub code: Option<String>,
    /// The text without the code.
    pub message: String,
    /// The function that the message names.
    pub function: Option<String>,
    /// The line of the PTX file, counted from 1; `None` if the message states none.
    pub line: Option<u32>,
}

/// The messages in the output of ptxas: those with a code, warnings and errors. The reports of `-v` about resources are not messages.
#[must_use]
pub fn messages(output: &str) -> Vec<AssemblerMessage> {
    output.lines().filter_map(message).collect()
}

/// `ptxas info    : (C7510) Potential Performance Loss: … in the function 'k' in line 20`, or `ptxas k.ptx, line 7; warning : …`
fn message(line: &str) -> Option<AssemblerMessage> {
    let text = line.strip_prefix("ptxas ")?;
    let (head, text) = text.split_once(" : ").or_else(|| text.split_once(": "))?;
    let (place, severity) = head.rsplit_once(';').unwrap_or(("", head));
    let severity = severity.trim();
    let coded = text
        .trim()
        .strip_prefix('(')
        .and_then(|text| text.split_once(')'));
    let is_code = |code: &&str| {
        code.starts_with('C') && code.len() > 1 && code[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let (code, text) = match coded.filter(|(code, _)| is_code(code)) {
        Some((code, text)) => (Some(code.to_owned()), text),
        None => (None, text),
    };
    let is_message = matches!(severity, "info" | "warning" | "error" | "fatal");
    if !is_message || (severity == "info" && code.is_none()) {
        return None;
    }
    let function = between(text, "function '", "'");
    let line = number_after(place, "line ").or_else(|| number_after(text, "in line "));
    Some(AssemblerMessage {
        severity: severity.to_owned(),
        code,
        message: clean(text.trim()).into_owned(),
        function: function.map(|name| clean(name).into_owned()),
        line,
    })
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, tail) = text.split_once(start)?;
    tail.split_once(end).map(|(middle, _)| middle)
}

fn number_after(text: &str, word: &str) -> Option<u32> {
    let (_, tail) = text.rsplit_once(word)?;
    let digits = tail.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}
