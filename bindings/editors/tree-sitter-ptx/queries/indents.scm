[
  (block)
  (section)
  (source_section)
  (code_block)
  (initializer)
  (parameters)
] @indent.begin

["}" ")"] @indent.branch
(block "}" @indent.end)
(label) @indent.dedent
