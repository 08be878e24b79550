//! The slips of the list and the workspace they are made in.

use super::{Done, ListedSlip};
use crate::eval::probe::Probe;
use anyhow::{Context, Result};
use serde_json::{Value, json};

const CONFIG: &str = "import os\n\n\nclass Config:\n    def load(self):\n        value = os.environ.get(\"APP_MODE\")\n        if value is None:\n            value = \"default\"\n        return value\n\n    def save(self, target):\n        target.write(self.mode)\n        target.flush()\n";
const GO: &str = "package main\n\nfunc sum(values []int) int {\n\ttotal := 0\n\tfor _, value := range values {\n\t\ttotal += value\n\t}\n\treturn total\n}\n";
const SAME: &str = "def first(x):\n    return check(x, limit=10)\n\n\ndef second(x):\n    return check(x, limit=10)\n\n\ndef third(x):\n    return check(x, limit=10)\n";

pub(super) fn workspace(probe: &Probe) -> Result<()> {
    let here = &probe.sandbox;
    here.write("src/config.py", CONFIG);
    here.write("main.go", GO);
    here.write("same.py", SAME);
    here.write("dos.ini", "[server]\r\nport = 8080\r\nhost = localhost\r\n");
    here.write("notes.md", "# Notes\n\nThe limit is 10-20 requests per second.\nSay \u{2018}hello\u{2019} to them.\n");
    here.write("docs/Overview.md", "# Overview\n\nThe parts and how they meet.\n");
    here.write(".gitignore", "node_modules/\n");
    for number in 0..150 {
        here.write(&format!("node_modules/lib/part{number:03}.ts"), "export {};\n");
    }
    // Newer than what was installed.
    here.write("src/only.ts", "export const answer: interface_ = 42;\nfunction call(x: interface{}) {}\n");
    here.write("noisy.sh", "for n in $(seq 1 9000); do echo \"step $n of the build is done\"; [ $n = 4000 ] && echo \"error: symbol frobnicate is missing\"; done\necho \"the last line of the build\"\nexit ${1:-0}\n");
    let folder = here.project();
    let script = "git init -q -b main && git add -A && git -c user.name=e -c user.email=e@example.com commit -qm one \
        && mkdir -p lib && git mv docs/Overview.md lib/Overview.md && git -c user.name=e -c user.email=e@example.com commit -qm 'move the overview'";
    let done = std::process::Command::new("bash").args(["-c", script]).current_dir(folder).output();
    anyhow::ensure!(done.context("bash does not start")?.status.success(), "the workspace could not be made");
    Ok(())
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": path}))
}

fn slip(
    name: &'static str,
    tool: &'static str,
    input: Value,
    done: Done,
    holds: &'static [&'static str],
) -> ListedSlip {
    ListedSlip { name, before: Vec::new(), tool, input, done, holds }
}

/// An edit of a file that was read before.
fn edit(
    name: &'static str,
    file: &str,
    old: &str,
    new: &str,
    done: Done,
    holds: &'static [&'static str],
) -> ListedSlip {
    let path = format!("@/{file}");
    let input = json!({"file_path": path, "old_string": old, "new_string": new});
    ListedSlip { name, before: vec![read(&path)], tool: "Edit", input, done, holds }
}

pub(super) fn slips() -> Vec<ListedSlip> {
    let mut all = white_space();
    all.extend(other_texts());
    all.extend(paths());
    all.extend(fields());
    all.extend(searches_and_commands());
    all
}

