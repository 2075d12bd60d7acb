//! The header of NumPy's format `.npy`, versions 1 to 3: the type of the elements, the shape and the order of an array.

use std::fmt::{self, Write as _};
use std::io::{self, Read};

use nom::branch::alt;
use nom::bytes::complete::{is_not, tag, take};
use nom::character::complete::{char, multispace0, u64 as number};
use nom::combinator::{consumed, map, opt, recognize, value};
use nom::multi::{many0, separated_list0};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

use super::invalid;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The elements of an array begin at a multiple of this number of bytes.
const ALIGNMENT: usize = 64;
/// The largest size of a header in bytes. That of NumPy is 10,000 bytes, unless the user trusts the file.
const MAX_HEADER: u64 = 1 << 20;
/// The deepest nesting of sequences. Records of records have two levels each.
const MAX_DEPTH: u32 = 32;

/// The type of the elements of an array.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ElementType {
    /// A number, text, a date, or bytes, such as `<f4`.
    Plain(PlainType),
    /// A record: its description in Python, and its size in bytes.
    Record { description: String, bytes: u64 },
}

/// The type of an element without fields.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PlainType {
    /// `<` for little-endian, `>` for big-endian, or `|` where the order of bytes does not matter.
    pub(super) byte_order: char,
    /// The letter of NumPy, such as `f` for floating-point numbers.
    pub(super) kind: char,
    /// The number after the letter: bytes, or characters of text.
    pub(super) size: u64,
    /// The unit of a date or a duration, such as `[ns]`; empty for others.
    unit: String,
}

/// The order of the elements in a file.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The last dimension is the innermost one, as in C.
    RowMajor,
    /// The first dimension is the innermost one, as in Fortran.
    ColumnMajor,
}

/// The contents of a header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) ty: ElementType,
    pub(super) order: Order,
    pub(super) shape: Vec<u64>,
}

impl PlainType {
    /// A type with this letter and this size. `size` is the number of bytes, except for text.
    pub(super) fn new(byte_order: char, kind: char, size: u64) -> Self {
        Self {
            byte_order,
            kind,
            size,
            unit: String::new(),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let error = || format!("unknown type of elements `{text}`");
        let mut letters = text.chars();
        let (Some(byte_order), Some(kind)) = (letters.next(), letters.next()) else {
            return Err(error());
        };
        let rest = letters.as_str();
        if kind == 'O' {
            return Err("the array contains Python objects, not numbers".to_owned());
        }
        let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        let size = digits.parse().map_err(|_| error())?;
        let is_valid = match kind {
            'b' => size == 1,
            'i' | 'u' => matches!(size, 1 | 2 | 4 | 8),
            'f' => matches!(size, 2 | 4 | 8 | 10 | 12 | 16),
            'c' => matches!(size, 8 | 16 | 20 | 24 | 32),
            'm' | 'M' => size == 8,
            'S' | 'a' | 'U' | 'V' => true,
            _ => false,
        };
        let has_unit = unit.ends_with(']') && matches!(kind, 'm' | 'M');
        if !is_valid || !"<>|".contains(byte_order) || !unit.is_empty() && !has_unit {
            return Err(error());
        }
        Ok(Self {
            byte_order,
            kind,
            size,
            unit: unit.to_owned(),
        })
    }

    /// The number of bytes of an element; `None` if it has more than 64 bits.
    fn bytes(&self) -> Option<u64> {
        match self.kind {
            'U' => self.size.checked_mul(4),
            _ => Some(self.size),
        }
    }
}

impl fmt::Display for PlainType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            byte_order,
            kind,
            size,
            unit,
        } = self;
        write!(f, "{byte_order}{kind}{size}{unit}")
    }
}

impl ElementType {
    /// The number of bytes of an element; `None` if it has more than 64 bits.
    pub(super) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Plain(ty) => ty.bytes(),
            Self::Record { bytes, .. } => Some(*bytes),
        }
    }

    /// The type in Python: a string in quotes, or a list of fields.
    fn description(&self) -> String {
        match self {
            Self::Plain(ty) => format!("'{ty}'"),
            Self::Record { description, .. } => description.clone(),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(ty) => ty.fmt(f),
            Self::Record { description, .. } => f.write_str(description),
        }
    }
}

