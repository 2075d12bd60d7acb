//! A page of `ptx-report/pages`: a title, a severity, prose, and two modules as examples.

/// What a page says.
pub struct Page<'a> {
    /// As in `PTX0506`.
    pub code: &'a str,
    pub title: &'a str,
    /// `error` or `warning`.
    pub severity: &'a str,
    /// A module with one mistake, and one without.
    pub examples: Option<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Page<'a> {
    /// Reads a page; `None` where it has another shape.
    pub fn read(text: &'a str) -> Option<Self> {
        let head = text.strip_prefix("# ")?.lines().next()?;
        let (code, title) = head.split_once(": ")?;
        let severity = text.lines().find_map(|l| l.strip_prefix("Severity: "))?;
        let mut page = Self {
            code,
            title,
            severity,
            examples: None,
            text,
        };
        for required in ["Why", "How to fix it"] {
            page.section(required)?;
        }
        page.examples = match (page.section("Wrong"), page.section("Right")) {
            (None, None) => page.section("No example").map(|_| None)?,
            (wrong, right) => Some((module(wrong?)?, module(right?)?)),
        };
        Some(page)
    }

    /// The text under a heading.
    pub fn section(&self, heading: &str) -> Option<&'a str> {
        let (_, rest) = self.text.split_once(&format!("\n## {heading}\n"))?;
        Some(rest.split("\n## ").next().unwrap_or(rest).trim())
    }

    /// The line of the wrong example that the comment `// CODE` ends.
    #[allow(dead_code, reason = "generating alone does not ask")]
    pub fn line(&self) -> Option<usize> {
        let mark = format!("// {}", self.code);
        let (wrong, _) = self.examples?;
        Some(wrong.lines().position(|l| l.ends_with(&mark))? + 1)
    }
}

/// The module between the fences of a section.
fn module(section: &str) -> Option<&str> {
    section.strip_prefix("```ptx\n")?.strip_suffix("```")
}
