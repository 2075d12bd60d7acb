//! Arrays of texels, textures, samplers and surfaces of a machine.

use ptxkit::vm::{
    Array, ArrayDescription, ChannelType, RunError, Sampler, TexelFormat, TextureDescription,
    TextureError,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::buffer::Buffer;
use crate::error::Failure;
use crate::machine::Machine;

/// An array of texels of a machine, which textures read and surfaces access.
///
/// >>> import ptxkit, array
/// >>> machine = ptxkit.Machine(ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n"))
/// >>> texels = memoryview(array.array("f", [1, 2, 3, 4, 5, 6])).cast("B").cast("f", [2, 3])
/// >>> image = machine.create_array("2d", texels)
/// >>> image.shape, image.format, image.levels
/// ((2, 3), 'f32', 1)
/// >>> array.array("f", image.read()).tolist()
/// [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
/// >>> texture = machine.create_texture(image, filter="linear", address=("wrap", "mirror"), coordinates="normalized")
/// >>> surface = machine.create_surface(image)
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct TexelArray {
    machine: Py<Machine>,
    array: Array,
    description: ArrayDescription,
    shape: Vec<u64>,
    format: String,
}

fn wrong(error: TextureError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn failed(error: RunError) -> PyErr {
    Failure::from(error).into()
}

/// The name of the type of channels with the elements of a buffer, which `memoryview.format` names.
fn element_name(format: &str) -> Option<&'static str> {
    Some(match format.trim_start_matches(['@', '=', '<']) {
        "B" | "?" | "c" => "u8",
        "b" => "s8",
        "H" => "u16",
        "h" => "s16",
        "I" => "u32",
        "i" => "s32",
        // These have 32 or 64 bits; `create_array` checks the size.
        "L" => "u32",
        "l" => "s32",
        "e" => "f16",
        "f" => "f32",
        _ => return None,
    })
}

/// The text of a value of a property: names and numbers, and sequences of them.
fn text(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyString>() {
        return value.extract();
    }
    let Ok(elements) = value.extract::<Vec<Bound<'_, PyAny>>>() else {
        return Ok(value.str()?.to_string());
    };
    let texts: PyResult<Vec<String>> = elements
        .iter()
        .map(|element| Ok(element.str()?.to_string()))
        .collect();
    Ok(texts?.join(","))
}

fn texture_description(properties: Option<&Bound<'_, PyDict>>) -> PyResult<TextureDescription> {
    let mut description = TextureDescription::default();
    for (name, value) in properties.into_iter().flatten() {
        let name = name.extract::<String>()?;
        description.set(&name, &text(&value)?).map_err(wrong)?;
    }
    Ok(description)
}

fn channel(name: &str) -> PyResult<ChannelType> {
    name.parse().map_err(wrong)
}

#[pymethods]
impl TexelArray {
    /// The sizes from the outermost to the innermost one, of which the last one is the number of channels if the array was created with it.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, &self.shape)
    }

    /// The type of the channels, such as `unorm8`.
    #[getter]
    fn format(&self) -> &str {
        &self.format
    }

    /// The number of levels of detail.
    #[getter]
    fn levels(&self) -> u32 {
        self.description.levels
    }

    /// Writes the texels of a level: an object with the buffer protocol, with the elements in the order of `shape`.
    #[pyo3(signature = (data, level=0))]
    fn write(&self, data: &Bound<'_, PyAny>, level: u32) -> PyResult<()> {
        let bytes = Buffer::required_bytes("data", data)?;
        let mut state = self.machine.get().state()?;
        state
            .machine
            .write_array(self.array, level, &bytes)
            .map_err(failed)
    }

    /// Reads the texels of a level. `numpy.frombuffer` makes an array of them.
    #[pyo3(signature = (level=0))]
    fn read<'py>(&self, py: Python<'py>, level: u32) -> PyResult<Bound<'py, PyBytes>> {
        let state = self.machine.get().state()?;
        let bytes = state
            .machine
            .read_array(self.array, level)
            .map_err(failed)?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __repr__(&self) -> String {
        format!("<TexelArray: {} {:?}>", self.format, self.shape)
    }
}

