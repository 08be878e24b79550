use super::*;

type Case = (&'static [(Behaviour, &'static str)], Option<(&'static str, Problem)>);

#[test]
#[rustfmt::skip]
fn findings_name_the_problem() {
    use Behaviour::{Allow, Ask, Deny};
    let cases: &[Case] = &[
        (&[(Allow, "Bash(npm test *)")], None),
        (&[(Deny, "Read(.env)")], None),
        (&[(Allow, "Bash(git:* push)")], Some(("Bash(git:* push)", Problem::NeverMatches))),
        (&[(Allow, "Bash(a && b *)")], Some(("Bash(a && b *)", Problem::NeverMatches))),
        (&[(Allow, "Bash(watch *)")], Some(("Bash(watch *)", Problem::NeverMatches))),
        (&[(Allow, "Write(src/**)")], Some(("Write(src/**)", Problem::NeverMatches))),
        (&[(Allow, "mcp__*")], None),
        (&[(Allow, "mcp__s*__t")], Some(("mcp__s*__t", Problem::NeverMatches))),
        (&[(Allow, "Bash()")], Some(("Bash()", Problem::NeverMatches))),
        (&[(Deny, "Bsh")], Some(("Bsh", Problem::Suspicious))),
        (&[(Deny, "Read(/etc/passwd)")], Some(("Read(/etc/passwd)", Problem::Suspicious))),
        (&[(Allow, "Bash(ls*)")], Some(("Bash(ls*)", Problem::Wide))),
        (&[(Allow, "Bash(python:*)")], Some(("Bash(python:*)", Problem::Wide))),
        (&[(Allow, "Bash(sudo *)")], Some(("Bash(sudo *)", Problem::Wide))),
        (&[(Allow, "Bash(*)")], Some(("Bash(*)", Problem::Wide))),
        (&[(Allow, "Edit(//**)")], Some(("Edit(//**)", Problem::Wide))),
        (&[(Allow, "Bash(git push *)"), (Deny, "Bash(git *)")], Some(("Bash(git push *)", Problem::Shadowed))),
        (&[(Allow, "Bash(git push *)"), (Ask, "Bash(git push *)")], Some(("Bash(git push *)", Problem::Shadowed))),
        (&[(Allow, "Bash(git *)"), (Allow, "Bash(git push *)")], Some(("Bash(git push *)", Problem::Shadowed))),
        (&[(Deny, "Bash(git push *)"), (Allow, "Bash(git *)")], None),
        (&[(Allow, "mcp__s__t"), (Deny, "mcp__s")], Some(("mcp__s__t", Problem::Shadowed))),
        (&[(Allow, "Bash(npm test)"), (Allow, "Bash(npm test)")], Some(("Bash(npm test)", Problem::Shadowed))),
    ];
    let place = Place { cwd: "/w".into(), ..Place::default() };
    for (rules, expected) in cases {
        let texts: Vec<_> = rules.iter().map(|(behaviour, text)| RuleText {
            behaviour: *behaviour, source: Source::User, text: (*text).to_owned(), root: "/w".into(),
        }).collect();
        let found = lint(&texts, &place, &Path::to_path_buf);
        let got = found.first().map(|finding| (finding.rule.as_str(), finding.problem));
        assert_eq!(got, *expected, "{rules:?}: {found:?}");
        assert!(found.len() <= 1, "{rules:?}: {found:?}");
    }
}
