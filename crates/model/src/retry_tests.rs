use super::*;
use crate::error::ResponseFacts;
use proptest::prelude::*;

fn status(status: u16) -> ModelError {
    ModelError::from_response(ResponseFacts { status, ..ResponseFacts::default() }, b"{}")
}

fn policy() -> RetryPolicy {
    RetryPolicy::default().with_random(|| 0.5)
}

fn delay(verdict: &RetryVerdict) -> Duration {
    match verdict {
        RetryVerdict::Retry { delay, .. } => *delay,
        other => panic!("{other:?}"),
    }
}

// [TST-107] ten attempts with growing waits, then it gives up.
#[test]
fn backs_off_ten_times() {
    let mut policy = policy();
    let delays: Vec<f64> =
        (0..10).map(|_| delay(&policy.next(&status(529), ResponseProgress::Nothing)).as_secs_f64()).collect();
    assert_eq!(delays, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 16.0, 32.0, 32.0, 32.0]);
    assert_eq!(policy.next(&status(529), ResponseProgress::Nothing), RetryVerdict::GiveUp);
}

// [TST-107] both retry-after and the backoff are minimum waits.
#[test]
fn retry_after_is_a_minimum() {
    let mut policy = policy();
    let mut error = status(429);
    error.retry_after = Some(Duration::from_secs(1));
    assert_eq!(delay(&policy.next(&error, ResponseProgress::Nothing)), Duration::from_secs(1));
    assert_eq!(delay(&policy.next(&error, ResponseProgress::Nothing)), Duration::from_secs(1));
    assert_eq!(delay(&policy.next(&error, ResponseProgress::Nothing)), Duration::from_secs(2));
}

// [F-C2] The total wait of a request is limited.
#[test]
fn a_request_waits_five_minutes_in_all() {
    let asking = |seconds| ModelError { retry_after: Some(Duration::from_secs(seconds)), ..status(429) };
    assert_eq!(policy().next(&asking(94_608_000), ResponseProgress::Nothing), RetryVerdict::GiveUp);
    assert_eq!(policy().next(&asking(301), ResponseProgress::Nothing), RetryVerdict::GiveUp);
    assert_eq!(delay(&policy().next(&asking(300), ResponseProgress::Nothing)), Duration::from_mins(5));
    let mut spent = policy();
    for _ in 0..4 {
        assert_eq!(delay(&spent.next(&asking(70), ResponseProgress::Nothing)), Duration::from_secs(70));
    }
    assert_eq!(spent.next(&asking(70), ResponseProgress::Nothing), RetryVerdict::GiveUp, "280 s are spent");
    assert!(delay(&spent.next(&asking(20), ResponseProgress::Nothing)) <= Duration::from_secs(20));
    assert_eq!(spent.next(&status(529), ResponseProgress::Nothing), RetryVerdict::GiveUp, "nothing is left");
    let mut all = Duration::ZERO;
    let mut own = RetryPolicy { max_retries: 15, ..RetryPolicy::default() }.with_random(|| 1.0);
    while let RetryVerdict::Retry { delay, .. } = own.next(&status(529), ResponseProgress::Nothing) {
        all += delay;
    }
    assert!(all <= LONGEST_WAIT, "{all:?}");
    let mut patient = RetryPolicy { outwaits_overload: true, ..policy() };
    assert_eq!(delay(&patient.next(&asking(94_608_000), ResponseProgress::Nothing)), Duration::from_hours(26_280));
}

// [F-C7] Failures that do not disappear by themselves are retried only a few times.
#[test]
fn some_faults_have_few_retries() {
    let retries = |mut policy: RetryPolicy, error: &ModelError| {
        let again = |_: &u32| matches!(policy.next(error, ResponseProgress::Nothing), RetryVerdict::Retry { .. });
        (0..20).take_while(again).count()
    };
    assert_eq!(retries(policy(), &ModelError::new(ErrorKind::Foreign, "")), 2);
    assert_eq!(retries(RetryPolicy { max_retries: 1, ..policy() }, &ModelError::new(ErrorKind::Foreign, "")), 1);
    let mut fixed = policy();
    assert_eq!(fixed.next(&status(401), ResponseProgress::Nothing), RetryVerdict::Reauthenticate);
    assert!(matches!(fixed.keep_key(&status(401)), RetryVerdict::Retry { attempt: 1, .. }));
    assert_eq!(retries(fixed, &status(401)), 1);
    let mut helped = policy();
    assert_eq!(helped.next(&status(401), ResponseProgress::Nothing), RetryVerdict::Reauthenticate);
    assert_eq!(retries(helped, &status(401)), 10);
}

// [TST-107]
#[test]
fn should_retry_has_the_last_word() {
    let mut error = status(529);
    error.should_retry = Some(false);
    assert_eq!(policy().next(&error, ResponseProgress::Nothing), RetryVerdict::GiveUp);
    let mut error = status(400);
    error.should_retry = Some(true);
    assert!(matches!(policy().next(&error, ResponseProgress::Nothing), RetryVerdict::Retry { attempt: 1, .. }));
}

// [TST-108]
#[test]
fn by_status_and_fault() {
    for code in [408, 409, 429, 500, 502, 503, 504, 529] {
        assert!(
            matches!(policy().next(&status(code), ResponseProgress::Nothing), RetryVerdict::Retry { .. }),
            "{code}"
        );
        assert!(
            matches!(policy().next(&status(code), ResponseProgress::Partial), RetryVerdict::Retry { .. }),
            "{code}"
        );
    }
    for code in [400, 402, 403, 404] {
        assert_eq!(policy().next(&status(code), ResponseProgress::Nothing), RetryVerdict::GiveUp, "{code}");
    }
    let fault = |kind| policy().next(&ModelError::new(kind, ""), ResponseProgress::Nothing);
    assert!(matches!(fault(ErrorKind::Dropped), RetryVerdict::Retry { .. }));
    assert!(matches!(fault(ErrorKind::Connect), RetryVerdict::Retry { .. }));
    // [TST-110]
    assert_eq!(fault(ErrorKind::Certificate), RetryVerdict::GiveUp);
    // [TST-109]
    assert_eq!(fault(ErrorKind::Quota { resets_at: None }), RetryVerdict::GiveUp);
    assert_eq!(policy().next(&status(413), ResponseProgress::Nothing), RetryVerdict::Compact);
}

