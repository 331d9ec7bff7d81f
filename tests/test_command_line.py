"""The command line, as people and machines use it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import geolap
from geolap.choices import ENGINES, RULES
from geolap.cli.commands import app
from geolap.cli.options import FORMATS as FORMAT_CHOICES
from geolap.cli.options import Reading, Selecting
from geolap.cli.preparing import read_points, tell_cost, tell_cost_of_rules
from geolap.cli.running import Run
from geolap.datasets import make_sphere
from geolap.files import FORMATS
from geolap.files.reading import parsed
from geolap.files.source import Source
from geolap.search import TOLERANCE
from geolap.selectors import METHODS
from geolap.sentences import Sentence

pytestmark = pytest.mark.filterwarnings("ignore:The 'float_precision' argument")  # of pandas 3, which has no other
GEOLAP = [sys.executable, "-m", "geolap"]


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, standard output, standard error."""

    def call(*arguments):
        with pytest.raises(SystemExit) as end:
            app([str(argument) for argument in arguments], prog_name="geolap")
        return (end.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def sphere(tmp_path_factory):
    """A table with row names, text and a few labels."""
    X = make_sphere(300, random_state=0).data
    path = tmp_path_factory.mktemp("data") / "sphere.csv"
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(X.shape[1])], index=[f"p{k}" for k in range(300)])
    side = np.where(X[:, 2] > 0, "north", "south").astype(object)
    side[np.random.default_rng(0).random(300) > 0.2] = ""
    table.assign(side=side, city="Rome").to_csv(path, index_label="place")
    return path


def points_of(path):
    return pd.read_csv(path, float_precision="round_trip")[["x0", "x1", "x2"]].to_numpy()


def test_select_tells_people_the_bandwidth_and_how_far_to_trust_it(run, sphere):
    code, out, err = run("select", sphere)
    assert code == 0
    assert "300 points, 3 features" in out
    assert "A clear minimum inside the searched range." in out
    assert "gamma" in out
    assert err.splitlines() == [
        "Note: The first column, 'place', names the rows.",
        "Note: Columns left out, text: 'side', 'city'.",
    ]


def test_select_is_what_the_library_selects(run, sphere):
    X = points_of(sphere)
    expected = geolap.GeometricConsistency(working_dim=2, n_sample=50, random_state=7).fit(X).selection_
    _, out, _ = run("select", sphere, "--working-dim", 2, "--n-sample", 50, "--seed", 7, "--json")
    result = json.loads(out)["result"]
    assert result["bandwidth"] == expected.bandwidth
    assert result["interval"] == list(expected.interval)
    assert result["status"] == expected.status.name.lower()
    np.testing.assert_array_equal(result["curve"]["scores"], expected.scores)


