//! Functions, declarations, directives and sections.

use anyhow::Result;
use ptx_ir::{
    Attribute, DeclId, Declarations, Declarator, DirectiveStmt, EntityId as _, FuncId, Interface,
    Item, Linkage, Operand, Param, Section, SectionEntry, Span, TableRange, TypeName,
};

use super::operand::Pool;
use super::writer::Writer;
use ptx_report::demangle::demangle;
use ptx_report::json_text::{comma, flag, number, optional, raw, signed, string, word};
use ptx_report::labels;

/// A word without its dot.
fn plain(text: &str) -> &str {
    text.trim_start_matches('.')
}

impl<'a> Writer<'a> {
    /// The operands outside of functions.
    fn module_pool(&self) -> Pool<'a> {
        Pool {
            pool: self.module.pool(),
            body: None,
        }
    }

    /// An item that is not one of the functions with a body.
    pub(super) fn item(&mut self, item: Item, span: Span) -> Result<()> {
        let (module, pool) = (self.module, self.module_pool());
        self.begin(match item {
            Item::Directive(_) => "directive",
            Item::Decl(_) => "declaration",
            Item::Section(_) => "section",
            _ => "unrecognized",
        });
        raw(&mut self.out, ",\"function\":null");
        self.span(span);
        match item {
            Item::Directive(id) => {
                if let Some(directive) = module.directives().get(id) {
                    self.directive(",\"directive\":", pool, directive);
                }
            }
            Item::Decl(id) => self.declaration(pool, module.declarations(), id),
            Item::Section(id) => {
                if let Some(section) = module.sections().get(id) {
                    self.section(section);
                }
            }
            _ => self.text(span),
        }
        self.end()
    }

    /// The text of a statement that was not recognized.
    pub(super) fn text(&mut self, span: Span) {
        raw(&mut self.out, ",\"text\":");
        let text = String::from_utf8_lossy(span.of(self.module.source()));
        string(&mut self.out, &text);
    }

    /// The beginning of the record of a function.
    pub(super) fn function(&mut self, id: FuncId, span: Span, inside: Option<FuncId>) {
        let module = self.module;
        let Some(function) = module.functions().get(id) else {
            return;
        };
        self.begin("function");
        match inside {
            Some(outer) => self.in_function(outer),
            None => raw(&mut self.out, ",\"function\":null"),
        }
        self.span(span);
        raw(&mut self.out, ",\"id\":");
        number(&mut self.out, id.index() as u32);
        let name = module.name(function.name);
        raw(&mut self.out, ",\"name\":");
        string(&mut self.out, name);
        raw(&mut self.out, ",\"demangled\":");
        optional(&mut self.out, demangle(name).as_deref());
        raw(&mut self.out, ",\"kind\":");
        word(&mut self.out, labels::kind(function.kind));
        let body = module.body(id);
        raw(&mut self.out, ",\"defined\":");
        flag(&mut self.out, body.is_some());
        self.linkage(function.linkage);
        self.attributes(function.attributes.of(&module.declarations().attributes));
        self.interface(&function.interface);
        if function.raw_header {
            let end = body.map_or(span.end, |body| body.base());
            self.text(Span::new(span.start, end));
        } else {
            raw(&mut self.out, ",\"text\":null");
        }
    }

    /// The fields `results`, `params` and `directives`.
    pub(super) fn interface(&mut self, interface: &Interface) {
        let pool = self.module_pool();
        raw(&mut self.out, ",\"results\":");
        self.params(interface.has_returns, interface.returns);
        raw(&mut self.out, ",\"params\":");
        self.params(interface.has_params, interface.params);
        raw(&mut self.out, ",\"directives\":[");
        let mut first = true;
        for directive in interface.directives.of(self.module.interface_directives()) {
            comma(&mut self.out, &mut first);
            self.directive("{\"directive\":", pool, directive);
            self.out.push(b'}');
        }
        self.out.push(b']');
    }

    /// A list of parameters; `null` if it is not written.
    fn params(&mut self, is_written: bool, range: TableRange) {
        if !is_written {
            return raw(&mut self.out, "null");
        }
        self.out.push(b'[');
        let mut first = true;
        for param in range.of(self.module.params()) {
            comma(&mut self.out, &mut first);
            self.param(param);
        }
        self.out.push(b']');
    }

    fn param(&mut self, param: &Param) {
        let (module, pool) = (self.module, self.module_pool());
        raw(&mut self.out, "{\"name\":");
        optional(&mut self.out, param.name.map(|name| module.name(name)));
        raw(&mut self.out, ",\"space\":");
        word(&mut self.out, plain(param.space.text()));
        let mut out = std::mem::take(&mut self.out);
        self.type_name(param.ty, param.vector, &mut out);
        self.out = out;
        self.field(",\"align\":", pool, param.align);
        self.field(",\"trailing_align\":", pool, param.trailing_align);
        raw(&mut self.out, ",\"hidden\":");
        raw(&mut self.out, if param.hidden { "true" } else { "false" });
        raw(&mut self.out, ",\"ptr\":");
        match param.ptr {
            Some(pointer) => {
                let space = pointer.space.map(|s| plain(s.text()));
                let opaque = pointer.opaque.map(|t| plain(t.text()));
                raw(&mut self.out, "{\"space\":");
                optional(&mut self.out, space.or(opaque));
                self.field(",\"align\":", pool, pointer.align);
                self.out.push(b'}');
            }
            None => raw(&mut self.out, "null"),
        }
        raw(&mut self.out, ",\"dims\":");
        self.operands(pool, pool.pool.slice(param.dims));
        self.out.push(b'}');
    }

    /// A key with an operand, or `null`.
    fn field(&mut self, key: &str, pool: Pool<'a>, operand: Operand) {
        raw(&mut self.out, key);
        self.operand(pool, operand);
    }

    /// The fields `directive`, after its key, and `arguments`.
    pub(super) fn directive(&mut self, key: &str, pool: Pool<'a>, directive: &DirectiveStmt) {
        raw(&mut self.out, key);
        word(&mut self.out, plain(directive.directive.text()));
        raw(&mut self.out, ",\"arguments\":");
        self.operands(pool, pool.pool.slice(directive.args));
    }

    fn linkage(&mut self, linkage: Option<Linkage>) {
        raw(&mut self.out, ",\"linkage\":");
        optional(&mut self.out, linkage.map(|l| plain(l.directive().text())));
    }

    fn attributes(&mut self, attributes: &[Attribute]) {
        let pool = self.module_pool();
        raw(&mut self.out, ",\"attributes\":[");
        let mut first = true;
        for attribute in attributes {
            comma(&mut self.out, &mut first);
            let (name, arguments) = match attribute {
                Attribute::Managed => ("managed", None),
                Attribute::Unified(a, b) => ("unified", Some([*a, *b])),
                Attribute::Unknown(name) => (plain(self.module.name(*name)), None),
                _ => ("", None),
            };
            raw(&mut self.out, "{\"name\":");
            string(&mut self.out, name);
            raw(&mut self.out, ",\"arguments\":[");
            let mut first = true;
            for argument in arguments.into_iter().flatten() {
                comma(&mut self.out, &mut first);
                self.operand(pool, argument);
            }
            raw(&mut self.out, "]}");
        }
        self.out.push(b']');
    }

    /// The fields `type` and `vector`.
    pub(super) fn type_name(&self, ty: TypeName, vector: u8, out: &mut Vec<u8>) {
        raw(out, ",\"type\":");
        match ty {
            TypeName::Known(ty) => word(out, plain(ty.text())),
            TypeName::Unknown(name) => string(out, plain(self.module.name(name))),
        }
        raw(out, ",\"vector\":");
        number(out, vector.into());
    }

    pub(super) fn declaration(&mut self, pool: Pool<'a>, tables: &'a Declarations, id: DeclId) {
        let Some(decl) = tables.decls.get(id) else {
            return;
        };
        self.linkage(decl.linkage);
        raw(&mut self.out, ",\"space\":");
        word(&mut self.out, plain(decl.space.text()));
        self.field(",\"bank\":", pool, decl.bank);
        self.attributes(decl.attributes.of(&tables.attributes));
        self.field(",\"align\":", pool, decl.align);
        let mut out = std::mem::take(&mut self.out);
        self.type_name(decl.ty, decl.vector, &mut out);
        self.out = out;
        raw(&mut self.out, ",\"names\":[");
        let mut first = true;
        for declarator in tables.declarators(id) {
            comma(&mut self.out, &mut first);
            self.declarator(pool, declarator);
        }
        self.out.push(b']');
    }

    fn declarator(&mut self, pool: Pool<'a>, declarator: &Declarator) {
        raw(&mut self.out, "{\"name\":");
        string(&mut self.out, self.module.name(declarator.name));
        self.field(",\"count\":", pool, declarator.count);
        raw(&mut self.out, ",\"dims\":");
        self.operands(pool, pool.pool.slice(declarator.dims));
        self.field(",\"initializer\":", pool, declarator.init);
        self.out.push(b'}');
    }

    fn section(&mut self, section: &'a Section) {
        let (module, pool) = (self.module, self.module_pool());
        raw(&mut self.out, ",\"name\":");
        string(&mut self.out, module.name(section.name));
        raw(&mut self.out, ",\"entries\":[");
        let mut first = true;
        // Whether a list of data is not closed.
        let mut open = false;
        for entry in &section.entries {
            let starts = match *entry {
                SectionEntry::Int { ty, first, .. } | SectionEntry::Other { ty, first, .. } => {
                    first.then_some(ty)
                }
                _ => None,
            };
            let label = matches!(entry, SectionEntry::Label(_));
            if open && (label || starts.is_some()) {
                raw(&mut self.out, "]}");
                open = false;
            }
            if label || starts.is_some() {
                comma(&mut self.out, &mut first);
            } else {
                self.out.push(b',');
            }
            if let Some(ty) = starts {
                raw(&mut self.out, "{\"type\":");
                word(&mut self.out, plain(ty.text()));
                raw(&mut self.out, ",\"values\":[");
                open = true;
            }
            match *entry {
                SectionEntry::Label(name) => {
                    raw(&mut self.out, "{\"label\":");
                    string(&mut self.out, module.name(name));
                    self.out.push(b'}');
                }
                SectionEntry::Int { value, .. } => signed(&mut self.out, value),
                SectionEntry::Other { value, .. } => self.operand(pool, pool.pool.get(value)),
                _ => {}
            }
            self.flush_part();
        }
        if open {
            raw(&mut self.out, "]}");
        }
        self.out.push(b']');
    }
}
