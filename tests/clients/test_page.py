"""The page of `gimlet sessions export --format html`, opened in the system's Chromium without a network."""

import os
import shutil

import pytest
from model_server import reply, text, tool

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
KEY = "sk-ant-api03-" + "aB3dE6gH9" * 4

ANSWER = """Here is **the plan**:

```rust
fn main() {
    let total = 42; // the answer
}
```

| a | b |
|---|---|
| 1 | 2 |

<script>document.title = "taken over"</script><img src="http://127.0.0.1:1/x.png">
"""


@pytest.fixture(scope="module")
def chromium():
    if PROGRAM is None:
        print("NOT RUN: there is no Chromium; apt-get install chromium")
        pytest.skip("NOT RUN: there is no Chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        arguments = ["--disable-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = p.chromium.launch(executable_path=PROGRAM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page_file(box, model):
    (box.project / "shop.py").write_text("def total():\n    return 1\n")
    edit = {"file_path": str(box.project / "shop.py"), "old_string": "return 1", "new_string": "return 42"}
    model.push(
        reply(text("I read it first."), tool("Read", {"file_path": str(box.project / "shop.py")}, "toolu_r")),
        reply(tool("Edit", edit, "toolu_e")),
        reply(tool("Bash", {"command": f"echo '{KEY}' # project Nightingale"}, "toolu_b")),
        reply(text(ANSWER)),
    )
    done = box.ask(f"Change <b>shop.py</b>, the key is {KEY}", "--permission-mode", "acceptEdits", "--allowedTools", "Bash(echo:*)")
    exported = box.feed("", "sessions", "export", done.session, "--format", "html", "--redact", "Night[a-z]+", "page.html")
    assert exported.code == 0, exported.err
    return box.project / "page.html"


def opened(chromium, page_file, **options):
    """The page in a fresh context without a network, and everything it asked for or complained about."""
    context = chromium.new_context(offline=True, **options)
    page = context.new_page()
    seen = {"requests": [], "problems": []}
    page.on("request", lambda request: seen["requests"].append(request.url))
    page.on("console", lambda message: seen["problems"].append(message.text))
    page.on("pageerror", lambda error: seen["problems"].append(str(error)))
    page.goto(page_file.as_uri())
    return page, seen


# [LNG-40]
def test_the_page_needs_nothing_else(chromium, page_file):
    page, seen = opened(chromium, page_file)
    assert seen["requests"] == [page_file.as_uri()] and seen["problems"] == []
    assert page.locator("script, img, link, iframe").count() == 0
    assert "shop.py" in page.title() and "taken over" != page.title()
    assert "Change <b>shop.py</b>" in page.locator(".user").first.inner_text()
    assert "<script>document.title" in page.locator("main").inner_text()


# [LNG-40]
def test_calls_are_folded_and_show_their_changes(chromium, page_file):
    page, _ = opened(chromium, page_file)
    call = page.locator("details.call", has_text="Edit")
    body = call.locator("pre")
    assert not body.is_visible()
    call.locator("summary").click()
    assert body.is_visible()
    assert "return 1" in body.locator(".del").inner_text() and "return 42" in body.locator(".add").inner_text()
    colour = "element => getComputedStyle(element).color"
    assert body.locator(".add").evaluate(colour) != body.locator(".del").evaluate(colour)
    assert call.locator("summary .add").inner_text() == "+1"
    result = page.locator("details.result").first
    result.locator("summary").click()
    assert "def total" in result.locator("pre").inner_text()


# [LNG-40]
def test_code_is_highlighted_and_secrets_are_masked(chromium, page_file):
    page, _ = opened(chromium, page_file)
    code = page.locator(".answer pre code")
    keyword, comment = code.locator(".k", has_text="let"), code.locator(".c")
    colour = "element => getComputedStyle(element).color"
    assert len({keyword.evaluate(colour), comment.evaluate(colour), code.evaluate(colour)}) == 3
    assert page.locator(".answer table td").all_inner_texts() == ["1", "2"]
    raw = page_file.read_text()
    assert KEY not in raw and "Nightingale" not in raw and "[redacted]" in raw


# [LNG-40]
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_in_light_and_dark(chromium, page_file, scheme):
    page, _ = opened(chromium, page_file, viewport={"width": 360, "height": 740}, color_scheme=scheme, is_mobile=True)
    for summary in page.locator("summary").all():
        summary.click()
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"the page scrolls sideways by {wide} pixels"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    level = sum(int(part) for part in background.strip("rgb()").split(","))
    assert (level < 200) == (scheme == "dark"), background
