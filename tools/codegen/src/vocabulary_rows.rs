//! The rows of the vocabulary files: their fields, and the parser of each.

use nom::Parser;
use nom::branch::alt;
use nom::combinator::{map, opt, peek, success, verify};
use nom::multi::many1;
use nom::sequence::preceded;

use crate::input::{
    Parsed, Pos, Span, Word, dotted, expand, expect, expect_one_of, flag, keyword, keywords, name,
    number, one_of, pattern, punct, several, string, version, word,
};
use crate::notation::Version;

keywords! {
    TypeKind {
        Signed = "signed", Unsigned = "unsigned", Float = "float", Fixed = "fixed", Bits = "bits",
        Predicate = "predicate", Opaque = "opaque", Packed = "packed", Format = "format",
    }
    RegisterClass {
        Predicate = "pred", Bits8 = "8", Bits16 = "16", Bits32 = "32", Bits64 = "64", Bits128 = "128",
    }
    Declarable { Register = "register", Memory = "memory", Parameter = "parameter" }
    DirectivePosition {
        Module = "module", Body = "body", Label = "label", Entry = "entry", Func = "func", Prototype = "prototype",
        Declaration = "declaration", Parameter = "parameter", Section = "section",
    }
    /// The uniformity of the results of an action: a function of the operands and of memory, different in each thread, or stated by the forms.
    ActionResults { Same = "same", Varying = "varying", Stated = "stated" }
    /// The largest group of threads in which a special register is the same.
    Uniformity {
        Grid = "grid-uniform", Cluster = "cluster-uniform", Cta = "cta-uniform", Warp = "warp-uniform",
        Varying = "varying",
    }
    Ending { Semicolon = "semicolon", Open = "open", Part = "part" }
    Arrangement { Set = "set", Positional = "positional" }
}

/// The first version and target that support something.
#[derive(Debug, Default)]
pub(crate) struct Support {
    pub(crate) version: Version,
    pub(crate) target: Option<Word>,
}

