//! Edit application: what was found is replaced, the count is true, and nothing else changes. The input is the scope,
//! then content, old and new text with 0xFF between them.

use tools::edit::{EditMismatch, MatchKind, ReplaceScope, apply};

pub(crate) fn check(bytes: &[u8]) {
    let [flag, rest @ ..] = bytes else { return };
    let mut parts = rest.splitn(3, |b| *b == 0xff).map(|p| String::from_utf8_lossy(p).into_owned());
    let (Some(content), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) else { return };
    if old.is_empty() {
        return;
    }
    let scope = if flag & 1 == 1 { ReplaceScope::All } else { ReplaceScope::One };
    let applied = apply(&content, &old, &new, scope);
    if [&content, &old, &new].iter().any(|t| has_lone_cr(t)) {
        return;
    }
    let (content, old, new) = (lf(&content), lf(&old), lf(&new));
    let found = content.matches(&*old).count();
    match applied {
        Ok(done) => {
            let count = done.places.len();
            assert!(count >= 1 && (scope == ReplaceScope::All || count == 1));
            if done.matched == MatchKind::Exactly {
                assert_eq!(count, found);
                assert_eq!(lf(&done.text), content.replace(&*old, &new));
            } else {
                assert_eq!(found, 0, "quotes are bent only when nothing fits exactly");
            }
        }
        Err(EditMismatch::NotFound) => assert_eq!(found, 0),
        Err(EditMismatch::Ambiguous(places)) => {
            // Places that overlap count here and not in `found`.
            assert!(scope == ReplaceScope::One && places.len() >= 2 && places.len() >= found);
        }
    }
}

fn lf(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn has_lone_cr(text: &str) -> bool {
    lf(text).contains('\r')
}
