//! The targets and PTX versions on which a module is legal.

use std::mem::MaybeUninit;

use ptxkit::ir::EntityId;
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::verify::{self, Requirements};

use crate::memory::{create, free, non_null, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::status::{get, ptxkit_status, run};

/// The requirements of a module and of its functions. They never change, so any number of threads may use them at the same time.
pub struct ptxkit_requirements {
    /// The lowest targets of the module at index 0, and those of the function with index `i` at index `i + 1`.
    minimal: Vec<Vec<(Target, PtxVersion)>>,
    requirements: Requirements,
}

/// A lowest target with the lowest PTX version on it.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_requirement {
    /// The target, such as `sm_90a`.
    pub target: ptxkit_string,
    /// The major version of PTX.
    pub major: u8,
    /// The minor version of PTX.
    pub minor: u8,
}

/// A feature that restricts the targets and versions of a module.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_reason {
    /// The feature, such as an instruction.
    pub what: ptxkit_string,
    /// The location of its first use.
    pub span: ptxkit_span,
    /// The number of its uses.
    pub count: usize,
}

impl ptxkit_requirements {
    fn new(module: &ptxkit_module) -> Self {
        let requirements = verify::requires(&module.ir);
        let mut minimal = vec![Vec::new(); module.ir.functions().len() + 1];
        minimal[0] = requirements.module().minimal();
        for (function, availability) in requirements.functions() {
            if let Some(targets) = minimal.get_mut(function.index() + 1) {
                *targets = availability.minimal();
            }
        }
        Self {
            minimal,
            requirements,
        }
    }

    /// The lowest targets of a function, or of the module for `PTXKIT_WHOLE_MODULE`, which the header defines as the greatest number.
    fn lowest_targets(&self, function: usize) -> Option<&[(Target, PtxVersion)]> {
        let index = function.wrapping_add(1);
        self.minimal.get(index).map(Vec::as_slice)
    }
}

/// Returns the targets and versions on which a module is legal, independent of its header. Free the result with `ptxkit_requirements_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requires(
    module: Option<&ptxkit_module>,
    requirements: Option<&mut MaybeUninit<Option<Box<ptxkit_requirements>>>>,
) -> ptxkit_status {
    run(|| {
        create(requirements, || {
            Ok(ptxkit_requirements::new(non_null(module)?))
        })
    })
}

/// Returns the number of lowest targets of a function, or of `PTXKIT_WHOLE_MODULE`. There is at most one for each architecture family; there is none if
/// the function is legal on no target.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_count(
    requirements: Option<&ptxkit_requirements>,
    function: usize,
) -> usize {
    get(|| Some(requirements?.lowest_targets(function)?.len()))
}

/// Returns a lowest target of a function, or of `PTXKIT_WHOLE_MODULE`; an empty one if there is no target at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_get(
    requirements: Option<&ptxkit_requirements>,
    function: usize,
    index: usize,
) -> ptxkit_requirement {
    get(|| {
        let (target, version) = requirements?.lowest_targets(function)?.get(index)?;
        Some(ptxkit_requirement {
            target: ptxkit_string::new(target.text()),
            major: version.major,
            minor: version.minor,
        })
    })
}

/// Returns the number of features that restrict the targets and versions.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_reason_count(requirements: Option<&ptxkit_requirements>) -> usize {
    get(|| Some(requirements?.requirements.reasons().len()))
}

/// Returns a feature that restricts the targets and versions; an empty one if there is no feature at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_reason_get(
    requirements: Option<&ptxkit_requirements>,
    index: usize,
) -> ptxkit_reason {
    get(|| {
        let reason = requirements?.requirements.reasons().get(index)?;
        Some(ptxkit_reason {
            what: ptxkit_string::new(reason.what()),
            span: reason.span().into(),
            count: reason.count(),
        })
    })
}

/// Returns the location of a use of a feature, in the order of the source; an empty one if there is no feature at `index`, or no use at `use_index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_reason_use(
    requirements: Option<&ptxkit_requirements>,
    index: usize,
    use_index: usize,
) -> ptxkit_span {
    get(|| {
        let reason = requirements?.requirements.reasons().get(index)?;
        Some((*reason.spans().get(use_index)?).into())
    })
}

/// Returns the number of instructions that are illegal for all versions and targets. The requirements do not include them.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_illegal_count(requirements: Option<&ptxkit_requirements>) -> usize {
    get(|| Some(requirements?.requirements.illegal().len()))
}

/// Returns the location of an instruction that is illegal for all versions and targets; an empty one if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_illegal_get(
    requirements: Option<&ptxkit_requirements>,
    index: usize,
) -> ptxkit_span {
    get(|| Some((*requirements?.requirements.illegal().get(index)?).into()))
}

/// Frees requirements.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_free(requirements: Option<Box<ptxkit_requirements>>) {
    free(requirements);
}
