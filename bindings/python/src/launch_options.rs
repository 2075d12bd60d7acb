//! Options of launches, from Python objects. Errors name the option.

use std::time::Duration;

use ptxkit::vm::{self, Asynchrony, Checker, Cooperative, Launch, Schedule};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::buffer::type_name;
use crate::conversions::named;

pub(crate) fn wrong_type(name: &str, expected: &str, object: &Bound<'_, PyAny>) -> PyErr {
    let type_name = type_name(object);
    PyTypeError::new_err(format!(
        "`{name}`: expected {expected}, found a value of type `{type_name}`"
    ))
}

/// The options that are the same for all launches of a sequence.
pub(crate) struct CommonOptions<'o, 'py> {
    pub(crate) checks: Option<&'o Bound<'py, PyAny>>,
    pub(crate) profile: bool,
    pub(crate) schedule: Option<&'o Bound<'py, PyAny>>,
    pub(crate) asynchrony: Option<&'o str>,
    pub(crate) model: Option<&'o str>,
    pub(crate) max_steps: Option<u64>,
    pub(crate) max_memory: Option<u64>,
    /// In seconds.
    pub(crate) timeout: Option<f64>,
}

impl CommonOptions<'_, '_> {
    /// Sets the options of a launch.
    pub(crate) fn apply(&self, launch: &mut Launch) -> PyResult<()> {
        launch.schedule = self.schedule.map(schedule).transpose()?;
        launch.asynchrony = self
            .asynchrony
            .map_or(Ok(Asynchrony::Immediate), asynchrony)?;
        for checker in checkers(self.checks)? {
            launch.checks = launch.checks.with(checker);
        }
        launch.profile = self.profile;
        launch.model = self.model.map(|name| named(name, "target")).transpose()?;
        if let Some(steps) = self.max_steps {
            launch.limits.steps = steps;
        }
        if let Some(bytes) = self.max_memory {
            launch.limits.memory_bytes = bytes;
        }
        if let Some(seconds) = self.timeout {
            let time = Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            launch.limits.time = Some(time);
        }
        Ok(())
    }
}

/// Whether a launch is cooperative: a `bool`, or the number of multiprocessors of the device.
pub(crate) fn cooperative(object: &Bound<'_, PyAny>) -> PyResult<Option<Cooperative>> {
    if object.is_instance_of::<PyBool>() {
        let is_cooperative = object.extract::<bool>()?;
        return Ok(is_cooperative.then(Cooperative::default));
    }
    let multiprocessors = object.extract::<u32>().map_err(|_| {
        wrong_type(
            "cooperative",
            "True, False or a number of multiprocessors",
            object,
        )
    })?;
    Ok(Some(Cooperative::new(multiprocessors)))
}

/// One to three sizes: an integer, or a sequence of them. Without an object they are 1.
pub(crate) fn dimensions(name: &str, object: Option<&Bound<'_, PyAny>>) -> PyResult<[u32; 3]> {
    let mut sizes = [1; 3];
    let Some(object) = object else {
        return Ok(sizes);
    };
    let all = match object.extract::<Vec<Bound<'_, PyAny>>>() {
        Ok(all) => all,
        Err(_) => vec![object.clone()],
    };
    if !(1..=3).contains(&all.len()) {
        return Err(PyValueError::new_err(format!(
            "`{name}`: expected one to three dimensions, found {}",
            all.len()
        )));
    }
    for (size, element) in sizes.iter_mut().zip(&all) {
        *size = element.extract::<u32>().map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(element.py()) {
                let why = format!("`{name}`: expected a size of 32 bits, found {element}");
                return PyOverflowError::new_err(why);
            }
            wrong_type(name, "an integer, or up to three of them", element)
        })?;
    }
    Ok(sizes)
}

/// The checkers of a name, or of several ones.
fn checkers(object: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Checker>> {
    let Some(object) = object else {
        return Ok(Vec::new());
    };
    let wrong = |object: &Bound<'_, PyAny>| wrong_type("checks", "names of checkers", object);
    let names: Vec<Bound<'_, PyAny>> = if object.is_instance_of::<PyString>() {
        vec![object.clone()]
    } else {
        let names = object.try_iter().map_err(|_| wrong(object))?;
        names.collect::<PyResult<_>>()?
    };
    let checker = |name: &Bound<'_, PyAny>| {
        let text = name.extract::<String>().map_err(|_| wrong(name))?;
        text.parse::<Checker>().map_err(|_| {
            let all = Checker::ALL.map(|checker| format!("`{}`", checker.name()));
            let all = all.join(", ");
            PyValueError::new_err(format!(
                "`checks`: `{text}` is not a checker: expected {all}"
            ))
        })
    };
    names.iter().map(checker).collect()
}

/// The time of asynchronous operations.
fn asynchrony(text: &str) -> PyResult<Asynchrony> {
    text.parse().map_err(|error: vm::UnknownAsynchrony| {
        PyValueError::new_err(format!("`asynchrony`: {error}"))
    })
}

/// A seed, or the text of a schedule.
fn schedule(object: &Bound<'_, PyAny>) -> PyResult<Schedule> {
    if let Ok(seed) = object.extract::<u64>() {
        return Ok(Schedule::Seed(seed));
    }
    let expected = "a seed of 64 bits or a text such as `starve:1`";
    let text = object
        .extract::<String>()
        .map_err(|_| wrong_type("schedule", expected, object))?;
    text.parse()
        .map_err(|error: vm::UnknownSchedule| PyValueError::new_err(format!("`schedule`: {error}")))
}
