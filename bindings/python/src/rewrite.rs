//! Methods that rewrite whole modules. Each returns a new module.

use std::collections::HashMap;

use ptxkit::diff::Equality;
use ptxkit::edit::{Names, OwnSymbols, RenameError, Renaming};
use ptxkit::ir::facts::Space;
use ptxkit::ir::{Code, Module as IrModule, Severity};
use ptxkit::isa::{PtxVersion, StateSpace, Target};
use ptxkit::print::{Indent, Style};
use ptxkit::transform::clean::{self, Pass};
use ptxkit::transform::instrument::{self, Bounds, Outside, Records, Report, Trace};
use ptxkit::transform::{
    ExtractError, InsertItemsError, LinkOptions, MinifyOptions, RetargetError, Rewriting,
};
use ptxkit::verify::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::conversions::{RequestedVersion, named};
use crate::diagnostic::Span;
use crate::diff::Diff;
use crate::error::Failure;
use crate::module::Module;
use crate::requires::Requirements;

impl From<ExtractError> for Failure {
    fn from(error: ExtractError) -> Self {
        Self::new(error)
    }
}

impl From<RetargetError> for Failure {
    fn from(error: RetargetError) -> Self {
        Self::new(error)
    }
}

impl From<RenameError> for Failure {
    fn from(error: RenameError) -> Self {
        match &error {
            RenameError::Taken(_, at) => Self::new(&error).at(*at),
            _ => Self::new(error),
        }
    }
}

impl From<instrument::Error> for Failure {
    fn from(error: instrument::Error) -> Self {
        match error {
            instrument::Error::Items(InsertItemsError::Code(diagnostics)) => {
                Self::of_diagnostics(diagnostics)
            }
            error => Self::new(error),
        }
    }
}

fn undefined_name(name: &str) -> Failure {
    Failure::new(format!("no name `{name}`")).with_code(Code::UndefinedName)
}

impl Module {
    /// Parses a text as a module with the name of this one.
    pub(crate) fn with_text(&self, text: Vec<u8>) -> Self {
        Self::parsed(text, self.name.clone())
    }

    /// The result of a pass as a module with the name of this one.
    fn rewritten<R>(&self, rewriting: &Rewriting<R>) -> Self {
        self.with_text(rewriting.text().to_vec())
    }

    /// Fails if there are errors.
    pub(crate) fn require_legal(&self, options: &Options) -> Result<(), Failure> {
        let mut errors = self.diagnose(options, false, false);
        errors.retain(|diagnostic| diagnostic.severity == Severity::Error);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Failure::of_diagnostics(errors))
        }
    }

    /// Fails if there are errors, and shows them.
    pub(crate) fn require_runnable(&self) -> Result<(), Failure> {
        self.require_legal(&Options::default()).map_err(|failure| {
            let name = self.name.as_deref().unwrap_or("text");
            failure.rendered("the module has errors:", name, self.ir.source())
        })
    }

    fn renamed(
        &self,
        names: &HashMap<String, String>,
        function: Option<&str>,
    ) -> Result<Rewriting, Failure> {
        let ir = &self.ir;
        let inside = match function {
            Some(name) => Some(ir.function(name).ok_or_else(|| undefined_name(name))?),
            None => None,
        };
        let all_names = Names::of(ir);
        let mut renaming = Renaming::new();
        for (old, new) in names {
            let entities = all_names.find(ir, old, inside);
            if entities.is_empty() {
                return Err(undefined_name(old));
            }
            for entity in entities {
                renaming.set(entity, new.clone());
            }
        }
        Ok(renaming.apply(ir, &all_names)?)
    }

    fn chosen_version(&self, target: Target, version: Option<RequestedVersion>) -> PtxVersion {
        let floor = target.min_version();
        match version {
            Some(RequestedVersion::Exact(version)) => version,
            Some(RequestedVersion::Lowest) => {
                let lowest = ptxkit::verify::requires(&self.ir).module().lowest(target);
                lowest.unwrap_or(PtxVersion::CURRENT)
            }
            None => self
                .ir
                .header()
                .version
                .map_or(floor, |version| version.max(floor)),
        }
    }

    /// Converts the sites of an instrumented module.
    fn sites(&self, report: &Report) -> Vec<Site> {
        report
            .sites
            .iter()
            .filter_map(|site| {
                let function = self.ir.functions().get(site.function)?;
                Some(Site {
                    id: site.id,
                    function: self.ir.name(function.name).to_owned(),
                    line: self.lines().position(site.span.start).line,
                    span: Span::new(site.span),
                    text: self.text_of(site.span).into_owned(),
                    is_after: site.when == instrument::Timing::After,
                })
            })
            .collect()
    }

    fn instrumented(
        &self,
        result: Result<Rewriting<Report>, instrument::Error>,
    ) -> Result<(Self, Vec<Site>), Failure> {
        self.require_legal(&Options::default())?;
        let instrumented = result?;
        let sites = self.sites(&instrumented.report);
        Ok((self.rewritten(&instrumented), sites))
    }
}

