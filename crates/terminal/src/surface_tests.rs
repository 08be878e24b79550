use super::*;
use crate::style::ColourDepth;
use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line as GridLine};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi::Processor;
use proptest::prelude::*;

const CAN: TerminalCapabilities = TerminalCapabilities { depth: ColourDepth::True, links: true };
pub(super) const PROFILE: TerminalProfile = TerminalProfile {
    capabilities: CAN,
    reflow: Reflow::Wraps,
    synchronized: true,
    glyphs: GlyphSet::Unicode,
    caret: CaretStyle::Terminal,
};

#[derive(Clone, Copy)]
struct Dims(TerminalSize);

impl Dimensions for Dims {
    fn total_lines(&self) -> usize {
        self.0.rows
    }

    fn screen_lines(&self) -> usize {
        self.0.rows
    }

    fn columns(&self) -> usize {
        self.0.columns
    }
}

/// A terminal emulator that reflows.
pub(super) struct Emulator {
    term: Term<VoidListener>,
    parser: Processor,
}

impl Emulator {
    fn new(size: TerminalSize) -> Self {
        Self { term: Term::new(Config::default(), &Dims(size), VoidListener), parser: Processor::new() }
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.parser.advance(&mut self.term, bytes);
    }

    fn resize(&mut self, size: TerminalSize) {
        self.term.resize(Dims(size));
    }

    /// Scrollback and screen as logical lines, without trailing blanks.
    pub(super) fn lines(&self) -> Vec<String> {
        let grid = self.term.grid();
        let mut lines = vec![String::new()];
        for row in grid.topmost_line().0..=grid.bottommost_line().0 {
            let row = &grid[GridLine(row)];
            let mut wraps = false;
            for column in 0..grid.columns() {
                let cell = &row[Column(column)];
                wraps = cell.flags.contains(Flags::WRAPLINE);
                if !cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
                    lines.last_mut().unwrap().push(cell.c);
                    lines.last_mut().unwrap().extend(cell.zerowidth().into_iter().flatten());
                }
            }
            if !wraps {
                let done = lines.last_mut().unwrap();
                done.truncate(done.trim_end().len());
                lines.push(String::new());
            }
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Whether the scrollback has rows of the live region.
    fn has_live_rows_in_scrollback(&self) -> bool {
        let grid = self.term.grid();
        (grid.topmost_line().0..0).any(|row| {
            let row = &grid[GridLine(row)];
            matches!(row[Column(0)].c, 'L' | '─')
        })
    }

    pub(super) fn cursor(&self) -> (usize, usize) {
        let point = self.term.grid().cursor.point;
        (point.line.0.unsigned_abs() as usize, point.column.0)
    }
}

pub(super) fn frame(texts: &[&str], caret: (usize, usize)) -> LiveFrame {
    LiveFrame {
        lines: texts.iter().map(|text| StyledLine::plain(*text)).collect(),
        caret: Some(Caret { row: caret.0, column: caret.1 }),
    }
}

pub(super) struct Bench {
    surface: Surface<Vec<u8>>,
    pub(super) screen: Emulator,
}

impl Bench {
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self::with(PROFILE, columns, rows)
    }

    pub(super) fn with(profile: TerminalProfile, columns: usize, rows: usize) -> Self {
        let size = TerminalSize { columns, rows };
        Self { surface: Surface::new(Vec::new(), profile, size), screen: Emulator::new(size) }
    }

    pub(super) fn draw(&mut self, finished: &[&str], frame: &LiveFrame) -> usize {
        let finished: Vec<StyledLine> = finished.iter().map(|text| StyledLine::plain(*text)).collect();
        self.surface.draw(&finished, frame).unwrap();
        self.feed()
    }

    pub(super) fn draw_cover(&mut self, frame: &LiveFrame) -> usize {
        self.surface.draw_cover(&[], frame).unwrap();
        self.feed()
    }

    pub(super) fn uncover(&mut self) {
        self.surface.uncover();
    }

    /// What was written since the last time goes to the emulator.
    fn feed(&mut self) -> usize {
        let bytes = std::mem::take(&mut self.surface.out);
        self.screen.feed(&bytes);
        bytes.len()
    }

    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        self.screen.resize(TerminalSize { columns, rows });
        self.surface.resize(TerminalSize { columns, rows });
    }
}

