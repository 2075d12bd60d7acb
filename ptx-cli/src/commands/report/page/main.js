const overview = data("overview");
const main = byId("main"), search = byId("search"), list = byId("list");

const links = overview.functions.map((row, index) => element("a", { href: `#${index}`, title: names(row) },
  element("span", {}, breakable(row.short)), element("small", {}, `${counts(row.instructions, "instruction")}, ${counts(row.pressure, "live register")}`)));
list.append(...links.map((link) => element("li", {}, link)));

const narrow = matchMedia("(max-width: 760px)");

/** The width of the plots that are shown. */
let shownWidth = 0;

/** Shows what the address names: the index of a function, or all of them. */
function show() {
  const index = location.hash === "" ? -1 : Number(location.hash.slice(1));
  const row = overview.functions[index];
  byId("tip").hidden = true;
  links.forEach((link, at) => (at === index ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  const page = row ? functionPage(row, index, data(`function${index}`), overview) : overviewPage(overview);
  main.replaceChildren(...page.flat(3).filter(Boolean));
  shownWidth = plotWidth();
  main.scrollTop = 0;
  links[index]?.scrollIntoView({ block: "nearest" });
  // In a small window, the list covers the page as long as it has the focus.
  if (narrow.matches) main.focus({ preventScroll: true });
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  overview.functions.forEach((row, index) => {
    const text = `${row.short} ${row.title} ${row.name}`.toLowerCase();
    links[index].parentElement.hidden = !words.every((word) => text.includes(word));
  });
}

/** Moves the focus to another function in the list. */
function move(by) {
  const shown = links.filter((link) => !link.parentElement.hidden);
  const at = shown.indexOf(document.activeElement);
  const next = shown[at < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.max(0, Math.min(shown.length - 1, at + by))];
  next?.focus();
}

function toggleKeys() {
  byId("keys").hidden = !byId("keys").hidden;
}

search.addEventListener("input", filter);
byId("help").addEventListener("click", toggleKeys);
byId("home").addEventListener("click", () => { location.hash = ""; });
addEventListener("hashchange", show);
addEventListener("resize", () => {
  if (plotWidth() === shownWidth) return;
  const { scrollTop } = main;
  show();
  main.scrollTop = scrollTop;
});
addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  const inList = list.contains(event.target) || event.target === search;
  if (event.key === "/" && !typing) {
    search.focus();
    event.preventDefault();
  } else if (event.key === "o" && !typing) {
    location.hash = "";
  } else if (event.key === "?" && !typing) {
    toggleKeys();
  } else if (event.key === "Escape") {
    byId("tip").hidden = byId("keys").hidden = true;
    if (typing) main.focus();
  } else if (inList && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    move(event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
  } else if (event.key === "Enter" && event.target === search) {
    links.find((link) => !link.parentElement.hidden)?.click();
  }
});
if (overview.functions.length === 1 && location.hash === "") location.hash = "0";
else show();
