//! The version and the targets of the modules in which ptxas assembles an instruction.

use ptx_isa::{PtxVersion, Target};

use super::case::Case;
use super::template::targets_of;
use crate::assembler::Assemblers;

/// Versions that are tried in this order; the last ones for forms that newer versions removed.
const VERSIONS: [PtxVersion; 3] = [
    PtxVersion::new(9, 2),
    PtxVersion::CURRENT,
    PtxVersion::new(6, 3),
];

/// The targets of the modules, if they have the form; otherwise its lowest one.
const TARGETS: [Target; 3] = [Target::Sm80, Target::Sm90, Target::Sm120a];

/// The first version in which some ptxas generates code for a case, and the targets of which one is chosen for each module.
pub(super) fn places(assemblers: &Assemblers, case: &Case) -> Option<(PtxVersion, Vec<Target>)> {
    VERSIONS.into_iter().find_map(|version| {
        let legal = targets_of(case, version);
        let is_usable = |t: &Target| {
            legal.contains(*t) && assemblers.of(*t, version).is_some_and(|a| a.knows(*t))
        };
        let mut targets: Vec<Target> = TARGETS.into_iter().filter(is_usable).collect();
        if targets.is_empty() {
            targets.extend(legal.iter().filter(|t| t.until().is_none()).find(is_usable));
        }
        (!targets.is_empty()).then_some((version, targets))
    })
}
