"""Conventions of the code itself."""

import ast
import os
from pathlib import Path

import pytest

import geolap

ROOT = Path(geolap.__file__).parent

# From the bottom up: a module may import from its own layer and those below.
LAYERS = [
    {"choices", "runtime", "sentences", "shown"},
    {"calibration", "kernel", "laplacian", "metric", "neighborhoods", "selection", "tangent"},
    {"data"},
    {"search", "validation"},
    {"specification"},
    {"engines"},
    {"consistency", "search_range", "local_pca", "local_dimension", "datasets"},
    {"judgment", "least_distortion"},
    {"graphs"},
    {"evaluation"},
    {"selectors"},
    {"dimension"},
    {"estimators", "forecasting"},
    {"anndata", "display", "experiments", "files"},
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def imports(path):
    """Names of the package's parts that a file imports, also inside functions; not those for type checkers alone."""
    waiting = [ast.parse((ROOT / path).read_text())]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            waiting += node.orelse
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            inside = path.parts[: len(path.parts) - node.level]
            full = [*inside, *(node.module or "").split(".")]
            yield from [full[0]] if full[0] else {alias.name for alias in node.names} - {"__version__"}


@pytest.mark.parametrize("path", [p for p in MODULES if p != Path("__init__.py")], ids=str)
def test_layers_only_look_down(path):
    own = LEVEL[path.parts[0].removesuffix(".py")]
    for name in imports(path):
        assert LEVEL[name] <= own, f"{path} imports {name}, which stands above it"


@pytest.mark.slow
def test_results_are_shown_without_importing_a_display():
    import subprocess
    import sys

    code = (
        "import sys, geolap; s = geolap.select_bandwidth([[0.0], [1.0], [3.0], [4.0]], 'knn', n_neighbors=2);"
        "assert not [m for m in sys.modules if m.startswith('geolap.display')];"
        "assert s._repr_html_().startswith('<div') and s.to_html().startswith('<!DOCTYPE') and s.plot().ax_"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, env={**os.environ, "MPLBACKEND": "agg"})


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_opens_with_a_docstring_and_its_public_names(path):
    tree = ast.parse((ROOT / path).read_text())
    assert ast.get_docstring(tree)
    assigned = [
        n.targets[0] if isinstance(n, ast.Assign) else n.target
        for n in tree.body
        if isinstance(n, ast.Assign | ast.AnnAssign)
    ]
    assert "__all__" in [getattr(target, "id", "") for target in assigned]


@pytest.mark.parametrize("name", geolap.__all__)
def test_public_names_exist_and_are_documented(name):
    assert "    <" not in getattr(geolap, name).__doc__  # the mark of a part that several have in common


def test_every_rule_is_documented_where_it_is_chosen():
    for name in geolap.choices.RULES:
        assert f'"{name}"' in geolap.select_bandwidth.__doc__


def test_importing_the_package_does_not_import_optional_libraries():
    import subprocess
    import sys

    optional = ("matplotlib", "plotly", "torch", "dask", "faiss", "pyamg", "anndata", "networkx")
    code = f"import sys, geolap; print([m for m in {optional} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_names_for_type_checkers_are_the_public_names():
    tree = ast.parse((ROOT / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {*geolap.__all__, "display", "experiments"}


def test_no_public_name_is_hidden_by_a_module():
    modules = {path.parts[0].removesuffix(".py") for path in MODULES}
    assert {name for name in geolap.__all__ if name in modules} == {"anndata", "datasets"}
    assert geolap.experiments.__name__ == "geolap.experiments"
    assert geolap.display.__name__ == "geolap.display"


def test_importing_the_package_loads_nothing_heavy():
    import subprocess
    import sys

    code = "import sys, geolap; dir(geolap); print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
