//! Tensor maps as arguments: `tensormap:BUFFER:TYPE[SHAPE]:box=…`.

use std::str::FromStr;

use ptx_report::clean;
use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::argument::Argument;

/// The bytes of a tensor map.
pub(super) const MAP_BYTES: usize = 128;
/// The alignment of a tensor map in a struct in bytes.
pub(super) const MAP_ALIGNMENT: usize = 64;

const FORM: &str = "expected `tensormap:BUFFER:TYPE[SHAPE]:box=SIZES`, such as `tensormap:a:f32[1000,200]:box=64,32:swizzle=128`";

/// A map of a tensor in a buffer.
#[derive(Clone, Debug)]
pub(crate) struct MapArgument {
    /// The buffer; [`Argument::Buffer`] or [`Argument::Named`].
    pub(super) buffer: Box<Argument>,
    /// The map with address 0.
    pub(super) map: TensorMap,
}

/// The fields of a map; lists are in the order of the shape, the innermost dimension last.
#[derive(Default)]
struct Fields {
    sizes: Option<Vec<u32>>,
    strides: Option<Vec<u64>>,
    steps: Option<Vec<u32>>,
    lower: Vec<i32>,
    upper: Vec<i32>,
    channels: Option<u32>,
    pixels: Option<u32>,
    is_wide: bool,
    swizzle: Swizzle,
    interleave: TensorInterleave,
    fill: TensorFill,
}

impl FromStr for MapArgument {
    type Err = String;

    /// Parses what follows `tensormap:`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (buffer, description) = split_buffer(text)?;
        let (array, fields) = description.split_once(']').ok_or_else(|| FORM.to_owned())?;
        let (element, shape) = array.split_once('[').ok_or_else(|| FORM.to_owned())?;
        let element: TensorElement = element.parse().map_err(|why| format!("{why}"))?;
        let dims: Vec<u64> = list("shape", shape)?;
        let mut parsed = Fields::default();
        for field in fields.split(':').filter(|field| !field.is_empty()) {
            parsed.set(field)?;
        }
        let map = parsed.map(element, dims)?;
        map.to_bytes().map_err(|why| why.to_string())?;
        Ok(Self {
            buffer: Box::new(buffer),
            map,
        })
    }
}

/// The buffer `a` or `a+256` of a script, or a buffer in braces such as `{in:a.npy}`, and the text after the colon that follows.
fn split_buffer(text: &str) -> Result<(Argument, &str), String> {
    let error = || FORM.to_owned();
    if let Some(text) = text.strip_prefix('{') {
        let (buffer, description) = text.split_once("}:").ok_or_else(error)?;
        return Ok((Argument::Buffer(buffer.parse()?), description));
    }
    let (name, description) = text.split_once(':').ok_or_else(error)?;
    Ok((format!("buffer:{name}").parse()?, description))
}

/// A list of numbers, reversed: the innermost dimension first.
fn list<T: FromStr>(key: &str, text: &str) -> Result<Vec<T>, String> {
    let numbers = text.split(',').map(|number| number.trim().parse());
    numbers.rev().collect::<Result<_, _>>().map_err(|_| {
        let text = clean(text);
        format!("`{key}`: expected numbers separated by commas, found `{text}`")
    })
}

fn number(key: &str, text: &str) -> Result<u32, String> {
    let error = || format!("`{key}`: expected a number, found `{}`", clean(text));
    text.parse().map_err(|_| error())
}

