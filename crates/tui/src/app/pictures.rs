//! Pictures that are being read for the prompt, and the file for copied answers. Reading and writing happen outside. A
//! prompt sent while a picture is still being read waits for it.

use std::path::PathBuf;

#[derive(Debug, Default)]
pub struct PendingImages {
    /// How many reads are pending.
    reading: usize,
    /// Enter was pressed while a picture was being read.
    submits_after: bool,
}

impl PendingImages {
    /// A picture is being read.
    pub fn begin(&mut self) {
        self.reading += 1;
    }

    /// Whether sending has to wait for a picture. If so, the prompt is sent once the picture was read.
    pub fn holds_submission(&mut self) -> bool {
        self.submits_after |= self.reading > 0;
        self.reading > 0
    }

    /// A picture could not be read, so the prompt is not sent without the user.
    pub fn cancel_submission(&mut self) {
        self.submits_after = false;
    }

    /// A read has ended.
    pub fn end(&mut self) {
        self.reading = self.reading.saturating_sub(1);
    }

    /// Whether the prompt that waited is sent now.
    pub fn take_submission(&mut self) -> bool {
        self.reading == 0 && std::mem::take(&mut self.submits_after)
    }
}

/// The path of the file an answer is copied to.
pub fn copy_path(cwd: &std::path::Path, number: u32) -> PathBuf {
    let name = if number == 0 { "answer.md".to_owned() } else { format!("answer-{number}.md") };
    cwd.join(name)
}
