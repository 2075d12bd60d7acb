//! The list of fields as text and as the table of `docs/queries.md`.

use std::fmt::Write;

use super::fields::{FIELDS, Field, Group, Index};

/// The largest number of words that tables list.
const MAX_LISTED: usize = 32;

/// A list of all fields, or one field with all its values; `None` if there is no field of this name.
pub(crate) fn fields_text(name: Option<&str>) -> Option<String> {
    let mut out = String::new();
    if let Some(name) = name {
        let field = super::fields::find(name)?;
        let _ = writeln!(
            out,
            "{}: {}\n{}",
            name_with_index(field),
            field.kind.name(),
            field.text
        );
        let _ = writeln!(out, "From: {}", field.from);
        for word in field.kind.words() {
            let _ = writeln!(out, "  {word}");
        }
        return Some(out);
    }
    for group in Group::ALL {
        let _ = writeln!(out, "{}:", group.title());
        for field in FIELDS.iter().filter(|f| f.group == group) {
            let (name, kind) = (name_with_index(field), field.kind.name());
            let _ = writeln!(out, "  {name:18} {kind:22} {}", field.text);
            if let Some(words) = words(field, "") {
                let _ = writeln!(out, "  {:41} {words}", "");
            }
        }
        out.push('\n');
    }
    Some(out)
}

fn name_with_index(field: &Field) -> String {
    match field.index {
        Index::None => field.name.to_owned(),
        Index::Optional => format!("{}[(N)]", field.name),
        Index::Required => format!("{}(N)", field.name),
    }
}

/// The values of a field, if they are few enough; otherwise the command that lists them.
fn words(field: &Field, quote: &str) -> Option<String> {
    let words = field.kind.words();
    match words.len() {
        0 => None,
        n if n > MAX_LISTED => Some(format!("values: ptxkit grep --fields={}", field.name)),
        _ => Some(format!(
            "{quote}{}{quote}",
            words.join(&format!("{quote}, {quote}"))
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields as tables of Markdown.
    fn tables() -> String {
        let mut out = String::new();
        for group in Group::ALL {
            let _ = write!(out, "\n### {}\n\n", group.title());
            out.push_str("| field | type | meaning | from |\n|---|---|---|---|\n");
            for field in FIELDS.iter().filter(|f| f.group == group) {
                let values = match words(field, "`") {
                    Some(words) if words.starts_with('`') => format!(" Values: {words}."),
                    Some(words) => format!(" Its {}`.", words.replace("ptxkit", "`ptxkit")),
                    None => String::new(),
                };
                let (name, kind) = (name_with_index(field), field.kind.name());
                let row = format!(
                    "| `{name}` | {kind} | {}{values} | {} |",
                    field.text, field.from
                );
                let _ = writeln!(out, "{}", row.replace("||", "\\|\\|"));
            }
        }
        out
    }

    #[test]
    fn the_page_lists_every_field() {
        const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/queries.md");
        let page = std::fs::read_to_string(PATH).unwrap();
        let (start, end) = ("<!-- fields -->\n", "\n<!-- end of fields -->");
        let from = page.find(start).unwrap() + start.len();
        let to = page.find(end).unwrap();
        if std::env::var_os("PTXKIT_BLESS").is_some() {
            let new = format!("{}{}{}", &page[..from], tables(), &page[to..]);
            std::fs::write(PATH, new).unwrap();
            return;
        }
        assert_eq!(&page[from..to], tables(), "run with PTXKIT_BLESS=1");
    }

    #[test]
    fn fields_are_described() {
        for (nth, field) in FIELDS.iter().enumerate() {
            let name = field.name;
            assert!(field.text.ends_with('.'), "{name}: a sentence");
            assert!(FIELDS[..nth].iter().all(|f| f.name != name), "{name} twice");
        }
    }
}
