//! Resolves the results of a form: its computation or its action, and the uniformity of the results.

use crate::bind::{Binder, Owner};
use crate::input::{Error, Result, Word};
use crate::notation as ast;
use crate::notation::Role;
use crate::schema::{Assignment, Computation, ErrorBound, Expr, Form, Operand, Target, TypeExpr};
use crate::vocabulary_rows::{ActionResults, ActionRow, FunctionRow};

/// The name of the carry flag.
const CARRY: &str = "carry";

/// The name of the index of the element of packed types.
const LANE: &str = "lane";

/// The marks of results that are not just a function of the operands.
const UNIFORMITIES: [&str; 4] = ["varying", "warp-uniform", "cta-uniform", "lane-value"];

/// The reason why a computation does not belong to a form.
enum Unbound {
    /// It contains the name of an operand, a slot or a modifier that the form lacks, but another form of the block has.
    NameOfOtherForm,
    Mistake(Error),
}

impl From<Error> for Unbound {
    fn from(error: Error) -> Self {
        Self::Mistake(error)
    }
}

type Bound<T> = std::result::Result<T, Unbound>;

impl Binder<'_> {
    /// The computation of the form: its own line, or the first line of the block that contains no name of another form.
    pub(crate) fn computation(&mut self) -> Result<Option<Computation>> {
        let (form, block) = (self.form, self.block);
        let form_lines = form.body.computations.iter().map(|c| (c, Owner::Form));
        let block_lines = block.body.computations.iter().map(|c| (c, Owner::Block));
        for (computation, owner) in form_lines.chain(block_lines) {
            match self.bind_computation(computation) {
                Ok(bound) => {
                    self.used.rules.insert(computation.pos.clone());
                    return Ok(Some(bound));
                }
                Err(Unbound::NameOfOtherForm) if owner == Owner::Block => {}
                Err(Unbound::NameOfOtherForm) => {
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
                None if self.block_names.contains(name) => return Err(Unbound::NameOfOtherForm),
                None => Target::Local,
            };
            let name = if assignment.to_memory { "" } else { name };
            if !name.is_empty() && names.contains(&name) {
                return Err(mistake(&assignment.target, "is assigned twice"));
            }
            names.push(name);
            assignments.push(Assignment { target, value });
        }
        let accuracy = match &computation.accuracy {
            Some(bounds) => {
                let bounds = bounds.iter().map(|bound| self.error_bound(bound));
                Some(bounds.collect::<Bound<Vec<_>>>()?)
            }
            None => None,
        };
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
        let Some(row) = self.function_row(function) else {
            return Err(mistake(function, "is not a function of functions.isa"));
        };
        let parameters = row.parameters();
        if parameters.len() != arguments.len() {
            let message = format!("takes {} arguments: {}", parameters.len(), row.syntax);
            return Err(mistake(function, &message));
        }
        let mut bound = Vec::new();
        for (parameter, argument) in parameters.iter().zip(arguments) {
            bound.push(match (parameter.as_str(), argument) {
                (".type", ast::Expr::Name(name)) => Expr::Type(self.type_in(name)?),
                (".slot", ast::Expr::Name(name)) => Expr::Slot(self.named_slot(name)?),
                (".operand", ast::Expr::Name(name)) => Expr::Operand(self.named_operand(name)?),
                (".type" | ".slot", _) => {
                    return Err(mistake(function, "takes a slot, not a value"));
                }
                (".operand", _) => {
                    return Err(mistake(function, "takes an operand, not a value"));
                }
                _ => self.expression(argument, assigned)?,
            });
        }
        Ok(Expr::Call(row.name.text.clone(), bound))
    }

    fn function_row(&self, function: &Word) -> Option<&FunctionRow> {
        let name = function.text.replace('_', "-");
        self.vocabulary
            .functions
            .iter()
            .find(|row| row.name.text == name)
    }

    /// The value of a name: an earlier assignment, the carry flag, the index of the element, an operand, or the presence of a modifier.
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
                None => self.named_slot(name).map(Expr::Filled),
            };
        }
        Err(self.unknown(name, "is neither an operand nor assigned before"))
    }

    fn named_operand(&self, name: &Word) -> Bound<usize> {
        (self.operand_id(&name.text))
            .ok_or_else(|| self.unknown(name, "is not an operand of the form"))
    }

    fn named_slot(&self, name: &Word) -> Bound<usize> {
        (self.slot_id(&name.text)).ok_or_else(|| self.unknown(name, "is not a slot of the form"))
    }

    /// The type in a slot, or of an operand.
    fn type_in(&self, name: &Word) -> Bound<TypeExpr> {
        if name.text.starts_with('.') {
            let is_type = self
                .vocabulary
                .types
                .iter()
                .any(|t| t.name.text == name.text);
            return match self.slot_id(&name.text) {
                None if is_type => Ok(self.type_expr(&ast::TypeExpr::Named(name.clone()))?),
                _ => self.named_slot(name).map(TypeExpr::Slot),
            };
        }
        match self.operand_def(&name.text) {
            Some(def) if self.operand_id(&name.text).is_some() => Ok(self.type_expr(&def.ty)?),
            _ => Err(self.unknown(name, "is not an operand of the form")),
        }
    }

    /// The action of the form, or that of the block.
    pub(crate) fn action(&self) -> Result<Option<String>> {
        let form_action = self.form.body.performs.as_ref();
        let Some(name) = form_action.or(self.block.body.performs.as_ref()) else {
            return Ok(None);
        };
        match self.action_row(&name.text) {
            Some(_) => Ok(Some(name.text.clone())),
            None => name.error(format!("{name} is not an action of actions.isa")),
        }
    }

    fn action_row(&self, name: &str) -> Option<&ActionRow> {
        self.vocabulary
            .actions
            .iter()
            .find(|row| row.name.text == name)
    }

    /// Checks that each result has a mark of its uniformity if and only if the action of the form does not determine it.
    pub(crate) fn check_uniformity(&self, form: &Form) -> Result<()> {
        let action = form.performs.as_ref().and_then(|a| self.action_row(a));
        let needs_marks = action.is_some_and(|row| row.results == ActionResults::Stated);
        for (operand, usage) in form.operands.iter().zip(&self.form.operands) {
            let is_result = matches!(operand.role, Role::Def | Role::ReadWrite);
            let needs_mark = needs_marks && is_result;
            if needs_mark == has_uniformity(operand) {
                continue;
            }
            let name = &usage.name;
            return name.error(if needs_mark {
                let marks = UNIFORMITIES.join("`, `");
                format!("the result {name} needs one of the marks `{marks}`")
            } else {
                format!("the action of the form, not {name}, states the uniformity")
            });
        }
        Ok(())
    }

    fn unknown(&self, name: &Word, predicate: &str) -> Unbound {
        if self.block_names.contains(&name.text) {
            Unbound::NameOfOtherForm
        } else {
            mistake(name, predicate)
        }
    }
}

fn has_uniformity(operand: &Operand) -> bool {
    operand
        .marks
        .iter()
        .any(|mark| UNIFORMITIES.contains(&mark.as_str()))
}

fn mistake(name: &Word, predicate: &str) -> Unbound {
    Unbound::Mistake(Error::new(&name.pos, format!("{name} {predicate}")))
}
