"""What a report says, and that its page is whole, escaped and closed to the network; test_report_browser looks at it."""

import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import geolap
from geolap.data.points import Points
from geolap.datasets import make_sphere, make_swiss_roll
from geolap.display.coloring import label_coloring
from geolap.display.report import content as content_module
from geolap.display.report import selection_page, write_report
from geolap.display.report.clusters import clusters_of
from geolap.display.report.content import Rival, content_of, content_of_selection
from geolap.display.report.figures import category_style, map_figure, selection_figure
from geolap.display.report.maps import MapView, _clipped, map_views, panel
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
    assert set(figures) == {"curve", "health", "dimensions", "map0", "map1", "map2", "clusters0", "coordinates0"}
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
    assert content.vote == content.selection.details["working_dim"] == 2
    assert ("dimension at ε̂", "2") in content.facts
    assert [rival.method for rival in content.rivals] == ["median"]


@pytest.mark.slow
def test_a_report_says_what_to_conclude_from_the_other_rules(content):
    rivals = tuple(
        Rival(name, factor * content.selection.bandwidth) for name, factor in (("one", 1.1), ("two", 0.5), ("three", 3.0))
    )
    told = replace(content, rivals=rivals).agreement
    assert told.startswith("Within a factor of 1.25 of ε̂: one. Smaller: two;")
    assert "Larger: three;" in told
    assert told.endswith("see the graph below.")
    assert replace(content, rivals=()).agreement is None


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


def test_code_asks_more_points_only_where_there_are_more(points):
    flat = replace(geolap.select_bandwidth(points, random_state=0), status=geolap.Status.FLAT, details={"everyone": True})
    assert "n_sample" not in selection_page(flat)
    assert "n_sample=1000" in selection_page(replace(flat, details={"everyone": False}))


def test_the_curve_has_a_band_of_the_points_that_were_asked_at_each_bandwidth(points):
    selection = geolap.select_bandwidth(points, n_sample=40, random_state=0)
    everywhere = selection.details["per_point"]
    somewhere = everywhere.copy()
    somewhere[10:, ::2] = np.nan  # where no minimum competes
    for asked in (everywhere, somewhere):
        shown = replace(selection, details=selection.details | {"per_point": asked})
        band, curve, *_ = selection_figure(content_of_selection(shown))["data"]
        error = np.nanstd(asked, axis=0) / np.sqrt((~np.isnan(asked)).sum(axis=0) - 1.0)
        np.testing.assert_allclose(np.array(band["y"][: len(error)]) - curve["y"], error, atol=2e-4)


def test_a_page_from_the_selection_alone_needs_no_points(points):
    selection = geolap.select_bandwidth(points, random_state=0)
    assert set(figures_in(selection.to_html())) == {"curve", "health"}
    assert set(figures_in(selection_page(geolap.select_bandwidth(points, "median")))) == {"curve"}


@pytest.mark.slow
def test_the_same_seed_writes_the_same_file(points, tmp_path):
    points = points[:80]
    comparison = geolap.compare_bandwidths(points, ["median"], random_state=0)
    pages = [
        write_report(tmp_path / name, points, comparison=comparison, random_state=3).read_bytes() for name in ("a", "b")
    ]
    assert pages[0] == pages[1]


@pytest.mark.slow
def test_a_file_is_whole_or_not_there(points, tmp_path, monkeypatch):
    points = points[:80]
    comparison = geolap.compare_bandwidths(points, ["median"], random_state=0)
    path = write_report(tmp_path / "report.html", points, comparison=comparison, name="first")
    before = path.read_bytes()
    assert before.rstrip().endswith(b"</html>")

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(FileError, match=r"must be written completely; that failed .no space left."):
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
    X = np.vstack([make_sphere(150, random_state=0).data, make_sphere(30, random_state=0).data + 100.0])
    for view in map_views(Points.of(X), geolap.select_bandwidth(X, random_state=0), 0).views:
        assert view.components > 1
        assert view.rows.max() < 150
        assert "components; the largest is drawn" in view.remark
        assert np.isfinite(view.places).all()


@pytest.mark.slow
def test_coordinates_of_outliers_are_a_field_and_lead_to_advice():
    X = make_sphere(300, random_state=0).data
    content = content_of(np.vstack([X, 2.5 * X[:3]]), random_state=0)
    assert content.maps.views[1].pulled
    assert "single out a few points" in content.remarks["outliers"]
    assert any("equal weights" in snippet.code for snippet in content.snippets)


def test_two_points_more_than_needed_make_a_report(tmp_path):
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    assert write_report(tmp_path / "small.html", X, random_state=0).stat().st_size > 0


