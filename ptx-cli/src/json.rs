//! Compact JSON, written several times as fast as by a general serializer: names of fields and most strings are copied as they are, and nothing is
//! written byte by byte.

use std::fmt::{self, Display};
use std::io;

use serde::ser::{self, Serialize};

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    if needs_escape(text.as_bytes()) {
        escaped_string(out, text);
        return;
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends a string that contains characters that need escapes.
#[cold]
fn escaped_string(out: &mut Vec<u8>, text: &str) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, text);
}

/// Whether a text contains a quote, a backslash or a control character.
#[inline]
fn needs_escape(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        // Two parts that may overlap are all of a short text.
        return match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                let [first, last] = [first, last].map(|part| u32::from_ne_bytes(*part));
                has_special_byte(u64::from(first) << 32 | u64::from(last))
            }
            _ => text
                .iter()
                .any(|&byte| byte < b' ' || byte == b'"' || byte == b'\\'),
        };
    };
    let mut head = text;
    while let Some((word, tail)) = head.split_first_chunk::<8>() {
        if has_special_byte(u64::from_ne_bytes(*word)) {
            return true;
        }
        head = tail;
    }
    has_special_byte(u64::from_ne_bytes(*last))
}

/// Whether one of eight bytes is a quote, a backslash or a control character.
#[inline]
const fn has_special_byte(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGH_BITS: u64 = ONES << 7;
    /// Not zero if a byte is less than a bound of at most 128.
    const fn less(word: u64, bound: u8) -> u64 {
        word.wrapping_sub(ONES * bound as u64) & !word & HIGH_BITS
    }
    let quotes = less(word ^ (ONES * b'"' as u64), 1);
    let backslashes = less(word ^ (ONES * b'\\' as u64), 1);
    quotes | backslashes | less(word, b' ') != 0
}

/// Appends JSON as it is, or a part of a string without characters that need escapes.
#[inline]
pub(crate) fn raw(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// Appends `true` or `false`.
pub(crate) fn flag(out: &mut Vec<u8>, flag: bool) {
    raw(out, if flag { "true" } else { "false" });
}

/// Appends a comma, except the first time.
#[inline]
pub(crate) fn comma(out: &mut Vec<u8>, first: &mut bool) {
    if !std::mem::replace(first, false) {
        out.push(b',');
    }
}

/// Appends a value. The text is that of `serde_json`.
///
/// # Errors
///
/// An error of the sink, or of the serialization of the value: keys of maps must be strings.
pub(crate) fn write(out: &mut impl Sink, value: &impl Serialize) -> io::Result<()> {
    value.serialize(Writer { out }).map_err(|error| error.0)
}

/// Text that is being written.
pub(crate) trait Sink {
    /// The text that was not passed on.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Called after each element of a list: passes on the text if it is long.
    ///
    /// # Errors
    ///
    /// The text cannot be passed on.
    fn after_element(&mut self) -> io::Result<()>;
}

impl Sink for Vec<u8> {
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    fn after_element(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An error of a serialization.
#[derive(Debug)]
struct Error(io::Error);

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self(io::Error::other(message.to_string()))
    }
}

/// A serializer of one value.
struct Writer<'o, S> {
    out: &'o mut S,
}

/// A list or an object that is being written.
struct Compound<'o, S> {
    out: &'o mut S,
    is_first: bool,
    /// The text after the last element.
    end: &'static str,
}

impl<'o, S: Sink> Writer<'o, S> {
    fn raw(self, text: &str) -> Result<(), Error> {
        raw(self.out.buffer(), text);
        Ok(())
    }

    fn integer(self, value: impl itoa::Integer) -> Result<(), Error> {
        self.raw(itoa::Buffer::new().format(value))
    }

    /// A floating-point number: rare.
    fn float(self, value: impl Serialize) -> Result<(), Error> {
        serde_json::to_writer(self.out.buffer(), &value).map_err(|error| Error(error.into()))
    }

    fn compound(self, start: &str, end: &'static str) -> Result<Compound<'o, S>, Error> {
        raw(self.out.buffer(), start);
        Ok(Compound {
            out: self.out,
            is_first: true,
            end,
        })
    }

    /// The start of an object with one field whose value is a list or an object.
    fn variant(
        self,
        variant: &str,
        start: &str,
        end: &'static str,
    ) -> Result<Compound<'o, S>, Error> {
        let buffer = self.out.buffer();
        raw(buffer, "{");
        string(buffer, variant);
        raw(buffer, ":");
        self.compound(start, end)
    }
}

