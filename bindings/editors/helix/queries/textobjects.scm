(function body: (block) @function.inside) @function.around
(parameter) @parameter.inside
(comment)+ @comment.around