def test_a_page_says_of_few_points_what_the_selection_says():
    guess, small = (
        geolap.select_bandwidth(X, random_state=0)
        for X in ([[1, 2], [3, 4], [5, 7]], np.random.default_rng(5).normal(size=(12, 3)))
    )
    best = "There the geometry implied by the graph agrees best"
    assert "is no more than a guess" in selection_page(guess)
    assert best not in selection_page(guess)
    assert "With so few points no graph shows more." in small.verdict_text
    assert "with so few points no graph shows more." in selection_page(small)
    assert "maps and clusters use nearest neighbors" not in selection_page(small)
    assert best in selection_page(small)


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


@pytest.fixture(scope="module")
def wine():
    data = load_wine()
    return StandardScaler().fit_transform(data.data), data.target


@pytest.fixture(scope="module")
def wine_report(wine):
    return content_of(wine[0], random_state=0)


@pytest.mark.slow
def test_maps_are_those_of_the_default_graph(wine, wine_report):
    X, content = wine[0], wine_report
    assert not content.selection.even
    seed = int(np.random.RandomState(0).randint(2**31))
    default = geolap.LaplacianEigenmap(n_components=2, random_state=seed).fit(X)
    assert default.n_neighbors_ == 10
    middle = content.maps.views[1]
    assert [view.bandwidth / default.bandwidth_ for view in content.maps.views] == pytest.approx([0.5, 1.0, 2.0])
    places = middle.places - middle.places.mean(axis=0)
    np.testing.assert_allclose(places, default.embedding_ - default.embedding_.mean(axis=0), atol=1e-6)
    assert "10 nearest neighbors, with local scales by the 7th: over all pairs, neighborhoods" in content.maps.graph
    assert content.coloring.title.startswith("distance to the 7th neighbor")
    codes = {snippet.title: snippet.code for snippet in content.snippets}
    assert "geolap.LaplacianEigenmap(n_components=2).fit(X)" in codes["Map the data"]


def test_the_map_of_the_paper_stands_beside_that_of_another_default_graph(wine, wine_report):
    paper, bandwidth = wine_report.maps.paper, wine_report.selection.bandwidth
    model = geolap.LaplacianEigenmap(20, bandwidth, n_neighbors=None, disconnected="separate").fit(wine[0])
    assert paper.bandwidth == bandwidth
    assert paper.components == model.n_graph_components_
    page = page_of(wine_report, version="1")
    order = [page.index(words) for words in ("The default graph, ε̂ =", "The paper’s graph, ε̂ =", "ε̂/2 =", "2ε̂ =")]
    assert order == sorted(order)


@pytest.mark.slow
def test_clusters_are_those_that_the_estimator_finds(wine, wine_report):
    found, estimator = wine_report.clusters, geolap.LaplacianClustering(random_state=0)
    np.testing.assert_array_equal(found.found.labels_, estimator.fit_predict(wine[0]))
    page = page_of(wine_report, version="1")
    assert f"<p>{estimator.n_clusters_} clusters. {estimator.status_}" in page
    assert f"0 ({np.bincount(found.found.labels_)[0]})" in page
    assert "The graph joins each point with its 10 nearest neighbors, with local scales, and is connected." in page
    given = clusters_of(Points.of(wine[0]), wine_report.maps, 0, geolap.LaplacianClustering(5, random_state=0).fit(wine[0]))
    assert "<p>5 clusters. The number of clusters was given." in page_of(replace(wine_report, clusters=given), version="1")


@pytest.mark.slow
def test_clusters_of_a_graph_that_falls_apart_are_drawn_on_principal_axes():
    X = make_sphere(60, random_state=0).data
    content = content_of(np.vstack([X, X + 50.0]), random_state=0)
    assert content.clusters.graph.endswith("and has 2 components.")
    assert not content.clusters.on_the_map
    assert len(content.clusters.view.rows) == 120
    assert content.clusters.graph in page_of(content, version="1")


def test_chosen_coordinates_are_told_with_their_reasons(wine_report):
    page = page_of(wine_report, version="1")
    for reason in wine_report.maps.independence.reasons:
        assert f"<li>{reason}</li>" in page
    figure = figures_in(page)["coordinates0"]
    assert len(figure["layout"]["shapes"]) == len(wine_report.maps.independence.chosen)


def test_what_takes_long_is_left_out_with_a_sentence(monkeypatch, points):
    for module in ("content", "maps"):
        monkeypatch.setattr(f"geolap.display.report.{module}.MOST_OF_NEIGHBORS", 100)
    content = content_of(points[:101], random_state=0)
    assert content.clusters is None
    assert "Clusters were not computed, because that is slow with 101 points" in page_of(content, version="1")


