// Runs ptxkit.
const { spawn } = require("node:child_process");

/** The output of a command that reads `input`; an error has what the program says. */
function run(program, args, input, limit = 60_000) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { timeout: limit });
    const output = { stdout: [], stderr: [] };
    for (const stream of ["stdout", "stderr"]) child[stream].on("data", (data) => output[stream].push(data));
    const text = (stream) => Buffer.concat(output[stream]).toString("utf8");
    child.on("error", reject);
    // A program that ends early does not read its input.
    child.stdin.on("error", () => {});
    child.on("close", (status, signal) => {
      if (status === 0) resolve(text("stdout"));
      else reject(new Error(text("stderr").trim() || `${program} ended with ${signal ?? `status ${status}`}`));
    });
    child.stdin.end(input ?? "");
  });
}

/** Why the program cannot be used, as a sentence; `undefined` where it can be used. */
async function problem(program) {
  try {
    await run(program, ["lsp", "--help"], "", 10_000);
    return undefined;
  } catch (error) {
    if (error.code === "ENOENT") return `The program \`${program}\` was not found.`;
    if (error.code === "EACCES") return `The program \`${program}\` cannot be executed.`;
    return `The program \`${program}\` has no language server: ${error.message.split("\n")[0]}`;
  }
}

module.exports = { problem, run };
