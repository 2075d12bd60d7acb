//! Mistakes in `.isa` files are found, and named with their place.

use ptx_codegen::{Mode, expand, generate_family};

const WORDS: &str = "\
type .u32 unsigned 32 reg 32
type .f16x2 packed 32 of .f16 x 2 reg 32
type .f16 float 16 reg 16
space .global addressable
version 1.0 \"CUDA 1.0\"
version 2.0
family 100 103
target sm_20 since 2.0
target sm_100f since 2.0
class rounding set \"rounding\"
  .rn .rz
class name positional \"a word of a name\"
  .lo
";

const FUNCTIONS: &str = "\
function field \"field(.type, a, position, length)\" \"bits\"
function add \"a + b\" \"sum\"
function shift-left \"a << n\" \"shift\"
function negate \"-a\" \"negative\"
";

/// The generated files for a block with the vocabulary above.
fn emitted(block: &str) -> anyhow::Result<String> {
    let output = generate_family(&format!("{WORDS}{FUNCTIONS}"), block)?;
    Ok(format!("{output:?}"))
}

/// The error for a block; empty if there is none.
fn error(block: &str) -> String {
    emitted(block)
        .err()
        .map_or_else(String::new, |e| e.to_string())
}

/// Lengths that are products of numbers in modifiers, the type among them, and the generated text or the error.
const PRODUCTS: &[(&str, &str)] = &[
    ("product .type", "L::Product(&[(1, D::First)], 1)"),
    ("product .type / 32", "L::Product(&[(1, D::First)], 32)"),
    (
        "product last .type .rnd .type / 8",
        "L::Product(&[(1, D::Last), (0, D::First), (1, D::First)], 8)",
    ),
    ("product", "expected a number of elements, found product"),
    ("product .type /", "/ is neither an attribute"),
    ("product last / 8", "family.isa:6:"),
    ("product .num / 8", ".num is not a slot"),
];

#[test]
fn a_product_is_generated_with_its_factors() {
    for (length, expected) in PRODUCTS {
        let block = GOOD.replace("  a  use .type", &format!("  a  use .type vec {length}"));
        let found = match emitted(&block) {
            Ok(text) => text,
            Err(error) => error.to_string(),
        };
        assert!(
            found.contains(expected),
            "{length}: {expected} is not in {found}"
        );
    }
}

const GOOD: &str = "\
insn mul.lo \"1.2\"
  form {.rnd}.type  d, a{, b}
  .rnd  = .rn .rz  default .rn
  .type = .u32 .f16
  d  def .type
  a  use .type
  b  use .u32 range 0..31 iff .rnd
  require .rnd is .rz  =>  .type is .u32
  computes t = field(d, a, 0, 4); d = if .rz then t << 2 + 1 else -a
  since ptx 1.0;  .rz ptx 2.0 sm_20 or ptx 2.0 sm_100f+
";

#[test]
fn a_good_block_is_accepted() {
    assert_eq!(error(GOOD), "");
}

