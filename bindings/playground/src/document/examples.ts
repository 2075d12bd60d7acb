// Files to begin with. All but the first are from the corpus.

// Part of the script, since the page begins with it.
import mistakes from "../../examples/mistakes.ptx?raw";
import blackwell from "../../../../corpus/compiled/nvcc/blackwell.O3.sm_100a.ptx?url";
import nbody from "../../../../corpus/compiled/nvcc/nbody.lineinfo.sm_100f.ptx?url";
import vecadd from "../../../../corpus/compiled/nvcc/vecadd.O0.sm_75.ptx?url";
import gelu from "../../../../corpus/compiled/triton/gelu_bias.sm_90.ptx?url";
import llvm from "../../../../corpus/compiled/llvm/small.llc19.sm_90a.ptx83.ptx?url";
import atomics from "../../../../corpus/hand/isa_atomics.ptx?url";

export interface Example {
  title: string;
  file: string;
  text?: string;
  url?: string;
}

export const first: Example & { text: string } = { title: "A kernel with mistakes", file: "mistakes.ptx", text: mistakes };

export const examples: readonly Example[] = [
  first,
  { title: "N-body simulation (nvcc)", file: "nbody.ptx", url: nbody },
  { title: "Vector addition (nvcc, not optimized)", file: "vecadd.ptx", url: vecadd },
  { title: "Tensor cores of Blackwell (nvcc)", file: "blackwell.ptx", url: blackwell },
  { title: "GELU (Triton)", file: "gelu.ptx", url: gelu },
  { title: "Small functions (LLVM)", file: "small.ptx", url: llvm },
  { title: "Atomic operations (written by hand)", file: "atomics.ptx", url: atomics },
];

/** The text of an example. */
export async function load({ text, url }: Example): Promise<string> {
  if (text !== undefined || url === undefined) return text ?? "";
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The example could not be loaded (${response.status}).`);
  return response.text();
}
