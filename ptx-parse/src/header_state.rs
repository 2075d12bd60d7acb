//! The part of the header that was parsed last.

use ptx_ir::Severity;

/// The last part of the header that was parsed; the parts come in this order.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HeaderPart {
    Empty,
    Version,
    Target,
    AddressSize,
    Closed,
}

pub(crate) struct HeaderState {
    pub(crate) state: HeaderPart,
    /// Whether a missing directive of the header has been reported.
    pub(crate) reported: bool,
    /// The severity of unknown keywords: warnings under versions newer than the newest supported one.
    pub(crate) unknown: Severity,
}

impl Default for HeaderState {
    fn default() -> Self {
        Self {
            state: HeaderPart::Empty,
            reported: false,
            unknown: Severity::Error,
        }
    }
}
