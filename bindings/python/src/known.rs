//! Facts about values before a kernel runs: affine forms, uniformity, coalescing, trip counts; and reports.

use std::collections::BTreeMap;

use ptx_report::function_values::{Coalescing, FunctionValues};
use ptx_report::report::Report;
use ptxkit::lint::{LintOptions, lint};
use pyo3::prelude::*;
use serde::Serialize;

use crate::cfg::{Block, Loop};
use crate::conversions::to_python;
use crate::instruction::Instruction;
use crate::module::Module;

/// A finding of a lint.
#[derive(Serialize)]
struct LintFinding {
    lint: &'static str,
    code: String,
    certainty: &'static str,
    message: String,
    help: Option<String>,
    function: String,
    line: u32,
    degree: Option<u32>,
}

/// The value of a dictionary that denotes `None`.
fn none(py: Python<'_>) -> Bound<'_, PyAny> {
    py.None().into_bound(py)
}

#[pymethods]
impl Instruction {
    /// The uniformity of each register that the instruction writes: `"grid"`, `"cluster"`, `"cta"`, `"warp"` or `"varying"`.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<2>; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; }")
    /// >>> [i.uniform for i in module.instructions]
    /// [{'%r0': 'cta'}, {'%r1': 'varying'}]
    #[getter]
    fn uniform(&self, py: Python<'_>) -> BTreeMap<String, &'static str> {
        let module = self.module.get();
        let uniformity = py.detach(|| module.uniformity());
        let names = module.names(self.function);
        let defs = uniformity
            .function(self.function)
            .zip(self.stmt())
            .map_or(&[][..], |(function, stmt)| function.defs(stmt));
        defs.iter()
            .filter_map(|def| {
                let name = names?.text().get(def.variable);
                Some((name.to_owned(), def.uniformity.name()))
            })
            .collect()
    }

    /// The affine forms of the registers that the instruction writes: sums of multiples of thread and block indices, parameters, addresses and loop counters.
    /// Registers without a known form are omitted.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<2>; mov.u32 %r0, %tid.x; mad.lo.u32 %r1, %r0, 4, 16; }")
    /// >>> module.instructions[1].affine
    /// {'%r1': '4*%tid.x + 16'}
    #[getter]
    fn affine(&self, py: Python<'_>) -> BTreeMap<String, String> {
        let (module, function) = (self.module.get(), self.function);
        let analysis = module.analysis(function);
        let values = py.detach(|| FunctionValues::new(analysis.as_ref()?));
        let (Some(values), Some(names), Some(stmt)) = (values, module.names(function), self.stmt())
        else {
            return BTreeMap::new();
        };
        let text = values.text(names.text());
        values
            .forms(stmt)
            .map(|(variable, form)| {
                let name = names.text().get(variable);
                (name.to_owned(), text.form(&form))
            })
            .collect()
    }

    /// The access pattern of the lanes of a warp, except for parameters: a dictionary with `pattern` (`"uniform"`, `"consecutive"`, `"strided"`, `"scattered"`,
    /// `"rows"` or `"tile"`), `stride` in bytes, the least and the most `sectors` of 32 bytes in global memory, the `passes` and the `degree` of bank conflicts in
    /// shared memory, the sets of lanes that may be active, `active_lanes`, and the assumptions, `assumes`. `None` if the addresses are not known.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) { .reg .b32 %r; .reg .b64 %a; ld.param.u64 %a, [p]; mov.u32 %r, %tid.x; mad.wide.u32 %a, %r, 8, %a; ld.global.u32 %r, [%a]; }")
    /// >>> request = module.instructions[3].coalescing
    /// >>> request["pattern"], request["stride"], request["sectors"], request["assumes"]
    /// ('strided', 8, 8, ['one_dimension', 'aligned_pointers'])
    #[getter]
    fn coalescing<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (module, function) = (self.module.get(), self.function);
        let analysis = module.analysis(function);
        let values = py.detach(|| FunctionValues::new(analysis.as_ref()?));
        let coalescing = values
            .zip(self.stmt())
            .and_then(|(values, stmt)| values.access(stmt))
            .and_then(Coalescing::of);
        match coalescing {
            Some(coalescing) => to_python(py, &coalescing),
            None => Ok(none(py)),
        }
    }
}

#[pymethods]
impl Block {
    /// The largest group of threads that execute the block together or not at all: `"grid"`, `"cluster"`, `"cta"`, `"warp"` or `"varying"`.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; .reg .b32 %r; mov.u32 %r, %tid.x; setp.eq.u32 %p, %r, 0; @%p bra L; bar.sync 0; L: ret; }")
    /// >>> [block.uniform for block in module.functions["k"].blocks]
    /// ['grid', 'varying', 'grid']
    #[getter]
    fn uniform(&self, py: Python<'_>) -> &'static str {
        let (module, function) = (self.place().module.get(), self.place().function);
        let uniformity = py.detach(|| module.uniformity());
        uniformity
            .function(function)
            .map_or("varying", |function| function.block(self.id()).name())
    }
}

#[pymethods]
impl Loop {
    /// The trip count: a dictionary with the `count`, if it is a number, its `form`, whether it is `exact` instead of an upper bound,
    /// and whether it `assumes_no_wrap`. `None` if nothing is known.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .pred %p; .reg .b32 %r; mov.b32 %r, 0; L: add.s32 %r, %r, 2; setp.lt.s32 %p, %r, 10; @%p bra L; ret; }")
    /// >>> module.functions["k"].loops[0].trip_count
    /// {'count': 5, 'form': '5', 'exact': True, 'assumes_no_wrap': False}
    #[getter]
    fn trip_count<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (module, function) = (self.place().module.get(), self.place().function);
        let analysis = module.analysis(function);
        let values = py.detach(|| FunctionValues::new(analysis.as_ref()?));
        let count = values
            .zip(module.names(function))
            .and_then(|(values, names)| values.trip_count(self.id(), &values.text(names.text())));
        match count {
            Some(count) => to_python(py, &count),
            None => Ok(none(py)),
        }
    }
}

#[pymethods]
impl Module {
    /// Likely bugs and slow code: a list of dictionaries with `lint`, its name, `code`, `certainty` (`"definite"` or `"possible"`), `message`,
    /// `help`, `function`, `line`, and the `degree` of bank conflicts. Comments that turn lints off do not count.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; mov.u32 %r, %tid.x; ret; }")
    /// >>> [(finding["lint"], finding["certainty"], finding["line"]) for finding in module.lint()]
    /// [('dead-code', 'definite', 3)]
    #[pyo3(name = "lint")]
    fn lint_findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let findings = py.detach(|| lint(&self.facts(), &LintOptions::default()));
        let described = findings.into_iter().map(|finding| {
            let function = self.ir.functions().get(finding.function);
            let diagnostic = finding.diagnostic;
            LintFinding {
                lint: finding.lint.name(),
                code: diagnostic.code.to_string(),
                certainty: finding.certainty.name(),
                function: function.map_or("", |f| self.ir.name(f.name)).to_owned(),
                line: self.lines().position(diagnostic.span.start).line,
                message: diagnostic.message,
                help: diagnostic.help,
                degree: finding.degree,
            }
        });
        to_python(py, &described.collect::<Vec<_>>())
    }

    /// The factors that limit the performance of the functions: the object that `ptxkit report --format json` writes.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .f32 %f; fma.rn.f32 %f, %f, %f, %f; ret; }")
    /// >>> module.report()["functions"][0]["work"]["total"]["single"]
    /// 64
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let name = self.name.as_deref().unwrap_or_default();
        let report = py.detach(|| Report::new(name, &self.ir, |_| true));
        to_python(py, &report)
    }
}
