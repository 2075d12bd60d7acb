// Runs a kernel of the document, without a GPU.

import { button, element } from "../dom";
import type { Kernel } from "../server/protocol";
import { Runner } from "../server/runner";
import { messageOf, type Session } from "../session";
import { note, type Panel } from "./panel";
import { RunForm } from "./run_form";
import { result } from "./run_result";

class RunPanel implements Panel {
  readonly id = "run";
  readonly title = "Run";
  readonly body = element("div", { class: "panel run" });
  private readonly runner = new Runner();
  private readonly form = new RunForm(() => void this.run());
  private readonly start = element("button", { type: "submit" }, "Run");
  private readonly stop = button("Cancel", () => this.runner.cancel(), { hidden: true });
  private readonly results = element("div", { class: "results" });

  constructor(private readonly session: Session) {
    this.form.element.append(element("div", { class: "bar" }, this.start, this.stop));
  }

  async refresh(): Promise<void> {
    const answer = await this.session.ask<Kernel[]>("ptxkit/kernels");
    if (!answer) return;
    if (!answer.result.length) {
      this.body.replaceChildren(note("The document has no kernel."));
      return;
    }
    this.form.show(answer.result);
    if (!this.form.element.isConnected) this.body.replaceChildren(this.form.element, this.results);
  }

  private async run(): Promise<void> {
    this.running(true);
    try {
      const [launch, names] = [this.form.launch, this.form.names];
      this.results.replaceChildren(note("Running…"));
      const ran = await this.runner.run(this.session.text, launch);
      this.results.replaceChildren(...result(ran, names, this.session));
    } catch (error) {
      this.results.replaceChildren(note(messageOf(error), "failure"));
    }
    this.running(false);
  }

  private running(is: boolean): void {
    this.start.disabled = is;
    this.stop.hidden = !is;
    this.results.ariaBusy = String(is);
  }
}

export function runPanel(session: Session): Panel {
  return new RunPanel(session);
}