#[pymethods]
impl Machine {
    /// Creates an array of texels with the elements of `data`, an object with the buffer protocol such as an array of NumPy. `geometry` is the modifier of
    /// the instructions that access the array. The sizes of `data` are in this order; the number of channels may follow:
    ///
    /// `1d`: width; `2d`: height, width; `3d`: depth, height, width; `a1d`, `a2d`: the number of layers precedes; `cube`: 6, edge, edge; `acube`: the number
    /// of cubes precedes; `2dms`, `a2dms`: the number of samples follows.
    ///
    /// `format` is the type of the channels: `u8`, `s8`, `u16`, `s16`, `u32`, `s32`, `f16`, `f32`, `unorm8`, `snorm8`, `unorm16`, `snorm16`; without it, that of
    /// the elements. Further levels of detail are zero.
    #[pyo3(signature = (geometry, data, *, format=None, levels=1))]
    fn create_array(
        slf: &Bound<'_, Self>,
        geometry: &str,
        data: &Bound<'_, PyAny>,
        format: Option<String>,
        levels: u32,
    ) -> PyResult<TexelArray> {
        let py = slf.py();
        // First, because it checks the elements.
        let bytes = Buffer::required_bytes("data", data)?;
        let class = py.import("builtins")?.getattr("memoryview")?;
        let view = class.call1((data,))?;
        let shape: Vec<u64> = view.getattr("shape")?.extract()?;
        let element: String = view.getattr("format")?.extract()?;
        let element_bytes: u32 = view.getattr("itemsize")?.extract()?;
        let name = format.or_else(|| element_name(&element).map(str::to_owned));
        let name = name.ok_or_else(|| {
            PyTypeError::new_err(format!(
                "expected integers of 8, 16 or 32 bits or numbers of 16 or 32 bits, found elements of the format `{element}`"
            ))
        })?;
        let channel = channel(&name)?;
        if channel.bits() != 8 * element_bytes {
            return Err(PyTypeError::new_err(format!(
                "expected elements of {} bits for the format `{name}`, found {} bits",
                channel.bits(),
                8 * element_bytes
            )));
        }
        let description = ArrayDescription::with_shape(geometry, &shape, channel).map_err(wrong)?;
        let description = description.levels(levels);
        let mut state = slf.get().state()?;
        let array = state.machine.create_array(&description).map_err(wrong)?;
        state
            .machine
            .write_array(array, 0, &bytes)
            .map_err(failed)?;
        for level in 1..levels {
            state
                .machine
                .set_array_written(array, level)
                .map_err(failed)?;
        }
        Ok(TexelArray {
            machine: slf.clone().unbind(),
            array,
            description,
            shape,
            format: name,
        })
    }

    /// Creates a texture that reads an array. Returns its handle, the argument for a parameter of 64 bits.
    ///
    /// Properties: `address` (`wrap`, `mirror`, `clamp_ogl`, `clamp_to_edge`, `clamp_to_border`, or a sequence for x, y and z), `filter` and `level_filter`
    /// (`nearest`, `linear`), `coordinates` (`texels`, `normalized`), `read` (`element`, `normalized`), `encoding` (`linear`, `srgb`), `border` (four
    /// numbers), `bias`, `range` (two levels), `compare` (`less_equal`, …) and `edges` (`separate`, `seamless`).
    #[pyo3(signature = (array, **properties))]
    fn create_texture(
        slf: &Bound<'_, Self>,
        array: &TexelArray,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        array.check_machine(slf)?;
        let description = texture_description(properties)?;
        let mut state = slf.get().state()?;
        state
            .machine
            .create_texture(array.array, &description)
            .map_err(wrong)
    }

