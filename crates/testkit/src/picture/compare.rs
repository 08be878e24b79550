//! Compares two drawn pictures.

/// Says where two pictures differ first; `None` when they are the same.
pub fn first_difference(stored: &str, drawn: &str) -> Option<String> {
    if stored == drawn {
        return None;
    }
    let (before, now) = (rows(stored), rows(drawn));
    let numbers = before.iter().chain(&now).map(|(number, _)| *number);
    let of = |rows: &[(usize, &str)], number| {
        rows.iter().find(|(at, _)| *at == number).map_or("", |(_, row)| row).to_owned()
    };
    let differing = numbers.filter(|number| of(&before, *number) != of(&now, *number)).min();
    let Some(number) = differing else { return Some("the window around the rows differs".into()) };
    let (before, now) = (of(&before, number), of(&now, number));
    let (shown_before, shown_now) = (text(&before), text(&now));
    Some(if shown_before == shown_now {
        format!("row {number} looks different: {shown_now:?}\n  stored: {before}\n  drawn:  {now}")
    } else {
        format!("row {number} differs\n  stored: {shown_before:?}\n  drawn:  {shown_now:?}")
    })
}

/// The rows of a picture with their numbers.
fn rows(svg: &str) -> Vec<(usize, &str)> {
    svg.lines()
        .filter_map(|line| {
            let (number, rest) = line.strip_prefix("<g id=\"r")?.split_once('"')?;
            Some((number.parse().ok()?, rest))
        })
        .collect()
}

/// The text of a row, with a blank between its runs.
fn text(row: &str) -> String {
    let mut out = String::new();
    for part in row.split('<').skip(1) {
        if let Some((tag, text)) = part.split_once('>')
            && !text.is_empty()
        {
            if tag.starts_with("tspan") && !out.is_empty() {
                out.push(' ');
            }
            out.push_str(text);
        }
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}