@pytest.mark.slow
def test_standardized_points_are_those_of_scikit_learn(run, sphere, tmp_path):
    table = pd.read_csv(sphere, index_col="place").assign(x1=lambda t: 1e6 + 1000 * t.x1, same=0.1)
    table.to_csv(tmp_path / "units.csv")
    X = table[["x0", "x1", "x2", "same"]].to_numpy()
    scaled = StandardScaler().fit_transform(X)
    expected = geolap.select_bandwidth(scaled, random_state=0)
    code, out, err = run("select", tmp_path / "units.csv", "--standardize", "--labels", "side", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["result"]["bandwidth"] == pytest.approx(expected.bandwidth, rel=1e-6)
    assert document["result"]["bandwidth"] != pytest.approx(geolap.select_bandwidth(X, random_state=0).bandwidth, rel=0.5)
    assert document["data"]["columns"] == ["x0", "x1", "x2", "same"]
    assert document["data"]["notes"][-2:] == [
        "Every feature was scaled to mean 0 and standard deviation 1; bandwidths are in this unit.",
        "Feature without variance, now 0: 'same'.",
    ]
    assert err.splitlines()[-1] == "Note: Feature without variance, now 0: 'same'."


@pytest.mark.parametrize("unit", [1.0, 1e300, 1e-300])
@pytest.mark.parametrize("kind", [float, np.float32, int])
def test_any_numbers_are_standardized(unit, kind, tmp_path):
    X = np.round(100 * np.random.default_rng(0).normal(size=(40, 4))).astype(kind)
    X[:, 2] = 7
    expected = StandardScaler().fit_transform(X.astype(float))
    np.save(tmp_path / "x.npy", X * np.array([unit, 1, unit, 1e3]) if kind is float else X)
    table = read_points(Run("select"), str(tmp_path / "x.npy"), Reading(standardize=True), None)
    np.testing.assert_allclose(table.points, expected, atol=1e-12)
    assert not table.points[:, 2].any()
    assert table.notes[-1] == "Feature without variance, now 0: '2'."


def test_rows_that_are_left_out_do_not_count_for_the_scale(run, tmp_path):
    (tmp_path / "x.csv").write_text("a,b,kind\n1.5,2,x\n2,1,x\n3,3,y\n4,4.5,y\n1e9,,y\n")
    options = ("--standardize", "--missing", "rows", "--labels", "kind", "--bandwidth", 1)
    for command in ("embed", "laplacian", "classify"):
        where = tmp_path / ("L.npy" if command == "laplacian" else f"{command}.csv")
        code, _, err = run(command, tmp_path / "x.csv", *options, "-o", where, *(["-d", 1] if command == "embed" else []))
        assert code == 0
        assert "1 of 5 rows with missing values were left out." in err
    X = StandardScaler().fit_transform([[1.5, 2], [2, 1], [3, 3], [4, 4.5]])
    L = geolap.GraphLaplacian(bandwidth=1.0).fit(X).laplacian_
    np.testing.assert_allclose(np.load(tmp_path / "L.npy"), L, atol=1e-12)
    assert run("compare", tmp_path / "x.csv", "--standardize", "--missing", "rows", "-m", "median")[0] == 0


def test_notes_come_before_an_error(run, tmp_path):
    (tmp_path / "x.csv").write_text("name,a,b\np,1,\nq,,2\nr,3,5\n")
    code, _, err = run("select", tmp_path / "x.csv", "--standardize", "--missing", "rows")
    assert code == 2
    *notes, error = err.splitlines()
    assert "2 of 3 rows with missing values were left out" in notes[-1]
    assert error.startswith("Error: A scale needs at least three distinct points; points of shape (1, 2) were given")


def test_what_is_wrong_with_points_is_said_before_they_are_standardized(run, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((30, 2)))
    code, _, err = run("select", tmp_path / "x.npy", "--standardize")
    assert code == 2
    assert "At least three distinct points are needed" in err


def test_json_is_one_document_without_nan(run, sphere):
    _, out, _ = run("select", sphere, "--json")
    document = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert document["command"] == "select"
    assert document["data"]["n_points"] == 300
    assert document["data"]["columns"] == ["x0", "x1", "x2"]
    assert document["warnings"] == []


def test_an_error_is_json_too(run, tmp_path):
    code, out, err = run("select", tmp_path / "missing.csv", "--json")
    assert code == 2
    assert json.loads(out)["exit_code"] == 2
    assert json.loads(out)["error"] in err
    assert "leave out one" in json.loads(run("select", tmp_path, "-o", "-", "--json")[1])["error"]


def test_methods_have_the_names_of_the_library(run, sphere):
    out = run("select", sphere, "-m", "gc_inverse", "--json")[1]
    assert json.loads(out)["result"]["method"] == "gc_inverse"


def test_quiet_is_the_bare_number(run, sphere):
    _, out, err = run("select", sphere, "-q")
    assert err == ""
    assert float(out) > 0


@pytest.mark.slow
def test_the_seed_and_the_threads_decide_nothing_else(run, sphere):
    outs = {run("select", sphere, "-q", "--seed", 3, "--n-jobs", n_jobs)[1] for n_jobs in (1, 2, 1)}
    assert len(outs) == 1


def test_strict_is_exit_code_3_unless_the_minimum_is_clear(run, sphere):
    assert run("select", sphere, "--strict")[0] == 0
    assert run("select", sphere, "--strict", "--method", "median")[0] == 3


def test_compare_is_a_table(run, sphere, tmp_path):
    code, out, err = run("compare", sphere, "-m", "gc", "-m", "median", "-o", tmp_path / "c.csv")
    assert code == 0
    assert err.splitlines()[-1].startswith("Note: The table is in ")
    assert [line.split()[0] for line in out.splitlines()[1:4]] == ["method", "gc", "median"]
    assert pd.read_csv(tmp_path / "c.csv")["method"].tolist() == ["gc", "median"]
    rows = json.loads(run("compare", sphere, "-m", "gc", "-m", "median", "--json")[1])["result"]["rows"]
    assert [row["method"] for row in rows] == ["gc", "median"]


@pytest.mark.parametrize(
    ("methods", "told"),
    [
        (
            None,
            [
                "The rule gc alone: long.",
                "bgh, semigroup are slow for 300 points, and without a forecast: choose rules with -m.",
            ],
        ),
        (["gc"], ["The rule gc alone: long."]),
        (["gc_inverse", "median"], ["The rule gc_inverse alone: long."]),
        (["bgh"], ["bgh is slow for 300 points, and without a forecast."]),
        (["median"], []),
    ],
)
def test_a_comparison_forecasts_the_rules_that_it_runs_and_names_those_that_are_slow(methods, told, capsys, monkeypatch):
    monkeypatch.setattr("geolap.cli.preparing._MANY", 300)
    told_as = type("Told", (str,), {"seconds": 0.0})("long")
    monkeypatch.setattr("geolap.forecasting.forecast", lambda X, task, **given: told_as)
    tell_cost_of_rules(Run("compare"), np.zeros((300, 2)), methods, "auto", "euclidean")
    tell_cost_of_rules(Run("compare"), np.zeros((299, 2)), methods, "auto", "euclidean")
    assert capsys.readouterr().err.splitlines() == [f"Note: {text}" for text in told]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--exact"], {"exact": True, "engine": "auto", "n_neighbors": None, "n_landmarks": None}),
        (["--engine", "tiled", "--n-landmarks", 50], {"engine": "tiled", "n_landmarks": 50}),
        (["--n-neighbors", 10, "--n-jobs", 1], {"exact": False, "n_neighbors": 10, "n_jobs": 1}),
        (["--bandwidth", 0.5, "--n-landmarks", 50], {"bandwidth": 0.5, "n_landmarks": 50}),
        (["--bandwidth", 0.5], None),
    ],
)
def test_the_cost_of_a_map_of_many_points_is_told_as_it_will_be_computed(
    options, expected, run, sphere, tmp_path, monkeypatch
):
    forecasts = []
    monkeypatch.setattr("geolap.cli.preparing._MANY", 300)
    monkeypatch.setattr("geolap.forecasting.forecast", lambda X, task, **given: forecasts.append((task, given)) or "Long")
    code, _, err = run("embed", sphere, "--drop", "side,city", "-o", tmp_path / "map.csv", *options)
    assert code == 0
    assert ("Note: Long." in err) == (expected is not None)
    assert len(forecasts) == (expected is not None)
    for task, given in forecasts:
        assert task == "map"
        assert given | expected == given