/// Replacements in [`GOOD`] and the errors they cause.
const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "mul.lo",
        "mul.hi",
        "family.isa:1:1: .hi of the name mul.hi is not in modifiers.isa",
    ),
    (
        "  .type = .u32 .f16\n",
        "",
        "family.isa:2:14: .type is neither a slot defined here nor a modifier",
    ),
    (
        ".rn .rz  default",
        ".rn .rx  default",
        "family.isa:3:3: .rx is neither a slot",
    ),
    (
        ".rn .rz  default",
        ".rn .rn  default",
        "family.isa:3:15: .rn is listed twice",
    ),
    (
        "  a  use .type\n",
        "",
        "family.isa:2:24: the operand a is not defined",
    ),
    (
        "  a  use .type\n",
        "  a  use .type\n  c  use .type\n",
        "family.isa:7:3: no form uses c",
    ),
    (
        "use .u32",
        "uses .u32",
        "family.isa:7:6: expected one of def, use",
    ),
    (
        ".rnd is .rz",
        ".rond is .rz",
        "family.isa:8:11: .rond is neither a slot",
    ),
    (
        "=>  .type is",
        "->  .type is",
        "family.isa:8:24: expected the end of the line, found ->",
    ),
    (
        "ptx 2.0 sm_20",
        "ptx 2.5 sm_20",
        "family.isa:10:23: there is no version 2.5",
    ),
    (
        "ptx 2.0 sm_20",
        "ptx 2.0 sm_21",
        "family.isa:10:31: sm_21 is not a target",
    ),
    (
        "sm_100f+",
        "sm_100f",
        "family.isa:10:48: a family target is written sm_Nf+",
    ),
    (
        "range 0..31",
        "range 0-31",
        "family.isa:7:21: expected a range such as 0..15, found 0-31",
    ),
    (
        "{.rnd}.type  d",
        "{.rnd.type  d",
        "family.isa:2:20: expected `}`",
    ),
    (
        "insn mul.lo",
        "inst mul.lo",
        "family.isa:1:1: expected `insn` or `define`, found inst",
    ),
    (
        "t << 2 + 1",
        "t << 2 + u",
        "family.isa:9:60: u is neither an operand nor assigned before",
    ),
    (
        "t << 2 + 1",
        "t << ",
        "family.isa:9:57: expected an operand, found else",
    ),
    (
        "field(d, a, 0, 4)",
        "field(d, a, 0)",
        "family.isa:9:16: field takes 4 arguments: field(.type, a, position, length)",
    ),
    (
        "field(d,",
        "fields(d,",
        "family.isa:9:16: fields is not a function of functions.isa",
    ),
    (
        "field(d, a",
        "field(a + 1, a",
        "family.isa:9:16: field takes a slot, not a value",
    ),
    (
        "; d = if",
        "; t = if",
        "family.isa:9:35: t is assigned twice",
    ),
    (
        "; d = if",
        "; lane = if",
        "family.isa:9:35: lane cannot be assigned",
    ),
    (
        "if .rz then",
        "if .ru then",
        "family.isa:9:42: .ru is not a slot of the form",
    ),
    (
        "else -a",
        "or -a",
        "family.isa:9:62: expected `else`, found or",
    ),
    (
        "  require",
        "    require",
        "family.isa:8:5: no line may be indented below the line above",
    ),
];

#[test]
fn mistakes_are_named_with_their_place() {
    for &(from, to, message) in MISTAKES {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let found = error(&text);
        assert!(
            found.starts_with(message) && !found.is_empty(),
            "{from} -> {to}: {found}"
        );
    }
}

#[test]
fn blocks_and_their_names_are_distinct() {
    assert!(error(&format!("{GOOD}{GOOD}")).contains("is at family.isa:1:1 already"));
    let unused = format!("define .x = .rn\n{GOOD}");
    assert!(error(&unused).starts_with("family.isa:1:8: no form uses .x"));
    let silent = GOOD
        .replace("{.rnd}.type", ".type")
        .replace("  .rnd  = .rn .rz  default .rn\n", "");
    assert!(
        error(&silent).contains(".rnd is neither a slot"),
        "{}",
        error(&silent)
    );
}

#[test]
fn words_are_distinct() {
    for (text, message) in [
        (
            "  .rn .rn\n",
            "words.isa:14:7: modifier .rn is defined at words.isa:14:3 already",
        ),
        (
            "type .u32 unsigned 32\n",
            "words.isa:14:6: type .u32 is defined at words.isa:1:6 already",
        ),
        (
            "type .x odd 32\n",
            "words.isa:14:9: expected one of signed, unsigned",
        ),
        (
            "version 1.5\n",
            "words.isa:14:9: expected a version after the previous one, found 1.5",
        ),
    ] {
        let class = if text.starts_with(' ') {
            "class x set \"x\"\n"
        } else {
            ""
        };
        let text = format!(
            "{}{class}{text}",
            WORDS.replace(
                "  .rn .rz",
                if class.is_empty() {
                    "  .rn .rz"
                } else {
                    "  .rz"
                }
            )
        );
        let message = if class.is_empty() {
            message.to_string()
        } else {
            message.replace(":14:", ":15:")
        };
        let found = generate_family(&text, "")
            .err()
            .map_or_else(String::new, |e| e.to_string());
        assert!(found.starts_with(&message), "{found}");
    }
}

