"""What a person does in the page: paint, play, change settings, open files, take the learner away."""

import re

import numpy as np
import pytest

from mapdpm import NormalGamma, OnlineMAPDPM, load
from tests.web.conftest import NARROW

pytestmark = pytest.mark.complete

GROUPS = np.random.default_rng(3).normal(size=(600, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 200, axis=0)


def text_of(rows, header="height,width"):
    return "\n".join([header, *(",".join(f"{value:.4f}" for value in row) for row in rows)]) + "\n"


def until(page, condition):
    """Wait for a condition of the page. Its policy forbids the function of playwright, which needs eval."""
    for _ in range(1000):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    pytest.fail(f"not within 20 s: {condition}")


def is_at_rest(page):
    """Wait until all points are learned and drawn."""
    page.locator("#status").filter(has_text=re.compile(r"^([\d,]+) of \1 points")).wait_for()
    until(page, "!mapdpm.page.isAwake")


def open_csv(page, text):
    page.get_by_label("CSV file", exact=True).check()
    page.locator("#csv").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": text.encode()})


def fast(page):
    page.get_by_label("Speed").fill("13")


def ids_of(page):
    history = "mapdpm.page.shown"
    return np.array(page.evaluate(f"Array.from({history}.id.subarray(0, {history}.learned))"))


def points_of(page):
    history = "mapdpm.page.shown"
    flat = page.evaluate(f"Array.from({history}.x.subarray(0, {history}.size * {history}.features))")
    return np.array(flat, dtype=np.float32).reshape(-1, page.evaluate(f"{history}.features"))


def saved(page, path):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save stream.mdpm").click()
    assert download.value.suggested_filename == "stream.mdpm"
    download.value.save_as(path)
    return load(path)


def test_all_of_it_by_keys(page, tmp_path):
    """Tab and keys only: paint two clusters, pause, step, play, set alpha, save."""

    def tab_to(name):
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == name:
                return
        pytest.fail(f"the key Tab does not reach {name}")

    tab_to("scatter")
    for _ in range(10):
        page.keyboard.press("Space")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowUp")
    for _ in range(10):
        page.keyboard.press("Space")
    is_at_rest(page)
    assert page.locator("#status").inner_text().startswith("240 of 240 points · 2 clusters")
    middles = [points_of(page)[part].mean(axis=0) for part in (slice(120), slice(120, 240))]
    assert np.allclose(middles[1] - middles[0], [3.0, 0.2], atol=0.3)

    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "play"
    page.keyboard.press("Enter")
    assert page.locator("#play").inner_text() == "Play"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # again
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")  # step
    page.locator("#status", has_text="1 of 240 points").wait_for()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")  # play
    is_at_rest(page)

    tab_to("alpha")
    page.keyboard.press("End")
    assert page.locator("#alpha-shown").inner_text() == "100"
    assert page.locator("#alpha").get_attribute("aria-valuetext") == "100"
    page.locator("#events", has_text="The new learner has learned 240 points again.").wait_for()
    tab_to("save")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    download.value.save_as(tmp_path / "stream.mdpm")
    assert load(tmp_path / "stream.mdpm").alpha == 100.0


def test_pointer_paints_where_it_is(page):
    box = page.locator("#scatter").bounding_box()
    at = (box["x"] + 0.25 * box["width"], box["y"] + 0.25 * box["height"])
    page.mouse.move(*at)
    page.mouse.down()
    page.wait_for_timeout(800)
    page.mouse.up()
    is_at_rest(page)
    x = points_of(page)
    assert len(x) > 20
    assert np.allclose(x.mean(axis=0), [2.5, 7.5], atol=0.4)


def test_new_settings_make_a_new_learner_of_the_same_points(page, tmp_path):
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    page.get_by_label("Half-life").fill("3")
    page.get_by_label("Slots").fill("2")
    page.locator("#events", has_text="learned 3000 points again").wait_for()
    is_at_rest(page)
    learner = saved(page, tmp_path / "stream.mdpm")
    prior = NormalGamma(np.float32([5.0, 5.0]), 0.05, 1.0, np.float32([0.4, 0.4]) ** 2)
    model = OnlineMAPDPM(4, likelihood=prior, half_life=200, dtype="float32")
    model.learn_many(points_of(page))
    assert (learner.ids.tolist(), learner.n_seen) == (model.ids.tolist(), 3000)
    assert learner.means.tobytes() == model.means.tobytes()


def test_the_snapshot_goes_on_in_python_and_comes_back(page, tmp_path):
    open_csv(page, text_of(GROUPS[:, :2]))
    fast(page)
    is_at_rest(page)
    learner = saved(page, tmp_path / "stream.mdpm")
    model = OnlineMAPDPM(8, warmup=100, dtype="float32")
    assert (ids_of(page)[100:] == model.learn_many(points_of(page))[100:]).all()
    more = np.random.default_rng(1).permutation(GROUPS)
    assert (learner.learn_many(more) == model.learn_many(more)).all()

    learner.save(tmp_path / "more.mdpm")
    page.locator("#load").set_input_files(tmp_path / "more.mdpm")
    page.locator("#events", has_text="The learner of a file goes on here.").wait_for()
    is_at_rest(page)
    assert (ids_of(page) == model.learn_many(points_of(page))).all()
    assert saved(page, tmp_path / "last.mdpm").n_seen == 3 * len(GROUPS)


def test_a_learner_of_painted_points_comes_back_without_them(page, tmp_path):
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    table = page.locator("#clusters").inner_text()
    saved(page, tmp_path / "stream.mdpm")
    page.get_by_role("button", name="Clear").click()
    page.locator("#status", has_text="No points yet.").wait_for()
    page.locator("#load").set_input_files(tmp_path / "stream.mdpm")
    page.locator("#events", has_text="The learner of a file goes on here.").wait_for()
    is_at_rest(page)
    assert page.locator("#clusters").inner_text() == table
    assert page.locator("#empty").is_hidden()
    page.locator("#scatter").focus()
    spot(page, 1)
    is_at_rest(page)
    assert saved(page, tmp_path / "more.mdpm").n_seen == 3012


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda path: path.write_bytes(b"no model"),
            "The learner was not opened: the file holds no learner of mapdpm.",
        ),
        (
            lambda path: path.write_bytes(OnlineMAPDPM(4, n_features=2, dtype="float32").to_bytes()[:60]),
            "The learner was not opened: the file is not whole",
        ),
        (lambda path: OnlineMAPDPM(4, n_features=2).save(path), "The learner was not opened: the file holds float64"),
        (
            lambda path: OnlineMAPDPM(4, n_features=3, dtype="float32").save(path),
            "The learner was not opened: it has 3 features, and the points here have 2. Choose a source with",
        ),
        (
            lambda path: OnlineMAPDPM(40, n_features=2, dtype="float32").save(path),
            "The learner was not opened: the learner is too large; this page takes 8 features, 32 slots",
        ),
    ],
    ids=["another file", "cut", "float64", "features", "slots"],
)
def test_a_learner_that_does_not_fit_is_refused(page, tmp_path, make, message):
    make(tmp_path / "a.mdpm")
    page.get_by_role("button", name="Show an example").click()
    fast(page)
    is_at_rest(page)
    before = ids_of(page)
    page.locator("#load").set_input_files(tmp_path / "a.mdpm")
    page.locator("#message", has_text=message).wait_for()
    is_at_rest(page)
    assert page.evaluate("mapdpm.page.shown.size") == len(before)
    assert (ids_of(page) == before).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv is empty; choose a file with one point a row"),
        ("a,b\nx,y\nz,u\n", "a.csv: line 2, column 1 (a) is not a number: 'x'; the file needs a column of numbers"),
        (
            "height,width\n1,2\n3,4 cm\n",
            "a.csv: line 3, column 2 (width) is not a number: '4 cm'; write the number alone, ",
        ),
    ],
)
def test_a_bad_csv_file_is_named_in_words(page, text, message):
    open_csv(page, text)
    page.locator("#message", has_text=message).wait_for()
    assert page.locator("#no-file").is_visible()
    assert page.locator("#status").inner_text() == "No points yet."