/// The state spaces that a trace can record, by name.
fn space(name: &str) -> PyResult<Space> {
    match name {
        "generic" => Ok(Space::Generic),
        name => named::<StateSpace>(&format!(".{name}"), "state space").map(Space::State),
    }
}

fn strs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[pymethods]
impl Module {
    /// The module in the canonical style: one statement per line, one indentation.
    ///
    /// `indent` is the number of spaces of one level; by default it is a tab.
    ///
    /// >>> import ptxkit
    /// >>> print(ptxkit.parse(".version 8.0\n.target   sm_90\n.entry k(){ret;}").format(indent=2).text)
    /// .version 8.0
    /// .target sm_90
    /// .entry k()
    /// {
    ///   ret;
    /// }
    /// <BLANKLINE>
    #[pyo3(signature = (*, indent=None))]
    fn format(&self, py: Python<'_>, indent: Option<u8>) -> Self {
        let style = Style::default().with_indent(indent.map_or(Indent::Tab, Indent::Spaces));
        py.detach(|| self.with_text(ptxkit::print::canonical(&self.ir, &style)))
    }

    /// The targets and PTX versions on which the module is legal, and why.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; redux.sync.add.s32 %r, %r, -1; }")
    /// >>> module.requires().minimal
    /// [('sm_80', '7.0')]
    fn requires(&self, py: Python<'_>) -> Requirements {
        py.detach(|| Requirements::new(self, &ptxkit::verify::requires(&self.ir)))
    }

    /// The differences between this module and another one, apart from the names of registers and labels.
    ///
    /// With `values`, computations of the same values are equal.
    ///
    /// >>> import ptxkit
    /// >>> old = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %a; mov.b32 %a, 1; ret; }")
    /// >>> new = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %b; mov.b32 %b, 2; ret; }")
    /// >>> print(old.diff(new))
    /// k:
    /// -mov.b32 %a, 1;
    /// +mov.b32 %b, 2;
    /// >>> old.diff(old).is_equal
    /// True
    #[pyo3(signature = (other, *, values=false))]
    fn diff(slf: &Bound<'_, Self>, py: Python<'_>, other: &Bound<'_, Self>, values: bool) -> Diff {
        let equality = if values {
            Equality::Values
        } else {
            Equality::Statements
        };
        let (left, right) = (slf.get(), other.get());
        let diff = py.detach(|| ptxkit::diff::ModuleDiff::new(&left.ir, &right.ir, equality));
        Diff::new(slf.clone().unbind(), other.clone().unbind(), diff)
    }

    /// The module with the fixes of its diagnostics that are `"MachineApplicable"`, as far as errors disappear and no other
    /// error appears.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .f32 %f; mul.f32 %f, %f, %f ret; }")
    /// >>> len(module.check()), len(module.fixed().check())
    /// (1, 0)
    #[pyo3(signature = (*, target=None, version=None))]
    fn fixed(&self, py: Python<'_>, target: Option<&str>, version: Option<&str>) -> PyResult<Self> {
        let options = crate::conversions::options(target, version)?;
        Ok(py.detach(|| {
            let text = self.ir.source();
            let diagnostics = self.diagnose(&options, false, false);
            let fixed = ptxkit::ir::fix_all(text, diagnostics, |text| {
                self.with_text(text.to_vec())
                    .diagnose(&options, false, false)
            });
            self.with_text(fixed.map_or_else(|| text.to_vec(), |fixed| fixed.text))
        }))
    }

