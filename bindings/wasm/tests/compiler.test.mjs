// Which compiler `.ci/wasm` chooses, on machines with and without rustup and Debian's packages. Nothing is compiled: the programs are replaced.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";

const SCRIPT = join(import.meta.dirname, "../../../.ci/wasm");
/** What the script needs besides compilers. */
const TOOLS = ["bash", "dirname", "mkdir", "cat", "stat", "gzip", "wc", "rm", "ln", "awk", "nice"];

/** A machine with some programs: each is a script of the shell. `log` is what was run. */
function run(programs, environment = {}) {
  const folder = mkdtempSync(join(tmpdir(), "wasm-compiler-"));
  try {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    for (const tool of TOOLS) {
      const path = process.env.PATH.split(delimiter).map((entry) => join(entry, tool));
      const found = path.find((file) => spawnSync("test", ["-x", file]).status === 0);
      assert(found, tool);
      symlinkSync(found, join(bin, tool));
    }
    for (const [name, text] of Object.entries(programs)) {
      writeFileSync(join(bin, name), `#!${join(bin, "bash")}\nset -eu\necho "${name} $*" >>"${folder}/log"\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    writeFileSync(join(folder, "log"), "");
    const env = { PATH: bin, HOME: folder, SYSROOT: join(folder, "sysroot"), CARGO_TARGET_DIR: join(folder, "target"), ...environment };
    const { status, stdout, stderr } = spawnSync(SCRIPT, [join(folder, "out")], { env, encoding: "utf8" });
    return { status, stdout, stderr, log: readFileSync(join(folder, "log"), "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The compiler, with the standard library of the target if its folder has it. */
const rustc = 'if [ "$1 $2" = "--print target-libdir" ]; then echo "$SYSROOT"; fi';
/** Writes what the script expects, instead of compiling. */
const cargo = `case " $* " in
*" bindgen "*)
  mkdir -p "$CARGO_TARGET_DIR/tool"
  printf '#!%s\\necho module >"$2/ptx_wasm_bg.wasm"\\n' "$(command -v bash)" >"$CARGO_TARGET_DIR/tool/bindgen"
  chmod +x "$CARGO_TARGET_DIR/tool/bindgen" ;;
*) echo "compiler \${RUSTC:-installed}" >>"$HOME/log" ;;
esac`;
const install = 'mkdir -p "$SYSROOT"; echo >"$SYSROOT/libstd-1234.rlib"';
const chmod = 'exec /bin/chmod "$@"';

test("a compiler that has the target is used", () => {
  const { status, log, stderr, stdout } = run({ rustc: `${install}; ${rustc}`, cargo, chmod, rustup: "exit 1", "apt-get": "exit 1" });
  assert.equal(status, 0, stderr);
  assert.match(log, /compiler installed/);
  assert.doesNotMatch(log, /rustup|apt-get|build-std/);
  assert.match(stdout, /ptx_wasm_bg\.wasm: 7 bytes/);
});

test("rustup adds the target", () => {
  const { status, log, stderr } = run({ rustc, cargo, chmod, rustup: `[ "$*" = "target add wasm32-unknown-unknown" ]; ${install}`, "apt-get": "exit 1" });
  assert.equal(status, 0, stderr);
  assert.match(log, /rustup target add wasm32-unknown-unknown[^]*compiler installed/);
  assert.doesNotMatch(log, /apt-get|build-std/);
});

test("Debian's packages are used where rustup fails or is missing", () => {
  const madison = 'echo "rustc-web | 1.96.0+dfsg1 | http://deb.debian.org bookworm/main"';
  const unpack = 'mkdir -p usr/src/rustc-1.96.0/library/std; echo >usr/src/rustc-1.96.0/library/std/Cargo.toml';
  const debian = { "apt-cache": madison, "apt-get": 'echo >"$PWD/one.deb"', dpkg: unpack };
  for (const rustup of [{ rustup: "exit 1" }, {}]) {
    const { status, log, stderr } = run({ rustc, cargo, chmod, ...rustup, ...debian });
    assert.equal(status, 0, stderr);
    assert.match(log, /build-std=std,panic_abort/);
    assert.match(log, /compiler \/.*\/rustc\/1\.96\/usr\/bin\/rustc/);
  }
});

test("without a compiler it says what to do and fails, unless that may be skipped", () => {
  const programs = { rustc, cargo, chmod, rustup: "exit 1" };
  const failed = run(programs);
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /rustup target add wasm32-unknown-unknown/);
  assert.doesNotMatch(failed.log, /cargo/);
  assert.equal(run(programs, { CI: "true" }).status, 1);
  const skipped = run(programs, { SKIP_UNAVAILABLE: "1" });
  assert.equal(skipped.status, 0);
  assert.match(skipped.stdout, /SKIPPED/);
});
