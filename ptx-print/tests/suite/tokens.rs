//! Random modules: token sequences made from a grammar of valid PTX, later joined with random
//! white space and comments. Names are declared before they are used, so that nothing is wrong.

use proptest::prelude::*;
use proptest::sample::select;

/// The tokens of a module, header included.
#[derive(Clone, Default)]
pub(crate) struct Tokens(pub(crate) Vec<String>);

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.plain())
    }
}

impl Tokens {
    /// Appends the words of `text`, which are separated by spaces.
    fn words(mut self, text: &str) -> Self {
        self.0
            .extend(text.split_ascii_whitespace().map(String::from));
        self
    }

    /// Appends one token unchanged, with its spaces.
    fn token(mut self, text: impl Into<String>) -> Self {
        self.0.push(text.into());
        self
    }

    fn then(mut self, other: Tokens) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The tokens separated by single spaces.
    pub(crate) fn plain(&self) -> String {
        self.0.join(" ")
    }
}

fn t(text: &str) -> Tokens {
    Tokens::default().words(text)
}

fn all(parts: Vec<Tokens>) -> Tokens {
    parts.into_iter().fold(Tokens::default(), Tokens::then)
}

fn joined(parts: Vec<Tokens>, separator: &str) -> Tokens {
    let mut out = Tokens::default();
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            out = out.token(separator);
        }
        out = out.then(part);
    }
    out
}

fn one_of(texts: &'static [&'static str]) -> BoxedStrategy<Tokens> {
    select(texts).prop_map(t).boxed()
}

/// A number, in any spelling of an integer.
fn integer() -> BoxedStrategy<Tokens> {
    prop_oneof![
        4 => (0u32..100).prop_map(|n| n.to_string()),
        1 => any::<u64>().prop_map(|n| n.to_string()),
        1 => any::<u32>().prop_map(|n| format!("{n}U")),
        1 => any::<u64>().prop_map(|n| format!("0x{n:x}")),
        1 => any::<u32>().prop_map(|n| format!("0X{n:X}U")),
        1 => any::<u16>().prop_map(|n| format!("0{n:o}")),
        1 => any::<u8>().prop_map(|n| format!("0b{n:b}")),
        1 => any::<u8>().prop_map(|n| format!("0B{n:08b}U")),
        1 => select(&["0", "00", "00007", "WARP_SZ", "2147483647", "4294967296"][..]).prop_map(String::from),
    ]
    .prop_map(|n| Tokens::default().token(n))
    .boxed()
}

fn float() -> BoxedStrategy<Tokens> {
    prop_oneof![
        any::<u32>().prop_map(|n| format!("0f{n:08x}")),
        any::<u32>().prop_map(|n| format!("0F{n:08X}")),
        any::<u64>().prop_map(|n| format!("0d{n:016X}")),
        any::<u16>().prop_map(|n| format!("{n}.5")),
        any::<u16>().prop_map(|n| format!("{n}.")),
        any::<u16>().prop_map(|n| format!(".{n}")),
        (any::<u8>(), 0u8..30).prop_map(|(n, e)| format!("{n}e{e}")),
        (any::<u8>(), 0u8..30).prop_map(|(n, e)| format!("{n}.25E+{e}")),
        (any::<u8>(), 0u8..30).prop_map(|(n, e)| format!("{n}.e-{e}")),
    ]
    .prop_map(|n| Tokens::default().token(n))
    .boxed()
}

/// A constant expression of integers that divides by nothing.
fn expression() -> BoxedStrategy<Tokens> {
    integer()
        .prop_recursive(4, 24, 3, |inner| {
            let binary: &[&str] = &[
                "+", "-", "*", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "^", "|", "&&",
                "||",
            ];
            prop_oneof![
                inner.clone().prop_map(|e| t("(").then(e).words(")")),
                (select(&["-", "+", "~", "!"][..]), inner.clone()).prop_map(|(o, e)| t(o).then(e)),
                (select(&["( .s64 )", "( .u64 )"][..]), inner.clone())
                    .prop_map(|(o, e)| t(o).then(e)),
                (inner.clone(), select(binary), inner.clone())
                    .prop_map(|(a, o, b)| a.words(o).then(b)),
                (inner.clone(), 1u32..50).prop_map(|(a, n)| a.words(&format!("/ {n}"))),
                (inner.clone(), 1u32..50).prop_map(|(a, n)| a.words(&format!("% {n}"))),
                (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| t("(")
                    .then(a)
                    .words("?")
                    .then(b)
                    .words(":")
                    .then(c)
                    .words(")")),
            ]
        })
        .boxed()
}