    /// The module for another target and version. Everything but the header stays unchanged.
    ///
    /// Without `version`, the version is the old one, or the first that supports the target; `"lowest"` is the first in which the module
    /// is legal on the target. Raises `PtxError` if the module is not legal there.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 7.0\n.target sm_70\n.entry k() { ret; }").retarget("sm_90a")
    /// >>> module.target, module.version
    /// ('sm_90a', '8.0')
    #[pyo3(signature = (target, version=None))]
    fn retarget(&self, py: Python<'_>, target: &str, version: Option<&str>) -> PyResult<Self> {
        let target: Target = named(target, "target")?;
        let version = version.map(RequestedVersion::new).transpose()?;
        let new = py.detach(|| {
            let version = self.chosen_version(target, version);
            let new = self.rewritten(&ptxkit::transform::retarget(&self.ir, target, version)?);
            new.require_legal(&Options::default())?;
            Ok::<_, Failure>(new)
        });
        Ok(new?)
    }

    /// The module with other names: of functions, variables, registers (`%r` for the range `%r<9>`), parameters and labels.
    ///
    /// All names change at once, so that they can be swapped. With `function`, only names in this function are meant. Raises
    /// `PtxError` if a name is unknown, or a new one is in use.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { ret; }")
    /// >>> module.rename({"k": "kernel"}).functions[0].name
    /// 'kernel'
    #[pyo3(signature = (names, *, function=None))]
    fn rename(
        &self,
        py: Python<'_>,
        names: HashMap<String, String>,
        function: Option<String>,
    ) -> PyResult<Self> {
        Ok(py.detach(|| {
            self.renamed(&names, function.as_deref())
                .map(|renamed| self.rewritten(&renamed))
        })?)
    }

    /// The module with a prefix before the name of each function and variable that other modules do not see.
    ///
    /// With `visible`, names that other modules see get the prefix as well.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.func f() { ret; }\n.visible .entry k() { ret; }")
    /// >>> [function.name for function in module.add_prefix("my_").functions]
    /// ['my_f', 'k']
    #[pyo3(signature = (prefix, *, visible=false))]
    fn add_prefix(&self, py: Python<'_>, prefix: String, visible: bool) -> PyResult<Self> {
        let which = if visible {
            OwnSymbols::WithVisible
        } else {
            OwnSymbols::Private
        };
        let new = py.detach(|| {
            let names = Names::of(&self.ir);
            let renaming = Renaming::prefix(&self.ir, &names, &prefix, which);
            Ok::<_, Failure>(self.rewritten(&renaming.apply(&self.ir, &names)?))
        });
        Ok(new?)
    }

    /// The module without comments and debug information.
    ///
    /// >>> import ptxkit
    /// >>> ptxkit.parse(".version 8.0\n.target sm_90 // Hopper\n").strip().text
    /// '.version 8.0\n.target sm_90\n'
    fn strip(&self, py: Python<'_>) -> Self {
        py.detach(|| self.rewritten(&ptxkit::transform::strip(&self.ir)))
    }

    /// The module in the fewest bytes: without comments, and with short names.
    ///
    /// `symbols` shortens the names of functions and variables that other modules do not see, and `dead` removes unused code.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry kernel() { .reg .b32 %counter; mov.b32 %counter, 1; ret; }")
    /// >>> len(module.minify().source) < len(module.source)
    /// True
    #[pyo3(signature = (*, symbols=false, dead=false))]
    fn minify(&self, py: Python<'_>, symbols: bool, dead: bool) -> Self {
        let options = MinifyOptions::default()
            .with_symbols(symbols)
            .with_dead(dead);
        py.detach(|| self.rewritten(&ptxkit::transform::minify(&self.ir, &options)))
    }

    /// The module with registers numbered in the order of their first use.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r<9>; mov.b32 %r8, 1; ret; }")
    /// >>> module.renumber().functions["k"].instructions[0].text
    /// 'mov.b32 %r0, 1;'
    fn renumber(&self, py: Python<'_>) -> Self {
        py.detach(|| self.rewritten(&ptxkit::transform::renumber(&self.ir)))
    }

