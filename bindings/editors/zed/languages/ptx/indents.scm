(block "}" @end) @indent
(section "}" @end) @indent
(initializer "}" @end) @indent
(parameters ")" @end) @indent
