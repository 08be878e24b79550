use super::*;
use proptest::prelude::*;

const TOKEN: &str = "s3cr3t-Value-0001";
const OTHER: &str = "s3cr3t-Value-0001-and-more";

fn mask() -> Mask {
    let vars =
        [("DEPLOY_TOKEN", TOKEN), ("OTHER_TOKEN", OTHER), ("QUOTED_SECRET", "a\"b$c'd\\e f"), ("HOME", "/home/u")];
    Mask::of(vars.iter().map(|(n, v)| (n.as_bytes(), v.as_bytes())), &[])
}

fn in_pieces(mask: &Mask, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut stream = mask.stream();
    let mut out = Vec::new();
    let mut from = 0;
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (text.len() + 1)).collect();
    cuts.sort_unstable();
    for cut in cuts.into_iter().chain([text.len()]) {
        stream.push(&text[from..cut], &mut |part| out.extend_from_slice(part));
        from = cut;
    }
    stream.finish(&mut |part| out.extend_from_slice(part));
    out
}

fn github() -> String {
    format!("ghp_{}", "aB3dE6gH9".repeat(4))
}

fn pem() -> String {
    let line = "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0qj3k6b2i9vN8s1mZx7Qw+4tLpR\n";
    format!("-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----", line.repeat(6))
}

fn jwt() -> String {
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P".into()
}

// SC-B25
#[test]
fn values_and_formats_are_named_in_their_place() {
    let mask = mask();
    let shown = |text: &str| mask.text(text).into_owned();
    assert_eq!(shown(&format!("a {TOKEN} b")), "a [secret DEPLOY_TOKEN hidden by gimlet] b");
    assert_eq!(shown(&format!("x{OTHER}y")), "x[secret OTHER_TOKEN hidden by gimlet]y");
    assert_eq!(shown(&format!("t={}.", github())), "t=[secret GitHub token hidden by gimlet].");
    assert_eq!(shown(&format!("k\n{}\nend", pem())), "k\n[secret private key hidden by gimlet]\nend");
    assert_eq!(shown(&format!("Bearer {}\n", jwt())), "Bearer [secret JSON web token hidden by gimlet]\n");
    assert_eq!(shown("id AKIA2OGYBAH6STMMNXNN;"), "id [secret AWS access key hidden by gimlet];");
    assert_eq!(
        shown(&format!("\x1b[01;31mnpm_{}\x1b[m", "a1B2".repeat(9))),
        "\x1b[01;31m[secret npm token hidden by gimlet]\x1b[m"
    );
    assert_eq!(
        shown("declare -x Q=\"a\\\"b\\$c'd\\\\e f\""),
        "declare -x Q=\"[secret QUOTED_SECRET hidden by gimlet]\""
    );
}

#[test]
fn a_key_with_line_numbers_or_in_one_line_is_hidden() {
    let mask = mask();
    let numbered: Vec<String> = pem().lines().enumerate().map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
    let numbered = numbered.join("\n") + "\n";
    assert_eq!(mask.text(&numbered), "     1\t[secret private key hidden by gimlet]\n");
    let one_line = pem().replace('\n', "\\n");
    assert_eq!(mask.text(&format!("K=\"{one_line}\\n\"")), "K=\"[secret private key hidden by gimlet]\\n\"");
    let cut: String = pem().lines().take(3).collect::<Vec<_>>().join("\n");
    assert_eq!(mask.text(&cut), "[secret private key hidden by gimlet]");
}

#[test]
fn ordinary_text_is_left_alone() {
    let mask = mask();
    for text in [
        "commit task-0123456789abcdef0123456789abcdef01234567",
        "sk-some-kebab-case-name-of-a-component-that-is-long",
        "AKIAIOSFODNN7EXAMPLE",
        "xAKIA2OGYBAH6STMMNXNN",
        "hf_hub_download(repo_id)",
        "npm_config_registry=x",
        "assert!(text.contains(\"-----BEGIN RSA PRIVATE KEY-----\")); let x = 1;",
        "-----BEGIN CERTIFICATE-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF0qj3k6b2i9vN8s1mZx7Qw+4tLpR\n",
        "eyJhbGciOiJIUzI1NiJ9 is only a header",
        "ghp_short",
        "SG.",
        "sk-ant-",
        "-----BEGIN ",
        "s3cr3t-Value",
        "the -----BEGIN PRIVATE KEY----- line and what follows it is told in prose here without any key",
    ] {
        assert_eq!(mask.text(text), text);
    }
    assert!(Mask::off().bytes(github().as_bytes()).is_none());
}

