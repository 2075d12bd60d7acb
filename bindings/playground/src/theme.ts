// Light and dark colors: those of the system, until the reader chooses.

const KEY = "ptxkit-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** What the reader has chosen. The storage may be forbidden. */
function chosen(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function isDark(): boolean {
  const choice = document.documentElement.dataset.theme ?? chosen();
  return choice ? choice === "dark" : system.matches;
}

function apply(dark: boolean): void {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

/** Sets the colors, and calls `changed` when they change. Returns what inverts them. */
export function startTheme(changed: (dark: boolean) => void): () => void {
  apply(isDark());
  const set = (dark: boolean): void => {
    apply(dark);
    changed(dark);
  };
  system.addEventListener("change", () => chosen() ?? set(system.matches));
  return () => {
    const dark = !isDark();
    try {
      localStorage.setItem(KEY, dark ? "dark" : "light");
    } catch {
      // The choice lasts as long as the page.
    }
    set(dark);
  };
}
