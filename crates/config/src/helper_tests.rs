use super::*;

async fn run(command: &str) -> Result<String, HelperError> {
    let env = Env::default().with([("PATH", "/usr/bin:/bin"), ("FROM_ENV", "env-key")]);
    run_helper(command, &env, Path::new("/")).await
}

#[tokio::test]
async fn one_token_is_a_key() {
    assert_eq!(run("echo sk-1").await, Ok("sk-1".into()));
    assert_eq!(run("printf '%s' \"$FROM_ENV\"").await, Ok("env-key".into()));
}

#[tokio::test]
async fn anything_else_is_a_named_failure() {
    // [CLI-104]
    assert_eq!(run("true").await, Err(HelperError::Empty));
    assert_eq!(run("echo a; echo b").await, Err(HelperError::Malformed));
    assert_eq!(run("printf 'k\\303\\251y'").await, Err(HelperError::Malformed));
    assert_eq!(run("head -c 16385 /dev/zero | tr '\\0' x").await, Err(HelperError::Malformed));
    let failed = run("echo 'no vault ' >&2; exit 3").await.unwrap_err();
    assert_eq!(failed, HelperError::Exit { code: 3, stderr: "no vault".into() });
    assert!(failed.to_string().starts_with("Your apiKeyHelper script is failing"), "{failed}");
    assert!(failed.to_string().contains("exit code 3: no vault"), "{failed}");
}

#[tokio::test]
async fn a_chatty_helper_does_not_hang() {
    assert_eq!(run("head -c 300000 /dev/zero | tr '\\0' e >&2; echo key").await, Ok("key".into()));
}
