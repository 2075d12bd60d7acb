//! The targets and versions on which a module is legal.

use std::collections::{BTreeMap, HashMap};

use ptxkit::isa::{PtxVersion, Target};
use ptxkit::verify::{self, Availability};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::conversions::named;
use crate::diagnostic::Span;
use crate::module::Module;

type Pairs = Vec<(&'static str, String)>;

/// The targets and PTX versions on which a module is legal, and why.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
/// >>> needs = module.requires()
/// >>> needs.minimal, needs.lowest("sm_90"), needs.lowest("sm_70"), needs.reasons[0].what
/// ([('sm_80', '7.0')], '7.8', None, 'redux.sync.add.s32')
#[pyclass(frozen, module = "ptxkit")]
pub(crate) struct Requirements {
    module: Availability,
    functions: Vec<FunctionRequirements>,
    reasons: Vec<Reason>,
    /// The instructions that are illegal for all versions and targets.
    illegal: Vec<Span>,
}

/// The requirements of a function.
struct FunctionRequirements {
    name: String,
    availability: Availability,
    /// The indices of its reasons, in the order of their first uses in the function.
    reasons: Vec<usize>,
}

fn texts(pairs: impl IntoIterator<Item = (Target, PtxVersion)>) -> Pairs {
    let pairs = pairs.into_iter();
    pairs
        .map(|(target, version)| (target.text(), version.to_string()))
        .collect()
}

impl Requirements {
    pub(crate) fn new(module: &Module, needs: &verify::Requirements) -> Self {
        let ir = &module.ir;
        let lines = module.lines();
        let indices: HashMap<*const verify::Reason, usize> = needs
            .reasons()
            .iter()
            .enumerate()
            .map(|(index, reason)| (core::ptr::from_ref(reason), index))
            .collect();
        let functions = needs.functions().iter().map(|(id, availability)| {
            let function = ir.functions().get(*id);
            let name = function.map_or("", |function| ir.name(function.name));
            let reasons = needs.reasons_of(*id).map(|(reason, _)| reason);
            FunctionRequirements {
                name: name.to_owned(),
                availability: availability.clone(),
                reasons: reasons
                    .filter_map(|reason| indices.get(&core::ptr::from_ref(reason)).copied())
                    .collect(),
            }
        });
        let reasons = needs.reasons().iter().map(|reason| {
            let spans = reason.spans().iter();
            let mut all_lines: Vec<u32> =
                spans.map(|span| lines.position(span.start).line).collect();
            all_lines.dedup();
            Reason {
                what: reason.what().to_owned(),
                span: Span::new(reason.span()),
                line: lines.position(reason.span().start).line,
                lines: all_lines,
                count: reason.count(),
                minimal: texts(reason.availability().minimal()),
                availability: reason.availability().clone(),
            }
        });
        Self {
            module: needs.module().clone(),
            functions: functions.collect(),
            reasons: reasons.collect(),
            illegal: needs
                .illegal()
                .iter()
                .map(|span| Span::new(*span))
                .collect(),
        }
    }
}

#[pymethods]
impl Requirements {
    /// The lowest target of each family, with the lowest PTX version there.
    #[getter]
    fn minimal(&self) -> Pairs {
        texts(self.module.minimal())
    }

    /// Every target on which the module is legal, with the lowest PTX version there.
    #[getter]
    fn pairs(&self) -> Pairs {
        texts(self.module.pairs())
    }

    /// The lowest PTX version for a target; `None` if the module is not legal on it.
    fn lowest(&self, target: &str) -> PyResult<Option<String>> {
        let target = named(target, "target")?;
        Ok(self.module.lowest(target).map(|v| v.to_string()))
    }

    /// The value of `minimal` for each function that has a body, by name.
    #[getter]
    fn functions(&self) -> BTreeMap<&str, Pairs> {
        let functions = self.functions.iter();
        functions
            .map(|function| {
                (
                    function.name.as_str(),
                    texts(function.availability.minimal()),
                )
            })
            .collect()
    }

    /// The value of `reasons` for a function that has a body, by its name. The occurrences are those in the module.
    fn reasons_of(&self, function: &str) -> PyResult<Vec<Reason>> {
        let requirements = self
            .functions
            .iter()
            .find(|requirements| requirements.name == function)
            .ok_or_else(|| PyKeyError::new_err(function.to_owned()))?;
        let reasons = requirements.reasons.iter();
        Ok(reasons
            .filter_map(|index| self.reasons.get(*index).cloned())
            .collect())
    }

    /// The instructions that are illegal on every target in every version. The requirements do not include them.
    #[getter]
    fn illegal(&self) -> Vec<Span> {
        self.illegal.clone()
    }

    /// The features of the module that are not available everywhere.
    #[getter]
    fn reasons(&self) -> Vec<Reason> {
        self.reasons.clone()
    }

    /// The features that make the module illegal on a target in every version.
    fn blocking(&self, target: &str) -> PyResult<Vec<Reason>> {
        let target = named(target, "target")?;
        let reasons = self.reasons.iter();
        Ok(reasons
            .filter(|r| r.availability.lowest(target).is_none())
            .cloned()
            .collect())
    }

    fn __repr__(&self) -> String {
        let minimal: Vec<String> = self
            .minimal()
            .into_iter()
            .map(|(target, version)| format!("{target} from PTX {version}"))
            .collect();
        format!("<Requirements {}>", minimal.join(", "))
    }
}

/// A feature of a module that is not available everywhere.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
/// >>> reason = module.requires().blocking("sm_70")[0]
/// >>> reason.what, reason.line, reason.count, reason.lines, reason.minimal
/// ('redux.sync.add.s32', 3, 1, [3], [('sm_80', '7.0')])
#[pyclass(frozen, skip_from_py_object, module = "ptxkit")]
#[derive(Clone)]
pub(crate) struct Reason {
    /// The description of the feature.
    #[pyo3(get)]
    what: String,
    /// The span of the first occurrence.
    #[pyo3(get)]
    span: Span,
    /// The line of the first occurrence, from 1.
    #[pyo3(get)]
    line: u32,
    /// The lines of all occurrences in ascending order, each once.
    #[pyo3(get)]
    lines: Vec<u32>,
    /// The number of occurrences.
    #[pyo3(get)]
    count: usize,
    /// The lowest targets and versions that have the feature.
    #[pyo3(get)]
    minimal: Pairs,
    availability: Availability,
}

#[pymethods]
impl Reason {
    fn __repr__(&self) -> String {
        format!("<Reason {}, line {}>", self.what, self.line)
    }
}
