//! Diagnostics as results of a SARIF 2.1.0 log (Static Analysis Results Interchange Format).

use std::borrow::Cow;

use ptx_ir::{Code, Diagnostic, Severity, Span};
use serde_json::{Value, json};

use super::Report;
use super::json::Linted;
use ptx_report::source_frames::JsonFrame;

/// The beginning of a log, up to its results.
pub(crate) fn head() -> String {
    let rules: Vec<Value> = Code::ALL
        .iter()
        .map(|code| {
            json!({
                "id": code.to_string(),
                "name": code.name(),
                "shortDescription": {"text": code.title()},
            })
        })
        .collect();
    let driver = json!({
        "name": env!("CARGO_BIN_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    format!(
        r#"{{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{{"tool":{{"driver":{driver}}},"columnKind":"unicodeCodePoints","results":["#
    )
}

/// The end of a log, after its results.
pub(crate) const TAIL: &str = "]}]}";

impl Report<'_> {
    /// A result, with the source lines of its position.
    pub(crate) fn sarif(
        &self,
        diagnostic: &Diagnostic,
        source: &[JsonFrame],
        linted: Option<&Linted>,
    ) -> Value {
        let mut result = json!({
            "ruleId": diagnostic.code.to_string(),
            "level": match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            "message": {"text": self.sarif_text(diagnostic)},
            "locations": std::iter::once(&diagnostic.span)
                .map(|span| json!({"physicalLocation": self.sarif_location(*span)}))
                .collect::<Vec<_>>(),
        });
        let related = self.related_locations(diagnostic, source);
        if let Some(result) = result.as_object_mut() {
            if !related.is_empty() {
                result.insert("relatedLocations".to_owned(), related.into());
            }
            if let Some(linted) = linted {
                result.insert("properties".to_owned(), json!(linted));
            }
            if !diagnostic.fix.is_empty() {
                result.insert("fixes".to_owned(), json!([self.sarif_fix(diagnostic)]));
            }
        }
        result
    }

    /// The labels, the further occurrences, and the source lines.
    fn related_locations(&self, diagnostic: &Diagnostic, source: &[JsonFrame]) -> Vec<Value> {
        let labels = diagnostic
            .labels
            .iter()
            .map(|label| (label.span, &*label.message));
        let messages = diagnostic
            .repeat_messages
            .iter()
            .map(String::as_str)
            .chain(std::iter::repeat("here, too"));
        let repeats = diagnostic.repeats.iter().copied().zip(messages);
        labels
            .chain(repeats)
            .map(|(span, text)| {
                json!({"physicalLocation": self.sarif_location(span), "message": {"text": text}})
            })
            .chain(source.iter().enumerate().filter_map(source_line))
            .collect()
    }

    /// The message and the help, for which results have no field.
    fn sarif_text(&self, diagnostic: &Diagnostic) -> String {
        match &diagnostic.help {
            Some(help) => format!("{}; {help}", diagnostic.message),
            None => diagnostic.message.clone(),
        }
    }

    fn sarif_fix(&self, diagnostic: &Diagnostic) -> Value {
        let replacements: Vec<Value> = diagnostic
            .fix
            .iter()
            .map(|edit| {
                json!({
                    "deletedRegion": self.sarif_region(edit.span),
                    "insertedContent": {"text": edit.text},
                })
            })
            .collect();
        json!({
            "description": {"text": diagnostic.help.as_deref().unwrap_or(&diagnostic.message)},
            "properties": {"applicability": diagnostic.applicability.name()},
            "artifactChanges": [{"artifactLocation": {"uri": uri(self.name)}, "replacements": replacements}],
        })
    }

    fn sarif_location(&self, span: Span) -> Value {
        json!({"artifactLocation": {"uri": uri(self.name)}, "region": self.sarif_region(span)})
    }

    fn sarif_region(&self, span: Span) -> Value {
        let (start_line, start_column) = self.code_points(span.start);
        let (end_line, end_column) = self.code_points(span.end);
        json!({
            "startLine": start_line,
            "startColumn": start_column,
            "endLine": end_line,
            "endColumn": end_column,
        })
    }

    /// The line of an offset, and the column in code points, both counted from 1.
    fn code_points(&self, offset: u32) -> (u32, usize) {
        let position = self.lines.position(offset);
        let line_start = offset.saturating_sub(position.column - 1);
        let prefix = Span::new(line_start, offset).of(self.source);
        let column = 1 + String::from_utf8_lossy(prefix).chars().count();
        (position.line, column)
    }
}

/// A source line as a related location: the line itself, then the calls at which it was inlined.
fn source_line((depth, frame): (usize, &JsonFrame)) -> Option<Value> {
    let file = frame.file.as_deref().filter(|_| frame.line > 0)?;
    let mut region = json!({"startLine": frame.line});
    if frame.column > 0 {
        region["startColumn"] = frame.column.into();
    }
    let text = if depth == 0 {
        "from here"
    } else {
        "inlined here"
    };
    let location = json!({"artifactLocation": {"uri": uri(file)}, "region": region});
    Some(json!({"physicalLocation": location, "message": {"text": text}}))
}

/// A path as a URI reference: relative to the directory of the run, or absolute.
fn uri(name: &str) -> String {
    let mut text = String::new();
    let name = if cfg!(windows) {
        Cow::Owned(name.replace('\\', "/"))
    } else {
        Cow::Borrowed(name)
    };
    // `C:/a.ptx` is a path of Windows, also in the line information of a module that another system compiled.
    let has_drive =
        matches!(name.as_bytes(), [drive, b':', b'/', ..] if drive.is_ascii_alphabetic());
    if has_drive {
        text.push_str("file:///");
    } else if name.starts_with('/') {
        text.push_str("file://");
    }
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(byte.into())
            }
            b':' if has_drive => text.push(':'),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_as_references() {
        assert_eq!(uri("a b/c.ptx"), "a%20b/c.ptx");
        assert_eq!(uri("/a/c.ptx"), "file:///a/c.ptx");
        assert_eq!(uri("C:/a b/c.cu"), "file:///C:/a%20b/c.cu");
        let path = "C:\\a\\c.cu";
        let expected = if cfg!(windows) {
            "file:///C:/a/c.cu"
        } else {
            "C%3A%5Ca%5Cc.cu"
        };
        assert_eq!(uri(path), expected);
    }
}
