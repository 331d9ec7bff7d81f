import builtins

import matplotlib.pyplot as plt
import pytest

from geolap import select_bandwidth
from geolap.datasets import make_sphere


@pytest.fixture(scope="module")
def selection():
    return select_bandwidth(make_sphere(200, random_state=0).data, random_state=0)


def test_plot_draws_into_the_given_axes(selection):
    _, ax = plt.subplots()
    assert selection.plot(ax) is ax
    assert ax.get_xscale() == "log"
    assert "ε" in ax.get_xlabel()
    plt.close("all")


def test_plot_makes_axes_of_its_own(selection):
    ax = selection.plot()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(f"{selection.bandwidth:.3g}" in label for label in labels)
    plt.close("all")


def test_missing_matplotlib_is_named_with_its_extra(selection, monkeypatch):
    real_import = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"Plots need matplotlib, which is not installed: pip install 'geolap\[plot\]'"):
        selection.plot()