impl Header {
    /// Reads the header at the beginning of a file.
    pub(super) fn read(file: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 8];
        let mut length = [0; 4];
        let is_cut = |_| invalid("the header is not complete".to_owned());
        if file.read_exact(&mut start).is_err() || !start.starts_with(MAGIC) {
            let message = "no magic number of NumPy's format `.npy`";
            return Err(invalid(message.to_owned()));
        }
        let version = start[6];
        match version {
            1 => file.read_exact(&mut length[..2]).map_err(is_cut)?,
            2 | 3 => file.read_exact(&mut length).map_err(is_cut)?,
            _ => {
                let message = format!("version {version} of the format is unknown");
                return Err(invalid(message));
            }
        }
        let length = u64::from(u32::from_le_bytes(length));
        if length > MAX_HEADER {
            let message = format!("the header has {length} bytes; expected at most {MAX_HEADER}");
            return Err(invalid(message));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes).map_err(is_cut)?;
        let text = if version == 3 {
            String::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?
        } else {
            bytes.into_iter().map(char::from).collect()
        };
        Self::parse(&text).map_err(invalid)
    }

    /// Parses the dictionary of a header, without what is before it in the file.
    fn parse(text: &str) -> Result<Self, String> {
        let entries = match dictionary(text) {
            Ok((rest, entries)) if rest.trim().is_empty() => entries,
            _ => return Err("the header is not a dictionary of Python".to_owned()),
        };
        let entry = |key: &str| {
            let entry = entries.iter().find(|(name, _)| name == key);
            let (_, entry) = entry.ok_or_else(|| format!("the header has no `{key}`"))?;
            Ok::<_, String>(entry)
        };
        let (description, ty) = entry("descr")?;
        let ty = match ty {
            Value::Text(text) => ElementType::Plain(PlainType::parse(text)?),
            record => ElementType::Record {
                description: (*description).to_owned(),
                bytes: record_bytes(record)?,
            },
        };
        let order = match entry("fortran_order")?.1 {
            Value::Bool(true) => Order::ColumnMajor,
            Value::Bool(false) => Order::RowMajor,
            _ => return Err("`fortran_order` is neither `True` nor `False`".to_owned()),
        };
        let shape = dimensions(&entry("shape")?.1)?;
        Ok(Self { ty, order, shape })
    }

    /// The header as bytes of a file.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let order = match self.order {
            Order::ColumnMajor => "True",
            Order::RowMajor => "False",
        };
        let mut text = format!(
            "{{'descr': {}, 'fortran_order': {order}, 'shape': (",
            self.ty.description()
        );
        for dimension in &self.shape {
            let _ = write!(text, "{dimension}, ");
        }
        // A tuple with one element ends with a comma.
        if self.shape.len() == 1 {
            text.truncate(text.len() - 1);
        } else {
            text.truncate(text.trim_end_matches(", ").len());
        }
        text += "), }";
        let version = if !text.is_ascii() {
            3
        } else if text.len() + ALIGNMENT <= usize::from(u16::MAX) {
            1
        } else {
            2
        };
        let length_bytes = if version == 1 { 2 } else { 4 };
        let start = MAGIC.len() + 2 + length_bytes;
        let bytes = (start + text.len() + 1).next_multiple_of(ALIGNMENT);
        text.extend(std::iter::repeat_n(' ', bytes - 1 - start - text.len()));
        text.push('\n');
        let length = (text.len() as u32).to_le_bytes();
        let parts = [
            MAGIC,
            &[version, 0],
            &length[..length_bytes],
            text.as_bytes(),
        ];
        parts.concat()
    }
}

/// The sizes of dimensions. Their product without those that are zero must have at most 64 bits.
fn dimensions(value: &Value) -> Result<Vec<u64>, String> {
    let error = || "the shape is not a tuple of whole numbers".to_owned();
    let Value::Sequence(elements) = value else {
        return Err(error());
    };
    let mut shape = Vec::new();
    let mut count = Some(1u64);
    for element in elements {
        let Value::Number(size) = element else {
            return Err(error());
        };
        count = count.and_then(|count| count.checked_mul((*size).max(1)));
        shape.push(*size);
    }
    match count {
        None => Err("the array is too large".to_owned()),
        Some(_) => Ok(shape),
    }
}

/// The bytes of a record: the sum of its fields, which are `(name, type)` or `(name, type, shape)`.
fn record_bytes(fields: &Value) -> Result<u64, String> {
    let error = || "the type of elements is neither a string nor a list of fields".to_owned();
    let Value::Sequence(fields) = fields else {
        return Err(error());
    };
    let mut sum = 0u64;
    for field in fields {
        let Value::Sequence(parts) = field else {
            return Err(error());
        };
        let (ty, shape) = match &parts[..] {
            [_, ty] => (ty, Vec::new()),
            [_, ty, shape] => (ty, dimensions(shape)?),
            _ => return Err(error()),
        };
        let bytes = match ty {
            Value::Text(text) => PlainType::parse(text)?.bytes(),
            record => Some(record_bytes(record)?),
        };
        sum = shape
            .iter()
            .try_fold(bytes.ok_or_else(error)?, |bytes, n| bytes.checked_mul(*n))
            .and_then(|bytes| sum.checked_add(bytes))
            .ok_or("an element is too large")?;
    }
    Ok(sum)
}

/// A literal of Python.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Bool(bool),
    Number(u64),
    /// A tuple or a list.
    Sequence(Vec<Value>),
}

/// A key of a dictionary, and its value with the text of the value.
type Entry<'t> = (String, (&'t str, Value));

