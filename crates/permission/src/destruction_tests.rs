use super::*;

/// One line per loss, paths below `/w` without it.
fn seen(command: &str) -> Vec<String> {
    let accesses = [Access::Run(command.into())];
    let losses = PossibleLosses::from_accesses(&accesses, Path::new("/w"), Some(Path::new("/home/u")));
    let short = |path: &Path| path.strip_prefix("/w").map_or(path.display().to_string(), |p| p.display().to_string());
    let mut lines: Vec<String> = Vec::new();
    for FileLoss { path, extent } in &losses.files {
        let path = short(path);
        lines.push(match extent {
            LossExtent::File => format!("file {path}"),
            LossExtent::Tree => format!("tree {path}"),
            LossExtent::LinkedTree => format!("linked tree {path}"),
            LossExtent::Named(name) => format!("named {path} {}", name.as_deref().unwrap_or("any")),
            LossExtent::Into(sources) => {
                let names: Vec<String> = sources.iter().map(|source| short(source)).collect();
                format!("into {path} {}", names.join(","))
            }
            LossExtent::Patched(patch) => format!("patched {path} {}", short(patch)),
            LossExtent::Unpacked(archive) => format!("unpacked {path} {}", short(archive)),
        });
    }
    for GitLoss { dir, work } in &losses.git {
        let dir = short(dir);
        lines.push(match work {
            GitWork::None => format!("git {dir}"),
            GitWork::Tracked { commits } => format!("git {dir} tracked {}", commits.join(",")),
            GitWork::Untracked { ignored } => format!("git {dir} untracked {ignored}"),
        });
    }
    lines.extend(losses.unnamed.iter().map(|program| format!("unnamed {program}")));
    lines.iter().map(|line| line.trim().to_owned()).collect()
}

