"""Functions that are coordinates of the data are found among others."""

import numpy as np
import pytest

import geolap
from geolap.estimators.named_coordinates import _path


@pytest.fixture(scope="module")
def rotor():
    return geolap.datasets.make_rotor(800, random_state=0)


@pytest.fixture(scope="module")
def graph(rotor):
    return geolap.GraphLaplacian(0.5, calibrate=False).fit(rotor.data)


def test_bonds_angles_and_torsions_of_the_molecule_are_as_drawn():
    rotor = geolap.datasets.make_rotor(50, noise=0.0, random_state=0)
    bonds = np.linalg.norm(np.diff(rotor.atoms, axis=1), axis=2)
    np.testing.assert_allclose(bonds, 1.0)
    for name in ("ABC", "BCD", "CDE"):
        np.testing.assert_allclose(rotor.functions[f"angle {name}"], np.radians(112))
    first, second = np.random.RandomState(0).uniform(-np.pi, np.pi, (2, 50))
    np.testing.assert_allclose(rotor.functions["torsion ABCD"], first)
    np.testing.assert_allclose(rotor.functions["torsion BCDE"], second)


@pytest.mark.slow
def test_both_torsions_are_found_among_ten_functions(rotor):
    found = geolap.explain_coordinates(rotor.data, rotor.functions, periods=rotor.periods, random_state=0)
    assert len(found.names) == 10
    assert {*found.chosen} == {*rotor.torsions}
    assert found.intrinsic_dim == 2
    assert found.told > 0.95
    chosen = [found.names.index(name) for name in found.chosen]
    assert (found.frequency[chosen] == 1).all()
    assert "torsion ABCD and torsion BCDE" in str(found) or "torsion BCDE and torsion ABCD" in str(found)


def test_coordinates_of_a_map_are_explained(rotor, graph):
    Y = geolap.LaplacianEigenmap(4, bandwidth=0.5).fit_transform(rotor.data)
    found = geolap.explain_coordinates(graph, rotor.functions, periods=rotor.periods, embedding=Y, intrinsic_dim=2)
    assert {*found.chosen} == {*rotor.torsions}


def test_other_functions_are_taken_where_the_torsions_are_not_given(rotor, graph):
    functions = {name: values for name, values in rotor.functions.items() if not name.startswith("torsion")}
    found = geolap.explain_coordinates(graph, functions, intrinsic_dim=2)
    assert {*found.chosen} <= {"distance AD", "distance BE", "distance AE"}


def test_functions_off_the_manifold_explain_nothing(rotor, graph):
    noise = np.random.default_rng(0).standard_normal((2, 800))
    functions = {"noise": noise[0], "more": noise[1], "constant": np.ones(800)}
    found = geolap.explain_coordinates(graph, functions, intrinsic_dim=2)
    assert "constant" not in found.chosen
    assert "too little to explain the data" in str(found)
    none = geolap.explain_coordinates(graph, {"constant": np.ones(800)}, intrinsic_dim=2)
    assert none.chosen == ()
    assert "None of the 1 functions varies" in str(none)


def test_the_path_satisfies_the_conditions_of_the_group_lasso():
    rng = np.random.default_rng(0)
    G, T = rng.standard_normal((40, 2, 5)), np.broadcast_to(np.eye(2), (40, 2, 2))
    norms = _path(G, T)
    largest = np.sqrt((G**2).sum(axis=1).mean(axis=0)).max()
    for share, eta in zip(np.geomspace(1, 0.01, 31)[1::5], norms[1::5], strict=True):
        penalty = share * largest
        M = np.eye(2) + (G * (eta / penalty)) @ G.swapaxes(1, 2)
        B = (eta / penalty)[:, None] * (G.swapaxes(1, 2) @ np.linalg.solve(M, T))  # of the equivalent ridge problems
        b = np.sqrt((B**2).sum(axis=2).mean(axis=0))
        np.testing.assert_allclose(b, eta, atol=2e-3)
        pull = G.swapaxes(1, 2) @ (T - G @ B)
        size = np.sqrt((pull**2).sum(axis=2).mean(axis=0))
        assert (size <= penalty * 1.002).all()
        np.testing.assert_allclose(size[b > 0.01], penalty, rtol=2e-3)


def test_what_cannot_be_explained_is_a_sentence(rotor, graph):
    with pytest.raises(ValueError, match="a mapping of names to values"):
        geolap.explain_coordinates(graph, rotor.data, intrinsic_dim=2)
    with pytest.raises(ValueError, match="'half' has shape"):
        geolap.explain_coordinates(graph, {"half": np.ones(400)}, intrinsic_dim=2)
    with pytest.raises(ValueError, match=r"must be numbers; those of 'word' are not .*: leave it out, or encode"):
        geolap.explain_coordinates(graph, {"word": ["x"] * 800}, intrinsic_dim=2)
    with pytest.raises(ValueError, match="those of the embedding are not"):
        geolap.explain_coordinates(graph, rotor.functions, embedding=[["x"]] * 800, intrinsic_dim=2)
    with pytest.raises(ValueError, match="there is no 'angle'"):
        geolap.explain_coordinates(graph, rotor.functions, periods={"angle": 1.0}, intrinsic_dim=2)
    with pytest.raises(ValueError, match="pass intrinsic_dim"):
        geolap.explain_coordinates(graph, rotor.functions)
    with pytest.raises(ValueError, match="A map must be a finite array of 800 rows"):
        geolap.explain_coordinates(graph, rotor.functions, embedding=np.ones(3), intrinsic_dim=2)


def test_the_path_is_drawn(rotor, graph):
    import matplotlib.pyplot as plt

    found = geolap.explain_coordinates(graph, rotor.functions, periods=rotor.periods, intrinsic_dim=2)
    assert "torsion ABCD" in {text.get_text() for text in found.plot().ax_.get_legend().get_texts()}
    plt.close("all")