/// An operand that can replace a register: registers of all kinds, special ones, immediates.
fn scalar() -> BoxedStrategy<Tokens> {
    prop_oneof![
        8 => register(),
        1 => one_of(&["%tid .x", "%ntid .y", "%laneid", "%clock64", "%warpid", "v4 .x", "v4 .w", "v2 .r", "v2 .g"]),
        1 => one_of(&["%r1 .b0", "%r2 .b3", "%r1 .h1", "x .b10", "%r3 .b3210", "%r4 .h10"]),
        2 => integer(),
        1 => (1u32..1000).prop_map(|n| t(&format!("- {n}"))),
        1 => float(),
        1 => expression().prop_map(|e| t("(").then(e).words(")")),
    ]
    .boxed()
}

fn register() -> BoxedStrategy<Tokens> {
    prop_oneof![
        4 => (0u32..100).prop_map(|n| t(&format!("%r{n}"))),
        1 => (0u32..100).prop_map(|n| t(&format!("%r{n:04}"))),
        1 => (0u32..2_000_000_000).prop_map(|n| t(&format!("%big{n}"))),
        1 => (0u32..9).prop_map(|n| t(&format!("%a_rather_long_prefix{n}"))),
        1 => one_of(&["x", "_y", "$z", "%w$1", "add", "v4", "%r100", "reg_of_module", "%r"]),
    ]
    .boxed()
}

fn predicate() -> BoxedStrategy<Tokens> {
    one_of(&["%p1", "%p2", "q", "%p07"])
}

/// Something that has an address.
fn variable() -> BoxedStrategy<Tokens> {
    one_of(&["g", "arr", "par", "loc", "shm", "ranged3", "x"])
}

fn address() -> BoxedStrategy<Tokens> {
    let offset = prop_oneof![
        integer(),
        (1u32..5000).prop_map(|n| t(&format!("- {n}"))),
        expression(),
    ];
    prop_oneof![
        3 => prop_oneof![variable(), register()].prop_map(|b| t("[").then(b).words("]")),
        4 => (prop_oneof![variable(), register()], offset.clone())
            .prop_map(|(b, o)| t("[").then(b).words("+").then(o).words("]")),
        1 => integer().prop_map(|i| t("[").then(i).words("]")),
        1 => register().prop_map(|b| t("[").then(b).words("] .unified")),
        1 => (register(), offset.clone()).prop_map(|(b, o)| t("[").then(b).words("+").then(o).words("] .unified")),
        1 => (variable(), offset).prop_map(|(b, o)| b.words("[").then(o).words("]")),
        1 => (variable(), register()).prop_map(|(b, r)| b.words("[").then(r).words("]")),
        1 => (variable(), register(), integer())
            .prop_map(|(b, r, n)| b.words("[").then(r).words("+").then(n).words("]")),
    ]
    .boxed()
}

fn vector() -> BoxedStrategy<Tokens> {
    let element = prop_oneof![6 => scalar(), 1 => Just(t("_"))];
    prop::collection::vec(element, 1..20)
        .prop_map(|e| t("{").then(joined(e, ",")).words("}"))
        .boxed()
}

fn bracket() -> BoxedStrategy<Tokens> {
    prop_oneof![
        (variable(), vector()).prop_map(|(m, c)| t("[").then(m).words(",").then(c).words("]")),
        (variable(), variable(), vector()).prop_map(|(m, s, c)| {
            t("[")
                .then(m)
                .words(",")
                .then(s)
                .words(",")
                .then(c)
                .words("]")
        }),
        (variable(), register()).prop_map(|(m, c)| t("[").then(m).words(",").then(c).words("]")),
    ]
    .boxed()
}

/// A first operand with a second result: `p|q`.
fn pair() -> BoxedStrategy<Tokens> {
    let second = || prop_oneof![3 => predicate(), 1 => Just(t("_"))];
    prop_oneof![
        2 => (predicate(), second()),
        1 => (Just(t("_")), second()),
        1 => (register(), second()),
        1 => (vector(), second()),
    ]
    .prop_map(|(a, b)| a.words("|").then(b))
    .boxed()
}

