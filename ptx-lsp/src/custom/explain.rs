//! `ptxkit/explain`: what a word or the code of a diagnostic means.

use crate::explanation;

/// In Markdown; `None` if it means nothing.
pub(super) fn explain(word: &str) -> Option<String> {
    let found = ptx_report::explain::find(word.trim());
    found
        .ok()
        .and_then(|entries| explanation::markdown(&entries))
}
