//! The manual page, made from the output of `--help`.

use super::{Facts, date};
use std::fmt::Write;

/// Renders the page; `help` is the output of `gimlet --help`.
pub(super) fn page(help: &str, facts: &Facts) -> String {
    let mut page = format!(
        ".TH GIMLET 1 \"{}\" \"gimlet {}\" \"User Commands\"\n.SH NAME\ngimlet \\- {}\n.SH SYNOPSIS\n",
        date(facts.time),
        facts.version,
        roff(super::SUMMARY)
    );
    let mut is_first_usage = true;
    for line in help.lines().skip(1) {
        if let Some(usage) = line.strip_prefix("Usage:").or_else(|| line.strip_prefix("       gimlet").map(|_| line)) {
            let gap = if is_first_usage { "" } else { ".br\n" };
            writeln!(page, "{gap}{}", roff(usage.trim())).ok();
            is_first_usage = false;
        } else if let Some(entry) = line.strip_prefix("  ") {
            page.push_str(&item(entry));
        } else if let Some(title) = line.strip_suffix(':') {
            writeln!(page, ".SH {}", roff(&title.to_uppercase())).ok();
        } else if !line.is_empty() {
            writeln!(page, ".PP\n{}", roff(line)).ok();
        }
    }
    page.push_str(".SH FILES\n.TP\n.B ~/.claude/settings.json\nYour settings; \\fBgimlet config explain\\fR says where a value comes from.\n");
    page.push_str(".TP\n.B ~/.claude/projects\nTranscripts of sessions.\n");
    page
}

/// An option or a command with its description.
fn item(entry: &str) -> String {
    let entry = entry.trim_start();
    match entry.split_once("  ") {
        Some((term, text)) => format!(".TP\n.B {}\n{}\n", roff(term), roff(text.trim())),
        None => format!(".TP\n.B {}\n\n", roff(entry)),
    }
}

/// Escapes text for the formatter.
fn roff(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_commands_become_items() {
        let help = "gimlet, an agent\n\nUsage: gimlet [options] [prompt]\n       gimlet <command>\n\nRunning:\n  -p, --print          Print the answer\n      --name <text>    .dots \\ and \"quotes\"\n\nCommands:\n  demo  Watch it\n";
        let facts = Facts { version: "1.2.3".into(), time: 0, compression: 1 };
        let page = page(help, &facts);
        for part in [
            ".TH GIMLET 1 \"1970-01-01\" \"gimlet 1.2.3\"",
            ".SH SYNOPSIS\ngimlet [options] [prompt]\n.br\ngimlet <command>\n",
            ".SH RUNNING\n.TP\n.B \\-p, \\-\\-print\nPrint the answer\n",
            ".TP\n.B \\-\\-name <text>\n\\&.dots \\e and \\(dqquotes\\(dq\n",
            ".SH COMMANDS\n.TP\n.B demo\nWatch it\n",
        ] {
            assert!(page.contains(part), "{part}\n---\n{page}");
        }
    }
}
