; A function contains its parameters; each block contains its registers, variables and labels.
(function) @local.scope
(block) @local.scope

(function name: (identifier) @local.definition.function)
(parameter name: (identifier) @local.definition.parameter)
(declarator name: (identifier) @local.definition.var)
(label name: (identifier) @local.definition)

(identifier) @local.reference
