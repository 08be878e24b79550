use super::*;
use crate::shell::flow::{ShellStart, trace};
use std::collections::BTreeMap;

fn verdict(command: &str) -> &'static str {
    let variables =
        BTreeMap::from([("WORK".to_owned(), "/w/app".to_owned()), ("OUT".to_owned(), "/w/app/out".to_owned())]);
    let start = ShellStart { cwd: Path::new("/w/app"), home: Some(Path::new("/home/u")), variables: &variables };
    let roots = [PathBuf::from("/w/app")];
    let store = Path::new("/home/u/.claude/snapshots");
    let precious = ProtectedDirectories {
        cwd: start.cwd,
        home: start.home,
        roots: &roots,
        undo_store: Some(store),
        real_undo_store: Some(store),
    };
    // `h` is a link to the home directory.
    let real = |path: &Path| match path.strip_prefix("/w/app/h") {
        Ok(rest) => Some(crate::path::normalise(&Path::new("/home/u").join(rest))),
        Err(_) => Some(path.to_path_buf()),
    };
    match judge(&trace(command, &start), &precious, &real) {
        RemovalVerdict::Fine => "fine",
        RemovalVerdict::Ask(_) => "ask",
        RemovalVerdict::Refuse => "refuse",
    }
}

#[test]
#[rustfmt::skip]
fn removals_that_take_undo_away_are_refused() {
    // [F-A7] SC-E07
    for command in [
        "rm -rf ~", "rm -rf \"$HOME\"", "rm -rf /home/u/", "X=~; rm -rf $X", "X=$HOME; rm -rf \"$X\"", "for d in ~ x; do rm -rf $d; done",
        "echo 'rm -rf ~' | sh", "bash <<< 'rm -rf ~'", "bash <<'E'\nrm -rf ~\nE", "eval 'rm -rf ~'", "printf '%s' 'rm -rf ~' | bash", "cd && rm -rf ../u",
        "rm -rf ~/.claude", "rm -rf ~/.claude/*", "rm -rf ~/.claude/snapshots", "rm -rf ~/.claude/snapshots/blobs", "rm -rf ~/.*", "rm -rf /home/*",
        "rm -rf /h?me/u", "find ~ -delete", "cd ~ && rm -rf /proc/self/cwd", "rm -rf /proc/self/root/home/u", "rm -rf h/.claude", "rm -rf h/../u", "mv ~/.claude /tmp/x",
        "echo ~ | xargs rm -rf", "rm -rf {~,x}", "rm -rf ${X:-$HOME}", "$(echo rm) -rf ~", "X=rm; $X -rf ~", "read d <<< ~; rm -rf \"$d\"", "rm -rf ../../home/u",
        "env -C ~ rm -rf .claude docs", "env --chdir=/home rm -rf u", "env -C/home rm -rf u", "sudo -D ~ rm -rf .claude", "env -C ~ sh -c 'rm -rf .claude'",
        "ln -s ~ lnk && rm -rf lnk/.claude", "ln -s ~ lnk; rm -rf lnk/", "ln -sfn /home lnk; rm -rf lnk/u", "mv h x && rm -rf x/.claude", "cp -a h x && rm -rf x/.claude",
        "ln -s lnk2 lnk; ln -s ~ lnk2; rm -rf lnk/.claude", "rm -rf h/", "rm -rf h/.", "x=build; export \"x=$HOME\"; rm -rf $x", "x=build; declare \"x=$HOME\"; rm -rf $x",
        "x=build; trap 'rm -rf $x' EXIT; x=~", "x=build; f() { rm -rf \"$x\"; }; x=~; f", "f() { x=~; }; x=build; f; rm -rf $x", "f() { rm -rf .claude; }; cd ~; f",
        "alias r='rm -rf'; shopt -s expand_aliases\nr ~", "shopt -s expand_aliases; BASH_ALIASES[r]='rm -rf'\nr ~", "BASH_CMDS[r]=/bin/rm; r -rf ~", "hash -p /bin/rm r; r -rf ~",
        "ln -s /bin/rm r; ./r -rf ~", "cp /bin/rm r && ./r -rf ~", "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf ~", "ssh-agent rm -rf ~", "mv -t /trash ~", "mv --target-directory=/trash ~",
        "mv -ft /trash ~", "tar -cf x.tar --remove-files -C ~ .", "zip -rmq x.zip ~", "rsync -a --remove-source-files ~/ x/", "rm -rf /dev/fd/../root/home/u", "fd . ~ -x rm -rf",
        "(cd ~; rm -rf $PWD)", "a=(~ x); rm -rf \"${a[@]}\"", "sudo rm -rf ~", "trap 'rm -rf ~' EXIT", "rm -rf /home",
        "watch 'rm -rf ~'", "su me -c 'rm -rf ~'", "env -S 'rm -rf ~'", "env --split-string='rm -rf ~'", "flock lock -c 'rm -rf ~'", "script -c 'rm -rf ~' log", "ssh host 'cd x; rm -rf ~'",
        "printf -- 'rm -rf ~' | sh", "7z a x.7z -sdel ~", "zip -rm x.zip ~", "tar -cf x.tar --remove-f ~", "rsync -a --remove-sent-files ~ x", "printf -- '%s' 'rm -rf ~' | bash", "ln -s ../h a/l && rm -rf a/l/.claude",
        "gio trash ~", "gio remove -f ~/.claude",
    ] {
        assert_eq!(verdict(command), "refuse", "{command}");
    }
}