impl Fields {
    /// Sets a field from `key=value`.
    fn set(&mut self, field: &str) -> Result<(), String> {
        let (key, value) = field.split_once('=').unwrap_or((field, ""));
        let expected = |choices: &str| {
            let value = clean(value);
            format!("`{key}`: expected {choices}, found `{value}`")
        };
        match key {
            "box" => self.sizes = Some(list(key, value)?),
            "strides" => self.strides = Some(list(key, value)?),
            "step" => self.steps = Some(list(key, value)?),
            "lower" => self.lower = list(key, value)?,
            "upper" => self.upper = list(key, value)?,
            "channels" => self.channels = Some(number(key, value)?),
            "pixels" => self.pixels = Some(number(key, value)?),
            "mode" => {
                self.is_wide = match value {
                    "tile" | "im2col" => false,
                    "w" => true,
                    _ => return Err(expected("`tile`, `im2col` or `w`")),
                }
            }
            "swizzle" => {
                self.swizzle = match value {
                    "none" | "0" => Swizzle::None,
                    "32" => Swizzle::Bytes32,
                    "64" => Swizzle::Bytes64,
                    "96" => Swizzle::Bytes96,
                    "128" => Swizzle::Bytes128,
                    "128/32" => Swizzle::Bytes128Atom32,
                    "128/32flip8" => Swizzle::Bytes128Atom32Flip8,
                    "128/64" => Swizzle::Bytes128Atom64,
                    _ => {
                        return Err(expected(
                            "`none`, `32`, `64`, `96`, `128`, `128/32`, `128/32flip8` or `128/64`",
                        ));
                    }
                }
            }
            "interleave" => {
                self.interleave = match value {
                    "none" | "0" => TensorInterleave::None,
                    "16" => TensorInterleave::Bytes16,
                    "32" => TensorInterleave::Bytes32,
                    _ => return Err(expected("`none`, `16` or `32`")),
                }
            }
            "fill" => {
                self.fill = match value {
                    "zeros" => TensorFill::Zeros,
                    "nan" => TensorFill::Nan,
                    _ => return Err(expected("`zeros` or `nan`")),
                }
            }
            _ => {
                return Err(format!(
                    "expected `box`, `strides`, `step`, `swizzle`, `interleave`, `fill`, `mode`, `lower`, `upper`, `channels` or `pixels`, found `{}`",
                    clean(key)
                ));
            }
        }
        Ok(())
    }

    /// The map at address 0.
    fn map(self, element: TensorElement, dims: Vec<u64>) -> Result<TensorMap, String> {
        let map = match (&self.sizes, self.channels) {
            (Some(sizes), None) => TensorMap::tiled(element, 0, &dims, sizes),
            (None, Some(channels)) => {
                let pixels = self.pixels.unwrap_or(0);
                if self.is_wide {
                    let corner = |offsets: &[i32]| offsets.first().copied().unwrap_or(0);
                    let corners = [corner(&self.lower), corner(&self.upper)];
                    TensorMap::im2col_wide(element, 0, &dims, corners, channels, pixels)
                } else {
                    let corners: [&[i32]; 2] = [&self.lower, &self.upper];
                    TensorMap::im2col(element, 0, &dims, corners, channels, pixels)
                }
            }
            _ => {
                return Err(format!(
                    "expected either `box` or `channels` and `pixels`; {FORM}"
                ));
            }
        };
        let mut map = map
            .interleave(self.interleave)
            .swizzle(self.swizzle)
            .fill(self.fill);
        if let Some(strides) = &self.strides {
            map = map.strides(strides);
        }
        if let Some(steps) = &self.steps {
            map = map.element_strides(steps);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<TensorMap, String> {
        text.parse::<MapArgument>().map(|argument| argument.map)
    }

    #[test]
    fn maps_have_the_fields_of_the_text() {
        let map = parse("a:f32[1000,200]:box=64,32:swizzle=128/32:fill=nan:strides=1024:step=2,1");
        let expected = TensorMap::tiled(TensorElement::F32, 0, &[200, 1000], &[32, 64])
            .strides(&[1024])
            .element_strides(&[1, 2])
            .swizzle(Swizzle::Bytes128Atom32)
            .fill(TensorFill::Nan);
        assert_eq!(map, Ok(expected));
        let map = parse("{zero:1M}:f16[4,8,9,64]:channels=16:pixels=32:lower=-1,-2:upper=1,2");
        let corners: [&[i32]; 2] = [&[-2, -1], &[2, 1]];
        let dims = [64, 9, 8, 4];
        let expected = TensorMap::im2col(TensorElement::F16, 0, &dims, corners, 16, 32);
        assert_eq!(map, Ok(expected));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("a", "expected `tensormap:BUFFER"),
            ("a:f8[4]:box=4", "element type is `f8`"),
            ("a:f32[4]:box=x", "`box`: expected numbers"),
            ("a:f32[4]:box=6", "box_dim[0] is 6 elements of .f32"),
            ("a:f32[4]", "expected either `box`"),
            ("a:f32[4]:box=4:swizzle=48", "`swizzle`: expected `none`"),
            ("a:f32[4]:bix=4", "found `bix`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
