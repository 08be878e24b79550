use super::*;
use crate::style::Colour;
use crate::surface::tests::{Bench, PROFILE, frame};
use crate::surface::{CaretStyle, TerminalProfile};

/// A question that is as tall as the window, with a cursor in its last row.
fn tall(size: TerminalSize, caret: bool) -> LiveFrame {
    let banded = |n: usize| n.is_multiple_of(3).then_some(Colour::Indexed(22));
    let text = |n: usize| format!("L{n} some words that are as long as they are in a change of a file, and then some");
    let line = |n: usize| StyledLine { fill: banded(n), ..StyledLine::plain(text(n)) };
    let caret = caret.then_some(Caret { row: size.rows - 1, column: 3 });
    LiveFrame { lines: (0..size.rows).map(line).collect(), caret }
}

fn prompt() -> LiveFrame {
    frame(&["", "> ", "  below"], (1, 2))
}

/// Covers a window that had `printed` lines, changes its size, uncovers it, and returns what the main screen has then.
fn main_screen(printed: usize, sizes: &[(usize, usize)], caret: bool) -> (Vec<String>, Vec<String>) {
    let size = TerminalSize { columns: 110, rows: 30 };
    let mut bench =
        Bench::with(TerminalProfile { caret: CaretStyle::DrawnWhenTall, ..PROFILE }, size.columns, size.rows);
    let lines: Vec<String> =
        (0..printed).map(|n| format!("F{n} is a line that was printed {}", "and more ".repeat(n % 9))).collect();
    bench.draw(&lines.iter().map(String::as_str).collect::<Vec<_>>(), &prompt());
    bench.draw_cover(&tall(size, caret));
    for (columns, rows) in sizes {
        bench.resize(*columns, *rows);
        bench.draw_cover(&tall(TerminalSize { columns: *columns, rows: *rows }, caret));
    }
    bench.uncover();
    bench.draw(&["F: the next line"], &prompt());
    let expected = lines.iter().map(|line| line.trim_end().to_owned());
    let expected = expected.chain(["F: the next line", "", ">", "  below"].map(str::to_owned)).collect();
    (bench.screen.lines(), expected)
}

#[test]
fn nothing_of_a_cover_stays_behind_whatever_size_the_window_gets() {
    // [TST-247]
    let ways: [&[(usize, usize)]; 6] = [
        &[],
        &[(20, 5)],
        &[(110, 12), (110, 30)],
        &[(20, 5), (110, 30)],
        &[(55, 30), (55, 15), (200, 50)],
        &[(40, 12), (20, 30), (130, 8)],
    ];
    for way in ways {
        for printed in [2, 9, 60] {
            for caret in [false, true] {
                let (shown, expected) = main_screen(printed, way, caret);
                assert_eq!(shown, expected, "{printed} lines, {way:?}");
            }
        }
    }
}

#[test]
fn a_cover_is_drawn_whole_after_a_change_of_size_and_not_at_all_when_nothing_changes() {
    // [TST-226]
    let size = TerminalSize { columns: 60, rows: 10 };
    let mut bench = Bench::new(size.columns, size.rows);
    bench.draw(&["F0"], &prompt());
    assert!(bench.draw_cover(&tall(size, true)) > 0);
    assert_eq!(bench.draw_cover(&tall(size, true)), 0);
    assert_eq!(bench.screen.cursor(), (9, 3));
    for (columns, rows) in [(20, 5), (60, 10), (60, 4), (60, 12)] {
        let size = TerminalSize { columns, rows };
        bench.resize(columns, rows);
        bench.draw_cover(&tall(size, false));
        let wanted: Vec<String> =
            tall(size, false).lines.iter().map(|line| line.truncated(columns).text().trim_end().to_owned()).collect();
        assert_eq!(bench.screen.lines(), wanted, "{columns}x{rows}");
    }
}
