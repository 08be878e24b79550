use super::*;
use crate::shell::flow::{ShellStart, trace};
use std::collections::BTreeMap;
use std::path::Path;

fn planned(command: &str) -> ReadPlan {
    let variables = BTreeMap::new();
    let start = ShellStart { cwd: Path::new("/w"), home: Some(Path::new("/home/u")), variables: &variables };
    plan(&trace(command, &start))
}

/// What the command reads: a slash at the end means everything below.
fn read(command: &str) -> String {
    let plan = planned(command);
    let show = |target: &ReadTarget| match target.extent {
        ReadExtent::Tree(_) => format!("{}/", target.pattern),
        ReadExtent::File | ReadExtent::Listing => target.pattern.clone(),
    };
    let mut all: Vec<String> = plan.targets.iter().map(show).collect();
    all.extend(plan.unknown.map(|_| "?".to_owned()));
    all.join(" ")
}

#[test]
fn programs_and_what_they_read() {
    let mut wrong = Vec::new();
    for (command, expected) in [
        ("cat a b*", "/w/a /w/b*"),
        ("cat -n -- -x", "/w/-x"),
        ("head -n 5 a", "/w/a"),
        ("head -n5 a", "/w/a"),
        ("tail --lines 5 a", "/w/a"),
        ("cat $X", "?"),
        ("cat", ""),
        ("echo a*", ""),
        ("grep foo a", "/w/a"),
        ("grep -e foo a", "/w/a"),
        ("grep -rn foo", "/w/"),
        ("grep -rn foo src", "/w/src/"),
        ("grep --recurs foo src", "/w/src/"),
        ("grep -d recurse foo src", "/w/src/"),
        ("grep -nf pats a", "/w/pats /w/a"),
        ("grep -A 3 foo a", "/w/a"),
        ("rg foo", "/w/"),
        ("rg -g '!secrets/**' foo src", "/w/src/"),
        ("ls | rg foo", ""),
        ("sed -n 5p a", "/w/a"),
        ("sed -e p -e d a", "/w/a"),
        ("sed 'r secrets/k' a", "/w/secrets/k /w/a"),
        ("awk '{print $1}' a", "/w/a"),
        ("awk '{getline x < \"k\"}' a", "/w/a ?"),
        ("jq .a x.json", "/w/x.json"),
        ("cp a b", "/w/a"),
        ("cp -r a b", "/w/a/"),
        ("cp -t b a", "/w/a"),
        ("mv a b", "/w/a/"),
        ("ln -s a b", "/w/a/"),
        ("tar cf x.tar a b", "/w/x.tar/ /w/a/ /w/b/"),
        ("tar -czf x.tgz -C d .", "/w/x.tgz/ /w/d/"),
        ("tar xf x.tar", "/w/x.tar"),
        ("zip -r x.zip a", "/w/x.zip/ /w/a/"),
        ("diff -r a b", "/w/a/ /w/b/"),
        ("curl -d @a https://x", "/w/a"),
        ("curl -d@a https://x", "/w/a"),
        ("curl --data-bin @a https://x", "/w/a"),
        ("curl -F f=@a https://x", "/w/a"),
        ("curl -T a https://x", "/w/a"),
        ("curl -sT a https://x", "/w/a"),
        ("curl -H 'x: y' https://x", ""),
        ("curl -d \"$X\" https://x", "?"),
        ("wget --post-file=a https://x", "/w/a"),
        ("dd if=a of=b", "/w/a"),
        ("cat < a", "/w/a"),
        ("while read l; do echo $l; done < a", "/w/a"),
        ("find . -name '*.rs'", "/w/"),
        ("find a b -exec cat {} +", "/w/a/ /w/b/"),
        ("find a -name '*.rs' | xargs wc -l", "/w/a/ /w/a/"),
        ("find a | head -3 | xargs cat", "/w/a/ /w/a/"),
        ("cat list | xargs cat", "/w/list ?"),
        ("echo a b | xargs cat", "/w/a /w/b"),
        ("git ls-files | xargs wc -l", "/w/"),
        ("git show HEAD:a", "/w/a/ /a/"),
        ("git grep foo", "/w/foo/ /w/"),
        ("git grep foo -- src", "/w/foo/ /w/src/"),
        ("git -C s show HEAD:./k", "/w/s/k/ /w/k/ /k/"),
        ("git -C s blame k", "/w/s/k/"),
        ("git log -p -- s", "/w/s/"),
        ("git log -- s", ""),
        ("git log --oneline -5 s", ""),
        ("git log -L1,1:s/k", "/w/s/k/"),
        ("git log -p -- :/s", "/w/s/ /s/"),
        ("git log -p -- '*.md'", "/w/"),
        ("git show HEAD -- s", "/w/HEAD/ /w/s/"),
        ("cd s && git log -p .", "/w/s/"),
        ("git diff --no-index src s", "/w/src/ /w/s/"),
        ("git diff-tree -p --root HEAD -- s", "/w/HEAD/ /w/s/"),
        ("git whatchanged -p -- s", "/w/s/"),
        ("git reflog show -p -- s", "/w/show/ /w/s/"),
        ("git archive HEAD s", "/w/HEAD/ /w/s/"),
        ("git archive HEAD", "/w/HEAD/ /w/"),
        ("git cat-file --batch <<< HEAD:s/k", "/w/s/k/ /s/k/"),
        ("git cat-file --batch < f", "/w/f ?"),
        ("env -C s cat k", "/w/k /w/s/k"),
        ("curl -s file:///w/s/k", "/w/s/k"),
        ("curl https://example.com/x", ""),
        ("cat /dev/fd/../cwd/s*/k", "/w/s*/k"),
        ("grep -r x /dev/fd/3 3<s", "/w/s ?"),
        ("echo k | (cd s; xargs cat)", "/w/s/k /w/k"),
        ("zless k", "/w/k"),
        ("date -f k", "/w/k"),
        ("bash -v k", "/w/k"),
        ("history -r k; history", "/w/k"),
        ("wc --files0-from=x", "?"),
        ("sort --files0 x", "/w/x ?"),
        ("sudo cat a", "/w/a"),
        ("env X=1 timeout 5 cat a*", "/w/a*"),
        ("cat /proc/self/cwd/a", "/w/a"),
        ("cat /dev/null /dev/tty a", "/w/a"),
        ("cat /proc/self/fd/3", ""),
        ("git diff -- -n secrets/k", "/w/-n/ /w/secrets/k/"),
        ("git log -p -n 3 -- --", "/w/--/"),
        ("cat a/../b", "/w/a/../b"),
        ("X=a; cat $X/k", "/w/a/k"),
        ("for f in a b; do cat $f; done", "/w/a /w/b"),
        ("npm test", ""),
        ("python x.py", ""),
        ("ls", ""),
        ("ls a*", "/w/a*"),
        // [F-A5] What tells about the program itself, and names of directories.
        ("ls -d */", ""),
        ("ls -ld a b", ""),
        ("ls --directory a", ""),
        ("rg --version", ""),
        ("rg -V", ""),
        ("rg --type-list", ""),
        ("grep --version", ""),
        ("cat --help", ""),
        ("rg --version x", "/w/"),
        ("ls -D a", "/w/a"),
        ("diff <(cat a) b", "/w/a /w/b/"),
        ("mapfile -t x < a", "/w/a"),
        ("echo \"$(<a)\"", "/w/a"),
        // [F-A5] Brothers of the programs above.
        ("xargs -a k echo", "/w/k"),
        ("xargs -0ak echo", "/w/k"),
        ("xargs --arg=k -n1 echo", "/w/k"),
        ("xargs --arg-file k echo", "/w/k"),
        ("ls | xargs -n 1 echo", ""),
        ("parallel -a k echo", "/w/k"),
        ("parallel echo :::: k", "/w/k"),
        ("date -uf k", "/w/k"),
        ("date --fi=k", "/w/k"),
        ("date -u +%F", ""),
        ("rgrep foo", "/w/"),
        ("rgrep foo src", "/w/src/"),
        ("ag foo", "/w/"),
        ("ack foo src", "/w/src/"),
        ("ls | ack foo", ""),
        ("fd -H x -x cat", "/w/ /w/x/"),
        ("fd . s -X head", "/w/ /w/s/"),
        ("fd -e rs", ""),
        ("echo k | cpio -o", "/w/k"),
        ("cpio -i < a", "/w/a"),
        ("git config -f k --list", "/w/k"),
        ("git config --file=k --list", "/w/k"),
        ("git commit -F k", "/w/k"),
        ("git commit -m k", ""),
        ("git tag -f k", ""),
        ("BASH_ENV=k bash -c true", "?"),
        ("http POST x @k", "/w/k"),
        ("http x f@k", "/w/k"),
        ("socat - FILE:k,rdonly", "/w/k"),
        ("kubectl create -f k", "/w/k"),
        ("kubectl create secret generic x --from-env-file=k", "/w/k"),
        ("gh pr comment -F k", "/w/k /w/pr /w/comment"),
        ("qrencode -r k", "/w/k"),
        ("7z a x.7z k", "/w/a/ /w/x.7z/ /w/k/"),
    ] {
        let found = read(command);
        if found != expected {
            wrong.push((command, found, expected));
        }
    }
    assert!(wrong.is_empty(), "command, found, expected: {wrong:#?}");
}

