// The buttons above the editor.

import { examples, load } from "./document/examples";
import { chooseFile, download } from "./document/files";
import { button, element } from "./dom";
import { messageOf, type Session } from "./session";

interface Actions {
  invertTheme(): void;
  /** Makes a link to the document. */
  link(): Promise<string>;
}

export function toolbar(session: Session, { invertTheme, link }: Actions): HTMLElement {
  const said = element("span", { role: "status", class: "said" });
  const say = (text: string): void => void (said.textContent = text);
  const format = async (): Promise<void> => say((await session.format()) ?? "Formatted");
  return element(
    "header",
    {},
    element("h1", {}, "PTX playground"),
    exampleMenu(session, say),
    button("Open…", () => chooseFile(session)),
    button("Download", () => download(session)),
    button("Format", () => void format(), { title: "Shift+Alt+F" }),
    button("Copy link", () => void link().then(copy).then(say, (error) => say(messageOf(error)))),
    button("Light/dark", invertTheme, { "aria-label": "Light/dark colors" }),
    said,
  );
}

async function copy(address: string): Promise<string> {
  try {
    await navigator.clipboard.writeText(address);
    return "Link copied";
  } catch {
    return "The link is in the address bar";
  }
}

function exampleMenu(session: Session, say: (text: string) => void): HTMLElement {
  const options = examples.map(({ title, file }) => element("option", { value: file }, title));
  const select = element("select", { "aria-label": "Open an example" }, element("option", { value: "" }, "Examples"), ...options);
  select.addEventListener("change", () => {
    const example = examples.find(({ file }) => file === select.value);
    select.value = "";
    if (example) load(example).then((text) => session.open(text, example.file), (error) => say(messageOf(error)));
  });
  return select;
}
