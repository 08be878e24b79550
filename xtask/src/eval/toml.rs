//! Reads the part of TOML that task files use: tables, arrays of tables, strings of all four kinds, whole numbers,
//! booleans, arrays and inline tables. The result is a JSON value.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

pub(super) fn parse(text: &str) -> Result<Value> {
    let mut reader = TomlReader { text, at: 0 };
    let mut root = Value::Object(Map::new());
    let mut table: Vec<String> = Vec::new();
    loop {
        reader.skip_blank_lines();
        let Some(first) = reader.peek() else { return Ok(root) };
        let line = reader.line();
        if first == '[' {
            table = reader.header(&mut root).with_context(|| format!("line {line}"))?;
        } else {
            let (keys, value) = reader.pair().with_context(|| format!("line {line}"))?;
            let path: Vec<String> = table.iter().cloned().chain(keys).collect();
            let (last, folders) = path.split_last().context("a key is missing")?;
            let place = descend(&mut root, folders)?;
            place.insert(last.clone(), value);
        }
    }
}

/// The table at a path; of an array of tables, its last one.
fn descend<'a>(root: &'a mut Value, path: &[String]) -> Result<&'a mut Map<String, Value>> {
    let mut place = root;
    for name in path {
        let table = match place {
            Value::Array(items) => items.last_mut().context("an empty array of tables")?,
            other => other,
        };
        let fields = table.as_object_mut().with_context(|| format!("{name} lies in something that is no table"))?;
        place = fields.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
    }
    let table = match place {
        Value::Array(items) => items.last_mut().context("an empty array of tables")?,
        other => other,
    };
    table.as_object_mut().context("not a table")
}

struct TomlReader<'a> {
    text: &'a str,
    at: usize,
}

impl TomlReader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn line(&self) -> usize {
        self.text[..self.at].matches('\n').count() + 1
    }

    fn take(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        if is_there {
            self.at += token.len();
        }
        is_there
    }

    fn skip(&mut self, is_skipped: impl Fn(char) -> bool) {
        self.at += self.rest().len() - self.rest().trim_start_matches(is_skipped).len();
    }

    fn skip_blanks(&mut self) {
        self.skip(|c| c == ' ' || c == '\t');
    }

    fn skip_blank_lines(&mut self) {
        loop {
            self.skip(char::is_whitespace);
            if self.peek() != Some('#') {
                return;
            }
            self.skip(|c| c != '\n');
        }
    }

    fn header(&mut self, root: &mut Value) -> Result<Vec<String>> {
        let is_list = self.take("[[");
        if !is_list {
            self.take("[");
        }
        let path = self.keys()?;
        anyhow::ensure!(self.take(if is_list { "]]" } else { "]" }), "a table header does not end");
        let (last, folders) = path.split_last().context("an empty header")?;
        if is_list {
            let list = descend(root, folders)?.entry(last.clone()).or_insert_with(|| Value::Array(Vec::new()));
            list.as_array_mut().context("not an array of tables")?.push(Value::Object(Map::new()));
        } else {
            descend(root, &path)?;
        }
        Ok(path)
    }

    fn keys(&mut self) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        loop {
            self.skip_blanks();
            let key = if let Some('"' | '\'') = self.peek() {
                self.string()?
            } else {
                let start = self.at;
                self.skip(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
                self.text[start..self.at].to_owned()
            };
            anyhow::ensure!(!key.is_empty(), "a key is missing");
            keys.push(key);
            self.skip_blanks();
            if !self.take(".") {
                return Ok(keys);
            }
        }
    }

    fn pair(&mut self) -> Result<(Vec<String>, Value)> {
        let keys = self.keys()?;
        anyhow::ensure!(self.take("="), "= is missing behind {}", keys.join("."));
        self.skip_blanks();
        Ok((keys, self.value()?))
    }

    fn value(&mut self) -> Result<Value> {
        match self.peek() {
            Some('"' | '\'') => Ok(Value::String(self.string()?)),
            Some('[') => self.array(),
            Some('{') => self.inline_table(),
            _ => {
                let start = self.at;
                self.skip(|c| c.is_ascii_alphanumeric() || "+-_.".contains(c));
                let word = &self.text[start..self.at];
                serde_json::from_str(&word.replace('_', "")).with_context(|| format!("no value: {word:?}"))
            }
        }
    }

    fn array(&mut self) -> Result<Value> {
        self.take("[");
        let mut items = Vec::new();
        loop {
            self.skip_blank_lines();
            if self.take("]") {
                return Ok(Value::Array(items));
            }
            items.push(self.value()?);
            self.skip_blank_lines();
            if !self.take(",") && self.peek() != Some(']') {
                bail!("an array does not end");
            }
        }
    }

    fn inline_table(&mut self) -> Result<Value> {
        self.take("{");
        let mut table = Value::Object(Map::new());
        loop {
            self.skip_blank_lines();
            if self.take("}") {
                return Ok(table);
            }
            let (keys, value) = self.pair()?;
            let (last, folders) = keys.split_last().context("a key is missing")?;
            descend(&mut table, folders)?.insert(last.clone(), value);
            self.skip_blank_lines();
            if !self.take(",") && self.peek() != Some('}') {
                bail!("an inline table does not end");
            }
        }
    }

    fn string(&mut self) -> Result<String> {
        for quote in ["'''", "\"\"\""] {
            if self.take(quote) {
                self.take("\n");
                let end = self.rest().find(quote).context("a text does not end")?;
                let text = self.rest()[..end].to_owned();
                self.at += end + quote.len();
                return if quote == "'''" { Ok(text) } else { unescaped(&text) };
            }
        }
        let quote = self.peek().context("a text is missing")?;
        self.at += 1;
        let mut end = None;
        let mut is_escaped = false;
        for (at, c) in self.rest().char_indices() {
            if c == quote && !is_escaped {
                end = Some(at);
                break;
            }
            is_escaped = quote == '"' && c == '\\' && !is_escaped;
        }
        let end = end.context("a text does not end")?;
        let text = self.rest()[..end].to_owned();
        self.at += end + 1;
        if quote == '\'' { Ok(text) } else { unescaped(&text) }
    }
}

