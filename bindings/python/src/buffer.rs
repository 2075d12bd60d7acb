//! Objects with the buffer protocol whose bytes a machine can use.

use std::ops::Range;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PySlice};

/// An object with the buffer protocol.
pub(crate) struct Buffer<'py> {
    view: Bound<'py, PyAny>,
    is_read_only: bool,
}

/// Why a machine cannot use the elements of a buffer.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Unusable {
    /// They contain references to Python objects.
    Objects,
    /// They contain pointers of C to typed data, functions or strings.
    Pointers,
    Text,
    /// The most significant byte is first.
    BigEndian,
}

impl Unusable {
    /// The first reason in a format, as `memoryview.format` has it (PEP 3118); `None` if the elements can be used.
    fn of(format: &str) -> Option<Self> {
        let is_native_big = cfg!(target_endian = "big");
        let mut is_big = is_native_big;
        let mut letters = format.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                // The name of a field is between colons.
                ':' => while letters.next().is_some_and(|letter| letter != ':') {},
                '>' | '!' => is_big = true,
                '<' => is_big = false,
                '@' | '=' | '^' => is_big = is_native_big,
                'O' => return Some(Self::Objects),
                // Before the letter of a floating-point number, `Z` means a complex number.
                'Z' if matches!(letters.peek(), Some('e' | 'f' | 'd' | 'g')) => {}
                '&' | 'X' | 'z' | 'Z' => return Some(Self::Pointers),
                's' | 'p' | 'u' | 'w' => return Some(Self::Text),
                letter if is_big && "hHiIlLqQnNPefdg".contains(letter) => {
                    return Some(Self::BigEndian);
                }
                _ => {}
            }
        }
        None
    }

    fn error(self, format: &str) -> PyErr {
        let elements = match self {
            Self::Objects => "Python objects",
            Self::Pointers => "pointers to memory of the host",
            Self::Text => "text",
            Self::BigEndian => {
                return PyValueError::new_err(format!(
                    "expected little-endian numbers, found big-endian ones (format `{format}`): a.astype(a.dtype.newbyteorder('=')) converts an array of NumPy"
                ));
            }
        };
        PyTypeError::new_err(format!(
            "expected numbers, found elements with {elements} (format `{format}`)"
        ))
    }
}

impl<'py> Buffer<'py> {
    /// The bytes of a contiguous object; `None` if it has no buffer.
    pub(crate) fn of(object: &Bound<'py, PyAny>) -> PyResult<Option<Self>> {
        let py = object.py();
        let class = py.import("builtins")?.getattr("memoryview")?;
        let view = match class.call1((object,)) {
            Ok(view) => view,
            Err(error) if error.is_instance_of::<PyTypeError>(py) => return Ok(None),
            Err(error) => {
                let why = error.value(py);
                return Err(PyTypeError::new_err(format!(
                    "expected an array with the buffer protocol, found one without it ({why}): of an array of NumPy with such elements, pass a view with integers of the same size, such as a.view(numpy.uint16)"
                )));
            }
        };
        // A scalar of NumPy is a number.
        if view.getattr("ndim")?.extract::<usize>()? == 0 {
            return Ok(None);
        }
        let element_format = py.import("ptxkit._buffer")?.getattr("element_format")?;
        let format = element_format.call1((&view,))?.extract::<String>()?;
        if let Some(reason) = Unusable::of(&format) {
            return Err(reason.error(&format));
        }
        if !view.getattr("c_contiguous")?.extract::<bool>()? {
            let why = "expected a contiguous array, found one with another order of elements or with gaps: pass copy = numpy.ascontiguousarray(a), and if the kernel writes to it, copy the result back with a[...] = copy";
            return Err(PyValueError::new_err(why));
        }
        let is_read_only = view.getattr("readonly")?.extract()?;
        // An empty array cannot be cast.
        let view = match view.getattr("nbytes")?.extract::<usize>()? {
            0 => view,
            _ => view.call_method1("cast", ("B",))?,
        };
        Ok(Some(Self { view, is_read_only }))
    }

    /// The bytes of the argument `name`, which must have a buffer.
    pub(crate) fn required_bytes(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Vec<u8>> {
        let py = object.py();
        let what = format!("`{name}`");
        let buffer = Self::of(object).map_err(|error| about(py, &what, error))?;
        let buffer = buffer.ok_or_else(|| {
            let type_name = type_name(object);
            PyTypeError::new_err(format!(
                "{what}: expected an object with the buffer protocol, found a value of type `{type_name}`"
            ))
        })?;
        buffer.bytes()
    }

    pub(crate) fn bytes(&self) -> PyResult<Vec<u8>> {
        self.view.call_method0("tobytes")?.extract()
    }

    pub(crate) const fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Its bytes in the memory of the host; `0..0` if it is empty.
    pub(crate) fn host_range(&self) -> PyResult<Range<u64>> {
        let size = self.view.getattr("nbytes")?.extract::<u64>()?;
        if size == 0 {
            return Ok(0..0);
        }
        let address = self
            .view
            .py()
            .import("ptxkit._buffer")?
            .getattr("address")?;
        let start = address.call1((&self.view,))?.extract::<u64>()?;
        Ok(start..start.saturating_add(size))
    }

    /// Copies bytes to the object, which is not read-only.
    pub(crate) fn set(&self, bytes: &[u8]) -> PyResult<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let py = self.view.py();
        self.view
            .set_item(PySlice::full(py), PyBytes::new(py, bytes))
    }
}

/// The name of the type of an object, for messages.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// An error whose message begins with what it is about.
pub(crate) fn about(py: Python<'_>, what: &str, error: PyErr) -> PyErr {
    let message = format!("{what}: {}", error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message)
    } else if error.is_instance_of::<PyOverflowError>(py) {
        PyOverflowError::new_err(message)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(message)
    } else {
        error
    }
}
