//! `check`: formats, columns, options.

use std::fs;

use crate::support::{BAD, Folder, GOOD, expect, objects, ptx, with_input};

#[test]
fn a_valid_file_has_no_diagnostics() {
    let folder = Folder::new("good");
    let file = folder.file("a.ptx", GOOD);
    for format in ["human", "short"] {
        expect(&ptx(&["check", "--format", format, &file]), 0, "", "");
    }
    let path = serde_json::Value::from(file.as_str());
    let clean = format!(
        "{{\"schema\":1,\"file\":{path},\"code\":null,\"severity\":null,\"findings\":0}}\n"
    );
    expect(&ptx(&["check", "--format", "json", &file]), 0, &clean, "");
}

#[test]
fn an_error_is_shown_with_its_source_line() {
    let run = with_input(&["check", "-"], BAD.as_bytes());
    assert_eq!(run.status, 1);
    assert_eq!(run.err, "1 error in 1 of 1 file\n");
    let start = "error[PTX0104]: expected an instruction, found unknown opcode `bogus`\n --> <stdin>:6:5\n  |\n\
        6 |     bogus.u32 1;\n  |     ^^^^^\n";
    assert!(run.out.starts_with(start), "{}", run.out);
    assert!(run.out.ends_with("\n\n"), "{}", run.out);
}

#[test]
fn colors_are_used_on_demand() {
    let colored = with_input(&["check", "--color", "always", "-"], BAD.as_bytes());
    assert!(colored.out.contains("\u{1b}["));
    for when in ["auto", "never"] {
        let plain = with_input(&["check", "--color", when, "-"], BAD.as_bytes());
        assert!(!plain.out.contains('\u{1b}'));
    }
}

#[test]
fn an_error_in_short_format() {
    let run = with_input(&["check", "--format", "short", "-"], BAD.as_bytes());
    let line =
        "<stdin>:6:5: error[PTX0104]: expected an instruction, found unknown opcode `bogus`\n";
    expect(&run, 1, line, "");
}

#[test]
fn an_error_as_json() {
    let run = with_input(&["check", "--format", "json", "-"], BAD.as_bytes());
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let found = objects(&run.out);
    assert_eq!(found.len(), 1);
    let found = &found[0];
    assert_eq!(found["schema"], 1);
    assert_eq!(found["file"], "<stdin>");
    assert_eq!(found["code"], "PTX0104");
    assert_eq!(found["severity"], "error");
    assert_eq!(
        found["message"],
        "expected an instruction, found unknown opcode `bogus`"
    );
    let start = BAD.find("bogus").unwrap();
    let span = serde_json::json!({
        "start": start, "end": start + 5,
        "line": 6, "column": 5, "end_line": 6, "end_column": 10,
    });
    assert_eq!(found["span"], span);
    assert!(found["labels"].is_array());
    assert!(found.get("help").is_some());
}

#[test]
fn labels_are_in_json() {
    let twice = GOOD.replace("again:", ".reg .b32 %a;\n.reg .b32 %a;");
    let run = with_input(&["check", "--format", "json", "-"], twice.as_bytes());
    let found = objects(&run.out);
    assert_eq!(found.len(), 1, "{}", run.out);
    let label = &found[0]["labels"][0];
    assert!(label["message"].is_string());
    assert_eq!(label["span"]["line"].as_u64(), Some(14), "{}", run.out);
    assert_eq!(found[0]["span"]["line"].as_u64(), Some(15), "{}", run.out);
}

#[test]
fn errors_can_be_limited() {
    let bad = BAD.replace("ret;", "bogus;\n    bogus;\n    ret;");
    let check = |most: &str| {
        let arguments = ["check", "--format", "short", "--max-errors", most, "-"];
        with_input(&arguments, bad.as_bytes())
    };
    for (most, shown, note) in [
        ("0", 0, "<stdin>: 3 more errors not shown\n"),
        ("2", 2, "<stdin>: 1 more error not shown\n"),
        ("3", 3, ""),
        ("99", 3, ""),
    ] {
        let run = check(most);
        assert_eq!(run.out.lines().count(), shown);
        assert_eq!(run.err, note);
        assert_eq!(run.status, 1);
    }
}

