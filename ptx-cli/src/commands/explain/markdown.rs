//! The pages of diagnostics, which are Markdown, as text for a terminal.

use crate::output;

/// The width of the text where that of the terminal is not known.
const WIDTH: usize = 100;

/// A page as text: headings are bold, code blocks are indented, paragraphs and items are wrapped.
pub(super) fn formatted(page: &str, width: Option<u16>) -> String {
    let width = width.map_or(WIDTH, |width| usize::from(width).min(WIDTH));
    let mut text = String::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code && !line.is_empty() {
            text += &format!("    {}\n", output::name(line));
        } else if let Some(heading) = line.strip_prefix('#') {
            let heading = heading.trim_start_matches('#').trim_start();
            text += &format!("{}\n", output::heading(plain(heading)));
        } else if let Some(item) = line.strip_prefix("* ") {
            wrap(&mut text, "* ", item, width);
        } else {
            wrap(&mut text, "", line, width);
        }
    }
    text
}

/// A text whose lines without indentation are headings, with these in bold.
pub(super) fn with_headings(text: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let content = line.trim_end_matches('\n');
            if content.is_empty() || content.starts_with(' ') {
                line.to_owned()
            } else {
                format!("{}\n", output::heading(content))
            }
        })
        .collect()
}

/// A text without the marks of links: `[text](address)` becomes `text`.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut remaining = text;
    while let Some((before, after)) = remaining.split_once('[') {
        let Some((label, address)) = after.split_once("](") else {
            break;
        };
        let Some((_, end)) = address.split_once(')') else {
            break;
        };
        plain += before;
        plain += label;
        remaining = end;
    }
    plain + remaining
}

/// Appends a paragraph after a mark, wrapped at a width. Code in it is highlighted. A line is too long only if a word is.
fn wrap(text: &mut String, mark: &str, paragraph: &str, width: usize) {
    let plain = plain(paragraph);
    let mut line = mark.to_owned();
    let mut lines = Vec::new();
    for word in plain.split_whitespace() {
        let is_first = line.trim_end().len() <= mark.trim_end().len();
        if !is_first && line.chars().count() + word.chars().count() >= width {
            lines.push(std::mem::replace(&mut line, " ".repeat(mark.len())));
        }
        line += word;
        line.push(' ');
    }
    lines.push(line);
    let wrapped = lines
        .iter()
        .map(|line| line.trim_end())
        .collect::<Vec<_>>()
        .join("\n");
    // Every second part is between backquotes, which are kept where there are no colors.
    for (index, part) in wrapped.split('`').enumerate() {
        match (index % 2, output::is_colored()) {
            (1, true) => *text += &output::name(part),
            (1, false) => *text += &format!("`{part}`"),
            _ => *text += part,
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_text() {
        let page = "# PTX1: a title\n\nA *word* and `code` in a [link](a.md) that is wrapped.\n\n* an item with many words\n\n```ptx\n  ret;\n```\n";
        let expected = "PTX1: a title\n\nA *word* and `code`\nin a link that is\nwrapped.\n\n* an item with many\n  words\n\n      ret;\n";
        assert_eq!(formatted(page, Some(20)), expected);
        assert_eq!(with_headings("add\n  text\n"), "add\n  text\n");
    }
}
