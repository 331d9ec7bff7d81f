"""What the pages list is what there is."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.datasets import load_digits

import geolap
from geolap.choices import RULES
from geolap.selectors import METHODS

ROOT = Path(__file__).parents[1]


def test_every_public_name_has_a_page():
    page = (ROOT / "docs" / "_templates" / "api.rst").read_text()
    listed = re.findall(r"^   ~?(?:\w+\.)*(\w+)$", page, re.MULTILINE)
    listed += [rule.selector for name, rule in RULES.items() if name != "gc"]  # as docs/conf.py does
    modules = [getattr(geolap, name) for name in geolap.__all__ if isinstance(getattr(geolap, name), ModuleType)]
    public = {name for name in geolap.__all__ if getattr(geolap, name) not in modules}
    for module in modules:
        public.update(module.__all__)
    assert public - {*listed} == set()
    assert len(listed) == len({*listed})


def test_the_gallery_has_every_example_in_its_place(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    from gallery_order import ORDER

    assert {*ORDER} == {path.name for path in (ROOT / "examples").glob("*.py")}


@pytest.mark.slow
def test_the_first_answer_is_the_one_that_is_printed():
    X = load_digits().data
    said = str(geolap.GeometricConsistency(random_state=0).fit(X).selection_.explain())
    for page in ("README.md", "docs/quick_start.md"):
        assert said in (ROOT / page).read_text()


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r'(?:\]\(|src="|srcset=")([^)"]+)', (ROOT / "README.md").read_text())
    local = [link.split("#")[0] for link in links if not link.startswith("http")]
    assert local
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_the_citation_is_of_this_version():
    assert f"\nversion: {geolap.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_every_rule_is_public_and_has_a_row_in_the_table():
    rows = [line for line in (ROOT / "docs" / "rules.md").read_text().splitlines() if line.startswith("| `")]
    for name, selector in METHODS.items():
        assert getattr(geolap, selector.__name__) is selector
        assert any(f"`{name}`" in row and f"`{selector.__name__}`" in row for row in rows), name


def test_the_site_offers_its_newest_release_first(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "docs"), *sys.path])
    import versions

    for name in ("main", "0.2.0", "0.10.0"):
        (tmp_path / name).mkdir()
    versions.write(tmp_path)
    entries = json.loads((tmp_path / "versions.json").read_text())
    assert [entry["version"] for entry in entries] == ["0.10.0", "0.2.0", "main"]
    assert entries[0]["preferred"]
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text()
