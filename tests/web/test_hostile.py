"""Files of strangers in the page: markup, sizes, mutated tables, forged learners. Nothing runs, hangs or leaves."""

import base64
import random
import time

import numpy as np
import pytest

import mutations
from mapdpm import OnlineMAPDPM
from tests.web.test_csv import read_in_page
from tests.web.test_page import GROUPS, fast, is_at_rest, open_csv, text_of

pytestmark = pytest.mark.complete

SECONDS = 20.0  # linear work takes .1 to 2 s
MARKUP = "<img src=x onerror='globalThis.ran = true'><script>globalThis.ran = true</script>"
N_LEARNERS, N_TABLES = 600, 400
REFUSED = """
async () => {
  const said = [];
  addEventListener("securitypolicyviolation", (event) => said.push(event.effectiveDirective));
  const run = (text) => {
    const script = document.createElement("script");
    script.textContent = text;
    document.body.append(script);
  };
  const tries = [
    () => eval("globalThis.ran = true"),
    () => Function("globalThis.ran = true")(),
    () => run("globalThis.ran = true"),
    () => { document.body.innerHTML = "<p onclick='1'>"; },
    () => new Worker("data:text/javascript,1"),
    () => fetch("https://example.org/"),
    () => new Promise((go, stop) => Object.assign(new WebSocket("wss://example.org/"), { onopen: go, onerror: stop })),
    () => new Promise((go, stop) => Object.assign(new Image(), { onload: go, onerror: stop }).src = "https://example.org/a.png"),
  ];
  const refused = [];
  await new Promise((go) => setTimeout(go));  // the browser lets the tester's own call use eval
  for (const each of tries) {
    try {
      await each();
      refused.push(false);
    } catch {
      refused.push(true);
    }
  }
  await new Promise((go) => setTimeout(go, 100));
  return { refused, said: [...new Set(said)], ran: globalThis.ran === true };
}
"""
LEARN = """
async ([files, points]) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const learner = await mapdpm.Learner.create();
  const x = new Float32Array(bytesOf(points).buffer);
  return files.map((text) => {
    try {
      const { features } = learner.load(bytesOf(text));
      for (let i = 0; i < 50; i++) {
        while (learner.isSettling && learner.settle(7));
        learner.learn(x.subarray(i * features, (i + 1) * features));
      }
      learner.clusters();
      return "learned " + learner.save().length;
    } catch (error) {
      return `${error.name}: ${error.message}`;
    }
  });
}
"""


def test_names_are_text_and_no_markup(page):
    name = f'"{MARKUP}"'
    open_csv(page, text_of(GROUPS[:150], f"{name},{name}"))
    fast(page)
    is_at_rest(page)
    assert page.locator("#columns bdi").first.inner_text() == MARKUP[:60] + "\u2026"
    assert page.locator("#axis-x option").first.inner_text() == MARKUP[:60] + "\u2026"
    page.locator("#csv").set_input_files(
        {
            "name": f"{MARKUP.replace('/', '')}.csv",
            "mimeType": "text/csv",
            "buffer": f"{name},b\n1,2\n1,{MARKUP}\n".encode(),
        }
    )
    page.locator("#message", has_text="is not a number").wait_for()
    assert page.locator("img, main script").count() == 0
    assert page.evaluate("globalThis.ran") is None


def test_the_policy_lets_nothing_run_or_leave(browser, address):
    """Each attempt of an attack once; without the policy each succeeds."""
    page = browser.new_context().new_page()
    page.goto(address)
    assert "'unsafe-" not in page.locator("meta[http-equiv]").get_attribute("content")
    found = page.evaluate(REFUSED)
    page.context.close()
    assert found["refused"] == [True] * 8
    assert found["ran"] is False
    assert set(found["said"]) >= {"require-trusted-types-for", "connect-src", "img-src"}


def test_files_that_are_too_large_are_not_read(page, tmp_path):
    for name, box, words in [
        ("a.csv", "#csv", "a.csv has 200 MB, and this page reads up to 50 MB"),
        ("a.mdpm", "#load", "The learner was not opened: a.mdpm has 200 MB, and this page reads up to 262,144 bytes."),
    ]:
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(200_000_000)
        page.get_by_label("CSV file", exact=True).check()
        page.evaluate("() => { Blob.prototype.arrayBuffer = () => { throw new Error('it was read'); }; }")
        page.locator(box).set_input_files(path)
        page.locator("#message", has_text=words).wait_for()


