//! Random constant expressions as trees, their text, and smaller expressions for the search for the cause of a disagreement.

use fastrand::Rng;

/// A constant expression with the notation of its literals and operators.
#[derive(Clone)]
pub(crate) enum Expr {
    Literal(String),
    Unary(&'static str, Box<Expr>),
    Binary(Box<Expr>, &'static str, Box<Expr>),
    Choice(Box<[Expr; 3]>),
    Paren(Box<Expr>),
}

const UNARY: &[&str] = &["-", "+", "~", "!", "(.s64) ", "(.u64)", "( .s64 )", "- "];
const BINARY: &[&str] = &[
    "*", " / ", " % ", "+", " - ", " << ", ">>", " < ", "<=", ">", " >= ", " == ", "!=", "&",
    " ^ ", " | ", "&&", " || ",
];
const FLOAT_BINARY: &[&str] = &[
    "*", " / ", "+", " - ", " < ", "<=", ">", " >= ", " == ", "!=", " && ", " % ", "<<",
];
/// Values at which rules change.
const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    65,
    255,
    1 << 31,
    (1 << 31) - 1,
    1 << 32,
    (1 << 32) - 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];
const FLOATS: &[&str] = &[
    "0.0",
    "1.0",
    "2.5",
    "1e10",
    "1.5e-3",
    "3.",
    "0.1",
    "1E+300",
    "12345.678",
    "1e-320",
    "4.0e0",
];
const ODD: &[&str] = &[
    "0f3F800000",
    "0F7f800000",
    "0d3FF0000000000000",
    "0D8000000000000000",
    "WARP_SZ",
];

/// A random expression of at most `depth` levels.
pub(crate) fn random(rng: &mut Rng, depth: u32) -> Expr {
    match rng.u8(..100) {
        0..80 => build(rng, depth, &mut integer, BINARY),
        80..90 => build(rng, depth, &mut float, FLOAT_BINARY),
        90..97 => build(rng, depth, &mut any, BINARY),
        _ => any(rng),
    }
}

fn build(
    rng: &mut Rng,
    depth: u32,
    literal: &mut dyn FnMut(&mut Rng) -> Expr,
    operators: &[&'static str],
) -> Expr {
    if depth == 0 || rng.u8(..10) == 0 {
        return literal(rng);
    }
    let mut operand = |rng: &mut Rng| build(rng, depth - 1, &mut *literal, operators);
    match rng.u8(..10) {
        0..5 => {
            let first = operand(rng);
            let operator = operators[rng.usize(..operators.len())];
            Expr::Binary(Box::new(first), operator, Box::new(operand(rng)))
        }
        5 | 6 => Expr::Unary(UNARY[rng.usize(..UNARY.len())], Box::new(operand(rng))),
        7 => Expr::Choice(Box::new([operand(rng), operand(rng), operand(rng)])),
        _ => Expr::Paren(Box::new(operand(rng))),
    }
}

fn integer(rng: &mut Rng) -> Expr {
    let value = if rng.bool() {
        EDGES[rng.usize(..EDGES.len())]
    } else {
        rng.u64(..) >> rng.u8(..64)
    };
    let mut text = match rng.u8(..8) {
        0 => format!("0{value:o}"),
        1 => format!("0b{value:b}"),
        2 => format!("0X{value:X}"),
        3 => format!("0x{value:016x}"),
        _ => value.to_string(),
    };
    if rng.u8(..4) == 0 {
        text.push('U');
    }
    Expr::Literal(text)
}

fn float(rng: &mut Rng) -> Expr {
    Expr::Literal(FLOATS[rng.usize(..FLOATS.len())].to_owned())
}

fn any(rng: &mut Rng) -> Expr {
    match rng.u8(..3) {
        0 => integer(rng),
        1 => float(rng),
        _ => Expr::Literal(ODD[rng.usize(..ODD.len())].to_owned()),
    }
}

impl Expr {
    /// The expression as PTX.
    pub(crate) fn text(&self) -> String {
        match self {
            Expr::Literal(text) => text.clone(),
            Expr::Unary(operator, a) => format!("{operator}{}", a.text()),
            Expr::Binary(a, operator, b) => format!("{}{operator}{}", a.text(), b.text()),
            Expr::Choice(abc) => {
                let [a, b, c] = &**abc;
                format!("{} ? {} : {}", a.text(), b.text(), c.text())
            }
            Expr::Paren(a) => format!("({})", a.text()),
        }
    }

    fn parts(&self) -> Vec<&Expr> {
        match self {
            Expr::Literal(_) => vec![],
            Expr::Unary(_, a) | Expr::Paren(a) => vec![a],
            Expr::Binary(a, _, b) => vec![a, b],
            Expr::Choice(abc) => abc.iter().collect(),
        }
    }

    fn with_part(&self, index: usize, part: Expr) -> Expr {
        let mut copy = self.clone();
        match &mut copy {
            Expr::Literal(_) => {}
            Expr::Unary(_, a) | Expr::Paren(a) => **a = part,
            Expr::Binary(a, _, b) => *(if index == 0 { a } else { b }).as_mut() = part,
            Expr::Choice(abc) => abc[index] = part,
        }
        copy
    }

    /// Expressions in which a part replaces the expression or one of its subexpressions, the shortest first.
    pub(crate) fn smaller(&self) -> Vec<Expr> {
        let parts = self.parts();
        let mut smaller: Vec<Expr> = parts.iter().map(|p| (*p).clone()).collect();
        for (i, part) in parts.iter().enumerate() {
            smaller.extend(part.smaller().into_iter().map(|p| self.with_part(i, p)));
        }
        if let Expr::Literal(text) = self {
            for literal in ["1", "2", "-1", "1U", "1.0"] {
                if literal.len() < text.len() {
                    smaller.push(Expr::Literal(literal.to_owned()));
                }
            }
        }
        smaller.sort_by_key(|e| e.text().len());
        smaller.truncate(40);
        smaller
    }
}
