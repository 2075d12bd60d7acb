//! The targets and PTX versions on which a module is legal.

use std::mem::MaybeUninit;

use ptxkit::ir::EntityId;
use ptxkit::isa::{PtxVersion, Target};
use ptxkit::verify::{self, Availability, Requirements};

use crate::memory::{create, free, given, ptxkit_string};
use crate::module::{ptxkit_module, ptxkit_span};
use crate::status::{get, ptxkit_status, run};

/// Requirements of a module and of its functions. They do not change: any number of threads may use them at the same time.
pub struct ptxkit_requirements {
    /// Of the module, then of each function by its index.
    minimal: Vec<Vec<(Target, PtxVersion)>>,
    needs: Requirements,
}

/// A target, and the lowest PTX version with which it is enough.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_requirement {
    /// The target, such as `sm_90a`.
    pub target: ptxkit_string,
    /// The version before the point.
    pub major: u8,
    /// The version after the point.
    pub minor: u8,
}

/// A feature that restricts the targets and versions of a module.
#[repr(C)]
#[derive(Default)]
pub struct ptxkit_reason {
    /// The feature, such as an instruction.
    pub what: ptxkit_string,
    /// Its first place.
    pub span: ptxkit_span,
    /// The number of its places.
    pub count: usize,
}

impl ptxkit_requirements {
    fn new(module: &ptxkit_module) -> Self {
        let needs = verify::requires(&module.ir);
        let mut minimal = vec![Vec::new(); module.ir.functions().len() + 1];
        let own = |availability: &Availability| availability.minimal();
        minimal[0] = own(needs.module());
        for (function, availability) in needs.functions() {
            if let Some(place) = minimal.get_mut(function.index() + 1) {
                *place = own(availability);
            }
        }
        Self { minimal, needs }
    }

    fn of(&self, function: usize) -> Option<&[(Target, PtxVersion)]> {
        // `PTXKIT_WHOLE_MODULE` of the header is the greatest number.
        let index = function.wrapping_add(1);
        self.minimal.get(index).map(Vec::as_slice)
    }
}

/// Finds the targets and versions on which a module is legal, whatever its header has. Free the result with `ptxkit_requirements_free`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requires(
    module: Option<&ptxkit_module>,
    requirements: Option<&mut MaybeUninit<Option<Box<ptxkit_requirements>>>>,
) -> ptxkit_status {
    run(|| {
        create(requirements, || {
            Ok(ptxkit_requirements::new(given(module)?))
        })
    })
}

/// Returns the number of lowest targets of a function, or of `PTXKIT_WHOLE_MODULE`: one of each family. It is 0 if no target has everything.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_count(
    requirements: Option<&ptxkit_requirements>,
    function: usize,
) -> usize {
    get(|| Some(requirements?.of(function)?.len()))
}

/// Returns a lowest target of a function, or of `PTXKIT_WHOLE_MODULE`; an empty one if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_get(
    requirements: Option<&ptxkit_requirements>,
    function: usize,
    index: usize,
) -> ptxkit_requirement {
    get(|| {
        let (target, version) = requirements?.of(function)?.get(index)?;
        Some(ptxkit_requirement {
            target: ptxkit_string::of(target.text()),
            major: version.major,
            minor: version.minor,
        })
    })
}

/// Returns the number of features that restrict the targets and versions.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_reason_count(requirements: Option<&ptxkit_requirements>) -> usize {
    get(|| Some(requirements?.needs.reasons().len()))
}

/// Returns a feature that restricts the targets and versions; an empty one if there is none at `index`.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_reason_get(
    requirements: Option<&ptxkit_requirements>,
    index: usize,
) -> ptxkit_reason {
    get(|| {
        let reason = requirements?.needs.reasons().get(index)?;
        Some(ptxkit_reason {
            what: ptxkit_string::of(reason.what()),
            span: reason.span().into(),
            count: reason.count(),
        })
    })
}

/// Frees requirements.
#[unsafe(no_mangle)]
pub extern "C" fn ptxkit_requirements_free(requirements: Option<Box<ptxkit_requirements>>) {
    free(requirements);
}
