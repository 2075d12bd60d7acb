//! The message that opens a document, read without a second copy of its text.

use lsp_types::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What `textDocument/didOpen` has, as far as it is used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Opened<'a> {
    #[serde(borrow)]
    pub(crate) text_document: TextDocument<'a>,
}

#[derive(Deserialize)]
pub(crate) struct TextDocument<'a> {
    pub(crate) uri: Uri,
    pub(crate) version: i32,
    #[serde(borrow)]
    text: &'a RawValue,
}

/// How much of a text is read at once.
const PART: usize = 1 << 16;

impl TextDocument<'_> {
    /// The text. A JSON reader collects a string that has escapes in a buffer that grows, and copies it from there: of a large
    /// document that takes three times its length, so that it is read in parts.
    pub(crate) fn text(&self) -> serde_json::Result<String> {
        let json = self.text.get();
        let quoted = json.strip_prefix('"').and_then(|s| s.strip_suffix('"'));
        let Some(mut rest) = quoted else {
            return serde_json::from_str(json);
        };
        // The escapes are longer than what they mean: the rest is capacity for changes of the document.
        let mut text = String::with_capacity(rest.len());
        while !rest.is_empty() {
            let (part, after) = rest.split_at(part_len(rest));
            let part: String = serde_json::from_str(&format!("\"{part}\""))?;
            text.push_str(&part);
            rest = after;
        }
        Ok(text)
    }
}

/// The length of a part of the inside of a string, which ends before the escape of a line break.
fn part_len(json: &str) -> usize {
    let bytes = json.as_bytes();
    let mut breaks = memchr::memchr_iter(b'\\', bytes.get(PART..).unwrap_or_default());
    let of_break = |i: &usize| {
        let around = bytes.get(PART + i - 1..PART + i + 2);
        matches!(around, Some([before, _, b'n']) if *before != b'\\')
    };
    breaks.find(of_break).map_or(json.len(), |i| PART + i)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_parts_is_the_text() {
        let pieces = [
            "\n", "\t", "a", "\\", "\"", "é", "😀", "\u{1}", "\\n", "\r\n",
        ];
        let mut random = fastrand::Rng::with_seed(3);
        for count in [0, 10, 1000, 100_000] {
            let text: String = (0..count)
                .map(|_| pieces[random.usize(..pieces.len())])
                .collect();
            let json = serde_json::to_string(&text).unwrap();
            // Every character outside ASCII as escapes.
            let escaped: String = json
                .chars()
                .flat_map(|c| match c.is_ascii() {
                    true => vec![c.to_string()],
                    false => c
                        .encode_utf16(&mut [0; 2])
                        .iter()
                        .map(|u| format!("\\u{u:04x}"))
                        .collect(),
                })
                .collect();
            for text_json in [json, escaped] {
                let message = format!(
                    "{{\"textDocument\": {{\"uri\": \"file:///a\", \"languageId\": \"ptx\", \"version\": 1, \"text\": {text_json}}}}}"
                );
                let opened: Opened<'_> = serde_json::from_str(&message).unwrap();
                assert_eq!(opened.text_document.text().unwrap(), text);
            }
        }
    }

    #[test]
    fn only_a_string_is_a_text() {
        for text in ["null", "1", "[\"a\"]", "\"\\x\"", "\"\\ud800\""] {
            let message = format!("{{\"uri\": \"file:///a\", \"version\": 1, \"text\": {text}}}");
            let document = serde_json::from_str::<TextDocument<'_>>(&message);
            assert!(
                document.is_err() || document.unwrap().text().is_err(),
                "{text}"
            );
        }
    }
}
