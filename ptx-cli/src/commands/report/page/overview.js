/** Whether accesses of a function need more than twice the sectors of contiguous ones, or have bank conflicts. */
const isCostly = (row) => row.excess > 2 || row.degree > 1;

/** The roofline of a launch, or functions by their intensity only. */
function intensity(functions) {
  const roofline = rooflinePlots(functions);
  return roofline ? [element("h2", {}, "Roofline"), roofline] : [element("h2", {}, "Intensity"), intensityPlot(functions)];
}

/** The page of all functions. */
function overviewPage(overview) {
  const link = (row) => element("a", { href: `#${overview.functions.indexOf(row)}` }, breakable(row.short));
  const columns = [
    { title: "Function", value: (row) => row.short, show: link, class: "name", hint: names },
    { title: "Kind", value: (row) => row.kind },
    { title: "Instructions", number: true, value: (row) => row.instructions, about: "In the text" },
    { title: "FLOP", number: true, value: (row) => row.flops, show: (row) => atLeast(row.flops, row.unknown_products), about: "Floating-point operations per warp" },
    { title: "Global bytes", number: true, value: (row) => row.bytes, show: (row) => atLeast(row.bytes, row.unknown_bytes), about: "Bytes per warp" },
    { title: "FLOP/byte", number: true, value: (row) => row.intensity, show: (row) => (row.intensity === null ? "" : amount(row.intensity)) },
    { title: "Live registers", number: true, value: (row) => row.pressure, about: "The maximum, in units of 32 bits" },
    { title: "Shared bytes", number: true, value: (row) => row.shared },
    { title: "Loops", number: true, value: (row) => row.loops },
    { title: "Sectors/least", number: true, value: (row) => row.excess, show: (row) => (row.excess === null ? "" : row.excess.toFixed(2)), about: "Sectors of global accesses, divided by the number that contiguous accesses would need", class: "cost" },
    { title: "Bank conflicts", number: true, value: (row) => row.degree, show: (row) => (row.degree > 1 ? `${row.degree}-fold` : ""), about: "The highest degree", class: "cost" },
    { title: "Findings", number: true, value: (row) => row.findings, about: "Of lints" },
  ];
  const files = overview.files.map((file) => element("p", {}, element("code", {}, file.name), ` PTX ${file.ptx ?? "?"}, ${file.target ?? "no target"}`));
  return [
    element("h1", {}, counted(overview.functions.length, "function")), files,
    element("p", { class: "dim" }, `Numbers apply to a warp with 32 active lanes; symbolic trip counts are assumed to be ${overview.assumed_trips}.`),
    ...intensity(overview.functions),
    element("h2", {}, "Functions"),
    sortable(columns, overview.functions, { label: "Functions", row: (row) => ({ class: isCostly(row) ? "bad" : null }) }),
  ];
}