#[rustfmt::skip]
const TABLE: &[(&str, &[&str])] = &[
    ("ls -la", &[]),
    ("cargo test", &[]),
    ("grep -rn rm src", &[]),
    ("git status && git log", &[]),
    ("git commit -m 'rm -rf x'", &[]),
    ("echo hi", &[]),
    ("cat < in", &[]),
    ("make 2>&1", &[]),
    ("ls > /dev/null", &[]),
    ("rm -rf build", &["tree build"]),
    ("rm -rf -- -odd 'a b'", &["tree -odd", "tree a b"]),
    ("rm *.log", &["tree *.log"]),
    ("rm a{1,2}.txt", &["tree a", "tree a1.txt", "tree a2.txt"]),
    ("rmdir d; unlink f", &["tree d", "tree f"]),
    ("shred -u key", &["file key"]),
    ("rm -rf ~/x $HOME/y ${HOME}/z", &["tree /home/u/x", "tree /home/u/y", "tree /home/u/z"]),
    ("rm -rf \"$X\"", &["unnamed rm"]),
    ("D=out; rm -rf $D/*", &["tree out/*"]),
    ("for f in a b; do rm $f; done", &["tree a", "tree b"]),
    ("cd sub && rm -rf x", &["tree sub/x"]),
    ("cd sub; rm -rf x", &["tree sub/x", "tree x"]),
    ("(cd sub && rm x) && rm y", &["tree sub/x", "tree y", "tree sub/y"]),
    ("sudo rm -rf x", &["tree x"]),
    ("env A=1 nohup rm x", &["tree x"]),
    ("bash -c 'rm -rf x'", &["tree x"]),
    ("timeout 5 mv a b", &["tree a", "into b a"]),
    ("mv -f a b dir", &["tree a", "tree b", "into dir a,b"]),
    ("mv -t dir a", &["tree a", "into dir a"]),
    ("cp -r src dst", &["into dst src"]),
    ("cp -r src/. dst", &["tree dst"]),
    ("install -m 755 bin/x /usr/bin", &["into /usr/bin bin/x"]),
    ("install -d x", &[]),
    ("ln -sf a b", &["into b a"]),
    ("ln -s ../a", &["into  /a"]),
    ("scp a host:b", &[]),
    ("rsync -a --delete src/ dst/", &["linked tree dst"]),
    ("rm -rf l/", &["linked tree l"]),
    ("env -C src rm -rf x", &["tree x", "tree src/x"]),
    ("echo x > f", &["file f"]),
    ("echo x >| f", &["file f"]),
    ("echo x >> f", &["file f"]),
    ("make &> log", &["file log"]),
    ("ls | tee -a out", &["file out"]),
    ("sed -i s/a/b/ f g", &["file f", "file g"]),
    ("sed -i.bak -e s/a/b/ f", &["file f"]),
    ("sed -n 1p f", &[]),
    ("perl -pi -e 's/a/b/' f", &["file f"]),
    ("perl -e 'print 1'", &[]),
    ("truncate -s 0 f", &["file f"]),
    ("dd if=/dev/zero of=disk count=1", &["file disk"]),
    ("sort -o f f", &["file f"]),
    ("curl -o page https://x.example", &["file page"]),
    ("find . -name '*.tmp' -delete", &["named  *.tmp"]),
    ("find a b -delete", &["tree a", "tree b"]),
    ("find . -name x -o -name y -delete", &["tree"]),
    ("find src -exec sed -i s/a/b/ {} +", &["tree src"]),
    ("find . -name '*.o' | xargs rm -f", &["named  *.o"]),
    ("grep -rl foo src | xargs sed -i s/foo/bar/", &["named src any"]),
    ("tar xzf a.tgz -C out", &["unpacked out a.tgz"]),
    ("tar -czf a.tgz src", &[]),
    ("unzip -o a.zip -d out", &["unpacked out a.zip"]),
    ("patch -p1 < fix.patch", &["patched  fix.patch"]),
    ("chmod +x run.sh", &["file run.sh"]),
    ("git reset --hard HEAD~1", &["git  tracked HEAD~1"]),
    ("git reset", &["git"]),
    // [F-A4]
    ("git --config-env a.b=HOME reset --hard", &["git  tracked"]),
    ("git --config-env=a.b=HOME reset --hard", &["git  tracked"]),
    ("git --attr-source HEAD reset --hard x", &["git  tracked x"]),
    ("git --work-tree=sub reset --hard", &["git sub tracked"]),
    ("git --frobnicate reset --hard", &["tree reset", "git  tracked reset", "git  untracked true"]),
    ("git -c alias.s='reset --hard' s", &["git  tracked", "git  untracked true"]),
    ("git clean -fdx", &["git  untracked true"]),
    ("git clean -n", &[]),
    ("git checkout -- .", &["git  tracked ."]),
    ("git checkout -b new", &[]),
    ("git -C sub checkout -f main", &["git sub tracked main"]),
    ("git restore f", &["git  tracked"]),
    ("git restore --staged f", &["git"]),
    ("git switch main", &[]),
    ("git switch -f main", &["git  tracked main"]),
    ("git stash drop", &["git"]),
    ("git stash", &[]),
    // [F-A10] What one call puts away another one loses.
    ("git stash; git stash drop", &["git", "git  tracked"]),
    ("git stash push -u -m x && git stash clear", &["git", "git  tracked", "git  untracked false"]),
    ("git add -A; git reset --hard", &["git  tracked", "git  untracked false"]),
    ("git add -f . && git checkout -f", &["git  tracked", "git  untracked true"]),
    ("git add . ; git stash; git stash drop", &["git", "git  tracked", "git  untracked false"]),
    ("git add -A && git commit -m x && git checkout main", &["git  tracked main"]),
    ("git stash && git checkout -b new && git stash pop", &[]),
    ("git stash list; git stash drop", &["git"]),
    ("git branch -D x", &["git"]),
    ("git rm -r d", &["tree d", "git"]),
    ("git apply fix.patch", &["patched  fix.patch", "git"]),
];

