; Edit highlights.in.scm: `cargo xtask codegen` replaces names in angle brackets by the words of the instruction set.

(comment) @comment
(line_marker) @keyword.directive
(string) @string
(integer) @number
(float) @number.float
(warp_size) @constant.builtin
(discard) @variable.builtin

; Names. Later patterns are more specific.
(identifier) @variable
((identifier) @variable.builtin
  (#any-of? @variable.builtin "%tid" "%ntid" "%laneid" "%warpid" "%nwarpid" "%ctaid" "%nctaid" "%smid" "%nsmid" "%gridid" "%is_explicit_cluster" "%clusterid" "%nclusterid" "%cluster_ctaid" "%cluster_nctaid" "%cluster_ctarank" "%cluster_nctarank" "%lanemask_eq" "%lanemask_le" "%lanemask_lt" "%lanemask_ge" "%lanemask_gt" "%clock" "%clock_hi" "%clock64" "%pm0" "%pm1" "%pm2" "%pm3" "%pm4" "%pm5" "%pm6" "%pm7" "%pm0_64" "%pm1_64" "%pm2_64" "%pm3_64" "%pm4_64" "%pm5_64" "%pm6_64" "%pm7_64" "%envreg0" "%envreg1" "%envreg2" "%envreg3" "%envreg4" "%envreg5" "%envreg6" "%envreg7" "%envreg8" "%envreg9" "%envreg10" "%envreg11" "%envreg12" "%envreg13" "%envreg14" "%envreg15" "%envreg16" "%envreg17" "%envreg18" "%envreg19" "%envreg20" "%envreg21" "%envreg22" "%envreg23" "%envreg24" "%envreg25" "%envreg26" "%envreg27" "%envreg28" "%envreg29" "%envreg30" "%envreg31" "%globaltimer" "%globaltimer_lo" "%globaltimer_hi" "%reserved_smem_offset_begin" "%reserved_smem_offset_end" "%reserved_smem_offset_cap" "%reserved_smem_offset_0" "%reserved_smem_offset_1" "%total_smem_size" "%aggr_smem_size" "%dynamic_smem_size" "%current_graph_exec" "%perctamemoryoffset" "%perctamemorysize"))
(parameter name: (identifier) @variable.parameter)
(function name: (identifier) @function)
(alias name: (identifier) @function)
(alias function: (identifier) @function)
(generic . (identifier) @function.builtin)
(field_value field: (identifier) @property)
(label name: (identifier) @label)
(location function: (identifier) @label)
(section_name) @module
(selector) @property
(target target: (identifier) @constant)
((target target: (identifier) @constant.builtin)
  (#any-of? @constant.builtin "sm_10" "sm_11" "sm_12" "sm_13" "sm_20" "sm_21" "sm_30" "sm_32" "sm_35" "sm_37" "sm_50" "sm_52" "sm_53" "sm_60" "sm_61" "sm_62" "sm_70" "sm_72" "sm_75" "sm_80" "sm_86" "sm_87" "sm_88" "sm_89" "sm_90" "sm_90a" "sm_100" "sm_100f" "sm_100a" "sm_101" "sm_101f" "sm_101a" "sm_103" "sm_103f" "sm_103a" "sm_107" "sm_107f" "sm_107a" "sm_110" "sm_110f" "sm_110a" "sm_120" "sm_120f" "sm_120a" "sm_121" "sm_121f" "sm_121a" "texmode_unified" "texmode_independent" "debug" "map_f64_to_f32"))

; Instructions
(opcode) @function.builtin
((opcode) @keyword
  (#any-of? @keyword "bra" "brx" "call" "exit" "ret" "trap"))
(modifier) @attribute
((modifier) @type.builtin
  (#any-of? @type.builtin ".s8" ".s16" ".s32" ".s64" ".u8" ".u16" ".u32" ".u64" ".f16" ".f16x2" ".f32" ".f64" ".b8" ".b16" ".b32" ".b64" ".b128" ".pred" ".bf16" ".tf32" ".e4m3" ".e5m2" ".e2m1" ".e2m3" ".e3m2" ".ue8m0" ".ue4m3" ".ue5m3" ".s2f6" ".f32x2" ".bf16x2" ".e4m3x2" ".e5m2x2" ".e2m3x2" ".e3m2x2" ".ue8m0x2" ".s2f6x2" ".e2m1x2" ".e4m3x4" ".e5m2x4" ".e2m3x4" ".e3m2x4" ".e2m1x4" ".ue5m3x2" ".ue8m0x4" ".e2m1p4x4" ".u16x2" ".s16x2" ".u8x4" ".s8x4" ".b1" ".b2" ".b4" ".u2" ".s2" ".u4" ".s4" ".b4x16" ".b4x16_p64" ".b6x16_p32" ".b6p2x16" ".b8x16" ".b1024" ".texref" ".samplerref" ".surfref"))
((modifier) @keyword.modifier
  (#any-of? @keyword.modifier ".reg" ".sreg" ".const" ".global" ".local" ".param" ".param::entry" ".param::func" ".shared" ".shared::cta" ".shared::cluster" ".tex"))

; Declarations and directives
(type) @type.builtin
(vector_length) @attribute
(space) @keyword.modifier
(space (dimension (integer) @number))
(linkage) @keyword.modifier
(directive) @keyword.directive
(attribute name: _ @attribute)
[
  ".version" ".target" ".address_size" ".entry" ".func" ".attribute" ".align" ".ptr" ".callprototype" ".branchtargets" ".calltargets"
  ".pragma" ".alias" ".loc" ".loc_intermediate" ".file" ".section" ".nv_intermediate_source_section" ".code_block" ".ir_name"
  ".sourceFileName" ".source_begin" ".source_end" "function_name" "inlined_at"
] @keyword.directive

(guard "@" @keyword.conditional)
(guard "!" @operator)
(guard (identifier) @variable)

["+" "-" "*" "/" "%" "<<" ">>" "<=" ">=" "==" "!=" "&" "|" "^" "&&" "||" "~" "!" "?" "="] @operator
[";" "," ":"] @punctuation.delimiter
["(" ")" "[" "]" "{" "}" "<" ">"] @punctuation.bracket
