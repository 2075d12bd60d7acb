//! Rankings of the page: findings by cause and source line, and the lines that lose most sectors.

use std::collections::BTreeMap;

use ptx_lint::{Certainty, Lint};
use ptx_report::labels::Labeled;
use ptx_report::report::{ASSUMED_TRIPS, Finding, Function};
use serde::Serialize;

use super::super::profile::Profile;

/// The largest number of lines with lost sectors.
const MAX_LOSSES: usize = 20;
/// The largest number of lines of a group of findings that are listed.
const MAX_GROUP_LINES: usize = 8;

/// Findings of one lint at one source line, or at one line of the file where there is no source line.
#[derive(Serialize)]
pub(super) struct FindingGroup<'a> {
    lint: Labeled<Lint>,
    certainty: Labeled<Certainty>,
    message: &'a str,
    help: Option<&'a str>,
    source: Option<&'a str>,
    /// The first line in the file.
    line: u32,
    /// The first of the lines in the file.
    lines: Vec<u32>,
    count: usize,
}

/// Groups findings. Those that are certain come first, then those that are most frequent.
pub(super) fn group(findings: &[Finding]) -> Vec<FindingGroup<'_>> {
    let mut groups: BTreeMap<(String, bool, String), FindingGroup<'_>> = BTreeMap::new();
    for finding in findings {
        let place = match &finding.source {
            Some(source) => source.clone(),
            None => finding.line.to_string(),
        };
        let key = (finding.code.clone(), is_certain(finding), place);
        let group = groups.entry(key).or_insert_with(|| FindingGroup {
            lint: finding.lint,
            certainty: finding.certainty,
            message: &finding.message,
            help: finding.help.as_deref(),
            source: finding.source.as_deref(),
            line: finding.line,
            lines: Vec::new(),
            count: 0,
        });
        group.count += 1;
        if group.lines.len() < MAX_GROUP_LINES {
            group.lines.push(finding.line);
        }
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| {
        let is_possible = *group.certainty != Certainty::Definite;
        (is_possible, std::cmp::Reverse(group.count), group.line)
    });
    groups
}

fn is_certain(finding: &Finding) -> bool {
    *finding.certainty == Certainty::Definite
}

/// The sectors that the accesses of a source line move beyond the necessary ones.
#[derive(Serialize)]
pub(super) struct Loss {
    line: u32,
    source: Option<String>,
    mnemonic: String,
    /// The number of accesses in the text.
    accesses: u64,
    /// The number of executions by warps.
    executions: u64,
    sectors: u64,
    /// Sectors beyond those that contiguous accesses need.
    excess: u64,
    /// Whether a profile counted the sectors. Otherwise loops are assumed to have the same number of iterations.
    is_measured: bool,
}

/// The source lines with the largest excess of sectors, the largest first.
pub(super) fn losses(function: &Function, profile: &Profile) -> Vec<Loss> {
    let counts = profile.of_function(&function.stats.name);
    let mut by_place: BTreeMap<(Option<&str>, u32), Loss> = BTreeMap::new();
    for access in &function.accesses {
        let Some(least) = access.least_sectors else {
            continue;
        };
        let measured = counts
            .and_then(|counts| counts.get(&access.line))
            .filter(|counts| counts.requests > 0);
        let (executions, sectors, least) = match (measured, &access.coalescing) {
            (Some(counts), _) => (
                counts.requests,
                counts.sectors,
                least.saturating_mul(counts.requests),
            ),
            (None, Some(coalescing)) if counts.is_none() => {
                let times = ASSUMED_TRIPS.saturating_pow(access.loop_depth);
                let sectors = coalescing.sectors.unwrap_or(least);
                (
                    times,
                    sectors.saturating_mul(times),
                    least.saturating_mul(times),
                )
            }
            _ => continue,
        };
        let line = if access.source.is_some() {
            0
        } else {
            access.line
        };
        let loss = by_place
            .entry((access.source.as_deref(), line))
            .or_insert_with(|| Loss {
                line: access.line,
                source: access.source.clone(),
                mnemonic: access.mnemonic.clone(),
                accesses: 0,
                executions: 0,
                sectors: 0,
                excess: 0,
                is_measured: measured.is_some(),
            });
        loss.accesses += 1;
        loss.executions = loss.executions.saturating_add(executions);
        loss.sectors = loss.sectors.saturating_add(sectors);
        loss.excess = loss.excess.saturating_add(sectors.saturating_sub(least));
    }
    let mut losses: Vec<Loss> = by_place.into_values().filter(|l| l.excess > 0).collect();
    losses.sort_by_key(|loss| std::cmp::Reverse(loss.excess));
    losses.truncate(MAX_LOSSES);
    losses
}
