//! Structs as they are written on the command line: `struct:{buffer:a, u32:5, {u8:1, u64:2}}`.

use ptx_vm::StructArgument;

use super::argument::Argument;

/// The largest depth of structs in structs.
const DEPTH: usize = 16;
/// The largest alignment.
const MAX_ALIGN: usize = 4096;
/// The bytes of the address of a buffer.
pub(super) const POINTER: usize = 8;

const FORMS: &str = "expected fields such as `struct:{buffer:a, u32:5}`: `TYPE:VALUES`, `bytes:HEX`, a buffer, `align:BYTES` or a struct in braces";

/// A struct with the layout of C.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    /// The fields with their offsets. Fields of inner structs are among them.
    pub(super) fields: Vec<(usize, Argument)>,
    /// The layout. The bytes of fields are zero.
    layout: StructArgument,
}

impl Structure {
    /// Parses the fields between the braces and the braces. Linear.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let inner = text
            .trim()
            .strip_prefix('{')
            .ok_or(FORMS)?
            .strip_suffix('}')
            .ok_or("a `{` has no `}`")?;
        let mut open = vec![Self::default()];
        let mut remaining = inner.trim();
        while !remaining.is_empty() {
            if let Some(rest) = remaining.strip_prefix('}') {
                let closed = open.pop().unwrap_or_default();
                let outer = open.last_mut().ok_or("a `}` has no `{`")?;
                outer.add_structure(closed);
                remaining = after_field(rest)?;
                continue;
            }
            let start = remaining.strip_prefix("struct:").unwrap_or(remaining);
            if let Some(rest) = start.strip_prefix('{') {
                if open.len() > DEPTH {
                    return Err(format!("there are more than {DEPTH} structs in each other"));
                }
                open.push(Self::default());
                remaining = rest.trim_start();
                continue;
            }
            let length = field_length(remaining);
            let (field, rest) = remaining.split_at(length);
            if let Some(structure) = open.last_mut() {
                structure.add_text(field.trim())?;
            }
            remaining = after_field(rest)?;
        }
        match (open.pop(), open.is_empty()) {
            (Some(structure), true) => Ok(structure),
            _ => Err("a `{` has no `}`".to_owned()),
        }
    }

    /// The size in bytes.
    pub(super) fn size(&self) -> usize {
        self.layout.bytes().len()
    }

    /// Adds the field that a text describes.
    fn add_text(&mut self, field: &str) -> Result<(), String> {
        if let Some(align) = field.strip_prefix("align:") {
            let align = align.trim().parse().ok();
            let align =
                align.filter(|align: &usize| align.is_power_of_two() && *align <= MAX_ALIGN);
            self.layout.align(align.ok_or_else(|| {
                format!("expected `align:` with a power of two up to {MAX_ALIGN}")
            })?);
            return Ok(());
        }
        let argument: Argument = field.parse()?;
        let (size, align) = argument
            .size_and_align()
            .ok_or_else(|| format!("a number in a struct needs a type, such as `u32:{field}`"))?;
        let offset = self.layout.field(&vec![0; size], align);
        self.fields.push((offset, argument));
        Ok(())
    }

    fn add_structure(&mut self, inner: Self) {
        let start = self.layout.structure(&inner.layout);
        let fields = inner.fields.into_iter();
        self.fields
            .extend(fields.map(|(offset, field)| (start + offset, field)));
    }
}

/// The length of the first field of a text. Commas between brackets belong to it, and commas before a text without a colon: they separate the elements of an array.
fn field_length(text: &str) -> usize {
    let mut depth = 0u32;
    for (position, character) in text.char_indices() {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '}' if depth == 0 => return position,
            ',' if depth == 0 && begins_field(&text[position + 1..]) => return position,
            _ => {}
        }
    }
    text.len()
}

/// Whether a field begins after a comma.
fn begins_field(text: &str) -> bool {
    let end = text.find([',', '{', '}', ':', '[']).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    text.trim_start().is_empty()
        || rest.starts_with(['{', ':'])
        || rest.starts_with('}') && word.trim().is_empty()
}

/// The text after the comma that follows a field, or before a brace that ends the struct.
fn after_field(text: &str) -> Result<&str, String> {
    let text = text.trim_start();
    match text.strip_prefix(',') {
        Some(rest) => Ok(rest.trim_start()),
        None if text.is_empty() || text.starts_with('}') => Ok(text),
        None => Err(FORMS.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of the fields, and the size.
    fn layout(text: &str) -> Result<(Vec<usize>, usize), String> {
        let structure = Structure::parse(text)?;
        let offsets = structure.fields.iter().map(|(offset, _)| *offset);
        Ok((offsets.collect(), structure.size()))
    }

    #[test]
    fn layouts_of_c() {
        let cases: [(&str, &[usize], usize); 13] = [
            ("{}", &[], 0),
            ("{u8:1}", &[0], 1),
            ("{u8:1, u32:2}", &[0, 4], 8),
            ("{u64:1,u8:2}", &[0, 8], 16),
            ("{buffer:a, u32:5, buffer:b+8}", &[0, 8, 16], 24),
            ("{f32:1,2,3, u8:1}", &[0, 12], 16),
            ("{u8:1, {u8:1, u16:2}, u8:3}", &[0, 2, 4, 6], 8),
            (
                "{u8:1, struct:{u8:1, struct:{u64:2}}, u8:3 , }",
                &[0, 8, 16, 24],
                32,
            ),
            ("{align:16, f32:1,2,3,4, u32:7}", &[0, 16], 32),
            ("{u8:0, bytes:010203, u16:1}", &[0, 1, 4], 6),
            ("{random:u32[8,4]:7, in:a,b.npy, u8:1}", &[0, 8, 16], 24),
            ("{f16x2:1,2, u8:9}", &[0, 4], 8),
            ("{{{u8:1}}}", &[0], 1),
        ];
        for (text, offsets, size) in cases {
            assert_eq!(layout(text), Ok((offsets.to_vec(), size)), "{text}");
        }
    }

    #[test]
    fn wrong_structs() {
        for text in [
            "",
            "{",
            "}",
            "u32:1",
            "{u32:1",
            "u32:1}",
            "{u32:1}}",
            "{{u32:1}",
            "{5}",
            "{u32:1 {u8:1}}",
            "{align:3, u8:1}",
            "{align:, u8:1}",
            "{nonsense:1}",
            "{u32:1,,u8:2}",
            "{u32:}",
        ] {
            assert!(layout(text).is_err(), "{text}");
        }
        let deep = format!("{}u8:1{}", "{".repeat(100_000), "}".repeat(100_000));
        assert!(layout(&deep).is_err());
    }
}
