//! Conditions: and, or and not over what the slots hold and what kind the operands are.

use super::source::{Cursor, Pos, Result};

#[derive(Clone, Debug)]
pub(crate) enum Cond {
    All(Vec<Cond>),
    Any(Vec<Cond>),
    Not(Box<Cond>),
    /// A slot that is filled, or a word some slot holds.
    Word(String, Pos),
    /// A slot that holds one of some words.
    In(String, Vec<String>, Pos),
    /// An operand of a certain kind.
    Operand(String, Test, Pos),
    InEntry,
    InFunc,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Absent,
    Present,
    Imm,
    Reg,
    Pred,
    Var,
    Sreg,
    Func,
    Sink,
    Neg,
    Not,
    Pair,
    Unified,
    HasDiscard,
    Float,
    Bits,
    Const,
    NotF32Bits,
    Int,
    IntThenFloat,
    Handle,
    Vec(u16),
}

/// The variant of the run-time enum for a test.
pub(crate) fn test_text(test: Test) -> String {
    match test {
        Test::Vec(n) => format!("OperandTest::Vector({n})"),
        Test::Imm => "OperandTest::Immediate".into(),
        Test::Reg => "OperandTest::Register".into(),
        Test::Pred => "OperandTest::Predicate".into(),
        Test::Var => "OperandTest::Variable".into(),
        Test::Sreg => "OperandTest::SpecialRegister".into(),
        Test::Func => "OperandTest::Function".into(),
        Test::Float => "OperandTest::Floating".into(),
        Test::Int => "OperandTest::Integer".into(),
        Test::Const => "OperandTest::Constant".into(),
        Test::Neg => "OperandTest::Negated".into(),
        Test::Not => "OperandTest::Inverted".into(),
        Test::Absent
        | Test::Present
        | Test::Sink
        | Test::Pair
        | Test::Unified
        | Test::HasDiscard
        | Test::Bits
        | Test::NotF32Bits
        | Test::IntThenFloat
        | Test::Handle => {
            format!("OperandTest::{test:?}")
        }
    }
}

const STOP: &[&str] = &["and", "or", "if", "ptx", "is", "in", "warning"];

pub(crate) fn read(c: &mut Cursor) -> Result<Cond> {
    list(c, "or", |c| list(c, "and", unary, Cond::All), Cond::Any)
}

fn list(
    c: &mut Cursor,
    word: &str,
    item: impl Fn(&mut Cursor) -> Result<Cond>,
    join: fn(Vec<Cond>) -> Cond,
) -> Result<Cond> {
    let mut items = vec![item(c)?];
    while c.eat_word(word) {
        items.push(item(c)?);
    }
    Ok(if items.len() == 1 {
        items.remove(0)
    } else {
        join(items)
    })
}

fn unary(c: &mut Cursor) -> Result<Cond> {
    if c.eat_word("not") {
        return Ok(Cond::Not(Box::new(unary(c)?)));
    }
    if c.eat("(") {
        let cond = read(c)?;
        c.expect(")")?;
        return Ok(cond);
    }
    atom(c)
}

pub(crate) fn atom(c: &mut Cursor) -> Result<Cond> {
    c.skip_blanks();
    let pos = c.pos();
    let bracketed = c.eat("[");
    let word = c.word("a slot, a modifier or an operand")?;
    if bracketed {
        c.expect("]")?;
    }
    if word == "in" {
        if c.eat_word("entry") {
            return Ok(Cond::InEntry);
        }
        if c.eat_word("func") {
            return Ok(Cond::InFunc);
        }
        return c.expected("`entry` or `func`");
    }
    if word.starts_with('.') {
        if !(c.eat_word("is") || c.eat_word("in")) {
            return Ok(Cond::Word(word, pos));
        }
        let mut words = Vec::new();
        while c.peek_char() == Some('.') {
            words.push(c.word("a modifier")?);
        }
        if words.is_empty() {
            return c.expected("a modifier");
        }
        return Ok(Cond::In(word, words, pos));
    }
    if !c.eat_word("is") {
        return c.expected("`is`");
    }
    let test = match c.word("what the operand is")?.as_str() {
        "absent" => Test::Absent,
        "present" => Test::Present,
        "imm" => Test::Imm,
        "reg" => Test::Reg,
        "pred" => Test::Pred,
        "var" => Test::Var,
        "sreg" => Test::Sreg,
        "func" => Test::Func,
        "sink" => Test::Sink,
        "neg" => Test::Neg,
        "not" => Test::Not,
        "pair" => Test::Pair,
        "unified" => Test::Unified,
        "partial" => Test::HasDiscard,
        "float" => Test::Float,
        "bits" => Test::Bits,
        "const" => Test::Const,
        "double" => Test::NotF32Bits,
        "int" => Test::Int,
        "mixed" => Test::IntThenFloat,
        "handle" => Test::Handle,
        "vec" => Test::Vec(c.number("a number of elements")?),
        _ => return c.error("expected absent, present, imm, reg, pred, var, sreg, func, sink, neg, not, pair, unified, partial, float, bits, const, double, int, mixed, handle or vec N before this"),
    };
    Ok(Cond::Operand(word, test, pos))
}

/// A condition in which words side by side stand for "one of": `.tile::gather4 .im2col::w`.
pub(crate) fn tokens_or(c: &mut Cursor) -> Result<Cond> {
    let mut items = vec![read(c)?];
    loop {
        let word = c.peek_word();
        let more = c.peek_char() == Some('(') || word == "not" || word.starts_with('.');
        if !more || STOP.contains(&word.as_str()) {
            break;
        }
        items.push(read(c)?);
    }
    Ok(if items.len() == 1 {
        items.remove(0)
    } else {
        Cond::Any(items)
    })
}