/// Defines rows of the vocabulary: the fields, each with its parser, in the order of the line.
macro_rules! rows {
    ($($(#[$doc:meta])* $row:ident {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty = $parser:expr;)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $row {
            $($(#[$field_doc])* pub(crate) $field: $ty,)*
        }

        impl $row {
            pub(crate) fn parse(input: Span<'_>) -> Parsed<'_, Self> {
                let (input, _) = word(input)?;
                $(let (input, $field) = ($parser).parse(input)?;)*
                Ok((input, Self { $($field),* }))
            }
        }
    )*};
}

rows! {
    TypeRow {
        name: Word = expect("a type such as .u32", dotted);
        kind: TypeKind = expect_one_of;
        bits: u16 = expect("a number of bits", number);
        /// Type and number of the elements.
        packed: Option<(Word, u8)> = opt(preceded(keyword("of"), packed));
        register: Option<RegisterClass> = opt(preceded(keyword("reg"), expect_one_of));
        declare: Vec<Declarable> = map(opt(preceded(keyword("declare"), several)), Option::unwrap_or_default);
        since: Support = map(opt(since), |s| s.unwrap_or(Support { version: (1, 0), target: None }));
        about: String = success(String::new());
        example: String = success(String::new());
    }
    SpaceRow {
        name: Word = expect("a state space such as .global", dotted);
        addressable: bool = flag("addressable");
        modifier: bool = flag("modifier");
        within: Option<Word> = opt(preceded(keyword("within"), expect("a state space", dotted)));
        since: Version = map(opt(preceded(keyword("since"), expect_version)), |v| v.unwrap_or((1, 0)));
        about: String = success(String::new());
    }
    OptionRow {
        name: Word = expect("an option of .target", name);
        since: Support = expect("`since`", since);
    }
    /// Words that PTX does not have.
    ForeignRow {
        words: Vec<Word> = expect("words of other languages", many1(foreign_word));
        /// The replacement of each of them.
        instead: Option<Word> = opt(preceded(punct("="), expect("a word of PTX", name)));
        /// A sentence about the correct notation.
        help: Option<String> = opt(preceded(punct(";"), expect("a sentence", string)));
    }
    RegisterRow {
        names: Vec<Word> = expect("a special register such as %tid", expanded);
        vector: bool = flag("v4");
        ty: Word = expect("a type", dotted);
        volatile: bool = flag("volatile");
        short: bool = flag("short");
        uniformity: Uniformity = expect_one_of;
        /// The register that contains the number of its values.
        index_of: Option<Word> = opt(preceded(keyword("index-of"), expect("a special register", name)));
        needs: Option<Word> = opt(preceded(keyword("needs"), expect("a directive", dotted)));
        since: Support = expect("`since`", since);
        about: String = success(String::new());
    }
    DirectiveRow {
        name: Word = expect("a directive such as .version", name);
        section: String = expect("a section in quotes", string);
        positions: Vec<DirectivePosition> = preceded(
            (expect("`in`", keyword("in")), peek(expect_one_of::<DirectivePosition>)), several);
        ending: Ending = map(opt(one_of), |ending| ending.unwrap_or(Ending::Part));
        /// The least and the greatest number of integers that follow it.
        takes: Option<(u8, u8)> = opt(preceded(keyword("takes"), takes));
        /// The greatest integer, and the strings that may be written instead.
        values: Option<(u8, Vec<String>)> = opt(preceded((keyword("up"), keyword("to")), (count, texts)));
        since: Support = expect("`since`", since);
        until: Option<Version> = opt(preceded(keyword("until"), expect_version));
        about: String = success(String::new());
        example: String = success(String::new());
    }
    /// A property of an operand, as the instruction files name it.
    MarkRow {
        name: Word = expect("the name of a mark", name);
        /// The phrase of `ptxkit explain` for an operand with the mark; empty if another phrase implies it.
        phrase: String = expect("a phrase in quotes", string);
        meaning: String = expect("the meaning in quotes", string);
        example: String = expect("an example in quotes", string);
    }
    /// A function or an operator of expressions.
    FunctionRow {
        name: Word = expect("the name of a function", name);
        syntax: String = expect("the syntax in quotes", string);
        meaning: String = expect("the meaning in quotes", string);
    }
    /// The behavior of a form whose results are not a function of its operands.
    ActionRow {
        name: Word = expect("the name of an action", name);
        results: ActionResults = map(opt(one_of), |results| results.unwrap_or(ActionResults::Stated));
        meaning: String = expect("the meaning in quotes", string);
    }
}

impl ActionResults {
    /// The keyword in actions.isa.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Varying => "varying",
            Self::Stated => "",
        }
    }
}

impl FunctionRow {
    /// The parameters in the syntax: the words in parentheses, or the operands of the operator.
    pub(crate) fn parameters(&self) -> Vec<String> {
        let list = match self.syntax.split_once('(') {
            Some((_, list)) => list,
            None => &self.syntax,
        };
        list.split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
            .filter(|word| !word.is_empty())
            .map(str::to_string)
            .collect()
    }
}

/// `.f16 x 2`
fn packed(input: Span<'_>) -> Parsed<'_, (Word, u8)> {
    let count = expect("a number of elements", number);
    (
        expect("the type of an element", dotted),
        preceded(expect("x", keyword("x")), count),
    )
        .parse(input)
}

fn count(input: Span<'_>) -> Parsed<'_, u8> {
    expect("a number of arguments", number).parse(input)
}

fn takes(input: Span<'_>) -> Parsed<'_, (u8, u8)> {
    let most = opt(preceded(keyword("to"), count));
    map((count, most), |(least, most)| {
        (least, most.unwrap_or(least))
    })
    .parse(input)
}

fn texts(input: Span<'_>) -> Parsed<'_, Vec<String>> {
    let texts = opt(preceded(keyword("or"), many1(string)));
    map(texts, Option::unwrap_or_default).parse(input)
}

#[derive(Debug)]
pub(crate) struct VersionRow {
    pub(crate) version: Version,
    pub(crate) toolkit: Option<String>,
    pub(crate) driver: Option<String>,
}

#[derive(Debug)]
pub(crate) struct TargetRow {
    pub(crate) name: Word,
    pub(crate) number: u16,
    /// `a`, `f` or nothing.
    pub(crate) suffix: Option<char>,
    pub(crate) since: Version,
    pub(crate) renamed: Option<(Word, Version)>,
    /// The greatest size in bytes of the shared variables of a kernel.
    pub(crate) shared: u32,
}

/// A word, or an operator in quotes.
fn foreign_word(input: Span<'_>) -> Parsed<'_, Word> {
    let quoted = map(string, move |text| Word {
        text,
        pos: Pos::of(input),
    });
    alt((quoted, name)).parse(input)
}

#[derive(Debug)]
pub(crate) struct ClassRow {
    pub(crate) name: Word,
    pub(crate) positional: bool,
    pub(crate) meaning: String,
}

/// The entity whose name is a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Nothing,
    Type,
    Space,
    VectorLength(u8),
}

#[derive(Debug)]
pub(crate) struct ModifierRow {
    pub(crate) word: Word,
    pub(crate) class: usize,
    pub(crate) names: Names,
    /// The number of columns in a matrix shape such as `.m64n256k16`; 0 for other modifiers.
    pub(crate) columns: u16,
    pub(crate) ignored: bool,
    pub(crate) doubled: bool,
    pub(crate) usual: bool,
    pub(crate) about: String,
}

pub(crate) fn expect_version(input: Span<'_>) -> Parsed<'_, Version> {
    expect("a version of the PTX ISA", version).parse(input)
}

pub(crate) fn since(input: Span<'_>) -> Parsed<'_, Support> {
    let target = opt(verify(name, |t: &Word| t.text.starts_with("sm_")));
    let support = map((expect_version, target), |(version, target)| Support {
        version,
        target,
    });
    preceded(keyword("since"), support).parse(input)
}

/// The names that a pattern generates.
pub(crate) fn expanded(input: Span<'_>) -> Parsed<'_, Vec<Word>> {
    nom::combinator::map_opt(pattern, |pattern: Word| {
        let mut words = Vec::new();
        for text in expand(&pattern.text)? {
            words.push(Word {
                text,
                pos: pattern.pos.clone(),
            });
        }
        Some(words)
    })
    .parse(input)
}