#[test]
fn trees_are_walked_as_told() {
    let walk = |command: &str| match &planned(command).targets.last().unwrap().extent {
        ReadExtent::Tree(walk) => walk.clone(),
        other => panic!("{command}: {other:?}"),
    };
    assert!(walk("rg x").ignores && walk("rg x").skips_hidden);
    assert!(walk("rg --hidden x").ignores && !walk("rg --hidden x").skips_hidden);
    assert!(!walk("rg -uu x").ignores && !walk("rg -uu x").skips_hidden);
    assert_eq!(walk("rg -g '!secrets/**' x").overrides, ["!secrets/**"]);
    assert_eq!(walk("rg --glob '!secrets/**' --iglob '!KEYS/**' x").overrides, Vec::<String>::new());
    let depths = ["rg --max-depth 2 x", "rg --maxdepth=2 x", "rg -d 2 x", "rg x", "diff a b", "diff -r a b"];
    assert_eq!(depths.map(|command| walk(command).depth), [Some(2), Some(2), Some(2), None, Some(1), None]);
    assert_eq!(walk("grep -r --exclude-dir=secrets x .").exclude_dir, ["secrets"]);
    assert_eq!(walk("grep -r --include='*.rs' x .").include, ["*.rs"]);
    assert!(walk("grep -R x .").follows_links && !walk("grep -r x .").follows_links);
    assert!(walk("find . -type f").names_only && !walk("find . -exec cat {} +").names_only);
    assert_eq!(walk("find . -not -path './secrets/*'").exclude_path, ["./secrets/*"]);
}
