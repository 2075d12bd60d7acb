//! The header of a module: `.version`, `.target` and `.address_size`.

use alloc::boxed::Box;
use alloc::string::String;
use ptx_ir::lex::{Lexer, TokenKind};
use ptx_ir::raw::RawModule;
use ptx_ir::{Applicability, Code, Diagnostic, DirectiveStmt, Operand, Severity, Span};
use ptx_isa::{Directive, PtxVersion, Target, TargetOption};

use crate::header_state::HeaderPart;
use crate::parser::Parser;
use crate::record::{Cause, Record};
use crate::statement_extent::line_end;

impl Parser<'_> {
    /// Reports the directive of the header that is missing before `offset`.
    #[cold]
    pub(crate) fn missing_header(&mut self, offset: usize) {
        let (code, directive, value, part) = match self.header.state {
            HeaderPart::Empty => (
                Code::MissingVersion,
                Directive::Version,
                format!("{}", self.likely_version(offset)),
                HeaderPart::Version,
            ),
            _ => (
                Code::MissingTarget,
                Directive::Target,
                format!("{}", self.likely_target()),
                HeaderPart::Target,
            ),
        };
        let len = self.cursor.src.len();
        let end = if offset < len {
            self.cursor.token_end().max(offset + 1).min(len)
        } else {
            offset
        };
        let message = if offset < len {
            format!("expected `{directive}` before this")
        } else {
            format!("expected `{directive}`, found the end of the text")
        };
        let help =
            format!("a module begins with `.version`, then `.target`: add `{directive} {value}`");
        let line = format!("{directive} {value}\n");
        self.report(
            Diagnostic::error(code, Span::at(offset, end), message)
                .with_help(help)
                .with_fix(Span::at(offset, offset), line)
                .with_applicability(Applicability::HasPlaceholders),
        );
        // The rest of the header is checked as if the directive were there.
        self.header.state = part;
        self.header.reported = true;
    }

    /// A version to add before the directive at `offset`: a common one, or a later one if the target needs it. Requirements of
    /// the rest of the module are reported once there is a version.
    fn likely_version(&self, offset: usize) -> PtxVersion {
        let text = self.cursor.src.get(offset..).unwrap_or_default();
        let mut words = Lexer::fragment(text)
            .filter(|t| !t.kind.is_trivia())
            .map(|t| t.span.of(text));
        let directive = words.next().and_then(Directive::from_text);
        let target = words
            .next()
            .filter(|_| directive == Some(Directive::Target))
            .and_then(Target::from_text);
        let common = PtxVersion::new(8, 0);
        target.map_or(common, |t| t.min_version().max(common))
    }

    /// A target to add: the oldest one that current toolkits compile for, or an older one if the version does not have it.
    fn likely_target(&self) -> Target {
        let version = self.out.module.header().version;
        Target::ALL
            .iter()
            .copied()
            .filter(|target| target.number() <= Target::Sm75.number())
            .filter(|target| version.is_none_or(|v| target.min_version() <= v))
            .max_by_key(|target| target.number())
            .unwrap_or(Target::Sm75)
    }

    /// Checks the arguments of a header directive, and records them in the header of the module.
    pub(crate) fn header_directive(&mut self, stmt: DirectiveStmt, start: usize) {
        match stmt.directive {
            Directive::Version => self.version(stmt, start),
            Directive::Target => self.target(stmt, start),
            _ => self.address_size(stmt, start),
        }
    }

    /// Checks that a header directive is where it belongs.
    pub(crate) fn check_header_order(&mut self, directive: Directive, start: usize) {
        let part = match directive {
            Directive::Version => HeaderPart::Version,
            Directive::Target => HeaderPart::Target,
            _ => HeaderPart::AddressSize,
        };
        let state = self.header.state;
        if part as u8 > state as u8 + 1 {
            if !self.header.reported {
                self.missing_header(start);
                // ptxas reports a missing `.version` after the `.target` directives.
                if part == HeaderPart::Target {
                    let offset = self.after_targets();
                    let last = self.reporter.count() - 1;
                    self.reporter.repeat(last, Span::at(offset, offset));
                }
            }
            self.header.state = self.header.state.max(part);
            return;
        }
        // A `.target` can be repeated right after the first.
        let repeats_target = part == HeaderPart::Target && state == HeaderPart::Target;
        if part <= state && !repeats_target && !self.header.reported {
            let message = format!("expected `{directive}` once, before everything that follows it");
            let span = Span::at(start, self.cursor.last);
            let error = Diagnostic::error(Code::MisplacedHeader, span, message);
            self.report(error.with_help(
                "a module begins with `.version`, `.target` and `.address_size`, in this order",
            ));
        }
        self.header.state = self.header.state.max(part);
    }

    /// The offset of the token after the `.target` directives that begin or end at the cursor.
    #[cold]
    fn after_targets(&self) -> usize {
        let following = &self.cursor.src[self.cursor.pos..];
        let next_token = Lexer::fragment(following).find(|t| {
            let text = t.span.of(following);
            let is_target = Directive::from_text(text) == Some(Directive::Target);
            !(t.kind.is_trivia() || t.kind == TokenKind::Ident || text == b"," || is_target)
        });
        next_token.map_or(self.cursor.src.len(), |t| {
            self.cursor.pos + t.span.start as usize
        })
    }

    fn version(&mut self, stmt: DirectiveStmt, start: usize) {
        let number = |i| match self.out.module.pool().get(stmt.args.at(i)) {
            Operand::Small(n) => u8::try_from(n).unwrap_or(u8::MAX),
            _ => u8::MAX,
        };
        let version = PtxVersion::new(number(0), number(1));
        if version.is_newer() || version.is_known() {
            let header = self.out.module.header_mut();
            header.version.get_or_insert(version);
        }
        let span = Span::at(start, self.cursor.last);
        let version_text = String::from_utf8_lossy(span.of(self.cursor.src)).into_owned();
        let newest = PtxVersion::CURRENT;
        if version.is_newer() {
            self.header.unknown = Severity::Warning;
            let message =
                format!("expected PTX {newest} or older, found the newer `{version_text}`");
            let diagnostic = Diagnostic::warning(Code::NewerVersion, span, message);
            self.report(diagnostic.with_help("unknown keywords are warnings under this version"));
        } else if !version.is_known() {
            let message = format!("expected an existing PTX version, found `{version_text}`");
            let diagnostic = Diagnostic::error(Code::UnknownVersion, span, message);
            let toolkit = format!("CUDA {}.{}", version.major, version.minor);
            let releases = || PtxVersion::KNOWN.iter().copied();
            let toolkit_version = releases().find(|v| v.toolkit() == Some(&toolkit));
            let next = || releases().find(|v| *v > version).unwrap_or(newest);
            let note = match toolkit_version {
                Some(version) => format!("{toolkit} has PTX {version}"),
                None => format!("for example {}", next()),
            };
            let help = format!("the newest known version is {newest}; {note}");
            let likely = toolkit_version.unwrap_or_else(next);
            let text = format!("{} {likely}", Directive::Version);
            self.report(diagnostic.with_help(help).with_fix(span, text));
        }
    }

    fn target(&mut self, stmt: DirectiveStmt, start: usize) {
        for i in 0..stmt.args.len() as u32 {
            let Operand::Name(name) = self.out.module.pool().get(stmt.args.at(i)) else {
                continue;
            };
            let text = self.out.module.name(name);
            if let Some(target) = Target::from_text(text.as_bytes()) {
                let header = self.out.module.header_mut();
                // The last target counts, also if there are several directives.
                if self.header.state == HeaderPart::Target || header.target.is_none() {
                    header.target = Some(target);
                }
            } else if TargetOption::from_text(text.as_bytes()).is_none() {
                let offset = self.cursor.src[start..self.cursor.last]
                    .windows(text.len())
                    .position(|window| window == text.as_bytes())
                    .map_or(start, |i| start + i);
                let mut record = self.unknown_target(offset);
                record.error.severity = self.header.unknown;
                self.report(record);
            }
        }
    }

    /// The error of the word at `offset`, which is not a target.
    #[cold]
    pub(crate) fn unknown_target(&self, offset: usize) -> Record {
        let line = &self.cursor.src[offset..line_end(self.cursor.src, offset)];
        let len = line.iter().position(|b| b" \t\r,/;".contains(b));
        let end = offset + len.unwrap_or(line.len());
        let text = String::from_utf8_lossy(&self.cursor.src[offset..end]);
        let message = format!("expected a target or a target option, found `{text}`");
        let span = Span::at(offset, end);
        let error = Diagnostic::error(Code::UnknownTarget, span, message).with_help(
            "targets are `sm_75`, `sm_90a`, `sm_100f` and others; options are `texmode_unified`, `texmode_independent`, `debug`, `map_f64_to_f32`",
        );
        Record::new(error, Cause::UnknownTarget)
    }

    /// The error of an address size that is not a number.
    #[cold]
    pub(crate) fn wrong_address_size(&self, mut record: Record) -> Box<Record> {
        let word = String::from_utf8_lossy(record.error.span.of(self.cursor.src));
        record.error.message = format!("expected an address size of 32 or 64, found `{word}`");
        let (start, span) = (self.cursor.last as u32, record.error.span);
        let gap = Span::new(start.min(span.start), span.start);
        // The word may begin the next item.
        let directive = Directive::from_text(word.as_bytes());
        let is_next = directive.is_some() || gap.of(self.cursor.src).contains(&b'\n');
        if word.as_bytes() == Directive::AddressSize.text().as_bytes() {
            let help = format!("remove the second `{word}`");
            return Box::new(record.with_help(help).with_fix(span, ""));
        }
        let (edited, text) = if is_next {
            (Span::new(start, start), " 64")
        } else {
            (span, "64")
        };
        Box::new(
            record
                .with_help("write `32` or `64`")
                .with_fix(edited, text)
                .with_applicability(Applicability::HasPlaceholders),
        )
    }

    fn address_size(&mut self, stmt: DirectiveStmt, start: usize) {
        let pool = self.out.module.pool();
        match pool.integer(pool.get(stmt.args.at(0))) {
            Some(n @ (32 | 64)) => {
                let header = self.out.module.header_mut();
                header.address_size.get_or_insert(n as u8);
            }
            _ => {
                let end = self.cursor.last;
                let directive_text = String::from_utf8_lossy(&self.cursor.src[start..end]);
                let message =
                    format!("expected an address size of 32 or 64, found `{directive_text}`");
                let error = self.cursor.error(Code::BadAddressSize, start, end, message);
                let text = format!("{} 64", Directive::AddressSize);
                let help = format!("write `{text}`");
                self.report(error.with_help(help).with_fix(Span::at(start, end), text));
            }
        }
    }
}
