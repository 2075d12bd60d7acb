//! A page of `ptx-report/pages`: a title, a severity, prose, and two modules as examples.

/// The parts of a page.
pub struct Page<'a> {
    /// The code, such as `PTX0506`.
    pub code: &'a str,
    pub title: &'a str,
    /// `error` or `warning`.
    pub severity: &'a str,
    /// A module with one mistake, and one without.
    pub examples: Option<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Page<'a> {
    /// Reads a page; `None` if a part is missing.
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
        let (_, text) = self.text.split_once(&format!("\n## {heading}\n"))?;
        Some(text.split("\n## ").next().unwrap_or(text).trim())
    }

    /// The number of the line of the wrong example that ends with the comment `// CODE`.
    #[allow(dead_code, reason = "the generator of the pages does not use it")]
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