#[test]
fn the_losses_of_commands() {
    let wrong: Vec<String> = TABLE
        .iter()
        .map(|(command, expected)| (command, seen(command), expected))
        .filter(|(_, found, expected)| found != *expected)
        .map(|(command, found, expected)| format!("{command}\n  found    {found:?}\n  expected {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn file_tools_lose_what_they_write() {
    let accesses = [Access::WritePath("/w/f".into()), Access::ReadPath("/w/g".into())];
    let losses = PossibleLosses::from_accesses(&accesses, Path::new("/w"), None);
    assert_eq!(losses.files, [FileLoss { path: "/w/f".into(), extent: LossExtent::File }]);
    assert!(!losses.is_irreversible);
}

#[test]
fn only_work_that_may_be_gone_for_good_is_announced() {
    let grave = |command: &str| {
        PossibleLosses::from_accesses(&[Access::Run(command.into())], Path::new("/w"), None).is_irreversible
    };
    for command in
        ["rm -rf x", "git reset --hard", "git clean -fd", "git checkout -- .", "git stash drop", "find . -delete"]
    {
        assert!(grave(command), "{command}");
    }
    for command in ["echo x > f", "rm f", "mv a b", "git reset f", "sed -i s/a/b/ f"] {
        assert!(!grave(command), "{command}");
    }
}

fn uncovered(command: &str) -> Vec<String> {
    PossibleLosses::from_accesses(&[Access::Run(command.into())], Path::new("/w"), None).uncovered
}

// [F-A10]
#[test]
fn programs_that_destroy_what_cannot_be_saved_are_named() {
    for (command, program) in [
        ("gzip notes.txt", "gzip"),
        ("sudo xz -9 a b", "xz"),
        ("bunzip2 a.bz2", "bunzip2"),
        ("zstd --rm a", "zstd"),
        ("tar -cf a.tar --remove-files src", "tar"),
        ("printf '1d\\nw\\n' | ed -s notes.txt", "ed"),
        ("ex -sc '%d|x' notes.txt", "ex"),
        ("vim -es -c '%d' -c wq notes.txt", "vim"),
        ("nvim --headless +%d +wq notes.txt", "nvim"),
        ("python -c \"import shutil; shutil.rmtree('src')\"", "python"),
        ("python3 - <<'E'\nimport os\nos.unlink('a')\nE", "python3"),
        ("perl -e 'unlink glob \"*.txt\"'", "perl"),
        ("perl -lne 'unlink' list", "perl"),
        ("node -e \"require('fs').rmSync('src', {recursive: true})\"", "node"),
        ("ruby -e 'FileUtils.rm_rf(\"src\")'", "ruby"),
        ("php -r 'unlink(\"a\");'", "php"),
        ("env X=1 bash -c 'gzip a'", "gzip"),
        ("rename 's/a/b/' *.txt", "rename"),
        ("dropdb app", "dropdb"),
        ("docker volume rm data", "docker"),
        ("kubectl delete pod x", "kubectl"),
        ("terraform destroy -auto-approve", "terraform"),
        ("sqlite3 app.db 'DROP TABLE users'", "sqlite3"),
        ("mkfs.ext4 /dev/sdb1", "mkfs.ext4"),
    ] {
        assert_eq!(uncovered(command), [program], "{command}");
    }
}

// [F-A10] **Quiet**
#[test]
fn ordinary_programs_give_no_warning() {
    for command in [
        "npm test",
        "npm run build && make clean",
        "./cleanup.sh",
        "python manage.py test",
        "python3 -c 'print(1)'",
        "python -m pytest -q",
        "node server.js",
        "node -e 'console.log(1)'",
        "perl -ne 'print if /x/' a",
        "ruby script.rb",
        "gzip -c a > b.gz",
        "gzip -k a",
        "gzip -l a.gz",
        "gzip --version",
        "xz --keep a",
        "zcat a.gz",
        "zstd a",
        "vim --version",
        "docker ps",
        "docker run --rm -it image",
        "kubectl get pods",
        "terraform plan",
        "sqlite3 app.db 'select 1'",
        "awk '{print $1}' a",
        "cargo test",
        "tar -cf a.tar src",
    ] {
        assert_eq!(uncovered(command), [""; 0], "{command}");
    }
}
