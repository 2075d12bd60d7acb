"""`ptxkit lsp` driven by pytest-lsp, a separate client library."""

import os
import subprocess

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

PTXKIT = os.environ["PTXKIT"]
URI = "file:///kernel.ptx"
TEXT = """\
.version 8.0
.target sm_80
.address_size 64
.entry kernel()
{
    .reg .b32 %r<3>;
    mov.u32 %r1, %tid.x;
    add.s32 %r2, %r1, 1;
    ret;
}
"""


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[PTXKIT, "lsp", "--stdio"]))
async def client(lsp_client: LanguageClient):
    capabilities = client_capabilities("visual-studio-code")
    result = await lsp_client.initialize_session(types.InitializeParams(capabilities=capabilities, initialization_options={"lints": False}))
    assert result.server_info.name == "ptxkit"
    document = types.TextDocumentItem(uri=URI, language_id="ptx", version=1, text=TEXT)
    lsp_client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=document))
    await lsp_client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    yield
    await lsp_client.shutdown_session()


DOCUMENT = types.TextDocumentIdentifier(uri=URI)


def position(find: str, after: int = 0) -> types.Position:
    before = TEXT[: TEXT.index(find) + after]
    return types.Position(line=before.count("\n"), character=len(before) - before.rfind("\n") - 1)


async def change(client: LanguageClient, version: int, find: str, new: str):
    """Replaces a text of the document, and gives the diagnostics."""
    place = types.Range(start=position(find), end=position(find, len(find)))
    client.text_document_did_change(
        types.DidChangeTextDocumentParams(
            text_document=types.VersionedTextDocumentIdentifier(uri=URI, version=version),
            content_changes=[types.TextDocumentContentChangePartial(range=place, text=new)],
        )
    )
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return client.diagnostics[URI]


@pytest.mark.asyncio
async def test_diagnostics_and_fixes(client: LanguageClient):
    assert not client.diagnostics[URI]
    [wrong] = await change(client, 2, "%r1, 1", "%r1, %r7")
    assert wrong.code == "PTX0206" and wrong.severity == types.DiagnosticSeverity.Error
    assert wrong.range.start == position("%r1, 1", 5)
    assert wrong.related_information[0].location.uri == URI
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=DOCUMENT, range=wrong.range, context=types.CodeActionContext(diagnostics=[wrong])
        )
    )
    assert actions[0].kind == types.CodeActionKind.QuickFix
    assert actions[0].edit.changes[URI]


@pytest.mark.asyncio
async def test_hover(client: LanguageClient):
    hover = await client.text_document_hover_async(
        types.HoverParams(text_document=DOCUMENT, position=position("add.s32", 1))
    )
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert "add" in hover.contents.value and "```ptx" in hover.contents.value


@pytest.mark.asyncio
async def test_completion_follows_the_target(client: LanguageClient):
    await change(client, 2, "ret", "wg")
    place = position("ret")
    place.character += 2
    params = types.CompletionParams(text_document=DOCUMENT, position=place)
    found = await client.text_document_completion_async(params)
    assert "wgmma" not in [item.label for item in found.items]
    await change(client, 3, "sm_80", "sm_90a")
    found = await client.text_document_completion_async(params)
    assert "wgmma" in [item.label for item in found.items]


@pytest.mark.asyncio
async def test_navigation_and_renaming(client: LanguageClient):
    place = position("%r2", 1)
    found = await client.text_document_definition_async(
        types.DefinitionParams(text_document=DOCUMENT, position=place)
    )
    assert [l.range.start for l in found] == [position("%r<")]
    edit = await client.text_document_rename_async(
        types.RenameParams(text_document=DOCUMENT, position=place, new_name="%value")
    )
    assert len(edit.changes[URI]) == 4


@pytest.mark.asyncio
async def test_outline_tokens_and_formatting(client: LanguageClient):
    symbols = await client.text_document_document_symbol_async(
        types.DocumentSymbolParams(text_document=DOCUMENT)
    )
    assert [s.name for s in symbols] == ["kernel"]
    tokens = await client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(text_document=DOCUMENT)
    )
    assert len(tokens.data) % 5 == 0 and len(tokens.data) > 100
    await change(client, 2, "    ret;", "ret ;")
    edits = await client.text_document_formatting_async(
        types.DocumentFormattingParams(
            text_document=DOCUMENT, options=types.FormattingOptions(tab_size=4, insert_spaces=True)
        )
    )
    assert edits


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def test_malformed_messages_do_not_end_the_server():
    messages = [
        b"no header at all\r\n\r\n",
        frame(b"{ this is not JSON"),
        frame(b"\xff\xfe\x00"),
        frame(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'),
        b"Content-Length: -5\r\n\r\n",
        frame(b'{"jsonrpc":"2.0","id":2,"method":"textDocument/hover","params":[]}'),
        frame(b'{"jsonrpc":"2.0","id":3,"method":"unknown/method"}'),
        frame(b'{"jsonrpc":"2.0","id":4,"method":"shutdown"}'),
        frame(b'{"jsonrpc":"2.0","method":"exit"}'),
    ]
    done = subprocess.run([PTXKIT, "lsp"], input=b"".join(messages), capture_output=True, timeout=60)
    assert done.returncode == 0, done
    assert done.stdout.count(b"Content-Length") == 6, done.stdout
    for code in [b"-32700", b"-32602", b"-32601"]:
        assert code in done.stdout
    assert b'"id":4,"result":null' in done.stdout


def test_the_end_of_the_input_ends_the_server():
    done = subprocess.run([PTXKIT, "lsp"], input=b"", capture_output=True, timeout=60)
    assert done.returncode == 1