@pytest.mark.slow
def test_maps_join_all_pairs_where_one_bandwidth_suits_them():
    X = make_sphere(300, random_state=0).data
    content = content_of(X, random_state=0)
    assert content.selection.even
    assert not any(view.pulled for view in content.maps.views)
    assert content.maps.paper is None  # it is the same graph
    assert [view.bandwidth / content.selection.bandwidth for view in content.maps.views] == pytest.approx([0.5, 1.0, 2.0])
    assert content.maps.graph == "The graph joins all pairs: one ε̂ resolves the geometry everywhere."
    assert content.coloring.title.startswith("density")
    codes = {snippet.title: snippet.code for snippet in content.snippets}
    assert "bandwidth=bandwidth" in codes["Map the data"]


def test_the_bandwidth_of_another_rule_is_the_one_of_the_maps(wine):
    X, _ = wine
    selection = geolap.select_bandwidth(X, "median")
    maps = map_views(Points.of(X), selection, 0)
    assert maps.views[1].bandwidth == selection.bandwidth
    assert maps.graph == "The graph joins all pairs, at the rule's ε̂."


@pytest.mark.slow
def test_clusters_are_as_many_as_classes_and_those_of_geolap(wine):
    X, y = wine
    codes = [snippet.code for snippet in content_of(X, labels=y, random_state=0).snippets]
    assert any("geolap.LaplacianClustering(n_clusters=3)" in code for code in codes)
    assert not any("SpectralClustering" in code for code in codes)
    assert any("rbf_kernel(X, gamma=gamma)" in code for code in codes)


@pytest.mark.slow
def test_many_points_are_all_joined_with_neighbors_and_some_are_drawn(monkeypatch, wine):
    X, _ = wine
    selection = geolap.select_bandwidth(X, random_state=0)
    monkeypatch.setattr("geolap.display.report.maps.DRAWN", 100)
    maps = map_views(Points.of(X), selection, 0)
    assert [len(view.rows) for view in maps.views] == [100, 100, 100]
    assert maps.remark == "100 of the 178 points are drawn."
    assert maps.neighbors is not None
    monkeypatch.setattr("geolap.display.report.maps.MOST_OF_NEIGHBORS", 100)
    maps = map_views(Points.of(X), selection, 0)
    assert maps.neighbors is None
    assert maps.graph.startswith("The graph joins all pairs of landmarks, although")
    assert maps.views[1].bandwidth == selection.bandwidth


def test_a_few_points_far_away_do_not_squeeze_a_panel():
    rng = np.random.default_rng(0)
    places = rng.uniform(-1.0, 1.0, size=(500, 2))
    center, sides = panel(places)
    assert sides[0] == sides[1] == pytest.approx(2.24, abs=0.02)
    far = places.copy()
    far[:4] = [[90.0, 0.0], [0.0, -70.0], [50.0, 50.0], [-40.0, 1.0]]
    center, sides = panel(far)
    assert np.abs(center).max() < 0.1
    assert sides == pytest.approx([2.2, 2.2], abs=0.1)
    assert not MapView(1.0, 1.0, places=far, center=center, sides=sides).inside[:4].any()


def test_a_narrow_map_has_a_scale_for_each_axis():
    places = np.random.default_rng(0).uniform(size=(200, 2)) * [10.0, 1.0]
    center, sides = panel(places)
    assert sides == pytest.approx([11.2, 1.12], rel=0.05)
    assert MapView(1.0, 1.0, places=places, center=center, sides=sides).inside.all()
    flat = panel(places * [1.0, 0.0])[1]
    assert flat[0] == flat[1] == pytest.approx(11.2, rel=0.05)


def test_no_ellipse_is_longer_than_a_fifth_of_its_panel(wine_report):
    angle = np.linspace(0.0, 2.0 * np.pi, 41)
    circle = np.column_stack([np.cos(angle), 0.1 * np.sin(angle)])
    drawn, clipped = _clipped(np.stack([0.3 + 0.05 * circle, 0.8 * circle]))
    assert clipped.tolist() == [False, True]
    np.testing.assert_allclose(drawn[0], 0.3 + 0.05 * circle)
    assert np.ptp(drawn[1], axis=0) == pytest.approx([0.2, 0.02], rel=0.01)
    for view in (*wine_report.maps.views, wine_report.maps.paper):
        assert (np.ptp(view.ellipses, axis=1) <= 0.2001 * view.sides).all()