fn white_space() -> Vec<ListedSlip> {
    let load = Done::File("src/config.py", "            value = \"standard\"\n        return value");
    let go = || Done::File("main.go", "\t\ttotal += value * 2\n\t}");
    vec![
        edit(
            "spaces for tabs",
            "main.go",
            "    for _, value := range values {\n        total += value\n    }",
            "    for _, value := range values {\n        total += value * 2\n    }",
            go(),
            &["total += value"],
        ),
        edit(
            "tabs for spaces",
            "src/config.py",
            "\t\tif value is None:\n\t\t\tvalue = \"default\"\n",
            "\t\tif value is None:\n\t\t\tvalue = \"standard\"\n",
            Done::File("src/config.py", "        if value is None:\n            value = \"standard\"\n"),
            &["value = \"default\""],
        ),
        edit(
            "indentation left out",
            "src/config.py",
            "if value is None:\n    value = \"default\"\nreturn value",
            "if value is None:\n    value = \"standard\"\nreturn value",
            load,
            &["value = \"default\""],
        ),
        edit(
            "one level too deep",
            "main.go",
            "\t\ttotal := 0\n\t\tfor _, value := range values {",
            "\t\ttotal := 1\n\t\tfor _, value := range values {",
            Done::File("main.go", "\n\ttotal := 1\n\tfor"),
            &["total := 0"],
        ),
        edit(
            "blanks at line ends",
            "src/config.py",
            "target.write(self.mode)  \n        target.flush() ",
            "target.write(self.name)\n        target.flush()",
            Done::File("src/config.py", "        target.write(self.name)\n        target.flush()\n"),
            &["target.write(self.mode)"],
        ),
        edit(
            "one newline more at the end",
            "src/config.py",
            "        target.flush()\n\n",
            "        target.close()\n",
            Done::File("src/config.py", "target.close()\n"),
            &["target.flush()"],
        ),
        edit(
            "line numbers in old_string",
            "main.go",
            "4\t\ttotal := 0\n5\t\tfor _, value := range values {",
            "4\t\ttotal := 1\n5\t\tfor _, value := range values {",
            Done::File("main.go", "\n\ttotal := 1\n\tfor"),
            &["total := 0"],
        ),
        edit(
            "line breaks spelled out",
            "main.go",
            "\\ttotal := 0\\n\\tfor _, value",
            "\\ttotal := 1\\n\\tfor _, value",
            Done::File("main.go", "\n\ttotal := 1\n\tfor"),
            &["total := 0"],
        ),
        edit(
            "CRLF for LF",
            "main.go",
            "\ttotal := 0\r\n\tfor _, value",
            "\ttotal := 1\r\n\tfor _, value",
            Done::File("main.go", "\n\ttotal := 1\n\tfor"),
            &[],
        ),
        edit(
            "LF for CRLF",
            "dos.ini",
            "port = 8080\nhost = localhost",
            "port = 8081\nhost = localhost",
            Done::File("dos.ini", "port = 8081\r\nhost"),
            &[],
        ),
    ]
}

fn other_texts() -> Vec<ListedSlip> {
    let stale = ListedSlip {
        before: vec![read("@/same.py"), ("Bash", json!({"command": "sed -i 's/first(x)/first(x, y)/' same.py"}))],
        ..edit(
            "changed by a command meanwhile",
            "same.py",
            "def first(x):\n",
            "def first(x, z):\n",
            Done::Nothing,
            &["first(x, y)"],
        )
    };
    let again = ListedSlip {
        before: vec![
            read("@/dos.ini"),
            ("Edit", json!({"file_path": "@/dos.ini", "old_string": "port = 8080", "new_string": "port = 9090"})),
        ],
        ..edit("already applied", "dos.ini", "port = 8080", "port = 9090", Done::Nothing, &["already"])
    };
    let elsewhere = ListedSlip {
        before: vec![read("@/src/config.py"), read("@/same.py")],
        ..edit(
            "text of another file",
            "same.py",
            "        target.write(self.mode)\n",
            "        target.write(self.name)\n",
            Done::Nothing,
            &["src/config.py"],
        )
    };
    vec![
        edit(
            "a word mistyped",
            "src/config.py",
            "value = os.enviorn.get(\"APP_MODE\")",
            "value = os.environ.get(\"MODE\")",
            Done::Nothing,
            &["os.environ.get(\"APP_MODE\")"],
        ),
        edit(
            "three equal places",
            "same.py",
            "    return check(x, limit=10)\n",
            "    return check(x, limit=20)\n",
            Done::Nothing,
            &["2", "6", "10", "second"],
        ),
        edit(
            "a dash for a hyphen",
            "notes.md",
            "10\u{2013}20 requests per second",
            "10-30 requests per second",
            Done::File("notes.md", "10-30 requests"),
            &["10-20 requests"],
        ),
        edit(
            "a no-break space",
            "notes.md",
            "The limit\u{a0}is 10-20 requests",
            "The limit is 10-30 requests",
            Done::File("notes.md", "10-30 requests"),
            &["10-20 requests"],
        ),
        edit(
            "straight for curly quotes",
            "notes.md",
            "Say 'hello' to them.",
            "Say 'goodbye' to them.",
            Done::File("notes.md", "goodbye"),
            &[],
        ),
        stale,
        again,
        elsewhere,
    ]
}

