//! Chips: short labels in the prompt that represent pasted text or images. The label is part of the text; its content
//! is kept here. A label without known content is plain text and is never expanded.

use std::collections::BTreeMap;
use std::ops::Range;

/// Pastes with more characters or more line breaks than this become a chip.
const LONG_CHARS: usize = 800;
const LONG_BREAKS: usize = 2;

pub fn is_long(text: &str) -> bool {
    text.matches('\n').count() > LONG_BREAKS || text.chars().count() > LONG_CHARS
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chip {
    Text(String),
    Image { media_type: String, base64: String },
}

/// The number in a label.
fn number_of(label: &str) -> Option<usize> {
    let digits = label.split_once('#')?.1;
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[derive(Clone, Debug, Default)]
pub struct ChipSet {
    by_label: BTreeMap<String, Chip>,
    count: usize,
}

impl ChipSet {
    pub fn add_text(&mut self, text: String) -> String {
        self.count += 1;
        let breaks = text.matches('\n').count();
        let label = match breaks {
            0 => format!("[Pasted text #{}]", self.count),
            lines => format!("[Pasted text #{} +{lines} lines]", self.count),
        };
        self.by_label.insert(label.clone(), Chip::Text(text));
        label
    }

    pub fn add_image(&mut self, media_type: String, base64: String) -> String {
        self.count += 1;
        let label = format!("[Image #{}]", self.count);
        self.by_label.insert(label.clone(), Chip::Image { media_type, base64 });
        label
    }

    pub fn is_empty(&self) -> bool {
        self.by_label.is_empty()
    }

    /// Forgets all chips. The numbering continues, so that an earlier label never gets another content.
    pub fn clear(&mut self) {
        self.by_label.clear();
    }

    pub fn get(&self, label: &str) -> Option<&Chip> {
        self.by_label.get(label)
    }

    /// The chips in `text`, in order.
    pub fn find(&self, text: &str) -> Vec<(Range<usize>, &Chip)> {
        if self.by_label.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(start) = text[at..].find('[').map(|index| at + index) {
            let end = text[start..].find(']').map_or(text.len(), |index| start + index + 1);
            match self.by_label.get(&text[start..end]) {
                Some(chip) => {
                    found.push((start..end, chip));
                    at = end;
                }
                None => at = start + 1,
            }
        }
        found
    }

    /// The chip that contains `at`, edges excluded.
    pub fn around(&self, text: &str, at: usize) -> Option<Range<usize>> {
        self.find(text).into_iter().map(|(range, _)| range).find(|range| range.start < at && at < range.end)
    }

    /// Extends `range` so that it does not cut a chip.
    pub fn widen(&self, text: &str, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            return range;
        }
        self.find(text).into_iter().fold(range, |range, (chip, _)| {
            if chip.start < range.end && range.start < chip.end {
                range.start.min(chip.start)..range.end.max(chip.end)
            } else {
                range
            }
        })
    }

    /// Replaces text chips with their content; images stay as labels.
    pub fn expand(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (range, chip) in self.find(text) {
            if let Chip::Text(content) = chip {
                out.push_str(&text[at..range.start]);
                out.push_str(content);
                at = range.end;
            }
        }
        out.push_str(&text[at..]);
        out
    }

    /// The chips in `text` with their labels, in order.
    pub fn labelled(&self, text: &str) -> Vec<(String, Chip)> {
        self.find(text).into_iter().map(|(range, chip)| (text[range].to_owned(), chip.clone())).collect()
    }

    /// Adds chips that were removed together with their text, or that have their labels from an earlier process.
    pub fn restore(&mut self, chips: Vec<(String, Chip)>) {
        let highest = chips.iter().filter_map(|(label, _)| number_of(label)).max();
        self.count = self.count.max(highest.unwrap_or_default());
        self.by_label.extend(chips);
    }

    /// The images in `text`, in order.
    pub fn images(&self, text: &str) -> Vec<(String, String)> {
        let images = self.find(text).into_iter().filter_map(|(_, chip)| match chip {
            Chip::Image { media_type, base64 } => Some((media_type.clone(), base64.clone())),
            Chip::Text(_) => None,
        });
        images.collect()
    }
}
