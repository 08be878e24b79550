//! Pieces of fuzzing and their sum: a line of a file for each piece of an endless run, a row of `docs/testing.md` for
//! all pieces of a target.

use crate::record;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use wire::counting::counted;

/// One run of one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) target: String,
    /// Processor time, which is less than the time that passed on a busy machine.
    pub(super) seconds: u64,
    pub(super) executions: u64,
    /// Inputs that break a promise and are not mended, at the end of the piece.
    pub(super) open_findings: usize,
}

impl Piece {
    fn line(&self) -> String {
        let Self { target, seconds, executions, open_findings } = self;
        format!("{target} {seconds} {executions} {open_findings}\n")
    }

    /// Reads a line; `None` when it was cut off, as in a run that was killed.
    fn read(line: &str) -> Option<Self> {
        let [target, seconds, executions, findings] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        Some(Self {
            target: target.to_owned(),
            seconds: seconds.parse().ok()?,
            executions: executions.parse().ok()?,
            open_findings: findings.parse().ok()?,
        })
    }
}

/// The pieces of an endless run that are not in the table yet. The run may go on while they are recorded.
pub(super) struct PieceFile {
    path: PathBuf,
    /// The lines that are being recorded.
    taken: PathBuf,
}

impl PieceFile {
    pub(super) fn new(folder: &Path) -> Self {
        Self { path: folder.join("pieces.txt"), taken: folder.join("pieces-taken.txt") }
    }

    pub(super) fn append(&self, piece: &Piece) -> Result<()> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let written = file.and_then(|mut file| file.write_all(piece.line().as_bytes()));
        written.with_context(|| self.path.display().to_string())
    }

    /// Takes all lines. Those of a record that failed are taken again.
    pub(super) fn take(&self) -> Result<Vec<Piece>> {
        if !self.taken.exists() {
            match std::fs::rename(&self.path, &self.taken) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                done => done.with_context(|| self.path.display().to_string())?,
            }
        }
        let text = std::fs::read_to_string(&self.taken).with_context(|| self.taken.display().to_string())?;
        Ok(text.lines().filter_map(Piece::read).collect())
    }

    /// Removes the lines that were taken, because they are in the table.
    pub(super) fn forget(&self) -> Result<()> {
        std::fs::remove_file(&self.taken).with_context(|| self.taken.display().to_string())
    }
}

/// Adds pieces to the rows of their targets, all rows at once.
pub(super) fn record(root: &Path, pieces: &[Piece]) -> Result<()> {
    let mut of_target: BTreeMap<&str, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        of_target.entry(&piece.target).or_default().push(piece);
    }
    let mut rows = Vec::new();
    for (name, pieces) in of_target {
        let earlier = record::result(root, "fuzz", name)?;
        rows.push((name, FuzzTotals::read(earlier.as_deref().unwrap_or_default()).with(&pieces).to_string()));
    }
    record::rows(root, "fuzz", &rows)
}

/// A row of the table, as "14 minutes in 7 pieces, 1234 executions: no finding".
#[derive(Debug, Default, PartialEq, Eq)]
struct FuzzTotals {
    minutes: u64,
    pieces: usize,
    executions: u64,
    verdict: String,
}

impl FuzzTotals {
    /// Reads a row; an empty one has nothing.
    fn read(row: &str) -> Self {
        let (counts, verdict) = row.split_once(": ").unwrap_or((row, "no finding"));
        let before = |unit: &str| {
            let words: Vec<&str> = counts.split([' ', ',']).filter(|word| !word.is_empty()).collect();
            words.windows(2).find(|pair| pair[1].starts_with(unit)).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
        };
        Self {
            minutes: before("minute"),
            pieces: before("piece") as usize,
            executions: before("execution"),
            verdict: verdict.to_owned(),
        }
    }

    fn with(mut self, pieces: &[&Piece]) -> Self {
        let seconds: u64 = pieces.iter().map(|piece| piece.seconds).sum();
        self.minutes += (seconds + 30) / 60;
        self.pieces += pieces.len();
        self.executions += pieces.iter().map(|piece| piece.executions).sum::<u64>();
        let open = pieces.last().map_or(0, |piece| piece.open_findings);
        self.verdict = match (open, self.verdict.strip_prefix("OPEN: ")) {
            (0, None) => self.verdict,
            (0, Some(earlier)) => format!("{earlier}, mended"),
            (1, _) => "OPEN: 1 finding".to_owned(),
            (count, _) => format!("OPEN: {count} findings"),
        };
        self
    }
}

impl std::fmt::Display for FuzzTotals {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { minutes, pieces, executions, verdict } = self;
        write!(
            out,
            "{} in {}, {executions} executions: {verdict}",
            counted(*minutes, "minute"),
            counted(*pieces as u64, "piece")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(target: &str, seconds: u64, executions: u64, open_findings: usize) -> Piece {
        Piece { target: target.into(), seconds, executions, open_findings }
    }

    #[test]
    fn pieces_add_up() {
        let first = FuzzTotals::read("").with(&[&piece("a", 60, 5, 0)]);
        assert_eq!(first.to_string(), "1 minute in 1 piece, 5 executions: no finding");
        let second = FuzzTotals::read(&first.to_string()).with(&[&piece("a", 301, 7, 0), &piece("a", 299, 8, 0)]);
        assert_eq!(second.to_string(), "11 minutes in 3 pieces, 20 executions: no finding");
    }

    #[test]
    fn a_finding_is_open_until_a_piece_ends_without_it() {
        let mended = FuzzTotals::read("1 minute in 1 piece, 5 executions: 1 finding, mended");
        assert_eq!(mended.with(&[&piece("a", 60, 1, 0)]).verdict, "1 finding, mended");
        let open = FuzzTotals::read("").with(&[&piece("a", 60, 1, 2)]);
        assert_eq!(open.verdict, "OPEN: 2 findings");
        let open = FuzzTotals::read(&open.to_string()).with(&[&piece("a", 60, 1, 1)]);
        assert_eq!(open.verdict, "OPEN: 1 finding");
        assert_eq!(FuzzTotals::read(&open.to_string()).with(&[&piece("a", 60, 1, 0)]).verdict, "1 finding, mended");
    }

    #[test]
    fn pieces_are_taken_once_and_again_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let file = PieceFile::new(folder.path());
        assert_eq!(file.take().unwrap(), []);
        let (one, two) = (piece("a", 60, 5, 0), piece("b", 61, 6, 1));
        file.append(&one).unwrap();
        assert_eq!(file.take().unwrap(), std::slice::from_ref(&one));
        file.append(&two).unwrap();
        assert_eq!(file.take().unwrap(), std::slice::from_ref(&one));
        file.forget().unwrap();
        assert_eq!(file.take().unwrap(), [two]);
        assert_eq!(Piece::read("a 60 5"), None);
    }
}