def boxes(page):
    """Each column of the file: the words of its box, whether it is ticked, and whether it can be."""
    labels = page.locator("#columns label").all()
    return [(each.inner_text().replace("\n", ": "), each.locator("input").is_checked()) for each in labels]


def test_columns_of_a_csv_file_are_chosen(page, tmp_path):
    """Times, row numbers, text and constants are no features by themselves; missing values are allowed."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)).round(3) + 9 * (np.arange(200) % 2)[:, None]
    cells = [["" if i % 10 == d else f"{x[i, d]:.3f}".replace(".", ",") for d in (0, 1)] for i in range(200)]
    cells[77] = ["NA", "-"]
    rows = [f"{i};2026-01-02 10:{i % 60:02};pump {i % 3};{a};{b};7" for i, (a, b) in enumerate(cells)]
    open_csv(page, "\r\n".join(["#station 5", "id;when;what;flow;heat;unit", *rows, ""]))
    fast(page)
    is_at_rest(page)
    assert page.locator("#csv-notes").inner_text() == (
        "a.csv; cells separated by ';'; decimals by commas; line 1 left out, as no row of the table; "
        "1 row without any value left out, the first is row 78 of the data; "
        "40 rows with missing values learned from the values that are there"
    )
    assert boxes(page) == [
        ("id: a row number or a time?", False),
        ("when: dates or times", False),
        ("what: text", False),
        ("flow: 21 missing", True),
        ("heat: 21 missing", True),
        ("unit: constant: 7", False),
    ]
    points = np.float32([[np.nan if c in ("", "NA", "-") else c.replace(",", ".") for c in row] for row in cells])
    points = points[~np.isnan(points).all(axis=1)]
    assert np.array_equal(points_of(page), points, equal_nan=True)
    model = OnlineMAPDPM(8, warmup=100, dtype="float32", missing="skip")
    labels = model.learn_many(points)
    assert (ids_of(page)[100:] == labels[100:]).all()
    learner = saved(page, tmp_path / "stream.mdpm")
    assert (learner.missing, learner.n_seen, learner.means.tobytes()) == ("skip", 199, model.means.tobytes())

    page.get_by_label("heat").uncheck()
    page.get_by_label("unit").check()
    is_at_rest(page)
    assert page.evaluate("mapdpm.page.shown.columns") == ["flow", "unit"]
    assert page.locator("#axis-x option").all_inner_texts() == ["flow", "unit"]
    assert page.get_by_role("checkbox", name="what text").is_disabled()
    page.get_by_label("flow").uncheck()
    page.get_by_label("unit").uncheck()
    assert page.locator("#message").inner_text() == "No column is chosen; tick one or more"


def test_what_a_csv_file_may_hold(page):
    columns = [f"c{i}" for i in range(9)]
    rows = [f'"{i}, quoted";' + ";".join(f"{(i * 7 + j) % 13}.5" for j in range(9)) for i in range(30)]
    open_csv(page, "\ufeff" + "\r\n".join([";".join(["name", *columns]), *rows, ""]))
    is_at_rest(page)
    assert page.locator("#csv-notes").inner_text() == "a.csv; cells separated by ';'"
    assert page.locator("#axis-x option").all_inner_texts() == columns[:8]
    assert points_of(page)[1].tolist() == [7.5, 8.5, 9.5, 10.5, 11.5, 12.5, 0.5, 1.5]
    assert page.get_by_label("c8").is_disabled()  # eight are the most
    page.get_by_label("c0").uncheck()
    page.get_by_label("c8").check()
    assert page.evaluate("mapdpm.page.shown.columns") == columns[1:]


def test_a_point_that_cannot_be_learned_is_named(page):
    open_csv(page, text_of(GROUPS[:150]) + "1e30,0\n" + text_of(GROUPS[150:300], "").lstrip())
    fast(page)
    is_at_rest(page)
    assert page.locator("#message").inner_text() == "Point 151 was not learned: range."
    assert page.evaluate("mapdpm.page.player.learner.seen") == 300


def test_the_recording_plays_in_real_time(page):
    page.get_by_label("Smart watch").check()
    assert page.locator("#speed-shown").inner_text() == "10 points a second, as recorded"
    page.wait_for_timeout(2500)
    n = page.evaluate("mapdpm.page.shown.learned")
    assert 10 <= n <= 30
    page.get_by_label("Up", exact=True).select_option("accel_z")
    assert page.evaluate("mapdpm.page.scatter.axes") == [0, 2]


def test_old_points_make_room(page):
    """20,000 points are kept; the oldest quarter goes."""
    page.get_by_role("button", name="Pause").click()
    page.evaluate("for (let i = 0; i < 20001; i++) mapdpm.page.paint(i / 20001, 0.5)")
    assert page.evaluate("mapdpm.page.shown.size") == 15_001
    fast(page)
    page.get_by_role("button", name="Play").click()
    is_at_rest(page)
    assert points_of(page)[0, 0] == pytest.approx(10 * 5000 / 20001)


def test_calm_colours_of_both_kinds_and_no_scrolling_aside(open_page):
    light, dark = (open_page(viewport=NARROW, color_scheme=scheme) for scheme in ("light", "dark"))
    shades = [page.evaluate("getComputedStyle(document.body).backgroundColor") for page in (light, dark)]
    assert len(set(shades)) == 2
    for source in ("Paint", "CSV file", "Smart watch"):
        light.get_by_label(source, exact=True).check()
        assert light.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert light.evaluate("mapdpm.page.scatter.isCalm.matches") is False
    light.emulate_media(reduced_motion="reduce", color_scheme="dark")
    assert light.evaluate("mapdpm.page.scatter.isCalm.matches") is True
    assert light.evaluate("getComputedStyle(document.body).backgroundColor") == shades[1]
    until(light, f"mapdpm.page.colours.paper === '{dark.evaluate('mapdpm.page.colours.paper')}'")


def spot(page, times):
    for _ in range(times):
        page.keyboard.press("Space")


def go(page, key, times):
    for _ in range(times):
        page.keyboard.press(key)


def test_points_between_two_clusters_merge_them(page):
    """The first experiment of docs/play.md."""
    page.locator("#scatter").focus()
    spot(page, 10)
    go(page, "ArrowRight", 10)
    spot(page, 10)
    is_at_rest(page)
    assert page.locator("#clusters tr").count() == 2
    for _ in range(3):
        for key in ("ArrowLeft", "ArrowRight"):
            for _ in range(10):
                go(page, key, 1)
                spot(page, 2)
    is_at_rest(page)
    assert page.locator("#clusters tr").count() == 1
    merged = re.findall(r"Cluster (\d) joins cluster \d\.", page.locator("#events").inner_text())
    assert merged
    assert not {int(number) for number in merged} & set(ids_of(page).tolist())


def test_a_spot_that_ended_is_forgotten(page):
    """The second experiment."""
    page.get_by_label("Half-life").fill("1")
    page.locator("#scatter").focus()
    spot(page, 10)
    go(page, "Shift+ArrowRight", 4)
    spot(page, 60)
    is_at_rest(page)
    assert page.locator("#clusters tr").count() == 1
    assert page.locator("#events li", has_text="Cluster 0 is forgotten.").count() == 1


def test_the_recording_rings_alarms(page):
    """The third experiment."""
    page.get_by_label("Smart watch").check()
    fast(page)
    is_at_rest(page)
    assert page.locator("#events li", has_text="Alarm: surprise 0.0000").count() > 0


def test_a_finger_scrolls_where_it_does_not_paint(page):
    touch = "getComputedStyle(document.getElementById('scatter')).touchAction"
    assert page.evaluate(touch) == "none"
    page.get_by_label("Smart watch").check()
    assert page.evaluate(touch) == "auto"