def test_ten_classes_have_ten_colors_and_their_names_on_the_map():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(10), 20)
    centers = np.column_stack([np.arange(10) % 4, np.arange(10) // 4])
    centers[9] = centers[8]  # two in one place
    view = MapView(
        1.0, 1.0, np.arange(200), centers[classes] + 0.3 * rng.normal(size=(200, 2)), np.array([1.5, 1.0]), np.full(2, 6.0)
    )
    coloring = label_coloring([f"<{k}>" for k in classes], 200)
    names = map_figure(view, coloring)["layout"]["annotations"]
    assert [name["text"] for name in names] == [f"&lt;{k}&gt;" for k in range(10)]
    at = np.array([(name["x"], name["y"]) for name in names])
    apart = np.abs(at[:, None] - at).max(axis=2)[~np.eye(10, dtype=bool)]
    assert apart.min() >= 0.1 * 6.0
    assert map_figure(view, label_coloring(classes % 3, 200))["layout"]["annotations"] == []


def test_twenty_classes_have_colors_of_their_own_in_both_themes():
    categories = tuple(map(str, range(20)))
    colors = [category_style(code, categories)[0] for code in range(20)]
    style = files("geolap.display.report").joinpath("page.css").read_text("utf-8")
    for theme in style.split(":root")[1:3]:
        values = [re.search(rf"--{color[1:]}: (#[0-9a-f]{{6}});", theme).group(1) for color in colors]
        rgb = np.array([[int(value[k : k + 2], 16) for k in (1, 3, 5)] for value in values])
        apart = np.abs(rgb[:, None] - rgb).max(axis=2)[~np.eye(20, dtype=bool)]
        assert apart.min() >= 25
    assert len({category_style(code, categories)[1] for code in range(20)}) == 3


@pytest.mark.slow
def test_maps_of_many_points_are_carried_by_landmarks(monkeypatch, points, content):
    monkeypatch.setattr("geolap.display.report.maps.DRAWN", 100)
    maps = map_views(Points.of(points), content.selection, 0)
    assert [len(view.rows) for view in maps.views] == [100, 100, 100]
    assert "The maps use 100 of the 250 points" in maps.remark
    monkeypatch.setattr("geolap.display.report.maps._MOST_SECONDS", 0.0)
    maps = map_views(Points.of(points), content.selection, 0)
    assert maps.views == ()
    assert "were left out" in page_of(replace(content, maps=maps), version="1")


def test_column_names_are_shown_and_escaped(points):
    import pandas as pd

    frame = pd.DataFrame(points[:50], columns=[HOSTILE[0], "height", "<i>"])
    page = page_of(content_of(frame, random_state=0), version="1")
    assert "height, &lt;i&gt;" in page
    assert "<i>" not in page


def test_reasons_are_told_with_the_names_of_columns(points):
    named = content_of(points[:50] * [1.0, 1.0, 1e4], features=["a", "b", "<height>"], random_state=0)
    assert "<li>Feature &#x27;&lt;height&gt;&#x27; has 99.9 % of the variance" in page_of(named, version="1")


def test_missing_plotly_is_named_with_its_extra(points, monkeypatch):
    from geolap.display.report import page as module

    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    module._plotly.cache_clear()
    with pytest.raises(ImportError, match=r"A report needs plotly, .* pip install 'geolap\[report\]'"):
        geolap.select_bandwidth(points, "median").to_html()


@pytest.mark.slow
def test_slow_rules_are_not_asked_of_many_points(monkeypatch, points):
    monkeypatch.setitem(content_module._RIVALS, "semigroup", 100)
    content = content_of(points, random_state=0)
    assert "semigroup" not in [rival.method for rival in content.rivals]
    assert "they are slow with 250 points: semigroup." in content.remarks["rivals"]


def test_the_bandwidth_is_the_one_that_the_selector_finds(points, content):
    assert content.selection.bandwidth == geolap.select_bandwidth(points, random_state=0).bandwidth


def test_labels_from_pandas_may_be_missing_too():
    import pandas as pd

    X = make_sphere(12, random_state=0).data
    labels = pd.Series(["a", pd.NA, "b"] * 4, dtype="string")
    assert content_of(X, labels=labels, random_state=0).coloring.categories == ("a", "b", "no label")


def test_a_map_that_failed_leaves_its_reason(content):
    failed = MapView(1.0, 1.0, remark="Eigenvectors must <satisfy> their equation.")
    page = page_of(replace(content, maps=replace(content.maps, views=(failed, *content.maps.views[1:]))), version="1")
    assert "Eigenvectors must &lt;satisfy&gt; their equation." in page
    assert "map0" not in figures_in(page)
    assert "map1" in figures_in(page)