@pytest.mark.parametrize(("shape", "told"), [((60, 3), False), ((60, 400), True), ((500, 3), True)])
def test_the_cost_of_few_points_is_told_where_their_shape_says_that_it_is_long(shape, told, capsys, monkeypatch):
    monkeypatch.setattr("geolap.cli.preparing._MANY", 500)
    monkeypatch.setattr("geolap.cli.preparing._LONG", geolap.forecast((60, 20)).seconds)
    tell_cost(Run("select"), np.zeros(shape), Selecting(), "euclidean")
    assert (" about " in capsys.readouterr().err) == told


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "tsv", "npy", "npz", "parquet"])
def test_a_map_is_written_by_the_ending_of_its_name(suffix, run, sphere, tmp_path):
    out = tmp_path / f"map.{suffix}"
    assert run("embed", sphere, "-o", out, "--n-components", 3)[0] == 0
    X = points_of(sphere)
    expected = geolap.LaplacianEigenmap(3, random_state=0).fit_transform(X)
    read = {
        "csv": partial(pd.read_csv, float_precision="round_trip"),
        "tsv": partial(pd.read_table, float_precision="round_trip"),
        "parquet": pd.read_parquet,
    }.get(suffix)
    if suffix == "npy":
        np.testing.assert_array_equal(np.load(out), expected)
    else:
        content = dict(np.load(out)) if suffix == "npz" else read(out)
        assert list(content["row"][:2]) == ["p0", "p1"]
        np.testing.assert_allclose(np.column_stack([content[f"x{k}"] for k in (1, 2, 3)]), expected, rtol=1e-12)


def test_edges_may_be_thinned(run, sphere, tmp_path):
    _, out, _ = run("embed", sphere, "-o", tmp_path / "m.csv", "--drop", "side", "-b", 0.5, "--n-edges", 25, "--json")
    result = json.loads(out)["result"]
    assert 20 < result["n_edges"] < 30
    assert 0 < result["thinning_error"] < 0.1
    code, _, err = run("embed", sphere, "-o", tmp_path / "m.csv", "--n-edges", "some")
    assert code == 2
    assert "must be a whole number" in err


def test_a_diffusion_map_over_nearest_neighbors(run, sphere, tmp_path):
    options = ("--diffusion", "--diffusion-time", 2, "--n-neighbors", 20, "--labels", "side", "--json")
    _, out, _ = run("embed", sphere, "-o", tmp_path / "m.csv", *options)
    assert json.loads(out)["result"]["n_neighbors"] == 20
    assert list(pd.read_csv(tmp_path / "m.csv").columns) == ["row", "side", "x1", "x2"]