#[test]
fn json_stays_json() {
    let mask = mask();
    let value = serde_json::json!({"b": [pem(), {"q": "a\"b$c'd\\e f"}], "a": format!("l\n{}", github()), "n": 7});
    let raw = serde_json::value::to_raw_value(&value).unwrap();
    let masked: Value = serde_json::from_str(mask.json(&raw).unwrap().get()).unwrap();
    assert_eq!(
        masked,
        serde_json::json!({"b": ["[secret private key hidden by gimlet]", {"q": "[secret QUOTED_SECRET hidden by gimlet]"}],
                           "a": "l\n[secret GitHub token hidden by gimlet]", "n": 7})
    );
    let plain = serde_json::value::to_raw_value(&serde_json::json!({"a": "text"})).unwrap();
    assert!(mask.json(&plain).is_none());
}

#[test]
fn a_mask_that_comes_back_is_recognised() {
    let mask = mask();
    let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
    let found = mask.returned(&raw(r#"{"content":"KEY=[secret DEPLOY_TOKEN hidden by gimlet]\n"}"#));
    assert_eq!(found.as_deref(), Some("[secret DEPLOY_TOKEN hidden by gimlet]"));
    let escaped = mask.returned(&raw(r#"{"content":"[secret X hidden by gimlet\u005d"}"#));
    assert_eq!(escaped.as_deref(), Some("[secret X hidden by gimlet]"));
    assert_eq!(mask.returned(&raw(r#"{"content":"[secret] hidden by gimlet"}"#)), None);
    assert_eq!(Mask::off().returned(&raw(r#"{"c":"[secret X hidden by gimlet]"}"#)), None);
}

#[test]
fn debug_output_has_no_values() {
    let known = Known { name: "N".into(), value: TOKEN.into() };
    let mask = Mask::of([], std::slice::from_ref(&known));
    let text = format!("{known:?} {mask:?} {:?}", mask.stream());
    assert!(!text.contains(TOKEN), "{text}");
}

#[test]
fn much_is_held_only_while_it_may_be_a_secret() {
    let mut stream = mask().stream();
    let mut seen = 0;
    for _ in 0..200 {
        stream.push(&b"abcdefghij\n".repeat(1000), &mut |part| seen += part.len());
    }
    assert_eq!(seen, 200 * 11_000, "nothing waits after a line end");
    stream.push(format!("ghp_{}", "a1".repeat(2_000_000)).as_bytes(), &mut |part| seen += part.len());
    assert_eq!(seen, 200 * 11_000 + "[secret GitHub token hidden by gimlet]".len(), "a long run is not kept");
}

/// `cargo test --release -p gimlet-permission mask_speed -- --ignored --nocapture`
#[test]
#[ignore = "a measurement"]
fn mask_speed() {
    let line = "2026-01-01T00:00:00Z INFO request id=42 path=/api/items status=200 duration=12ms agent=curl\n";
    let text = line.repeat(1_000_000).into_bytes();
    let mask = mask();
    let started = std::time::Instant::now();
    let mut stream = mask.stream();
    let mut passed = 0;
    text.chunks(64 * 1024).for_each(|chunk| stream.push(chunk, &mut |part| passed += part.len()));
    stream.finish(&mut |part| passed += part.len());
    assert_eq!(passed, text.len());
    println!("mask: {:.0} MB/s", text.len() as f64 / 1e6 / started.elapsed().as_secs_f64());
}

/// Text made of pieces that matter, so that secrets and their halves meet.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(TOKEN.to_owned()),
        Just(OTHER.to_owned()),
        Just(github()),
        Just(pem()),
        Just(jwt()),
        Just("-----BEGIN RSA PRIVATE KEY-----\n".to_owned()),
        Just("-----END ".to_owned()),
        Just("sk-".to_owned()),
        Just("AKIA2OGYBAH6STMMNXNN".to_owned()),
        Just("eyJhbGci".to_owned()),
        Just("s3cr3t-Value-".to_owned()),
        "[a-zA-Z0-9_.\\- \\n\"\\\\]{0,12}",
        "[a-z0-9]{30,60}",
        ".{0,6}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_split_gives_the_same(text in texts(), cuts in proptest::collection::vec(any::<usize>(), 0..20)) {
        let mask = mask();
        let whole = in_pieces(&mask, text.as_bytes(), &[]);
        let pieces = in_pieces(&mask, text.as_bytes(), &cuts);
        prop_assert_eq!(String::from_utf8_lossy(&pieces), String::from_utf8_lossy(&whole));
        let each: Vec<usize> = (0..text.len()).collect();
        prop_assert_eq!(in_pieces(&mask, text.as_bytes(), &each), whole);
    }

    #[test]
    fn no_known_value_is_left_and_masking_twice_changes_nothing(text in texts()) {
        let mask = mask();
        let once = mask.text(&text).into_owned();
        prop_assert!(!once.contains(TOKEN) && !once.contains(&github()), "{}", once);
        prop_assert_eq!(mask.text(&once), once.as_str());
    }
}
