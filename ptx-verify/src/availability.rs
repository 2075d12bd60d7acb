//! Versions and targets that have something.

use alloc::vec::Vec;
use ptx_isa::{Arch, PtxVersion, Target, TargetSet};

/// The targets that have something, for each version up to [`PtxVersion::CURRENT`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Availability {
    targets: Vec<TargetSet>,
}

impl Availability {
    /// Every version and target.
    pub(crate) fn everywhere() -> Self {
        Self::of(|_| TargetSet::ALL)
    }

    pub(crate) fn of(targets: impl Fn(PtxVersion) -> TargetSet) -> Self {
        Self {
            targets: versions().map(targets).collect(),
        }
    }

    /// Keeps what `other` has as well.
    pub(crate) fn restrict(&mut self, other: &Self) {
        for (own, other) in self.targets.iter_mut().zip(&other.targets) {
            *own = own.and(*other);
        }
    }

    /// The first version that has it on a target; `None` where none has.
    #[must_use]
    pub fn lowest(&self, target: Target) -> Option<PtxVersion> {
        let mut all = versions().zip(&self.targets);
        let known = |v: PtxVersion| {
            target.min_version() <= v && target.until().is_none_or(|until| v < until)
        };
        let first = all.find(|(v, targets)| known(*v) && targets.contains(target));
        first.map(|(v, _)| v)
    }

    /// Every target that has it, with the first version there.
    pub fn pairs(&self) -> impl Iterator<Item = (Target, PtxVersion)> + '_ {
        let targets = Target::ALL.iter().copied();
        targets.filter_map(|t| Some((t, self.lowest(t)?)))
    }

    /// The pairs that imply all others: the lowest plain target, then the family and architecture-specific targets that
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

/// The versions whose instructions are known in full, upwards.
fn versions() -> impl Iterator<Item = PtxVersion> {
    PtxVersion::KNOWN
        .iter()
        .copied()
        .filter(|v| *v <= PtxVersion::CURRENT)
}
