-- Neovim as a client of `ptxkit lsp`: nvim --headless -u bindings/editors/neovim/ptx.lua -l neovim.lua
-- The program `ptxkit` is found by PATH.

local folder = vim.fn.tempname()
vim.fn.mkdir(folder, "p")
local path = folder .. "/kernel.ptx"
vim.fn.writefile({
  ".version 8.0",
  ".target sm_80",
  ".address_size 64",
  ".entry kernel()",
  "{",
  "    .reg .b32 %r<3>;",
  "    mov.u32 %r1, %tid.x;",
  "    add.s32 %r2, %r1, %r7;",
  "    ret;",
  "}",
}, path)

local function check(condition, message)
  if not condition then
    io.stderr:write("neovim.lua: " .. message .. "\n")
    os.exit(1)
  end
end

vim.cmd("filetype on")
vim.cmd("source " .. arg[1])
vim.cmd.edit(path)
check(vim.bo.filetype == "ptx", "the file type is " .. vim.bo.filetype)
check(vim.wait(20000, function() return #vim.lsp.get_clients({ bufnr = 0 }) == 1 end), "the server does not start")

-- Diagnostics come, change with the text, and have fixes.
local function codes()
  local errors = vim.diagnostic.get(0, { severity = vim.diagnostic.severity.ERROR })
  return vim.tbl_map(function(d) return d.code end, errors)
end
check(vim.wait(20000, function() return #codes() == 1 end), "no diagnostics")
check(codes()[1] == "PTX0206", "diagnostics are " .. vim.inspect(codes()))
local function request(method, more)
  local params = vim.tbl_extend("force", { textDocument = vim.lsp.util.make_text_document_params() }, more or {})
  local answers = vim.lsp.buf_request_sync(0, method, params, 20000) or {}
  for _, answer in pairs(answers) do
    check(not answer.err, method .. ": " .. vim.inspect(answer.err))
    return answer.result
  end
  check(false, "no answer to " .. method)
end
local place = { line = 7, character = 23 }
local actions = request("textDocument/codeAction", {
  range = { start = place, ["end"] = place },
  context = { diagnostics = {} },
})
check(#actions >= 1 and actions[1].edit, "no fix: " .. vim.inspect(actions))
vim.lsp.util.apply_workspace_edit(actions[1].edit, vim.lsp.get_clients({ bufnr = 0 })[1].offset_encoding)
check(vim.wait(20000, function() return #codes() == 0 end), "the fix leaves " .. vim.inspect(codes()))

-- A change that is typed into the buffer, with a character of two UTF-16 units before it.
vim.api.nvim_buf_set_lines(0, 8, 9, false, { "    /* 😀 */ rett;" })
check(vim.wait(20000, function() return #codes() == 1 end), "no diagnostics after a change")
local wrong = vim.diagnostic.get(0)[1]
check(wrong.lnum == 8 and wrong.col == 15, "the place is " .. wrong.lnum .. ":" .. wrong.col)
vim.api.nvim_buf_set_lines(0, 8, 9, false, { "    ret;" })

local hover = request("textDocument/hover", { position = { line = 7, character = 5 } })
check(hover.contents.value:find("add"), "hover: " .. vim.inspect(hover))
local found = request("textDocument/completion", { position = { line = 8, character = 5 } })
local labels = vim.tbl_map(function(item) return item.label end, found.items)
check(vim.tbl_contains(labels, "red") and not vim.tbl_contains(labels, "add"), "completion: " .. vim.inspect(labels))
local definition = request("textDocument/definition", { position = { line = 7, character = 13 } })
check(definition[1].range.start.line == 5, "definition: " .. vim.inspect(definition))
local symbols = request("textDocument/documentSymbol")
check(symbols[1].name == "kernel", "symbols: " .. vim.inspect(symbols))
check(vim.lsp.get_clients({ bufnr = 0 })[1].server_capabilities.semanticTokensProvider, "no semantic tokens")

-- Renaming and formatting change the buffer.
vim.api.nvim_win_set_cursor(0, { 8, 13 })
vim.lsp.buf.rename("%value")
check(
  vim.wait(20000, function() return vim.fn.getline(6):find("%%value<%d+>") ~= nil end),
  "renamed: " .. table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
)
vim.api.nvim_buf_set_lines(0, 8, 9, false, { "ret ;" })
vim.lsp.buf.format({ async = false, timeout_ms = 20000 })
check(vim.fn.getline(9):find("^%s+ret;$"), "formatted: " .. vim.fn.getline(9))
check(#codes() == 0 or vim.wait(20000, function() return #codes() == 0 end), "errors at the end")

-- With ptxas and nvdisasm, hovers over instructions show machine code.
local ptxas, nvdisasm = os.getenv("PTXAS") or "", os.getenv("NVDISASM") or ""
if ptxas ~= "" and nvdisasm ~= "" then
  vim.cmd.edit({ folder .. "/machine.ptx", bang = true })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, {
    ".version 8.0",
    ".target sm_80",
    ".address_size 64",
    ".visible .entry kernel(.param .u64 p)",
    "{",
    "    .reg .b64 %a;",
    "    .reg .b32 %r;",
    "    ld.param.u64 %a, [p];",
    "    mov.u32 %r, %tid.x;",
    "    st.global.u32 [%a], %r;",
    "    ret;",
    "}",
  })
  local client = vim.lsp.start({ name = "machine code", cmd = { "ptxkit", "lsp", "--ptxas", ptxas, "--nvdisasm", nvdisasm } })
  check(client ~= nil, "no second server")
  check(vim.wait(20000, function()
    local answer = vim.lsp.get_client_by_id(client)
    return answer ~= nil and answer.initialized
  end), "the second server does not start")
  local shows = function()
    local params = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 9, character = 6 } }
    local answer = vim.lsp.get_client_by_id(client):request_sync("textDocument/hover", params, 20000, 0)
    return answer and answer.result and answer.result.contents.value:find("STG") ~= nil
  end
  check(vim.wait(30000, shows, 500), "no machine code in the hover")
end
print("neovim: the server answers\n")
os.exit(0)
