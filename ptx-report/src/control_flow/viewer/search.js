
/** Where a text occurs in a graph: pairs of a block and an instruction, -1 for the title of the block. */
function search(graph, text) {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const sources = graph.sources.map((source) => source.full.toLowerCase().includes(wanted));
  const found = [];
  graph.blocks.forEach((block, index) => {
    if (`${block.id}: ${block.label ?? ""}`.toLowerCase().includes(wanted)) found.push({ block: index, inst: -1 });
    block.text.forEach((line, inst) => {
      const { source } = block.insts[inst];
      if (line.toLowerCase().includes(wanted) || (source !== null && sources[source])) found.push({ block: index, inst });
    });
  });
  return found;
}
