//! Pages of HTML without other files: a document with a style sheet, a script, and the data that the script reads.

use std::io::{self, Write};

use serde::Serialize;

use crate::clean;

const DOCUMENT: &str = include_str!("page.html");
const ICON: &str = include_str!("icon.svg");
const PLURAL: &str = include_str!("plural.js");

/// The program and its version, as pages name it.
const VERSION: &str = concat!("ptxkit ", env!("CARGO_PKG_VERSION"));
/// The address of the project.
const PROJECT: &str = env!("CARGO_PKG_REPOSITORY");

/// A page. Its script may use the functions `plural` and `counted`.
#[derive(Debug, Default)]
pub struct Page<'a> {
    title: String,
    footer: String,
    guide: &'static str,
    style: &'a str,
    body: &'a str,
    script: &'a str,
    data: String,
}

impl<'a> Page<'a> {
    /// A page with a title and a text at the left of its footer. `guide` is the file in the folder `docs` that describes the page.
    #[must_use]
    pub fn new(title: &str, footer: &str, guide: &'static str) -> Self {
        Self {
            title: escaped(title),
            footer: escaped(footer),
            guide,
            ..Self::default()
        }
    }

    /// Sets the style sheet, the elements and the script.
    #[must_use]
    pub fn with_contents(self, style: &'a str, body: &'a str, script: &'a str) -> Self {
        Self {
            style,
            body,
            script,
            ..self
        }
    }

    /// Adds data for the script, in an element with this identifier. No text in the data can end the element.
    ///
    /// # Errors
    ///
    /// Errors of serializing the data.
    pub fn add_data(&mut self, id: &str, data: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(data)?.replace('<', "\\u003c");
        self.data += &format!("<script type=\"application/json\" id=\"{id}\">{text}</script>\n");
        Ok(())
    }

    /// Writes the page.
    ///
    /// # Errors
    ///
    /// Errors of writing to `out`.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut remaining = DOCUMENT;
        while let Some((text, tail)) = remaining.split_once('@') {
            let (name, tail) = tail.split_once('@').unwrap_or((tail, ""));
            out.write_all(text.as_bytes())?;
            self.write_part(name, out)?;
            remaining = tail;
        }
        out.write_all(remaining.as_bytes())
    }

    /// Writes what a name in the document denotes.
    fn write_part(&self, name: &str, out: &mut impl Write) -> io::Result<()> {
        let text = match name {
            "version" => VERSION,
            "project" => PROJECT,
            "icon" => ICON.trim_end(),
            "title" => &self.title,
            "file" => &self.footer,
            "guide" => self.guide,
            "style" => self.style,
            "body" => self.body,
            "data" => &self.data,
            "script" => {
                out.write_all(PLURAL.as_bytes())?;
                self.script
            }
            _ => "",
        };
        out.write_all(text.as_bytes())
    }
}

/// The text as HTML, without control characters.
pub(crate) fn escaped(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_its_parts_and_names_its_version() {
        let mut page = Page::new("<a>\x07", "b & \"c\"", "report.md")
            .with_contents("style", "body@x@", "script");
        page.add_data("d", &"</script>").unwrap();
        let mut out = Vec::new();
        page.write(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in [
            "<title>&lt;a&gt;\\u{7}</title>",
            "title=\"b &amp; &quot;c&quot;\"",
            "style",
            "body@x@",
            "script",
            "id=\"d\">\"\\u003c/script>\"",
            concat!(">ptxkit ", env!("CARGO_PKG_VERSION"), "</a>"),
            "/docs/report.md\"",
            "href=\"data:image/svg+xml,<svg ",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        let link = text.split("rel=\"icon\" href=\"").nth(1).unwrap();
        let icon = link.split('"').next().unwrap();
        assert!(icon.ends_with("</svg>") && !icon.contains('#'), "{icon}");
    }
}
