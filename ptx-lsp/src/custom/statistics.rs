//! `ptxkit/statistics`: what functions contain, as `ptxkit stats --json` gives it.

use ptx_report::function_stats::{self, OfFunction};

use super::{About, function};
use crate::document::Document;
use crate::message::Failure;

/// Of one function, or of all that have a body.
pub(super) fn statistics(document: &Document, about: &About) -> Result<Vec<OfFunction>, Failure> {
    let module = document.module();
    let wanted = match about.function {
        Some(_) => Some(function(module, about)?),
        None => None,
    };
    Ok(function_stats::of(module, |id| {
        wanted.is_none_or(|wanted| wanted == id)
    }))
}
