//! Helpers of tests that kill the process: random moments from a seed, and a search for surviving processes.

/// xorshift64*: enough to spread moments, and reproducible from the printed seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit.max(1)
    }
}

#[expect(clippy::disallowed_methods, reason = "the seed of a failed run is given back through the environment")]
pub(crate) fn seed() -> u64 {
    let given = std::env::var("GIMLET_TEST_SEED").ok().and_then(|s| s.parse().ok());
    given.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64 | 1
    })
}

pub(crate) fn is_live(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with(['Z', 'X']))
}

/// Live processes other than this one that have `name=value` in their environment.
pub(crate) fn having(name: &str, value: &str) -> Vec<i32> {
    let needle = format!("{name}={value}\0");
    let own = std::process::id();
    let holds = |pid: &i32| {
        let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.windows(needle.len()).any(|w| w == needle.as_bytes()) && is_live(*pid)
    };
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| u32::try_from(*pid) != Ok(own)).filter(holds).collect()
}

/// Waits until `look` finds no process any more. Those that are looked for live much longer than the wait.
pub(crate) fn assert_nobody_left(look: impl Fn() -> Vec<i32>) {
    testkit::wait_for(|| {
        let left: Vec<String> = look().into_iter().map(describe).collect();
        if left.is_empty() { Ok(()) } else { Err(format!("still alive: {left:#?}")) }
    });
}

fn describe(pid: i32) -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    format!("{pid} {:?} {:?}", read("cmdline"), read("stat"))
}
