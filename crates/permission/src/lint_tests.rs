use super::*;

type Case = (&'static [(RuleBehaviour, &'static str)], Option<(&'static str, RuleProblem)>);

#[test]
#[rustfmt::skip]
fn findings_name_the_problem() {
    use RuleBehaviour::{Allow, Ask, Deny};
    let cases: &[Case] = &[
        (&[(Allow, "Bash(npm test *)")], None),
        (&[(Deny, "Read(.env)")], None),
        (&[(Allow, "Bash(git:* push)")], Some(("Bash(git:* push)", RuleProblem::NeverMatches))),
        (&[(Allow, "Bash(a && b *)")], Some(("Bash(a && b *)", RuleProblem::NeverMatches))),
        (&[(Allow, "Bash(watch *)")], Some(("Bash(watch *)", RuleProblem::NeverMatches))),
        (&[(Allow, "Write(src/**)")], Some(("Write(src/**)", RuleProblem::NeverMatches))),
        (&[(Allow, "mcp__*")], None),
        (&[(Allow, "mcp__s*__t")], Some(("mcp__s*__t", RuleProblem::NeverMatches))),
        (&[(Allow, "Bash()")], Some(("Bash()", RuleProblem::NeverMatches))),
        (&[(Deny, "Bsh")], Some(("Bsh", RuleProblem::Suspicious))),
        (&[(Deny, "Read(/etc/passwd)")], Some(("Read(/etc/passwd)", RuleProblem::Suspicious))),
        (&[(Allow, "Bash(ls*)")], Some(("Bash(ls*)", RuleProblem::Wide))),
        (&[(Allow, "Bash(python:*)")], Some(("Bash(python:*)", RuleProblem::Wide))),
        (&[(Allow, "Bash(sudo *)")], Some(("Bash(sudo *)", RuleProblem::Wide))),
        (&[(Allow, "Bash(*)")], Some(("Bash(*)", RuleProblem::Wide))),
        (&[(Allow, "Edit(//**)")], Some(("Edit(//**)", RuleProblem::Wide))),
        (&[(Allow, "Bash(git push *)"), (Deny, "Bash(git *)")], Some(("Bash(git push *)", RuleProblem::Shadowed))),
        (&[(Allow, "Bash(git push *)"), (Ask, "Bash(git push *)")], Some(("Bash(git push *)", RuleProblem::Shadowed))),
        (&[(Allow, "Bash(git *)"), (Allow, "Bash(git push *)")], Some(("Bash(git push *)", RuleProblem::Shadowed))),
        (&[(Deny, "Bash(git push *)"), (Allow, "Bash(git *)")], None),
        (&[(Allow, "mcp__s__t"), (Deny, "mcp__s")], Some(("mcp__s__t", RuleProblem::Shadowed))),
        (&[(Allow, "Bash(npm test)"), (Allow, "Bash(npm test)")], Some(("Bash(npm test)", RuleProblem::Shadowed))),
    ];
    let place = SessionDirectories { cwd: "/w".into(), ..SessionDirectories::default() };
    for (rules, expected) in cases {
        let texts: Vec<_> = rules.iter().map(|(behaviour, text)| RuleText {
            behaviour: *behaviour, source: SettingsSource::User, text: (*text).to_owned(), root: "/w".into(),
        }).collect();
        let found = lint(&texts, &place, &Path::to_path_buf);
        let got = found.first().map(|finding| (finding.rule.as_str(), finding.problem));
        assert_eq!(got, *expected, "{rules:?}: {found:?}");
        assert!(found.len() <= 1, "{rules:?}: {found:?}");
    }
}
