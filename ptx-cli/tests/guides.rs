//! The shell commands of the README and of the guides run as they are shown, and print what the pages say.
//!
//! The blocks of a page run in order, in one folder that looks like the root of a checkout. A block is expected to succeed, unless
//! `Exit status: N` follows it. If a block `text` follows, it is the whole output, with any text for `…`: what is cut is marked.
//!
//! A comment `<!-- needs: WORDS -->` before a block names programs that it needs, or the system `linux`; it runs where they exist. Blocks that need `cargo`, the
//! `network` or an `editor` do not run here, apart from `cargo ptxkit`, which is the program: `.ci/install` runs them.
//!
//! Configuration files and scripts of launches are read by the program, and the commands of workflows run.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The beginnings of blocks that run. Others, such as `cargo test` and `curl`, may change more than a temporary folder.
const HARMLESS: [&str; 4] = ["# ", "mkdir ", "ptxkit ", "cargo ptxkit "];

/// The pages for maintainers, whose commands need the right to publish.
const RELEASES: &str = "docs/releasing.md";

/// The languages of fenced blocks. Tests of other packages run the code in C, C++, Python, Rust and SMT-LIB.
const LANGUAGES: [&str; 12] = [
    "c", "cpp", "cuda", "ptx", "python", "rust", "sh", "smt2", "sql", "text", "toml", "yaml",
];

/// A path in the repository.
fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// A block of shell commands.
struct Script {
    line: usize,
    /// The words of the comment before it.
    needs: Vec<String>,
    commands: String,
    status: i32,
    expected: Vec<String>,
}

/// The pages with commands: the README, the guides, and the pages of the bindings.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root("README.md"), root("bindings/python/README.md")];
    let mut folders = vec![root("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "isa") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.retain(|page| *page != root(RELEASES));
    pages.sort();
    pages
}

/// The fenced blocks of a page: the index of the first line, the language, and the lines.
fn blocks(page: &str) -> Vec<(usize, &str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let content = lines.by_ref().map(|(_, line)| line);
            let content = content.take_while(|line| !line.starts_with("```"));
            blocks.push((index, language, content.collect()));
        }
    }
    blocks
}

/// The blocks of shell commands of a page.
fn scripts(page: &str) -> Vec<Script> {
    let lines: Vec<&str> = page.lines().collect();
    let mut scripts: Vec<Script> = Vec::new();
    // The line after the last block, if it is one of commands.
    let mut previous_end = None;
    for (index, language, content) in blocks(page) {
        let between = previous_end.map_or(&[][..], |end: usize| &lines[end..index]);
        let is_status = |line: &str| line.starts_with("Exit status: ");
        let follows = between
            .iter()
            .all(|line| line.is_empty() || is_status(line));
        let end = index + content.len() + 2;
        match language {
            "text" if previous_end.is_some() && follows => {
                let expected = &mut scripts.last_mut().unwrap().expected;
                expected.extend(content.iter().map(|line| (*line).to_owned()));
            }
            "sh" => scripts.push(Script {
                line: index + 1,
                needs: needed_words(&lines[..index]),
                commands: content.join("\n"),
                status: status(&lines[end.min(lines.len())..]),
                expected: Vec::new(),
            }),
            _ => {}
        }
        previous_end = (language == "sh").then_some(end);
    }
    scripts
}

/// The words of a comment `<!-- needs: WORDS -->` in the last line.
fn needed_words(lines: &[&str]) -> Vec<String> {
    let comment = lines
        .last()
        .and_then(|line| line.strip_prefix("<!-- needs: "));
    let words = comment.and_then(|line| line.strip_suffix(" -->"));
    words.map_or(Vec::new(), |words| {
        words.split(' ').map(str::to_owned).collect()
    })
}

/// The number of the paragraph `Exit status: N`, if the lines begin with it.
fn status(lines: &[&str]) -> i32 {
    let first = lines.iter().find(|line| !line.is_empty());
    let number = first.and_then(|line| line.strip_prefix("Exit status: "));
    number.map_or(0, |number| number.parse().unwrap())
}

/// A folder that looks like the root of a checkout, and a folder of programs.
struct Checkout {
    folder: PathBuf,
    programs: PathBuf,
}

