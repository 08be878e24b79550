use super::*;

fn critical(command: &str) -> bool {
    let roots = [PathBuf::from("/w/app"), PathBuf::from("/data/extra")];
    let precious = ProtectedDirectories {
        cwd: Path::new("/w/app"),
        home: Some(Path::new("/home/u")),
        roots: &roots,
        undo_store: None,
        real_undo_store: None,
    };
    is_critical(&crate::shell::reading::CommandReading::of(command).suspects, &precious)
}

#[test]
#[rustfmt::skip]
fn critical_removals() {
    // [CLI-169] SC-E07 SC-E08
    for command in [
        "rm -rf /", "rm -rf ~", "rm -rf \"$HOME\"", "rm -rf ${HOME}/", "rm -rf /*", "find / -delete", "find . -delete", "find / -name x -delete", "rm -rf .", "rm -rf ..",
        "rm -rf /usr", "rm -rf \"$X\"/*", "rm -rf \"$BUILD_DIR/\"", "rm -rf $X/*", "echo $(rm -rf ~)", "sudo rm -rf /",
        "rm -rf /w", "rm -rf /w/app", "rm -rf ~/*", "rm -r --no-preserve-root /", "bash -c 'rm -rf ~'", "rm -rf /data/extra/*",
        "rm -rf x /", "cd src && rm -rf /etc", "rm -rf /data/extra", "rm -rf ../*", "/bin/rm -rf /home/u", "env rm -rf /",
        "rm -rf $PWD", "rm -rf \"$(pwd)\"", "rm -rf `pwd`", "cd / && rm -rf *", "cd ~; rm -rf *", "cd && rm -rf *", "cd .. && rm -rf *",
        "cd ..; rm -rf app", "cd $X && rm -rf *", "cd -; rm -rf ./*", "echo / | xargs rm -rf", "printf %s ~ | xargs -0 rm -r", "rm -rf {/,x}",
        "rm -rf /{usr,bin}", "rm -rf \"$(x)\"/*", "rm -rf $X/.", "rm -rf $X/..", "rm -rf \"$X/$Y\"", "rm -rf \"$@\"/*", "$(echo rm) -rf /",
        "rm -rf ~root", "rm -rf ${X:-}/*", "pushd /; rm -rf *",
    ] {
        assert!(critical(command), "{command}");
    }
}

#[test]
#[rustfmt::skip]
fn ordinary_removals() {
    for command in [
        "rm -rf target", "rm x", "rm -rf ./build/*", "rm -rf /tmp/x/y", "rm -rf ~/old/thing", "rm -rf $TMP_FILE",
        "echo 'rm -rf /'", "rm -rf \"$D/build\"", "find . -name x -delete", "find src -delete", "git rm -r x", "cd src && rm -rf *",
        "cd build && rm -rf ./*", "rm -rf $(git ls-files -o)", "ls | xargs rm", "$CC -r x", "pwd; rm -rf target", "rm -rf *.o",
    ] {
        assert!(!critical(command), "{command}");
    }
}