fn operand() -> BoxedStrategy<Tokens> {
    prop_oneof![
        8 => scalar(),
        3 => address(),
        2 => vector(),
        1 => bracket(),
        1 => predicate().prop_map(|p| t("!").then(p)),
        1 => register().prop_map(|r| t("-").then(r)),
        1 => (variable(), integer()).prop_map(|(v, n)| v.words("+").then(n)),
    ]
    .boxed()
}

fn mnemonic() -> BoxedStrategy<Tokens> {
    // Whole tokens, some with spaces before their dots.
    prop_oneof![
        6 => one_of(&[
            "add.s32", "mov.u32", "mad.lo.s32", "ld.global.nc.v4.f32", "st.shared.v2.b64", "ret", "setp.lt.and.s32",
            "cvt.rn.f32.s32", "atom.global.gpu.add.u32", "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes",
            "tex.2d.v4.f32.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "vadd.s32.s32.s32.sat", "bar.sync",
            "ld.relaxed.gpu.global.L1::no_allocate.L2::128B.b32", "shfl.sync.bfly.b32", "selp.b32", "fence.acq_rel.gpu",
        ]),
        1 => one_of(&["add .s32", "mad.lo .s32", "ld .global .nc .v4 .f32", "add .f32 .rn", "add .sat .s32", "tex .1d .v4 .f32 .f32"]),
    ]
    .boxed()
}

fn guard() -> BoxedStrategy<Tokens> {
    prop_oneof![
        6 => Just(Tokens::default()),
        1 => predicate().prop_map(|p| t("@").then(p)),
        1 => predicate().prop_map(|p| t("@ !").then(p)),
    ]
    .boxed()
}

fn instruction() -> BoxedStrategy<Tokens> {
    let first = prop_oneof![
        6 => operand().prop_map(|o| vec![o]),
        1 => Just(vec![t("_")]),
        1 => pair().prop_map(|o| vec![o]),
        1 => Just(Vec::new()),
    ];
    let ordinary = (mnemonic(), first, prop::collection::vec(operand(), 0..4)).prop_map(
        |(m, mut first, rest)| {
            if let Some(text) = first.first_mut().and_then(|f| f.0.first_mut()) {
                if text.starts_with('.') {
                    // After a mnemonic, `.5` would be a modifier.
                    text.insert(0, '0');
                }
                first.extend(rest);
            }
            m.then(joined(first, ","))
        },
    );
    let list = || {
        prop::collection::vec(prop_oneof![scalar(), variable(), Just(t("_"))], 0..4)
            .prop_map(|l| t("(").then(joined(l, ",")).words(")"))
    };
    let target = one_of(&["callee", "%r1", "kernel0"]);
    let call = prop_oneof![
        target.clone().prop_map(|f| t("call").then(f)),
        (list(), target.clone(), list())
            .prop_map(|(r, f, a)| { t("call.uni").then(r).words(",").then(f).words(",").then(a) }),
        (target.clone(), list()).prop_map(|(f, a)| t("call").then(f).words(",").then(a)),
        (list(), target, list()).prop_map(|(r, f, a)| {
            t("call")
                .then(r)
                .words(",")
                .then(f)
                .words(",")
                .then(a)
                .words(", proto")
        }),
    ];
    let branch = one_of(&[
        "bra end",
        "bra.uni start",
        "brx.idx %r1 , table",
        "bra $later",
    ]);
    (guard(), prop_oneof![6 => ordinary, 1 => call, 1 => branch])
        .prop_map(|(g, i)| g.then(i).words(";"))
        .boxed()
}

const TYPES: &[&str] = &[
    ".b8", ".u16", ".s32", ".b64", ".f32", ".f64", ".f16x2", ".bf16", ".b128", ".pred", ".u64",
];

fn initializer() -> BoxedStrategy<Tokens> {
    let value = prop_oneof![
        4 => integer(),
        1 => float(),
        1 => expression(),
        1 => Just(t("fwd")),
        1 => integer().prop_map(|n| t("fwd +").then(n)),
        1 => Just(t("generic ( fwd )")),
        1 => integer().prop_map(|n| t("generic ( fwd ) +").then(n)),
        1 => Just(t("0xFF00 ( fwd )")),
        1 => Just(t("0xFF ( fwd + 4 )")),
        1 => Just(t("0xFF0000 ( generic ( fwd ) + 8 )")),
        1 => Just(t("0xFF ( 513 )")),
    ];
    let nested = value.prop_recursive(3, 40, 20, |inner| {
        prop::collection::vec(inner, 0..20).prop_map(|e| t("{").then(joined(e, ",")).words("}"))
    });
    nested.boxed()
}