#[test]
fn warnings_do_not_fail_unless_denied() {
    let newer = GOOD.replace("8.0", "9.6");
    let run = with_input(&["check", "--format", "short", "-"], newer.as_bytes());
    assert!(run.out.contains("<stdin>:1:1") || run.out.contains("<stdin>:1:10"));
    assert!(run.out.contains(": warning[PTX0305]: "), "{}", run.out);
    assert_eq!(run.status, 0);
    let run = with_input(&["check", "--deny-warnings", "-"], newer.as_bytes());
    assert_eq!(run.err, "1 warning in 1 of 1 file\n");
    assert_eq!(run.status, 1);
}

#[test]
fn columns_count_bytes_of_invalid_utf8() {
    let source = BAD.replace("    bogus", "/* \u{e4}\u{fffd} */ bogus");
    let source = source.replace('\u{fffd}', "@");
    let bytes: Vec<u8> = source
        .bytes()
        .map(|b| if b == b'@' { 0xff } else { b })
        .collect();
    let run = with_input(&["check", "-"], &bytes);
    assert!(run.out.contains("<stdin>:6:11\n"), "{}", run.out);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines[3], "6 | /* ä\u{fffd} */ bogus.u32 1;");
    assert_eq!(lines[4], "  |          ^^^^^");
}

#[test]
fn long_lines_are_cut() {
    let filler = "ret; ".repeat(40_000);
    let source = BAD.replace("    bogus", &format!("{filler}bogus"));
    let source = source.replace("1;", &format!("1; {filler}"));
    let run = with_input(&["check", "-"], source.as_bytes());
    assert!(run.out.len() < 1000, "{} bytes", run.out.len());
    assert!(run.out.contains("<stdin>:6:200001\n"), "{}", run.out);
    assert!(run.out.contains("ret; bogus.u32 1; ret;"), "{}", run.out);
}

#[test]
fn a_violated_rule_is_named() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 c;\n.entry k() {\n.reg .u32 %a;\n\
        ld.volatile.const.u32 %a, [c];\nret; }\n";
    let run = with_input(&["check", "-"], text.as_bytes());
    let said = "not allowed: .ss is one of .const";
    assert!(run.out.contains(said), "{}", run.out);
}

#[test]
fn warnings_can_be_allowed_denied_and_enabled() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %a;\nadd.sat.sat.s32 %a, %a, 1;\nL:\nret; }\n";
    let check = |args: &[&str]| {
        let mut all = vec!["check", "--format", "short", "-"];
        all.extend(args);
        let run = with_input(&all, text.as_bytes());
        (run.status, run.out)
    };
    let (status, out) = check(&[]);
    assert_eq!(
        (status, out.matches("warning[PTX0516]").count()),
        (0, 1),
        "{out}"
    );
    let (status, out) = check(&["--allow", "ignored-modifier"]);
    assert_eq!((status, out.as_str()), (0, ""));
    let (status, out) = check(&["--deny", "PTX0516"]);
    assert_eq!(
        (status, out.matches("error[PTX0516]").count()),
        (1, 1),
        "{out}"
    );
    let (status, out) = check(&["--warn", "unused"]);
    assert_eq!((status, out.matches("PTX0702").count()), (0, 1), "{out}");
    let (status, _) = check(&["--warn", "nonsense"]);
    assert_eq!(status, 2);
}

/// `;` is missing, and a register has a name that is not declared.
fn repairable() -> String {
    GOOD.replace("%r1, %r1;", "%r1, %r1")
}

