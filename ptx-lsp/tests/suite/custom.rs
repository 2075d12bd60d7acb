//! The requests `ptxkit/…`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI, under};
use serde_json::{Value, json};

const TEXT: &str = "\
.version 8.0
.target sm_90
.address_size 64

.func _Z5twicei(.param .b32 in)
{
    .reg .b32 %r<3>;
    ld.param.u32 %r0, [in];
    add.s32 %r1, %r0, %r0;
    ret;
}

.visible .entry first(.param .u64 p)
{
    .reg .pred %p<2>;
    .reg .b32 %r<9>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, 0;
$L1:
    redux.sync.add.s32 %r1, %r1, -1;
    setp.lt.s32 %p1, %r1, 7;
    @%p1 bra $L1;
    st.global.u32 [%rd1], %r1;
    griddepcontrol.wait;
    griddepcontrol.wait;
    ret;
}
";

fn about(params: &Value) -> Value {
    let mut all = json!({"textDocument": {"uri": URI}});
    let given = params.as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(given);
    all
}

fn ask(method: &str, params: Value) -> Value {
    let mut client = Client::open(TEXT);
    let method = format!("ptxkit/{method}");
    client.request(&method, about(&params)).unwrap()
}

fn refused(method: &str, params: Value) -> (i64, String) {
    let mut client = Client::open(TEXT);
    let error = client.request(&format!("ptxkit/{method}"), about(&params));
    let error = error.unwrap_err();
    let message = error["message"].as_str().unwrap().to_owned();
    (error["code"].as_i64().unwrap(), message)
}

const INVALID_PARAMS: i64 = -32602;