    /// Creates a texture that reads texels in global memory, by integer coordinates. Properties are those of `create_texture`.
    #[pyo3(signature = (address, texels, *, format, channels=1, **properties))]
    fn create_linear_texture(
        &self,
        address: u64,
        texels: u64,
        format: &str,
        channels: u32,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let description = texture_description(properties)?;
        let format = TexelFormat::new(channel(format)?, channels);
        let mut state = self.state()?;
        let created = state
            .machine
            .create_linear_texture(address, texels, format, &description);
        created.map_err(wrong)
    }

    /// Creates a texture that reads an image in global memory, whose rows begin `pitch` bytes after each other. Properties are those of `create_texture`.
    #[pyo3(signature = (address, width, height, pitch, *, format, channels=1, **properties))]
    #[expect(clippy::too_many_arguments, reason = "most are named in Python")]
    fn create_pitch_texture(
        &self,
        address: u64,
        width: u32,
        height: u32,
        pitch: u64,
        format: &str,
        channels: u32,
        properties: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<u64> {
        let description = texture_description(properties)?;
        let format = TexelFormat::new(channel(format)?, channels);
        let mut state = self.state()?;
        let size = [width, height];
        let created =
            state
                .machine
                .create_pitch_texture(address, size, pitch, format, &description);
        created.map_err(wrong)
    }

    /// Creates a sampler for modules with the target option `texmode_independent`. Returns its handle. Properties are those of `create_texture`, without
    /// `read` and `encoding`.
    #[pyo3(signature = (**properties))]
    fn create_sampler(&self, properties: Option<&Bound<'_, PyDict>>) -> PyResult<u64> {
        let mut sampler = Sampler::default();
        for (name, value) in properties.into_iter().flatten() {
            let name = name.extract::<String>()?;
            sampler.set(&name, &text(&value)?).map_err(wrong)?;
        }
        self.state()?
            .machine
            .create_sampler(&sampler)
            .map_err(wrong)
    }

    /// Creates a surface that accesses a level of an array. Returns its handle.
    #[pyo3(signature = (array, level=0))]
    fn create_surface(slf: &Bound<'_, Self>, array: &TexelArray, level: u32) -> PyResult<u64> {
        array.check_machine(slf)?;
        let mut state = slf.get().state()?;
        state
            .machine
            .create_surface(array.array, level)
            .map_err(wrong)
    }

    /// Destroys an array and frees its memory. `memcheck` reports accesses through its textures and surfaces.
    fn destroy_array(slf: &Bound<'_, Self>, array: &TexelArray) -> PyResult<()> {
        array.check_machine(slf)?;
        let mut state = slf.get().state()?;
        state.machine.destroy_array(array.array).map_err(failed)
    }

    /// Destroys the texture of a handle. Kernels that use the handle later end with an error.
    fn destroy_texture(&self, handle: u64) -> PyResult<()> {
        self.state()?.machine.destroy_texture(handle).map_err(wrong)
    }

    /// Destroys the sampler of a handle. Kernels that use the handle later end with an error.
    fn destroy_sampler(&self, handle: u64) -> PyResult<()> {
        self.state()?.machine.destroy_sampler(handle).map_err(wrong)
    }

    /// Destroys the surface of a handle, but not its array. Kernels that use the handle later end with an error.
    fn destroy_surface(&self, handle: u64) -> PyResult<()> {
        self.state()?.machine.destroy_surface(handle).map_err(wrong)
    }

    /// Binds a variable of type `.texref`, `.samplerref` or `.surfref`, or an element of an array of them such as `images[2]`, to the object of a handle.
    fn bind(&self, name: &str, handle: u64) -> PyResult<()> {
        self.state()?.machine.bind(name, handle).map_err(wrong)
    }
}

impl TexelArray {
    /// Checks that the array belongs to a machine.
    fn check_machine(&self, machine: &Bound<'_, Machine>) -> PyResult<()> {
        if self.machine.is(machine) {
            return Ok(());
        }
        Err(PyValueError::new_err(
            "the array belongs to another machine",
        ))
    }
}
