//! The file index for `@` suggestions. A separate thread builds it and meanwhile answers queries from the files found
//! so far. Ignore files are respected. Typing never waits: a newer query replaces one that was not started, and the
//! receiver drops answers to outdated queries.

use super::folder::FolderListing;
use super::fuzzy;
use ignore::WalkBuilder;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

/// The most files in an answer.
const MAX_ANSWERS: usize = 20;
/// The most files that are indexed.
const LIMIT: usize = 1_000_000;
/// So many files have their time of change known; in larger projects the rest counts as old.
const DATED: usize = 50_000;
/// A list that was made this fast is made anew when a search begins and it is older than `REFRESH_AFTER`.
const FAST: Duration = Duration::from_millis(300);
const REFRESH_AFTER: Duration = Duration::from_secs(5);
/// How many files are read before queries are checked.
const BATCH: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoreFiles {
    Respected,
    Disregarded,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileQuestion {
    /// Files and directories: of the project, or of a directory when it begins like a path (`/`, `~/`, `./`, `../`).
    Mention(String),
    /// Directories, by path.
    Directory(String),
}

impl FileQuestion {
    fn text(&self) -> &str {
        match self {
            Self::Mention(text) | Self::Directory(text) => text,
        }
    }
}

/// A handle to the index; dropping it ends the thread.
#[derive(Debug)]
pub struct FileIndex {
    questions: Sender<FileQuestion>,
}

/// The files of the project.
#[derive(Debug, Default)]
pub struct IndexedFiles {
    pub paths: Vec<Box<str>>,
    /// When the first of them changed, in seconds; those that are not here count as old.
    pub changed: Vec<u32>,
}

impl FileIndex {
    /// Starts to index `root`; `answer` is called on the thread of the index.
    pub fn start(
        root: PathBuf,
        home: Option<PathBuf>,
        ignores: IgnoreFiles,
        answer: impl Fn(String, Vec<String>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (questions, asked) = channel();
        let folders = FolderListing { root: root.clone(), home };
        let files = IndexedFiles::default();
        let run = move || FileIndexer { root, folders, ignores, files, questions: asked, answer, last: None }.run();
        std::thread::Builder::new().name("files".into()).spawn(run)?;
        Ok(Self { questions })
    }

    pub fn ask(&self, question: FileQuestion) {
        self.questions.send(question).ok();
    }
}

struct FileIndexer<A> {
    root: PathBuf,
    folders: FolderListing,
    ignores: IgnoreFiles,
    files: IndexedFiles,
    questions: Receiver<FileQuestion>,
    answer: A,
    last: Option<FileQuestion>,
}

/// Whether the handle still exists.
enum IndexerStatus {
    GoOn,
    End,
}

impl<A: Fn(String, Vec<String>)> FileIndexer<A> {
    fn run(mut self) {
        loop {
            let started = Instant::now();
            if let IndexerStatus::End = self.walk() {
                return;
            }
            // The last query gets a complete answer once the walk has finished.
            if let Some(question) = self.last.clone() {
                self.reply(question);
            }
            let took = started.elapsed();
            if let IndexerStatus::End = self.serve(started, took) {
                return;
            }
            self.files = IndexedFiles::default();
        }
    }

    fn walk(&mut self) -> IndexerStatus {
        let on = self.ignores == IgnoreFiles::Respected;
        let mut builder = WalkBuilder::new(&self.root);
        builder.hidden(false).git_ignore(on).git_exclude(on).git_global(on).ignore(on).parents(on).require_git(false);
        let root_is_odd = on && self.root.ancestors().any(|dir| sys::fs::unreadable_ignore_file(dir).is_some());
        builder.filter_entry(move |entry| {
            entry.file_name() != ".git" && !(on && sys::fs::unreadable_ignore_file(entry.path()).is_some())
        });
        if root_is_odd {
            return IndexerStatus::GoOn;
        }
        let mut since = 0;
        for entry in builder.build() {
            let Ok(entry) = entry else { continue };
            let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
            if let Some(path) = relative(&self.root, entry.path(), is_dir) {
                if self.files.paths.len() < DATED {
                    self.files.changed.push(entry.metadata().map_or(0, |data| seconds_of(&data)));
                }
                self.files.paths.push(path);
            }
            since += 1;
            if since == BATCH || self.files.paths.len() >= LIMIT {
                since = 0;
                if let IndexerStatus::End = self.serve_waiting() {
                    return IndexerStatus::End;
                }
            }
            if self.files.paths.len() >= LIMIT {
                break;
            }
        }
        IndexerStatus::GoOn
    }

    /// Answers the newest waiting query, without blocking.
    fn serve_waiting(&mut self) -> IndexerStatus {
        let mut newest = None;
        loop {
            match self.questions.try_recv() {
                Ok(question) => newest = Some(question),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return IndexerStatus::End,
            }
        }
        if let Some(question) = newest {
            self.reply(question);
        }
        IndexerStatus::GoOn
    }

    /// Answers until there are no more questions, or until the list should be made anew.
    fn serve(&mut self, started: Instant, took: Duration) -> IndexerStatus {
        while let Ok(mut question) = self.questions.recv() {
            // Keys come in bursts, so only the last query is answered.
            loop {
                match self.questions.recv_timeout(Duration::from_millis(1)) {
                    Ok(newer) => question = newer,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return IndexerStatus::End,
                }
            }
            let begins = question.text().len() <= 1;
            self.reply(question);
            if begins && took < FAST && started.elapsed() > REFRESH_AFTER {
                return IndexerStatus::GoOn;
            }
        }
        IndexerStatus::End
    }

    fn reply(&mut self, question: FileQuestion) {
        let found = match &question {
            FileQuestion::Mention(text) if FolderListing::is_path(text) => self.folders.entries(text, MAX_ANSWERS),
            FileQuestion::Mention(text) => best(&self.files, text),
            FileQuestion::Directory(text) => self.folders.directories(text, MAX_ANSWERS),
        };
        let text = question.text().to_owned();
        self.last = Some(question);
        (self.answer)(text, found);
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

/// When a file changed, in seconds.
pub(super) fn seconds_of(data: &std::fs::Metadata) -> u32 {
    let since = data.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    since.and_then(|since| u32::try_from(since.as_secs()).ok()).unwrap_or(0)
}

/// The best matches, best first: by match, then the newest, then by name.
pub fn best(files: &IndexedFiles, query: &str) -> Vec<String> {
    type Rank<'a> = (std::cmp::Reverse<i32>, std::cmp::Reverse<u32>, &'a str);
    let mut top: Vec<Rank<'_>> = Vec::with_capacity(MAX_ANSWERS + 1);
    for (index, file) in files.paths.iter().enumerate() {
        let Some(score) = fuzzy::score(query, file.trim_end_matches('/')) else { continue };
        let changed = files.changed.get(index).copied().unwrap_or(0);
        let rank: Rank<'_> = (std::cmp::Reverse(score), std::cmp::Reverse(changed), file);
        if top.len() == MAX_ANSWERS && top.last().is_some_and(|worst| *worst <= rank) {
            continue;
        }
        let at = top.partition_point(|other| *other <= rank);
        top.insert(at, rank);
        top.truncate(MAX_ANSWERS);
    }
    top.into_iter().map(|(_, _, file)| file.to_owned()).collect()
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
        let index = FileIndex::start(dir.path().to_owned(), None, IgnoreFiles::Respected, move |query, found| {
            sender.send((query, found)).ok();
        })
        .unwrap();
        index.ask(FileQuestion::Mention(String::new()));
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
            let index = FileIndex::start(dir.path().to_owned(), None, IgnoreFiles::Respected, move |_, found| {
                sender.send(found).ok();
            })
            .unwrap();
            index.ask(FileQuestion::Mention("txt".into()));
            let mut last = answers.recv_timeout(Duration::from_secs(10)).unwrap();
            while last != found {
                last = answers.recv_timeout(Duration::from_secs(10)).unwrap();
            }
        }
    }

    #[test]
    fn the_best_twenty_of_many() {
        let paths = (0..50_000).map(|n| format!("dir{}/file{n}.rs", n % 100).into()).collect();
        let files = IndexedFiles { paths, changed: Vec::new() };
        let found = best(&files, "file4711");
        assert_eq!(found[0], "dir11/file4711.rs");
        assert_eq!(best(&files, "f").len(), MAX_ANSWERS);
    }

    #[test]
    fn equal_matches_go_by_age_then_by_name() {
        let paths = ["b/mod.rs", "a/mod.rs", "c/mod.rs", "d/model.rs"].map(Box::from).to_vec();
        let files = IndexedFiles { paths, changed: vec![5, 5, 9] };
        assert_eq!(best(&files, "mod.rs"), ["c/mod.rs", "a/mod.rs", "b/mod.rs", "d/model.rs"]);
        assert_eq!(best(&files, ""), ["c/mod.rs", "a/mod.rs", "b/mod.rs", "d/model.rs"]);
    }
}
