const overview = data("overview");
const main = byId("main"), search = byId("search"), list = byId("list");

const links = overview.functions.map((row, index) => element("a", { href: `#${index}`, title: row.title },
  shortTitle(row.title), element("small", {}, row.title), element("small", {}, `${amount(row.instructions)} instructions, ${row.pressure} live registers`)));
list.append(...links.map((link) => element("li", {}, link)));

/** Shows what the address names: the index of a function, or all of them. */
function show() {
  const index = location.hash === "" ? -1 : Number(location.hash.slice(1));
  const row = overview.functions[index];
  byId("tip").hidden = true;
  links.forEach((link, at) => (at === index ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current")));
  const page = row ? functionPage(row, data(`function${index}`), overview) : overviewPage(overview, choose);
  main.replaceChildren(...page.flat(3).filter(Boolean));
  main.scrollTop = 0;
  links[index]?.scrollIntoView({ block: "nearest" });
}

function choose(index) {
  location.hash = String(index);
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  overview.functions.forEach((row, index) => {
    const text = `${row.title} ${row.name}`.toLowerCase();
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

search.addEventListener("input", filter);
byId("home").addEventListener("click", () => { location.hash = ""; });
addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  const inList = list.contains(event.target) || event.target === search;
  if (event.key === "/" && !typing) {
    search.focus();
    event.preventDefault();
  } else if (event.key === "o" && !typing) {
    location.hash = "";
  } else if (event.key === "Escape") {
    byId("tip").hidden = true;
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
