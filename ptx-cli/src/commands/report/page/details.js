/** The page of a function. */
function functionPage(row, index, details, overview) {
  const file = overview.files[row.file];
  return [
    element("h1", { title: names(row) }, breakable(row.short)),
    row.title === row.short ? null : element("p", { class: "signature" }, element("code", {}, row.title)),
    element("p", { class: "dim" }, `${row.kind} at line ${row.line} of ${file.name}, ${file.target ?? "no target"}`),
    cards(row, details), resources(row, details),
    row.launch ? [element("h2", {}, "Launch"), launchPanel(row, index)] : null,
    details.findings.all ? [element("h2", {}, "Findings"), findingTable(details.findings.list), shortened(details.findings, "groups of findings")] : null,
    details.losses.length ? [element("h2", {}, "Lost sectors"), lossTable(details.losses)] : null,
    element("h2", {}, "Code"), codePane(details.code, details.losses),
    element("h2", {}, "Instructions"), workPanel(details.work, overview.assumed_trips),
    details.loops.all ? [element("h2", {}, "Loops"), loopTable(details.loops.list), shortened(details.loops, "loops")] : null,
    details.accesses.all ? [element("h2", {}, "Memory accesses"), accessPanel(details)] : null,
    element("h2", {}, "Live registers"), pressureCurve(details.pressure),
    details.pipelines.all ? [element("h2", {}, "Asynchronous operations"), pipelinePanel(details)] : null,
    element("h2", {}, "Control flow"), flowGraph(details),
  ].flat(3);
}

function cards(row, details) {
  const card = (value, name, isBad) => element("div", { class: isBad ? "card bad" : "card" }, element("b", {}, value), element("span", {}, name));
  const operations = row.flops || row.unknown_products ? atLeast(row.flops, row.unknown_products) : 0;
  const moved = row.unknown_bytes ? (row.bytes ? `≥ ${bytes(row.bytes)}` : "unknown") : bytes(row.bytes);
  return element("div", { class: "cards" },
    card(amount(row.instructions), plural(row.instructions, "instruction")),
    card(operations, `${plural(row.flops, "floating-point operation")} per warp`),
    card(moved, "of global memory per warp"), card(row.intensity === null ? "–" : amount(row.intensity), "FLOP/byte"),
    card(row.pressure, `live ${plural(row.pressure, "register")} of 32 bits`), card(row.shared === null ? "–" : bytes(row.shared), "of shared memory"),
    card(row.excess === null ? "–" : row.excess.toFixed(2), "sectors per required sector", row.excess > 2), card(row.degree === null ? "–" : row.degree, "highest degree of bank conflicts", row.degree > 1));
}

function resources(row, details) {
  const sync = details.synchronization;
  const count = (number, what) => (number ? counted(number, what) : null);
  const barriers = [count(sync.cta_barriers, "CTA barrier"), count(sync.warp_barriers, "warp barrier"), count(sync.cluster_barriers, "cluster barrier"), count(sync.mbarrier_objects, "mbarrier initialization"),
    count(sync.mbarrier_waits, "mbarrier wait"), count(sync.fences, "fence"), sync.barrier_numbers.length ? `named ${sync.barrier_numbers.join(", ")}` : null];
  const classes = Object.entries(details.pressure.classes).filter(([, number]) => number).map(([name, number]) => `${name} ${number}`);
  const facts = [
    ["Requires", details.requires.join(", ")], ["Directives", details.directives.join("; ")], ["Parameters", bytes(details.parameter_bytes)], ["Local memory", details.local_bytes ? bytes(details.local_bytes) : ""],
    ["Registers by class", classes.join(", ")], ["Synchronization", barriers.filter(Boolean).join(", ")], ["Calls", details.calls.join(", ")], ...machineFacts(details), ["Symbol", row.title === row.name ? "" : row.name],
  ];
  return element("dl", {}, facts.filter(([, text]) => text).map(([name, text]) => [element("dt", {}, name), element("dd", { class: name === "Symbol" ? "symbol" : null }, text)]).flat());
}

function findingTable(findings) {
  const columns = [
    { title: "Line", number: true, value: (f) => f.line, show: (f) => lineLink(f.line) }, { title: "Source", value: (f) => f.source },
    { title: "Count", number: true, value: (f) => f.count, about: "The number of findings at the source line", hint: (f) => `lines ${f.lines.join(", ")}${f.count > f.lines.length ? ", …" : ""}` }, { title: "Message", value: (f) => f.message, show: (f) => element("span", {}, withCode(f.message)), class: "message", hint: (f) => f.help },
    { title: "Lint", value: (f) => f.lint, class: "code" }, { title: "Certainty", value: (f) => f.certainty },
  ];
  return sortable(columns, findings, { label: "Findings" });
}

