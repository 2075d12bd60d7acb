//! Resolves what a form computes: names of operands, slots, modifiers, functions and of earlier assignments.

use crate::bind::{Binder, Owner};
use crate::input::{Error, Result, Word};
use crate::notation as ast;
use crate::schema::{Assignment, Computation, ErrorBound, Expr, Target, TypeExpr};

/// The name of the carry flag.
const CARRY: &str = "carry";

/// The name of the index of the element of packed types.
const LANE: &str = "lane";

/// Why a computation does not belong to a form.
enum Unbound {
    /// It names an operand, a slot or a modifier that the form lacks, but another form of the block has.
    Elsewhere,
    Mistake(Error),
}

impl From<Error> for Unbound {
    fn from(error: Error) -> Self {
        Self::Mistake(error)
    }
}

type Bound<T> = std::result::Result<T, Unbound>;

impl Binder<'_> {
    /// What the form computes: its own line, or the first line of the block that names only what the form has.
    pub(crate) fn computation(&mut self) -> Result<Option<Computation>> {
        let (form, block) = (self.form, self.block);
        let own = form.body.computations.iter().map(|c| (c, false));
        let shared = block.body.computations.iter().map(|c| (c, true));
        for (computation, of_block) in own.chain(shared) {
            match self.bind_computation(computation) {
                Ok(bound) => {
                    self.used.rules.insert(computation.pos.clone());
                    return Ok(Some(bound));
                }
                Err(Unbound::Elsewhere) if of_block => {}
                Err(Unbound::Elsewhere) => {
                    let message = "it names what this form does not have";
                    return Err(Error::new(&computation.pos, message));
                }
                Err(Unbound::Mistake(error)) => return Err(error),
            }
        }
        Ok(None)
    }

    fn bind_computation(&mut self, computation: &ast::Computation) -> Bound<Computation> {
        let mut names: Vec<&str> = Vec::new();
        let mut assignments = Vec::new();
        for assignment in &computation.assignments {
            let value = self.expression(&assignment.value, &names)?;
            let name = assignment.target.text.as_str();
            let target = match self.operand_id(name) {
                _ if assignment.to_memory => {
                    Target::Memory(self.named_operand(&assignment.target)?)
                }
                _ if name == CARRY => Target::Carry,
                _ if name == LANE => {
                    return Err(mistake(&assignment.target, "cannot be assigned"));
                }
                Some(operand) => Target::Operand(operand),
                None if self.block_names.contains(name) => return Err(Unbound::Elsewhere),
                None => Target::Local,
            };
            let name = if assignment.to_memory { "" } else { name };
            if !name.is_empty() && names.contains(&name) {
                return Err(mistake(&assignment.target, "is assigned twice"));
            }
            names.push(name);
            assignments.push(Assignment { target, value });
        }
        let bounds = computation.accuracy.iter();
        let bounds = bounds.map(|list| list.iter().map(|b| self.error_bound(b)).collect());
        let accuracy = bounds.collect::<Bound<Vec<_>>>()?.pop();
        Ok(Computation {
            text: computation.text.clone(),
            assignments,
            accuracy,
        })
    }

    fn error_bound(&mut self, bound: &ast::ErrorBound) -> Bound<ErrorBound> {
        let range = match &bound.range {
            Some(range) => Some((self.named_operand(&range.operand)?, range.low, range.high)),
            None => None,
        };
        Ok(ErrorBound {
            limit: bound.limit,
            when: self.when(bound.when.as_ref(), Owner::Form)?,
            range,
        })
    }

    fn expression(&self, expr: &ast::Expr, assigned: &[&str]) -> Bound<Expr> {
        Ok(match expr {
            ast::Expr::Integer(value) => Expr::Integer(*value),
            ast::Expr::Undefined => Expr::Undefined,
            ast::Expr::Name(name) => self.value(name, assigned)?,
            ast::Expr::Memory(name) => Expr::Memory(self.named_operand(name)?),
            ast::Expr::If(parts) => {
                let [when, then, otherwise] = &**parts;
                Expr::If(Box::new([
                    self.expression(when, assigned)?,
                    self.expression(then, assigned)?,
                    self.expression(otherwise, assigned)?,
                ]))
            }
            ast::Expr::Call(function, arguments) => self.call(function, arguments, assigned)?,
        })
    }

    fn call(&self, function: &Word, arguments: &[ast::Expr], assigned: &[&str]) -> Bound<Expr> {
        let functions = &self.vocabulary.functions;
        let spelled = |row: &&crate::vocabulary::FunctionRow| {
            row.name.text == function.text.replace('_', "-")
        };
        let Some(row) = functions.iter().find(spelled) else {
            return Err(mistake(function, "is not a function of functions.isa"));
        };
        let parameters = row.parameters();
        if parameters.len() != arguments.len() {
            let message = format!("takes {} arguments: {}", parameters.len(), row.syntax);
            return Err(mistake(function, &message));
        }
        let pairs = parameters.iter().zip(arguments);
        let arguments = pairs.map(
            |(parameter, argument)| match (parameter.as_str(), argument) {
                (".type", ast::Expr::Name(name)) => self.type_of(name).map(Expr::Type),
                (".slot", ast::Expr::Name(name)) => self.slot_of(name).map(Expr::Slot),
                (".operand", ast::Expr::Name(name)) => self.named_operand(name).map(Expr::Operand),
                (".type" | ".slot", _) => Err(mistake(function, "takes a slot, not a value")),
                (".operand", _) => Err(mistake(function, "takes an operand, not a value")),
                _ => self.expression(argument, assigned),
            },
        );
        Ok(Expr::Call(
            row.name.text.clone(),
            arguments.collect::<Bound<_>>()?,
        ))
    }

    /// An earlier assignment, the carry flag, the index of the element, an operand, or whether a modifier is there.
    fn value(&self, name: &Word, assigned: &[&str]) -> Bound<Expr> {
        if let Some(index) = assigned.iter().position(|n| *n == name.text) {
            return Ok(Expr::Assigned(index));
        }
        if name.text == CARRY {
            return Ok(Expr::Carry);
        }
        if name.text == LANE {
            return Ok(Expr::Lane);
        }
        if let Some(operand) = self.operand_id(&name.text) {
            return Ok(Expr::Operand(operand));
        }
        if name.text.starts_with('.') {
            return match self.vocabulary.modifier_id(&name.text) {
                Some(modifier) => Ok(Expr::Has(modifier)),
                None => self.slot_of(name).map(Expr::Filled),
            };
        }
        Err(self.unknown(name, "is neither an operand nor assigned before"))
    }

    fn named_operand(&self, name: &Word) -> Bound<usize> {
        (self.operand_id(&name.text))
            .ok_or_else(|| self.unknown(name, "is not an operand of the form"))
    }

    fn slot_of(&self, name: &Word) -> Bound<usize> {
        (self.slot_id(&name.text)).ok_or_else(|| self.unknown(name, "is not a slot of the form"))
    }

    /// The type in a slot, or of an operand.
    fn type_of(&self, name: &Word) -> Bound<TypeExpr> {
        if name.text.starts_with('.') {
            let fixed = self
                .vocabulary
                .types
                .iter()
                .any(|t| t.name.text == name.text);
            return match self.slot_id(&name.text) {
                None if fixed => Ok(self.type_expr(&ast::TypeExpr::Named(name.clone()))?),
                _ => self.slot_of(name).map(TypeExpr::Slot),
            };
        }
        let (form, block) = (self.form, self.block);
        let mut defs = form.body.operands.iter().chain(&block.body.operands);
        match defs.find(|d| d.name.text == name.text) {
            Some(def) if self.operand_id(&name.text).is_some() => Ok(self.type_expr(&def.ty)?),
            _ => Err(self.unknown(name, "is not an operand of the form")),
        }
    }

    fn unknown(&self, name: &Word, what: &str) -> Unbound {
        if self.block_names.contains(&name.text) {
            Unbound::Elsewhere
        } else {
            mistake(name, what)
        }
    }
}

fn mistake(name: &Word, what: &str) -> Unbound {
    Unbound::Mistake(Error::new(&name.pos, format!("{name} {what}")))
}
