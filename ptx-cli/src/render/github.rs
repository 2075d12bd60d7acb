//! Diagnostics as workflow commands, which GitHub Actions shows as annotations of the source lines.

use ptx_ir::Diagnostic;
use ptx_report::clean;

use super::Report;

impl Report<'_> {
    /// `::error file=a.ptx,line=6,endLine=6,col=5,endColumn=10,title=PTX0104::message`
    pub(crate) fn github(&self, diagnostic: &Diagnostic, note: Option<&str>) -> String {
        let (from, to) = (
            self.lines.position(diagnostic.span.start),
            self.lines.position(diagnostic.span.end),
        );
        let mut text = diagnostic.message.clone();
        for more in diagnostic.help.as_deref().into_iter().chain(note) {
            text.push('\n');
            text.push_str(more);
        }
        format!(
            "::{} file={},line={},endLine={},col={},endColumn={},title={}::{}",
            diagnostic.severity.name(),
            property(self.name),
            from.line,
            to.line,
            from.column,
            to.column,
            diagnostic.code,
            data(&text),
        )
    }
}

/// The text of a command: its lines as one.
fn data(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    lines.join("\n").replace('%', "%25").replace('\n', "%0A")
}

/// The value of a property of a command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
