use super::*;
use proptest::prelude::*;

fn decode(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut decoder = InputDecoder::new();
    let mut inputs = decoder.push(bytes);
    inputs.extend(decoder.flush());
    inputs
}

fn keys(bytes: &[u8]) -> Vec<String> {
    let name = |input: TerminalInput| match input {
        TerminalInput::Key(key) => key.to_string(),
        other => format!("{other:?}"),
    };
    decode(bytes).into_iter().map(name).collect()
}

#[test]
fn legacy_keys() {
    // [TST-232]
    assert_eq!(keys(b"aZ\r\t\x7f\x01\x1f"), ["a", "Z", "enter", "tab", "backspace", "ctrl+a", "ctrl+_"]);
    assert_eq!(keys(b"\n\x03\x04\x00"), ["ctrl+j", "ctrl+c", "ctrl+d", "ctrl+space"]);
    assert_eq!(keys(b"\x1b[A\x1b[1;5C\x1bOP\x1b[3~\x1b[Z"), ["up", "ctrl+right", "f1", "delete", "shift+tab"]);
    assert_eq!(keys(b"\x1bb\x1b\r\x1bB\x1b\x7f"), ["alt+b", "alt+enter", "alt+shift+b", "alt+backspace"]);
    assert_eq!(keys("é日".as_bytes()), ["é", "日"]);
    assert_eq!(keys(b"\x1b"), ["escape"]);
    assert_eq!(keys(b"\x1b\x1b"), ["escape", "escape"]);
    assert_eq!(keys(b"\x1b["), ["alt+["]);
}

#[test]
fn shift_enter_under_every_protocol() {
    // [TST-234]
    assert_eq!(keys(b"\x1b[13;2u"), ["shift+enter"]);
    assert_eq!(keys(b"\x1b[27;2;13~"), ["shift+enter"]);
    assert_eq!(keys(b"\x1b\r"), ["alt+enter"]);
    assert_eq!(keys(b"\x1b[27;5;106~"), ["ctrl+j"]);
}

#[test]
fn kitty_keys() {
    assert_eq!(keys(b"\x1b[97;5u\x1b[97;6u\x1b[97;2u"), ["ctrl+a", "ctrl+shift+a", "A"]);
    assert_eq!(keys(b"\x1b[47:63;2u"), ["?"]);
    assert_eq!(keys(b"\x1b[97;1:3u\x1b[1;1:3A\x1b[57441;2u"), Vec::<String>::new());
    assert_eq!(keys(b"\x1b[27u\x1b[127;5u\x1b[107;9u"), ["escape", "ctrl+backspace", "cmd+k"]);
    assert_eq!(keys(b"\x1b[1;2:2A"), ["shift+up"]);
}

#[test]
fn reports_focus_and_mouse_never_become_text() {
    // [TST-254]
    assert_eq!(
        decode(b"\x1b[I\x1b[O"),
        [TerminalInput::Focus(FocusChange::Gained), TerminalInput::Focus(FocusChange::Lost)]
    );
    assert_eq!(decode(b"\x1b[<0;10;20M\x1b[<0;10;20m\x1b[M !!"), []);
    assert_eq!(
        decode(b"\x1b]11;rgb:00/00/00\x1b\\\x1b[?1u\x1b[5;7R"),
        [
            TerminalInput::Report("]11;rgb:00/00/00".into()),
            TerminalInput::Report("[?1u".into()),
            TerminalInput::Report("[5;7R".into())
        ]
    );
    assert_eq!(keys(b"\x1b[999zx"), ["x"]);
}

#[test]
fn a_paste_is_one_input_and_ends_without_its_marker() {
    // [TST-235]
    assert_eq!(decode(b"\x1b[200~a\r\nb\x1b[Ac\x1b[201~x")[0], TerminalInput::Paste("a\nb\x1b[Ac".into()));
    let mut decoder = InputDecoder::new();
    assert_eq!(decoder.push(b"\x1b[200~lost\x1b[20"), []);
    assert_eq!(decoder.flush_delay(), Some(PASTE_WAIT));
    assert_eq!(decoder.flush(), [TerminalInput::Paste("lost\x1b[20".into())]);
    assert_eq!(decoder.flush_delay(), None);
}

#[test]
fn a_large_paste_in_small_pieces_stays_linear() {
    // [TST-235]
    let text = "0123456789abcde\r".repeat(65_536);
    let mut decoder = InputDecoder::new();
    let mut inputs = decoder.push(b"\x1b[200~");
    for chunk in text.as_bytes().chunks(1_000) {
        inputs.extend(decoder.push(chunk));
    }
    inputs.extend(decoder.push(b"\x1b[201~"));
    assert_eq!(inputs, [TerminalInput::Paste(text.replace('\r', "\n"))]);
}

fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&'static [u8]> = vec![
        b"\x1b",
        b"\x1b[A",
        b"\x1b[1;5C",
        b"\x1bOP",
        b"\x1b[13;2u",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b[I",
        b"\x1b[<0;1;2M",
        b"\x1b]11;rgb:0/0/0\x07",
        b"a",
        b"\r",
        "日".as_bytes(),
        b"\xff",
        b"\x1b[",
        b"\x03",
        b"\x1b[M",
        b"\x1bP",
        b"[201~",
    ];
    prop::collection::vec(prop::sample::select(known), 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn the_split_does_not_matter(bytes in prop_oneof![pieces(), prop::collection::vec(any::<u8>(), 0..60)],
                                 cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.push(bytes.len());
        at.sort_unstable();
        let mut decoder = InputDecoder::new();
        let mut inputs = Vec::new();
        let mut from = 0;
        for to in at {
            inputs.extend(decoder.push(&bytes[from..to]));
            from = to;
        }
        inputs.extend(decoder.flush());
        prop_assert_eq!(inputs, decode(&bytes));
    }
}