LARGE = {
    "one line": ("'1,'.repeat(20e6)", "x.csv: line 1 is longer than 4194304 characters"),
    "columns": ("'1,'.repeat(2e6) + '\\n'", "x.csv: line 1 has more than 131072 columns"),
    "wide rows": ("('1,'.repeat(130e3) + '2\\n').repeat(60)", None),
    "a long number": ("'a,b\\n' + '1'.repeat(131e3) + 'x,1\\n'", "x.csv: line 2, column 1 (a) is not a number: '111"),
    "spaces": ("'a,b\\n' + ('a,' + ' '.repeat(131e3) + '1 !\\n').repeat(9)", "x.csv: line 2, column 1 (a) is not a"),
    "quotes": ("'a,b\\n' + '\"\"\"'.repeat(2e6)", "x.csv: line 2 is longer than 4194304 characters"),
    "ends of lines": ("'a,b\\n1,2\\n' + '\\r'.repeat(10e6)", None),
    "a quoted cell of many lines": (
        "'a,b\\n\"' + '\\n'.repeat(4e6)",
        "x.csv: line 131074 is not CSV: field larger than",
    ),
    "numbers in every other column": (
        "'a,'.repeat(9999) + 'b\\n' + '1,x,'.repeat(4999) + '1,x\\n'",
        "x.csv: line 2, column 2 (a) is not a number: 'x'; the columns of numbers are 1,3,5,",
    ),
    "many rows": ("'a,b\\n' + '1,2\\n3,4\\n'.repeat(5e6)", "20000 rows; only the first 20,000 rows are used"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_files_are_read_or_refused_at_once(page, name):
    text, words = LARGE[name]
    started = time.perf_counter()
    found = page.evaluate(
        f"() => {{ const bytes = new TextEncoder().encode({text}); try {{"
        "const table = mapdpm.readTable(bytes, 'x.csv');"
        "const { points } = table.choose(table.columns.slice(0, 8).map(({ place }) => place));"
        "return points.length + ' rows; ' + table.notes.join('; '); } catch (error) { return error.message; } }"
    )
    assert time.perf_counter() - started < SECONDS
    assert len(found) < 400
    assert words is None or words in found


def test_mutated_tables_are_read_or_refused(page):
    """Tables with a few changes of bytes and words: a reader may refuse, in a sentence that names the file."""
    rng = random.Random(0)
    examples = [
        text_of(GROUPS[:40]).encode(),
        text_of(GROUPS[:9], "a;b").replace(",", ";").replace(".", ",").encode("utf-16"),
    ]
    files = {i: mutations.mutated_text(rng, rng.choice(examples), examples) for i in range(N_TABLES)}
    found = list(read_in_page(page, files).values())
    refused = [each["message"] for each in found if "message" in each]
    assert N_TABLES / 5 < len(refused) < N_TABLES
    assert all(message.startswith(("x.csv: line ", "x.csv is ", "x.csv has ", "x.csv holds ")) for message in refused)


def test_forged_learners_are_learned_or_refused(page):
    """Learners with a change and the right checksum: none makes the program fail, whatever it then learns."""
    rng, examples = random.Random(0), []
    x = GROUPS[np.random.default_rng(0).permutation(len(GROUPS))]
    for missing, warmup, n in [("error", 100, 300), ("skip", 100, 300), ("skip", 100, 60), ("error", 1000, 0)]:
        gaps = np.where(np.arange(2 * n).reshape(n, 2) % 7 == 0, np.nan, x[:n]) if missing == "skip" else x[:n]
        model = OnlineMAPDPM(8, warmup=warmup, dtype="float32", missing=missing, n_features=2, half_life=200)
        if n:
            model.learn_many(gaps)
        examples.append(model.to_bytes())
    files = [mutations.mutated_model(rng, rng.choice(examples), examples) for _ in range(N_LEARNERS)]
    coded = [base64.b64encode(data).decode() for data in [*examples, *files]]
    said = page.evaluate(LEARN, [coded, base64.b64encode(np.tile(x[:100], (1, 4)).astype("<f4").tobytes()).decode()])
    assert all(each.startswith("learned ") for each in said[: len(examples)])
    forged = said[len(examples) :]
    assert not [each for each in forged if not each.startswith(("learned ", "Error: "))]
    refused = [each for each in forged if each.startswith("Error: ")]
    assert N_LEARNERS / 5 < len(refused) < N_LEARNERS
