// The requests of the language server that the protocol does not have. docs/editors.md describes them.

import type { Range } from "vscode-languageserver-protocol";

/** A function with a body: `ptxkit/functions`. */
export interface FunctionInfo {
  name: string;
  demangled: string | null;
  kind: "kernel" | "function";
  range: Range;
}

/** A basic block: `ptxkit/controlFlow`. */
export interface Block {
  id: number;
  range: Range;
  /** `null` if there are too many in the function. */
  liveIn: string[] | null;
  liveOut: string[] | null;
  pressure: number;
  loopDepth: number;
}

export interface ControlFlow {
  svg: string;
  blocks: Block[];
}

/** The live registers at a statement: `ptxkit/liveness`. */
export interface LiveLine {
  line: number;
  /** `null` if there are too many in the function. */
  live: string[] | null;
  /** In units of 32 bits. */
  total: number;
  pressure: Record<string, number>;
}

export interface Liveness {
  peak: { total: number; line: number | null; perClass: Record<string, number> };
  lines: LiveLine[];
}

/** What excludes a target. */
export interface Reason {
  text: string;
  range: Range;
}

/** Where a function or the module is legal. */
export interface Needs {
  /** The lowest PTX version on any target. */
  version: string | null;
  /** The lowest PTX version on each target, `null` where it is not legal. */
  versions: (string | null)[];
  reasons: Reason[];
}

export interface FunctionNeeds extends Needs {
  name: string;
  demangled: string | null;
  kind: "kernel" | "function";
}

/** `ptxkit/requirements` */
export interface Requirements {
  targets: string[];
  functions: FunctionNeeds[];
  module: Needs;
}

/** An option of a rewrite: `ptxkit/rewrites`. */
export interface RewriteOption {
  name: string;
  kind: "bool" | "string" | "number" | "choice";
  choices?: string[];
  minimum?: number;
  maximum?: number;
  /** Without one, a value has to be given. */
  default?: string | number | boolean;
  description: string;
}

export interface Rewrite {
  name: string;
  title: string;
  description: string;
  options: RewriteOption[];
}

/** `ptxkit/rewrite` */
export interface Rewritten {
  text: string;
  /** What could not be done. */
  notes: string[];
}

/** A function in the answer to `ptxkit/statistics`, which is the one of `ptxkit stats --json`. */
export interface Statistics {
  name: string;
  demangled: string | null;
  kind: "entry" | "func";
  instructions: number;
  families: Record<string, number>;
  tensor_core: { arithmetic: number; moves: number };
  barriers: number;
  calls: number;
  memory: { space: string; access: string; bytes: number | null; vector: number; count: number }[];
  blocks: number;
  loops: number;
  loop_depth: number;
  loop_list: { label: string | null; line: number | null; depth: number; blocks: number; total_instructions: number }[];
  pressure: { max_b32_units: number; by_class: Record<string, number> };
  shared_bytes: number;
  local_bytes: number;
  requires: { target: string; ptx: string; toolkit: string | null }[];
}