/// The entries of a dictionary whose keys are strings.
fn dictionary(text: &str) -> IResult<&str, Vec<Entry<'_>>> {
    let key = delimited(multispace0, string, multispace0);
    let value = preceded(multispace0, consumed(|text| literal(text, MAX_DEPTH)));
    let entry = terminated(separated_pair(key, char(':'), value), multispace0);
    delimited(
        preceded(multispace0, char('{')),
        terminated(separated_list0(char(','), entry), ending),
        char('}'),
    )
    .parse(text)
}

/// The comma and the spaces before a closing bracket.
fn ending(text: &str) -> IResult<&str, &str> {
    recognize((multispace0, opt(char(',')), multispace0)).parse(text)
}

/// A literal with at most `depth` levels of sequences in it.
fn literal(text: &str, depth: u32) -> IResult<&str, Value> {
    let plain = alt((
        map(string, Value::Text),
        value(Value::Bool(true), tag("True")),
        value(Value::Bool(false), tag("False")),
        // Python 2 writes `L` after long numbers.
        map(terminated(number, opt(char('L'))), Value::Number),
    ));
    if depth == 0 {
        return terminated(plain, multispace0).parse(text);
    }
    let element = || preceded(multispace0, move |text| literal(text, depth - 1));
    let elements = || terminated(separated_list0(char(','), element()), ending);
    let sequence = alt((
        delimited(char('('), elements(), char(')')),
        delimited(char('['), elements(), char(']')),
    ));
    terminated(alt((plain, map(sequence, Value::Sequence))), multispace0).parse(text)
}

/// A string, in single or double quotes. A backslash before a character is not part of the text; other escapes do not occur in names that are compared.
fn string(text: &str) -> IResult<&str, String> {
    let quoted = |quote: char, special: &'static str| {
        let part = alt((is_not(special), preceded(char('\\'), take(1usize))));
        delimited(char(quote), many0(part), char(quote))
    };
    map(alt((quoted('\'', "'\\"), quoted('"', "\"\\"))), |parts| {
        parts.concat()
    })
    .parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Header, String> {
        let length = (text.len() as u16).to_le_bytes();
        let file = [MAGIC, &[1, 0], &length, text.as_bytes()].concat();
        Header::read(&mut &file[..]).map_err(|error| error.to_string())
    }

    #[test]
    fn headers_that_numpy_writes() {
        for (text, bytes, shape) in [
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
                4,
                &[][..],
            ),
            (
                "{'descr': '>U3', 'fortran_order': True, 'shape': (2,), }",
                12,
                &[2],
            ),
            (
                "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2, 0), }",
                8,
                &[2, 0],
            ),
            (
                "{'descr': [('a', '<f4'), ('b', [('c', '|u1', (3, 2)), (('it\\'s', 'd'), '<i2')])], 'fortran_order': False, 'shape': (5, 1, 7), }",
                12,
                &[5, 1, 7],
            ),
        ] {
            let header = read(text).unwrap();
            assert_eq!(header.ty.bytes(), Some(bytes), "{text}");
            assert_eq!(header.shape, shape);
            let written = header.to_bytes();
            assert_eq!(written.len() % ALIGNMENT, 0);
            let dictionary = str::from_utf8(&written[10..]).unwrap();
            assert_eq!(dictionary.trim_end(), text);
            let again = Header::read(&mut &written[..]).unwrap();
            assert_eq!((again.ty, again.order), (header.ty, header.order));
        }
        // Python 2.
        let text = "{\"shape\" : ( 3L , 4L ) , 'fortran_order':True,'descr':\"|S5\"}  \n";
        let header = read(text).unwrap();
        assert_eq!(
            (header.shape, header.order),
            (vec![3, 4], Order::ColumnMajor)
        );
    }

    #[test]
    fn headers_that_are_refused() {
        let deep = format!(
            "{{'descr': {}{}, 'fortran_order': False, 'shape': ()}}",
            "[".repeat(4000),
            "]".repeat(4000)
        );
        for (text, message) in [
            (
                "{'descr': '|O', 'fortran_order': False, 'shape': ()}",
                "Python objects",
            ),
            (
                "{'descr': '<q8', 'fortran_order': False, 'shape': ()}",
                "unknown type of elements `<q8`",
            ),
            (
                "{'descr': '<f4[ns]', 'fortran_order': False, 'shape': ()}",
                "unknown type",
            ),
            (
                "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
                "neither",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
                "not a dictionary",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
                "not a tuple",
            ),
            (
                "{'descr': '<f4', 'fortran_order': False}",
                "the header has no `shape`",
            ),
            (
                "{'descr': [('a', '|V9999999999999999999', (9, 9))], 'fortran_order': False, 'shape': ()}",
                "too large",
            ),
            (&deep, "not a dictionary"),
            ("", "not a dictionary"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        let large = [MAGIC, &[2, 0], &[255; 4]].concat();
        assert!(Header::read(&mut &large[..]).is_err());
    }
}
