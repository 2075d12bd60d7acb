//! The pages of the diagnostics: one for each code, with examples that are what they say.

#[cfg(test)]
mod pages {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use ptx_ir::Code;

    use test_support::page::Page;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-report/pages")
    }

    fn each(mut visit: impl FnMut(&Page<'_>)) {
        for &code in Code::ALL {
            let path = folder().join(format!("{code}.md"));
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{code}: {e}"));
            visit(&Page::read(&text).unwrap_or_else(|| panic!("{code}: no page in its shape")));
        }
    }

    /// The findings in a module, as `LINE: SEVERITY[CODE]`.
    fn check(code: &str, name: &str, text: &str) -> Vec<String> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{code}-{name}.ptx"));
        fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
        command.args(["check", "--format", "short"]).arg(&file);
        if code.starts_with("PTX07") {
            command.args(["--warn", "unused", "--warn", code]);
        }
        if code.starts_with("PTX08") {
            command.args(["--warn", "link"]);
        }
        let output = command.output().unwrap();
        let found = match &code[..5] {
            "PTX13" => run(&file, &[]).stderr,
            "PTX14" => {
                let checkers = "memcheck,initcheck,synccheck,racecheck";
                run(&file, &["--check", checkers]).stderr
            }
            "PTX15" => lint(code, &file),
            _ => output.stdout,
        };
        let output = String::from_utf8(found).unwrap();
        let lines = output.lines().filter_map(|l| {
            let (_, place) = l.split_once(".ptx:")?;
            let (line, rest) = place.split_once(':')?;
            let (kind, _) = rest.split_once(": ")?.1.split_once(": ")?;
            Some(format!("{line}: {kind}"))
        });
        lines.collect()
    }

    /// What one lint finds in a module.
    fn lint(code: &str, file: &Path) -> Vec<u8> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
        command.args(["lint", "--format", "short", "--no-config"]);
        command.args(["--only", code]);
        command.arg(file).output().unwrap().stdout
    }

    /// Runs the kernel of a module.
    fn run(file: &Path, checks: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
        let options = "run --format short --block 32 --max-steps 100000 --max-memory 64M";
        command.args(options.split(' ')).args(checks);
        command.arg(file).output().unwrap()
    }

    #[test]
    fn every_page_has_a_code_and_its_title() {
        let codes: BTreeSet<String> = Code::ALL.iter().map(|c| format!("{c}.md")).collect();
        let files = fs::read_dir(folder()).unwrap();
        let files = files.map(|f| f.unwrap().file_name().into_string().unwrap());
        assert_eq!(files.collect::<BTreeSet<_>>(), codes);
        each(|page| {
            let code: Code = page.code.parse().unwrap();
            assert_eq!(page.title, code.title(), "{code}");
        });
    }

    #[test]
    fn a_wrong_example_has_its_one_mistake() {
        each(|page| {
            let Some((wrong, _)) = page.examples else {
                return;
            };
            let line = page.line().unwrap_or_else(|| panic!("{}", page.code));
            let expected = format!("{line}: {}[{}]", page.severity, page.code);
            assert_eq!(check(page.code, "wrong", wrong), [expected]);
        });
    }

    #[test]
    fn a_right_example_has_none() {
        each(|page| {
            if let Some((_, right)) = page.examples {
                let found = check(page.code, "right", right);
                assert!(found.is_empty(), "{}: {found:?}", page.code);
            }
        });
    }
}
