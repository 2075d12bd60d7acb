//! The requests `ptxkit/kernels` and `ptxkit/run`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests fail by panics"
)]

use crate::client;
use client::{Client, URI};
use serde_json::{Value, json};

const TEXT: &str = "\
.version 8.5
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .align 4 .b8 pair[8])
{
    .reg .b32 %r<2>; .reg .f32 %f<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
.func unused() { ret; }
";

fn ask(method: &str, params: Value) -> Result<Value, String> {
    let mut client = Client::open(TEXT);
    let Value::Object(mut params) = params else {
        panic!("not an object");
    };
    params.insert("textDocument".to_owned(), json!({"uri": URI}));
    client
        .request(method, Value::Object(params))
        .map_err(|error| format!("{error:?}"))
}

/// A launch over a buffer.
fn run(buffer: Value, more: Value) -> Result<Value, String> {
    let mut params = json!({
        "kernel": "scale", "block": [8, 1, 1],
        "arguments": [{"buffer": buffer}, {"value": "0.5"}, {"value": "s32:1,2"}]
    });
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    ask("ptxkit/run", params)
}

#[test]
fn kernels_with_their_parameters() {
    let kernels = ask("ptxkit/kernels", json!({})).unwrap();
    let parameter = |name: &str, ty: &str, bytes: u64, pointer: bool| json!({"name": name, "type": ty, "bytes": bytes, "pointer": pointer});
    assert_eq!(kernels.as_array().unwrap().len(), 1);
    assert_eq!(
        (&kernels[0]["name"], &kernels[0]["demangled"]),
        (&json!("scale"), &Value::Null)
    );
    let expected = [
        parameter("data", ".u64", 8, true),
        parameter("factor", ".f32", 4, false),
        parameter("pair", ".align 4 .b8[8]", 8, false),
    ];
    assert_eq!(kernels[0]["parameters"], json!(expected));
}

#[test]
fn buffers_before_and_after() {
    let ran = run(
        json!({"type": "f32", "count": 10, "fill": "index"}),
        json!({}),
    )
    .unwrap();
    assert_eq!(
        (&ran["steps"], &ran["error"], &ran["profile"]),
        (&json!(9), &Value::Null, &Value::Null)
    );
    let values = ["0", "0.5", "1", "1.5", "2", "2.5", "3", "3.5", "8", "9"];
    let expected = json!({
        "parameter": 0, "type": "f32", "count": 10, "changed": 7, "values": values,
        "samples": [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 8.0, 9.0]
    });
    assert_eq!(ran["buffers"], json!([expected]));
    let values = |fill: &str, ty: &str, more: &str| {
        let buffer = json!({"type": ty, "count": 4, "fill": fill, "values": more});
        let ran = run(buffer, json!({"block": [1, 1, 1]})).unwrap();
        let values = ran["buffers"][0]["values"].as_array().unwrap().iter();
        values
            .map(|value| value.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("one", "f32", ""), ["0.5", "1", "1", "1"]);
    assert_eq!(values("values", "f32", "4, -1"), ["2", "-1", "4", "-1"]);
    assert_eq!(
        values("index", "f16x2", "")[1..],
        ["{2, 3}", "{4, 5}", "{6, 7}"]
    );
    assert_eq!(values("zero", "u64", ""), ["0"; 4]);
    let random = values("random", "u32", "");
    assert!(
        random[1..]
            .iter()
            .all(|value| value.parse::<u32>().unwrap() < 100),
        "{random:?}"
    );
    assert_eq!(values("random", "u32", ""), random);
}

#[test]
fn errors_findings_and_counts() {
    let buffer = json!({"type": "f32", "count": 4});
    let ran = run(
        buffer.clone(),
        json!({"checks": ["memcheck"], "profile": true}),
    )
    .unwrap();
    assert_eq!(ran["steps"], 9);
    assert_eq!(ran["findings"].as_array().unwrap().len(), 2);
    assert_eq!(ran["findings"][0]["code"], "PTX1401");
    assert_eq!(ran["findings"][0]["range"]["start"]["line"], 11);
    assert_eq!(
        ran["profile"][5],
        json!({"line": 11, "executions": 1, "lanes": 8, "bytes": 16})
    );
    let ran = run(buffer.clone(), json!({"steps": 3})).unwrap();
    assert_eq!(
        (&ran["steps"], &ran["error"]["code"]),
        (&Value::Null, &json!("PTX1305"))
    );
    let ran = run(buffer.clone(), json!({"block": [1025, 1, 1]})).unwrap();
    assert_eq!(
        (&ran["error"]["code"], &ran["error"]["range"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        ran["error"]["message"]
            .as_str()
            .unwrap()
            .contains("1024 threads")
    );
}

#[test]
fn requests_that_are_wrong() {
    let cases = [
        (json!({"kernel": "none"}), "no kernel `none`"),
        (
            json!({"arguments": []}),
            "the kernel has 3 parameters, not 0",
        ),
        (json!({"checks": ["speed"]}), "expected one of memcheck"),
        (json!({"grid": [0, 1, 1]}), "nonzero"),
        (
            json!({"arguments": [{"value": "x"}, {"value": "1"}, {"value": "1"}]}),
            "parameter 1: `x` is not an integer",
        ),
        (
            json!({"arguments": [{"value": "1"}, {"value": "f64:1"}, {"value": "1"}]}),
            "parameter 2: it has 4 bytes, not 8",
        ),
        (
            json!({"arguments": [{"buffer": {"type": "f32", "count": 1_u64 << 60}}, {"value": "1"}, {"value": "1"}]}),
            "at most 64 MiB",
        ),
        (
            json!({"arguments": [{"buffer": {"type": "f99", "count": 1}}, {"value": "1"}, {"value": "1"}]}),
            "`f99` is not a type",
        ),
    ];
    for (params, message) in cases {
        let error = run(json!({"type": "f32", "count": 4}), params).unwrap_err();
        assert!(error.contains(message), "{error}");
    }
    let mut client =
        Client::open(".version 8.0\n.target sm_90\n.entry k() { mov.u32 %r1, 1; ret; }\n");
    let params = json!({"textDocument": {"uri": URI}, "kernel": "k"});
    let error = client.request("ptxkit/run", params).unwrap_err();
    assert!(format!("{error:?}").contains("the document has errors"));
}