impl Checkout {
    fn new(name: &str) -> Self {
        let base =
            std::env::temp_dir().join(format!("ptxkit-guides-{}-{name}", std::process::id()));
        let checkout = Self {
            folder: base.join("checkout"),
            programs: base.join("programs"),
        };
        fs::create_dir_all(&checkout.folder).unwrap();
        fs::create_dir_all(&checkout.programs).unwrap();
        for entry in fs::read_dir(root("")).unwrap() {
            let entry = entry.unwrap();
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !hidden && entry.file_name() != "target" {
                symlink(entry.path(), checkout.folder.join(entry.file_name())).unwrap();
            }
        }
        symlink(
            env!("CARGO_BIN_EXE_ptxkit"),
            checkout.programs.join("ptxkit"),
        )
        .unwrap();
        // The alias of `.cargo/config.toml`.
        let cargo = checkout.programs.join("cargo");
        fs::write(
            &cargo,
            "#!/bin/sh\n[ \"$1\" = ptxkit ] || exit 127\nshift\nexec ptxkit \"$@\"\n",
        )
        .unwrap();
        fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
        for (variable, name) in [("PTXAS", "ptxas"), ("NVDISASM", "nvdisasm")] {
            if let Some(program) = std::env::var_os(variable).filter(|path| !path.is_empty()) {
                symlink(program, checkout.programs.join(name)).unwrap();
            }
        }
        checkout
    }

    fn run(&self, commands: &str) -> Output {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("sh");
        shell
            .args(["-eu", "-c", commands])
            .current_dir(&self.folder);
        shell.env("PATH", format!("{}:{path}", self.programs.display()));
        let test = std::env::current_exe().unwrap();
        shell.env("PTXKIT_CUDA_LIBRARY", test.with_file_name("libptx_cuda.so"));
        shell.output().unwrap()
    }

    fn has_program(&self, name: &str) -> bool {
        match name {
            "cargo" | "network" | "editor" => false,
            "linux" => cfg!(target_os = "linux"),
            "table" => cfg!(feature = "table"),
            _ => self.run(&format!("command -v {name}")).status.success(),
        }
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if let Some(base) = self.folder.parent() {
            let _ = fs::remove_dir_all(base);
        }
    }
}

/// Runs the commands of a page; returns how many blocks ran.
fn run_page(path: &Path) -> usize {
    let page = fs::read_to_string(path).unwrap();
    let name = path
        .strip_prefix(root(""))
        .unwrap_or(path)
        .display()
        .to_string();
    let checkout = Checkout::new(&name.replace('/', "-"));
    let mut count = 0;
    for script in scripts(&page) {
        if !script.needs.iter().all(|word| checkout.has_program(word)) {
            continue;
        }
        let place = format!("{name}:{}", script.line);
        assert!(
            HARMLESS
                .iter()
                .any(|command| script.commands.starts_with(command)),
            "{place}: a block that does not run needs a comment `<!-- needs: WORDS -->`"
        );
        count += 1;
        let output = checkout.run(&script.commands);
        let text =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(script.status),
            "{place}: the exit status of\n{}\n{text}",
            script.commands
        );
        if !script.expected.is_empty() {
            let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
            check_excerpt(
                &place,
                &script.expected.join("\n"),
                lines.join("\n").trim_end(),
            );
        }
    }
    count
}

/// Checks that a text is an output, in which `…` means any text.
fn check_excerpt(place: &str, excerpt: &str, output: &str) {
    let mut rest = output;
    for (index, part) in excerpt.split('…').enumerate() {
        let position = if index == 0 {
            rest.starts_with(part).then_some(0)
        } else {
            rest.find(part)
        };
        let position =
            position.unwrap_or_else(|| panic!("{place}: {part:?} is not next in\n{rest}"));
        rest = &rest[position + part.len()..];
    }
    let ends_with_cut = excerpt.ends_with('…');
    assert!(
        rest.is_empty() || ends_with_cut,
        "{place}: a `…` has to mark that this is cut:\n{rest}"
    );
}

