// The client of the language server, and the page with control-flow graphs.
const vscode = require("vscode");
const { LanguageClient, RevealOutputChannelOn } = require("vscode-languageclient/node");
const { functionAt } = require("./function-at");
const { problem, run } = require("./program");

/** @type {LanguageClient | undefined} */
let client;
/** Starts and stops, one after another. */
let pending = Promise.resolve();

const setting = () => vscode.workspace.getConfiguration("ptx").get("server.path") || "ptxkit";

function activate(context) {
  const { commands, workspace } = vscode;
  context.subscriptions.push(
    commands.registerCommand("ptx.restartServer", restart),
    commands.registerTextEditorCommand("ptx.showControlFlowGraph", showGraph),
    workspace.onDidChangeConfiguration((event) => ["ptx.server.path", "ptx.lints"].some((name) => event.affectsConfiguration(name)) && restart()),
  );
  return restart();
}

function deactivate() {
  pending = pending.then(stop);
  return pending;
}

function restart() {
  pending = pending.then(stop).then(start, start);
  return pending;
}

async function stop() {
  const old = client;
  client = undefined;
  // A server that crashed cannot be stopped.
  await old?.dispose().catch(() => {});
}

async function start() {
  const program = setting();
  const reason = await problem(program);
  if (reason) return void explain(reason);
  client = new LanguageClient(
    "ptx",
    "PTX",
    { command: program, args: ["lsp"] },
    {
      documentSelector: [{ language: "ptx" }],
      initializationOptions: { lints: vscode.workspace.getConfiguration("ptx").get("lints", true) },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
    },
  );
  await client.start().catch((error) => explain(`The language server did not start: ${error.message}`));
}

/** Shows an error about the program, without waiting for an answer. */
async function explain(message) {
  const [settings, install] = ["Open Settings", "How to Install"];
  const advice = "Install ptxkit, or set `ptx.server.path` to its path.";
  const answer = await vscode.window.showErrorMessage(`${message} ${advice}`, settings, install);
  if (answer === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "ptx.server.path");
  if (answer === install) await vscode.env.openExternal(vscode.Uri.parse("https://github.com/ptxkit/ptxkit#try-it"));
}

/** Shows the control-flow graph of the function at the cursor, of the text as it is in the editor. */
async function showGraph(editor) {
  const text = editor.document.getText();
  const name = functionAt(text, editor.selection.active.line);
  if (!name) return void vscode.window.showInformationMessage("There is no function at the cursor.");
  try {
    const page = await run(setting(), ["cfg", "--format", "html", "--function", name, "-"], text);
    const options = { enableScripts: true, retainContextWhenHidden: true };
    const panel = vscode.window.createWebviewPanel("ptx.controlFlow", name, vscode.ViewColumn.Beside, options);
    panel.webview.html = page;
  } catch (error) {
    await explain(error.code === "ENOENT" ? `The program \`${setting()}\` was not found.` : error.message);
  }
}

module.exports = { activate, deactivate };
