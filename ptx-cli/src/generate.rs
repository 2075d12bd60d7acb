//! The man page and completions for shells, made from the command line.

use std::io::{self, Write as _};

use anyhow::Result;
use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

/// The outputs of `--generate`.
#[derive(Copy, Clone, Debug, ValueEnum)]
pub(crate) enum Generate {
    /// A man page, for example for ~/.local/share/man/man1/ptxkit.1
    Man,
    /// For ~/.local/share/bash-completion/completions/ptxkit
    CompletionsBash,
    CompletionsElvish,
    /// For ~/.config/fish/completions/ptxkit.fish
    CompletionsFish,
    CompletionsPowershell,
    /// For a file _ptxkit in a directory of $fpath
    CompletionsZsh,
}

impl Generate {
    /// Writes the page or the completions to standard output.
    pub(crate) fn write(self, command: Command) -> Result<()> {
        let mut out = io::stdout().lock();
        match self.shell() {
            Some(shell) => {
                let name = command.get_name().to_owned();
                let mut text = Vec::new();
                clap_complete::generate(shell, &mut command.clone(), name, &mut text);
                out.write_all(&text)?;
            }
            None => out.write_all(&man(command)?)?,
        }
        Ok(out.flush()?)
    }

    fn shell(self) -> Option<Shell> {
        Some(match self {
            Self::Man => return None,
            Self::CompletionsBash => Shell::Bash,
            Self::CompletionsElvish => Shell::Elvish,
            Self::CompletionsFish => Shell::Fish,
            Self::CompletionsPowershell => Shell::PowerShell,
            Self::CompletionsZsh => Shell::Zsh,
        })
    }
}

/// A man page for the program, with a section for each command.
fn man(mut command: Command) -> Result<Vec<u8>> {
    command.build();
    let mut page = Vec::new();
    let program = Man::new(command.clone());
    program.render_title(&mut page)?;
    program.render_name_section(&mut page)?;
    program.render_synopsis_section(&mut page)?;
    program.render_description_section(&mut page)?;
    program.render_options_section(&mut page)?;
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let title = format!(".SH \"PTXKIT {}\"\n", sub.get_name().to_uppercase());
        page.extend_from_slice(title.as_bytes());
        let mut text = Vec::new();
        // Global options are described once, for the program.
        let command = sub.clone().mut_args(|arg| {
            let is_global = arg.is_global_set();
            if is_global { arg.hide(true) } else { arg }
        });
        let section = Man::new(command);
        section.render_synopsis_section(&mut text)?;
        section.render_description_section(&mut text)?;
        section.render_options_section(&mut text)?;
        section.render_extra_section(&mut text)?;
        let text = String::from_utf8(text)?.replace("\n.SH ", "\n.SS ");
        page.extend_from_slice(text.as_bytes());
    }
    program.render_extra_section(&mut page)?;
    program.render_version_section(&mut page)?;
    Ok(page)
}
