//! Affine forms and trip counts as text.

use std::fmt::Write as _;

use ptx_analysis::memory_access::Provenance;
use ptx_analysis::ssa::{Ssa, Value};
use ptx_analysis::values::{
    Affine, AffineSymbol, AffineSymbolId, Count, TripCount, Values, VariableRef,
};
use ptx_ir::{Body, EntityId, Module, VarId};

use crate::register_names::RegisterNames;

/// Writes the affine forms of a function, with the names of its registers and variables.
#[derive(Debug)]
pub struct AffineText<'a> {
    module: &'a Module,
    body: &'a Body,
    values: &'a Values,
    ssa: &'a Ssa,
    names: &'a RegisterNames,
}

impl<'a> AffineText<'a> {
    /// Creates a writer for the function with this body and these values.
    #[must_use]
    pub const fn new(
        module: &'a Module,
        body: &'a Body,
        values: &'a Values,
        ssa: &'a Ssa,
        names: &'a RegisterNames,
    ) -> Self {
        Self {
            module,
            body,
            values,
            ssa,
            names,
        }
    }

    /// The text of a form: `p + 4*%tid.x + 16`.
    #[must_use]
    pub fn form(&self, form: &Affine) -> String {
        let mut text = String::new();
        for term in form.terms() {
            let name = self.symbol(term.symbol);
            let sign = if term.factor < 0 { "-" } else { "+" };
            if !text.is_empty() {
                let _ = write!(text, " {sign} ");
            } else if term.factor < 0 {
                text.push('-');
            }
            match term.factor.unsigned_abs() {
                1 => text += &name,
                factor => {
                    let _ = write!(text, "{factor}*{name}");
                }
            }
        }
        let constant = form.constant();
        if text.is_empty() {
            text = constant.to_string();
        } else if constant != 0 {
            let sign = if constant < 0 { '-' } else { '+' };
            let _ = write!(text, " {sign} {}", constant.unsigned_abs());
        }
        text
    }

    /// The text of a trip count: `10`, `max(1, n/32)`, or `1 + max(0, (n - %tid.x)/256)`, where quotients are rounded up.
    #[must_use]
    pub fn trip_count(&self, count: &TripCount) -> String {
        if let Some(count) = count.most_without_wrap() {
            return count.to_string();
        }
        let Count::Affine(distance) = &count.count else {
            return String::new();
        };
        let (low, high) = if distance.step > 0 {
            (&distance.start, &distance.bound)
        } else {
            (&distance.bound, &distance.start)
        };
        let step = distance.step.unsigned_abs();
        let inclusive = Affine::number(distance.inclusive.into());
        let length = low
            .multiple(-1, 64)
            .and_then(|negative| high.plus(&negative, 64)?.plus(&inclusive, 64));
        let Some(length) = length else {
            // It has too many symbols.
            let one = if distance.inclusive { " + 1" } else { "" };
            let text = format!("{} - ({}){one}", self.form(high), self.form(low));
            return format!("1 + max(0, {})", quotient(text, step));
        };
        // 1 + ⌈(x - step)/step⌉ = ⌈x/step⌉.
        let longer = i64::try_from(step)
            .ok()
            .filter(|_| length.constant() < 0)
            .and_then(|step| length.plus(&Affine::number(step), 64));
        match longer {
            Some(longer) => format!("max(1, {})", quotient(self.form(&longer), step)),
            None => format!("1 + max(0, {})", quotient(self.form(&length), step)),
        }
    }

    /// The object that an address points into: `*p` for the object that the parameter `p` points to, `s` for a variable, and `allocation@12` for the
    /// allocation of the statement at this index.
    #[must_use]
    pub fn object(&self, object: Provenance) -> String {
        match object {
            Provenance::Parameter {
                variable,
                offset: 0,
            } => format!("*{}", self.variable(variable)),
            Provenance::Parameter { variable, offset } => {
                format!("*{}[{offset}]", self.variable(variable))
            }
            Provenance::Variable(VariableRef::Local(variable)) => self.variable(variable),
            Provenance::Variable(VariableRef::Module(symbol)) => {
                let symbol = self.module.symbols().get(symbol);
                let name = symbol.map(|s| self.numbered(s.name, s.number));
                name.unwrap_or_default()
            }
            Provenance::Allocation(stmt) => format!("allocation@{}", stmt.index()),
            _ => String::new(),
        }
    }

    fn variable(&self, variable: VarId) -> String {
        let variable = self.body.vars().get(variable);
        variable.map_or(String::new(), |v| self.numbered(v.name, v.number))
    }

    fn numbered(&self, name: ptx_ir::NameId, number: Option<u32>) -> String {
        let number = number.map_or(String::new(), |n| n.to_string());
        format!("{}{number}", self.module.name(name))
    }

    /// The name of a symbol.
    fn symbol(&self, id: AffineSymbolId) -> String {
        match self.values.symbol(id) {
            Some(AffineSymbol::Special(register, component)) => {
                let components: &[&str] = if register.is_vector() {
                    &[".x", ".y", ".z", ".w"]
                } else {
                    &[]
                };
                let component = components.get(usize::from(component));
                format!("{register}{}", component.unwrap_or(&""))
            }
            Some(AffineSymbol::Parameter {
                variable, offset, ..
            }) => match offset {
                0 => self.variable(variable),
                offset => format!("{}[{offset}]", self.variable(variable)),
            },
            Some(AffineSymbol::Variable(VariableRef::Module(symbol))) => {
                let symbol = self.module.symbols().get(symbol);
                let name = symbol.map(|s| self.numbered(s.name, s.number));
                format!("&{}", name.unwrap_or_default())
            }
            Some(AffineSymbol::Variable(VariableRef::Local(variable))) => {
                format!("&{}", self.variable(variable))
            }
            Some(AffineSymbol::Window(space)) => format!("generic({space})"),
            Some(AffineSymbol::Counter(id)) => format!("loop{}", id.as_u32()),
            Some(AffineSymbol::Product(a, b)) => format!("{}*{}", self.symbol(a), self.symbol(b)),
            Some(AffineSymbol::Value { value, signed }) => {
                let variable = self.ssa.variable(value);
                let name = variable.map_or("", |v| self.names.get(v));
                let sign = if signed { "signed " } else { "" };
                match self.ssa.value(value) {
                    // The value is written by the statement at this index.
                    Value::Def { stmt, .. } => format!("({sign}{name}@{})", stmt.index()),
                    _ => format!("({sign}{name}#{})", value.as_u32()),
                }
            }
            _ => String::from("?"),
        }
    }
}

/// A sum that is divided by a number.
fn quotient(sum: String, divisor: u64) -> String {
    match divisor {
        1 => sum,
        _ if sum.contains(' ') => format!("({sum})/{divisor}"),
        _ => format!("{sum}/{divisor}"),
    }
}
