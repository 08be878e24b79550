//! Reads from a Linux binary whether it is stripped, and which system libraries it needs.

const SYMBOL_TABLE: u32 = 2;

/// Whether the file has no symbol table. Also true for files that are not 64-bit ELF binaries.
pub(super) fn is_stripped(binary: &[u8]) -> bool {
    section_kinds(binary).is_none_or(|kinds| !kinds.contains(&SYMBOL_TABLE))
}

fn section_kinds(binary: &[u8]) -> Option<Vec<u32>> {
    if binary.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(binary.get(0x28..0x30)?.try_into().ok()?)).ok()?;
    let short = |at: usize| Some(usize::from(u16::from_le_bytes(binary.get(at..at + 2)?.try_into().ok()?)));
    let (size, count) = (short(0x3a)?, short(0x3c)?);
    let kind =
        |n: usize| Some(u32::from_le_bytes(binary.get(table + n * size + 4..table + n * size + 8)?.try_into().ok()?));
    (0..count).map(kind).collect()
}

/// The `Depends:` line of a Debian package, with its newline; empty when the binary needs no library.
pub(super) fn depends(binary: &[u8]) -> String {
    let mut needs = Vec::new();
    if let Some(minor) = newest_glibc(binary) {
        needs.push(format!("libc6 (>= 2.{minor})"));
    }
    if contains(binary, b"libgcc_s.so.1\0") {
        needs.push("libgcc-s1".to_owned());
    }
    if needs.is_empty() { String::new() } else { format!("Depends: {}\n", needs.join(", ")) }
}

/// The newest C library version that a symbol requires: `n` of `GLIBC_2.n`.
fn newest_glibc(binary: &[u8]) -> Option<u32> {
    const PREFIX: &[u8] = b"\0GLIBC_2.";
    let starts = binary.windows(PREFIX.len()).enumerate().filter(|(_, window)| *window == PREFIX);
    let minor = |at: usize| {
        let digits: String =
            binary[at..].iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| char::from(*byte)).collect();
        digits.parse::<u32>().ok()
    };
    starts.filter_map(|(at, _)| minor(at + PREFIX.len())).max()
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_tables_are_found() {
        let bytes = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0libgcc_s.so.1\0";
        assert_eq!(depends(bytes), "Depends: libc6 (>= 2.34), libgcc-s1\n");
        assert_eq!(depends(b"#!/bin/sh"), "");
        assert!(is_stripped(b"#!/bin/sh"));
        // A test binary has symbols.
        assert!(!is_stripped(&std::fs::read(std::env::current_exe().unwrap()).unwrap()));
    }
}
