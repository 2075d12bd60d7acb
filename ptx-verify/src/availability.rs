//! The versions and targets for which a module, a function or a feature is legal.

use alloc::vec::Vec;
use ptx_isa::internals::TargetSet;
use ptx_isa::{Arch, PtxVersion, Target};

/// The targets on which a module, a function or a feature is legal, for each version up to [`PtxVersion::CURRENT`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Availability {
    targets: Vec<TargetSet>,
}

impl Availability {
    /// All versions and targets.
    pub(crate) fn everywhere() -> Self {
        Self::new(|_| TargetSet::ALL)
    }

    /// `targets` returns the targets of a version.
    pub(crate) fn new(targets: impl Fn(PtxVersion) -> TargetSet) -> Self {
        Self {
            targets: versions().map(targets).collect(),
        }
    }

    /// Keeps the versions and targets that `other` also contains.
    pub(crate) fn restrict(&mut self, other: &Self) {
        for (targets, other) in self.targets.iter_mut().zip(&other.targets) {
            *targets = targets.and(*other);
        }
    }

    /// Returns the first legal version on a target; `None` if there is none.
    #[must_use]
    pub fn lowest(&self, target: Target) -> Option<PtxVersion> {
        versions()
            .zip(&self.targets)
            .find(|(version, targets)| {
                let has_target = target.min_version() <= *version
                    && target.until().is_none_or(|until| *version < until);
                has_target && targets.contains(target)
            })
            .map(|(version, _)| version)
    }

    /// Returns the legal targets, each with the first legal version.
    pub fn pairs(&self) -> impl Iterator<Item = (Target, PtxVersion)> + '_ {
        Target::ALL
            .iter()
            .filter_map(|target| Some((*target, self.lowest(*target)?)))
    }

    /// Returns the pairs that imply all others: the lowest plain target, then the family and architecture-specific targets that
    /// none of these covers from the same version on.
    #[must_use]
    pub fn minimal(&self) -> Vec<(Target, PtxVersion)> {
        let mut minimal: Vec<(Target, PtxVersion)> = Vec::new();
        for arch in [Arch::Plain, Arch::Family, Arch::Exact] {
            let mut pairs: Vec<_> = self.pairs().filter(|(t, _)| t.arch() == arch).collect();
            pairs.sort_by_key(|(t, _)| t.number());
            for (target, version) in pairs {
                let is_covered = minimal
                    .iter()
                    .any(|(t, v)| target.implies(*t) && *v <= version);
                if !is_covered {
                    minimal.push((target, version));
                }
            }
        }
        minimal
    }
}

/// Returns the versions whose instructions are completely known, in ascending order.
fn versions() -> impl Iterator<Item = PtxVersion> {
    PtxVersion::KNOWN
        .iter()
        .copied()
        .filter(|v| *v <= PtxVersion::CURRENT)
}