def test_any_column_is_written_beside_a_map_as_it_was(run, sphere, tmp_path):
    for suffix in ("csv", "parquet"):
        table = pd.DataFrame(points_of(sphere)).add_prefix("a").assign(code=np.arange(300) % 4)
        getattr(table, f"to_{suffix}")(tmp_path / f"x.{suffix}", index=False)
        assert run("embed", tmp_path / f"x.{suffix}", "-o", tmp_path / "m.csv", "--labels", "code", "-b", 0.5)[0] == 0
        assert (tmp_path / "m.csv").read_text().splitlines()[4].startswith("3,")
    assert run("embed", sphere, "-o", tmp_path / "m.csv", "--labels", "x0", "-b", 0.5)[0] == 0
    written = pd.read_csv(tmp_path / "m.csv", float_precision="round_trip")
    np.testing.assert_array_equal(written["x0"], points_of(sphere)[:, 0])
    assert run("embed", sphere, "-o", tmp_path / "m.csv", "--labels", "x1", "-b", 0.5)[0] == 0
    assert list(pd.read_csv(tmp_path / "m.csv").columns) == ["row", "label", "x1", "x2"]


@pytest.mark.slow
def test_points_are_classified_from_the_labels_of_a_few(run, sphere, tmp_path):
    code, _, _ = run("classify", sphere, "--labels", "side", "-o", tmp_path / "c.csv")
    assert code == 0
    table, found = pd.read_csv(sphere), pd.read_csv(tmp_path / "c.csv")
    truth = np.where(table["x2"] > 0, "north", "south")
    assert (found["class"] == truth).mean() > 0.9
    assert found["given"].isna().sum() == table["side"].isna().sum()
    assert found["probability"].between(0, 1).all()
    document = json.loads(run("classify", sphere, "--labels", "side", "--json")[1])
    assert document["result"]["transduction"] == found["class"].tolist()
    graphs = document["result"]["graphs"]
    assert {graph["n_neighbors"] for graph in graphs} == {None, 10}
    assert sum(graph["weight"] for graph in graphs) == pytest.approx(1)


def test_every_graph_that_was_weighed_is_told_with_its_bandwidth(run, sphere):
    lines = run("classify", sphere, "--labels", "side")[1].splitlines()
    first, second = (k for k, line in enumerate(lines) if line.startswith("Bandwidth"))
    assert "Its weight is" in lines[first]
    assert {"nearest neighbors" in lines[k] or "all pairs" in lines[k] for k in (first, second)} == {True}
    assert "minimum" in lines[first + 2]  # the curve, after the bandwidth and what it is good for


def test_clusters_are_written_and_told(run, tmp_path):
    X, truth = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(kind=np.array(["x", "y", "z"])[truth])
    frame.to_csv(tmp_path / "blobs.csv", index=False)
    code, out, _ = run("cluster", tmp_path / "blobs.csv", "--labels", "kind", "-o", tmp_path / "c.csv")
    assert code == 0
    assert "Clusters stand out" in out
    found = pd.read_csv(tmp_path / "c.csv")
    assert list(found.columns) == ["kind", "cluster"]
    assert adjusted_rand_score(truth, found["cluster"]) > 0.98
    result = json.loads(run("cluster", tmp_path / "blobs.csv", "--labels", "kind", "--json")[1])["result"]
    assert result["labels"] == found["cluster"].tolist()
    assert (result["n_clusters"], result["status"], sum(result["sizes"])) == (3, "stand_out", 150)
    given = json.loads(run("cluster", tmp_path / "blobs.csv", "--drop", "kind", "--json", "-k", 2)[1])["result"]
    assert (given["n_clusters"], given["status"], given["n_neighbors"]) == (2, "given", 10)


def test_the_laplacian_annihilates_constants(run, sphere, tmp_path):
    assert run("laplacian", sphere, "-o", tmp_path / "L.npz", "--bandwidth", 0.5, "--cutoff", 3)[0] == 0
    L = sparse.load_npz(tmp_path / "L.npz")
    assert L.shape == (300, 300)
    np.testing.assert_allclose(L @ np.ones(300), 0, atol=1e-9)
    with np.load(tmp_path / "L.npz") as content:
        assert content["bandwidth"] == 0.5


def test_the_demo_writes_data_to_go_on_with(run, tmp_path):
    _, out, _ = run("demo", "-o", tmp_path / "digits.csv")
    assert "Bandwidth 12.11" in out
    assert "use nearest neighbors (--n-neighbors 10)" in out
    assert pd.read_csv(tmp_path / "digits.csv").shape == (1797, 65)


