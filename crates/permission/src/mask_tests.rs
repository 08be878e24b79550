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
    assert!(Mask::disabled().bytes(github().as_bytes()).is_none());
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
    let found = mask.find_mask_in_input(&raw(r#"{"content":"KEY=[secret DEPLOY_TOKEN hidden by gimlet]\n"}"#));
    assert_eq!(found.as_deref(), Some("[secret DEPLOY_TOKEN hidden by gimlet]"));
    let escaped = mask.find_mask_in_input(&raw(r#"{"content":"[secret X hidden by gimlet\u005d"}"#));
    assert_eq!(escaped.as_deref(), Some("[secret X hidden by gimlet]"));
    assert_eq!(mask.find_mask_in_input(&raw(r#"{"content":"[secret] hidden by gimlet"}"#)), None);
    assert_eq!(Mask::disabled().find_mask_in_input(&raw(r#"{"c":"[secret X hidden by gimlet]"}"#)), None);
}

#[test]
fn debug_output_has_no_values() {
    let known = KnownSecret { name: "N".into(), value: TOKEN.into() };
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

fn letters(length: usize) -> String {
    "aB3dE6gH9kLmN2".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "0a1b2c3d4e5f6978".chars().cycle().take(length).collect()
}

fn capitals(length: usize) -> String {
    "A2BC3DEFG5HK7".chars().cycle().take(length).collect()
}

/// Keys of every service in the table, made of pieces so that no file holds one.
#[expect(clippy::too_many_lines, reason = "a table")]
fn keys() -> Vec<(&'static str, String)> {
    let parts = |between: &str, parts: &[String]| parts.join(between);
    let (a, h, c) = (letters, hex, capitals);
    let mut keys: Vec<(&str, String)> = Vec::new();
    let mut add = |name: &'static str, start: &str, rest: String| keys.push((name, format!("{start}{rest}")));
    add("Anthropic key", "sk-ant-", format!("api03-{}", a(90)));
    add("OpenRouter key", "sk-or-v1-", h(64));
    for kind in ["proj", "svcacct", "admin"] {
        add("OpenAI key", &format!("sk-{kind}-"), a(80));
    }
    add("API key", "sk-", a(48));
    for kind in ["p", "o", "u", "s", "r"] {
        add("GitHub token", &format!("gh{kind}_"), a(36));
    }
    add("GitHub token", "github_pat_", a(82));
    for (kind, length) in [
        ("pat", 20),
        ("dt", 20),
        ("rt", 20),
        ("ft", 20),
        ("ffct", 20),
        ("imt", 25),
        ("agent", 50),
        ("oas", 64),
        ("soat", 20),
    ] {
        add("GitLab token", &format!("gl{kind}-"), a(length));
    }
    add("GitLab token", "glptt-", h(40));
    add("GitLab token", "glcbt-", format!("64_{}", a(20)));
    add("GitLab token", "GR1348941", a(20));
    add("GitLab session", "_gitlab_session=", h(32));
    let digits = "123456789012";
    for kind in ["b", "p", "a", "s", "o", "e"] {
        add("Slack token", &format!("xox{kind}-"), format!("{digits}-{digits}-{digits}-{}", a(28)));
    }
    add("Slack token", "xoxr-", a(20));
    add("Slack token", "xoxe.xoxb-", format!("1-{}", c(160)));
    add("Slack token", "xoxe.xoxp-", format!("1-{}", c(160)));
    add("Slack token", "xapp-", format!("1-A{}-{digits}-{}", c(10), h(60)));
    for kind in ["services", "workflows", "triggers"] {
        add("Slack webhook", &format!("hooks.slack.com/{kind}/"), format!("T{}/B{}/{}", c(9), c(9), a(24)));
    }
    add("Discord webhook", "discord.com/api/webhooks/", format!("{digits}345678/{}", a(68)));
    add("Discord webhook", "discordapp.com/api/webhooks/", format!("{digits}345678/{}", a(68)));
    add("Teams webhook", ".webhook.office.com/webhookb2/", format!("{}@{}/IncomingWebhook/{}", h(36), h(36), h(32)));
    for start in ["AKIA", "ASIA", "ABIA", "ACCA"] {
        add("AWS access key", start, c(16));
    }
    add("Bedrock key", "ABSK", a(110));
    add("Bedrock key", "bedrock-api-key-", a(60));
    add("Alibaba access key", "LTAI", a(20));
    add("Google API key", "AIza", a(35));
    add("Google token", "ya29.", a(60));
    add("Google token", "1//0", a(60));
    add("Google client secret", "GOCSPX-", a(28));
    add("Azure storage key", "AccountKey=", a(86));
    add("Azure access key", "SharedAccessKey=", a(43));
    add("Azure client secret", "8Q~", a(34));
    add("Azure client secret", "7Q~", a(34));
    for kind in ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"] {
        add("Stripe key", kind, a(24));
    }
    add("webhook secret", "whsec_", a(32));
    add("npm token", "npm_", a(36));
    add("PyPI token", "pypi-AgE", a(80));
    add("SendGrid key", "SG.", parts(".", &[a(22), a(43)]));
    add("Hugging Face token", "hf_", "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH".into());
    add("Hugging Face token", "api_org_", a(34));
    add("Groq key", "gsk_", a(52));
    add("xAI key", "xai-", a(80));
    add("Replicate token", "r8_", a(37));
    add("Perplexity key", "pplx-", a(48));
    add("NVIDIA key", "nvapi-", a(64));
    for kind in ["dop", "doo", "dor"] {
        add("DigitalOcean token", &format!("{kind}_v1_"), h(64));
    }
    add("Databricks token", "dapi", h(32));
    for kind in ["at", "ss", "ca", "pa"] {
        add("Shopify token", &format!("shp{kind}_"), h(32));
    }
    add("Docker token", "dckr_pat_", a(27));
    add("Docker token", "dckr_oat_", a(27));
    add("Vault token", "hvs.", a(90));
    add("Vault token", "hvb.", a(140));
    add("Linear key", "lin_api_", a(40));
    add("Linear token", "lin_oauth_", h(64));
    add("Figma token", "figd_", a(40));
    add("Grafana token", "glsa_", parts("_", &[a(32), h(8)]));
    add("Grafana token", "glc_", a(60));
    add("Grafana key", "eyJrIjoi", a(80));
    add("Supabase token", "sbp_", h(40));
    add("Sentry token", "sntrys_", a(60));
    add("Sentry token", "sntryu_", h(64));
    add("Tailscale key", "tskey-", format!("auth-{}", a(30)));
    add("Atlassian token", "ATATT3", a(180));
    add("New Relic key", "NRAK-", c(27));
    add("age key", "AGE-SECRET-KEY-1", c(58));
    add("Terraform token", ".atlasv1.", a(64));
    add("1Password key", "A3-", parts("-", &[c(6), c(11), c(5), c(5), c(5)]));
    add("1Password key", "A3-", parts("-", &[c(6), c(6), c(5), c(5), c(5), c(5)]));
    add("1Password token", "ops_eyJ", a(260));
    add("Adobe secret", "p8e-", a(32));
    add("Artifactory key", "AKCp", a(69));
    add("Artifactory token", "cmVmdGtuOj", a(54));
    add("ClickHouse key", "4b1d", a(38));
    add("Clojars token", "CLOJARS_", a(60));
    add("Cloudflare key", "v1.0-", parts("-", &[h(24), h(146)]));
    add("Doppler token", "dp.pt.", a(43));
    add("Duffel token", "duffel_test_", a(43));
    add("Duffel token", "duffel_live_", a(43));
    add("Dynatrace token", "dt0c01.", parts(".", &[c(24), c(64)]));
    add("EasyPost key", "EZAK", a(54));
    add("EasyPost key", "EZTK", a(54));
    add("Facebook token", "EAAC", a(120));
    add("Facebook token", "EAAM", a(120));
    add("Flutterwave key", "FLWSECK_TEST-", h(12));
    add("Flutterwave key", "FLWSECK-", h(32));
    add("Fly.io token", "fo1_", a(43));
    for start in ["fm1a_", "fm1r_", "fm2_"] {
        add("Fly.io token", start, a(120));
    }
    add("Frame.io token", "fio-u-", a(64));
    add("Harness token", "pat.", parts(".", &[a(22), a(24), a(20)]));
    add("Harness token", "sat.", parts(".", &[a(22), a(24), a(20)]));
    add("Heroku key", "HRKU-AA", a(58));
    add("Infracost key", "ico-", a(32));
    add("42 secret", "s-s4t2ud-", h(64));
    add("42 secret", "s-s4t2af-", h(64));
    add("Notion token", "ntn_", format!("12345678901{}", a(35)));
    add("Notion token", "secret_", a(43));
    add("Octopus key", "API-", c(26));
    add("OpenShift token", "sha256~", a(43));
    for kind in ["tkn", "oauth"] {
        add("PlanetScale token", &format!("pscale_{kind}_"), a(43));
    }
    add("PlanetScale password", "pscale_pw_", a(43));
    add("Postman key", "PMAK-", parts("-", &[h(24), h(34)]));
    add("PostHog key", "phx_", a(43));
    add("Prefect key", "pnu_", a(36));
    add("Pulumi token", "pul-", h(40));
    add("ReadMe key", "rdme_", a(70));
    add("RubyGems key", "rubygems_", h(48));
    add("Scalingo token", "tk-us-", a(48));
    add("Brevo key", "xkeysib-", parts("-", &[h(64), a(16)]));
    for kind in ["aat", "pat", "sat"] {
        add("SettleMint token", &format!("sm_{kind}_"), a(16));
    }
    add("Shippo token", "shippo_live_", h(40));
    add("Shippo token", "shippo_test_", h(40));
    add("Sourcegraph token", "sgp_", h(40));
    add("Square token", "sq0atp-", a(22));
    add("Square secret", "sq0csp-", a(43));
    add("Square token", "EAAA", a(60));
    add("Typeform token", "tfp_", a(59));
    add("Tavily key", "tvly-", a(32));
    add("Jina key", "jina_", a(60));
    add("E2B key", "e2b_", h(40));
    add("Twilio key", "SK", h(32));
    add("Airtable token", "pat", format!("{}.{}", a(14), h(64)));
    add("Mailgun key", "key-", h(32));
    add("Mailgun key", "pubkey-", h(32));
    add("npm token", "_authToken=", a(36));
    add("npm token", ":_auth=", a(24));
    add("npm token", ":_password=", a(16));
    add("Bitbucket password", "ATBB", a(32));
    add("Supabase key", "sb_secret_", a(31));
    add("Pinecone key", "pcsk_", parts("_", &[a(5), a(63)]));
    add("LangSmith key", "lsv2_pt_", parts("_", &[h(32), h(10)]));
    add("LangSmith key", "lsv2_sk_", parts("_", &[h(32), h(10)]));
    add("CircleCI token", "CCIPAT_", parts("_", &[a(22), h(40)]));
    add("CircleCI token", "CCIPRJ_", parts("_", &[a(22), h(40)]));
    add("Buildkite token", "bkua_", h(40));
    for start in ["squ_", "sqp_", "sqa_"] {
        add("SonarQube token", start, h(40));
    }
    add("Contentful token", "CFPAT-", a(43));
    add("Neon key", "napi_", a(64));
    for start in ["vcp_", "vck_", "vca_"] {
        add("Vercel token", start, a(56));
    }
    add("Netlify token", "nfp_", a(36));
    add("Render key", "rnd_", a(28));
    add("Resend key", "re_", parts("_", &[a(8), a(24)]));
    for start in ["pat-na1-", "pat-na2-", "pat-eu1-"] {
        add("HubSpot token", start, parts("-", &[h(8), h(4), h(4), h(4), h(12)]));
    }
    for start in ["dt0s01.", "dt0s02.", "dt0s16."] {
        add("Dynatrace token", start, parts(".", &[c(8), c(64)]));
    }
    for start in ["MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"] {
        add("Discord token", start, parts(".", &[a(24), a(6), a(38)]));
    }
    add("GitLab token", "glcbt-", format!("64_{}", a(20)));
    keys
}

// [F-A9]
#[test]
fn the_keys_of_every_service_in_the_table_are_hidden() {
    let mask = Mask::of([], &[]);
    let keys = keys();
    for (name, key) in &keys {
        let expected = format!("K=[secret {name} hidden by gimlet]\n");
        let text = format!("K={key}\n");
        assert_eq!(mask.text(&text), expected, "{key}");
        let quoted = format!("{{\"k\":\"{key}\"}}");
        assert_eq!(mask.text(&quoted), format!("{{\"k\":\"[secret {name} hidden by gimlet]\"}}"));
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(String::from_utf8_lossy(&in_pieces(&mask, text.as_bytes(), &each)), expected);
    }
    let bot = format!("bot 123456789:AA{} ok", letters(33));
    assert_eq!(mask.text(&bot), "bot 123456789[secret Telegram token hidden by gimlet] ok");
    let license = format!("key: aB3dE6_{}_mmk ok", letters(29));
    let hidden = "key: aB3dE6[secret MaxMind key hidden by gimlet] ok";
    assert_eq!(mask.text(&license), hidden);
    let each: Vec<usize> = (0..license.len()).collect();
    assert_eq!(String::from_utf8_lossy(&in_pieces(&mask, license.as_bytes(), &each)), hidden);
    let begins_before = |edge: formats::KeyBoundary| {
        !matches!(edge, formats::KeyBoundary::Any | formats::KeyBoundary::Word | formats::KeyBoundary::Alone)
    };
    for format in table::FORMATS.iter().filter(|format| !begins_before(format.edge)) {
        let special = matches!(
            format.body,
            formats::KeyBody::Password
                | formats::KeyBody::LoosePassword
                | formats::KeyBody::SlashPassword
                | formats::KeyBody::Setting
                | formats::KeyBody::SettingValue
                | formats::KeyBody::Authorization
                | formats::KeyBody::KeyHeader
                | formats::KeyBody::Jwt
                | formats::KeyBody::Pem
        );
        assert!(
            special || keys.iter().any(|(name, key)| *name == format.name && key.starts_with(format.start)),
            "no key for {}",
            format.start
        );
    }
}

// [F-A9]
#[test]
fn what_only_looks_like_such_a_key_is_left_alone() {
    let mask = Mask::of([], &[]);
    let (hex32, hex64) = (hex(32), hex(64));
    for text in [
        format!("restore-keys: linux-cache-key-{hex32}"),
        format!("cache_key-{hex32}"),
        format!("key-{}", hex(40)),
        format!("key-{}", "a".repeat(32)),
        format!("TASK{hex32} RISK{hex32}"),
        format!("SK{}", hex(40)),
        format!("path/{hex64} pattern.{hex64} pat.{hex64}"),
        format!("patch_{}_mmk", letters(29)),
        format!("abcdefg_{}_mmk", letters(29)),
        format!("aB3dE6_{}_mmkx", letters(29)),
        format!("aB3dE6_{}_mmk", letters(28)),
        "SKIP SKU SK-1 key-value pubkey-cache pathology __init__ snake_case_name SK8".to_owned(),
    ] {
        assert_eq!(mask.text(&text), text);
    }
}

// [F-A9]
#[test]
fn credentials_in_headers_and_connection_strings_are_hidden() {
    let mask = Mask::of([], &[]);
    let pass = ["kX9", "mP2", "qR7"].concat();
    // "deploy:" and the password, in base64.
    let basic = ["ZGVwbG95", "Omt", "YOW1QMnFSNw", "=="].concat();
    let token = letters(24);
    for (text, shown) in [
        (
            format!("> Authorization: Bearer {token}\r\n"),
            "> Authorization: Bearer [secret authorization header hidden by gimlet]\r\n",
        ),
        (
            format!("authorization: bearer {token}"),
            "authorization: bearer [secret authorization header hidden by gimlet]",
        ),
        (
            format!("{{\"Authorization\": \"Bearer {token}\"}}"),
            "{\"Authorization\": \"Bearer [secret authorization header hidden by gimlet]\"}",
        ),
        (
            format!("-H 'Authorization: token {token}'"),
            "-H 'Authorization: token [secret authorization header hidden by gimlet]'",
        ),
        (
            format!("Proxy-Authorization: Basic {basic}\n"),
            "Proxy-Authorization: Basic [secret authorization header hidden by gimlet]\n",
        ),
        (
            format!("postgres://app:{pass}@db.internal:5432/x\n"),
            "postgres://app:[secret password hidden by gimlet]@db.internal:5432/x\n",
        ),
        (
            format!("'mongodb+srv://u:{pass}@c0.abc.mongodb.net'"),
            "'mongodb+srv://u:[secret password hidden by gimlet]@c0.abc.mongodb.net'",
        ),
        (format!("redis://:{pass}@cache:6379/0 ok"), "redis://:[secret password hidden by gimlet]@cache:6379/0 ok"),
        (format!("https://{token}:{pass}@host.io/a"), "https://[secret password hidden by gimlet]@host.io/a"),
        (
            format!("Server=s;User Id=u;Password={pass};Timeout=3"),
            "Server=s;User Id=u;Password=[secret password hidden by gimlet];Timeout=3",
        ),
        (format!("Server=s;Pwd={pass}\""), "Server=s;Pwd=[secret password hidden by gimlet]\""),
        (format!("Authorization: Bearer {}", github()), "Authorization: Bearer [secret GitHub token hidden by gimlet]"),
        (format!("> x-api-key: {token}\r\n"), "> x-api-key: [secret key header hidden by gimlet]\r\n"),
        (format!("-H 'X-Api-Key:{token}'"), "-H 'X-Api-Key:[secret key header hidden by gimlet]'"),
        (format!("{{\"x-api-key\": \"{token}\"}}"), "{\"x-api-key\": \"[secret key header hidden by gimlet]\"}"),
        (format!("(\"X-API-Key\", \"{token}\")"), "(\"X-API-Key\", \"[secret key header hidden by gimlet]\")"),
        (format!("x-goog-api-key: {}", github()), "x-goog-api-key: [secret GitHub token hidden by gimlet]"),
        (format!("curl -su -u bob:{pass}1 https://h"), "curl -su -u bob:[secret password hidden by gimlet] https://h"),
        (format!("curl -v --user \"bob:{pass}\" h"), "curl -v --user \"bob:[secret password hidden by gimlet]\" h"),
        (format!("$ curl -u 'bob:{pass}'"), "$ curl -u 'bob:[secret password hidden by gimlet]'"),
        (format!("\"curl --user=bob:{pass}\""), "\"curl --user=bob:[secret password hidden by gimlet]\""),
    ] {
        assert_eq!(mask.text(&text), shown);
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(String::from_utf8_lossy(&in_pieces(&mask, text.as_bytes(), &each)), shown);
    }
}

// [F-A9] **Quiet**
#[test]
fn placeholders_and_passwords_of_this_machine_are_no_secrets() {
    let mask = Mask::of([], &[]);
    let pass = ["kX9", "mP2", "qR7"].concat();
    for text in [
        "DATABASE_URL=postgres://postgres:postgres@db:5432/app".to_owned(),
        "postgres://user:password@db.internal/app".into(),
        "postgres://user:Password123@db.internal/app".into(),
        "postgres://user:${DB_PASSWORD}@db.internal/app".into(),
        "postgres://user:<your-password>@db.internal/app".into(),
        "mysql://root:changeme@db/app".into(),
        "amqp://guest:guest@rabbit/".into(),
        "https://user:example@host.io".into(),
        format!("postgres://app:{pass}@localhost:5432/x"),
        format!("postgres://app:{pass}@127.0.0.1/x"),
        format!("redis://:{pass}@[::1]:6379"),
        format!("https://u:{pass}@example.com/"),
        "Authorization: Bearer $TOKEN".into(),
        "Authorization: Bearer <token>".into(),
        "Authorization: Bearer YOUR_ACCESS_TOKEN_1".into(),
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".into(),
        "Authorization: Basic authentication".into(),
        "Bearer of good news, basic things 1234567890abcdef".into(),
        "Server=.;Password=changeme;".into(),
        "Server=.;Password=${PASSWORD};".into(),
        "see https://host.io/a:b@c and git@github.com:me/repo.git and http://[::1]:80/".into(),
        "https://github.com/owner/repo.git".into(),
    ] {
        assert_eq!(mask.text(&text), text);
    }
}

// [F-A9]
#[test]
fn secrets_in_every_spelling_of_settings_addresses_and_headers_are_hidden() {
    let mask = Mask::of([], &[]);
    let pw = ["Zk38", "sKw0", "2kd9"].concat();
    // "admin:password1234567" in base64.
    let basic = ["YWRtaW46", "cGFzc3dvcmQx", "MjM0NTY3"].concat();
    let token = letters(24);
    let sig = format!("{}%3D", letters(43));
    for text in [
        "Server=s;PASSWORD=@;Timeout=3".to_owned(),
        "Server=s;Password='@';X=1".into(),
        "Server=s;Password=\"@\";X=1".into(),
        "cs = \"Server=s;Password=\\\"@\\\";X=1\"".into(),
        "Server=s; Password= @;X=1".into(),
        "Driver={SQL};UID=u;pwd={@};".into(),
        "Server=s;Pwd=@".into(),
        "Server=s;PWD=@;".into(),
        "jdbc:mysql://h/db?user=bob&password=@&ssl=true".into(),
        "https://h.io/login?password=@".into(),
        "host=db.prod.net port=5432 user=bob password=@ dbname=x".into(),
        "dsn=\"host=db.prod.net password='@'\"".into(),
        "jdbc:oracle:thin:bob/@@db.prod.net:1521:x".into(),
        "jdbc:oracle:thin:bob/@@//db.prod.net:1521/x".into(),
        "postgres://bob:a/@@db.prod.net:5432/x".into(),
        "postgres://bob:a#@@db.prod.net/x".into(),
        "mysql://bob:@ #/x@db.prod.net/x".into(),
        "postgres://bob:secret@@db.prod.net/x".into(),
        "postgres://bob:postgres@@db.prod.net/x".into(),
        "postgres://bob:example-@@db.prod.net".into(),
        "postgres://bob:changeme@@db.prod.net".into(),
        "postgres://bob:password@@db.prod.net".into(),
        "postgres://bob:@@127.0.0.1.nip.io/x".into(),
        "postgres://bob:@@127.0.0.1.prod.net/x".into(),
    ] {
        // The first `@` is the place of the password.
        let at = text.find('@').unwrap();
        let whole = format!("{}{pw}{}", &text[..at], &text[at + 1..]);
        let shown = mask.text(&whole).into_owned();
        assert!(!shown.contains(&pw) && shown.contains("[secret password hidden by gimlet]"), "{whole} -> {shown}");
        let each: Vec<usize> = (0..whole.len()).collect();
        assert_eq!(String::from_utf8_lossy(&in_pieces(&mask, whole.as_bytes(), &each)), shown);
        assert_eq!(mask.text(&shown), shown, "masking twice");
    }
    for (text, secret) in [
        (format!("headers[\"Authorization\"] = \"Bearer {token}\""), &token),
        (format!("{{\"Authorization\":[\"Bearer {token}\"]}}"), &token),
        (format!("authorization=Bearer%20{token}&x=1"), &token),
        (format!("Authorization: ApiKey {token}"), &token),
        (format!("Authorization: Bot {token}"), &token),
        (format!("Authorization: Token token={token}"), &token),
        (format!("Authorization: Basic {basic}"), &basic),
        (format!("https://a.blob.core.windows.net/c?sv=2022&sig={sig}"), &sig),
        (format!("//registry.io/:_authToken={token}"), &token),
    ] {
        let shown = mask.text(&text).into_owned();
        assert!(!shown.contains(secret.as_str()), "{text} -> {shown}");
        let each: Vec<usize> = (0..text.len()).collect();
        assert_eq!(String::from_utf8_lossy(&in_pieces(&mask, text.as_bytes(), &each)), shown);
    }
}

// [F-A9] **Quiet**
#[test]
fn code_and_addresses_that_only_look_like_settings_are_left_alone() {
    let mask = Mask::of([], &[]);
    for text in [
        "let x = 1; password = self.password;",
        "a(); password = config.read_password()",
        "; password = getPassword(user)",
        "Server=.;Password={config.DbPassword};",
        "Server=.;Password=\" + password + \";",
        "host=localhost user=app password=Zk38sKw02kd9",
        "host=db user=postgres password=postgres",
        "host=%s password=%s",
        "?user=bob&password=${PW}",
        "?password=<password>&x",
        "https://host:8080/npm/@scope/pkg@1.2.3/dist",
        "postgres://db.internal:5432/app and mail me@host.com",
        "redis://cache:6379/0, see a.b@c.de",
        "jdbc:oracle:thin:@//db:1521/x",
        "jdbc:oracle:thin:scott/tiger@localhost:1521:x",
        "//registry.io/:_authToken=${NPM_TOKEN}",
        "Authorization: Bearer token authentication is described below",
        "Authorization: Key management 101",
        "the key [password] = value",
        "if (a && password == other) {",
        "?sig=short&x=1",
        "x-api-key: your-api-key-goes-here-1",
        "x-api-key: $ANTHROPIC_API_KEY_2",
        "\"x-api-key\": process.env.API_KEY_2_VALUE,",
        "\"x-api-key\": anthropicApiKey2Value,",
        "headers.insert(\"x-api-key\", api_key_v2_of_config);",
        "x-api-key: ${{ secrets.KEY_1 }}",
        "the x-api-key header1234567890abc",
        "x-api-key, anthropic-version2023x06x01",
        "curl -u user:password https://h",
        "curl -u \"$USER:$PASSWORD_12\" https://h",
        "curl -u admin:changeme https://h",
        "curl -u bob https://h:8080/Zk38sKw02kd9",
        "docker run -u 1000:Zk38sKw02kd9 image",
        "curl https://h\nrsync -u host:Backups2024 .",
        "COMMAND.NOTIFY.OTHER MTU.x NTLM.a.b OTHERWISE",
    ] {
        assert_eq!(mask.text(text), text);
    }
}

/// Text files below `dir`, sorted, with their sizes.
fn sources(dir: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_dir = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir());
        if is_dir && !matches!(name.as_str(), ".git" | "target" | "node_modules") {
            sources(&path, found);
        }
        let kinds = [
            "rs", "md", "toml", "json", "c", "h", "py", "js", "ts", "sh", "yml", "yaml", "txt", "S", "cpp", "hpp", "go",
        ];
        if !is_dir && path.extension().is_some_and(|e| kinds.iter().any(|kind| e == *kind)) {
            found.push(path);
        }
    }
}

/// What is hidden in ordinary source: this repository without its tests, and the sources of its dependencies where they
/// are. Private keys that others keep for their tests are keys. `MASK_CORPUS_MB`, when this is compiled, sets how much
/// is read.
// [F-A9] **Quiet**
#[test]
fn ordinary_source_shows_at_most_one_false_mask_in_ten_megabytes() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["crates", "docs", "xtask", "fuzz"] {
        sources(&root.join(dir), &mut files);
    }
    let is_test = |path: &std::path::Path| {
        let text = path.to_string_lossy();
        text.contains("/tests/") || text.contains("_tests.rs") || text.contains("/mask/")
    };
    files.retain(|path| !is_test(path));
    let cargo = option_env!("CARGO_HOME").map(std::path::PathBuf::from);
    let cargo = cargo.or_else(|| Some(std::path::Path::new(option_env!("HOME")?).join(".cargo")));
    sources(&cargo.unwrap_or_default().join("registry/src"), &mut files);
    let most = option_env!("MASK_CORPUS_MB").and_then(|mb| mb.parse().ok()).unwrap_or(12_u64) << 20;
    let (mask, mut read, mut found) = (Mask::of([], &[]), 0, Vec::new());
    for file in files {
        let Ok(bytes) = std::fs::read(&file) else { continue };
        read += bytes.len() as u64;
        let masked = mask.bytes(&bytes).unwrap_or_default();
        let masked = String::from_utf8_lossy(&masked).into_owned();
        let lines = masked.lines().filter(|line| line.contains(CLOSING) && !line.contains("[secret private key"));
        found.extend(lines.map(|line| format!("{}: {}", file.display(), line.trim())));
        if read > most {
            break;
        }
    }
    // What this program itself prints holds the text of a mask too.
    found.retain(|line| !line.contains("hidden by gimlet\\") && !line.contains("secret DEPLOY_TOKEN"));
    println!("{} masks in {:.1} MB", found.len(), read as f64 / f64::from(1 << 20));
    assert!(
        found.len() as u64 <= (read / (10 << 20)).max(1),
        "{} masks in {read} bytes:\n{}",
        found.len(),
        found.join("\n")
    );
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
        Just("Authorization: Bearer ".to_owned()),
        Just("authorization: basic ".to_owned()),
        Just("x-api-key: ".to_owned()),
        Just("curl -u bob:".to_owned()),
        Just("postgres://app:".to_owned()),
        Just("@db.internal/".to_owned()),
        Just(";Password=".to_owned()),
        Just("kX9mP2qR7x".to_owned()),
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