#[test]
fn finished_lines_stand_above_and_the_live_region_is_replaced() {
    // [TST-228]
    let mut bench = Bench::new(20, 6);
    bench.draw(&["hello"], &frame(&["spin 1", "> "], (1, 2)));
    bench.draw(&[], &frame(&["spin 2", "> x"], (1, 3)));
    assert_eq!(bench.screen.lines(), ["hello", "spin 2", "> x"]);
    assert_eq!(bench.screen.cursor(), (2, 3));
    bench.draw(&["a line that is longer than the screen is wide"], &frame(&["> x"], (0, 3)));
    assert_eq!(bench.screen.lines(), ["hello", "a line that is longer than the screen is wide", "> x"]);
}

#[test]
fn nothing_is_written_when_nothing_changes_and_one_row_when_one_changes() {
    // [TST-226] [TST-227]
    let mut bench = Bench::new(40, 10);
    let mut lines = vec!["same"; 8];
    bench.draw(&[], &frame(&lines, (7, 0)));
    assert_eq!(bench.draw(&[], &frame(&lines, (7, 0))), 0);
    lines[3] = "changed";
    assert!(bench.draw(&[], &frame(&lines, (7, 0))) < 80);
    assert_eq!(bench.screen.lines(), lines);
}

#[test]
fn a_frame_is_never_taller_than_the_screen() {
    // [TST-247]
    let mut bench = Bench::new(20, 5);
    let texts: Vec<String> = (0..12).map(|n| format!("row {n}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    bench.draw(&["done"], &frame(&texts, (11, 1)));
    bench.draw(&[], &frame(&texts, (11, 2)));
    assert_eq!(bench.screen.lines(), ["done", "row 7", "row 8", "row 9", "row 10", "row 11"]);
    bench.draw(&["more"], &frame(&["> "], (0, 2)));
    assert_eq!(bench.screen.lines(), ["done", "more", ">"]);
}

#[test]
fn no_sequence_clears_screen_or_scrollback() {
    // [TST-227] [TST-228]
    let mut surface = Surface::new(Vec::new(), PROFILE, TerminalSize { columns: 30, rows: 6 });
    for n in 0..50 {
        surface.draw(&[StyledLine::plain(format!("line {n}"))], &frame(&["a", "b"], (1, 0))).unwrap();
        surface.resize(TerminalSize { columns: 30 - n % 7, rows: 6 + n % 3 });
    }
    surface.leave(&[]).unwrap();
    let text = String::from_utf8(std::mem::take(&mut surface.out)).unwrap();
    assert!(text.contains("line 0") && text.contains("line 49"), "everything was written: {text:?}");
    for forbidden in ["\x1b[2J", "\x1b[3J", "\x1bc", "\x1b[H", "\x1b[?1049h"] {
        assert!(!text.contains(forbidden), "{forbidden:?}");
    }
}

#[test]
fn a_terminal_that_cuts_keeps_what_stands_above() {
    let mut parser = vt100::Parser::new(8, 30, 100);
    let mut surface = Surface::new(
        Vec::new(),
        TerminalProfile { reflow: Reflow::Cuts, ..PROFILE },
        TerminalSize { columns: 30, rows: 8 },
    );
    let wide = frame(&["live line that fills thirty ..", "> input"], (1, 2));
    surface.draw(&[StyledLine::plain("kept")], &wide).unwrap();
    parser.process(&std::mem::take(&mut surface.out));
    parser.screen_mut().set_size(8, 15);
    surface.resize(TerminalSize { columns: 15, rows: 8 });
    surface.draw(&[], &wide).unwrap();
    parser.process(&std::mem::take(&mut surface.out));
    assert_eq!(parser.screen().contents(), "kept\nlive line that\u{2026}\n> input");
}

#[test]
fn leaving_takes_the_live_region_away() {
    // [TST-231]
    let mut bench = Bench::new(20, 6);
    bench.draw(&["kept"], &frame(&["spin", "> x"], (1, 1)));
    bench.surface.leave(&[StyledLine::styled("bye", TextStyle::PLAIN.bold())]).unwrap();
    let bytes = std::mem::take(&mut bench.surface.out);
    bench.screen.feed(&bytes);
    assert_eq!(bench.screen.lines(), ["kept", "bye"]);
    assert_eq!(bench.screen.cursor(), (2, 0));
}

#[test]
fn a_lower_screen_leaves_no_old_rows_behind_while_no_cursor_is_shown() {
    // [TST-247]
    let mut bench = Bench::new(100, 30);
    let texts: Vec<String> = (0..18).map(|n| format!("question row {n}")).collect();
    let question =
        LiveFrame { lines: texts.iter().map(|text| StyledLine::plain(text.as_str())).collect(), caret: None };
    let finished: Vec<String> = (0..9).map(|n| format!("done {n}")).collect();
    let finished: Vec<&str> = finished.iter().map(String::as_str).collect();
    bench.draw(&finished, &question);
    for _ in 0..2 {
        for rows in [10, 30] {
            bench.resize(100, rows);
            bench.draw(&[], &question);
        }
    }
    let expected: Vec<&str> = finished.into_iter().chain(texts.iter().map(String::as_str)).collect();
    assert_eq!(bench.screen.lines(), expected);
}

#[derive(Clone, Debug)]
enum Step {
    /// Widths of finished lines and of the lines of the next frame.
    Draw {
        finished: Vec<usize>,
        live: Vec<usize>,
        caret: (usize, usize),
    },
    Resize {
        columns: usize,
        rows: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let draw =
        (prop::collection::vec(0usize..450, 0..3), prop::collection::vec(0usize..120, 1..7), (0usize..7, 0usize..110))
            .prop_map(|(finished, live, caret)| Step::Draw { finished, live, caret });
    let columns = prop_oneof![3 => 10usize..60, 1 => 60usize..=400];
    let resize = (columns, 4usize..60).prop_map(|(columns, rows)| Step::Resize { columns, rows });
    prop_oneof![3 => draw, 2 => resize]
}

/// A text of `width` columns that contains wide, combining and right-to-left characters and emoji, but no blanks.
fn body(width: usize, tag: &str) -> String {
    let mut text = tag.to_owned();
    let mut n = 0;
    while text::width(&text) < width {
        text.push_str(["a", "日", "e\u{301}", "ש", "🙂", "م", "b"][n % 7]);
        n += 1;
    }
    text.push(';');
    text
}

/// The finished lines found in `lines`, in order, even if joined with remains of live rows.
fn finished_in(lines: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for line in lines {
        let mut rest = line.as_str();
        while let Some(start) = rest.find('F') {
            let end = rest[start..].find(';').map_or(rest.len(), |end| start + end + 1);
            found.push(rest[start..end].to_owned());
            rest = &rest[end..];
        }
    }
    found
}

fn check(steps: &[Step]) -> Result<(), TestCaseError> {
    let mut size = TerminalSize { columns: 40, rows: 12 };
    let mut bench = Bench::new(size.columns, size.rows);
    let mut printed: Vec<String> = Vec::new();
    let mut shown = LiveFrame::default();
    let mut overflowed = false;
    for step in steps {
        match step {
            Step::Resize { columns, rows } => {
                size = TerminalSize { columns: *columns, rows: *rows };
                bench.resize(*columns, *rows);
                // At the top of the screen, the terminal moves the beginning of rows into its scrollback, where they
                // cannot be changed.
                let drawn: usize = bench.surface.rows.iter().map(|row| text::rows_of(&row.text, size.columns)).sum();
                overflowed |= bench.screen.cursor().0 < drawn;
                // The cursor was where a row was broken: an old row may stay on the screen.
                overflowed |= bench.surface.unsure;
                // Wide characters leave gaps at the edge, and terminals differ in whether they move the cursor for them.
                let Caret { row, column } = bench.surface.caret;
                let own = bench.surface.rows.get(row).map_or("", |row| row.text.as_str());
                overflowed |= text::rows_before(own, column, size.columns) != column / size.columns;
            }
            Step::Draw { finished, live, caret } => {
                let new: Vec<String> =
                    finished.iter().enumerate().map(|(n, w)| body(*w, &format!("F{}:", printed.len() + n))).collect();
                let lines = live.iter().map(|w| StyledLine::plain(body(*w, "L"))).collect();
                let row = caret.0.min(live.len() - 1);
                shown = LiveFrame { lines, caret: Some(Caret { row, column: caret.1.min(live[row]) }) };
                let texts: Vec<&str> = new.iter().map(String::as_str).collect();
                bench.draw(&texts, &shown);
                printed.extend(new);
            }
        }
    }
    bench.draw(&[], &shown);
    let lines = bench.screen.lines();
    prop_assert_eq!(finished_in(&lines), printed.clone());
    let skipped = shown.lines.len().saturating_sub(size.rows);
    let live: Vec<String> = shown.lines[skipped..].iter().map(|line| line.truncated(size.columns).text()).collect();
    prop_assert!(lines.concat().ends_with(&live.concat()), "the live region is not a fresh render: {lines:?}");
    if !overflowed {
        let expected: Vec<String> = printed.into_iter().chain(live).collect();
        prop_assert_eq!(lines, expected);
    }
    Ok(())
}

#[test]
fn a_cursor_at_the_edge_of_a_size_in_between_takes_no_finished_line_away() {
    let draw = Step::Draw { finished: vec![0], live: vec![37], caret: (0, 24) };
    check(&[draw, Step::Resize { columns: 25, rows: 4 }, Step::Resize { columns: 19, rows: 5 }]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn scrollback_holds_everything_once_after_any_sequence(steps in prop::collection::vec(step(), 1..14)) {
        // [TST-228] [TST-247]
        check(&steps)?;
    }
}

/// The interface at this width: a blank row, a rule, the prompt, a rule, the line below.
fn prompt(columns: usize, typed: usize) -> LiveFrame {
    let rule = "─".repeat(columns);
    let typed = body(typed, "> ");
    let column = text::width(&typed).min(columns - 1);
    let lines = ["", &rule, &typed, &rule, "  ? for shortcuts"].map(StyledLine::plain).to_vec();
    LiveFrame { lines, caret: Some(Caret { row: 2, column }) }
}

fn check_prompt(steps: &[(usize, usize, usize)]) -> Result<(), TestCaseError> {
    let mut size = TerminalSize { columns: 80, rows: 24 };
    let mut bench = Bench::new(size.columns, size.rows);
    let mut printed: Vec<String> = Vec::new();
    bench.draw(&["F0:;"], &prompt(size.columns, 0));
    printed.push("F0:;".into());
    let mut exact = true;
    for (columns, rows, typed) in steps {
        size = TerminalSize { columns: *columns, rows: *rows };
        bench.resize(*columns, *rows);
        // Rows that the terminal moved into its scrollback cannot be changed.
        exact &= bench.screen.cursor().0 >= bench.surface.rows_above() && !bench.surface.unsure;
        let line = format!("F{}:;", printed.len());
        bench.draw(&[&line], &prompt(*columns, *typed));
        printed.push(line);
    }
    let live: Vec<String> = prompt(size.columns, steps.last().map_or(0, |step| step.2))
        .lines
        .iter()
        .map(|line| line.truncated(size.columns).text())
        .collect();
    let expected: Vec<String> = printed.into_iter().chain(live).collect();
    if exact {
        prop_assert_eq!(bench.screen.lines(), expected);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_resize_leaves_no_blank_row_behind(steps in prop::collection::vec((20usize..120, 8usize..40, 0usize..18), 1..6)) {
        // [TST-247]
        check_prompt(&steps)?;
    }
}

/// What is on the screen besides finished lines.
#[derive(Clone, Copy, Debug)]
enum Scene {
    /// A question without a text field: no cursor.
    Question,
    /// A question with a text field at its end.
    Comment,
    /// Text that streams above the prompt.
    Streaming,
    Prompt,
}

/// The live region of a scene, in all its height.
fn scene(scene: Scene, size: TerminalSize, step: usize) -> LiveFrame {
    let rule = StyledLine::plain("─".repeat(size.columns - 2));
    let row = |n: usize| StyledLine::plain(format!("L{step}.{n} some words of it")).truncated(size.columns);
    let banded = |n: usize| StyledLine { fill: Some(crate::style::Colour::Indexed(22)), ..row(n) };
    let (above, caret) = match scene {
        Scene::Question => (18, None),
        Scene::Comment => (18, Some(1)),
        Scene::Streaming => (size.rows.saturating_sub(7), Some(2)),
        Scene::Prompt => (1, Some(2)),
    };
    let mut lines: Vec<StyledLine> = (0..above).map(|n| if n % 3 == 0 { banded(n) } else { row(n) }).collect();
    lines.extend([rule.clone(), row(above), rule, row(above + 1)]);
    lines.drain(..lines.len().saturating_sub(size.rows));
    let last = lines.len();
    let caret = caret.map(|from_last: usize| Caret { row: last.saturating_sub(from_last + 1), column: 3 });
    LiveFrame { lines, caret }
}

fn any_scene() -> impl Strategy<Value = Scene> {
    prop::sample::select(vec![Scene::Question, Scene::Comment, Scene::Streaming, Scene::Prompt])
}

/// A scene, the columns and rows of the window, and how many lines are finished with it.
type SceneStep = (Scene, usize, usize, usize);

/// Draws a scene at each size and checks that what was live before is nowhere, and that what is finished is there once. Returns
/// how many steps were checked: it ends when the terminal itself has moved live rows into its scrollback while it wrapped them
/// anew, because nobody can change them there.
fn check_scenes(start: TerminalSize, steps: &[SceneStep]) -> Result<usize, TestCaseError> {
    let mut bench =
        Bench::with(TerminalProfile { caret: CaretStyle::DrawnWhenTall, ..PROFILE }, start.columns, start.rows);
    let mut printed: Vec<String> = (0..9).map(|n| format!("F{n}:;")).collect();
    let first: Vec<&str> = printed.iter().map(String::as_str).collect();
    bench.draw(&first, &scene(Scene::Prompt, start, 0));
    for (index, (kind, columns, rows, finished)) in steps.iter().enumerate() {
        let size = TerminalSize { columns: *columns, rows: *rows };
        bench.resize(size.columns, size.rows);
        if bench.screen.has_live_rows_in_scrollback() || bench.surface.unsure {
            return Ok(index);
        }
        let shown = scene(*kind, size, index + 1);
        let new: Vec<String> = (0..*finished).map(|n| format!("F{}:;", printed.len() + n)).collect();
        let texts: Vec<&str> = new.iter().map(String::as_str).collect();
        bench.draw(&texts, &shown);
        printed.extend(new);
        let text = |line: &StyledLine| line.truncated(size.columns).text().trim_end().to_owned();
        let expected: Vec<String> = printed.iter().cloned().chain(shown.lines.iter().map(text)).collect();
        prop_assert_eq!(bench.screen.lines(), expected, "step {}", index);
    }
    Ok(steps.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_screen_of_another_height_leaves_no_live_row_behind(
        steps in prop::collection::vec((any_scene(), 5usize..40, 0usize..4), 1..10), columns in 20usize..130,
    ) {
        // [TST-247]
        let steps: Vec<SceneStep> = steps.into_iter().map(|(scene, rows, finished)| (scene, columns, rows, finished)).collect();
        prop_assert_eq!(check_scenes(TerminalSize { columns, rows: 30 }, &steps)?, steps.len());
    }

    #[test]
    fn a_window_of_another_size_leaves_no_live_row_behind(
        steps in prop::collection::vec((any_scene(), 20usize..130, 5usize..40, 0usize..4), 1..10),
    ) {
        // [TST-247]
        check_scenes(TerminalSize { columns: 110, rows: 30 }, &steps)?;
    }
}

#[test]
fn a_window_dragged_narrower_leaves_no_live_row_behind() {
    // [TST-247]
    for kind in [Scene::Question, Scene::Comment, Scene::Streaming, Scene::Prompt] {
        let steps: Vec<SceneStep> = (24..110).rev().map(|columns| (kind, columns, 30, 0)).collect();
        let checked = check_scenes(TerminalSize { columns: 110, rows: 30 }, &steps).unwrap();
        assert_eq!(checked, steps.len(), "{kind:?}");
    }
}

#[test]
fn a_question_survives_a_low_screen() {
    // [TST-247]
    for kind in [Scene::Question, Scene::Comment, Scene::Streaming] {
        let sizes = [(110, 30), (110, 12), (110, 30), (110, 5), (110, 30)];
        let steps: Vec<SceneStep> = sizes.iter().map(|(columns, rows)| (kind, *columns, *rows, 0)).collect();
        assert_eq!(check_scenes(TerminalSize { columns: 110, rows: 30 }, &steps).unwrap(), steps.len());
    }
}

#[test]
fn a_row_that_changes_before_a_new_height_is_known_takes_no_finished_line_away() {
    // [TST-247] tmux changes the screen up to a quarter of a second before it tells the program.
    for kind in [Scene::Question, Scene::Comment, Scene::Streaming, Scene::Prompt] {
        for (before, after) in [(30, 5), (30, 12), (12, 5), (12, 30), (5, 30)] {
            let start = TerminalSize { columns: 60, rows: before };
            let size = TerminalSize { columns: 60, rows: after };
            let profile = TerminalProfile { caret: CaretStyle::DrawnWhenTall, ..PROFILE };
            let mut bench = Bench::with(profile, start.columns, start.rows);
            let printed: Vec<String> = (0..9).map(|n| format!("F{n}:;")).collect();
            let mut shown = scene(kind, start, 0);
            bench.draw(&printed.iter().map(String::as_str).collect::<Vec<_>>(), &shown);
            bench.screen.resize(size);
            for row in 0..shown.lines.len() {
                shown.lines[row] = StyledLine::plain(format!("L tick {row}"));
                bench.draw(&[], &shown);
            }
            bench.surface.resize(size);
            let shown = scene(kind, size, 1);
            bench.draw(&[], &shown);
            let text = |line: &StyledLine| line.truncated(size.columns).text().trim_end().to_owned();
            let expected: Vec<String> = printed.iter().cloned().chain(shown.lines.iter().map(text)).collect();
            assert_eq!(bench.screen.lines(), expected, "{kind:?}, {before} to {after} rows");
        }
    }
}
