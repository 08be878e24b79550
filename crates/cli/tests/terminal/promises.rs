//! Every sentence and every row of a table in `docs/terminal.md` has a test: here is which. Below are the tests of what no
//! other file of tests is about.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use serde_json::json;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use testkit::{ModelServer, Sandbox, ScriptedReply, TestTerminal};

const EXE: &str = env!("CARGO_BIN_EXE_gimlet");

/// How a sentence or row begins, and the tests of what it says. A row is its first cell, a colon, and its second.
#[rustfmt::skip]
const PROMISES: &[(&str, &[&str])] = &[
    ("`gimlet` on a terminal starts", &["a_question_is_answered_and_the_terminal_left_as_it_was"]),
    ("This page goes", &["every_picture_belongs_to_a_test"]),
    (r#"`gimlet "prompt"` sends"#, &["a_prompt_argument_is_sent_at_once", "a_continued_conversation_is_shown_again", "a_conversation_is_found_by_its_words_and_goes_on"]),
    ("`/exit` or Ctrl+C", &["actions_at_rest_take_no_more_keys_than_they_did", "the_demo_opens_the_interface_without_a_key"]),
    ("Leaving asks first", &["leaving_asks_while_something_runs"]),
    ("Without credentials", &["without_credentials_a_key_can_be_entered_unseen", "an_endpoint_of_ones_own_is_entered_at_the_first_start", "first_start"]),
    ("What a folder brings", &["nothing_of_a_folder_runs_before_it_is_trusted"]),
    ("Each server of the folder", &["each_server_of_a_folder_is_said_yes_or_no_to_where_the_folder_is_trusted"]),
    ("The answer holds", &["servers_of_a_project_are_approved_one_by_one", "each_server_of_a_folder_is_said_yes_or_no_to_where_the_folder_is_trusted"]),
    ("Bypassing permissions", &["bypassing_is_warned_of_once"]),
    ("What is finished", &["every_line_stands_once_after_resizes_while_text_streams", "no_sequence_clears_screen_or_scrollback"]),
    ("Only the part at the bottom", &["finished_lines_stand_above_and_the_live_region_is_replaced", "nothing_is_written_when_nothing_changes_and_one_row_when_one_changes"]),
    ("What is being written", &["what_streams_stands_as_it_will_stand_when_it_is_finished"]),
    ("The line below the prompt", &["parts_fall_away_from_the_middle_outwards", "a_filling_context_has_a_bar_where_it_fits", "modes_cycle_and_the_footer_says_which", "session"]),
    ("When the window is narrow", &["parts_fall_away_from_the_middle_outwards"]),
    ("The session's name", &["the_banner_names_model_effort_and_what_changed"]),
    ("After each turn", &["the_line_after_a_turn_can_be_left_out", "a_turn_that_the_end_of_a_background_command_opens_has_its_line_too"]),
    ("`/color` gives", &["the_colour_of_a_session_is_kept_with_it"]),
    ("Hints for newcomers", &["hints_go_after_five_conversations"]),
    ("Prose is wrapped", &["prose_is_wrapped_at_words_between_margins", "code_is_flush_left_and_whole_and_links_are_not_cut"]),
    ("Code is neither", &["what_streams_stands_as_it_will_stand_when_it_is_finished"]),
    ("Selected prose", &["the_terminal_wraps_where_the_settings_say_so_and_copies_are_never_wrapped"]),
    ("After a resize", &["every_line_stands_once_after_resizes_while_text_streams"]),
    (r#"With `"wrap": "terminal"`"#, &["the_terminal_wraps_where_the_settings_say_so_and_copies_are_never_wrapped"]),
    ("Tables wrap", &["cells_wrap_and_only_narrow_tables_are_stacked", "tables_fit_or_stack", "reply_narrow"]),
    ("Enter:", &["a_question_is_answered_and_the_terminal_left_as_it_was", "a_message_sent_meanwhile_joins_the_turn_after_its_calls"]),
    ("Ctrl+J,", &["every_way_to_a_new_line"]),
    ("↑ ↓: rows", &["edits_to_recalled_prompts_and_the_draft_are_kept_while_walking", "what_waits_can_be_taken_back_and_changed"]),
    ("Ctrl+R: earlier", &["earlier_prompts_are_listed_taken_and_sent", "a_search_looks_where_it_is_told_to"]),
    ("`@`:", &["a_file_is_attached_by_three_letters_and_two_keys", "equal_matches_go_by_age_then_by_name", "ignore_files_are_respected_and_directories_marked", "paths_are_completed_as_they_were_begun", "whole_words_are_sent_as_they_are"]),
    ("`/`:", &["arguments_are_hinted_and_completed", "commands_match_fuzzily_and_best_first", "suggestions_follow_the_word_at_the_cursor"]),
    ("`!`:", &["a_command_after_an_exclamation_mark_runs_and_is_told", "a_command_of_the_person_shows_its_last_lines_while_it_runs"]),
    ("Ctrl+A E B F", &["words_and_lines", "every_listed_key_has_an_effect"]),
    ("Ctrl+K U W", &["kills_join_and_yank_cycles"]),
    ("Ctrl+_:", &["undo_goes_by_words_and_redo_returns", "an_undo_step_ends_where_the_cursor_moved"]),
    ("Ctrl+S:", &["a_text_put_aside_comes_back_and_what_was_cleared_is_recalled"]),
    ("Ctrl+G: write", &["the_prompt_is_written_in_an_editor"]),
    ("Ctrl+V:", &["a_picture_of_the_clipboard_goes_along", "several_dropped_files_are_several_chips_and_a_chip_goes_as_one"]),
    ("Esc Esc:", &["a_text_put_aside_comes_back_and_what_was_cleared_is_recalled"]),
    ("A paste of more", &["a_long_paste_is_folded_and_sent_whole", "a_long_paste_is_a_chip_that_moves_and_dies_as_one"]),
    ("Pictures are shown", &["a_picture_of_the_clipboard_goes_along", "large_images_are_scaled_down"]),
    ("The clipboard is read", &["every_platform_has_its_program"]),
    ("A file that is no picture", &["what_is_no_picture_is_told_or_stays_text"]),
    ("With `editorMode", &["motions", "operators_and_objects", "visual_modes", "the_last_change_is_repeated"]),
    ("They do what Vim does", &["random_commands_do_what_they_do_in_vim"]),
    ("Esc, Ctrl+C:", &["escape_stops_a_reply_and_keeps_what_there_is", "ctrl_c_stops_a_turn_and_keeps_the_draft_and_can_leave_one_that_does_not_end"]),
    ("Shift+Tab: next", &["modes_cycle_and_the_footer_says_which"]),
    ("Ctrl+O:", &["the_transcript_is_searched_and_walked_through"]),
    ("`/btw QUESTION`:", &["the_terminal_shows_answers_in_a_screen_of_their_own", "a_question_on_the_side_leaves_no_trace"]),
    ("Ctrl+T:", &["ctrl_t_shows_all_then_none"]),
    ("Ctrl+B: move", &["a_running_command_shows_its_last_line_and_says_that_it_was_moved", "a_waiting_agent_moves_with_its_command"]),
    ("Ctrl+Z:", &["every_listed_key_has_an_effect"]),
    ("?:", &["help_history_and_transcript_open_and_close", "every_listed_key_has_an_effect"]),
    ("The line above the prompt", &["the_line_says_what_it_waits_for"]),
    ("While a request is made again", &["the_terminal_says_why_it_tries_again", "a_server_that_is_not_there_is_named"]),
    ("When it fails for good", &["a_server_that_is_not_there_is_named", "a_connection_that_breaks_says_so"]),
    ("A message that you send", &["a_message_sent_meanwhile_joins_the_turn_after_its_calls", "a_message_typed_meanwhile_is_sent_next"]),
    ("Until then it", &["what_waits_can_be_taken_back_and_changed", "escape_sends_what_waits_at_once"]),
    ("Commands (`/`, `!`)", &["commands_wait_for_the_end_of_the_turn"]),
    ("A turn that is stopped", &["a_prompt_that_came_back_is_forgotten_live_and_when_resumed"]),
    ("While a turn runs its tasks", &["states_are_told_apart_and_rows_capped", "work"]),
    ("Agents stand beside", &["tasks_and_agents_stand_side_by_side_where_there_is_room", "an_agent_that_has_ended_says_so_at_once_and_goes_after_a_moment"]),
    ("Beyond six rows", &["at_most_six_rows_are_taken_and_the_rest_is_counted"]),
    ("What is left of the tasks", &["what_is_left_is_said_once"]),
    ("↓ on an empty prompt", &["an_agent_is_opened_and_written_to", "agents_are_entered_from_the_prompt"]),
    ("Ctrl+B moves an agent", &["a_waiting_agent_moves_with_its_command"]),
    ("Each call is one line", &["every_tool_has_a_row_for_success"]),
    ("Of a command of several lines", &["a_command_of_many_lines_is_one_line_with_the_rest_in_the_question_and_in_the_transcript", "a_long_object_is_cut_for_what_came_of_it_and_a_path_is_not"]),
    ("Below it are", &["three_rows_are_shown_and_the_rest_counted", "a_failure_shows_what_looks_like_its_cause", "hunks_are_set_apart_and_long_diffs_cut"]),
    ("`… 12 more lines", &["three_rows_are_shown_and_the_rest_counted", "failure"]),
    ("`·` has not begun", &["a_call_runs_only_when_it_does_and_is_named_as_its_line_names_it", "nothing_breathes_where_motion_is_not_wanted", "every_tool_has_a_row_for_failure", "every_tool_has_a_row_for_an_interrupt", "every_tool_has_a_row_for_a_no", "a_refused_edit_keeps_its_change"]),
    ("Reads, searches", &["calls_of_one_server_become_one_line_and_one_alone_stays_whole", "reads_in_a_row_say_how_much_each_brought"]),
    ("While a command runs", &["a_running_command_shows_its_last_line_and_says_that_it_was_moved"]),
    ("Progress that overwrites", &["progress_overwrites_itself", "colours_are_kept_over_lines_and_never_hide_text", "nothing_but_colours_passes"]),
    ("Thinking leaves", &["thinking_leaves_a_line", "only_the_transcript_view_has_what_is_left_out"]),
    ("`/focus` leaves", &["the_focus_view_leaves_prompts_one_line_of_calls_and_the_answer"]),
    (r#"`"viewMode": "verbose"` and"#, &["a_verbose_view_shows_whole_outputs"]),
    ("A diff has line numbers", &["numbers_signs_and_context", "words_are_marked_when_lines_are_alike"]),
    ("New files have no colour", &["a_new_file_has_no_colour_behind_its_rows"]),
    ("Ctrl+O shows the same", &["the_transcript_is_searched_and_walked_through", "the_transcript_tails_goes_to_the_scrollback_and_to_an_editor", "what_an_agent_did_stands_in_the_transcript", "a_reply_looks_the_same_live_resumed_and_in_the_transcript_view"]),
    ("A resumed conversation looks", &["a_resumed_conversation_looks_as_it_did", "what_a_person_did_is_told_by_its_name_when_a_conversation_is_resumed"]),
    ("A turn that was cut off", &["a_turn_that_was_cut_off_says_so_when_it_is_resumed"]),
    ("What was written for the model", &["texts_for_the_model_never_reach_the_person"]),
    ("Before a command runs", &["a_command_is_asked_for_and_shown_with_its_output", "a_refused_command_does_not_run_and_ends_the_turn"]),
    ("The question shows", &["a_no_that_says_what_to_do_instead_is_one_key_away", "the_question_about_a_file_shows_hidden_characters", "a_file_elsewhere_is_the_reason_and_its_folder_can_be_opened_for_the_session"]),
    ("Of a command with several", &["parts_keep_their_quotes_and_files_and_say_which_one_asks"]),
    (r#""Do not ask again" says"#, &["the_rule_that_would_be_saved_is_shown_in_full", "a_file_elsewhere_is_the_reason_and_its_folder_can_be_opened_for_the_session"]),
    ("It is missing", &["parts_keep_their_quotes_and_files_and_say_which_one_asks", "a_scope_that_cannot_be_told_is_not_offered"]),
    ("digits, ↑ ↓ Enter, y:", &["a_command_is_asked_for_and_shown_with_its_output", "each_server_of_a_folder_is_said_yes_or_no_to_where_the_folder_is_trusted"]),
    ("the last answer, n:", &["a_no_that_says_what_to_do_instead_is_one_key_away", "a_no_is_completed_by_words_or_by_enter_alone"]),
    ("Esc: no,", &["an_agents_question_names_it_and_escape_denies_only_that_call", "escape_says_no_and_a_comment_goes_along"]),
    ("Tab: a note", &["escape_says_no_and_a_comment_goes_along"]),
    ("Ctrl+E:", &["a_compound_command_is_shown_in_parts_and_explained"]),
    ("Ctrl+G: change", &["a_change_is_edited_before_it_is_accepted_and_the_model_hears_of_it", "a_plan_is_edited_and_its_file_named"]),
    ("e, ← →:", &["the_rule_can_be_changed_before_it_is_saved"]),
    ("Shift+Tab: on changes", &["shift_tab_takes_the_whole_session_on_files_only"]),
    ("PgUp PgDn:", &["the_chosen_answer_is_seen_at_every_size_and_previews_scroll"]),
    ("In a small window", &["a_change_can_be_judged_and_refused_in_a_window_of_any_size", "a_small_window_keeps_what_is_asked_the_change_the_answer_and_the_way_out", "a_change_in_one_row_can_be_scrolled"]),
    ("A question or screen that would", &["a_tall_question_leaves_nothing_behind_in_a_window_that_becomes_small", "a_short_question_leaves_nothing_behind_in_a_window_that_becomes_small", "nothing_of_a_cover_stays_behind_whatever_size_the_window_gets"]),
    ("Keys typed for the prompt", &["keys_on_their_way_do_not_answer_a_question"]),
    ("The window's focus", &["the_focus_of_the_window_and_keys_of_the_next_question_answer_nothing"]),
    ("A long command or plan", &["a_long_command_is_printed_in_full_above_its_question"]),
    ("Questions queue", &["the_count_stands_at_the_right_edge_of_the_question", "an_agents_question_names_it_and_escape_denies_only_that_call"]),
    ("Questions of the model", &["several_questions_of_the_model_are_answered_in_tabs", "one_several_or_a_text_of_ones_own", "previews_are_shown_and_notes_go_along"]),
    ("The last choice sends", &["tabs_show_what_is_answered_and_a_last_look_what_is_missing", "a_single_question_with_several_answers_needs_no_last_look"]),
    ("With `askUserQuestionTimeout`", &["questions_that_nobody_answers_send_what_is_chosen", "who_is_away_sends_what_was_chosen"]),
    ("MCP servers ask", &["a_form_is_filled_in_and_checked_on_the_way", "a_form_is_declined_at_its_end_and_cancelled_anywhere", "an_address_is_shown_whole_and_opened_by_nobody_but_the_person"]),
    ("A plan is shown", &["a_refused_plan_stays_in_the_stream", "a_plan_is_shown_rendered_and_its_approval_sets_the_mode", "keeping_on_planning_asks_what_to_change", "a_plan_can_begin_a_new_conversation"]),
    ("Commands like `/model`", &["every_command_of_the_terminal_opens_its_screen", "a_rule_is_added_and_removed_while_a_turn_runs"]),
    ("The first row says", &["columns_stay_where_they_are_while_a_list_is_scrolled_and_raw_names_are_found", "memory_models_and_hooks_are_known_before_the_first_prompt"]),
    ("Typing searches", &["typing_narrows_and_escape_widens_before_it_cancels", "digits_choose_and_letters_are_left_to_the_owner"]),
    ("Alt+P opens", &["actions_at_rest_take_no_more_keys_than_they_did", "changed_bindings_count_at_once_and_mistakes_are_told"]),
    ("They fit any window", &["every_screen_fits_a_tiny_terminal_and_closes"]),
    ("`/config`:", &["settings_are_found_and_changed", "config"]),
    ("Enter switches it", &["a_setting_is_found_switched_and_placed"]),
    ("What a project shares", &["a_value_that_a_project_shares_is_overridden_for_one_person_only"]),
    ("The key that stands", &["columns_stay_where_they_are_while_a_list_is_scrolled_and_raw_names_are_found", "a_setting_is_found_switched_and_placed"]),
    ("`/model`:", &["a_model_is_kept_or_only_for_now", "the_model_is_picked_from_a_list", "model"]),
    ("`/tasks`:", &["background_work_is_stopped_from_its_list", "tasks"]),
    ("`/mcp`:", &["a_server_that_fails_is_announced_before_the_first_prompt"]),
    ("`/context`:", &["the_grid_has_a_hundred_squares", "context_figures_agree_wherever_they_are_shown"]),
    ("`/memory`:", &["memory_lists_every_file_and_the_free_places_without_a_prompt", "memory_models_and_hooks_are_known_before_the_first_prompt"]),
    ("`gimlet -c` goes on", &["a_conversation_that_goes_on_says_how_full_it_is_and_on_which_branch", "a_continued_conversation_is_shown_again", "a_text_that_names_no_single_conversation_opens_the_picker_with_it"]),
    ("`/resume [words]`", &["resume_switches_the_conversation_behind_the_interface"]),
    ("letters:", &["a_conversation_is_found_by_its_words_and_goes_on", "typing_narrows_at_once_and_hits_follow"]),
    ("↑ ↓ PgUp PgDn, Enter:", &["keys_choose_preview_rename_and_widen"]),
    ("Space (while", &["sessions_are_previewed_and_named"]),
    ("Ctrl+R: rename", &["sessions_are_previewed_and_named"]),
    ("Ctrl+A, Ctrl+W:", &["keys_choose_preview_rename_and_widen"]),
    ("Ctrl+B: only", &["keys_choose_preview_rename_and_widen"]),
    ("Esc: leave", &["sessions_are_previewed_and_named"]),
    ("Forks are listed", &["forks_stand_below_what_they_belong_to"]),
    ("Of a resumed conversation", &["only_the_end_of_a_long_conversation_is_printed_and_the_rest_is_a_key_away"]),
    ("One that is large", &["a_large_old_conversation_is_offered_as_a_summary"]),
    ("`/clear` begins", &["clear_empties_the_screen", "the_banner_names_model_effort_and_what_changed", "the_ending_of_a_file_names_the_format"]),
    ("[Sessions](sessions.md)", &["links_lead_to_files_and_headings"]),
    ("Esc Esc on an empty prompt, `/rewind`", &["the_list_says_what_each_turn_changed", "files_and_conversation_go_back_and_forward", "escape_twice_opens_the_list", "rewind"]),
    ("Enter offers to take", &["what_would_change_is_seen_before_the_choice", "a_part_is_summarised"]),
    ("`d` shows the difference", &["what_would_change_is_seen_before_the_choice", "work_of_others_stays_or_is_overwritten"]),
    ("Files that somebody else", &["work_of_others_is_asked_about", "work_of_others_stays_or_is_overwritten"]),
    ("The prompt comes back", &["pastes_and_pictures_return", "the_prompt_returns_and_what_happened_is_said", "files_and_conversation_go_back_and_forward"]),
    ("Branches that were left", &["branches_are_taken_up_from_the_list", "files_and_conversation_go_back_and_forward"]),
    ("After `/clear` a row", &["the_conversation_before_clear_is_in_the_list", "the_conversation_before_is_a_row_away"]),
    ("[Going back](rewind.md)", &["links_lead_to_files_and_headings"]),
    ("`/copy` puts", &["an_answer_is_copied_by_a_program_or_through_the_terminal", "the_terminal_wraps_where_the_settings_say_so_and_copies_are_never_wrapped"]),
    ("It uses `pbcopy`", &["the_way_follows_the_surroundings", "the_sequence_passes_through_tmux_and_screen"]),
    ("A line says which", &["an_answer_is_copied_by_a_program_or_through_the_terminal"]),
    ("With `statusLine`", &["the_status_line_is_told_how_the_session_stands"]),
    ("It reads a JSON object", &["the_status_line_is_told_how_the_session_stands", "the_status_line_learns_of_the_cache"]),
    ("`COLUMNS` and `LINES`", &["the_status_line_is_told_how_the_session_stands"]),
    ("Colours and links", &["colours_and_links_are_kept_and_nothing_else"]),
    ("It runs at the start", &["the_status_line_follows_modes_and_gives_way", "a_slow_status_line_is_cancelled_by_a_newer_one_and_refreshes_by_itself"]),
    ("A run that is overtaken", &["a_slow_status_line_is_cancelled_by_a_newer_one_and_refreshes_by_itself"]),
    ("It follows the switches", &["no_status_line_of_a_project_before_it_is_trusted_or_where_hooks_are_off", "the_status_line_follows_modes_and_gives_way"]),
    ("`subagentStatusLine`", &["a_command_writes_the_rows_of_agents", "the_command_is_asked_once_per_tick_and_never_at_rest"]),
    ("It reads `session_id`", &["a_command_writes_the_rows_of_agents"]),
    ("A row that it does not name", &["an_empty_answer_hides_a_row_and_other_answers_leave_it"]),
    ("After six seconds", &["a_question_nobody_answers_and_a_rest_call_the_person", "every_channel_has_its_sequence_and_auto_knows_three_terminals"]),
    ("Notification hooks", &["hooks_hear_of_a_rest_with_alerts_off_and_tmux_passes_them_through"]),
    ("tmux needs", &["tmux_passes_sequences_through"]),
    ("Terminals with a progress", &["progress_and_title_can_be_switched_off"]),
    ("`--ax-screen-reader`", &["a_screen_reader_hears_labels_and_no_glyphs", "the_environment_and_the_settings_switch_the_reader_on_too"]),
    ("`CLAUDE_AX_STARTUP_QUIET_MS`", &["a_screen_reader_hears_labels_and_no_glyphs"]),
    ("`CLAUDE_CODE_ACCESSIBILITY=1`", &["the_cursor_stands_at_the_choice_where_that_is_wanted"]),
    ("Everything can be told", &["themes_and_depths_change_colours_only", "daltonised_themes_tell_added_from_removed_without_red_and_green"]),
    ("The same session and", &["session_light", "session_no_color", "session_sixteen_colors", "session_ascii", "permission_narrow"]),
    ("`theme` (`auto`", &["themes_and_depths_change_colours_only", "custom_themes_override_their_base_and_ignore_what_they_cannot_read", "a_theme_that_follows_the_terminal_does_so_at_once"]),
    ("Both files count", &["changed_bindings_count_at_once_and_mistakes_are_told", "a_changed_theme_is_seen_at_once"]),
    ("Text has a contrast", &["every_text_can_be_read_on_every_background_it_stands_on"]),
    ("On the console of Linux", &["terminals_without_the_signs_get_letters", "session_ascii"]),
    ("`NO_COLOR`,", &["the_environment_decides_the_depth", "progress_and_title_can_be_switched_off"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The sentences of a page and the rows of its tables; headings, pictures and code are none.
fn promises(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in page.lines().chain([""]) {
        is_code ^= line.starts_with("```");
        let is_text =
            !is_code && !line.is_empty() && !["```", "#", "![", "|"].iter().any(|mark| line.starts_with(mark));
        if is_text {
            paragraph.push_str(line);
            paragraph.push(' ');
            continue;
        }
        found.extend(std::mem::take(&mut paragraph).split_inclusive(". ").map(|sentence| sentence.trim().to_owned()));
        if line.starts_with('|') && !is_code {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            found.extend((cells.len() == 2 && !cells[1].is_empty()).then(|| format!("{}: {}", cells[0], cells[1])));
        }
    }
    found.retain(|promise| !promise.is_empty());
    found
}

/// The names of all tests of the workspace.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                names.extend(tests_of(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    names
}

/// The functions with a test attribute, and those of the list of pictures.
fn tests_of(source: &str) -> Vec<String> {
    let name =
        |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned();
    let pictures =
        source.split_once("\npictures! {").and_then(|(_, rest)| rest.split_once("\n}")).map(|(list, _)| list);
    let pictures = pictures.into_iter().flat_map(str::lines).map(|line| name(line.trim()));
    let marked = source.split("test]\n").skip(1).filter_map(|rest| {
        let function = rest.lines().map(str::trim).find(|line| line.contains("fn "))?;
        function.split_once("fn ").map(|(_, rest)| name(rest))
    });
    marked.chain(pictures).filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_promise_of_the_page_has_a_test() {
    let page = std::fs::read_to_string(root().join("docs/terminal.md")).unwrap();
    let promises = promises(&page);
    assert!(promises.len() > 120, "{}", promises.len());
    for promise in &promises {
        let count = PROMISES.iter().filter(|(start, _)| promise.starts_with(start)).count();
        assert_eq!(
            count, 1,
            "name the tests of this promise of docs/terminal.md in PROMISES, or take it out: {promise}"
        );
    }
    let tests = tests();
    for (start, names) in PROMISES {
        assert!(
            promises.iter().any(|promise| promise.starts_with(start)),
            "docs/terminal.md does not promise: {start}"
        );
        for name in *names {
            assert!(tests.contains(*name), "{name}, which should prove \"{start}\", is no test");
        }
    }
}

#[test]
fn the_parts_of_a_page_are_found() {
    let page = "# Title\n\nOne `a.b` goes. Two\ngoes on.\n\n![picture](x.svg)\n\n| Keys | |\n|---|---|\n| Esc | back |\n\n- A row. Its\n  end.\n\n```\nno. thing\n```\n";
    assert_eq!(promises(page), ["One `a.b` goes.", "Two goes on.", "Esc: back", "- A row.", "Its   end."]);
    assert_eq!(
        tests_of("#[test]\n#[ignore]\nfn one() {}\nfn helper() {}\n#[tokio::test]\nasync fn two() {}\n"),
        ["one", "two"]
    );
}

fn start(sandbox: &Sandbox) -> TestTerminal {
    let terminal = sandbox.gimlet::<&str>(&[]).terminal(80, 24);
    terminal.wait_for(" · medium");
    terminal.wait_for("$0.00");
    terminal
}

fn has(terminal: &TestTerminal, sequence: &str) -> bool {
    terminal.bytes().windows(sequence.len()).any(|part| part == sequence.as_bytes())
}

#[test]
fn the_line_after_a_turn_can_be_left_out() {
    for is_shown in [true, false] {
        let server = ModelServer::script([ScriptedReply::text("Hello."), ScriptedReply::text("Hello again.")]);
        let sandbox = Sandbox::with_server(EXE, &server);
        sandbox.write_config("settings.json", json!({"showTurnDuration": is_shown}).to_string());
        let mut terminal = start(&sandbox);
        terminal.send("hi\r");
        terminal.wait_for("  Hello.");
        terminal.wait_gone("esc to interrupt");
        terminal.send("hi\r");
        let screen = terminal.wait_for("  Hello again.");
        assert_eq!(screen.contains("✻ "), is_shown, "{screen}");
    }
}

#[test]
fn hints_go_after_five_conversations() {
    for (count, is_shown) in [(4, true), (5, false)] {
        let sandbox = Sandbox::new(EXE);
        let entry = |n| {
            let id = format!("11111111-2222-4333-8444-55555555555{n}");
            json!({"display": "hi", "pastedContents": {}, "timestamp": 1, "project": "/p", "sessionId": id})
        };
        let lines: Vec<String> = (0..count).map(|n| format!("{}\n", entry(n))).collect();
        sandbox.write_config("history.jsonl", lines.concat());
        let screen = start(&sandbox).screen();
        assert_eq!([screen.contains("? for shortcuts"), screen.contains("/resume")], [is_shown; 2], "{screen}");
    }
}

#[test]
fn the_prompt_is_written_in_an_editor() {
    let server = ModelServer::script([ScriptedReply::text("Seen.")]);
    let mut sandbox = Sandbox::with_server(EXE, &server);
    let editor = sandbox.write("editor", "#!/bin/sh\necho ' and written' >> \"$1\"\n");
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.set("VISUAL", editor.as_os_str());
    sandbox.set("EDITOR", "false");
    let mut terminal = start(&sandbox);
    terminal.send("typed");
    terminal.wait_for("❯ typed");
    terminal.send("\x07");
    terminal.wait_for("and written");
    terminal.send("\r");
    terminal.wait_for("Seen.");
    let sent = server.request(0).last_user_text();
    assert!(sent.contains("typed") && sent.contains("and written"), "{sent}");
}

#[test]
fn a_long_command_is_printed_in_full_above_its_question() {
    let command = (0..60).map(|n| format!("mytool part-{n}-of-it\n")).collect::<Vec<_>>().concat();
    let server = ModelServer::script([ScriptedReply::tool("Bash", json!({"command": command}))]);
    let sandbox = Sandbox::with_server(EXE, &server);
    let mut terminal = start(&sandbox);
    terminal.send("go\r");
    terminal.wait_for("1. Yes");
    for n in 0..60 {
        assert!(has(&terminal, &format!("part-{n}-of-it")), "{n}");
    }
}

#[test]
fn progress_and_title_can_be_switched_off() {
    for is_on in [true, false] {
        let server = ModelServer::script([ScriptedReply::text("Hello.")]);
        let mut sandbox = Sandbox::with_server(EXE, &server);
        sandbox.set("TERM_PROGRAM", "ghostty");
        if !is_on {
            sandbox.set("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1");
        }
        sandbox.write_config("settings.json", json!({"terminalProgressBarEnabled": is_on}).to_string());
        let mut terminal = start(&sandbox);
        terminal.send("hi\r");
        terminal.wait_for("  Hello.");
        terminal.wait_gone("esc to interrupt");
        assert_eq!([has(&terminal, "\x1b]9;4;3"), has(&terminal, "\x1b]2;gimlet")], [is_on; 2]);
    }
}

#[test]
fn the_cursor_stands_at_the_choice_where_that_is_wanted() {
    for is_wanted in [true, false] {
        let mut sandbox = Sandbox::new(EXE);
        if is_wanted {
            sandbox.set("CLAUDE_CODE_ACCESSIBILITY", "1");
        }
        let mut terminal = start(&sandbox);
        terminal.send("/theme\r");
        let screen = terminal.wait_for("dark-ansi");
        let chosen = screen.lines().position(|row| row.trim_start().starts_with('❯')).unwrap();
        let is_there = || terminal.is_cursor_shown() && usize::from(terminal.cursor().0) == chosen;
        if is_wanted {
            testkit::wait_until("the cursor at the choice", is_there);
        } else {
            testkit::wait_until("no cursor", || !terminal.is_cursor_shown());
        }
    }
}
