//! Runs the binary in a pseudo-terminal: tests send keys and read screens. A terminal emulator interprets the output;
//! every wait has a time limit and fails with the current screen.

#![expect(clippy::disallowed_methods, reason = "tests start the binary from outside, as a user does")]

use crate::picture::{PictureTheme, ScreenPicture};
use crate::sandbox::GimletRun;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
/// Longer than the time for which the program ignores keys that may have been typed before a question could be read. The
/// program runs in real time, so the wait does too.
const READING_TIME: Duration = Duration::from_millis(400);
const SCROLLBACK: usize = 10_000;

/// The output so far.
struct TerminalOutput {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    ended: bool,
}

struct TerminalShared {
    seen: Mutex<TerminalOutput>,
    changed: Condvar,
}

/// A run in a terminal. Dropping it kills the process.
pub struct TestTerminal {
    keyboard: File,
    child: Child,
    shared: Arc<TerminalShared>,
}

impl GimletRun {
    /// Starts the run in a terminal of this size, as its controlling terminal.
    pub fn terminal(&self, columns: u16, rows: u16) -> TestTerminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let keyboard = File::from(master);
        set_size(&keyboard, columns, rows);
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
        let side = OpenOptions::new().read(true).write(true).open(path).unwrap();
        let plain = self.command();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(plain.get_program()).args(plain.get_args()).env_clear();
        command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(plain.get_current_dir().unwrap());
        command.stdin(Stdio::from(side.try_clone().unwrap())).stdout(Stdio::from(side.try_clone().unwrap()));
        command.stderr(Stdio::from(side));
        let child = command.spawn().unwrap();
        let seen =
            TerminalOutput { parser: vt100::Parser::new(rows, columns, SCROLLBACK), bytes: Vec::new(), ended: false };
        let shared = Arc::new(TerminalShared { seen: Mutex::new(seen), changed: Condvar::new() });
        let (reader, watched) = (keyboard.try_clone().unwrap(), Arc::clone(&shared));
        std::thread::spawn(move || watch(reader, &watched));
        TestTerminal { keyboard, child, shared }
    }
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}

fn watch(mut reader: File, shared: &TerminalShared) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = reader.read(&mut buffer).unwrap_or(0);
        let mut seen = shared.seen.lock().unwrap();
        seen.ended |= read == 0;
        seen.bytes.extend_from_slice(&buffer[..read]);
        seen.parser.process(&buffer[..read]);
        shared.changed.notify_all();
        if read == 0 {
            return;
        }
    }
}

impl TestTerminal {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as a keyboard would.
    pub fn send(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Answers a question that is on the screen as a person does, who has read it first.
    pub fn answer(&mut self, keys: &str) {
        crate::wait::let_pass(READING_TIME);
        self.send(keys);
    }

    /// Changes the size; the process receives a signal.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.shared.seen.lock().unwrap().parser.screen_mut().set_size(rows, columns);
        set_size(&self.keyboard, columns, rows);
    }

    pub fn screen(&self) -> String {
        self.shared.seen.lock().unwrap().parser.screen().contents()
    }

    /// The cells of the screen when a frame is complete, to be drawn in a window with these colours.
    pub fn picture(&self, theme: PictureTheme) -> ScreenPicture {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut seen = self.shared.seen.lock().unwrap();
        while !is_frame_complete(&seen.bytes) && !seen.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no complete frame; the screen was:\n{}", seen.parser.screen().contents());
            seen = self.shared.changed.wait_timeout(seen, left).unwrap().0;
        }
        ScreenPicture::of(seen.parser.screen(), theme)
    }

    /// Row and column of the cursor.
    pub fn cursor(&self) -> (u16, u16) {
        self.shared.seen.lock().unwrap().parser.screen().cursor_position()
    }

    /// True while the cursor is visible.
    pub fn is_cursor_shown(&self) -> bool {
        !self.shared.seen.lock().unwrap().parser.screen().hide_cursor()
    }

    /// All bytes written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.seen.lock().unwrap().bytes.clone()
    }

    /// All bytes written so far, and the rows of the screen at the same moment.
    pub fn written(&self) -> (Vec<u8>, Vec<String>) {
        let seen = self.shared.seen.lock().unwrap();
        let screen = seen.parser.screen();
        (seen.bytes.clone(), screen.rows(0, screen.size().1).collect())
    }

    /// Waits until the screen contains `text`; returns the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(&format!("{text:?}"), |screen| screen.contains(text))
    }

    /// Waits until the screen no longer contains `text`.
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait_until(&format!("no {text:?}"), |screen| !screen.contains(text))
    }

    /// Waits until `is_so` accepts the screen at the end of a frame; returns it. Panics after 30 s, or when the program ends
    /// first.
    pub fn wait_until(&self, wanted: &str, is_so: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut seen = self.shared.seen.lock().unwrap();
        loop {
            let screen = seen.parser.screen().contents();
            if (seen.ended || is_frame_complete(&seen.bytes)) && is_so(&screen) {
                return screen;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !seen.ended, "expected {wanted}; the screen was:\n{screen}");
            seen = self.shared.changed.wait_timeout(seen, left).unwrap().0;
        }
    }

    pub fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub fn hang_up(&self) {
        self.signal(rustix::process::Signal::HUP);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the exit; returns the exit code and all bytes written.
    pub fn finish(mut self) -> (i32, Vec<u8>) {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        let mut seen = self.shared.seen.lock().unwrap();
        while !seen.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "still running; the screen was:\n{}", seen.parser.screen().contents());
            seen = self.shared.changed.wait_timeout(seen, left).unwrap().0;
        }
        let bytes = seen.bytes.clone();
        drop(seen);
        let status = self.child.wait().unwrap();
        use std::os::unix::process::ExitStatusExt;
        (status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), bytes)
    }
}

/// True when no frame is half written: the last synchronized one has ended or, without such frames, the cursor is shown.
fn is_frame_complete(bytes: &[u8]) -> bool {
    // No frame is larger.
    let bytes = &bytes[bytes.len().saturating_sub(1 << 18)..];
    let last = |sequence: &[u8]| bytes.windows(sequence.len()).rposition(|part| part == sequence);
    match (last(b"\x1b[?2026h"), last(b"\x1b[?2026l")) {
        (None, None) => last(b"\x1b[?25l") <= last(b"\x1b[?25h"),
        (begun, ended) => begun <= ended,
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
