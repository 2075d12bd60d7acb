[
  (block)
  (section)
  (source_section)
  (code_block)
  (initializer)
  (parameters)
] @indent

["}" ")"] @outdent
