//! Git's configuration format. Reads what git would read, or says on which line it cannot.

/// One assignment. Section and name are in lower case, as git compares them; the subsection is as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitConfigEntry {
    pub(crate) section: String,
    pub(crate) subsection: Option<String>,
    pub(crate) name: String,
    /// `None` for a name without `=`, which means true.
    pub(crate) value: Option<String>,
}

impl GitConfigEntry {
    pub(crate) fn key(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }
}

/// All assignments in order; the error is the number of the line that is no configuration.
pub(crate) fn parse(text: &str) -> Result<Vec<GitConfigEntry>, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    // To git a NUL ends a text that goes on for us: a section could hide a key that way.
    if let Some(at) = text.find('\0') {
        return Err(1 + text[..at].matches('\n').count());
    }
    let mut reader = GitConfigReader { rest: text.chars().peekable(), line: 1 };
    reader.entries().ok_or(reader.line)
}

/// What git skips; form feed and vertical tab are no blanks to it.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Something that is no configuration.
struct MalformedConfig;

struct GitConfigReader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
}

impl GitConfigReader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        if next == Some('\n') {
            self.line += 1;
        }
        next
    }

    /// `None` at the first thing that is no configuration.
    fn entries(&mut self) -> Option<Vec<GitConfigEntry>> {
        let mut entries = Vec::new();
        let mut header: Option<(String, Option<String>)> = None;
        while let Some(c) = self.rest.peek().copied() {
            if is_blank(c) {
                self.next();
            } else if matches!(c, '#' | ';') {
                self.skip_line();
            } else if c == '[' {
                self.next();
                header = Some(self.header()?);
            } else if c.is_ascii_alphabetic() {
                let (section, subsection) = header.clone()?;
                let name = self.name();
                entries.push(GitConfigEntry { section, subsection, name, value: self.value().ok()? });
            } else {
                return None;
            }
        }
        Some(entries)
    }

    fn skip_line(&mut self) {
        while self.rest.peek().is_some_and(|c| *c != '\n') {
            self.next();
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '-') {
            name.push(c.to_ascii_lowercase());
        }
        name
    }

    fn skip_blanks(&mut self) {
        while self.rest.next_if(|c| is_blank(*c) && *c != '\n').is_some() {}
    }

    /// The text in brackets: `[section]`, `[section "subsection"]` or the old `[section.subsection]`.
    fn header(&mut self) -> Option<(String, Option<String>)> {
        let mut section = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.')) {
            section.push(c.to_ascii_lowercase());
        }
        if section.is_empty() {
            return None;
        }
        self.skip_blanks();
        match self.next()? {
            ']' => Some(match section.split_once('.') {
                Some((section, subsection)) => (section.to_owned(), Some(subsection.to_owned())),
                None => (section, None),
            }),
            '"' => {
                let subsection = self.quoted()?;
                if self.next()? != ']' {
                    return None;
                }
                // `[a.b "c"]` is the section `a` with the subsection `b.c`.
                Some(match section.split_once('.') {
                    Some((section, first)) => (section.to_owned(), Some(format!("{first}.{subsection}"))),
                    None => (section, Some(subsection)),
                })
            }
            _ => None,
        }
    }

    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                '"' => return Some(text),
                '\\' => text.push(self.next().filter(|c| *c != '\n')?),
                '\n' => return None,
                c => text.push(c),
            }
        }
    }

    /// What follows a name, to the end of its line.
    fn value(&mut self) -> Result<Option<String>, MalformedConfig> {
        self.skip_blanks();
        match self.next() {
            None | Some('\n') => return Ok(None),
            Some('=') => {}
            Some(_) => return Err(MalformedConfig),
        }
        let (mut text, mut blanks, mut in_quotes) = (String::new(), String::new(), false);
        loop {
            let c = match self.next() {
                None | Some('\n') => return if in_quotes { Err(MalformedConfig) } else { Ok(Some(text)) },
                Some(c) => c,
            };
            if is_blank(c) && !in_quotes {
                // Leading and trailing blanks are no part of the value.
                if !text.is_empty() {
                    blanks.push(c);
                }
                continue;
            }
            if matches!(c, '#' | ';') && !in_quotes {
                self.skip_line();
                continue;
            }
            text.push_str(&std::mem::take(&mut blanks));
            match c {
                '"' => in_quotes = !in_quotes,
                '\\' => match self.next().ok_or(MalformedConfig)? {
                    '\n' => {}
                    't' => text.push('\t'),
                    'b' => text.push('\u{8}'),
                    'n' => text.push('\n'),
                    c @ ('\\' | '"') => text.push(c),
                    _ => return Err(MalformedConfig),
                },
                c => text.push(c),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let value = |entry: &GitConfigEntry| entry.value.clone().unwrap_or_else(|| "<true>".into());
        parse(text).unwrap().iter().map(|entry| format!("{}={}", entry.key(), value(entry))).collect()
    }

    #[test]
    fn configuration_is_read_as_git_reads_it() {
        // [F-A2]
        let text = "\u{feff}# c\n[CORE] FsMonitor = x ; c\r\n\tbare\n[filter \"A b\\\"\"]\n clean = \"a # b\" \\\n  c  # d\n\
                    [Old.Style]\nk=v\\tw\n[a.b \"C\"]\nn=\n[x]y=1";
        assert_eq!(
            shown(text),
            [
                "core.fsmonitor=x",
                "core.bare=<true>",
                "filter.A b\".clean=a # b   c",
                "old.style.k=v\tw",
                "a.b.C.n=",
                "x.y=1"
            ]
        );
        for (text, line) in [
            ("[a\n", 2),
            ("k = v", 1),
            ("[a]\n\nk v", 3),
            ("[a]\nk=\"x", 2),
            ("[a \"b\nc\"]", 2),
            ("[a]\nk=\\q", 2),
            ("[a]\n[b \"c\0\"]", 2),
            ("\u{c}[a]", 1),
        ] {
            assert_eq!(parse(text), Err(line), "{text}");
        }
    }
}