// [TST-108] nothing is repeated once a block is complete.
#[test]
fn completed_blocks_are_kept() {
    assert_eq!(policy().next(&ModelError::dropped(""), ResponseProgress::Completed), RetryVerdict::KeepCompleted);
    assert_eq!(policy().next(&status(529), ResponseProgress::Completed), RetryVerdict::KeepCompleted);
    assert_eq!(policy().next(&ModelError::dropped(""), ResponseProgress::Stopped), RetryVerdict::Complete);
}

#[test]
fn a_drop_after_thinking_is_reissued_twice() {
    let mut policy = policy();
    let dropped = ModelError::dropped("");
    assert_eq!(policy.next(&dropped, ResponseProgress::ThinkingOnly), RetryVerdict::Reissue);
    assert_eq!(policy.next(&dropped, ResponseProgress::ThinkingOnly), RetryVerdict::Reissue);
    assert_eq!(policy.next(&dropped, ResponseProgress::ThinkingOnly), RetryVerdict::GiveUp);
}

// [TST-111] one re-issue outside the budget.
#[test]
fn a_stall_is_reissued_once() {
    let mut policy = policy();
    let stalled = ModelError::new(ErrorKind::Stalled(Duration::from_mins(5)), "");
    assert_eq!(policy.next(&stalled, ResponseProgress::Nothing), RetryVerdict::Reissue);
    assert!(matches!(policy.next(&stalled, ResponseProgress::Nothing), RetryVerdict::Retry { attempt: 1, .. }));
}

// [TST-116]
#[test]
fn remedies_are_tried_once() {
    let mut policy = policy();
    let thinking = ModelError::new(ErrorKind::Capability(Capability::Thinking), "");
    assert_eq!(policy.next(&thinking, ResponseProgress::Nothing), RetryVerdict::Disable(Capability::Thinking));
    assert_eq!(policy.next(&thinking, ResponseProgress::Nothing), RetryVerdict::GiveUp);
    let effort = ModelError::new(ErrorKind::Capability(Capability::Effort), "");
    assert_eq!(policy.next(&effort, ResponseProgress::Nothing), RetryVerdict::Disable(Capability::Effort));
    assert_eq!(policy.next(&status(401), ResponseProgress::Nothing), RetryVerdict::Reauthenticate);
    // A new key is tried within the retry budget, not only once.
    assert!(matches!(policy.next(&status(401), ResponseProgress::Nothing), RetryVerdict::Retry { attempt: 1, .. }));
    let room = |input| ModelError::new(ErrorKind::OutputRoom { input, max_tokens: 64_000, limit: 200_000 }, "");
    assert_eq!(policy.next(&room(150_000), ResponseProgress::Nothing), RetryVerdict::LowerMaxTokens(49_000));
    assert_eq!(policy.next(&room(150_000), ResponseProgress::Nothing), RetryVerdict::Compact);
    assert_eq!(RetryPolicy::default().next(&room(199_000), ResponseProgress::Nothing), RetryVerdict::Compact);
}

#[test]
fn environment() {
    let env = |vars: &[(&str, &str)]| RetryPolicy::from_env(&Env::default().with(vars.iter().copied()));
    assert_eq!(env(&[]).max_retries, 10);
    assert_eq!(env(&[("CLAUDE_CODE_MAX_RETRIES", "3")]).max_retries, 3);
    assert_eq!(env(&[("CLAUDE_CODE_MAX_RETRIES", "99")]).max_retries, 15);
    let mut quick = env(&[("GIMLET_RETRY_BASE_MS", "10")]).with_random(|| 0.5);
    let delays = [(); 3].map(|()| delay(&quick.next(&status(529), ResponseProgress::Nothing)).as_millis());
    assert_eq!(delays, [10, 20, 40]);
    let mut slow = env(&[("GIMLET_RETRY_BASE_MS", "9000")]).with_random(|| 0.5);
    assert_eq!(delay(&slow.next(&status(529), ResponseProgress::Nothing)), Duration::from_millis(500), "only shorter");
    let mut patient = env(&[("CLAUDE_CODE_RETRY_WATCHDOG", "1")]).with_random(|| 1.0);
    for _ in 0..400 {
        assert!(delay(&patient.next(&status(529), ResponseProgress::Nothing)) <= Duration::from_mins(5));
    }
    assert_eq!(patient.next(&status(500), ResponseProgress::Nothing), RetryVerdict::GiveUp);
}

proptest! {
    #[test]
    fn jitter_is_a_quarter(attempt in 0u32..10) {
        let mut low = RetryPolicy::default().with_random(|| 0.0);
        let mut high = RetryPolicy::default().with_random(|| 1.0);
        let mut last = (Duration::ZERO, Duration::ZERO);
        for _ in 0..=attempt {
            last = (delay(&low.next(&status(500), ResponseProgress::Nothing)), delay(&high.next(&status(500), ResponseProgress::Nothing)));
        }
        let ratio = last.1.as_secs_f64() / last.0.as_secs_f64();
        prop_assert!((ratio - 1.25 / 0.75).abs() < 1e-9);
    }
}