#[test]
fn ranges() {
    assert_eq!(expand(".x").unwrap(), [".x"]);
    assert_eq!(
        expand("%pm{0..2}_64").unwrap(),
        ["%pm0_64", "%pm1_64", "%pm2_64"]
    );
    assert_eq!(
        expand(".n{8..24 step 8}k").unwrap(),
        [".n8k", ".n16k", ".n24k"]
    );
    assert_eq!(
        expand(".h{0..1}{0..1}").unwrap(),
        [".h00", ".h01", ".h10", ".h11"]
    );
    assert_eq!(expand(".{a}"), None);
}

#[test]
fn the_tables_are_up_to_date() {
    ptx_codegen::run(Mode::Check).unwrap();
}

#[test]
fn texts_are_of_names_of_their_block() {
    for (texts, message) in [
        (
            "about \"A.\"\n  about \"B.\"",
            "family.isa:3:3: a second sentence about nop",
        ),
        (
            "about nap \"A.\"",
            "family.isa:2:3: no name of the block has this text",
        ),
        ("example", "family.isa:2:10: expected a text in quotes"),
    ] {
        let error = error(&format!("insn nop  \"1\"\n  {texts}\n  form\n"));
        assert!(error.starts_with(message), "{error}");
    }
    let described =
        "insn nop  \"1\"\n  about \"A.\"\n  form\ninsn nop  \"2\"\n  about \"B.\"\n  form\n";
    assert_eq!(
        error(described),
        "family.isa:4:1: nop is described at family.isa:1:1 already"
    );
}

/// What a form computes, and the generated expression.
const EXPRESSIONS: &[(&str, &str)] = &[
    (
        "d = a << a + 1",
        "set(To::Operand(0), X::Call(F::ShiftLeft, &[X::Operand(1), X::Call(F::Add, &[X::Operand(1), X::Integer(1)])]))",
    ),
    (
        "d = (a << a) + 1 + -a",
        "X::Call(F::Add, &[X::Call(F::Add, &[X::Call(F::ShiftLeft, &[X::Operand(1), X::Operand(1)]), X::Integer(1)]), X::Call(F::Negate, &[X::Operand(1)])])",
    ),
    (
        "d = if .rnd then 1 else undefined",
        "X::If(&[X::Filled(0), X::Integer(1), X::Undefined])",
    ),
    (
        "n = a; d = n; carry = n",
        "set(To::Local, X::Operand(1)), set(To::Operand(0), X::Assigned(0)), set(To::Carry, X::Assigned(0))",
    ),
    (
        "d = a << lane",
        "X::Call(F::ShiftLeft, &[X::Operand(1), X::Lane])",
    ),
    (
        "d = field(.f16, a, 0, 1)",
        "X::Call(F::Field, &[X::Type(T::Scalar(S::F16)), X::Operand(1), X::Integer(0), X::Integer(1)])",
    ),
];

/// The accuracy of an approximation, and the generated bounds.
const ACCURACIES: &[(&str, &str)] = &[
    (
        "unspecified",
        ".approximating(\"d = a within unspecified\", &[set(To::Operand(0), X::Operand(1))], &[])",
    ),
    ("2 ulp", "&[bound(Limit::Ulp(2), C::Always, None)]"),
    (
        "2^-10.987 absolute if .type is .f16, 2^-8 relative",
        "&[bound(Limit::Absolute(-10987), holds(1, &[M::F16]), None), bound(Limit::Relative(-8000), C::Always, None)]",
    ),
    (
        "1 ulp for 2^-1 <= a <= 2 pi",
        "Some(within(1, 0x3fe0000000000000, 0x401921fb54442d18))",
    ),
];