#[test]
fn functions_are_listed_with_their_text() {
    let found = ask("functions", json!({}));
    let all = found.as_array().unwrap();
    let names: Vec<_> = all
        .iter()
        .map(|f| (f["name"].as_str().unwrap(), f["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(names, [("_Z5twicei", "function"), ("first", "kernel")]);
    assert_eq!(all[0]["demangled"], "twice(int)");
    assert_eq!(all[1]["demangled"], Value::Null);
    let text = under(TEXT, &all[0]["range"]);
    assert!(
        text.starts_with(".func") && text.ends_with("ret;\n}"),
        "{text}"
    );
}

#[test]
fn blocks_of_the_picture_are_parts_of_the_text() {
    let graph = ask("controlFlow", json!({"function": "first"}));
    let svg = graph["svg"].as_str().unwrap();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    let blocks = graph["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 3);
    for (block, (text, depth, live)) in blocks.iter().zip([
        (".reg", 0, json!([[], ["%rd1", "%r1"]])),
        ("$L1:", 1, json!([["%rd1", "%r1"], ["%rd1", "%r1"]])),
        ("st.global", 0, json!([["%rd1", "%r1"], []])),
    ]) {
        let id = block["id"].as_u64().unwrap();
        assert!(svg.contains(&format!("<g data-block=\"{id}\">")), "{svg}");
        let found = under(TEXT, &block["range"]);
        assert!(found.starts_with(text) && found.ends_with(';'), "{found}");
        assert_eq!(block["loopDepth"], depth);
        assert_eq!(json!([block["liveIn"], block["liveOut"]]), live);
        assert_eq!(block["pressure"], 3);
    }
}

#[test]
fn blocks_have_their_uniformity_and_lints() {
    let text = "\
.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 p)
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %d;
    ld.param.u64 %d, [p];
    mov.u32 %r0, %tid.x;
    setp.lt.u32 %p, %r0, 7;
    @%p bra $L1;
    add.u32 %r1, %r0, 1;
    // ptxkit: allow(dead-code)
    add.u32 %r2, %r0, 2;
    st.global.u32 [%d], %r0;
$L1:
    ret;
}
";
    let of = |text: &str| {
        let mut client = Client::open(text);
        let params = about(&json!({"function": "k"}));
        let graph = client.request("ptxkit/controlFlow", params).unwrap();
        let blocks = graph["blocks"].as_array().unwrap().iter();
        let found = blocks.map(|b| json!([b["uniform"], b["branch"], b["lints"]]));
        found.collect::<Vec<_>>()
    };
    let found = of(text);
    assert_eq!(found[0], json!(["grid", "varying", []]));
    assert_eq!(found[1][0], "varying");
    assert_eq!(found[1][2], json!(["dead-code"]));
    assert_eq!(found[2][0], "grid");
    assert_eq!(of(&text.replace("add.u32 %r1", "// "))[1][2], json!([]));
}

#[test]
fn pictures_have_the_colors_of_a_theme() {
    let svg = |theme: Value| {
        let graph = ask("controlFlow", json!({"function": "first", "theme": theme}));
        graph["svg"].as_str().unwrap().to_owned()
    };
    let (light, dark) = ("--page: #ffffff", "--page: #0d1117");
    let has = |svg: &str| (svg.contains(light), svg.contains(dark));
    assert_eq!(has(&svg(Value::Null)), (true, true));
    assert_eq!(has(&svg(json!("automatic"))), (true, true));
    assert_eq!(has(&svg(json!("light"))), (true, false));
    assert_eq!(has(&svg(json!("dark"))), (false, true));
    let (code, why) = refused("controlFlow", json!({"function": "first", "theme": "x"}));
    assert_eq!(code, INVALID_PARAMS);
    assert!(why.contains("`dark`"), "{why}");
}

#[test]
fn each_instruction_has_its_live_registers() {
    let found = ask("liveness", json!({"function": "first"}));
    let lines = found["lines"].as_array().unwrap();
    let rows: Vec<_> = lines
        .iter()
        .map(|l| {
            (
                l["line"].as_u64().unwrap(),
                l["live"].to_string(),
                l["total"].as_u64().unwrap(),
            )
        })
        .collect();
    let both = "[\"%rd1\",\"%r1\"]".to_owned();
    let with_predicate = "[\"%rd1\",\"%r1\",\"%p1\"]".to_owned();
    let expected = [
        (17, "[]".to_owned(), 2),
        (18, "[\"%rd1\"]".to_owned(), 3),
        (20, both.clone(), 3),
        (21, both.clone(), 3),
        (22, with_predicate, 3),
        (23, both, 3),
        (24, "[]".to_owned(), 0),
        (25, "[]".to_owned(), 0),
        (26, "[]".to_owned(), 0),
    ];
    assert_eq!(rows, expected);
    let classes = &lines[4]["pressure"];
    assert_eq!(
        (&classes["pred"], &classes["b32"], &classes["b64"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let peak = &found["peak"];
    assert_eq!((&peak["total"], &peak["line"]), (&json!(3), &json!(18)));
    assert_eq!(peak["perClass"]["b64"], 1);
    // The result of an instruction needs a register even if it is never read.
    let unused = ask("liveness", json!({"function": "_Z5twicei"}));
    assert_eq!(unused["lines"][1]["live"], json!(["%r0"]));
    assert_eq!(unused["lines"][1]["pressure"]["b32"], 1);
    assert_eq!(unused["peak"]["line"], 7);
}

#[test]
fn long_lists_of_live_registers_are_left_out() {
    let count = 2500;
    let writes: String = (0..count)
        .map(|i| format!("ld.global.b32 %r{i}, [%a];\n"))
        .collect();
    let reads: String = (0..count)
        .map(|i| format!("st.global.b32 [%a], %r{i};\n"))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {{ .reg .b32 %r<{count}>; .reg .b64 %a;\nmov.b64 %a, 0;\n{writes}{reads}ret; }}\n"
    );
    let mut client = Client::open(&text);
    let params = about(&json!({"function": "k"}));
    let found = client.request("ptxkit/liveness", params).unwrap();
    assert_eq!(found["lines"][9]["live"], Value::Null);
    assert_eq!(found["peak"]["total"], count + 2);
    assert_eq!(found["lines"].as_array().unwrap().len(), 2 * count + 2);
}

#[test]
fn statistics_are_those_of_the_program() {
    let all = ask("statistics", json!({}));
    assert_eq!(all.as_array().unwrap().len(), 2);
    let one = ask("statistics", json!({"function": "first"}));
    assert_eq!(one.as_array().unwrap().len(), 1);
    assert_eq!(one[0], all[1]);
    assert_eq!(one[0]["instructions"], 9);
    assert_eq!(one[0]["loops"], 1);
    assert_eq!(one[0]["pressure"]["max_b32_units"], 3);
}

#[test]
fn requirements_are_a_matrix_with_reasons() {
    let found = ask("requirements", json!({}));
    let targets = found["targets"].as_array().unwrap();
    let on = |row: &Value, target: &str| {
        let index = targets.iter().position(|t| t == target).unwrap();
        (
            row["allowed"][index].clone(),
            row["versions"][index].clone(),
        )
    };
    let [twice, first] = &found["functions"].as_array().unwrap()[..] else {
        panic!("{found}");
    };
    assert_eq!(on(twice, "sm_50"), (json!(true), json!("4.0")));
    assert_eq!(on(first, "sm_80"), (json!(false), Value::Null));
    assert_eq!(on(first, "sm_90"), (json!(true), json!("7.8")));
    assert_eq!(first["version"], "7.8");
    let reasons = first["reasons"].as_array().unwrap();
    let texts: Vec<_> = reasons
        .iter()
        .map(|r| (under(TEXT, &r["range"]), r["text"].as_str().unwrap()))
        .collect();
    assert!(texts.contains(&(
        "griddepcontrol.wait;",
        "griddepcontrol.wait: sm_90 from PTX 7.8"
    )));
    assert!(twice["reasons"].as_array().unwrap().len() < texts.len());
    let module_reasons = found["module"]["reasons"].as_array().unwrap();
    for reason in module_reasons.iter().chain(reasons) {
        assert_eq!(reason["uses"][0], reason["range"], "{reason}");
    }
    assert_eq!(found["illegal"], json!([]));
    let module = found["module"]["reasons"].as_array().unwrap();
    let twice_used = |r: &Value| r["text"] == "griddepcontrol.wait (2 times): sm_90 from PTX 7.8";
    assert!(module.iter().any(twice_used), "{module:?}");
    assert_eq!(on(&found["module"], "sm_80").0, false);
}

#[test]
fn words_and_codes_are_explained() {
    let explain = |word: &str| ask("explain", json!({"word": word}));
    let add = explain("add");
    assert!(add.as_str().unwrap().contains("```ptx\nadd"), "{add}");
    let target = explain(" .target ");
    assert!(target.as_str().unwrap().contains("directive"), "{target}");
    let code = explain("PTX0104");
    let code = code.as_str().unwrap();
    assert!(code.starts_with("**`PTX0104`** (diagnostic)"), "{code}");
    assert!(code.contains("## How to fix it"), "{code}");
    assert_eq!(code.matches("an unknown opcode").count(), 1, "{code}");
    assert_eq!(explain("nothing_of_this_name"), Value::Null);
}

#[test]
fn unknown_functions_and_methods_are_errors() {
    for method in ["controlFlow", "liveness", "statistics"] {
        let (code, why) = refused(method, json!({"function": "third"}));
        assert_eq!(
            (code, &*why),
            (INVALID_PARAMS, "no function `third` with a body")
        );
    }
    assert_eq!(refused("liveness", json!({})).0, INVALID_PARAMS);
    let other = json!({"textDocument": {"uri": "file:///b.ptx"}});
    assert_eq!(refused("functions", other).1, "the document is not open");
    assert_eq!(
        refused("other", json!({})).1,
        "unknown method `ptxkit/other`"
    );
}

#[test]
fn broken_documents_have_answers() {
    let mut client = Client::open(".entry k( { ] ) add.s32 x, %%; }}} .func f() { bra L; @ }");
    for method in ["functions", "statistics", "requirements"] {
        let answer = client.request(&format!("ptxkit/{method}"), about(&json!({})));
        assert!(answer.is_ok(), "{method}: {answer:?}");
    }
    for method in ["controlFlow", "liveness"] {
        let answer = client.request(
            &format!("ptxkit/{method}"),
            about(&json!({"function": "f"})),
        );
        assert!(answer.is_ok(), "{method}: {answer:?}");
    }
}