#[test]
fn fixes_are_made_in_a_copy_or_in_place() {
    let folder = Folder::new("fix");
    let file = folder.file("a.ptx", repairable());
    let copy = folder.0.join("b.ptx");
    let run = ptx(&["check", "--fix", &file, "-o", copy.to_str().unwrap()]);
    expect(&run, 0, "", &format!("{file}: 1 mistake fixed\n"));
    assert_eq!(fs::read_to_string(&copy).unwrap(), GOOD);
    assert_eq!(fs::read_to_string(&file).unwrap(), repairable());

    let run = ptx(&["check", "--fix", "--write", &file]);
    expect(&run, 0, "", &format!("{file}: 1 mistake fixed\n"));
    assert_eq!(fs::read_to_string(&file).unwrap(), GOOD);
}

#[test]
fn with_fixes_on_standard_output_diagnostics_go_to_standard_error() {
    let text = BAD.replace("    ret;", "    ret");
    let run = with_input(
        &["check", "--fix", "--format", "short", "-"],
        text.as_bytes(),
    );
    let err = "<stdin>: 1 mistake fixed\n<stdin>:6:5: error[PTX0104]: expected an instruction, found unknown opcode `bogus`\n";
    expect(&run, 1, BAD, err);
}

#[test]
fn a_suggestion_is_not_applied() {
    let text = BAD.replace("bogus", "nanosleeq");
    let run = with_input(&["check", "--fix", "-q", "-"], text.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, text.as_str()));
    assert!(!run.err.contains("fixed"), "{}", run.err);
    let run = with_input(&["check", "--format", "json", "-"], text.as_bytes());
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(found["applicability"], "MaybeIncorrect");
    assert_eq!(found["fix"][0]["text"], "nanosleep");
}

#[test]
fn an_output_needs_fixes() {
    let run = with_input(&["check", "-o", "b.ptx", "-"], GOOD.as_bytes());
    assert_eq!(
        (run.status, run.err.as_str()),
        (2, "ptxkit: --output and --write need --fix\n")
    );
}

