//! `ptxkit exec`: a program in C that loads the driver library runs kernels.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::Folder;

/// The crates are dependencies so that Cargo builds the libraries.
use ptx_cuda as _;
use ptx_nvrtc as _;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/exec/kernels.ptx");

/// The library, which Cargo builds beside the tests.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    test.parent().unwrap().join("libptx_cuda.so")
}

/// The compiled client.
fn client(folder: &Folder) -> PathBuf {
    let client = folder.0.join("client");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/exec/client.c");
    let status = Command::new("cc")
        .args(["-o", client.to_str().unwrap(), source, "-ldl"])
        .status();
    assert!(status.unwrap().success());
    client
}

/// `ptxkit exec` with options and a command.
fn exec(options: &[&str], command: &[&str]) -> Command {
    let mut exec = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
    exec.arg("exec").arg("--library").arg(library());
    exec.args(options).arg("--").args(command);
    exec
}

fn run(options: &[&str], client: &Path, arguments: &[&str]) -> Output {
    let command = [&[client.to_str().unwrap()][..], arguments].concat();
    exec(options, &command).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_program_gets_results_and_its_exit_status() {
    let folder = Folder::new("exec-results");
    let client = client(&folder);
    let output = run(&[], &client, &[KERNELS, "scale", "2"]);
    let numbers: Vec<String> = (0..64).map(|n| (9 * n).to_string()).collect();
    assert_eq!(text(&output.stdout).trim(), numbers.join(" "));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(
        text(&output.stderr),
        "ptxkit: 2 launches, 36 warp steps, 0 findings\n"
    );
    let status = |script: &str| exec(&[], &["sh", "-c", script]).status().unwrap().code();
    assert_eq!(status("exit 7"), Some(7));
    assert_eq!(status("kill -9 $$"), Some(137));
    let missing = exec(&[], &["/no/such/program"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_finding_of_several_launches_is_reported_once() {
    let folder = Folder::new("exec-findings");
    let client = client(&folder);
    let report = folder.file("report.json", "");
    let options = ["--check", "racecheck", "--json", "--report", &report];
    let output = run(&options, &client, &[KERNELS, "race", "3"]);
    assert_eq!(output.status.code(), Some(1));
    let error = text(&output.stderr);
    assert_eq!(error.matches("error[PTX1441]").count(), 1, "{error}");
    assert!(error.contains("from kernels.cu:7:5"), "{error}");
    let report = json(&report);
    let [finding] = &report["findings"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!(finding["launches"], 3);
    assert_eq!(finding["kernel"], "race");
    assert_eq!(finding["source"][0]["line"], 7);
    assert_eq!(report["launches"], 3);
    let sarif = folder.file("report.sarif", "");
    let options = ["--check=racecheck", "--format=sarif", "--report", &sarif];
    run(&options, &client, &[KERNELS, "race", "3"]);
    let sarif = json(&sarif);
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "PTX1441");
    // Without the checker, with a filter, and beyond the first launches.
    for options in [
        &[][..],
        &["--check=racecheck", "--skip", "r*"],
        &["--check=racecheck", "--only", "scale"],
        &["--check=racecheck", "--first", "0"],
    ] {
        let output = run(options, &client, &[KERNELS, "race", "3"]);
        assert_eq!(output.status.code(), Some(0), "{options:?}");
    }
    let options = ["--check=racecheck", "--first", "2", "--only", "r*"];
    let output = run(&options, &client, &[KERNELS, "race", "3"]);
    assert!(text(&output.stderr).contains("(2 launches, "));
}

#[test]
fn the_end_of_registered_memory_is_exact() {
    let folder = Folder::new("exec-registered");
    let client = client(&folder);
    let run = |bytes: &str| {
        let command = [client.to_str().unwrap(), KERNELS, "scale"];
        let mut command = exec(&["--check=memcheck"], &command);
        command.env("REGISTERED", bytes).output().unwrap()
    };
    let output = run("256");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let numbers: Vec<String> = (0..64).map(|n| (3 * n).to_string()).collect();
    assert_eq!(text(&output.stdout).trim(), numbers.join(" "));
    // The numbers from 60 on are in the same page, but are not registered.
    let output = run("240");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("error[PTX1401]"), "{error}");
    assert!(error.contains("which has 240 bytes"), "{error}");
}

#[test]
fn findings_of_a_process_that_is_killed_remain() {
    let folder = Folder::new("exec-killed");
    let client = client(&folder);
    let report = folder.file("report.json", "");
    let options = ["--check", "racecheck", "--json", "--report", &report];
    let output = run(&options, &client, &[KERNELS, "race", "2", "abort"]);
    assert_eq!(output.status.code(), Some(128 + 6));
    let report = json(&report);
    assert_eq!(report["killed"], 1);
    assert_eq!(report["status"], 128 + 6);
    assert_eq!(report["findings"][0]["launches"], 2);
}

#[test]
fn a_hidden_library_is_loaded_before_others() {
    let maps = |options: &[&str]| {
        let output = exec(options, &["cat", "/proc/self/maps"]).output().unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
    };
    assert!(!maps(&[]).contains("libnvJitLink"));
    assert!(maps(&["--hide", "nvjitlink"]).contains("/libnvJitLink.so.13"));
}

/// Compiles a source in C beside this file.
fn compiled(folder: &Folder, name: &str, options: &[&str]) -> PathBuf {
    let path = folder.0.join(name);
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/exec");
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(&path);
    compiler.arg(format!("{sources}/{name}.c")).args(options);
    assert!(compiler.status().unwrap().success());
    path
}

#[test]
fn the_replacement_of_nvrtc_returns_ptx_as_machine_code() {
    let folder = Folder::new("exec-nvrtc");
    let compiler = compiled(&folder, "nvrtc", &["-shared", "-fPIC"]);
    let client = compiled(&folder, "nvrtc_client", &["-ldl"]);
    let client = client.to_str().unwrap();
    let compile = |option: &str| {
        let mut command = exec(&["--replace", "nvrtc"], &[client, option]);
        let output = command.env("PTXKIT_NVRTC", &compiler).output().unwrap();
        assert_eq!(text(&output.stderr), "");
        text(&output.stdout)
    };
    assert_eq!(compile("-arch=sm_90a"), "18 -arch=compute_90a six\n");
    // The machine code of a virtual architecture is that of NVRTC.
    assert_eq!(compile("-arch=compute_80"), "8 machine six\n");
    let mut command = exec(&["--replace", "nvrtc"], &[client, "-arch=sm_80"]);
    let output = command.env("PTXKIT_NVRTC", "/missing").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("PTXKIT_NVRTC"));
}

#[test]
fn an_error_of_a_kernel_is_that_of_the_program() {
    let folder = Folder::new("exec-error");
    let client = client(&folder);
    let output = run(&[], &client, &[KERNELS, "outside"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(text(&output.stdout), "cuCtxSynchronize: 700\n");
    let error = text(&output.stderr);
    assert!(error.contains("error[PTX1301]"), "{error}");
    assert!(error.contains("from kernels.cu:21:3"), "{error}");
    assert!(
        error.ends_with("1 launch, 0 warp steps, 1 finding\n"),
        "{error}"
    );
}

#[test]
fn profiles_count_all_launches() {
    let folder = Folder::new("exec-profile");
    let client = client(&folder);
    let profile = folder.file("profile.json", "");
    run(&["--profile", &profile], &client, &[KERNELS, "scale", "5"]);
    let profile = json(&profile);
    let kernel = &profile["kernels"][0];
    assert_eq!(kernel["launches"], 5);
    let instructions = kernel["profile"].as_array().unwrap();
    let store = instructions.iter().find(|instruction| {
        let text = instruction["instruction"].as_str().unwrap();
        text.starts_with("st.global")
    });
    let store = store.unwrap();
    assert_eq!(store["executions"], 10);
    assert_eq!(store["memory"][0]["bytes"], 5 * 256);
}

#[test]
fn results_are_those_of_the_usual_order() {
    let folder = Folder::new("exec-schedules");
    let client = client(&folder);
    let output = run(&["--schedules", "6"], &client, &[KERNELS, "scale", "2"]);
    let numbers: Vec<String> = (0..64).map(|n| (9 * n).to_string()).collect();
    assert_eq!(text(&output.stdout).trim(), numbers.join(" "));
}

#[test]
fn recorded_launches_give_the_same_bytes_again() {
    let folder = Folder::new("exec-record");
    let client = client(&folder);
    for (kernel, arguments) in [
        (
            "scale",
            r#"["buffer:b0", "bytes:03000000", "buffer:b0+128"]"#,
        ),
        (
            "packed",
            r#"["struct:{buffer:b0, bytes:0300000000000000, buffer:b0+128}"]"#,
        ),
    ] {
        let recorded = folder.0.join(kernel);
        let options = ["--record", recorded.to_str().unwrap(), "--first", "2"];
        run(&options, &client, &[KERNELS, kernel, "3"]);
        let process = fs::read_dir(&recorded).unwrap().next().unwrap().unwrap();
        let launches = fs::read_dir(process.path()).unwrap();
        let mut launches: Vec<PathBuf> = launches.map(|entry| entry.unwrap().path()).collect();
        launches.sort();
        assert_eq!(launches.len(), 2);
        for (launch, folder) in launches.iter().enumerate() {
            let script = fs::read_to_string(folder.join("launch.toml")).unwrap();
            assert!(script.contains(&format!("args = {arguments}")), "{script}");
            let status = Command::new(env!("CARGO_BIN_EXE_ptxkit"))
                .arg("run")
                .arg(folder.join("module.ptx"))
                .arg("--script")
                .arg(folder.join("launch.toml"))
                .status();
            assert!(status.unwrap().success());
            let after = fs::read(folder.join("after-0.npy")).unwrap();
            assert_eq!(fs::read(folder.join("result-0.npy")).unwrap(), after);
            let last = u32::from_le_bytes(after[after.len() - 4..].try_into().unwrap());
            assert_eq!(last, 63 * 3u32.pow(launch as u32 + 1));
        }
    }
}

#[test]
fn signals_are_passed_on() {
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done";
    let mut child = exec(&[], &["sh", "-c", script])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    assert_eq!(line, "ready\n");
    let kill = Command::new("kill").arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
    let end = Instant::now() + Duration::from_secs(60);
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => panic!("the program does not end"),
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    assert_eq!(status.code(), Some(5));
}

#[test]
fn versioned_functions_are_found() {
    let folder = Folder::new("exec-versions");
    // A library with the version of NVIDIA's, to link with.
    let source = folder.file("stub.c", "int cudaRuntimeGetVersion(int *v) { return 0; }");
    let map = folder.file("stub.map", "libcudart.so.13 { cudaRuntimeGetVersion; };");
    let stub = folder.0.join("libcudart.so.13");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&stub)
        .arg(&source)
        .arg("-Wl,-soname,libcudart.so.13")
        .arg(format!("-Wl,--version-script={map}"))
        .status();
    assert!(status.unwrap().success());
    let source = folder.file(
        "program.c",
        "#include <stdio.h>\nint cudaRuntimeGetVersion(int *v);\nint main(void) { int v = -1; cudaRuntimeGetVersion(&v); puts(\"called\"); return v == -2; }",
    );
    let program = folder.0.join("program");
    let status = Command::new("cc")
        .arg("-o")
        .args([&program, Path::new(&source), &stub])
        .status();
    assert!(status.unwrap().success());
    let output = run(&[], &program, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "called\n");
    assert_eq!(text(&output.stderr), "");
}

/// Programs load the runtime library also by its name without a version, when they run, or since they were linked with such a library.
#[test]
fn the_runtime_library_without_a_version_is_found() {
    let folder = Folder::new("exec-unversioned");
    let source = folder.file("stub.c", "int cudaRuntimeGetVersion(int *v) { return 0; }");
    let stub = folder.0.join("libcudart.so");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libcudart.so", "-o"])
        .args([&stub, Path::new(&source)])
        .status();
    assert!(status.unwrap().success());
    let linked = folder.file(
        "linked.c",
        "int cudaRuntimeGetVersion(int *v);\nint main(void) { int v = -1; cudaRuntimeGetVersion(&v); return v != 13020; }",
    );
    let loading = folder.file(
        "loading.c",
        "#include <dlfcn.h>\nint main(void) { void *library = dlopen(\"libcudart.so\", RTLD_NOW); if (!library) return 1;\n\
         int (*version)(int *) = (int (*)(int *))dlsym(library, \"cudaRuntimeGetVersion\"); int v = -1; version(&v); return v != 13020; }",
    );
    for (source, library) in [(linked, Some(&stub)), (loading, None)] {
        let program = folder.0.join("program");
        let mut compiler = Command::new("cc");
        compiler.arg("-o").args([&program, Path::new(&source)]);
        let status = compiler.args(library).arg("-ldl").status();
        assert!(status.unwrap().success());
        let output = run(&[], &program, &[]);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{source}: {}",
            text(&output.stderr)
        );
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn ptxas_passes_correct_ptx_on() {
    let folder = Folder::new("exec-ptxas");
    let ptxas = folder.0.join("libraries/ptxas");
    let output = Command::new(env!("CARGO_BIN_EXE_ptxkit"))
        .args(["exec", "--cc", "9.0", "--library"])
        .arg(library())
        .arg("--libraries")
        .arg(folder.0.join("libraries"))
        .output()
        .unwrap();
    let variables = text(&output.stdout);
    assert!(
        variables.contains("export LD_LIBRARY_PATH='"),
        "{variables}"
    );
    assert!(
        variables.contains("export PTXKIT_CUDA_CC='9.0'"),
        "{variables}"
    );
    let result = folder.0.join("kernels.cubin");
    let run = |input: &str, target: &str| {
        Command::new(&ptxas)
            .args(["-lineinfo", "-v", target, input, "-o"])
            .arg(&result)
            .output()
            .unwrap()
    };
    let output = run(KERNELS, "--gpu-name=sm_90a");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fs::read(&result).unwrap(), fs::read(KERNELS).unwrap());
    let output = run(KERNELS, "--gpu-name=sm_70");
    assert_eq!(output.status.code(), Some(2));
    let bad = folder.file("bad.ptx", crate::support::BAD);
    let output = run(&bad, "--gpu-name=sm_90");
    assert_eq!(output.status.code(), Some(255));
    assert!(text(&output.stderr).contains("bad.ptx:6:5: error"));
    let version = Command::new(&ptxas).arg("--version").output().unwrap();
    assert!(text(&version.stdout).contains("release 13.2, V13.2"));
}