/// TOML's escapes are those of JSON; line breaks stand for themselves.
fn unescaped(text: &str) -> Result<String> {
    let json = text.replace('\n', "\\n").replace('\t', "\\t").replace('\r', "\\r");
    // A quote inside a text of three quotes needs no backslash there.
    let mut quoted = String::from("\"");
    let mut is_escaped = false;
    for c in json.chars() {
        if c == '"' && !is_escaped {
            quoted.push('\\');
        }
        is_escaped = c == '\\' && !is_escaped;
        quoted.push(c);
    }
    quoted.push('"');
    serde_json::from_str(&quoted).context("a wrong escape")
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn the_kinds_of_values() {
        let text = "a = 'x\\n' # no\nb = \"t\\t\\\"q\\\"\"\nn = 1_000\non = true\nlist = [\n 'p', # one\n 'q',\n]\n\
            [t]\ndeep.er = { k = [1, 2], s = 'v' }\n[[i]]\nold = '''\n\tline\n'''\nnew = \"\"\"\nsay \"hi\"\\n\"\"\"\n[i.sub]\nz = 0\n[[i]]\ny = 1\n";
        let wanted = json!({"a": "x\\n", "b": "t\t\"q\"", "n": 1000, "on": true, "list": ["p", "q"],
            "t": {"deep": {"er": {"k": [1, 2], "s": "v"}}},
            "i": [{"old": "\tline\n", "new": "say \"hi\"\n", "sub": {"z": 0}}, {"y": 1}]});
        assert_eq!(parse(text).unwrap(), wanted);
    }

    #[test]
    fn errors_name_the_line() {
        assert!(format!("{:#}", parse("a = 1\nb 2\n").unwrap_err()).contains("line 2"));
        assert!(parse("a = 'x\n").is_err());
    }
}
