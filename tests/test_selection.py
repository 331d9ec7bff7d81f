"""What a selection says about itself, as fields and in words."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import geolap
from geolap import Minimum, Neighborhoods, Remark, Selection, Status, Verdict
from geolap.judgment import without_guess
from geolap.sentences import Sentence

SELECTION = Selection(
    bandwidth=1.0,
    bandwidths=np.array([0.5, 1.0, 2.0, 4.0]),
    scores=np.array([1.0, 0.2, 0.9, 0.1]),
    minima=(
        Minimum(0.6, 0.9, depth=0.01, noise=0.1),
        Minimum(1.0, 0.2, depth=0.7, noise=0.1),
        Minimum(1.5, 0.3, depth=0.5, noise=0.1),
        Minimum(4.0, 0.1, depth=0.8, local=False, share=0.5),
    ),
    interval=(0.9, 1.1),
    status=Status.LOWER_ELSEWHERE,
    method="gc",
    bound=2.0,
)


def test_advice_is_rendered_with_the_names_of_whoever_reads_it():
    assert "a larger max_share extends the search" in SELECTION.explain()
    assert "a larger --max-share extends the search" in SELECTION.explain(lambda name, _: "--" + name.replace("_", "-"))
    assert str(SELECTION) == SELECTION.explain()
    further = "A larger max_share extends the search, but what it finds is rarely local."
    assert further in replace(SELECTION, status=Status.UPPER_END).explain()


def test_more_points_are_asked_for_only_where_there_are_more():
    flat = replace(SELECTION, status=Status.FLAT)
    assert flat.status_text == Status.FLAT.value
    assert "Raise n_sample" in flat.explain()
    everyone = replace(flat, details={"everyone": True})
    assert "n_sample" not in everyone.explain()
    assert "all of which were evaluated" in everyone.explain()
    assert replace(everyone, status=Status.INTERIOR).status_text == Status.INTERIOR.value
    assert "n_sample" not in geolap.select_bandwidth([[0.0], [1.0], [3.0]]).explain()


@pytest.mark.parametrize("method", ["gc", "rec", "bgh"])
@pytest.mark.parametrize("n_sample", [50, 100])
def test_it_is_known_whether_all_points_were_evaluated(method, n_sample):
    X = geolap.datasets.make_torus(100, random_state=0).data
    asked = {} if method == "bgh" else {"n_sample": n_sample}  # which has none: it evaluates all
    found = geolap.select_bandwidth(X, method, **asked, random_state=0)
    assert found.details["everyone"] == (method == "bgh" or n_sample == 100)


@pytest.mark.parametrize("method", ["gc", "rec"])
def test_a_few_evaluation_points_tell_no_interval_unless_they_are_all(method):
    X = geolap.datasets.make_torus(100, random_state=0).data
    few, enough = (geolap.select_bandwidth(X, method, n_sample=n, random_state=0) for n in (5, 60))
    assert few.interval is None
    assert "An interval needs 20 evaluation points or more, or all points; 5 of 100 were evaluated" in few.explain()
    assert enough.interval is not None
    assert not any(reason.kind == "few" for reason in enough.reasons)
    everyone = replace(SELECTION, method=method)
    assert [without_guess(everyone, n, 12).interval for n in (11, 12)] == [None, everyone.interval]


def test_every_minimum_has_a_meaning():
    meanings = [SELECTION.meaning(minimum) for minimum in SELECTION.minima]
    assert meanings[:3] == ["within noise", "selected", "another scale of the data"]
    assert meanings[3].startswith("beyond the bound on locality, neighborhoods hold 50% of the points")


SURFACE = Neighborhoods(
    1.0, effective=60.0, spanning=30.0, uneven=(20.0, 90.0), growth=2.1, likelihood=2.0, vote=2, share=0.9
)
FEW = Neighborhoods(1.0, effective=40.0, spanning=2.4, uneven=(3.0, 80.0), growth=6.5, likelihood=7.3)


@pytest.mark.parametrize(
    ("effective", "spanning", "sentence"),
    [
        (60.0, 30.0, "A typical point has 60 effective neighbors, of which 30 span the tangent plane."),
        (4.21, 1.2, "A typical point has 4.2 effective neighbors, of which 1.2 span the tangent plane."),
        (1.3, 1.01, "A typical point has 1.3 effective neighbors, of which 1 spans the tangent plane."),
        (1.02, 1.0, "A typical point has no effective neighbor except itself, so nothing spans its tangent plane."),
    ],
)
def test_one_neighbor_and_many_are_told_in_good_english(effective, spanning, sentence):
    assert replace(SURFACE, effective=effective, spanning=spanning).explain_neighbors() == sentence


@pytest.mark.parametrize(("n_points", "advised"), [(7, False), (20, False), (21, True)])
def test_nearest_neighbors_are_advised_where_there_are_so_many(n_points, advised):
    found = replace(SELECTION, neighborhoods=FEW, details={"n_points": n_points})
    assert found.verdict is Verdict.NEAREST_NEIGHBORS
    assert ("n_neighbors=10" in found.explain()) == advised


@pytest.mark.parametrize("method", ["gc", "bgh", "median"])
def test_a_selection_knows_how_many_points_there_are(method):
    X = geolap.datasets.make_sphere(40, random_state=0).data
    weighted = geolap.select_bandwidth(X, method, sample_weight=np.full(40, 2.0), random_state=0)
    assert (geolap.select_bandwidth(X, method, random_state=0).details["n_points"], weighted.details["n_points"]) == (40, 80)


@pytest.mark.parametrize("status", list(Status))
def test_the_verdict_follows_from_status_and_neighborhoods(status):
    found = status in (Status.INTERIOR, Status.SEVERAL, Status.LOWER_ELSEWHERE, Status.AT_BOUND)
    surface = replace(SELECTION, status=status, neighborhoods=SURFACE)
    assert surface.trusted == found
    few = replace(surface, neighborhoods=FEW)
    assert few.verdict is (Verdict.NEAREST_NEIGHBORS if found or status is Status.FALLS_APART else Verdict.NOT_FOUND)
    assert replace(surface, neighborhoods=None).verdict is Verdict.NOT_FOUND
    assert pickle.loads(pickle.dumps(surface)).status is status


def test_a_minimum_beyond_the_bound_on_locality_is_not_resolved():
    """Up to a factor of 1.5 beyond it, it is one at the bound."""
    at = {b: replace(SELECTION, status=Status.INTERIOR, neighborhoods=SURFACE, bound=b) for b in (0.65, 0.68)}
    assert [selection.verdict for selection in at.values()] == [Verdict.NOT_FOUND, Verdict.RESOLVED]
    assert "the scale of the whole data set" in at[0.65].verdict_text
    assert at[0.65].explain().splitlines()[1] == at[0.65].verdict_text


def test_lengths_are_not_promised_where_the_metrics_differ():
    heavy = geolap.select_bandwidth(np.random.default_rng(3).standard_t(2, size=(400, 4)), random_state=0)
    surface = geolap.select_bandwidth(geolap.datasets.make_sphere(200, random_state=0).data, random_state=0)
    for found, rough in ((heavy, True), (surface, False)):
        assert found.trusted
        assert ("lengths and eigenvalues are rough" in found.verdict_text) == rough
        assert ("distortion" in {reason.kind for reason in found.reasons}) == rough


def test_reasons_are_fields_and_sentences():
    kinds = [reason.kind for reason in replace(SELECTION, neighborhoods=SURFACE, details={"working_dim": 1}).reasons]
    assert kinds == ["neighbors", "dimension", "directions"]
    sparse = replace(SURFACE, uneven=(1.2, 90.0))
    remark = Remark("dominant", Sentence("Feature 3 has 99 % of the variance."), feature=3, share=0.99)
    told = replace(SELECTION, neighborhoods=sparse, remarks=(remark,), scores=np.full(4, 0.5), details={"working_dim": 1})
    assert [reason.kind for reason in told.reasons] == [
        "neighbors",
        "dimension",
        "uneven",
        "directions",
        "distortion",
        "dominant",
    ]
    assert all(str(reason.text) in told.explain() for reason in told.reasons)


@pytest.mark.parametrize(
    ("changed", "dimension"),
    [
        ({}, 2),
        ({"share": 0.45}, None),
        ({"vote": 3}, None),  # more than growth explains
        ({"growth": 4.0}, None),
        ({"likelihood": 5.0}, None),
        ({"effective": 9.0}, None),
        ({"spanning": 2.0}, None),
        ({"vote": 4, "growth": 3.5, "likelihood": 3.6}, 4),
    ],
)
def test_a_dimension_is_told_where_three_estimates_agree(changed, dimension):
    assert replace(SURFACE, **changed).dimension == dimension


def test_a_range_of_scales_is_not_called_an_interval():
    X = geolap.datasets.make_torus(300, random_state=0).data
    selection = geolap.select_bandwidth(X, "clmr", random_state=0)
    assert "Range of scales" in selection.explain()
    assert "95 %" not in selection.explain()
    assert "95 % interval 0.9 to 1.1" in SELECTION.explain()


TORUS = geolap.datasets.make_torus(400, random_state=0).data
# Points, how they are asked, and what the answer tells that a record could lose.
REMARKABLE = {
    "resolved": (TORUS, {}, lambda found: found.trusted),
    "discrete": (TORUS.round(), {}, lambda found: found.verdict is Verdict.NEAREST_NEIGHBORS and found.remarks[0].step == 1),
    "two row numbers": (
        np.column_stack([TORUS, np.arange(400.0), 5 * np.arange(400.0)]),
        {},
        lambda found: [remark.feature for remark in found.remarks] == [3, 4],
    ),
    "range of scales": (TORUS, {"method": "clmr"}, lambda found: None in found.details["limits"]),
    "distances": (TORUS[:150], {"metric": "chebyshev"}, lambda found: found.reasons[-1].kind == "distances"),
}


def tell_the_same(one, other):
    for name in ("bandwidth", "verdict", "status", "interval", "interval_kind", "bound", "minima", "remarks", "reasons"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.explain(lambda name, _: name.upper()) == other.explain(lambda name, _: name.upper())
    columns = ("x", "y", "z", "row", "id")
    assert [remark.of(columns) for remark in one.remarks] == [remark.of(columns) for remark in other.remarks]
    assert one.details.items() <= other.details.items()


@pytest.mark.parametrize("case", REMARKABLE)
def test_a_record_tells_the_same_as_its_selection(case):
    X, asked, odd = REMARKABLE[case]
    found = geolap.select_bandwidth(X, **asked, random_state=0)
    assert odd(found)
    tell_the_same(Selection.from_record(found.as_record()), found)


@pytest.mark.slow
@pytest.mark.parametrize("case", REMARKABLE)
def test_a_selection_in_a_file_of_anndata_tells_the_same(case, tmp_path):
    anndata = pytest.importorskip("anndata")
    X, asked, _ = REMARKABLE[case]
    adata = anndata.AnnData(X)
    geolap.anndata.select(adata, **asked, random_state=0)
    adata.write_h5ad(tmp_path / "points.h5ad")
    found = geolap.select_bandwidth(X, **asked, random_state=0)
    for read in (adata, anndata.read_h5ad(tmp_path / "points.h5ad")):
        tell_the_same(geolap.anndata.selection(read), found)