/// A declaration of variables named `prefix0`, `prefix1`, … in one of `spaces`.
fn declaration(
    prefix: String,
    spaces: &'static [&'static str],
    linkage: bool,
) -> BoxedStrategy<Tokens> {
    let linkages: &[&str] = if linkage {
        &["", "", "", ".visible", ".weak", ".common", ".extern"]
    } else {
        &[""]
    };
    let dims = (any::<bool>(), prop::collection::vec(integer(), 0..3)).prop_map(|(open, d)| {
        let mut dims: Vec<Tokens> = d.into_iter().map(|n| t("[").then(n).words("]")).collect();
        if open {
            dims.insert(0, t("[ ]"));
        }
        dims
    });
    let rest = prop_oneof![
        3 => Just(t("")),
        1 => (0u32..50).prop_map(|n| t(&format!("< {n} >"))),
        2 => dims.clone().prop_map(all),
        2 => (dims, initializer()).prop_map(|(d, i)| all(d).words("=").then(i)),
    ];
    (
        select(linkages),
        select(spaces),
        select(&["", "", "", ".attribute ( .managed )", ".attribute ( .unified ( 19 , 0x95 ) )"][..]),
        prop_oneof![3 => Just(t("")), 1 => select(&[1u32, 2, 4, 8, 16]).prop_map(|n| t(&format!(".align {n}")))],
        select(&["", "", "", ".v2", ".v4"][..]),
        select(TYPES),
        prop::collection::vec(rest, 1..4),
    )
        .prop_map(move |(l, s, a, align, v, ty, rests)| {
            let names: Vec<Tokens> = rests
                .into_iter()
                .enumerate()
                .map(|(i, r)| t(&format!("{prefix}{i}_")).then(r))
                .collect();
            t(l).words(s).words(a).then(align).words(v).words(ty).then(joined(names, ",")).words(";")
        })
        .boxed()
}

fn directive() -> BoxedStrategy<Tokens> {
    prop_oneof![
        Just(t(".loc 1 20 3")),
        Just(t(
            ".loc 1 20 3 , function_name $L__info_string0 , inlined_at 1 5 7"
        )),
        Just(t(
            ".loc 2 1 0 , function_name .debug_str + 16 , inlined_at 1 5 7"
        )),
        Just(t(".pragma").token("\"nounroll\"").words(";")),
        Just(
            t(".pragma")
                .token("\"a b\"")
                .words(",")
                .token("\"\"")
                .words(";")
        ),
    ]
    .boxed()
}

/// Statements of a body; `path` makes names of inner scopes their own.
fn statements(path: String, depth: u32) -> BoxedStrategy<Tokens> {
    let label = (0u32..1000).prop_map({
        let path = path.clone();
        move |_| t(&format!("unused{path}_LABEL :"))
    });
    let block = if depth == 0 {
        Just(t("{ }")).boxed()
    } else {
        statements(format!("{path}i"), depth - 1)
            .prop_map(|s| t("{").then(s).words("}"))
            .boxed()
    };
    let local = declaration(
        format!("local{path}_DECL"),
        &[".local", ".shared", ".param", ".reg"],
        false,
    );
    let one = prop_oneof![
        10 => instruction(),
        2 => directive(),
        1 => label,
        1 => local,
        1 => block,
    ];
    let path = path.clone();
    prop::collection::vec(one, 0..12)
        .prop_map(move |mut parts| {
            // Each statement that declares something gets new names.
            for (i, part) in parts.iter_mut().enumerate() {
                for token in &mut part.0 {
                    for kind in ["_LABEL", "_DECL"] {
                        let mark = format!("{path}{kind}");
                        if token.contains(&mark) {
                            *token = token.replace(&mark, &format!("{path}n{i}_"));
                        }
                    }
                }
            }
            all(parts)
        })
        .boxed()
}

const BODY_START: &str = "{ .reg .b32 %r < 100 > ; .reg .b64 %big < 2000000000 > ; .reg .pred %p < 10 > ; \
    .reg .b32 %a_rather_long_prefix < 9 > ; .reg .b32 x , _y , $z , %w$1 , add ; .reg .v4 .f32 v4 ; .reg .v2 .f32 v2 ; \
    .reg .b32 %r100 , reg_of_module , %r ; .reg .pred q ; .local .b32 loc [ 4 ] ; .shared .align 8 .b8 shm [ ] ; \
    table : .branchtargets start , end ; \
    proto : .callprototype ( .param .b32 _ ) _ ( .param .b64 _ , .reg .f32 _ ) ; start : ";
