"""What a report says, and that its page is whole, escaped and closed to the network; test_report_browser looks at it."""

import builtins
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import geolap
from geolap.datasets import make_sphere, make_swiss_roll
from geolap.display.report import content as content_module
from geolap.display.report import selection_page, write_report
from geolap.display.report.content import content_of
from geolap.display.report.maps import MapView
from geolap.display.report.page import page_of
from geolap.files import FileError

HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "@curve", "%{x}<b>&amp;", "]]><!--"]


@pytest.fixture(scope="module")
def points():
    return make_swiss_roll(250, random_state=0).data


@pytest.fixture(scope="module")
def content(points):
    labels = np.resize(np.array(HOSTILE, dtype=object), len(points))
    labels[::7] = None
    return content_of(points, labels=labels, name=HOSTILE[0], random_state=0)


@pytest.fixture(scope="module")
def page(content):
    return page_of(content, version="1")


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text inside scripts."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script" and data.strip():
            self.scripts.append(data)


def figures_in(page):
    return json.loads(re.search(r'id="figures">(.*?)</script>', page, re.S).group(1))


def test_the_answer_comes_first(page, content):
    assert page.index("<h1>") < page.index("<h2>")
    assert f"ε = {content.selection.bandwidth:.4g}" in page[page.index("<h1>") : page.index("</h1>")]


def test_hostile_names_add_no_element(page):
    elements = Elements(page).elements
    assert [tag for tag, _ in elements].count("script") == 3  # figures, plotly, the page's own
    assert not any(tag == "img" for tag, _ in elements)
    assert not any(name.startswith("on") for _, attributes in elements for name in attributes)


def test_hostile_labels_reach_plotly_escaped(page):
    assert "<script" not in json.dumps(figures_in(page))
    words = json.dumps(figures_in(page)["map1"])
    assert "&lt;img src=x onerror=alert(2)&gt;" in words


def test_nothing_is_loaded_from_elsewhere(page):
    for tag, attributes in Elements(page).elements:
        assert tag not in ("iframe", "object", "embed", "base")
        for name in ("src", "href", "action"):
            assert attributes.get(name, "data:,").startswith("data:")
    assert "default-src 'none'" in page
    assert "unsafe-eval" not in page


def test_all_figures_are_valid_for_plotly(page):
    import plotly.graph_objects as go

    figures = figures_in(page)
    assert set(figures) == {"curve", "health", "dimensions", "map0", "map1", "map2"}
    for figure in figures.values():
        plain = json.loads(re.sub(r'"@\w+"(?=[,}\]])', '"#123456"', json.dumps(figure)))
        assert go.Figure(plain).data


def test_a_page_is_no_larger_than_plotly_and_two_megabytes(page):
    packed = max(map(len, Elements(page).scripts))
    assert len(page.encode()) - packed < 2e6
    assert len(page.encode()) < 3e6


@pytest.mark.slow
def test_a_surface_is_asked_in_two_directions():
    X = make_swiss_roll(1200, noise=0.05, random_state=0).data
    comparison = geolap.compare_bandwidths(X, ["median"], random_state=0)
    content = content_of(X, comparison=comparison, random_state=0)
    assert content.vote[0] == content.selection.details["working_dim"] == 2
    assert ("dimension at ε̂", "2") in content.facts
    assert [rival.method for rival in content.rivals] == ["median"]


@pytest.mark.slow
def test_the_code_to_copy_runs(content, points, capsys):
    for snippet in content.snippets:
        exec(snippet.code, {"X": points})
    assert "gc" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("status", list(geolap.Status))
def test_every_status_has_an_answer_and_code_that_runs(points, status, capsys):
    selection = replace(geolap.select_bandwidth(points, random_state=0), status=status)
    page = selection_page(selection, name="<these>")
    assert str(status)[:20] in page
    assert "&lt;these&gt;" in page
    code = re.findall(r'<code id="code\d">(.*?)</code>', page, re.S)[-1]
    exec(code.replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">"), {"X": points})


def test_a_page_from_the_selection_alone_needs_no_points(points):
    selection = geolap.select_bandwidth(points, random_state=0)
    assert set(figures_in(selection.to_html())) == {"curve", "health"}
    assert set(figures_in(selection_page(geolap.select_bandwidth(points, "median")))) == {"curve"}


def test_the_same_seed_writes_the_same_file(points, tmp_path):
    comparison = geolap.compare_bandwidths(points, ["median"], random_state=0)
    pages = [
        write_report(tmp_path / name, points, comparison=comparison, random_state=3).read_bytes() for name in ("a", "b")
    ]
    assert pages[0] == pages[1]


def test_a_file_is_whole_or_not_there(points, tmp_path, monkeypatch):
    comparison = geolap.compare_bandwidths(points, ["median"], random_state=0)
    path = write_report(tmp_path / "report.html", points, comparison=comparison, name="first")
    before = path.read_bytes()
    assert before.rstrip().endswith(b"</html>")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match=r"must be written whole; that failed .no space left."):
        write_report(path, points, comparison=comparison, name="second")
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_mistakes_are_told_in_sentences(points, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder that exists; .*nowhere' does not: create it"):
        write_report(tmp_path / "nowhere" / "report.html", points)
    with pytest.raises(IsADirectoryError, match=r"must be a file; .* is a folder: add a name"):
        write_report(tmp_path, points)
    with pytest.raises(ValueError, match=r"one label for each of the 250 points; shape \(3,\) was given"):
        write_report(tmp_path / "report.html", points, labels=[1, 2, 3])


def test_a_rival_that_fails_leaves_its_reason(tmp_path):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), [60, 1, 1, 1], axis=0)  # most distances are 0
    content = content_of(X, random_state=0)
    failed = {rival.method: rival.remark for rival in content.rivals if rival.bandwidth is None}
    assert "more than half of the distances are 0" in failed["median"]
    assert "more than half of the distances are 0" in page_of(content, version="1")


