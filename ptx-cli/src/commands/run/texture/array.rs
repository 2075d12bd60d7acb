//! Arrays of texels: `{in:a.npy}:2d`, whose levels are the contents of files, zeros or random elements.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use ptx_report::clean;
use ptx_vm::{Array, ArrayDescription, ChannelType, Machine};

use super::super::argument::{Buffer, Content};
use super::super::memory::WrittenFile;
use super::super::npy::{self, Layout, Reader};
use super::number;

const FORM: &str =
    "expected `{BUFFER}:GEOMETRY`, such as `{in:image.npy}:2d` or `{out:image.npy:f32[16,32]}:2d`";

/// The largest number of levels of an array, whose largest size has 18 bits.
const MAX_LEVELS: usize = 18;

/// An array with the contents of its levels.
#[derive(Clone, Debug)]
pub(crate) struct ArrayArgument {
    levels: Vec<Buffer>,
    geometry: String,
    /// The type of the channels, if it is not that of the elements.
    channel: Option<ChannelType>,
    /// The number of levels, if there are more than contents.
    level_count: Option<u32>,
}

/// An array of the machine.
#[derive(Debug)]
pub(crate) struct AllocatedArray {
    pub(crate) array: Array,
    description: ArrayDescription,
    /// The files that levels are written to.
    outputs: Vec<(u32, PathBuf, Layout)>,
}

/// The texts in braces at the beginning of a text, and what follows the colon after them.
pub(super) fn buffers(text: &str) -> Option<(Vec<&str>, &str)> {
    let mut buffers = Vec::new();
    let mut text = text;
    while let Some(inner) = text.strip_prefix('{') {
        let (buffer, further) = inner.split_once('}')?;
        buffers.push(buffer);
        text = further;
    }
    let description = match text.strip_prefix(':') {
        Some(description) => description,
        None if text.is_empty() => "",
        None => return None,
    };
    Some((buffers, description))
}

impl std::str::FromStr for ArrayArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match Self::parse(text)? {
            (array, "") => Ok(array),
            (_, fields) => Err(format!(
                "expected `format=TYPE` or `levels=N`, found `{}`",
                clean(fields)
            )),
        }
    }
}

impl ArrayArgument {
    /// Parses an array. Returns the fields that follow those of an array.
    pub(super) fn parse(text: &str) -> Result<(Self, &str), String> {
        let (levels, description) = buffers(text).ok_or(FORM)?;
        if levels.is_empty() {
            return Err(FORM.to_owned());
        }
        if levels.len() > MAX_LEVELS {
            return Err(format!("expected at most {MAX_LEVELS} levels"));
        }
        let levels: Result<Vec<Buffer>, String> = levels.iter().map(|text| text.parse()).collect();
        let (geometry, mut fields) = description.split_once(':').unwrap_or((description, ""));
        ArrayDescription::check_geometry(geometry)
            .map_err(|why| clean(&why.to_string()).into_owned())?;
        let mut array = Self {
            levels: levels?,
            geometry: geometry.to_owned(),
            channel: None,
            level_count: None,
        };
        loop {
            let (field, further) = fields.split_once(':').unwrap_or((fields, ""));
            match field.split_once('=') {
                Some(("format", name)) => {
                    let channel = name.parse::<ChannelType>();
                    let channel = channel.map_err(|why| clean(&why.to_string()).into_owned());
                    array.channel = Some(channel?);
                }
                Some(("levels", count)) => array.level_count = Some(number("levels", count)?),
                _ => return Ok((array, fields)),
            }
            fields = further;
        }
    }

    /// Makes the names of files relative to a directory.
    pub(crate) fn in_folder(self, folder: &Path) -> Self {
        let levels = self.levels.into_iter();
        Self {
            levels: levels.map(|buffer| buffer.in_folder(folder)).collect(),
            ..self
        }
    }