    /// The module without nested blocks in functions; names that the blocks declare become unique.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() {\n{ bar.sync 0; }\nret; }")
    /// >>> module.flatten().text.count("{")
    /// 1
    fn flatten(&self, py: Python<'_>) -> Self {
        py.detach(|| self.rewritten(&ptxkit::transform::flatten(&self.ir)))
    }

    /// A module of the functions and variables of these names, with everything that they use.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }")
    /// >>> [function.name for function in module.extract(["b"]).functions]
    /// ['b']
    fn extract(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Self> {
        let new = py.detach(|| ptxkit::transform::extract(&self.ir, &strs(&names)));
        Ok(self.rewritten(&new.map_err(Failure::from)?))
    }

    /// Two modules that can be linked: the functions and variables of these names, and the others.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry a() { ret; }\n.entry b() { ret; }")
    /// >>> part, rest = module.split(["b"])
    /// >>> part.functions[0].name, rest.functions[0].name
    /// ('b', 'a')
    fn split(&self, py: Python<'_>, names: Vec<String>) -> PyResult<(Self, Self)> {
        let split = py
            .detach(|| ptxkit::transform::split(&self.ir, &strs(&names)))
            .map_err(Failure::from)?;
        Ok((self.rewritten(&split.part), self.rewritten(&split.rest)))
    }

    /// A simpler module with the same effects, and the changes.
    ///
    /// `passes` are names of passes: `"copies"`, `"fold"`, `"dead"`, `"unreachable"`, `"spaces"`; by default all. A change is the
    /// name of its pass, the function, the place and the reason.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.entry k() { .reg .b32 %r; mov.b32 %r, 1; ret; }")
    /// >>> cleaned, changes = module.clean()
    /// >>> [i.opcode for i in cleaned.functions["k"].instructions], [change[:2] for change in changes]
    /// (['ret'], [('dead', 'k')])
    #[pyo3(signature = (passes=None))]
    fn clean(&self, py: Python<'_>, passes: Option<Vec<String>>) -> PyResult<(Self, Vec<Change>)> {
        let mut options = clean::Options::default();
        if let Some(names) = passes {
            let passes = names
                .iter()
                .map(|name| name.parse::<Pass>())
                .collect::<Result<Vec<_>, _>>()
                .map_err(|error| PyValueError::new_err(error.to_string()))?;
            options = options.with_passes(passes);
        }
        Ok(py.detach(|| {
            let mut cleaned = clean::clean(&self.ir, &options);
            let changes = std::mem::take(&mut cleaned.report.changes)
                .into_iter()
                .map(|change| {
                    let function = self.ir.functions().get(change.function);
                    let name = function
                        .map_or("", |function| self.ir.name(function.name))
                        .to_owned();
                    (change.pass.name(), name, Span::new(change.span), change.why)
                })
                .collect();
            (self.rewritten(&cleaned), changes)
        }))
    }

    /// The module with a trace of its memory accesses, and the places that are recorded.
    ///
    /// A record has 32 bytes: address and value (u64), number of the site, size, block and thread (u32). The array
    /// `NAME_records` contains `NAME_count` records; `capacity` is its length. `spaces` are the state spaces whose accesses are recorded;
    /// by default all but constants and parameters.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b64 %rd; .reg .b32 %r; ld.global.b32 %r, [%rd]; ret; }")
    /// >>> traced, sites = module.trace_memory(spaces=["global"])
    /// >>> [(site.id, site.function, site.text) for site in sites]
    /// [(0, 'k', 'ld.global.b32 %r, [%rd];')]
    #[pyo3(signature = (*, name="ptx_trace", capacity=65536, spaces=None))]
    fn trace_memory(
        &self,
        py: Python<'_>,
        name: &str,
        capacity: u32,
        spaces: Option<Vec<String>>,
    ) -> PyResult<(Self, Vec<Site>)> {
        let spaces = match spaces {
            Some(names) => names
                .iter()
                .map(|name| space(name))
                .collect::<PyResult<_>>()?,
            None => Trace::MEMORY.to_vec(),
        };
        let name = name.to_owned();
        let trace = Trace {
            records: Records { name, capacity },
            spaces,
        };
        Ok(py.detach(|| self.instrumented(trace.apply(&self.ir)))?)
    }

    /// The module with checks of the addresses of its accesses to one state space, and the places that are checked.
    ///
    /// `low` is the first valid address and `high` the address after the last valid one; the variable `NAME` contains both, so that the host can
    /// set them. An access outside stops the kernel, or is recorded if a number of `records` is given.
    ///
    /// >>> import ptxkit
    /// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b64 %rd; .reg .b32 %r; ld.global.b32 %r, [%rd]; ret; }")
    /// >>> checked, sites = module.check_bounds(low=0x1000, high=0x2000)
    /// >>> len(sites), checked.check()
    /// (1, [])
    #[pyo3(signature = (*, space="global", low=0, high=u64::MAX, name="ptx_bounds", records=None))]
    fn check_bounds(
        &self,
        py: Python<'_>,
        space: &str,
        low: u64,
        high: u64,
        name: &str,
        records: Option<u32>,
    ) -> PyResult<(Self, Vec<Site>)> {
        let space: StateSpace = named(&format!(".{space}"), "state space")?;
        let name = name.to_owned();
        let outside = records.map_or(Outside::Trap, |capacity| {
            Outside::Record(Records {
                name: name.clone(),
                capacity,
            })
        });
        let bounds = Bounds {
            space,
            low,
            high,
            outside,
            name,
        };
        Ok(py.detach(|| self.instrumented(bounds.apply(&self.ir)))?)
    }
}

/// The pass, the function, the place and the reason.
type Change = (&'static str, String, Span, String);

/// An instrumented instruction.
///
/// >>> import ptxkit
/// >>> module = ptxkit.parse(".version 8.0\n.target sm_90\n.address_size 64\n.entry k() { .reg .b64 %rd; .reg .b32 %r; st.global.b32 [%rd], %r; ret; }")
/// >>> site = module.trace_memory()[1][0]
/// >>> site.id, site.function, site.line, site.is_after
/// (0, 'k', 4, False)
#[pyclass(frozen, eq, hash, get_all, module = "ptxkit")]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// The number of the site in its records.
    id: u32,
    /// The name of the function.
    function: String,
    /// The line of the instruction, from 1.
    line: u32,
    /// The span of the instruction in the old text.
    span: Span,
    /// The text of the instruction.
    text: String,
    /// Whether the code was inserted after the instruction.
    is_after: bool,
}

#[pymethods]
impl Site {
    fn __repr__(&self) -> String {
        format!("<Site {} in {}: {}>", self.id, self.function, self.text)
    }
}

/// Links several modules to one.
///
/// External declarations are resolved, and equal private names are renamed. `hidden` are names that lose their
/// `.visible`. Raises `PtxError` if the modules do not fit.
///
/// >>> import ptxkit
/// >>> caller = ptxkit.parse(".version 8.0\n.target sm_90\n.extern .func f();\n.visible .entry k() { call f; ret; }")
/// >>> callee = ptxkit.parse(".version 8.0\n.target sm_90\n.visible .func f() { ret; }")
/// >>> ptxkit.link([caller, callee]).check()
/// []
#[pyfunction]
#[pyo3(signature = (modules, *, hidden=Vec::new(), name=None))]
pub(crate) fn link(
    py: Python<'_>,
    modules: Vec<Py<Module>>,
    hidden: Vec<String>,
    name: Option<String>,
) -> PyResult<Module> {
    let modules: Vec<&Module> = modules.iter().map(Py::get).collect();
    let linked = py.detach(|| {
        for module in &modules {
            module.require_legal(&Options::default())?;
        }
        let irs: Vec<&IrModule> = modules.iter().map(|module| &module.ir).collect();
        let linked = ptxkit::transform::link(&irs, &LinkOptions::default().with_hidden(&hidden));
        linked.map_err(|error| {
            let diagnostics = error.into_diagnostics();
            Failure::of_diagnostics(diagnostics.into_iter().map(|d| d.diagnostic).collect())
        })
    });
    Ok(Module::parsed(linked?.text().to_vec(), name))
}
