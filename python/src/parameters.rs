//! Arguments of functions.

/// A target by name.
pub(crate) mod target {
    use ptxkit::isa::Target;
    use pyo3::prelude::*;

    pub(crate) struct Argument(pub(crate) Target);

    impl<'py> FromPyObject<'_, 'py> for Argument {
        type Error = PyErr;

        fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
            let text: String = value.extract()?;
            let target = text.parse();
            let wrong = |_| {
                pyo3::exceptions::PyValueError::new_err(format!(
                    "`{text}` is not a target such as `sm_90`"
                ))
            };
            target.map(Self).map_err(wrong)
        }
    }
}

/// A PTX version as text.
pub(crate) mod version {
    use ptxkit::isa::PtxVersion;
    use pyo3::prelude::*;

    pub(crate) struct Argument(pub(crate) PtxVersion);

    impl<'py> FromPyObject<'_, 'py> for Argument {
        type Error = PyErr;

        fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
            let text: String = value.extract()?;
            let version = text.parse();
            let wrong = |_| {
                pyo3::exceptions::PyValueError::new_err(format!(
                    "`{text}` is not a PTX version such as `8.0`"
                ))
            };
            version.map(Self).map_err(wrong)
        }
    }
}
