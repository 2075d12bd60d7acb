-- PTX in Neovim 0.10 or later: copy to ~/.config/nvim/plugin/ptx.lua.
if vim.fn.has("nvim-0.10") == 0 then
  vim.notify("ptx.lua: expected Neovim 0.10 or later", vim.log.levels.WARN)
  return
end

local checkout = vim.fn.expand("~/ptxkit") -- a checkout of the repository, for highlighting with tree-sitter

vim.filetype.add({ extension = { ptx = "ptx" } })

vim.api.nvim_create_autocmd("FileType", {
  pattern = "ptx",
  callback = function(event)
    vim.bo[event.buf].commentstring = "// %s"
    vim.lsp.start({
      name = "ptxkit",
      cmd = { "ptxkit", "lsp" },
      root_dir = vim.fs.root(event.buf, { "ptxkit.toml", ".git" }),
    })
    pcall(vim.treesitter.start, event.buf, "ptx")
  end,
})

-- Only for highlighting with nvim-treesitter: then run :TSInstall ptx once.
vim.api.nvim_create_autocmd("User", {
  pattern = "TSUpdate",
  callback = function()
    require("nvim-treesitter.parsers").ptx = {
      install_info = { path = checkout, location = "bindings/editors/tree-sitter-ptx", queries = "bindings/editors/tree-sitter-ptx/queries" },
    }
  end,
})
