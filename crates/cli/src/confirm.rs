//! A question with yes or no, on standard error. Whatever is not a clear yes is a no.

use std::io::{BufRead, Write};

pub(crate) fn confirm(question: &str) -> bool {
    std::io::stderr().write_all(format!("{question} [y/N] ").as_bytes()).ok();
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).ok();
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}