def test_a_graph_that_falls_apart_is_drawn_by_its_largest_part():
    X = make_sphere(150, random_state=0).data
    content = content_of(np.vstack([X, X[:30] + 100.0]), random_state=0)
    for view in content.maps:
        assert view.components > 1
        assert view.rows.max() < 150
        assert "components; the largest is drawn" in view.remark
        assert np.isfinite(view.places).all()


def test_coordinates_of_outliers_are_a_field_and_lead_to_advice():
    X = make_sphere(300, random_state=0).data
    content = content_of(np.vstack([X, 2.5 * X[:3]]), random_state=0)
    assert content.maps[1].pulled
    assert any("local_scale" in snippet.code for snippet in content.snippets)
    assert not any(view.pulled for view in content_of(X, random_state=0).maps)


def test_two_points_more_than_needed_make_a_report(tmp_path):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    assert write_report(tmp_path / "small.html", X, random_state=0).stat().st_size > 0


@pytest.mark.parametrize(
    ("labels", "categories"),
    [
        ([3, 1, 2] * 4, ("1", "2", "3")),
        ([10.0, 9.0, np.nan] * 4, ("9", "10", "no label")),
        (["b", None, "a"] * 4, ("a", "b", "no label")),
        ([True, False, True] * 4, ("False", "True")),
        (np.arange(12) / 7, ()),
        ([0.5, np.inf, -np.inf] * 4, ()),
        ([np.nan] * 12, ("no label",)),
    ],
)
def test_labels_may_be_words_numbers_or_missing(labels, categories):
    X = make_sphere(12, random_state=0).data
    given = np.array(labels, dtype=object) if None in list(labels) else labels
    coloring = content_of(X, labels=given, random_state=0).coloring
    assert coloring.categories == categories
    assert (coloring.values is None) == bool(categories)


def test_rare_labels_beyond_twenty_are_drawn_as_one():
    X = make_sphere(60, random_state=0).data
    labels = [f"class {k % 30}" for k in range(60)]
    coloring = content_of(X, labels=labels, random_state=0).coloring
    assert len(coloring.categories) == 21
    assert coloring.categories[-1] == "other"


@pytest.mark.slow
def test_maps_of_many_points_are_carried_by_landmarks(monkeypatch, points):
    monkeypatch.setattr("geolap.display.report.maps._LANDMARKS", 100)
    content = content_of(points, random_state=0)
    assert [len(view.rows) for view in content.maps] == [100, 100, 100]
    assert "100 of the 250 points carry the maps" in content.remarks["maps"]
    monkeypatch.setattr("geolap.display.report.maps._MOST_SECONDS", 0.0)
    content = content_of(points, random_state=0)
    assert content.maps == ()
    assert "were left out" in page_of(content, version="1")


def test_column_names_are_shown_and_escaped(points):
    import pandas as pd

    frame = pd.DataFrame(points, columns=[HOSTILE[0], "height", "<i>"])
    page = page_of(content_of(frame, random_state=0), version="1")
    assert "height, &lt;i&gt;" in page
    assert "<i>" not in page


def test_missing_plotly_is_named_with_its_extra(points, monkeypatch):
    from geolap.display.report import page as module

    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    module._plotly.cache_clear()
    with pytest.raises(ImportError, match=r"A report needs plotly, .* pip install 'geolap\[report\]'"):
        geolap.select_bandwidth(points, "median").to_html()


def test_slow_rules_are_not_asked_of_many_points(monkeypatch, points):
    monkeypatch.setitem(content_module._RIVALS, "semigroup", 100)
    content = content_of(points, random_state=0)
    assert "semigroup" not in [rival.method for rival in content.rivals]
    assert "they would take long with 250 points: semigroup." in content.remarks["rivals"]


def test_the_bandwidth_is_the_one_that_the_selector_finds(points):
    assert (
        content_of(points, random_state=5).selection.bandwidth == geolap.select_bandwidth(points, random_state=5).bandwidth
    )


def test_labels_from_pandas_may_be_missing_too():
    import pandas as pd

    X = make_sphere(12, random_state=0).data
    labels = pd.Series(["a", pd.NA, "b"] * 4, dtype="string")
    assert content_of(X, labels=labels, random_state=0).coloring.categories == ("a", "b", "no label")


def test_a_map_that_failed_leaves_its_reason(content):
    failed = MapView(1.0, 1.0, remark="Eigenvectors must <satisfy> their equation.")
    page = page_of(replace(content, maps=(failed, *content.maps[1:])), version="1")
    assert "Eigenvectors must &lt;satisfy&gt; their equation." in page
    assert "map0" not in figures_in(page)
    assert "map1" in figures_in(page)
