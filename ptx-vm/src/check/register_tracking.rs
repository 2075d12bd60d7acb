//! The registers of a warp that may be uninitialized, over an instruction.

use super::sites::Site;
use super::uninitialized::{Origin, Traced, TrackedRegister};
use super::unset::Variable;
use crate::execute::{Determined, LaneStep, Unknown};
use crate::lanes::Place;

/// A needed register that is uninitialized in some lanes.
pub(super) struct NeededRegister {
    pub(super) traced: Traced,
    pub(super) lanes: u32,
}

/// The tracked registers of a call at an instruction.
pub(super) struct RegisterTracking<'a> {
    pub(super) registers: &'a mut [TrackedRegister],
    pub(super) variables: &'a [Variable],
    pub(super) site: &'a Site,
    pub(super) site_number: u32,
    /// The registers that the instruction does not read.
    pub(super) unread: &'a [Place],
}

impl RegisterTracking<'_> {
    /// Tracks the registers over the instruction. Returns the first needed register that is uninitialized. `determined` returns the lanes in which
    /// results do not depend on unknown registers.
    pub(super) fn execute(
        &mut self,
        step: LaneStep,
        determined: impl FnOnce(&[Unknown], &[Place]) -> Determined,
    ) -> Option<NeededRegister> {
        let mut needed = None;
        let mut unknown = Vec::new();
        let mut result_origin = None;
        let mut determined_results = Determined::default();
        for &register in &self.site.reads {
            let Some(tracked) = self.registers.get_mut(register as usize) else {
                continue;
            };
            let is_unread = self
                .variables
                .get(register as usize)
                .is_some_and(|variable| self.unread.contains(&variable.place));
            if is_unread {
                continue;
            }
            let is_guard = self.site.guard == Some(register);
            let reading_lanes = if is_guard { step.mask } else { step.active };
            let missing = reading_lanes & !tracked.initialized;
            if missing == 0 {
                continue;
            }
            let traced = tracked.origin.unwrap_or(Traced {
                origin: Origin::Register {
                    site: self.site_number,
                    register,
                },
                thread: None,
            });
            let is_exchanged = self.site.exchanges && self.site.member_mask != Some(register);
            if is_exchanged && !is_guard {
                // The results are tracked when the lanes exchange values.
            } else if self.site.computes && !is_guard {
                let determined_bits = tracked.determined_bits;
                unknown.extend(self.variables.get(register as usize).map(|v| Unknown {
                    place: v.place,
                    bits: u128::MAX >> (128 - v.bits.clamp(1, 128)) & !determined_bits,
                    lanes: missing,
                }));
                result_origin.get_or_insert(traced);
            } else {
                needed.get_or_insert(NeededRegister {
                    traced,
                    lanes: missing,
                });
                // Each register is reported once.
                tracked.initialized |= missing;
            }
        }
        let mut uninitialized = unknown.iter().fold(0, |lanes, u| lanes | u.lanes);
        if uninitialized != 0 {
            let results: Vec<Place> = self
                .site
                .writes
                .iter()
                .filter_map(|&register| self.variables.get(register as usize))
                .map(|variable| variable.place)
                .collect();
            determined_results = determined(&unknown, &results);
            uninitialized &= !determined_results.lanes;
        }
        if self.site.exchanges {
            return needed;
        }
        let mut bits_of_results = determined_results.bits.into_iter();
        for &register in &self.site.writes {
            if let Some(tracked) = self.registers.get_mut(register as usize) {
                let mut determined_bits = bits_of_results.next().unwrap_or(0);
                if !(tracked.initialized | step.active) != 0 {
                    determined_bits &= tracked.determined_bits;
                }
                tracked.determined_bits = determined_bits;
                tracked.initialized =
                    tracked.initialized & !step.active | step.active & !uninitialized;
                tracked.origin = result_origin.or(tracked.origin);
            }
        }
        needed
    }
}
