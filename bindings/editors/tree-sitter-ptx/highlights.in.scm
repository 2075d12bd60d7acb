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
  (#any-of? @variable.builtin <special-registers>))
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
  (#any-of? @constant.builtin <targets>))

; Instructions
(opcode) @function.builtin
((opcode) @keyword
  (#any-of? @keyword <control-opcodes>))
(modifier) @attribute
((modifier) @type.builtin
  (#any-of? @type.builtin <types>))
((modifier) @keyword.modifier
  (#any-of? @keyword.modifier <spaces>))

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
