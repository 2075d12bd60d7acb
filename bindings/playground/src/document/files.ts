// Files of the reader: opened, dropped, downloaded. They stay in the browser.

import { element } from "../dom";
import type { Session } from "../session";

async function open(session: Session, file: File): Promise<void> {
  session.open(await file.text(), file.name);
}

/** Asks for a file. */
export function chooseFile(session: Session): void {
  const input = element("input", { type: "file", accept: ".ptx,.txt,text/plain" });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file) void open(session, file);
  });
  input.click();
}

/** Accepts files that are dropped on the page. */
export function acceptDrops(session: Session): void {
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  const mark = (dragging: boolean): void => void document.body.classList.toggle("dragging", dragging);
  const listen = (name: "dragover" | "dragleave" | "drop", react: (event: DragEvent) => void): void =>
    addEventListener(name, (event) => hasFiles(event) && react(event), { capture: true });
  listen("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  listen("dragleave", (event) => event.relatedTarget || mark(false));
  listen("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    mark(false);
    const file = event.dataTransfer?.files[0];
    if (file) void open(session, file);
  });
}

/** Saves the document as a file. */
export function download(session: Session): void {
  const address = URL.createObjectURL(new Blob([session.text], { type: "text/plain" }));
  element("a", { href: address, download: session.fileName }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