/** `(max(1, n) - 1) × …` */
function times(part) {
  const factors = part.factors.map((f) => {
    const form = f.form ?? `trips of the loop at block ${f.header}`;
    if (f.without_last) return `(${form} − 1)`;
    return form.startsWith("max(") ? form : `(${form})`;
  });
  const text = factors.join(" × ") || "once";
  return part.exact ? text : `at most ${text}`;
}

function workPanel(work, assumed) {
  const columns = [
    { title: "Times", value: times, class: "form", hint: times }, { title: "Mix", show: (p) => mixBar(p.work.classes) }, ...workColumns(work.parts, (p) => p.work),
  ];
  return [
    element("p", { class: "dim" }, `All instructions that a warp executes; symbolic trip counts are assumed to be ${assumed}.`), mixBar(work.total.classes, true), mixLegend(work.total.classes),
    element("h3", {}, "By trip counts"), sortable(columns, work.parts, { label: "Work by trip counts" }),
  ];
}

function loopTable(loops) {
  const count = (l) => (l.trip_count ? (l.trip_count.exact ? l.trip_count.form : `at most ${l.trip_count.form}`) : "unknown");
  const columns = [
    { title: "Loop", value: (l) => l.header, show: (l) => `${"  ".repeat(l.depth - 1)}${l.label ?? `block ${l.header}`}`, class: "code" }, { title: "Line", number: true, value: (l) => l.line }, { title: "Source", value: (l) => l.source },
    { title: "Trip count", value: count, class: "form", hint: count }, { title: "Mix", show: (l) => mixBar(l.iteration.classes) }, ...workColumns(loops, (l) => l.iteration),
  ];
  return [element("p", { class: "dim" }, "One iteration of each loop, with inner loops multiplied by their trip counts, or once if these are symbolic."), sortable(columns, loops, { label: "Loops" })];
}

function accessPanel(details) {
  const pattern = (a) => (a.pattern === "strided" ? `strided ${a.stride}` : a.pattern ?? "unknown");
  const isBad = (a) => a.sectors > a.least || a.degree > 1;
  const columns = [
    { title: "Line", number: true, value: (a) => a.line, show: (a) => lineLink(a.line) }, { title: "Source", value: (a) => a.source }, { title: "Instruction", value: (a) => a.mnemonic, class: "code" }, { title: "Space", value: (a) => a.space },
    { title: "Depth", number: true, value: (a) => a.depth, about: "The number of loops that contain it" }, { title: "Bytes", number: true, value: (a) => a.bytes, about: "Bytes per thread" }, { title: "Elements", number: true, value: (a) => a.vector, about: "Elements of a vector" },
    { title: "Pattern", value: pattern, about: "The access pattern of the lanes" }, { title: "Sectors", number: true, value: (a) => a.sectors, class: "cost", about: "32-byte sectors per warp" }, { title: "Least", number: true, value: (a) => a.least, about: "For contiguous addresses" },
    { title: "Degree", number: true, value: (a) => a.degree, class: "cost", about: "Degree of bank conflicts" }, { title: "Object", value: (a) => a.object, class: "name" }, { title: "Address", value: (a) => a.address, class: "code form", hint: (a) => a.address },
  ];
  const plot = (title, drawn) => (drawn ? element("div", {}, element("h3", {}, title), drawn) : null);
  const adjacent = details.adjacent.list.map((group) => element("li", {}, `Lines ${group.lines.join(", ")} could be combined into one access of ${group.bytes} bytes`));
  return [
    element("div", { class: "plots" }, plot("Sectors of requests to global memory", histogram(details.sectors, "sectors", 17)), plot("Bank conflicts of requests to shared memory", histogram(details.degrees, "degree", 2))),
    details.unknown_patterns ? element("p", { class: "dim" }, `The access pattern is unknown for ${details.unknown_patterns} of ${counted(details.accesses.all, "access", "accesses")}.`) : null,
    sortable(columns, details.accesses.list, { label: "Accesses", row: (a) => ({ class: isBad(a) ? "bad" : null }) }), shortened(details.accesses, "accesses"),
    adjacent.length ? [element("h3", {}, "Accesses that could be combined"), element("ul", {}, adjacent), shortened(details.adjacent, "groups")] : null,
  ].flat(2);
}

function pipelinePanel(details) {
  const title = (p) => (p.header === null ? "Outside of loops" : `Loop at block ${p.header}`);
  const panels = details.pipelines.list.map((p) => [element("h3", {}, title(p)), timeline(p.steps.list), shortened(p.steps, "steps")]);
  return [element("p", { class: "dim" }, "Instructions in text order, and the groups in flight after each of them."), panels, shortened(details.pipelines, "loops")].flat(3);
}
