//! A small parser for command text, for hints only: which commands it contains, whether it is one plain command. It
//! never decides permissions. It returns `None` for text it does not understand.

/// Splits `command` at `;`, `&`, `&&`, `|`, `||` and newlines outside quotes, parentheses and braces, into words with
/// quotes removed. `None` when it is not sure: unbalanced quotes or brackets, here-documents, compound keywords.
pub(crate) fn commands(command: &str) -> Option<Vec<Vec<String>>> {
    let mut out = CommandSplitter::default();
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                '\n' => {}
                next => out.push(next),
            },
            '\'' => loop {
                match chars.next()? {
                    '\'' => break out.quoted(),
                    next => out.push(next),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break out.quoted(),
                    '\\' => out.push(chars.next()?),
                    '`' => return None,
                    '$' if chars.peek() == Some(&'(') => return None,
                    next => out.push(next),
                }
            },
            '<' if chars.peek() == Some(&'<') => return None,
            '>' | '<' => {
                // `2>&1` and `>|` are redirections, not separators.
                out.push(c);
                while let Some(next) = chars.next_if(|n| matches!(n, '>' | '&' | '|')) {
                    out.push(next);
                }
            }
            '$' if chars.peek() == Some(&'{') => {
                out.push(c);
                for next in chars.by_ref() {
                    out.push(next);
                    if next == '}' {
                        break;
                    }
                }
            }
            '(' | ')' | '`' => return None,
            '{' | '}' if out.word_is_empty() && chars.peek().is_none_or(|n| !matches!(n, '}' | 'a'..='z')) => {
                return None;
            }
            '#' if out.word_is_empty() => while chars.next_if(|n| *n != '\n').is_some() {},
            ';' | '\n' | '&' | '|' => out.end_command(),
            c if c.is_whitespace() => out.end_word(),
            c => out.push(c),
        }
    }
    out.end_command();
    let known = out.commands.iter().all(|words| !KEYWORDS.contains(&words[0].as_str()));
    known.then_some(out.commands)
}

const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "function"];

#[derive(Default)]
struct CommandSplitter {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
}

impl CommandSplitter {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// `''` is a word too.
    fn quoted(&mut self) {
        self.word.get_or_insert_default();
    }

    fn word_is_empty(&self) -> bool {
        self.word.is_none()
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        let start = words.iter().position(|w| !is_assignment(w)).unwrap_or(0);
        if !words.is_empty() {
            self.commands.push(words[start..].to_vec());
        }
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(char::is_numeric)
    })
}

/// The words of a command that consists of a program and literal arguments only: no expansion, quoting, redirection
/// or second command.
pub(crate) fn plain_words(command: &str) -> Option<Vec<&str>> {
    let literal =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/' | ',' | ':' | '+' | '@' | '%');
    let words: Vec<&str> = command.trim().split(' ').filter(|w| !w.is_empty()).collect();
    (!words.is_empty() && command.trim().chars().all(literal)).then_some(words)
}

/// Whether `command` contains `word` as a separate word, quoted or not.
pub(crate) fn mentions(command: &str, word: &str) -> bool {
    command.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.')).any(|w| w == word)
}

/// The subcommand of `git`, after its global options.
pub(crate) fn git_subcommand(words: &[String]) -> Option<&str> {
    if words.first().map(String::as_str) != Some("git") {
        return None;
    }
    let mut rest = words[1..].iter().map(String::as_str);
    while let Some(word) = rest.next() {
        match word {
            "-C" | "-c" | "--git-dir" | "--work-tree" => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            name => return Some(name),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_lists_and_pipelines() {
        let found = commands("A=1 cd 'a b' && grep -c \"x;y\" f 2>&1 | sort # end; here\necho ''").unwrap();
        assert_eq!(found, [vec!["cd", "a b"], vec!["grep", "-c", "x;y", "f", "2>&1"], vec!["sort"], vec!["echo", ""],]);
    }

    #[test]
    fn braces_that_group_nothing_are_text() {
        let found = commands("find . -exec rm {} \\; && echo ${HOME} {a,b}").unwrap();
        assert_eq!(found[0], ["find", ".", "-exec", "rm", "{}", ";"]);
        assert_eq!(found[1], ["echo", "${HOME}", "{a,b}"]);
    }

    #[test]
    fn says_when_it_is_not_sure() {
        for unsure in [
            "echo \"a",
            "echo 'a",
            "cat <<X\nX",
            "(a)",
            "{ a; }",
            "{ a; } | b",
            "a $(b)",
            "if a; then b; fi",
            "a `b`",
            "a \\",
        ] {
            assert_eq!(commands(unsure), None, "{unsure}");
        }
    }

    #[test]
    fn plain_commands_only() {
        assert_eq!(plain_words("cat  src/a.rs "), Some(vec!["cat", "src/a.rs"]));
        for other in ["cat a|b", "cat $a", "cat 'a'", "cat a\ncat b", "cat *", "cat ~", "a=b cat", ""] {
            assert_eq!(plain_words(other), None, "{other}");
        }
    }

    #[test]
    fn finds_words_and_subcommands() {
        assert!(mentions("cd x && git status", "git"));
        assert!(!mentions("cat .gitignore digit git-lfs", "git"));
        let words: Vec<String> = ["git", "-C", "x", "--no-pager", "diff"].map(String::from).to_vec();
        assert_eq!(git_subcommand(&words), Some("diff"));
    }
}
