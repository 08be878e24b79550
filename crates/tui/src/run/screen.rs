//! The terminal as the loop uses it: the surface on the main screen, the alternate screen for views that cover
//! everything, and the terminal modes that are switched on meanwhile.

use crate::app::App;
use crate::notify::{AlertChannel, TerminalIdentity};
use std::fs::File;
use std::io;
use sys::tty::{Tty, TtyReader};
use terminal::surface::{Surface, TerminalProfile, TerminalSize};
use tokio::sync::mpsc;

/// Switches on bracketed paste, the kitty keyboard protocol and modifyOtherKeys; terminals ignore unknown ones.
const ENTER: &[u8] = b"\x1b[?2004h\x1b[>1u\x1b[>4;2m";
const LEAVE: &[u8] = b"\x1b[?2026l\x1b[?7h\x1b[0m\x1b[?25h\x1b[<u\x1b[>4m\x1b[?2004l";
/// Like `LEAVE`, and leaves the alternate screen.
const LEAVE_COVER: &[u8] = b"\x1b[?2026l\x1b[?7h\x1b[0m\x1b[?25h\x1b[<u\x1b[>4m\x1b[?2004l\x1b[2J\x1b[?1049l";

pub(super) struct TerminalScreen {
    surface: Surface<File>,
    tty: Tty,
    reader: Option<TtyReader>,
    sender: Option<mpsc::Sender<Vec<u8>>>,
    titles: bool,
    title: String,
    terminal: TerminalIdentity,
    /// The window's progress mark is on.
    shows_progress: bool,
}

impl TerminalScreen {
    pub(super) fn enter(
        mut tty: Tty,
        profile: TerminalProfile,
        titles: bool,
        around: TerminalIdentity,
    ) -> io::Result<Self> {
        tty.enter(ENTER, LEAVE)?;
        let surface = Surface::new(tty.writer()?, profile, measure(&tty));
        Ok(Self {
            surface,
            tty,
            reader: None,
            sender: None,
            titles,
            title: String::new(),
            terminal: around,
            shows_progress: false,
        })
    }

    pub(super) fn size(&self) -> TerminalSize {
        self.surface.size()
    }

    pub(super) fn read(&mut self, sender: mpsc::Sender<Vec<u8>>) -> io::Result<()> {
        self.reader = Some(self.tty.read(sender.clone())?);
        self.sender = Some(sender);
        Ok(())
    }

    pub(super) fn ask_background(&mut self) -> io::Result<()> {
        self.surface.send(b"\x1b]11;?\x1b\\")
    }

    /// Draws the application. The size is measured each time, so that no resize is missed.
    pub(super) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        let size = measure(&self.tty);
        self.surface.resize(size);
        app.size = self.surface.size();
        self.show_title(app)?;
        self.show_progress(app.is_busy() && app.preferences.progress)?;
        app.choose_screen(self.surface.profile().reflow);
        if let Some(frame) = app.cover() {
            if !self.surface.is_covered() {
                sys::tty::on_restore(LEAVE_COVER);
                return self.surface.draw_cover(&app.take_printable(), &frame);
            }
            return self.surface.draw_cover(&[], &frame);
        }
        self.uncover();
        let finished = app.take_printable();
        self.surface.draw(&finished, &app.view())
    }

    fn uncover(&mut self) {
        if self.surface.is_covered() {
            sys::tty::on_restore(LEAVE);
        }
        self.surface.uncover();
    }

    /// Sets the title of the window when it changed.
    fn show_title(&mut self, app: &App) -> io::Result<()> {
        let title = app.title();
        if !self.titles || title == self.title {
            return Ok(());
        }
        let first = self.title.is_empty();
        self.title = title;
        let clean: String = self.title.chars().filter(|c| !c.is_control()).collect();
        // Saves the title on the terminal's stack; it is restored at the end.
        let save = if first { "\x1b[22;2t" } else { "" };
        self.surface.send(format!("{save}\x1b]2;{clean}\x07").as_bytes())
    }

    fn show_progress(&mut self, shows: bool) -> io::Result<()> {
        if std::mem::replace(&mut self.shows_progress, shows) == shows {
            return Ok(());
        }
        self.surface.send(&self.terminal.progress(shows))
    }

    /// Sends bytes that draw nothing. If the terminal is gone, drawing the next frame reports it.
    pub(super) fn send(&mut self, bytes: &[u8]) {
        self.surface.send(bytes).ok();
    }

    /// Notifies the user. If the terminal is gone, drawing the next frame reports it.
    pub(super) fn alert(&mut self, channel: AlertChannel, text: &str) {
        self.surface.send(&self.terminal.alert(channel, "gimlet", text)).ok();
    }

    pub(super) fn hook_sequence(&mut self, sequence: &str) {
        let Some(bytes) = self.terminal.hook_sequence(sequence) else {
            tracing::warn!("a hook's terminalSequence was refused: it may only notify and set titles");
            return;
        };
        self.send(&bytes);
    }

    /// Moves everything on the screen into the scrollback, where it stays.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.uncover();
        let rows = self.surface.size().rows;
        self.surface.leave(&[])?;
        self.surface.send(format!("\x1b[{rows};1H{}\x1b[H", "\n".repeat(rows)).as_bytes())?;
        self.surface.reset();
        Ok(())
    }

    pub(super) fn redraw(&mut self) {
        self.surface.invalidate();
        self.surface.invalidate_cover();
    }

    /// Ctrl+Z: gives the terminal to the shell and takes it back when the process is continued.
    pub(super) fn suspend(&mut self, app: &mut App) -> io::Result<()> {
        let sender = self.release(app)?;
        sys::tty::suspend();
        self.take_back(sender)
    }

    /// Releases the terminal for another program. Pass the result to `take_back`.
    pub(super) fn release(&mut self, app: &mut App) -> io::Result<Option<mpsc::Sender<Vec<u8>>>> {
        self.reader = None;
        self.uncover();
        let finished = app.take_finished();
        self.surface.leave(&finished)?;
        self.tty.leave();
        Ok(self.sender.clone())
    }

    pub(super) fn take_back(&mut self, sender: Option<mpsc::Sender<Vec<u8>>>) -> io::Result<()> {
        self.tty.enter(ENTER, LEAVE)?;
        self.surface.reset();
        self.surface.resize(measure(&self.tty));
        if let Some(sender) = sender {
            self.reader = Some(self.tty.read(sender)?);
        }
        Ok(())
    }

    /// The process was stopped and continued from outside, so the terminal modes may be lost.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        self.tty.leave();
        self.tty.enter(ENTER, if self.surface.is_covered() { LEAVE_COVER } else { LEAVE })?;
        self.redraw();
        Ok(())
    }

    /// Prints the remaining lines, removes the live region and restores the terminal.
    pub(super) fn leave(&mut self, app: &mut App) -> io::Result<()> {
        self.reader = None;
        self.uncover();
        let finished = app.take_finished();
        let left = self.surface.leave(&finished);
        self.show_progress(false).ok();
        if !self.title.is_empty() {
            self.surface.send(b"\x1b[23;2t").ok();
        }
        self.tty.leave();
        left
    }
}

fn measure(tty: &Tty) -> TerminalSize {
    let (columns, rows) = tty.size().unwrap_or((80, 24));
    TerminalSize { columns, rows }
}
