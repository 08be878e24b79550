use super::*;
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn shell(script: &str) -> SpawnSpec {
    SpawnSpec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        cwd: "/".into(),
        stdin: ChildInput::Null,
        output: ChildOutput::Merged,
    }
}

/// Reads lines that the child prints until there are `count`.
async fn lines(child: &mut ChildProcess, count: usize) -> Vec<String> {
    let mut text = Vec::new();
    let out = child.stdout.as_mut().unwrap();
    while text.split(|byte| *byte == b'\n').count() <= count {
        assert_ne!(out.read_buf(&mut text).await.unwrap(), 0, "the child ended early");
    }
    String::from_utf8(text).unwrap().lines().map(str::to_owned).collect()
}

async fn pids(child: &mut ChildProcess, count: usize) -> Vec<i32> {
    lines(child, count).await.iter().map(|line| line.parse().unwrap()).collect()
}

const FAMILY: &str = "setsid sh -c 'echo $$; exec sleep 600' & \
     (setsid sh -c 'setsid sh -c \"echo \\$\\$; exec sleep 600\" &' &) ; \
     (env -i sleep 600 & echo $!) ; ";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_running_child_takes_its_whole_tree() {
    let mut child = spawn(shell(&format!("{FAMILY} wait; sleep 600"))).unwrap();
    let mut pids = pids(&mut child, 3).await;
    pids.push(child.pid());
    assert!(pids.iter().all(|pid| crate::is_alive(*pid)));
    drop(child);
    // [TST-57]
    assert_gone(&pids);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_after_the_exit_still_takes_what_was_left_behind() {
    let mut child = spawn(shell(&format!("{FAMILY} exit 3"))).unwrap();
    let pids = pids(&mut child, 3).await;
    assert_eq!(child.wait().await.unwrap(), ExitOutcome { code: Some(3), signal: None });
    assert!(pids.iter().all(|pid| crate::is_alive(*pid)));
    drop(child);
    assert_gone(&pids);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_released_child_leaves_its_descendants_and_others_their_own() {
    let mut other = spawn(shell("setsid sh -c 'echo $$; exec sleep 600' & exit 0")).unwrap();
    let kept = pids(&mut other, 1).await[0];
    other.wait().await.unwrap();
    let mut child = spawn(shell("setsid sh -c 'echo $$; exec sleep 600' & exit 0")).unwrap();
    let left = pids(&mut child, 1).await[0];
    child.wait().await.unwrap();
    child.release();
    drop(child);
    assert!(crate::is_alive(left) && crate::is_alive(kept));
    drop(other);
    assert!(!crate::is_alive(kept));
    assert!(crate::is_alive(left), "another child's end must not reach it");
    tree::send(left, libc::SIGKILL);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn stop_asks_first_and_lets_the_tree_finish() {
    let script = "setsid sh -c 'trap \"sleep 0.1; echo bye; exit\" TERM; echo up; while :; do sleep 0.01; done' & wait";
    let mut child = spawn(shell(script)).unwrap();
    assert_eq!(lines(&mut child, 1).await, ["up"]);
    let exit = child.stop(Duration::from_secs(10)).await.unwrap();
    assert_eq!(exit.signal, Some(libc::SIGTERM));
    // The inner shell may print a message about its sleep.
    let mut rest = String::new();
    child.stdout.as_mut().unwrap().read_to_string(&mut rest).await.unwrap();
    assert!(rest.ends_with("bye\n"), "{rest}");
}

#[tokio::test]
async fn stop_kills_what_does_not_listen() {
    let mut child = spawn(shell("trap '' TERM; echo up; while :; do sleep 0.05; done")).unwrap();
    lines(&mut child, 1).await;
    let exit = child.stop(Duration::from_millis(50)).await.unwrap();
    assert_eq!(exit.signal, Some(libc::SIGKILL));
    assert!(!crate::is_alive(child.pid()));
}

#[tokio::test]
async fn stop_reaches_a_stopped_child() {
    let mut child = spawn(shell("echo up; kill -STOP $$; exit 0")).unwrap();
    lines(&mut child, 1).await;
    let exit = child.stop(Duration::from_secs(10)).await.unwrap();
    assert_ne!(exit.signal, Some(libc::SIGKILL));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_are_reaped_and_direct_children_left_to_their_handles() {
    let mut waiting = spawn(shell("exit 7")).unwrap();
    testkit::until("the exit", || procfs_state(waiting.pid()) == b'Z').await;
    let mut child = spawn(shell("(setsid sh -c 'echo $$' &) ; exit 0")).unwrap();
    let orphan = pids(&mut child, 1).await[0];
    child.wait().await.unwrap();
    // The kernel decides when the orphan becomes our child; in the end it must be gone.
    testkit::until("the end of the orphan", || {
        tree::strays();
        !Path::new(&format!("/proc/{orphan}")).exists()
    })
    .await;
    assert_eq!(waiting.wait().await.unwrap().code, Some(7));
}

#[cfg(target_os = "linux")]
fn procfs_state(pid: i32) -> u8 {
    crate::procfs::stat(pid).unwrap().state
}

#[tokio::test]
async fn children_get_exactly_the_environment_given_and_the_markers() {
    let mut spec = shell("env | sort");
    spec.env.push(("GIMLET_RUN".into(), "outer".into()));
    spec.env.push(("ZED".into(), "1".into()));
    let finished = run(spec, RunOptions::default()).await.unwrap();
    let text = String::from_utf8(finished.stdout.to_bytes()).unwrap();
    let own = registry::lock().run().to_owned();
    let names: Vec<&str> = text.lines().map(|line| line.split('=').next().unwrap()).collect();
    let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let given: Vec<&str> = names.into_iter().filter(|name| !of_the_shell.contains(name)).collect();
    assert_eq!(given, ["GIMLET_CHILD", "GIMLET_RUN", "PATH", "ZED"]);
    assert!(text.contains(&format!("GIMLET_RUN=outer:{own}\n")), "{text}");
}

#[tokio::test]
async fn waiting_does_not_hang_on_an_inherited_pipe() {
    let started = Instant::now();
    let finished = run(shell("echo done; sleep 600 &"), RunOptions::default()).await.unwrap();
    assert_eq!(finished.exit.code, Some(0));
    assert_eq!(finished.stdout.to_bytes(), b"done\n");
    assert!(started.elapsed() >= DRAIN_TIMEOUT, "it was given time");
}

#[tokio::test]
async fn drain_tells_end_from_cut() {
    let (mut writer, mut reader) = tokio::io::duplex(64);
    writer.write_all(b"abc").await.unwrap();
    let mut seen = Vec::new();
    let cut = drain(&mut reader, async {}, Duration::from_millis(30), |bytes| seen.extend_from_slice(bytes)).await;
    assert_eq!(cut.unwrap(), DrainEnd::Cut);
    drop(writer);
    let end = drain(&mut reader, std::future::pending(), DRAIN_TIMEOUT, |bytes| seen.extend_from_slice(bytes)).await;
    assert_eq!(end.unwrap(), DrainEnd::End);
    assert_eq!(seen, b"abc");
}

#[tokio::test]
async fn run_feeds_input_and_keeps_streams_apart() {
    let spec = SpawnSpec { stdin: ChildInput::Pipe, output: ChildOutput::Split, ..shell("cat; echo bad >&2") };
    let input = vec![b'x'; 200_000];
    let options = RunOptions { input, keep: 10, ..RunOptions::default() };
    let finished = run(spec, options).await.unwrap();
    assert_eq!(finished.stdout.total(), 200_000);
    assert_eq!(finished.stdout.to_bytes(), [b'x'; 20]);
    assert_eq!(finished.stderr.to_bytes(), b"bad\n");
    assert!(!finished.timed_out);
}

#[tokio::test]
async fn run_ends_on_time_even_if_input_is_never_read() {
    let spec = SpawnSpec { stdin: ChildInput::Pipe, ..shell("exec sleep 600") };
    let options = RunOptions { input: vec![0; 1 << 20], timeout: Duration::from_millis(50), ..RunOptions::default() };
    let finished = run(spec, options).await.unwrap();
    assert!(finished.timed_out);
    assert_eq!(finished.exit.signal, Some(libc::SIGTERM));
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_an_error() {
    let missing = SpawnSpec { program: "/nonexistent/program".into(), ..shell("") };
    assert_eq!(spawn(missing).unwrap_err().kind(), io::ErrorKind::NotFound);
}

/// Prints what one child costs; checks nothing. Run with `--ignored --nocapture`.
#[tokio::test]
#[ignore = "measurement"]
async fn cost_of_a_child() {
    let mut spent = [Duration::ZERO; 3];
    for _ in 0..300 {
        let spec = SpawnSpec { program: "/bin/true".into(), args: vec![], ..shell("") };
        let mut started = Instant::now();
        let mut lap = || std::mem::replace(&mut started, Instant::now()).elapsed();
        let mut child = spawn(spec).unwrap();
        spent[0] += lap();
        child.wait().await.unwrap();
        spent[1] += lap();
        drop(child);
        spent[2] += lap();
    }
    println!("each child: spawn, wait, drop {:?}", spent.map(|time| time / 300));
}

#[cfg(target_os = "linux")]
fn assert_gone(pids: &[i32]) {
    let alive: Vec<&i32> = pids.iter().filter(|pid| crate::is_alive(**pid)).collect();
    assert!(alive.is_empty(), "{alive:?} of {pids:?}");
}