#[test]
fn bounds_of_errors_are_generated() {
    let computes = "t = field(d, a, 0, 4); d = if .rz then t << 2 + 1 else -a";
    let with = |accuracy: &str| GOOD.replacen(computes, &format!("d = a within {accuracy}"), 1);
    for (text, expected) in ACCURACIES {
        let found = emitted(&with(text)).unwrap().replace("\\\"", "\"");
        assert!(found.contains(expected), "{text}: {found}");
    }
    for (text, message) in [
        ("2", "family.isa:9:26: expected `ulp`, found"),
        (
            "2^-1",
            "family.isa:9:29: expected `absolute` or `relative`, found",
        ),
        (
            "2 ulp for 1 <= e <= 2",
            "family.isa:9:40: e is not an operand",
        ),
    ] {
        let found = error(&with(text));
        assert!(found.starts_with(message), "{found}");
    }
}

#[test]
fn expressions_are_generated_by_precedence() {
    for (text, expected) in EXPRESSIONS {
        let block = GOOD.replacen(
            "t = field(d, a, 0, 4); d = if .rz then t << 2 + 1 else -a",
            text,
            1,
        );
        let found = emitted(&block).unwrap().replace("\\\"", "\"");
        assert!(found.contains(expected), "{text}: {found}");
    }
}

#[test]
fn a_computation_belongs_to_the_forms_that_have_what_it_names() {
    let two = GOOD.replacen(
        "  form {.rnd}",
        "  form .type  d, a\n  computes d = b\n  form {.rnd}",
        1,
    );
    let found = emitted(&two).unwrap();
    // The line with `b` is not of the first form, but of the second one, although another line follows.
    assert_eq!(found.matches("computing(").count(), 2, "{found}");
    assert_eq!(found.matches("X::Operand(2)").count(), 1, "{found}");
    let unused = GOOD.replacen("  since ptx 1.0;", "  computes d = a\n  since ptx 1.0;", 1);
    assert_eq!(error(&unused), "family.isa:10:11: no form computes this");
}

/// Actions, marks of the result `d` and of the source `a`, and the error.
const RESULTS: &[(&str, &str, &str, &str)] = &[
    ("each", "warp-uniform", "", ""),
    ("each", "", "", "the result d needs one of the marks"),
    (
        "each",
        "varying",
        "varying",
        "the action of the form, not a,",
    ),
    ("copy", "", "", ""),
    ("copy", "varying", "", "the action of the form, not d,"),
    ("none", "", "", ""),
    ("none", "cta-uniform", "", "the action of the form, not d,"),
];

#[test]
fn results_of_actions_state_in_which_threads_they_are_the_same() {
    let mut words = format!(
        "{WORDS}{FUNCTIONS}action each \"e\"\naction copy same \"c\"\naction none varying \"n\"\n"
    );
    for mark in ["varying", "warp-uniform", "cta-uniform"] {
        words += &format!("mark {mark} \"p\" \"m\" \"e\"\n");
    }
    for (action, result, source, expected) in RESULTS {
        let block = format!(
            "insn mul.lo \"1.2\"\n  form .rnd.f16  d, a\n  .rnd = .rn .rz\n  performs {action}\n  d def .f16 {result}\n  a use .f16 {source}\n"
        );
        let found = generate_family(&words, &block);
        let found = found.err().map_or_else(String::new, |e| e.to_string());
        assert!(
            found.contains(expected) && found.is_empty() == expected.is_empty(),
            "{block}{found}"
        );
    }
}