const BODY_END: &str = "$later : end : ret ; }";

fn parameter(i: usize, entry: bool) -> BoxedStrategy<Tokens> {
    let ptr = if entry {
        select(
            &[
                "",
                "",
                ".ptr",
                ".ptr .global",
                ".ptr .align 8",
                ".ptr .shared .align 16",
            ][..],
        )
        .boxed()
    } else {
        Just("").boxed()
    };
    (
        select(&["", ".align 8"][..]),
        select(&[".b8", ".u32", ".b64", ".f64"][..]),
        ptr,
        select(&["", "", "[ 16 ]", "[ 0x20 ]"][..]),
    )
        .prop_map(move |(a, ty, p, d)| t(&format!(".param {a} {ty} {p} par{i} {d}")))
        .boxed()
}

fn parameters(entry: bool) -> BoxedStrategy<Tokens> {
    (0usize..5)
        .prop_flat_map(move |n| (0..n).map(|i| parameter(i, entry)).collect::<Vec<_>>())
        .prop_map(|mut p| {
            p.push(t(".param .b64 par"));
            t("(").then(joined(p, ",")).words(")")
        })
        .boxed()
}

fn function(i: usize) -> BoxedStrategy<Tokens> {
    let entry = (
        select(&["", ".visible", ".weak"][..]),
        parameters(true),
        prop::collection::vec(
            one_of(&[
                ".maxntid 128 , 1 , 1",
                ".maxnreg 32",
                ".minnctapersm 2",
                ".reqntid 0x20",
                ".explicitcluster",
                ".maxclusterrank 8",
            ]),
            0..3,
        ),
        statements(format!("f{i}"), 3),
    )
        .prop_map(move |(l, p, d, s)| {
            t(l).words(&format!(".entry kernel{i}"))
                .then(p)
                .then(all(d))
                .words(BODY_START)
                .then(s)
                .words(BODY_END)
        });
    let func = (
        select(&["", ".visible", ".weak"][..]),
        select(
            &[
                "",
                "( )",
                "( .reg .b32 result )",
                "( .param .align 8 .b8 result [ 16 ] , .reg .v2 .f32 other )",
            ][..],
        ),
        parameters(false),
        select(&["", ".noreturn"][..]),
        statements(format!("f{i}"), 3),
    )
        .prop_map(move |(l, r, p, d, s)| {
            t(l).words(".func")
                .words(r)
                .words(&format!("kernel{i}"))
                .then(p)
                .words(d)
                .words(BODY_START)
                .then(s)
                .words(BODY_END)
        });
    let forward = (parameters(false), select(&["", ".extern"][..])).prop_map(move |(p, l)| {
        t(l).words(&format!(".func ( .param .b32 _ ) forward{i}"))
            .then(p)
            .words(";")
    });
    prop_oneof![2 => entry, 2 => func, 1 => forward].boxed()
}

fn section() -> BoxedStrategy<Tokens> {
    let number = prop_oneof![
        3 => (0u32..256).prop_map(|n| t(&n.to_string())),
        1 => (0u32..256).prop_map(|n| t(&format!("0x{n:x}"))),
        1 => (1u32..128).prop_map(|n| t(&format!("- {n}"))),
        1 => any::<u64>().prop_map(|n| t(&format!("{n}U"))),
    ];
    let place = one_of(&[
        "$L__a",
        "$L__a + 4",
        "$L__b - $L__a",
        ".debug_str",
        ".debug_str + 7",
        "kernel0",
    ]);
    let line = prop_oneof![
        5 => (select(&[".b8", ".b16", ".b32", ".b64"][..]), prop::collection::vec(number, 1..20))
            .prop_map(|(ty, d)| t(ty).then(joined(d, ","))),
        2 => (select(&[".b32", ".b64"][..]), place).prop_map(|(ty, d)| t(ty).then(d)),
        1 => one_of(&["$L__a :", "here :"]),
    ];
    (
        select(&[".debug_info", ".debug_abbrev", ".debug_str"][..]),
        prop::collection::vec(line, 0..6),
    )
        .prop_map(|(n, l)| t(".section").words(n).words("{").then(all(l)).words("}"))
        .boxed()
}

