//! The texts sent to the model about plan mode.

pub struct PlanModeFacts<'a> {
    pub file: &'a str,
    pub exists: bool,
    pub is_agent: bool,
    /// The tool that asks for approval is available.
    pub may_exit: bool,
    /// Instructions that replace the built-in ones.
    pub method: Option<&'a str>,
}

const PLAN_MODE_RULE: &str = "Plan mode is on: the user wants to see a plan before anything is changed. Change no files, and run no command that \
     changes something (no installs, no commits, no settings). This is enforced, and it goes before every other \
     instruction you were given.";

const DEFAULT_METHOD: &str = "How to plan:
1. Understand the request: read the code it concerns and what already exists that can be reused. Use agents for wide searches.
2. Ask the user about what is theirs to decide and cannot be found out.
3. Choose one approach. Write down why, which files change and how, and how the result is checked. Short enough to read, exact \
     enough to carry out.";

pub fn full(facts: &PlanModeFacts<'_>) -> String {
    if facts.is_agent {
        return format!(
            "{PLAN_MODE_RULE} Do your part by reading and searching, and report what you found or would do."
        );
    }
    let state = if facts.exists { "it exists; read it and go on from there" } else { "it does not exist yet" };
    let end = if facts.may_exit {
        "When the plan is complete, call ExitPlanMode: it shows the plan to the user and asks for approval. Do not ask \
         for approval in words. End a turn only with that call or with a question to the user."
    } else {
        "When the plan is complete, end with the plan as your answer: nobody can approve it here."
    };
    let method = facts.method.unwrap_or(DEFAULT_METHOD);
    format!(
        "{PLAN_MODE_RULE}\n\nThe one file you may write is the plan itself: {} ({state}).\n\n{method}\n\n{end}",
        facts.file
    )
}

pub fn brief(facts: &PlanModeFacts<'_>) -> String {
    if facts.is_agent {
        return "Plan mode is still on: change nothing.".into();
    }
    let end = if facts.may_exit { " When it is complete, call ExitPlanMode." } else { "" };
    format!("Plan mode is still on: change nothing but the plan file {}.{end}", facts.file)
}

pub fn over(facts: &PlanModeFacts<'_>) -> String {
    let kept = if facts.exists && !facts.is_agent { format!(" The plan is in {}.", facts.file) } else { String::new() };
    format!("Plan mode is over: you may change things again, within the permissions you have.{kept}")
}

pub fn existing_plan(file: &str, plan: &str) -> String {
    format!(
        "The plan of this conversation is in {file}. As far as it is not done or not dropped, it still holds:\n\n{}",
        plan.trim_end()
    )
}