impl<'o, S: Sink> ser::Serializer for Writer<'o, S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'o, S>;
    type SerializeTuple = Compound<'o, S>;
    type SerializeTupleStruct = Compound<'o, S>;
    type SerializeTupleVariant = Compound<'o, S>;
    type SerializeMap = Compound<'o, S>;
    type SerializeStruct = Compound<'o, S>;
    type SerializeStructVariant = Compound<'o, S>;

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        flag(self.out.buffer(), value);
        Ok(())
    }

    fn serialize_i8(self, value: i8) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i16(self, value: i16) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i32(self, value: i32) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_i64(self, value: i64) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u8(self, value: u8) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u16(self, value: u16) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u32(self, value: u32) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.integer(value)
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.float(value)
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.float(value)
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        string(self.out.buffer(), value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.raw("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.raw("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.raw("null")
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = self.compound("{", "}")?;
        object.field(variant, value)?;
        object.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'o, S>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'o, S>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'o, S>, Error> {
        self.compound("[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'o, S>, Error> {
        self.variant(variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'o, S>, Error> {
        self.compound("{", "}")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'o, S>, Error> {
        self.compound("{", "}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'o, S>, Error> {
        self.variant(variant, "{", "}}")
    }
}

impl<S: Sink> Compound<'_, S> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        comma(self.out.buffer(), &mut self.is_first);
        value.serialize(Writer { out: self.out })?;
        self.out.after_element().map_err(Error)
    }

    /// A field whose name contains no characters that need escapes.
    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        let buffer = self.out.buffer();
        buffer.reserve(name.len() + 4);
        comma(buffer, &mut self.is_first);
        buffer.push(b'"');
        raw(buffer, name);
        raw(buffer, "\":");
        value.serialize(Writer { out: self.out })
    }

    fn finish(self) -> Result<(), Error> {
        raw(self.out.buffer(), self.end);
        Ok(())
    }
}

macro_rules! impl_list {
    ($($trait:ident, $element:ident;)*) => {$(
        impl<S: Sink> ser::$trait for Compound<'_, S> {
            type Ok = ();
            type Error = Error;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        }
    )*};
}

impl_list! {
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field;
}

macro_rules! impl_struct {
    ($($trait:ident;)*) => {$(
        impl<S: Sink> ser::$trait for Compound<'_, S> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.finish()
            }
        }
    )*};
}

impl_struct! {
    SerializeStruct;
    SerializeStructVariant;
}

impl<S: Sink> ser::SerializeMap for Compound<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let buffer = self.out.buffer();
        comma(buffer, &mut self.is_first);
        let start = buffer.len();
        key.serialize(Writer { out: self.out })?;
        let buffer = self.out.buffer();
        if buffer.get(start) != Some(&b'"') {
            return Err(ser::Error::custom("a key is not a string"));
        }
        buffer.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Writer { out: self.out })
    }

    fn end(self) -> Result<(), Error> {
        self.finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    #[derive(Serialize)]
    enum Kind {
        Unit,
        Newtype(u8),
        Tuple(i64, f64),
        Struct { name: &'static str },
    }

    #[derive(Serialize)]
    struct Unit;

    #[derive(Serialize)]
    struct Pair(u64, Option<char>);

    #[derive(Serialize)]
    struct Value {
        text: String,
        kinds: Vec<Kind>,
        map: BTreeMap<String, (bool, Unit)>,
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Serialize)]
    struct Inner {
        pair: Pair,
        numbers: [f64; 4],
        empty: Vec<u8>,
        absent: Option<u8>,
    }

    #[test]
    fn text_is_that_of_serde_json() {
        for text in [
            "",
            "a",
            "plain text",
            "a\"b",
            "12345678\\",
            "\u{1f}",
            "é\u{7f}漢",
            "1234567\n",
        ] {
            let value = Value {
                text: text.to_owned(),
                kinds: vec![
                    Kind::Unit,
                    Kind::Newtype(255),
                    Kind::Tuple(i64::MIN, 0.5),
                    Kind::Struct { name: "x" },
                ],
                map: [
                    (text.to_owned(), (true, Unit)),
                    ("b".to_owned(), (false, Unit)),
                ]
                .into(),
                inner: Inner {
                    pair: Pair(u64::MAX, Some('"')),
                    numbers: [1.0, -0.0, 1e300, f64::NAN],
                    empty: Vec::new(),
                    absent: None,
                },
            };
            let mut out = Vec::new();
            super::write(&mut out, &value).unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                serde_json::to_string(&value).unwrap()
            );
        }
    }

    #[test]
    fn every_byte_that_needs_an_escape_is_found() {
        for byte in 0..=0x7f_u8 {
            for len in 1..18 {
                for position in 0..len {
                    let mut text = vec![b'a'; len];
                    text[position] = byte;
                    let text = std::str::from_utf8(&text).unwrap();
                    let mut out = Vec::new();
                    super::string(&mut out, text);
                    assert_eq!(out, serde_json::to_vec(text).unwrap());
                }
            }
        }
    }

    #[test]
    fn keys_of_maps_are_strings() {
        let map = BTreeMap::from([(1, 2)]);
        super::write(&mut Vec::new(), &map).unwrap_err();
    }
}
