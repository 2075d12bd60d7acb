//! Taking times: the best and the median of many runs, as a machine is never quiet.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Best and median of some runs.
#[derive(Copy, Clone)]
pub(crate) struct Timing {
    pub(crate) best: Duration,
    pub(crate) median: Duration,
}

impl Timing {
    pub(crate) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort();
        Some(Self {
            best: *times.first()?,
            median: *times.get(times.len() / 2)?,
        })
    }

    /// Millions of bytes a second, as `best (median)`.
    pub(crate) fn rate(self, bytes: usize) -> String {
        format!(
            "{} ({})",
            number(rate(bytes, self.best)),
            number(rate(bytes, self.median))
        )
    }
}

/// Runs `work` for `budget`, three times at least; results are dropped between the measurements.
pub(crate) fn measure<T>(budget: Duration, mut work: impl FnMut() -> T) -> Option<Timing> {
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 3 || start.elapsed() < budget {
        let begin = Instant::now();
        let result = black_box(work());
        times.push(begin.elapsed());
        drop(result);
    }
    Timing::of(times)
}

/// Millions of bytes a second.
pub(crate) fn rate(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e6 / time.as_secs_f64().max(1e-12)
}

/// Three digits that count.
pub(crate) fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
