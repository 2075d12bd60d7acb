// Files to begin with. All but the first are from the corpus.

import mistakes from "../../examples/mistakes.ptx?url";
import blackwell from "../../../corpus/compiled/nvcc/blackwell.O3.sm_100a.ptx?url";
import nbody from "../../../corpus/compiled/nvcc/nbody.lineinfo.sm_100f.ptx?url";
import vecadd from "../../../corpus/compiled/nvcc/vecadd.O0.sm_75.ptx?url";
import gelu from "../../../corpus/compiled/triton/gelu_bias.sm_90.ptx?url";
import llvm from "../../../corpus/compiled/llvm/small.llc19.sm_90a.ptx83.ptx?url";
import atomics from "../../../corpus/hand/isa_atomics.ptx?url";

export interface Example {
  title: string;
  file: string;
  url: string;
}

export const examples: readonly Example[] = [
  { title: "A kernel with mistakes", file: "mistakes.ptx", url: mistakes },
  { title: "N-body simulation (nvcc)", file: "nbody.ptx", url: nbody },
  { title: "Vector addition (nvcc, not optimized)", file: "vecadd.ptx", url: vecadd },
  { title: "Tensor cores of Blackwell (nvcc)", file: "blackwell.ptx", url: blackwell },
  { title: "GELU (Triton)", file: "gelu.ptx", url: gelu },
  { title: "Small functions (LLVM)", file: "small.ptx", url: llvm },
  { title: "Atomic operations (written by hand)", file: "atomics.ptx", url: atomics },
];

/** The text of an example. */
export async function load({ url }: Example): Promise<string> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The example could not be loaded (${response.status}).`);
  return response.text();
}
