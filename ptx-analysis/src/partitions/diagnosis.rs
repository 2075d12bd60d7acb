//! The problem that explains how an execution ended.

use alloc::vec::Vec;

use super::barriers::CLUSTER;
use super::machine::{End, Machine, Wait};
use super::{Problem, ProblemKind, Relation};

impl Machine<'_> {
    /// The problem of an execution in which no thread can go on.
    pub(super) fn stalled(&self) -> End {
        if let Some(problem) = self.problem_of_waits() {
            return End::Problem(problem);
        }
        self.problem_of_objects()
            .or_else(|| self.problem_of_barriers())
            .map_or(End::Unknown, End::Problem)
    }

    /// A wait for an object that returned too early, or twice for one phase.
    pub(super) fn problem_of_waits(&self) -> Option<Problem> {
        self.objects.waits.iter().find_map(|(key, waited)| {
            let object = self.objects.by_address.get(&key.address)?;
            let copies_of_further_warps = object.copying_warps & !(1 << key.warp.min(31));
            let kind = if waited.is_early
                && copies_of_further_warps == object.copying_warps
                && copies_of_further_warps != 0
            {
                ProblemKind::EarlyWait
            } else if waited.is_repeated && waited.phases < object.phase {
                ProblemKind::RepeatedWait
            } else {
                return None;
            };
            Some(Problem {
                stmt: key.stmt,
                kind,
                related: vec![(object.initialization, Relation::Initializes)],
            })
        })
    }

    /// The object for which groups wait for ever: preferably one in whose phase something happened, because other waits usually follow from it.
    fn problem_of_objects(&self) -> Option<Problem> {
        let waits = || {
            self.groups.iter().filter_map(|group| match group.wait {
                Wait::Object { stmt, address, .. } => Some((stmt, address)),
                _ => None,
            })
        };
        let candidates = waits().filter_map(|(stmt, address)| {
            Some((stmt, address, self.objects.by_address.get(&address)?))
        });
        let (stmt, address, object) = candidates.min_by_key(|(stmt, _, object)| {
            let lacks_bytes = object.pending <= 0;
            let never_arrives = object.expectation.is_some() && object.arrival.is_none();
            let is_partial = object.arrived() > 0 || never_arrives;
            let was_used = object.arrival.is_some();
            (!lacks_bytes, !is_partial, was_used, *stmt)
        })?;
        let further_waits = waits()
            .filter(|(wait, awaited)| *awaited == address && *wait != stmt)
            .map(|(wait, _)| (wait, Relation::Waits));
        let mut related: Vec<_> = further_waits.collect();
        related.push((object.initialization, Relation::Initializes));
        if object.pending <= 0 {
            let missing = object.bytes?;
            let expectation = object.expectation.unwrap_or(stmt);
            related.push((stmt, Relation::Waits));
            return Some(Problem {
                stmt: expectation,
                kind: ProblemKind::Bytes {
                    phase: object.phase,
                    missing,
                },
                related,
            });
        }
        related.extend(object.arrival.map(|arrival| (arrival, Relation::Arrives)));
        Some(Problem {
            stmt,
            kind: ProblemKind::PhaseNeverCompletes {
                phase: object.phase,
                count: object.count,
                arrived: object.arrived(),
            },
            related,
        })
    }

    /// The barrier at which groups wait for ever.
    fn problem_of_barriers(&self) -> Option<Problem> {
        let waits = || {
            self.groups.iter().filter_map(|group| match group.wait {
                Wait::Barrier { stmt, barrier, .. } => Some((stmt, barrier)),
                _ => None,
            })
        };
        // Without exceptions, threads of a barrier for all threads wait for those that wait elsewhere.
        let (stmt, barrier) = waits().find(|(_, barrier)| *barrier != CLUSTER)?;
        let state = self.barriers.0.get(&barrier)?;
        let mut further_waits: Vec<_> = waits()
            .filter(|(wait, number)| *number == barrier && *wait != stmt)
            .map(|(wait, _)| (wait, Relation::Waits))
            .collect();
        further_waits.dedup();
        Some(Problem {
            stmt,
            kind: ProblemKind::BarrierNeverCompletes {
                barrier,
                count: state.expected(&self.live),
                arrived: state.threads(),
            },
            related: further_waits,
        })
    }
}
