const RESOURCES = { global_memory: "global memory", shared_memory: "shared memory", tensor_cores: "tensor cores", half: "16-bit arithmetic", single: "single precision", double: "double precision", issue_slots: "issue slots" };

/** `1.25 ms` */
function duration(microseconds) {
  const [number, unit] = microseconds >= 1e6 ? [microseconds / 1e6, "s"] : microseconds >= 1e3 ? [microseconds / 1e3, "ms"] : [microseconds, "µs"];
  return `${number >= 100 ? number.toFixed(0) : number.toPrecision(3)} ${unit}`;
}

/** The place of a launch in a roofline plot: operations per byte, and operations per second if the longest time of a resource is the whole time. */
function rooflinePoint(launch) {
  const time = launch.times[0]?.microseconds;
  if (!launch.flops || !launch.global_bytes || !time) return null;
  return { intensity: launch.flops / launch.global_bytes, performance: launch.flops / time * 1e6, limit: launch.times[0].resource };
}

/** The launches on a device in one roofline plot: a roof of the bandwidth, and one for each kind of arithmetic. */
function devicePlot(points) {
  const { device, device_source: source, roofs } = points[0].row.launch;
  const bandwidth = roofs.bandwidth * 1e9, peaks = roofs.peaks.map((peak) => ({ name: RESOURCES[peak.resource], rate: peak.teraflops * 1e12 }));
  const ridges = peaks.map((peak) => peak.rate / bandwidth), intensities = points.map((p) => p.intensity);
  const least = Math.min(...intensities, ...ridges) / 3;
  const plot = logarithmicPlot([...intensities, ...ridges, least], [...points.map((p) => p.performance), ...peaks.map((peak) => peak.rate), least * bandwidth], { x: "FLOP per byte of global memory", y: "FLOP per second" });
  const line = (x1, y1, x2, y2) => shape("line", { class: "roof", x1: plot.x(x1), y1: plot.y(y1), x2: plot.x(x2), y2: plot.y(y2) });
  const highest = Math.max(...peaks.map((peak) => peak.rate));
  const start = Math.max(plot.lowest, plot.bottom / bandwidth);
  const lines = [line(start, start * bandwidth, highest / bandwidth, highest)], names = [];
  let previous = -Infinity;
  for (const peak of peaks) {
    lines.push(line(peak.rate / bandwidth, peak.rate, plot.highest, peak.rate));
    // Peaks of the same rate have one line, and names of close ones would cover each other.
    const y = Math.max(plot.y(peak.rate) - 4, previous + 12);
    names.push(shape("text", { class: "value", x: plot.x(plot.highest) - 4, y, "text-anchor": "end" }, `${peak.name} ${amount(peak.rate)}FLOP/s`));
    previous = y;
  }
  const places = points.map(({ row, index, intensity, performance }) => ({ row, index, x: plot.x(intensity), y: plot.y(performance) }));
  const details = (row) => { const point = rooflinePoint(row.launch); return `${amount(point.intensity)} FLOP/byte, at most ${amount(point.performance)}FLOP/s: limited by ${RESOURCES[point.limit]}`; };
  return element("div", {},
    shape("svg", { width: plot.width, height: plot.height, viewBox: `0 0 ${plot.width} ${plot.height}`, role: "group", "aria-label": `Roofline of ${device}` }, plot.axes, lines, names, ...functionMarks(places, plot.width, details)),
    element("p", { class: "dim" }, `${device}, ${amount(bandwidth)}B/s of global memory (${source}). A mark below the roofs is limited by shared memory or issue slots. Caches raise the real performance; latencies and bank conflicts lower it.`));
}

/** A roofline plot for each device; `null` without a launch that has a place in one. */
function rooflinePlots(functions) {
  const points = functions.map((row, index) => ({ row, index, ...(row.launch ? rooflinePoint(row.launch) : null) })).filter((point) => point.performance);
  if (!points.length) return null;
  const devices = [...new Set(points.map((point) => point.row.launch.device))];
  return [...devices.map((device) => devicePlot(points.filter((point) => point.row.launch.device === device))), intensityLegend(points.map(({ row }) => row))];
}

/** What a launch takes: the waves, the work, and a bar for the time that each resource needs. */
function launchPanel(row, index) {
  const { launch } = row, about = launch.exact ? "" : "about ";
  const waves = launch.waves === null ? "no CTA fits on a multiprocessor" : `${launch.waves.toFixed(2)} waves${launch.waves > 1 ? `, the last one filled to ${launch.last_wave_percent.toFixed(0)} %` : ""}`;
  const longest = launch.times[0]?.microseconds;
  const bars = launch.times.map((time, place) => element("tr", {}, element("td", {}, RESOURCES[time.resource]), element("td", { class: "number" }, `${about}${duration(time.microseconds)}`),
    element("td", {}, element("div", { class: place ? "time" : "time bad", style: `width: ${(time.microseconds / longest * 320).toFixed(1)}px` }))));
  const point = rooflinePoint(launch);
  return [
    element("p", {}, `${counted(launch.grid, "CTA")} on ${launch.device}: ${waves}.`),
    element("p", {}, `${about}${counts(launch.instructions, "instruction")} of warps, ${counts(launch.flops, "floating-point operation")}, ${bytes(launch.global_bytes)} of global and ${bytes(launch.shared_bytes)} of shared memory.`.replace(/^a/, "A")),
    launch.unknown.length ? element("p", {}, `Unknown: ${launch.unknown.join(", ")}. Loops that depend on them count once; give values with --arg.`) : null,
    element("p", { class: "dim" }, "The time that each resource needs at its peak rate, if nothing else took time: the longest is a lower bound of the time of the launch, unless data comes from caches."),
    scrolling(element("table", {}, element("tbody", {}, bars))),
    point ? devicePlot([{ row, index, ...point }]) : null,
  ];
}
