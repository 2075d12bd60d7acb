(function name: (identifier) @name) @item
(declaration (declarator name: (identifier) @name)) @item