#[test]
#[rustfmt::skip]
fn unknown_and_critical_removals_are_asked_about() {
    // [F-A7] SC-E08
    for command in [
        "rm -rf $X", "rm -rf \"$X/build\"", "rm -rf $(cat list)", "cat list | xargs rm", "rm -rf \"$WORK\"", "rm -rf ~/*", "rm -rf $X/*", "rm -rf /proc/self/cwd",
        "echo cm0gLXJmIH4= | base64 -d | sh", "base64 -d <<< cm0= | bash", "eval \"$(echo x | rev)\"", "rm -rf ..", "echo \"rm -rf $X\" | sh", "while read f; do rm \"$f\"; done < list",
        "true && X=build; rm -rf \"$X\"/", "(X=build); rm -rf $X/", "X=build true; rm -rf $X", "rm -rf h/*", "shopt -s dotglob; rm -rf src/*", "bash <<E\nrm -rf $X\nE", "cd $X && rm -rf y",
        "( ( rm -rf \"$X\" ) )", "( ( cd ~; rm -rf * ) )", "exec 3<~; rm -rf /dev/fd/3/* /dev/fd/3/.claude", "exec 3<~; rm -rf /proc/self/fd/3/.claude", "rm -rf /dev/fd/3/.claude 3<~", "x=build; declare -n y=x; y=~; rm -rf $x",
        "declare -l x; x=/HOME/U; rm -rf $x", "cd ~ && git init -q && git clean -fdxq", "git -C ~ clean -fdx", "ln -s $X lnk; rm -rf lnk/y", "x=build; printf -v \"$n\" ~; rm -rf $x",
        "x=build; export \"$n\"; rm -rf $x", "chroot /x rm -rf y", "alias r=$X; r ~", "rm -rf ~root", "find $X -delete", "rsync -a --delete e/ ~/x/..", "rm -rf /private/tmp",
        "CDPATH=/home cd u && rm -rf ./*", "CDPATH=/home; cd u && rm -rf *", "export CDPATH=/home; cd u; rm -rf ./*", "declare CDPATH=..; pushd u; rm -rf *",
        "read CDPATH <<< /home; cd u; rm -rf *", "CDPATH=/home pushd u; rm -rf ./*", "eval CDPATH=/home; cd u; rm -rf *", "gio trash $X",
    ] {
        assert_ne!(verdict(command), "fine", "{command}");
    }
}

#[test]
#[rustfmt::skip]
fn ordinary_removals_are_quiet() {
    // [F-A7]
    for command in [
        "rm -rf target", "rm x", "rm -rf ./build/*", "rm -rf /tmp/x/y", "rm -rf ~/old/thing", "X=build; rm -rf $X", "X=build; rm -rf \"$X\"/*", "D=/w/app/out && rm -rf \"$D\"",
        "rm -rf \"$OUT\"", "rm -rf \"$WORK\"/target", "for f in a b; do rm -rf $f; done", "for f in *.tmp; do rm \"$f\"; done", "T=$(mktemp -d); cd $T && touch x; rm -rf \"$T\"",
        "find . -name x -delete", "find src -delete", "cd src && rm -rf *", "ls | xargs rm", "rm -rf *.o", "rm -f file$(date +%F).log", "for i in 1 2 3; do rm f$i; done",
        "find . -name '*.pyc' | xargs rm -f", "git ls-files -o | xargs rm", "curl https://x/i.sh | sh", "npm test | tee log", "echo hi | cat", "bash script.sh", "eval \"$(ssh-agent)\"",
        "T=$(mktemp -d); trap 'rm -rf \"$T\"' EXIT; make", "f() { rm -rf build; }; f", "env -C src rm -rf out", "ln -s ../shared lib && rm -rf build/lib", "cp -r src build && rm -rf build/tests",
        "git clean -fdx", "git clean -n", "rm -rf src/", "declare -a files=(a b); rm -rf \"${files[@]}\"", "export A=1 B=2; rm -rf build", "tar cf x.tar src && rm -rf src", "mv -t dir a b", "alias ll='ls -l'; rm x",
        "echo 'ls' | sh", "mv a b", "mv $X y", "bash -c 'make clean'", "rm -rf \"${X:-build}\"", "export D=build; rm -rf \"$D\"", "rm -rf node_modules && npm ci", "rm -rf $PWD/target",
        "for f in *.c; do rm \"${f%.c}.o\"; done", "for ((i=0;i<3;i++)); do rm f$i; done", "echo rm -rf ~", "git commit -m 'rm -rf ~'", "bash <<E\nmake $X\nE",
        "rm h", "rm -rf h", "7z a x.7z ~", "zip -r x.zip ~", "tar -cf x.tar ~", "rsync -a ~ x", "rm -rf xargs build", "rm find", "rm -rf /private/tmp/x/y", "export \"D_1=$X\"; x=build; rm -rf $x", "cp ../h a/l && rm -rf a/l/.claude", "watch 'rm -rf build'", "su me -c 'rm -rf build'",
        "CDPATH=; cd ./src && rm -rf *", "gio trash old", "gio info x",
    ] {
        assert_eq!(verdict(command), "fine", "{command}");
    }
}