fn paths() -> Vec<ListedSlip> {
    let read = |name, path: &str, done, holds| slip(name, "Read", json!({"file_path": path}), done, holds);
    vec![
        read("wrong folder", "@/lib/config.py", Done::Nothing, &["src/config.py"]),
        read("name mistyped", "@/src/confgi.py", Done::Nothing, &["src/config.py"]),
        read("wrong case", "@/src/Config.py", Done::Nothing, &["src/config.py"]),
        read("a folder read", "@/src", Done::Nothing, &["config.py", "only.ts"]),
        read("file moved by a commit", "@/docs/Overview.md", Done::Nothing, &["lib/Overview.md"]),
        slip(
            "offset past the end",
            "Read",
            json!({"file_path": "@/main.go", "offset": 4000}),
            Done::Nothing,
            &["lines"],
        ),
    ]
}

fn fields() -> Vec<ListedSlip> {
    let todos = json!([{"content": "Do it", "status": "pending", "activeForm": "Doing it"}]).to_string();
    let edits = json!([{"old_string": "\ttotal := 0", "new_string": "\ttotal := 1"}]);
    let mut list = vec![
        slip("path for file_path", "Read", json!({"path": "@/main.go"}), Done::Result("package main"), &["file_path"]),
        slip("cmd for command", "Bash", json!({"cmd": "echo fine"}), Done::Result("fine"), &["command"]),
        slip(
            "numbers as text",
            "Read",
            json!({"file_path": "@/main.go", "offset": "3", "limit": "2"}),
            Done::Result("func sum"),
            &[],
        ),
        slip(
            "a field of another tool",
            "Read",
            json!({"file_path": "@/main.go", "view_range": [1, 5]}),
            Done::Result("package main"),
            &[],
        ),
        slip("JSON text for a list", "TodoWrite", json!({"todos": todos}), Done::Result(""), &["array"]),
        slip(
            "a list of words as command",
            "Bash",
            json!({"command": ["echo", "fine"]}),
            Done::Result("fine"),
            &["string"],
        ),
        slip(
            "read_file for Read",
            "read_file",
            json!({"file_path": "@/main.go"}),
            Done::Result("package main"),
            &["Read"],
        ),
        slip("bash for Bash", "bash", json!({"command": "echo fine"}), Done::Result("fine"), &["Bash"]),
        slip("JSON cut off", "Bash", json!("{\"command\": \"echo fi"), Done::Nothing, &["JSON"]),
    ];
    let mut edit = edit("a list of edits", "main.go", "", "", Done::File("main.go", "total := 1"), &["old_string"]);
    edit.input = json!({"file_path": "@/main.go", "edits": edits});
    list.push(edit);
    list
}

fn searches_and_commands() -> Vec<ListedSlip> {
    let bash = |name, input: Value, done, holds| slip(name, "Bash", input, done, holds);
    vec![
        slip(
            "an open bracket as pattern",
            "Grep",
            json!({"pattern": "check(x", "output_mode": "content"}),
            Done::Result("same.py"),
            &["unclosed"],
        ),
        slip(
            "braces as pattern",
            "Grep",
            json!({"pattern": "call(x: interface{}", "output_mode": "content"}),
            Done::Result("only.ts"),
            &["repetition"],
        ),
        slip(
            "all files of a kind",
            "Glob",
            json!({"pattern": "**/*.ts"}),
            Done::Result("src/only.ts"),
            &["src/only.ts"],
        ),
        bash(
            "long output, its end wanted",
            json!({"command": "bash noisy.sh"}),
            Done::Result("the last line of the build"),
            &["tool-results"],
        ),
        bash("long failure, its middle wanted", json!({"command": "bash noisy.sh 3"}), Done::Nothing, &["frobnicate"]),
        bash(
            "timeout in seconds",
            json!({"command": "python3 -c 'import time; time.sleep(0.4)'; echo fine", "timeout": 30}),
            Done::Result("fine"),
            &["timeout"],
        ),
    ]
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_are_forty() {
        let slips = super::slips();
        assert_eq!(slips.len(), 40);
        let mut names: Vec<&str> = slips.iter().map(|slip| slip.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 40);
    }
}