#[test]
fn cuts_are_marked() {
    let fails = |excerpt: &str, output: &str| {
        let check = || check_excerpt("page", excerpt, output);
        std::panic::catch_unwind(check).is_err()
    };
    assert!(!fails("a\nb", "a\nb"));
    assert!(!fails("a\n…\nd", "a\nb\nc\nd"));
    assert!(!fails("…\nb…", "a\nb and c"));
    assert!(fails("a\nc", "a\nb\nc"));
    assert!(fails("b", "a\nb"));
    assert!(fails("a", "a\nb"));
    assert!(fails("a and c", "a and b and c"));
}

#[test]
fn commands_of_the_guides_run() {
    let pages = pages();
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = pages
            .chunks(pages.len().div_ceil(2))
            .map(|part| scope.spawn(move || part.iter().map(|page| run_page(page)).sum()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let count: usize = counts.iter().sum();
    println!("{count} blocks of commands");
    assert!(count >= 40, "{count}");
}

/// A module with the kernels that the configuration files and scripts of the guides name.
const KERNELS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .visible .entry reduce(.param .u64 from, .param .u64 to, .param .u32 n)\n{\n.reg .b64 %rd<2>;\n\
    ld.param.u64 %rd1, [to];\nst.global.f32 [%rd1], 0f3F800000;\nret;\n}\n\
    .global .texref palette;\n\
    .visible .entry recolor(.param .u64 photo, .param .u64 result)\n{\n.reg .b64 %rd<3>; .reg .f32 %f<5>; .reg .b32 %r<3>;\n\
    ld.param.u64 %rd1, [photo];\nld.param.u64 %rd2, [result];\nmov.b32 %r1, 0;\n\
    tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r1}];\ntex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [palette, {%f1}];\n\
    sust.b.2d.b32.trap [%rd2, {%r1, %r1}], 0x3F800000;\nret;\n}\n\
    .visible .entry gemm_kernel()\n{\nret;\n}\n";

/// Runs commands in a checkout; returns the exit status and everything printed.
fn run_commands(checkout: &Checkout, commands: &str) -> (Option<i32>, String) {
    let output = checkout.run(commands);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

/// The blocks of the guides in a language, each with its position.
fn blocks_in(language: &str) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for (line, _, content) in blocks(&page).iter().filter(|block| block.1 == language) {
            let place = format!("{}:{}", path.display(), line + 1);
            texts.push((place, content.join("\n") + "\n"));
        }
    }
    texts
}