def test_a_report_is_a_page(run, sphere, tmp_path):
    code, _, err = run("select", sphere, "--drop", "side,city", "--report", tmp_path / "page.html", "--drift", 1)
    assert code == 0
    assert "The report is" in err
    assert "sphere.csv" in (tmp_path / "page.html").read_text()
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("options", [["cosine"], ["correlation"], ["cosine", "--standardize"], ["l2"]])
def test_the_code_of_a_report_makes_the_points_that_it_shows(options, run, sphere, tmp_path, monkeypatch):
    pages = []
    monkeypatch.setattr("geolap.display.report.write_report", lambda _, X, **told: pages.append((X, told)))
    given = ["--metric", *options, "-b", 0.5, "-o", tmp_path / "L.npz", "--report", tmp_path / "r.html"]
    assert run("laplacian", sphere, "--drop", "side,city", *given)[0] == 0
    (points, told), names = pages[0], {}
    exec(told["reading"], names)
    np.testing.assert_allclose(names["X"], points, rtol=1e-12)


def test_every_command_draws_and_reports(run, sphere, tmp_path, monkeypatch):
    pages = []
    monkeypatch.setattr("geolap.display.report.write_report", lambda *_, **told: pages.append(told))
    given = ["-b", 0.5, "--report", tmp_path / "r.html"]
    for arguments in (
        ["embed", sphere, "-o", tmp_path / "m.csv", "--labels", "side", "--plot", tmp_path / "m.png"],
        ["cluster", sphere, "-k", 2, "--plot", tmp_path / "c.svg"],
        ["classify", sphere, "--labels", "side"],
        ["laplacian", sphere, "-o", tmp_path / "L.npz"],
    ):
        code, _, told = run(*arguments, *given)
        assert code == 0
        assert "The report is in" in told
    assert len(pages) == 4
    for page in pages:
        names: dict = {}
        exec(page["reading"], names)
        assert names["X"].shape == (300, 3)
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "c.svg").read_text()
    code, _, told = run("embed", sphere, "-o", tmp_path / "m.csv", "--plot", tmp_path / "m.bmp")
    assert code == 2
    assert ".png, .pdf, .svg" in told


def test_components_are_those_of_the_graph_that_is_named_in_every_command(run, tmp_path):
    one = make_sphere(60, random_state=0).data
    X = np.vstack([one + np.array([shift, 0, 0]) for shift in (0, 3.7, 9)])
    np.save(tmp_path / "parts.npy", X)

    def result(*arguments):
        code, out, _ = run(*arguments, "--json")
        assert code == 0
        return json.loads(out)["result"]

    file, fixed, cut = tmp_path / "parts.npy", ("--bandwidth", 0.5), ("--cutoff", 3)
    for command in (("embed", file, "-o", tmp_path / "m.csv"), ("laplacian", file, "-o", tmp_path / "L.npz")):
        assert result(*command, *fixed, *cut)["n_graph_components"] == geolap.graph_health(X, 0.5).components
        assert result(*command, *fixed)["n_graph_components"] == 2
    assert geolap.graph_health(X, 0.5).components == 3
    for command, words in (
        (("embed", file, "-o", tmp_path / "m.csv", *fixed, *cut), "points up to 3ε apart and has 3 components."),
        (("laplacian", file, "-o", tmp_path / "L.npz", *fixed), "all pairs whose weight exceeds rounding and has 2 comp"),
        (("cluster", file, *fixed), "each point with its 10 nearest neighbors, with local scales, and has 3 components."),
    ):
        assert f"The graph joins {words}" in run(*command)[1]
    assert "3 components" in str(geolap.graph_health(X, 0.5))


def test_a_map_of_one_coordinate_is_not_drawn(run, sphere, tmp_path):
    code, _, said = run("embed", sphere, "-d", 1, "-o", tmp_path / "map.csv", "--plot", tmp_path / "map.png")
    assert code == 2
    assert "A map is drawn in two coordinates; --plot was given with --n-components 1" in " ".join(said.split())
    assert not (tmp_path / "map.csv").exists()


def test_a_remark_names_the_column_that_it_is_about(run, tmp_path):
    X = make_sphere(60, random_state=0).data
    pd.DataFrame(X * [1, 1000, 1], columns=["x", "width", "z"]).to_csv(tmp_path / "wide.csv", index=False)
    assert "Feature 'width' has 99.9 % of the variance" in run("select", tmp_path / "wide.csv")[1]
    reasons = json.loads(run("select", tmp_path / "wide.csv", "--json")[1])["result"]["reasons"]
    assert any(reason["text"].startswith("Feature 'width'") for reason in reasons)


