//! Sequences of launches, each of which is a programmatic dependent of the one before.

use ptxkit::vm::{Launch, Report};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::finding::{Finding, Outcome};
use crate::launch_options::{CommonOptions, cooperative, dimensions, wrong_type};
use crate::machine::{Machine, run};

/// A launch and its arguments.
type LaunchAndArguments<'py> = (Launch, Vec<Bound<'py, PyAny>>);

/// A launch of a sequence, from a dictionary with names and values of parameters of `Machine.launch`.
fn launch_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<LaunchAndArguments<'py>> {
    let wrong =
        |expected: &str, object: &Bound<'_, PyAny>| wrong_type("launches", expected, object);
    let dictionary = object
        .cast::<PyDict>()
        .map_err(|_| wrong("dictionaries", object))?;
    let mut launch = Launch::new("");
    let mut arguments = Vec::new();
    for (name, value) in dictionary {
        let name = name
            .extract::<String>()
            .map_err(|_| wrong("names of parameters", &name))?;
        if value.is_none() {
            continue;
        }
        match name.as_str() {
            "kernel" => launch.kernel = value.extract()?,
            "arguments" => arguments = value.extract()?,
            "grid" => launch.grid = dimensions("grid", Some(&value))?,
            "block" => launch.block = dimensions("block", Some(&value))?,
            "cluster" => launch.cluster = dimensions("cluster", Some(&value))?,
            "shared" => launch.shared = value.extract()?,
            "cooperative" => launch.cooperative = cooperative(&value)?,
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "`launches`: expected `kernel`, `arguments`, `grid`, `block`, `cluster`, `shared` or `cooperative`, found `{name}`"
                )));
            }
        }
    }
    if launch.kernel.is_empty() {
        return Err(PyTypeError::new_err(
            "`launches`: expected the name of a kernel in each launch, found a launch without `kernel`",
        ));
    }
    Ok((launch, arguments))
}

#[pymethods]
impl Machine {
    /// Runs kernels to their ends, each of which but the first one is a programmatic dependent launch: it may begin when all CTAs of the one before have
    /// issued `griddepcontrol.launch_dependents` or ended, and `griddepcontrol.wait` waits until all earlier ones have ended.
    ///
    /// A launch is a dictionary with the names `kernel`, `arguments`, `grid`, `block`, `cluster`, `shared` and `cooperative`, whose values are those of `launch`;
    /// only the first one is required. Arrays are copied before the first and after the last launch. The other options hold for all launches, and limits for
    /// all together. Returns an outcome for each launch, with the findings in its kernel; `findings` has all.
    #[pyo3(signature = (launches, *, checks=None, asynchrony=None, model=None, max_steps=None, max_memory=None, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "they are named in Python")]
    fn launch_dependent(
        &self,
        py: Python<'_>,
        launches: Vec<Bound<'_, PyAny>>,
        checks: Option<&Bound<'_, PyAny>>,
        asynchrony: Option<&str>,
        model: Option<&str>,
        max_steps: Option<u64>,
        max_memory: Option<u64>,
        timeout: Option<f64>,
    ) -> PyResult<Vec<Outcome>> {
        let options = CommonOptions {
            checks,
            profile: false,
            schedule: None,
            asynchrony,
            model,
            max_steps,
            max_memory,
            timeout,
        };
        let sequence: PyResult<Vec<_>> = launches.iter().map(launch_of).collect();
        let (mut launches, arguments): (Vec<Launch>, Vec<_>) = sequence?.into_iter().unzip();
        for launch in &mut launches {
            options.apply(launch)?;
        }
        let mut state = self.state()?;
        let placement = self.pass(&mut launches, &mut state, &arguments)?;
        let references: Vec<&Launch> = launches.iter().collect();
        let machine = &mut state.machine;
        let outcomes = run(py, |options| machine.launch_dependent(&references, options));
        let copied = match &outcomes {
            Ok(Ok(_)) => placement.copy_out(&state),
            _ => Ok(()),
        };
        placement.release(&mut state);
        let outcomes = outcomes?.map_err(Failure::from)?;
        copied?;
        let reports = state.machine.reports();
        let outcomes = launches.iter().zip(outcomes).map(|(launch, outcome)| {
            let reports_of_kernel: Vec<Report> = reports
                .iter()
                .filter(|report| report.kernel == launch.kernel)
                .cloned()
                .collect();
            Outcome {
                steps: outcome.steps,
                output: String::from_utf8_lossy(&outcome.output).into_owned(),
                findings: Finding::all(&reports_of_kernel),
                profile: None,
            }
        });
        Ok(outcomes.collect())
    }
}