    /// Creates the array and reads its files. `number` is the seed of random elements.
    pub(crate) fn create(
        &self,
        machine: &mut Machine<'_>,
        number: usize,
    ) -> Result<AllocatedArray> {
        let mut allocated: Option<AllocatedArray> = None;
        for (level, buffer) in (0u32..).zip(&self.levels) {
            let (layout, content) = read(buffer)?;
            let found = self.description(&layout)?;
            let created = match &mut allocated {
                None => {
                    let count = self.levels.len() as u32;
                    let levels = self.level_count.unwrap_or(0).max(count);
                    let description = found.levels(levels);
                    let array = machine.create_array(&description)?;
                    allocated.insert(AllocatedArray {
                        array,
                        description,
                        outputs: Vec::new(),
                    })
                }
                Some(created) => created,
            };
            let expected = created.description.level(level);
            if found != expected {
                bail!(
                    "level {level} of an array: expected {:?}, found {:?}",
                    expected.extent,
                    found.extent
                );
            }
            match (content, &buffer.content) {
                (Some(bytes), _) => machine.write_array(created.array, level, &bytes)?,
                (None, Content::Random(random)) => {
                    let mut bytes = Vec::new();
                    random.copy(number, |_, part| {
                        bytes.extend_from_slice(part);
                        anyhow::Ok(())
                    })?;
                    machine.write_array(created.array, level, &bytes)?;
                }
                (None, Content::Unwritten(..)) => {}
                (None, _) => machine.set_array_written(created.array, level)?,
            }
            if let Some(path) = &buffer.output {
                created.outputs.push((level, path.clone(), layout));
            }
        }
        allocated.ok_or_else(|| anyhow!("an array without levels"))
    }

    /// The description of an array with the elements of a file.
    fn description(&self, layout: &Layout) -> Result<ArrayDescription> {
        let element = channel_type(layout)?;
        let channel = self.channel.unwrap_or(element);
        if channel.bits() != element.bits() {
            bail!(
                "`format`: expected a type of {} bits for elements of the type `{}`, found {} bits",
                element.bits(),
                clean(&layout.type_text()),
                channel.bits()
            );
        }
        Ok(ArrayDescription::with_shape(
            &self.geometry,
            layout.shape(),
            channel,
        )?)
    }
}

impl AllocatedArray {
    /// The number of levels.
    pub(crate) fn levels(&self) -> u32 {
        self.description.levels
    }

    /// Writes the files of levels.
    pub(crate) fn write(&self, machine: &Machine<'_>) -> Result<Vec<WrittenFile<'_>>> {
        let mut written = Vec::new();
        for (level, path, layout) in &self.outputs {
            let bytes = machine.read_array(self.array, *level)?;
            npy::write(path, layout, |offset, count| {
                let start = usize::try_from(offset)?;
                let part = bytes.get(start..start + count);
                Ok(part.unwrap_or_default().to_vec())
            })
            .with_context(|| display_path(path))?;
            written.push(WrittenFile { path, layout });
        }
        Ok(written)
    }
}

/// The type of channels with the elements of a file.
pub(crate) fn channel_type(layout: &Layout) -> Result<ChannelType> {
    layout.element_name().and_then(|name| name.parse().ok()).ok_or_else(|| {
        anyhow!(
            "expected integers of 8, 16 or 32 bits or numbers of 16 or 32 bits, found elements of the type `{}`",
            clean(&layout.type_text())
        )
    })
}

/// The layout of a buffer, and its contents if it has a file.
fn read(buffer: &Buffer) -> Result<(Layout, Option<Vec<u8>>)> {
    match &buffer.content {
        Content::File(path) => {
            let (layout, bytes) = read_file(path).with_context(|| display_path(path))?;
            if !layout.is_row_major() {
                bail!(
                    "{}: expected an array in the order of C, found the order of Fortran",
                    display_path(path)
                );
            }
            Ok((layout, Some(bytes)))
        }
        content => {
            let layout = content.layout().ok_or_else(|| {
                anyhow!("an array of texels needs a type and a shape, such as `zero:f32[16,32]`")
            })?;
            Ok((layout.clone(), None))
        }
    }
}

fn read_file(path: &Path) -> Result<(Layout, Vec<u8>)> {
    if path
        .extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("png"))
    {
        return read_png(fs::File::open(path)?);
    }
    let reader = Reader::open(path)?;
    let layout = reader.layout.clone();
    let mut bytes = Vec::new();
    reader.copy(|_, part| {
        bytes.extend_from_slice(part);
        Ok(())
    })?;
    Ok((layout, bytes))
}

#[cfg(feature = "png")]
use super::png::read as read_png;

#[cfg(not(feature = "png"))]
fn read_png(_: fs::File) -> Result<(Layout, Vec<u8>)> {
    bail!("this program was built without the feature `png`, which reads such files");
}

fn display_path(path: &Path) -> String {
    clean(&path.to_string_lossy()).into_owned()
}