def test_a_code_for_missing_values_is_told_with_the_option_that_names_it(run, tmp_path):
    table = pd.DataFrame(170 + 10 * make_sphere(200, random_state=0).data, columns=["height", "weight", "age"])
    table.loc[::10, "height"] = -999
    table.to_csv(tmp_path / "x.csv", index=False)
    code, out, _ = run("select", tmp_path / "x.csv")
    assert code == 0
    assert (
        "Feature 'height' contains -999 20 times, far from all its other values: if it is a code for missing values, " in out
    )
    assert "use --na-values." in out
    assert "-999" not in run("select", tmp_path / "x.csv", "--na-values", "-999", "--missing", "rows")[1]
    assert "Feature 'height' contains -999 20 times" in run("cluster", tmp_path / "x.csv")[1]


def test_a_column_that_names_no_classes_is_doubted(run, tmp_path):
    table = pd.DataFrame(make_sphere(60, random_state=0).data, columns=["x", "y", "z"])
    table["visit_date"] = pd.date_range("2020-01-30", periods=60).strftime("%Y-%m-%d")
    table.to_csv(tmp_path / "x.csv", index=False)
    code, _, err = run("classify", tmp_path / "x.csv", "--labels", "visit_date")
    assert code == 0
    assert "Warning: Each of the 60 classes has only one labeled point: check that --labels contains classes." in err


def test_a_graph_of_nearest_neighbors_is_not_advised_to_join_them(run, tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).standard_normal((100, 8)))
    near = ("--n-neighbors", 10, "--local-scale", 7)
    told = [run("select", tmp_path / "noise.npy", *graph)[1] for graph in ((), near)]
    assert "For a map, use nearest neighbors (--n-neighbors 10) and a bandwidth that varies (--local-scale 7)." in told[0]
    assert "The scale of nearest neighbors, which the graph uses: good for maps" in told[1]
    assert ["gamma =" in text for text in told] == [True, False]  # none stands for one that varies
    for graph, single in ((), True), (near, False):
        for command in (("select",), ("laplacian", "-o", tmp_path / "L.npz")):
            result = json.loads(run(*command, tmp_path / "noise.npy", *graph, "--json")[1])["result"]
            assert (result.get("selection", result)["conversions"] is not None) == single
    code, _, err = run("select", tmp_path / "noise.npy", "--local-scale", "near")
    assert code == 2
    assert "--local-scale must be a number of neighbors or 'regional'; 'near' was given" in err


def test_verbose_tells_what_is_done_and_help_has_no_types_of_flags(run, sphere):
    code, _, told = run("select", sphere, "--verbose")
    assert code == 0
    assert re.search(r"\d\d:\d\d:\d\d gc: bandwidth \S+ of 300 points", told)
    assert "bool" not in run("select", "--help")[1]


