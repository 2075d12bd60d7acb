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
  /** The largest group of threads of which all execute it or none; `null` if the document is too large. */
  uniform: Uniformity | null;
  /** The largest group whose threads go on to the same place. */
  branch: Uniformity | null;
  /** The names of the lints that report something in it. */
  lints: string[];
}

export type Uniformity = "grid" | "cluster" | "cta" | "warp" | "varying";

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
  /** The instructions that are legal on no target in any version. */
  illegal: Range[];
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

/** A parameter of a kernel: `ptxkit/kernels`. */
export interface KernelParameter {
  name: string | null;
  type: string;
  bytes: number | null;
  /** Whether it may be the address of a buffer. */
  pointer: boolean;
}

export interface Kernel {
  name: string;
  demangled: string | null;
  parameters: KernelParameter[];
}

/** An argument for a parameter. */
export type Argument = { value: string } | { buffer: { type: string; count: number; fill: string; values: string } };

/** A launch: `ptxkit/run`. */
export interface Launch {
  kernel: string;
  grid: [number, number, number];
  block: [number, number, number];
  shared: number;
  steps: number;
  checks: string[];
  profile: boolean;
  arguments: Argument[];
}

/** What ended a launch, or what a checker found. */
export interface RunProblem {
  code: string | null;
  message: string;
  help: string | null;
  range: Range | null;
}

/** A buffer after a launch. */
export interface BufferAfter {
  /** The index of the parameter. */
  parameter: number;
  type: string;
  count: number;
  changed: number;
  /** The first ones. */
  values: string[];
  /** Elements at equal distances; `null` where one is not finite. */
  samples: (number | null)[];
}

/** What a launch did. */
export interface Ran {
  /** `null` if it failed. */
  steps: number | null;
  output: string;
  error: RunProblem | null;
  findings: RunProblem[];
  buffers: BufferAfter[];
  profile: { line: number; executions: number; lanes: number; bytes: number }[] | null;
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
