use super::*;

fn written(command: &str) -> String {
    let words: Vec<String> = crate::shell::suspects::find(command).remove(0).words;
    let outputs = written_by(&words[0], &words[1..]);
    let mut all = outputs.files;
    all.extend(outputs.runs.then(|| "!".to_owned()));
    all.extend(outputs.unnamed.then(|| "*".to_owned()));
    all.join(" ")
}

#[test]
fn options_that_write() {
    // [F-A8]
    for (command, expected) in [
        ("git diff --output=x", "x"),
        ("git diff --output x", "x"),
        ("git --no-pager diff --outp=x HEAD", "x"),
        ("git -C d log -p --output=x", "x"),
        ("git show --out=x", "x"),
        ("git show --ou=x", "x"),
        ("git format-patch --output-d=x", "x"),
        ("git fetch --upl=x u", "!"),
        ("git bundle create x HEAD", "x"),
        ("git bundle verify x", ""),
        ("git stash create x", ""),
        ("git archive -o x HEAD", "x"),
        ("git diff -- --output=x", ""),
        ("git upload-pack --exec=x", "!"),
        ("sort -o x f", "x"),
        ("sort -ox f", "x"),
        ("sort f -uo x", "x"),
        ("sort -k2 f", ""),
        ("sort -ko f", ""),
        ("sort --output=x f", "x"),
        ("sort --outp x f", "x"),
        ("sort --compress-prog=sh f", "!"),
        ("curl -o x u", "x"),
        ("curl -sSLo x u", "x"),
        ("curl -ox u", "x"),
        ("curl --output x u", "x"),
        ("curl -X POST u", ""),
        ("curl -O u", "*"),
        ("curl -sSLO u", "*"),
        ("curl -D x u", "x"),
        ("curl -c x u", "x"),
        ("curl -K f", "!"),
        ("curl -sK f u", "!"),
        ("curl --conf f", "!"),
        ("curl -HKey:x u", ""),
        ("wget -e output_document=x u", "!"),
        ("wget --exec=x u", "!"),
        ("wget -q u", ""),
        ("wget -O x u", "x"),
        ("wget -qO x u", "x"),
        ("wget -O- u", ""),
        ("wget --output-doc=x u", "x"),
        ("tar --to-command=sh -xf a", "!"),
        ("tar xf a --to-com sh", "!"),
        ("tar -I sh -xf a", "!"),
        ("tar cf x.tar a", "x.tar"),
        ("tar -czf x.tgz a", "x.tgz"),
        ("tar xf a.tar", ""),
        ("tree -o x", "x"),
        ("xxd -r in x", "x"),
        ("xxd in", ""),
        ("shuf -o x f", "x"),
        ("uniq in x", "x"),
        ("uniq -c in", ""),
        ("tee x y", "x y"),
        ("tee -a x", "x"),
        ("split -b 5 in x", "x"),
        ("split --filter=sh in", "!"),
        ("dd if=a of=x", "x"),
        ("openssl enc -in a -out x", "x"),
        ("gpg -o x -d a", "x"),
        ("ffmpeg -i a x", "x"),
        ("sed 'w x' f", "x"),
        ("sed -n '/k/w x' f", "x"),
        ("sed 's/a/b/w x' f", "x"),
        ("sed -n 5p f", ""),
        ("sed s/w/b/ f", ""),
        ("awk '{print > \"x\"}' f", "x"),
        ("awk '{print $1}' f", ""),
        ("find . -fprint x", "x"),
        ("rg --pre sh k", "!"),
        ("iconv -f l1 -t utf8 -o x f", "x"),
    ] {
        assert_eq!(written(command), expected, "{command}");
    }
}