fn item(i: usize) -> BoxedStrategy<Tokens> {
    prop_oneof![
        3 => declaration(format!("m{i}n"), &[".global", ".const", ".shared"], true),
        3 => function(i),
        1 => section(),
        1 => Just(t(".file 1").token("\"a b.cu\"")),
        1 => Just(t(".file 2").token("\"b.cu\"").words(", 1700000000 , 42")),
        1 => Just(t(".pragma").token("\"x\"").words(";")),
        1 => Just(t(&format!(".global .texref tex{i} ;"))),
        1 => Just(t(&format!(".global .samplerref smp{i} = {{ addr_mode_0 = clamp_to_border , filter_mode = nearest , force_unnormalized_coords = 1 }} ;"))),
        1 => Just(t(&format!(".func aliasee{i} ( ) {{ }} .func alias{i} ( ) ; .alias alias{i} , aliasee{i} ;"))),
    ]
    .boxed()
}

/// A whole module without errors.
pub(crate) fn module() -> BoxedStrategy<Tokens> {
    let header = select(&[
        ".version 8.5 .target sm_90 .address_size 64",
        ".version 9.2 .target sm_100a , debug .address_size 64",
        ".version 6.0 .target sm_70 , texmode_independent",
        ".version 7.8 .target sm_80 .target sm_80 .address_size 32",
    ]);
    let fixed = ".global .b32 g , arr [ 16 ] , ranged < 5 > ; .global .b64 fwd ; \
        .func ( .reg .b32 r ) callee ( .param .b64 a , .param .b64 b ) ; .entry kernel0 ( ) ;";
    (header, 1usize..6)
        .prop_flat_map(move |(h, n)| {
            let items: Vec<_> = (1..=n).map(item).collect();
            items.prop_map(move |i| t(h).words(fixed).then(all(i)))
        })
        .boxed()
}

/// White space and comments between two tokens; never nothing.
fn trivia() -> BoxedStrategy<String> {
    let piece = select(&[
        " ",
        "  ",
        "\t",
        "\n",
        "\n\n\n",
        "\r\n",
        "\x0c",
        "/* c */",
        "/* a\n * b */",
        "/**/",
        "// c\n",
        "//\n",
        "// ; } \"\n",
        "/* { ( \" // */",
        "\n# 1 \"f.cu\"\n",
        "\n#line 7 \"g.cu\" 2\n",
        "/* \u{e9}\u{4e2d} */",
    ]);
    prop_oneof![
        12 => Just(String::from(" ")),
        4 => Just(String::from("\n")),
        4 => prop::collection::vec(piece, 1..4).prop_map(|p| p.concat()),
    ]
    .boxed()
}

/// Whether two tokens may be adjacent.
fn may_touch(left: &str, right: &str) -> bool {
    let (Some(l), Some(r)) = (left.bytes().last(), right.bytes().next()) else {
        return true;
    };
    let wordy = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'%');
    // Only marks that cannot go on a token before them or begin a longer one.
    let mark = |b: u8| matches!(b, b',' | b';' | b'(' | b')' | b'[' | b']' | b'{' | b'}');
    (mark(l) && r != b'%') || (mark(r) && l != b'%') || (mark(l) && wordy(r))
}

/// A module joined with random trivia, and the same joined with single spaces.
pub(crate) fn module_with_trivia() -> BoxedStrategy<(String, String)> {
    module()
        .prop_flat_map(|tokens| {
            let n = tokens.0.len() + 1;
            (
                Just(tokens),
                prop::collection::vec((trivia(), any::<u8>()), n),
            )
        })
        .prop_map(|(tokens, gaps)| {
            let mut text = gaps[0].0.clone();
            let mut last = String::new();
            for (token, (gap, touch)) in tokens.0.iter().zip(&gaps[1..]) {
                let touching = may_touch(&last, token) && touch % 3 == 0;
                if !(last.is_empty() || touching) {
                    // A division before a comment would open another one.
                    if last == "/" {
                        text.push(' ');
                    }
                    text.push_str(gap);
                }
                text.push_str(token);
                last.clone_from(token);
            }
            if gaps[0].1 % 2 == 0 {
                text.push_str(&gaps[gaps.len() - 1].0);
            }
            (text, tokens.plain())
        })
        .boxed()
}
