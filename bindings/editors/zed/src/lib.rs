//! Starts `ptxkit lsp`, which has to be on the `PATH`.

use zed_extension_api as zed;

struct Ptx;

impl zed::Extension for Ptx {
    fn new() -> Self {
        Self
    }

    fn language_server_command(
        &mut self,
        _id: &zed::LanguageServerId,
        worktree: &zed::Worktree,
    ) -> zed::Result<zed::Command> {
        let found = worktree.which("ptxkit");
        Ok(zed::Command {
            command: found.ok_or("the program `ptxkit` is not on the PATH: install it with `cargo install --path ptx-cli`")?,
            args: vec!["lsp".into()],
            env: worktree.shell_env(),
        })
    }
}

zed::register_extension!(Ptx);
