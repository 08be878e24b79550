//! The file index for `@` suggestions. A separate thread builds it and meanwhile answers queries from the files found
//! so far. Ignore files are respected. Typing never waits: a newer query replaces one that was not started, and the
//! receiver drops answers to outdated queries.

use super::fuzzy;
use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::Duration;

/// The most files in an answer.
const MAX_ANSWERS: usize = 20;
/// The most files that are indexed.
const LIMIT: usize = 1_000_000;
/// How many files are read before queries are checked.
const BATCH: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreFiles {
    Respected,
    Disregarded,
}

/// A handle to the index; dropping it ends the thread.
#[derive(Debug)]
pub struct FileIndex {
    questions: Sender<String>,
}

impl FileIndex {
    /// Starts to index `root`; `answer` is called on the thread of the index.
    pub fn start(
        root: PathBuf,
        ignores: IgnoreFiles,
        answer: impl Fn(String, Vec<String>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (questions, asked) = channel();
        let run = move || FileIndexer { root, ignores, files: Vec::new(), questions: asked, answer, last: None }.run();
        std::thread::Builder::new().name("files".into()).spawn(run)?;
        Ok(Self { questions })
    }

    pub fn ask(&self, query: String) {
        self.questions.send(query).ok();
    }
}

struct FileIndexer<A> {
    root: PathBuf,
    ignores: IgnoreFiles,
    files: Vec<Box<str>>,
    questions: Receiver<String>,
    answer: A,
    last: Option<String>,
}

/// Whether the handle still exists.
enum IndexerStatus {
    GoOn,
    End,
}

impl<A: Fn(String, Vec<String>)> FileIndexer<A> {
    fn run(mut self) {
        let on = self.ignores == IgnoreFiles::Respected;
        let mut builder = WalkBuilder::new(&self.root);
        builder.hidden(false).git_ignore(on).git_exclude(on).git_global(on).ignore(on).parents(on).require_git(false);
        let root_is_odd = on && self.root.ancestors().any(|dir| sys::fs::unreadable_ignore_file(dir).is_some());
        builder.filter_entry(move |entry| {
            entry.file_name() != ".git" && !(on && sys::fs::unreadable_ignore_file(entry.path()).is_some())
        });
        if root_is_odd {
            return self.serve();
        }
        let mut since = 0;
        for entry in builder.build() {
            let Ok(entry) = entry else { continue };
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if let Some(path) = relative(&self.root, entry.path(), is_dir) {
                self.files.push(path);
            }
            since += 1;
            if since == BATCH || self.files.len() >= LIMIT {
                since = 0;
                if let IndexerStatus::End = self.serve_waiting() {
                    return;
                }
            }
            if self.files.len() >= LIMIT {
                break;
            }
        }
        // The last query gets a complete answer once the walk has finished.
        if let Some(query) = self.last.clone() {
            self.reply(query);
        }
        self.serve();
    }

    /// Answers the newest waiting query, without blocking.
    fn serve_waiting(&mut self) -> IndexerStatus {
        let mut newest = None;
        loop {
            match self.questions.try_recv() {
                Ok(query) => newest = Some(query),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return IndexerStatus::End,
            }
        }
        if let Some(query) = newest {
            self.reply(query);
        }
        IndexerStatus::GoOn
    }

    fn serve(&mut self) {
        while let Ok(mut query) = self.questions.recv() {
            // Keys come in bursts, so only the last query is answered.
            loop {
                match self.questions.recv_timeout(Duration::from_millis(1)) {
                    Ok(newer) => query = newer,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            self.reply(query);
        }
    }

    fn reply(&mut self, query: String) {
        let found = best(&self.files, &query);
        self.last = Some(query.clone());
        (self.answer)(query, found);
    }
}

/// The path relative to `root`; directories end in a slash. `None` for names with control characters or invalid UTF-8.
fn relative(root: &Path, path: &Path, is_dir: bool) -> Option<Box<str>> {
    let text = path.strip_prefix(root).ok()?.to_str()?;
    let hostile = |c: char| c.is_control();
    if text.is_empty() || text.contains(hostile) {
        return None;
    }
    Some(if is_dir { format!("{text}/").into() } else { text.into() })
}

/// The best matches, best first.
pub fn best(files: &[Box<str>], query: &str) -> Vec<String> {
    let mut top: Vec<(i32, &str)> = Vec::with_capacity(MAX_ANSWERS + 1);
    for file in files {
        let Some(score) = fuzzy::score(query, file.trim_end_matches('/')) else { continue };
        if top.len() == MAX_ANSWERS && top.last().is_some_and(|(worst, _)| *worst >= score) {
            continue;
        }
        let at = top.partition_point(|(other, _)| *other >= score);
        top.insert(at, (score, file));
        top.truncate(MAX_ANSWERS);
    }
    top.into_iter().map(|(_, file)| file.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_files_are_respected_and_directories_marked() {
        // [TST-237]
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in
            [(".gitignore", "target\n"), ("target/x.rs", ""), ("src/main.rs", ""), ("a b.txt", ""), (".git/config", "")]
        {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (sender, answers) = channel();
        let index = FileIndex::start(dir.path().to_owned(), IgnoreFiles::Respected, move |query, found| {
            sender.send((query, found)).ok();
        })
        .unwrap();
        index.ask(String::new());
        let (_, mut found) = answers.recv_timeout(Duration::from_secs(10)).unwrap();
        while found.len() < 4 {
            found = answers.recv_timeout(Duration::from_secs(10)).unwrap().1;
        }
        found.sort();
        assert_eq!(found, [".gitignore", "a b.txt", "src/", "src/main.rs"]);
    }

    // [F-C10]
    #[test]
    fn ignore_files_that_never_end_are_not_read() {
        for (at, found) in [(".gitignore", &[][..]), ("odd/.gitignore", &["a.txt"][..])] {
            let dir = tempfile::tempdir().unwrap();
            std::fs::create_dir(dir.path().join("odd")).unwrap();
            std::fs::write(dir.path().join("a.txt"), "").unwrap();
            std::os::unix::fs::symlink("/dev/zero", dir.path().join(at)).unwrap();
            let (sender, answers) = channel();
            let index = FileIndex::start(dir.path().to_owned(), IgnoreFiles::Respected, move |_, found| {
                sender.send(found).ok();
            })
            .unwrap();
            index.ask("txt".into());
            let mut last = answers.recv_timeout(Duration::from_secs(10)).unwrap();
            while last != found {
                last = answers.recv_timeout(Duration::from_secs(10)).unwrap();
            }
        }
    }

    #[test]
    fn the_best_twenty_of_many() {
        let files: Vec<Box<str>> = (0..50_000).map(|n| format!("dir{}/file{n}.rs", n % 100).into()).collect();
        let found = best(&files, "file4711");
        assert_eq!(found[0], "dir11/file4711.rs");
        assert_eq!(best(&files, "f").len(), MAX_ANSWERS);
    }
}