/// Each configuration file sets the defaults of the commands whose tables it has. An unknown key is an error, so every key is read.
#[test]
fn configuration_files_are_read() {
    let configurations = blocks_in("toml");
    let mut count = 0;
    for (place, text) in configurations
        .iter()
        .filter(|(_, text)| !text.contains("[[launch]]"))
    {
        let checkout = Checkout::new(&format!("configuration-{count}"));
        fs::write(checkout.folder.join("kernels.ptx"), KERNELS).unwrap();
        let baseline = "ptxkit check --no-config --write-baseline known.json kernels.ptx";
        assert_eq!(run_commands(&checkout, baseline).0, Some(0));
        let commands: Vec<&str> = ["gate", "check", "lint"]
            .into_iter()
            .filter(|command| text.contains(&format!("[{command}]")))
            .collect();
        assert!(!commands.is_empty(), "{place}: no command reads the file");
        for command in commands {
            let run = format!("ptxkit {command} kernels.ptx");
            fs::write(checkout.folder.join("ptxkit.toml"), text).unwrap();
            let (status, output) = run_commands(&checkout, &run);
            assert!(matches!(status, Some(0 | 1)), "{place}: {output}");
            let header = format!("[{command}]");
            let lines = text.lines().map(|line| {
                let addition = if line.starts_with(&header) {
                    "unknown = 1\n"
                } else {
                    ""
                };
                format!("{line}\n{addition}")
            });
            let wrong: String = lines.collect();
            fs::write(checkout.folder.join("ptxkit.toml"), wrong).unwrap();
            let (status, output) = run_commands(&checkout, &run);
            assert_eq!(status, Some(2), "{place}: {output}");
            assert!(output.contains("unknown"), "{place}: {output}");
        }
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn scripts_of_launches_run() {
    let scripts = blocks_in("toml");
    let mut count = 0;
    for (place, text) in scripts
        .iter()
        .filter(|(_, text)| text.contains("[[launch]]"))
    {
        let checkout = Checkout::new(&format!("launches-{count}"));
        fs::write(checkout.folder.join("kernels.ptx"), KERNELS).unwrap();
        fs::write(checkout.folder.join("launches.toml"), text).unwrap();
        let commands = "ptxkit run kernels.ptx --kernel reduce zero:64 'out:x.npy:f32[16384]' 1\n\
            ptxkit run kernels.ptx --kernel reduce zero:64 'out:photo.npy:u8[32,64]' 1\n\
            ptxkit run kernels.ptx --kernel reduce zero:64 'out:palette.npy:f32[256]' 1\n\
            ptxkit run kernels.ptx --script launches.toml";
        let (status, output) = run_commands(&checkout, commands);
        assert_eq!(status, Some(0), "{place}: {output}");
        let written = ["total.npy", "result.npy"].iter();
        let written = written.filter(|name| text.contains(&format!("out:{name}")));
        for name in written.clone() {
            assert!(checkout.folder.join(name).is_file(), "{place}: {name}");
        }
        assert_eq!(written.count(), 1, "{place}");
        count += 1;
    }
    assert_eq!(count, 2);
}

/// The commands of workflows that call the program run. `.ci/workflows` checks everything else with actionlint.
#[test]
fn commands_of_workflows_run() {
    let mut count = 0;
    for (place, text) in blocks_in("yaml") {
        let checkout = Checkout::new(&format!("workflow-{count}"));
        fs::create_dir(checkout.folder.join("build")).unwrap();
        fs::write(checkout.folder.join("build/gemm.ptx"), KERNELS).unwrap();
        let rules = "[gate]\nmax = { instructions = 2 }\n";
        fs::write(checkout.folder.join("ptxkit.toml"), rules).unwrap();
        let earlier = count;
        for line in text.lines() {
            let Some(arguments) = line
                .trim_start()
                .strip_prefix("- run: ~/.cargo/bin/ptxkit ")
            else {
                continue;
            };
            let mut command = format!("ptxkit {arguments}");
            if !checkout.has_program("ptxas") {
                command = command.replace("--ptxas \"$(command -v ptxas)\"", "");
            }
            let (status, output) = run_commands(&checkout, &command);
            // `reduce` has more instructions.
            assert_eq!(status, Some(1), "{place}: {output}");
            count += 1;
        }
        // A workflow that uses the action runs no command of the program.
        if count == earlier {
            continue;
        }
        let sarif = fs::read_to_string(checkout.folder.join("gate.sarif")).unwrap();
        assert!(sarif.contains("PTX1201"), "{place}: {sarif}");
    }
    assert_eq!(count, 2);
}

/// `ptxkit help` lists each command after two spaces.
#[test]
fn every_command_is_documented() {
    let page = fs::read_to_string(root("docs/commands.md")).unwrap();
    let mut help = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
    let help = String::from_utf8(help.arg("help").output().unwrap().stdout).unwrap();
    let names = help.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.split_once("  ")?.0;
        let is_name = name.chars().all(|character| character.is_ascii_lowercase());
        (is_name && !name.is_empty() && name != "help").then_some(name)
    });
    let mut count = 0;
    for name in names {
        assert!(page.contains(&format!("`{name}")), "{name}");
        count += 1;
    }
    assert!(count >= 25, "{count}");
}

/// A block in an unknown language, or without one, would be run by no test.
#[test]
fn every_block_has_a_language() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for (line, language, _) in blocks(&page) {
            assert!(
                LANGUAGES.contains(&language),
                "{}:{}: a block in the language {language:?}",
                path.display(),
                line + 1
            );
        }
    }
}

/// No line of Rust code begins with `# `, which is only hidden in the documentation of Rust.
#[test]
fn rust_code_hides_nothing() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        for (line, _, content) in blocks(&page)
            .iter()
            .filter(|(_, language, _)| *language == "rust")
        {
            let hidden = content
                .iter()
                .any(|line| *line == "#" || line.starts_with("# "));
            assert!(!hidden, "{}:{}", path.display(), line + 1);
        }
    }
}
