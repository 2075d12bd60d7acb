//! Textures, samplers and surfaces as arguments: `texture:ARRAY:…`, `sampler:…` and `surface:ARRAY:…`.

mod array;
mod fields;
#[cfg(feature = "png")]
mod png;

use std::path::Path;
use std::str::FromStr;

use ptx_report::clean;

pub(super) use array::{AllocatedArray, ArrayArgument, channel_type};
pub(crate) use fields::Fields;

use super::argument::Argument;

const TEXTURE: &str = "expected `texture:ARRAY`, such as `texture:image:filter=linear` for an array of a script, `texture:{in:FILE.npy}:2d`, or `texture:{in:FILE.npy}:memory` for linear memory";
const SURFACE: &str = "expected `surface:ARRAY`, such as `surface:image` for an array of a script, or `surface:{out:FILE.npy:TYPE[SHAPE]}:2d:level=0`";

/// A texture, a sampler or a surface.
#[derive(Clone, Debug)]
pub(crate) enum ObjectArgument {
    Texture(Source, Fields),
    Sampler(Fields),
    /// A surface of a level of an array.
    Surface(Source, u32),
}

/// The texels of a texture or of a surface.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// An array of a script, by its name.
    Named(String),
    Array(ArrayArgument),
    /// A buffer, with the geometry by which it is read.
    Memory(Box<Argument>, MemoryGeometry),
}

/// The geometry of a texture that reads a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum MemoryGeometry {
    /// Texels that follow each other.
    Line,
    /// Rows of texels.
    Image,
}

impl MemoryGeometry {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "memory" => Some(Self::Line),
            "pitch" => Some(Self::Image),
            _ => None,
        }
    }
}

impl ObjectArgument {
    /// Parses an object of a kind; `None` if there is no such kind of objects.
    pub(super) fn parse(kind: &str, text: &str) -> Option<Result<Self, String>> {
        Some(match kind {
            "texture" => Self::texture(text),
            "sampler" => Fields::parse(text).and_then(|fields| {
                fields.check_sampler()?;
                Ok(Self::Sampler(fields))
            }),
            "surface" => Self::surface(text),
            _ => return None,
        })
    }

    fn texture(text: &str) -> Result<Self, String> {
        let (source, fields) = source(text, TEXTURE)?;
        let fields = Fields::parse(fields)?;
        fields.check_texture()?;
        Ok(Self::Texture(source, fields))
    }

    fn surface(text: &str) -> Result<Self, String> {
        let (source, fields) = source(text, SURFACE)?;
        if matches!(source, Source::Memory(..)) {
            return Err(format!("linear memory has no surfaces; {SURFACE}"));
        }
        let level = match fields.split_once('=') {
            None if fields.is_empty() => 0,
            Some(("level", level)) => number("level", level)?,
            _ => return Err(format!("expected `level=N`, found `{}`", clean(fields))),
        };
        Ok(Self::Surface(source, level))
    }

    /// Makes the names of files relative to a directory.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        let source = |source| match source {
            Source::Array(array) => Source::Array(array.in_folder(folder)),
            Source::Memory(buffer, geometry) => {
                Source::Memory(Box::new(buffer.in_folder(folder)), geometry)
            }
            Source::Named(name) => Source::Named(name),
        };
        match self {
            Self::Texture(texels, fields) => Self::Texture(source(texels), fields),
            Self::Surface(texels, level) => Self::Surface(source(texels), level),
            Self::Sampler(fields) => Self::Sampler(fields),
        }
    }
}

/// The binding of a variable of the module to an object: `NAME=OBJECT`.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub(super) variable: String,
    pub(super) object: ObjectArgument,
}

impl FromStr for Binding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (variable, object) = text.split_once('=').ok_or(
            "expected `NAME=texture:ARRAY`, `NAME=sampler:FIELDS` or `NAME=surface:ARRAY`",
        )?;
        Ok(Self {
            variable: variable.to_owned(),
            object: Self::object(object)?,
        })
    }
}

impl Binding {
    /// The object that a text describes.
    pub(super) fn object(text: &str) -> Result<ObjectArgument, String> {
        let (kind, value) = text.split_once(':').unwrap_or((text, ""));
        ObjectArgument::parse(kind, value).unwrap_or_else(|| {
            Err(format!(
                "expected `texture:ARRAY`, `sampler:FIELDS` or `surface:ARRAY`, found `{}`",
                clean(text)
            ))
        })
    }
}

/// The texels that a text names, and its further fields. Of texts in braces, a geometry follows.
fn source<'t>(text: &'t str, form: &str) -> Result<(Source, &'t str), String> {
    if text.starts_with('{') {
        let (buffers, description) = array::buffers(text).ok_or(form)?;
        let (geometry, fields) = description.split_once(':').unwrap_or((description, ""));
        if let Some(geometry) = MemoryGeometry::parse(geometry) {
            let [buffer] = &buffers[..] else {
                return Err("linear memory has no levels: expected one buffer".to_owned());
            };
            let buffer: Argument = buffer.parse()?;
            return Ok((Source::Memory(Box::new(buffer), geometry), fields));
        }
        let (array, fields) = ArrayArgument::parse(text)?;
        return Ok((Source::Array(array), fields));
    }
    let (name, fields) = text.split_once(':').unwrap_or((text, ""));
    if name.is_empty() {
        return Err(form.to_owned());
    }
    let (geometry, further) = fields.split_once(':').unwrap_or((fields, ""));
    if let Some(geometry) = MemoryGeometry::parse(geometry) {
        let buffer: Argument = format!("buffer:{name}").parse()?;
        return Ok((Source::Memory(Box::new(buffer), geometry), further));
    }
    Ok((Source::Named(name.to_owned()), fields))
}

fn number(key: &str, text: &str) -> Result<u32, String> {
    let error = || format!("`{key}`: expected a number, found `{}`", clean(text));
    text.parse().map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("texture", "expected a number, `TYPE:VALUE`"),
            ("texture:", "expected `texture:ARRAY`"),
            ("texture:{in:a.npy}", "expected a geometry such as `1d`"),
            ("texture:{in:a.npy:2d", "expected `texture:ARRAY`"),
            ("texture:{in:a.npy}:4d", "found `4d`"),
            ("texture:a:filter", "expected `NAME=VALUE`, found `filter`"),
            (
                "texture:a:filter=cubic",
                "`filter`: expected `nearest`, `linear`, found `cubic`",
            ),
            ("texture:a:wrap=x", "expected `read`, `encoding`, `address`"),
            (
                "texture:{zeros:4}:memory",
                "expected a number, `TYPE:VALUE`",
            ),
            ("texture:{in:a.npy}{in:b.npy}:pitch", "expected one buffer"),
            ("sampler:read=element", "expected `address`, `filter`"),
            (
                "surface:{out:a.npy:u8[4]}:memory",
                "linear memory has no surfaces",
            ),
            ("surface:a:level=x", "`level`: expected a number"),
            ("surface:a:filter=linear", "expected `level=N`"),
            ("texture:{in:a.npy}:2d:format=u9", "`format`: expected `u8`"),
            ("texture:{u32:1}:2d", "expected `in:FILE.npy`"),
        ] {
            let error = text.parse::<Argument>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
