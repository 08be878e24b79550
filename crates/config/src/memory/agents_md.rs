//! Decides whether `AGENTS.md` is read. A repository cannot decide that for its user.

use serde_json::Value;
use std::path::Path;
use wire::settings::Settings;

pub(super) const NAMES: [&str; 2] = ["AGENTS.md", ".claude/AGENTS.md"];

/// The value of `instructionFiles` of the built-in `agents-md` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstructionFiles {
    ClaudeMd,
    #[default]
    ClaudeMdOrAgentsMd,
    ClaudeMdAndAgentsMd,
    ManagedOnly,
}

impl InstructionFiles {
    pub fn of(settings: &Settings) -> Self {
        let option = settings.plugin_configs.get("agents-md@builtin");
        let named = option.and_then(|o| o.get("options")?.get("instructionFiles")).and_then(Value::as_str);
        match named {
            Some("claude-md") => Self::ClaudeMd,
            Some("claude-md-and-agents-md") => Self::ClaudeMdAndAgentsMd,
            Some("managed-only") => Self::ManagedOnly,
            Some(_) | None => Self::ClaudeMdOrAgentsMd,
        }
    }

    /// True when `AGENTS.md` files are read in a session in `cwd`.
    pub(super) fn reads_agents(self, cwd: &Path) -> bool {
        match self {
            Self::ClaudeMd | Self::ManagedOnly => false,
            Self::ClaudeMdAndAgentsMd => true,
            Self::ClaudeMdOrAgentsMd => !cwd.ancestors().any(|dir| {
                ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"].iter().any(|name| dir.join(name).exists())
            }),
        }
    }
}
