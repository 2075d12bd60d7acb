//! The example instruction of CONTRIBUTING.md: its block in an `.isa` file is all that an instruction needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that checks the example instruction, built against tables that contain it.
const PROGRAM: &str = r##"
use ptx_isa::{Modifier, Opcode, PtxVersion, ScalarType, Target};
use ptx_isa::internals::{ActualOperand, InstQuery, OperandShape, Violation, describe};

fn check(mnemonic: &str, operands: [OperandShape<'_>; 4], target: Target) {
    let mut words = mnemonic.split('.');
    let opcode = Opcode::from_text(words.next().unwrap().as_bytes()).expect("the opcode");
    let modifiers: Vec<Modifier> = words
        .map(|w| Modifier::from_text(format!(".{w}").as_bytes()).expect("a modifier"))
        .collect();
    let operands = operands.map(ActualOperand::new);
    let query = InstQuery::new(opcode, &modifiers, &operands);
    let selection = query.select(PtxVersion::CURRENT, target).expect("a form");
    let form = selection.form();
    let found: Vec<String> = selection.violations().as_slice().iter().map(|p| match *p {
        Violation::Operand(at, problem) => format!("{}: {problem:?}", form.operands()[at].name()),
        Violation::Rule(rule) => describe::rule(form, rule).to_string(),
        Violation::RequiresTarget(floors) => describe::floors(floors).to_string(),
        other => format!("{other:?}"),
    }).collect();
    println!("{mnemonic} {target}: {found:?}");
}

fn main() {
    use OperandShape::{Integer, Register};
    let [u, s, f] = [ScalarType::U32, ScalarType::S32, ScalarType::F32].map(Register);
    check("blend.u32", [u, u, u, Integer(15)], Target::Sm90);
    check("blend.sat.s32", [s, s, Integer(7), Integer(0)], Target::Sm100);
    check("blend.u32", [u, u, u, Integer(16)], Target::Sm90);
    check("blend.u32", [u, f, u, Integer(1)], Target::Sm90);
    check("blend.s32", [s, s, s, s], Target::Sm90);
    check("blend.sat.u32", [u, u, u, Integer(1)], Target::Sm100);
    check("blend.s32", [s, s, s, Integer(1)], Target::Sm80);
    check("blend.sat.s32", [s, s, s, Integer(1)], Target::Sm90);
}
"##;

const VERDICTS: &str = r#"blend.u32 sm_90: []
blend.sat.s32 sm_100: []
blend.u32 sm_90: ["weight: Constant"]
blend.u32 sm_90: ["a: Type"]
blend.s32 sm_90: ["weight: NeedsConstant"]
blend.sat.u32 sm_100: ["not allowed: .sat is given and .type is .u32"]
blend.s32 sm_80: ["PTX 9.0 on sm_90 and newer"]
blend.sat.s32 sm_90: ["PTX 9.1 on sm_100 and newer"]
"#;

const MANIFEST: &str = r#"
[package]
name = "check"
edition = "2024"

[dependencies]
ptx-isa = { path = "ptx-isa" }

[profile.dev]
debug = false

[workspace]
"#;

const LIBRARY: &str = r#"
[package]
name = "ptx-isa"
edition = "2024"
"#;

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The fenced block of a kind, without its indentation.
fn block(text: &str, kind: &str) -> String {
    let fence = format!("```{kind}");
    let lines = text.lines().skip_while(|l| l.trim() != fence).skip(1);
    let lines: Vec<&str> = lines.take_while(|l| l.trim() != "```").collect();
    let indent = lines.first().map_or(0, |l| l.len() - l.trim_start().len());
    let lines = lines.iter().map(|l| l.get(indent..).unwrap_or(""));
    lines.map(|l| format!("{l}\n")).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, name) = entry.map(|e| (e.path(), e.file_name())).unwrap();
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_block_defines_an_instruction() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .unwrap();
    let name = format!("ptx-example-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let at = |path: &str| folder.0.join(path);
    copy(&root.join("ptx-isa/src"), &at("ptx-isa/src"));
    copy(&root.join("ptx-isa/isa"), &at("isa"));

    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    fs::write(at("isa/example.isa"), block(&text, "isa")).unwrap();
    let tables = ptx_codegen::generate(&at("isa")).unwrap();
    let generated = at("ptx-isa/src/generated");
    assert!(
        tables
            .output
            .finish(&generated, ptx_codegen::Mode::Write)
            .unwrap()
    );

    fs::write(at("ptx-isa/Cargo.toml"), LIBRARY).unwrap();
    fs::write(at("Cargo.toml"), MANIFEST).unwrap();
    fs::create_dir(at("src")).unwrap();
    fs::write(at("src/main.rs"), PROGRAM).unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let run = Command::new(cargo)
        .args(["run", "--quiet", "--offline"])
        .current_dir(&folder.0)
        .env("CARGO_TARGET_DIR", at("target"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&run.stdout), VERDICTS);
}