#[test]
fn errors_as_a_sarif_log() {
    let folder = Folder::new("sarif");
    let file = folder.file("a b.ptx", BAD);
    let semicolon = folder.file("c.ptx", repairable());
    let run = ptx(&["check", "--format", "sarif", &file, &semicolon]);
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let log: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        let known = |rule: &&serde_json::Value| rule["id"] == result["ruleId"];
        assert_eq!(rules.iter().filter(known).count(), 1, "{result}");
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(
        uri.starts_with("file:///") && uri.ends_with("/a%20b.ptx"),
        "{uri}"
    );
    let region =
        serde_json::json!({"startLine": 6, "startColumn": 5, "endLine": 6, "endColumn": 10});
    assert_eq!(place["region"], region);
    let edit = &results[1]["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(edit["insertedContent"]["text"], ";");
    let applicability = &results[1]["fixes"][0]["properties"]["applicability"];
    assert_eq!(applicability, "MachineApplicable");
    assert_eq!(
        edit["deletedRegion"]["startColumn"],
        edit["deletedRegion"]["endColumn"]
    );

    let clean = with_input(&["check", "--format", "sarif", "-"], GOOD.as_bytes());
    let log: serde_json::Value = serde_json::from_str(&clean.out).unwrap();
    assert_eq!(log["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn errors_as_github_annotations() {
    let folder = Folder::new("github");
    let file = folder.file("a,b.ptx", BAD);
    let run = ptx(&["check", "--format", "github", &file]);
    let name = file.replace(',', "%2C");
    let line = format!(
        "::error file={name},line=6,endLine=6,col=5,endColumn=10,title=PTX0104::expected an instruction, found unknown opcode `bogus`\n"
    );
    expect(&run, 1, &line, "");
}

#[test]
fn logs_have_help_severity_and_related_places() {
    let folder = Folder::new("logs");
    let newer = folder.file("newer.ptx", ".version 9.9\n.target sm_90\n");
    let head = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{\n";
    let twice = format!("{head}/* é */ .reg .b32 a; .reg .b64 a;\nmov.b32 a, %r1;\nret;\n}}\n");
    let twice = folder.file("twice.ptx", &twice);

    let run = ptx(&["check", "--format", "github", &newer, &twice]);
    let lines: Vec<&str> = run.out.lines().collect();
    assert!(lines[0].starts_with("::warning file="), "{}", lines[0]);
    assert!(lines[0].ends_with("%0Aunknown keywords are warnings under this version"));
    assert!(
        lines[2].contains("::undeclared register `%25r1`%0A"),
        "{}",
        lines[2]
    );

    let run = ptx(&["check", "--format", "sarif", &newer, &twice]);
    let log: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let results = &log["runs"][0]["results"];
    assert_eq!(
        (&results[0]["level"], &results[1]["level"]),
        (&"warning".into(), &"error".into())
    );
    let text = results[0]["message"]["text"].as_str().unwrap();
    assert!(
        text.ends_with("; unknown keywords are warnings under this version"),
        "{text}"
    );
    let column = |place: &serde_json::Value| {
        let region = &place["physicalLocation"]["region"];
        (region["startLine"].clone(), region["startColumn"].clone())
    };
    // Columns are counted in characters.
    assert_eq!(column(&results[1]["locations"][0]), (6.into(), 32.into()));
    assert_eq!(
        column(&results[1]["relatedLocations"][0]),
        (6.into(), 19.into())
    );
}

#[test]
fn only_warnings_can_be_allowed_and_denied() {
    let run = with_input(&["check", "--allow", "PTX0301", "-"], GOOD.as_bytes());
    assert_eq!(run.status, 2);
    assert!(run.err.contains("PTX0301 is an error, not a warning; expected all, unused, link or one of newer-version (PTX0305), "), "{}", run.err);
    let run = with_input(&["check", "--deny", "unnused", "-"], GOOD.as_bytes());
    assert!(
        run.err.contains("unknown warning unnused; expected all, "),
        "{}",
        run.err
    );
}

#[test]
fn a_directory_without_files_is_an_error() {
    let folder = Folder::new("empty");
    let path = folder.0.to_str().unwrap();
    let err = format!("ptxkit: {path}: no .ptx file in this directory\n");
    expect(&ptx(&["check", path]), 2, "", &err);
}

#[test]
fn summaries_can_be_suppressed() {
    let run = with_input(
        &["check", "--quiet", "--format", "human", "-"],
        BAD.as_bytes(),
    );
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    assert!(run.out.contains("unknown opcode `bogus`"), "{}", run.out);
}

#[test]
fn the_number_of_threads_does_not_change_the_output() {
    let folder = Folder::new("jobs");
    let files: Vec<String> = (0..20)
        .map(|i| folder.file(&format!("{i}.ptx"), BAD))
        .collect();
    let run = |jobs: &str| {
        let options = ["check", "-j", jobs, "--format", "short"].map(str::to_owned);
        ptx(&[&options[..], &files].concat()).out
    };
    assert_eq!(run("1"), run("7"));
}

#[test]
fn functions_of_optix_are_declared() {
    let folder = Folder::new("optix");
    let call = "    call (%r1), _optix_get_launch_index_x, ();\n    ret;";
    let text = GOOD
        .replacen("    ret;", call, 1)
        .replacen("   ret;", call, 1);
    let file = folder.file("a.ptx", text);
    let run = ptx(&["check", "--format", "short", &file]);
    assert_eq!(run.status, 1);
    assert!(
        run.out
            .contains("undeclared function `_optix_get_launch_index_x`"),
        "{}",
        run.out
    );
    expect(&ptx(&["check", "--environment", "optix", &file]), 0, "", "");
    let run = ptx(&["lint", "--environment", "optix", "--format", "short", &file]);
    assert!(!run.out.contains("PTX0201"), "{}", run.out);
    let run = ptx(&["stats", "--environment", "optix", "--json", &file]);
    assert!(run.out.contains("\"errors\":0"), "{}", run.out);
    assert_eq!(ptx(&["check", "--environment", "vulkan", &file]).status, 2);
}

#[test]
fn short_lines_have_their_own_messages() {
    let folder = Folder::new("own-messages");
    let body = "    activemask.b32 %r1;\n    match.any.sync.b32 %r2, %r1, -1;\n    add.f32 %f7, %f8, %f8;\n   ret;";
    let text = GOOD
        .replace("sm_90", "sm_30")
        .replace("8.0", "6.0")
        .replacen("   ret;", body, 1);
    let run = ptx(&["check", "--format", "short", &folder.file("a.ptx", text)]);
    for own in [
        ": error[PTX0513]: `activemask.b32` requires PTX 6.2",
        ": error[PTX0513]: `match.any.sync.b32` requires PTX 6.0 and `sm_70`",
        ": error[PTX0201]: undeclared register `%f7` and 1 more",
        ": error[PTX0201]: undeclared register `%f8`\n",
    ] {
        assert!(run.out.contains(own), "{own}: {}", run.out);
    }
}

#[test]
fn a_final_nul_is_removed() {
    let folder = Folder::new("final-nul");
    let file = folder.file("a.ptx", format!("{GOOD}\0\n\0"));
    let run = ptx(&["check", &file]);
    assert_eq!(
        (run.status, run.out.matches("error[").count()),
        (1, 1),
        "{}",
        run.out
    );
    assert!(run.out.contains("remove the final NUL"), "{}", run.out);
}

/// Other places with the same cause are counted, so that the summary agrees with the lines of the short format.
#[test]
fn the_summary_counts_places() {
    let text = ".version 6.0\n.target sm_70\n.address_size 64\n.entry k()\n{\n    .reg .b32 %r<3>;\n    \
        griddepcontrol.wait;\n    griddepcontrol.wait;\n    bogus;\n    ret;\n}\n";
    let human = with_input(&["check", "-"], text.as_bytes());
    assert_eq!(human.err, "2 errors (3 places) in 1 of 1 file\n");
    let short = with_input(&["check", "--format", "short", "-"], text.as_bytes());
    assert_eq!(short.out.lines().count(), 3, "{}", short.out);
}

/// The first error is that of the header: its help says which features need an even newer one.
#[test]
fn the_help_for_an_old_header_has_its_reasons() {
    let header = ".version 6.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n    .reg .b32 %r<3>; .reg .pred %p;\n    ";
    for (body, help) in [
        ("ret;", "write `.version 7.0`\n"),
        (
            "elect.sync %r1|%p, -1;",
            "write `.target sm_90` and `.version 8.0`, which `elect.sync` requires\n",
        ),
        (
            "barrier.cluster.arrive; elect.sync %r1|%p, -1;",
            "write `.target sm_90`, which `barrier.cluster.arrive` requires, and `.version 8.0`, which `elect.sync` requires\n",
        ),
        (
            "barrier.cluster.arrive;",
            "write `.target sm_90`, which `barrier.cluster.arrive` requires, and `.version 7.8`\n",
        ),
    ] {
        let text = format!("{header}{body}\n    ret;\n}}\n");
        let run = with_input(&["check", "-"], text.as_bytes());
        assert!(run.out.contains(&format!("help: {help}")), "{}", run.out);
    }
}

#[test]
fn carriage_returns_alone_are_noted() {
    let old = GOOD.replace('\n', "\r");
    let run = with_input(&["check", "-"], old.as_bytes());
    assert!(
        run.err
            .starts_with("ptxkit: <stdin>: the lines end with CR alone"),
        "{}",
        run.err
    );
    let run = with_input(&["check", "-"], GOOD.replace('\n', "\r\n").as_bytes());
    assert_eq!(run.err, "");
}