def test_warnings_are_lines(run, tmp_path):
    X = np.vstack([make_sphere(100, random_state=0).data, make_sphere(100, random_state=1).data + 100])
    np.save(tmp_path / "two.npy", X)
    settings = "--bandwidth", 0.5, "--cutoff", 3, "--disconnected", "whole"
    code, _, err = run("embed", tmp_path / "two.npy", "-o", tmp_path / "m.csv", *settings)
    assert code == 0
    assert err.startswith("Warning: The graph should be connected")
    assert ".py" not in err
    assert "--disconnected arrange" in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("select", "{file}", "--method", "median", "--working-dim", "2"), "--working-dim was given"),
        (("select", "{file}", "--method", "cv"), "name their column with --labels"),
        (("compare", "{file}", "--method", "cv"), "name their column with --labels"),
        (("select", "{file}", "--drop", "n_sample"), "must have the requested column; there is no 'n_sample'"),
        (("select", "{file}", "--n-sample", "1"), "--n-sample must be"),
        (("select", "{file}", "--max-share", "7"), "--max-share must be"),
        (("select", "{file}", "--max-size", "lots"), "--max-size must be"),
        (("select", "{file}", "--max-size", "1KB"), "may take 1 KB"),
        (("select", "{file}", "--separator", "::"), "--separator must be"),
        (("select", "{file}", "--decimal", ":"), "--decimal must be"),
        (("select", "{file}", "--labels", "sdie"), "did you mean 'side'"),
        (("select", "{file}", "--report", "page.pdf"), "must end in .html"),
        (("select", "{file}", "-o", "{file}"), "must not overwrite its input"),
        (("embed", "{file}", "-o", "no/such/folder/map.csv"), "folder of an output must exist"),
        (("embed", "{file}", "-o", "map.doc"), "must end in .csv"),
        (("embed", "{file}", "-o", "-", "--diffusion-time", "2"), "add --diffusion"),
        (("embed", "{file}", "-o", "-", "--bandwidth", "1", "--method", "gc", "--exact"), "leave out one"),
        (("embed", "{file}", "-o", "-", "--bandwidth", "-1"), "positive and finite"),
        (("embed", "{file}", "-o", "-", "--local-scale", "wide"), "--local-scale must be"),
        (("embed", "{file}", "-o", "-", "-d", "1000"), "--n-components must be less"),
        (("laplacian", "{file}", "-o", "-"), "name a file"),
        (("cluster", "{file}", "-k", "1000"), "--n-clusters must be at most the number of distinct points"),
        (("classify", "{file}", "--labels", "city"), "at least two classes"),
        (("classify", "{file}", "--labels", "x0"), "fractions"),
        (("select", "/"), "must be a readable zarr file"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(arguments, sentence, run, sphere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*(argument.format(file=sphere) for argument in arguments))
    assert code == 2
    assert out == ""
    assert sentence in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("Error: ")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("status", list(geolap.Status))
def test_advice_names_options_as_the_shell_writes_them(status, run, sphere, monkeypatch):
    selection = replace(geolap.select_bandwidth(points_of(sphere), "median"), status=status)
    monkeypatch.setattr("geolap.selectors.GeometricConsistency.select", lambda *_: selection)
    _, out, _ = run("select", sphere)
    assert not any(name in out for name in ("max_share", "n_sample"))
    assert ("--max-share" in out) == (status in (geolap.Status.LOWER_ELSEWHERE, geolap.Status.UPPER_END))


def test_errors_and_warnings_name_options_as_the_shell_writes_them(run, sphere, tmp_path, monkeypatch):
    def told(*_, **__):
        warnings.warn(Sentence("{n} points: raise {n_neighbors}, or {disconnected=separate}.", n=3), stacklevel=1)
        raise ValueError(Sentence("Lower {n_sample} or {K|k}, {drop|some}, {drop=a|all}; {name}.", name="'n_sample'"))

    monkeypatch.setattr("geolap.selectors.GeometricConsistency.select", told)
    _, _, err = run("embed", sphere, "-o", tmp_path / "m.csv", "--drop", "side,city")
    warning, error = err.splitlines()[-2:]
    assert warning == "Warning: 3 points: raise --n-neighbors, or --disconnected separate."
    assert error == "Error: Lower --n-sample or k, --drop, --drop a; 'n_sample'."


def test_an_unknown_option_is_exit_code_2(run, sphere):
    assert run("select", sphere, "--methd", "gc")[0] == 2
    assert run("select")[0] == 2
    assert run("frobnicate")[0] == 2


def test_a_fault_of_ours_is_exit_code_1_and_no_traceback(run, sphere, monkeypatch):
    monkeypatch.setattr("geolap.selectors.GeometricConsistency.select", lambda *_: 1 / 0)
    code, _, err = run("select", sphere, "-q")
    assert code == 1
    assert err.startswith("Error: geolap failed unexpectedly (ZeroDivisionError")
    assert len(err.splitlines()) == 1


def test_names_in_files_cannot_move_the_cursor(run, tmp_path):
    (tmp_path / "x.csv").write_text("a,\x1b[2Jb\n1,x\n2,y\n4,z\n")
    _, out, err = run("select", tmp_path / "x.csv")
    assert "\x1b" not in out + err


def test_choices_are_those_of_the_library():
    assert {name: rule.selector for name, rule in RULES.items()} == {name: kind.__name__ for name, kind in METHODS.items()}
    assert set(FORMAT_CHOICES) == set(FORMATS.values())
    for engine in ENGINES:
        geolap.forecast((100, 3), engine=engine)


@pytest.mark.parametrize("name", ["select", "compare", "embed", "cluster", "classify", "laplacian", "reproduce", "demo"])
def test_every_command_has_help(name, run):
    code, out, _ = run(name, "--help")
    assert code == 0
    assert "--json" in out


def test_help_loads_nothing_heavy():
    assert "select" in subprocess.run([*GEOLAP, "--help"], capture_output=True, text=True, check=True).stdout
    code = (
        "import sys\nfrom geolap.cli.commands import app\ntry: app(['select', '--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'pandas', 'tqdm') if m in sys.modules], file=sys.stderr)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.strip() == "[]"


@pytest.mark.slow
def test_a_first_result_on_1500_points_in_241_dimensions(tmp_path, real):
    np.savetxt(tmp_path / "g241c.csv", real("g241c"), delimiter=",")
    told = subprocess.run([*GEOLAP, "select", "g241c.csv"], capture_output=True, text=True, cwd=tmp_path, check=True)
    bandwidth = float(re.search(r"Bandwidth (\S+)", told.stdout)[1])
    assert bandwidth == pytest.approx(7.037, rel=TOLERANCE)  # the minimum over all points; a search refines to this


@pytest.mark.slow
def test_standard_input_and_output_are_files(sphere, run, monkeypatch):
    content = sphere.read_bytes()
    piped = subprocess.run([*GEOLAP, "embed", "-", "-o", "-", "-q"], input=content, capture_output=True, check=True)
    lines = piped.stdout.decode().splitlines()
    assert lines[0] == "row,x1,x2"
    assert len(lines) == 301
    for nothing in (b"", b"\0\1\2\xff", b"\x93NUMPY", b"PK\x03\x04"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(nothing)))
        code, _, err = run("select", "-")
        assert code == 2
        assert err.startswith("Error: ")
        assert "Traceback" not in err


@pytest.mark.slow
@pytest.mark.posix
def test_an_interrupt_is_one_line_and_leaves_nothing(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(25_000, 30)))
    command = [*GEOLAP, "select", "x.npy", "-o", "curve.csv", "--exact", "-q"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == "Interrupted.\n"
    assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.slow
@pytest.mark.posix
def test_a_reader_that_goes_away_is_no_error(sphere):
    pipeline = f"'{sys.executable}' -m geolap select '{sphere}' -q | true; echo ${{PIPESTATUS[0]}}"
    told = subprocess.run(["bash", "-c", pipeline], capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"
    assert told.stderr == ""


@pytest.mark.slow
def test_output_works_where_there_are_no_greek_letters(sphere):
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    told = subprocess.run([*GEOLAP, "select", str(sphere)], env=ascii_only, capture_output=True, text=True, check=True)
    assert "Bandwidth" in told.stdout


@pytest.mark.parametrize("sign", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_request_to_end_while_python_ends_changes_nothing(sign):
    code = (
        "import os, signal, sys\n"
        f"class Late:\n    def __del__(self, kill=os.kill, own=os.getpid(), sign=signal.{sign}): kill(own, sign)\n"
        "sys.late, sys.argv = Late(), ['geolap', '--version']\n"
        "from geolap.cli import main\nmain()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_missing_library_is_named_with_its_extra(tmp_path, monkeypatch):
    code = "import sys; sys.modules['typer'] = None; from geolap.cli import main; main()"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr == "The command line needs typer, which is not installed: pip install 'geolap[cli]'.\n"
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"needs h5py, which is not installed: pip install 'geolap\[files\]'"):
        parsed(Source("'x.h5'", tmp_path / "x.h5", "hdf5"))


def test_nothing_left_to_classify_is_said(run, tmp_path):
    (tmp_path / "all.csv").write_text("a,b,kind\n1.5,2,x\n2,1,x\n3,3,y\n4,4.5,y\n5,4,y\n")
    code, out, _ = run("classify", tmp_path / "all.csv", "--labels", "kind")
    assert code == 0
    assert "Every point already has a class" in out


@pytest.mark.skipif(find_spec("typer._coercion") is None, reason="older versions of typer have words of their own")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-m", "foo"], "Invalid value for '--method' / '-m': 'foo' is not one of"),
        (["-b", "abc"], "must be a number; 'abc' was given: choose another value."),
        (["--seed", "abc"], "must be a whole number; 'abc' was given"),
        (["--seed", "1.5"], "must be a whole number; '1.5' was given"),
        (["--seed", "-3"], "must be at least 0; '-3' was given"),
        (["--max-share", "abc"], "must be a number; 'abc' was given"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused_in_plain_words(run, sphere, options, sentence, monkeypatch):
    monkeypatch.setenv("TERMINAL_WIDTH", "300")
    code, _, err = run("embed", sphere, "-o", "map.csv", *options)
    assert code == 2
    assert sentence in " ".join(err.replace("│", " ").split())


def test_an_option_that_reproduce_cannot_honour_is_refused(run):
    code, _, err = run("reproduce", "figure2", "--quick", "--n-jobs", "1")
    assert code == 2
    assert "Studies use all cores; --n-jobs was given: leave it out, or use taskset." in err


@pytest.fixture
def ended(monkeypatch):
    """Exit codes of a process that is asked to end, and does not."""
    import signal

    from geolap.cli import running

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before, codes = [signal.getsignal(number) for number in numbers], []
    monkeypatch.setattr(running.os, "_exit", codes.append)
    monkeypatch.setattr(running, "_ended", [])
    yield codes
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def asked_to_end(lost):
    """A command that gets a signal while a library is imported, which makes another error of it, or none."""
    import signal
    import time

    from geolap.cli import running

    with running.on_interrupt(), running.Run("select").work():
        try:
            signal.raise_signal(signal.SIGTERM)
        except SystemExit as end:
            if not lost:
                raise ImportError("initialization failed") from end
        time.sleep(30.0)


@pytest.mark.posix
@pytest.mark.parametrize("lost", [False, True])
def test_a_request_to_end_amid_an_import_is_heard(ended, lost):
    with pytest.raises(SystemExit):
        asked_to_end(lost)
    assert [int(code) for code in ended] == [143]
