"""What is read from files, what is said about it, and how results are written."""

import gzip
import os
import re
import subprocess
import sys
from datetime import date

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import io, sparse

from geolap.files import FileError, check_output, read_table, replaced_file, write_matrix, write_table

X = np.random.default_rng(0).normal(size=(12, 3)).round(6)
NAMES = ["a", "b", "c"]
ROWS = [f"cell{k}" for k in range(12)]
KINDS = ["p", "q"] * 6


def frame():
    return pd.DataFrame(X, columns=NAMES).assign(kind=KINDS)


def matlab73(path, values):
    """As MATLAB writes it: HDF5 behind a header, columns first."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset("X", data=values.T).attrs["MATLAB_class"] = np.bytes_("double")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def annotated(values=X):
    obs = pd.DataFrame({"kind": pd.Categorical(KINDS), "depth": np.arange(12.0)}, index=ROWS)
    obs["batch"] = pd.array([1, None] * 6, dtype="Int64")
    return anndata.AnnData(values, obs=obs, var=pd.DataFrame(index=NAMES), obsm={"X_map": X[:, :2]})


WRITERS = {
    "x.npy": lambda p: np.save(p, X),
    "x.npz": lambda p: np.savez(p, X),
    "several.npz": lambda p: np.savez_compressed(p, X=X, y=np.arange(12)),
    "sparse.npz": lambda p: sparse.save_npz(p, sparse.csr_array(X)),
    "x.csv": lambda p: frame().to_csv(p, index=False),
    "indexed.csv": lambda p: frame().set_index(pd.Index(ROWS)).to_csv(p),
    "counted.csv": lambda p: frame().to_csv(p),
    "counted_by_name.csv": lambda p: frame().to_csv(p, index_label="sample"),
    "numbered.csv": lambda p: pd.DataFrame(X).to_csv(p, index=False),
    "numbered_twice.csv": lambda p: pd.DataFrame(X).to_csv(p),
    "bare.csv": lambda p: np.savetxt(p, X, delimiter=","),
    "spaces.txt": lambda p: np.savetxt(p, X, header="made by hand"),
    "x.tsv": lambda p: frame().to_csv(p, sep="\t", index=False),
    "x.csv.gz": lambda p: frame().to_csv(p, index=False),
    "semicolons.csv": lambda p: frame().to_csv(p, sep=";", decimal=",", index=False),
    "quoted_commas.csv": lambda p: frame().to_csv(p, decimal=",", index=False),
    "all_quoted.csv": lambda p: frame().to_csv(p, quoting=1, index=False),
    "marked.csv": lambda p: frame().to_csv(p, encoding="utf-8-sig", index=False),
    "wide.csv": lambda p: frame().to_csv(p, encoding="utf-16", index=False),
    "western.csv": lambda p: frame().rename(columns={"kind": "espèce"}).to_csv(p, encoding="latin-1", index=False),
    "windows.csv": lambda p: frame().to_csv(p, index=False, lineterminator="\r\n"),
    "r.csv": lambda p: p.write_text(frame().set_index(pd.Index(ROWS)).to_csv()[1:]),  # R names no column of row names
    "x.parquet": lambda p: frame().to_parquet(p),
    "indexed.parquet": lambda p: frame().set_index(pd.Index(ROWS)).to_parquet(p),
    "x.mat": lambda p: io.savemat(p, {"X": X, "info": {"by": "hand"}}),
    "packed.mat": lambda p: io.savemat(p, {"data": X}, do_compression=True),
    "four.mat": lambda p: io.savemat(p, {"X": X}, format="4"),
    "sparse.mat": lambda p: io.savemat(p, {"S": sparse.csc_array(X)}),
    "new.mat": lambda p: matlab73(p, X),
    "x.h5ad": lambda p: annotated().write_h5ad(p),
    "sparse.h5ad": lambda p: annotated(sparse.csr_array(X)).write_h5ad(p),
    "x.h5": lambda p: h5py.File(p, "w").create_dataset("deep/inside", data=X).file.close(),
    "array.zarr": lambda p: zarr.save(p, X),
    "old.zarr": lambda p: zarr.create_array(p, data=X, zarr_format=2),
    "group.zarr": lambda p: zarr.open_group(p, mode="w").create_array("X", data=X),
    "annotated.zarr": lambda p: annotated().write_zarr(p),
    "unnamed": lambda p: np.save(p.open("wb"), X),
}


@pytest.fixture
def written(tmp_path, recwarn):
    def write(name):
        WRITERS[name](tmp_path / name)
        return tmp_path / name

    return write


@pytest.mark.filterwarnings("ignore")  # of the libraries that write
@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_points(name, written):
    table = read_table(written(name))
    np.testing.assert_allclose(table.points, X, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["indexed.csv", "r.csv", "indexed.parquet", "x.h5ad", "annotated.zarr"])
def test_names_of_rows_and_columns_are_kept(name, written):
    table = read_table(written(name))
    assert table.columns == tuple(NAMES)
    assert table.row_names == tuple(ROWS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.csv.gz", "x.parquet", "x.h5ad", "annotated.zarr"])
def test_labels_are_a_column_of_the_file(name, written):
    table = read_table(written(name), labels="kind")
    assert table.labels.tolist() == KINDS
    assert table.points.shape == X.shape
    assert not any("kind" in note for note in table.notes)


def test_labels_may_be_another_array(tmp_path):
    np.savez(tmp_path / "xy.npz", X=X, y=np.arange(12) % 3)
    io.savemat(tmp_path / "xy.mat", {"X": X, "y": np.arange(12) % 3, "names": np.array(KINDS, dtype=object)})
    for name in ("xy.npz", "xy.mat"):
        assert read_table(tmp_path / name, labels="y").labels.tolist() == (np.arange(12) % 3).tolist()
    assert read_table(tmp_path / "xy.mat", labels="names").labels.tolist() == KINDS


def test_labels_of_matlabs_latest_version_are_read_with_its_points(tmp_path):
    matlab73(tmp_path / "x.mat", X)
    with h5py.File(tmp_path / "x.mat", "a") as file:
        file.create_dataset("y", data=np.arange(12.0)[None] % 3).attrs["MATLAB_class"] = np.bytes_("double")
    table = read_table(tmp_path / "x.mat", array="X", labels="y")
    assert table.points.shape == (12, 3)
    assert table.labels.tolist() == [0, 1, 2] * 4


def test_only_columns_of_points_count_as_columns(tmp_path):
    matlab73(tmp_path / "new.mat", X)
    io.savemat(tmp_path / "x.mat", {"X": X, "y": np.arange(12) % 3, "others": X.T})
    np.save(tmp_path / "x.npy", X.T)
    for name, options in (("new.mat", {}), ("x.mat", {"array": "X", "labels": "y"}), ("x.npy", {"transpose": True})):
        np.testing.assert_array_equal(read_table(tmp_path / name, max_columns=3, **options).points, X)


def test_records_are_told_to_be_saved_as_columns(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(12, dtype=[("a", "f8"), ("kind", "U1")]))
    with pytest.raises(FileError, match=r"must be a table of real numbers, .* and fields, .*, as columns"):
        read_table(tmp_path / "x.npy")


@pytest.mark.slow
def test_labels_may_be_missing(tmp_path):
    annotated().write_h5ad(tmp_path / "x.h5ad")
    assert read_table(tmp_path / "x.h5ad", labels="batch").labels.tolist() == [1, -1] * 6
    frame().assign(kind=["p", None, "NA", " ", "q", "-1"] * 2).to_csv(tmp_path / "x.csv", index=False)
    assert read_table(tmp_path / "x.csv", labels="kind").labels.tolist() == ["p", None, None, None, "q", "-1"] * 2
    numbered = frame().assign(kind=[1.0, np.nan, 2.0] * 4)
    numbered.to_parquet(tmp_path / "x.parquet")
    numbered.to_csv(tmp_path / "y.csv", index=False)
    for name in ("x.parquet", "y.csv"):
        assert read_table(tmp_path / name, labels="kind").labels.tolist() == [1, -1, 2] * 4


@pytest.mark.parametrize("label", ["inf", "-inf", "1000000000000000019884624838656"])
def test_labels_beyond_whole_numbers_are_words(label, tmp_path):
    (tmp_path / "x.csv").write_text(f"a,kind\n1,{label}\n2,1\n4,2\n")
    assert read_table(tmp_path / "x.csv", labels="kind").labels.tolist() == [label, "1", "2"]


def test_labels_are_no_fractions(tmp_path):
    frame().to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(FileError, match="classes"):
        read_table(tmp_path / "x.csv", labels="a")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_one_of_several_arrays_is_chosen_and_others_are_listed(tmp_path):
    np.savez(tmp_path / "x.npz", one=X, other=X[:, :2])
    with pytest.raises(FileError, match="it has 'one', 'other': choose one with --array"):
        read_table(tmp_path / "x.npz")
    assert read_table(tmp_path / "x.npz", array="other").points.shape == (12, 2)
    with pytest.raises(FileError, match="no 'third': it has 'one', 'other'"):
        read_table(tmp_path / "x.npz", array="third")
    annotated().write_h5ad(tmp_path / "x.h5ad")
    table = read_table(tmp_path / "x.h5ad", array="obsm/X_map")
    assert table.points.shape == (12, 2)
    assert table.row_names == tuple(ROWS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_labels_of_annotated_columns_are_those_of_var(tmp_path):
    var = pd.DataFrame({"kind": KINDS}, index=ROWS)
    anndata.AnnData(X.T, obs=pd.DataFrame(index=NAMES), var=var).write_h5ad(tmp_path / "x.h5ad")
    table = read_table(tmp_path / "x.h5ad", transpose=True, labels="kind")
    np.testing.assert_array_equal(table.points, X)
    assert (table.columns, table.row_names) == (tuple(NAMES), tuple(ROWS))
    assert table.labels.tolist() == KINDS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_principal_components_are_the_points_of_annotated_data_that_has_them(tmp_path):
    data = annotated()
    data.obsm["X_pca"] = X[:, :2]
    data.write_h5ad(tmp_path / "x.h5ad")
    table = read_table(tmp_path / "x.h5ad", labels="KIND")
    assert table.points.shape == (12, 2)
    assert any("The points are obsm/X_pca" in note and "--array X" in note for note in table.notes)
    assert table.labels.tolist() == read_table(tmp_path / "x.h5ad", array="X", labels="kind").labels.tolist()


def test_arrays_and_columns_are_found_whatever_their_capitals(tmp_path):
    io.savemat(tmp_path / "x.mat", {"x": X, "Labels": np.arange(12) % 3, "more": X[:, :2]})
    table = read_table(tmp_path / "x.mat", labels="labels")
    assert table.array == "x"
    assert table.labels.tolist() == [0, 1, 2] * 4
    frame().to_csv(tmp_path / "x.csv", index=False)
    assert read_table(tmp_path / "x.csv", labels="KIND").labels.tolist() == KINDS
    (tmp_path / "both.csv").write_text("a,A,b\n1,2,3\n4,5,6\n7,8,1\n")
    assert read_table(tmp_path / "both.csv", columns=["A"]).points.ravel().tolist() == [2, 5, 8]


def test_columns_may_be_the_points(tmp_path):
    io.savemat(tmp_path / "x.mat", {"X": X.T, "y": np.arange(12) % 3})
    assert any("--transpose" in note for note in read_table(tmp_path / "x.mat").notes)
    table = read_table(tmp_path / "x.mat", transpose=True, labels="y")
    np.testing.assert_array_equal(table.points, X)
    assert table.labels.tolist() == [0, 1, 2] * 4
    assert not any("--transpose" in note for note in table.notes)
    pd.DataFrame(X.T, index=["g0", "g1", "g2"], columns=ROWS).to_csv(tmp_path / "genes.csv", index_label="gene")
    table = read_table(tmp_path / "genes.csv", transpose=True)
    np.testing.assert_array_equal(table.points, X)
    assert table.columns == ("g0", "g1", "g2")
    assert table.row_names == tuple(ROWS)
    (tmp_path / "words.csv").write_text("gene,a,b\nx,1,red\ny,2,blue\nz,4,red\n")
    with pytest.raises(FileError, match=r"must be numbers; column 'b' of 'words\.csv' contains text"):
        read_table(tmp_path / "words.csv", transpose=True)


def test_what_stands_for_nothing_may_be_said(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n-999,4\n5,gone\n7,8.5\n")
    table = read_table(tmp_path / "x.csv", na_values=["-999", "gone"], missing="rows")
    assert table.points.tolist() == [[1, 2], [7, 8.5]]
    np.save(tmp_path / "x.npy", np.array([[1, 2], [-999, 3], [4, 5]]))
    assert read_table(tmp_path / "x.npy", na_values=["-999"], missing="rows").points.tolist() == [[1, 2], [4, 5]]


def test_lines_above_the_table_are_skipped_and_thousands_read(tmp_path):
    (tmp_path / "x.csv").write_text('Measured in May\nby hand\na,b\n"1,234",2.5\n"12,345",3\n7,"1,000,000"\n')
    table = read_table(tmp_path / "x.csv", skip_rows=2, thousands=",")
    assert table.points.tolist() == [[1234, 2.5], [12345, 3], [7, 1e6]]
    (tmp_path / "y.csv").write_text("a;b\n1.234,5;2\n12.345;3\n7;1,25\n")
    assert read_table(tmp_path / "y.csv", thousands=".").points.tolist() == [[1234.5, 2], [12345, 3], [7, 1.25]]
    (tmp_path / "titled.csv").write_text("t,x\na,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(FileError, match="--skip-rows"):
        read_table(tmp_path / "titled.csv")


PRICES = "x,y,price\n0.844,0.758,{}\n0.125,0.5,{}\n1.5,0.25,812\n"


@pytest.mark.parametrize(
    ("cells", "found", "options"),
    [
        ('"4,364" "1,200"', r"1 numbers and 2 other cells, first '4,364' in row 1", {"thousands": ","}),
        ('"4,364" "1,200"', r"1 numbers and 2 other cells, first '4,364' in row 1", {"decimal": ","}),
        ('"4,364.57" "1,200"', r"first '4,364.57' in row 1", {"thousands": ","}),
        ('812 "1,234,567"', r"2 numbers and 1 other cell, first '1,234,567' in row 2", {"thousands": ","}),
        ('"4,36" "1,200"', r"first '4,36' in row 1", {"decimal": ","}),
        ('"1.234,5" 3', r"first '1.234,5' in row 1", None),
        ("1'234.5 3", r"first \"1'234.5\" in row 1", {"thousands": "'"}),
    ],
)
def test_a_column_of_numbers_with_other_signs_is_refused_not_lost(cells, found, options, tmp_path):
    (tmp_path / "x.csv").write_text(PRICES.format(*cells.split()))
    with pytest.raises(
        FileError, match=f"'price' of .*{found}: .* --thousands and --decimal .* or leave it out with --drop"
    ):
        read_table(tmp_path / "x.csv")
    for without in ({"drop": ["price"]}, {"columns": ["x", "y"]}, {"labels": "price", "classes": False}):
        assert read_table(tmp_path / "x.csv", **without).columns == ("x", "y")
    if options is not None:
        assert read_table(tmp_path / "x.csv", **options).columns == ("x", "y", "price")


def test_spaces_between_thousands_are_told(tmp_path):
    (tmp_path / "x.csv").write_text("x;price\n0.5;1 234,5\n2.5;1 000\n1.5;812\n")
    with pytest.raises(FileError, match=r"first '1 234,5' in row 1: .* --thousands and --decimal"):
        read_table(tmp_path / "x.csv")
    assert read_table(tmp_path / "x.csv", thousands=" ", decimal=",").points[:, 1].tolist() == [1234.5, 1000, 812]


def test_words_among_which_is_a_number_with_a_comma_are_text(tmp_path):
    (tmp_path / "x.csv").write_text(PRICES.format('"4,364"', "unknown").replace("812", "sold"))
    assert read_table(tmp_path / "x.csv").notes == ("Column left out, text: 'price'.",)


@pytest.mark.slow
def test_sheets_are_read_as_text_is(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["Measured in May"])
    book.active.append([])
    for row in (["id", "a", "day", "kind"], *([f"r{k}", X[k, 0], date(2020, 1, 1 + k), KINDS[k]] for k in range(12))):
        book.active.append(row)
    book.create_sheet("other").append([1, 2])
    book.save(tmp_path / "x.xlsx")
    table = read_table(tmp_path / "x.xlsx", skip_rows=2, labels="kind")
    np.testing.assert_array_equal(table.points[:, 0], X[:, 0])
    assert table.columns == ("a",)
    assert table.row_names[:2] == ("r0", "r1")
    assert table.labels.tolist() == KINDS
    assert table.array == "Sheet"
    prices = book.create_sheet("prices")
    for row in (["x", "price"], [0.5, "4,364"], [1.234, "1,200"], [2.5, 812]):
        prices.append(row)
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(FileError, match=r"'price' of 'x\.xlsx' has 1 numbers and 2 other cells, first '4,364' in row 1"):
        read_table(tmp_path / "x.xlsx", array="prices")
    expected = [[0.5, 4364], [1.234, 1200], [2.5, 812]]
    assert read_table(tmp_path / "x.xlsx", array="prices", thousands=",").points.tolist() == expected
    with pytest.raises(FileError, match="no 'third': it has 'Sheet', 'other'"):
        read_table(tmp_path / "x.xlsx", array="third")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"columns": ["b"]}, ("b",)),
        ({"columns": ["c,a"]}, ("c", "a")),
        ({"columns": ["[ab]"]}, ("a", "b")),
        ({"columns": ["0:2"]}, ("a", "b")),
        ({"drop": ["b"]}, ("a", "c")),
        ({"labels": "-1"}, ("a", "b", "c")),
        ({"index": "a"}, ("b", "c")),
    ],
)
def test_columns_are_chosen_by_name_pattern_and_position(options, expected, written):
    assert read_table(written("x.csv"), **options).columns == expected


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path):
    frame().rename(columns={"a": "weight"}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(FileError, match="did you mean 'weight'"):
        read_table(tmp_path / "x.csv", columns=["wieght"])
    with pytest.raises(FileError, match=r"'kind' of .* contains text"):
        read_table(tmp_path / "x.csv", columns=["kind"])


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a,b,kind\n1,2,x\n3,4,y\n6,6,x\n", "Column left out, text: 'kind'."),
        ("n,a\nx,1\ny,2\nz,4\n", "The first column, 'n', names the rows."),
        (",a\n3,1\n7,2\n8,4\n", "The first column, which has no name, names the rows."),
        ("a,b,\n1,2,\n3,4,\n5,5,\n", "Column left out, empty: 'column3'."),
        ("a;b\n1,5;2\n3,25;4\n5;5\n", "Decimal commas were read as decimal points."),
        ("t,a\n1,2020-01-01\n3,2020-01-02\n6,2020-01-03\n", "Column left out, text: 'a'."),
        ("x1,1,2\nx2,2,3\nx3,4,5\n", "The first line was read as data (--header if it names the columns)."),
        ("# by hand\n1,2\n3,4\n6,6\n", "Lines that begin with # were skipped (1)."),
    ],
)
def test_whatever_is_decided_about_columns_is_said(text, note, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    table = read_table(tmp_path / "x.csv")
    assert note in table.notes
    assert len(table.points) == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,2\n3,x\n4,5\n5,6\n", "3 numbers and 1 other cell, first 'x' in row 2"),
        (
            "a,b\n1,2\n3\n4,5\n",
            r"reading failed .*Row #3: Expected 2 columns, got 1: 3\): correct it, or name its --separator",
        ),
        ('a;b\n"1,234";2\n"5,678";3\n', "0 numbers and 2 other cells, first '1,234' in row 1: .* --thousands and --decimal"),
        ("a,b\n1,2\n3,\n4,5\n", r"missing or infinite values \(1\) in 'b', first in row 2: correct them"),
        ("a,b\n1,2\n3,inf\n4,5\n", r"missing or infinite values \(1\) in 'b', first in row 2"),
        ("a,b,c\n1,2,\n,4,5\n,,5\n8,9,1\n", r"infinite values \(4\) in 'a', 'b', 'c', first in row 1"),
        ("a,b,c\n1,2,3\n,inf,5\n8,9,1\n", r"infinite values \(2\) in 'a', 'b', first in row 2"),
        ("a,b,c,d,e,f,g\n1,2,3,4,5,6,7\n,,,,,,\n", r"\(7\) in 'a', 'b', .*, 'g', first in row 2"),
        ("a,b\n", "it is empty, or has only a header"),
        ("a b c, d e\nf g, h i\n", "must have a column of numbers"),
        ("a,b\nx,y\nz,w\n", r"'x\.csv' must have a column of numbers; there is none among 'b': check"),
        ("a\nx\nz\n", "must have a column of numbers; there is none among 'a': check"),
        ("a,b\n1,true\n2,3\n3,4\n", "numbers, true/false or text; 'b' .* 2 numbers and 1 other cell, first 'true' in row 1"),
        ("a,a\n1,2\n3,4\n6,6\n", "must name every column; it has 1 distinct names for 2 columns"),
        ("a,b,c\n1,2\n3,4\n6,6\n", "must name every column; it has 3 distinct names for 2 columns"),
    ],
)
def test_a_table_that_is_not_one_is_a_sentence(text, sentence, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(FileError, match=sentence):
        read_table(tmp_path / "x.csv")


def test_true_and_false_are_1_and_0(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1,true,1\n3,False,true\n5,TRUE,0\n")
    assert read_table(tmp_path / "x.csv").points.tolist() == [[1, 1, 1], [3, 0, 1], [5, 1, 0]]


@pytest.mark.parametrize("text", ["a,b\n1,2,\n3,4,\n5,6,\n", "a,b,\n1,2,\n3,4,\n5,6,\n"])
def test_a_separator_at_the_end_of_lines_separates_nothing(text, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    table = read_table(tmp_path / "x.csv")
    assert table.points.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert table.columns == ("a", "b")


def test_words_that_look_like_numbers_stay_words(tmp_path):
    (tmp_path / "x.csv").write_text("id,a,kind\n001,1,007\n002,2,08\n003,3,007\n004,4,\n005,5,08\n")
    table = read_table(tmp_path / "x.csv", labels="kind")
    assert table.row_names == ("001", "002", "003", "004", "005")
    assert table.labels.tolist() == ["007", "08", "007", None, "08"]
    assert table.columns == ("a",)


def test_an_empty_line_within_quotes_is_part_of_a_cell(tmp_path):
    (tmp_path / "x.csv").write_text('\na,b,c\n"x\n\ny",1,2\n\nz,3,4\n')
    assert read_table(tmp_path / "x.csv").row_names == ("x\n\ny", "z")


def test_cells_of_a_file_of_tabs_may_hold_commas(tmp_path):
    (tmp_path / "x.tsv").write_text("a;b,c\n1\n2\n4\n")
    assert read_table(tmp_path / "x.tsv").columns == ("a;b,c",)


def test_numbers_in_text_are_read_to_the_last_bit(tmp_path):
    values = np.random.default_rng(1).normal(size=(2000, 3)) * 10.0 ** np.arange(-150, 151, 150)
    pd.DataFrame(values, columns=NAMES).to_csv(tmp_path / "x.csv", index=False)
    np.testing.assert_array_equal(read_table(tmp_path / "x.csv").points, values)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('a, b, c\n "x, y", 1, 2\n "z", 3, 4\n', ("x, y", "z")),
        ('a,b,c\n"x\ny",1,2\nz,3,4\n', ("x\ny", "z")),
        ('"a\nb",c,d\nx,1,2\nz,3,4\n', ("x", "z")),
    ],
)
def test_quotes_may_follow_spaces_and_hold_lines(text, rows, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    table = read_table(tmp_path / "x.csv")
    assert table.points.tolist() == [[1, 2], [3, 4]]
    assert table.row_names == rows


def test_identifiers_with_underscores_are_no_numbers(tmp_path):
    (tmp_path / "x.csv").write_text("sample,a\n1_1,2\n1_2,3\n1_3,5\n")
    assert read_table(tmp_path / "x.csv").row_names == ("1_1", "1_2", "1_3")


def test_text_far_down_a_column_is_found(tmp_path):
    lines = [f"{k % 7},{k % 5}" for k in range(30_000)]
    lines[20_000] = "3,oops"
    (tmp_path / "x.csv").write_text("a,b\n" + "\n".join(lines))
    with pytest.raises(FileError, match="29999 numbers and 1 other cell, first 'oops' in row 20001"):
        read_table(tmp_path / "x.csv")
    table = read_table(tmp_path / "x.csv", labels="b")
    assert table.labels[20_000] == "oops"
    assert table.labels[19_999] == str(19_999 % 5)


def test_rows_or_columns_with_missing_values_are_left_out_if_asked(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,k\n1,2,p\n3,,q\n4,5,r\n")
    table = read_table(tmp_path / "x.csv", missing="rows", labels="k")
    assert table.points.tolist() == [[1, 2], [4, 5]]
    assert table.row_names == ("0", "2")
    assert table.labels.tolist() == ["p", "r"]
    assert read_table(tmp_path / "x.csv", missing="columns").columns == ("a",)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("a,b\n1,\n,2\n3,5\n", "correct them, or leave them out with --missing rows (every column has some)."),
        ("a,b\n1,\n2,\n3,\n4,5\n", "correct them, or leave them out with --missing rows or --missing columns."),
        ("a,b\n1,\n,2\n3,\n", "correct them (every row and every column has some)."),
        ("a,b\n1,inf\n2,inf\n", "correct them, or leave them out with --missing columns (every row has some)."),
    ],
)
def test_missing_values_are_left_out_only_where_something_remains(text, advice, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    for missing in ("error", "rows", "columns"):
        if f"--missing {missing}" not in advice:
            with pytest.raises(FileError, match=re.escape(advice)):
                read_table(tmp_path / "x.csv", missing=missing)


@pytest.mark.parametrize(
    ("first", "others", "header"),
    [
        ("country,1960,1961,1962", "{},{}.5,7,3", True),
        ("country,code,2000,2005,2010,", "{},x,{},1999,3,", True),
        (",1960,1961,1962", "{},{},2,3", True),
        ("a,1960,1961,1963", "{},{},2,3", False),  # at no equal steps
        ("a,1962,1961,1960", "{},{},2,3", False),
        ("a,1960,1961", "{},{},2", False),  # two may be chance
        ("a,1960,1961,1962", "{},19{}0,1999,2003", False),  # as all rows are
        ("a,1,2,3", "{},{},2,3", False),
    ],
)
def test_a_header_may_count_years(first, others, header, tmp_path):
    (tmp_path / "x.csv").write_text("\n".join([first, *(others.format(f"c{k}", k) for k in range(1, 6)), ""]))
    table = read_table(tmp_path / "x.csv")
    assert any("names columns by years" in note for note in table.notes) == header
    assert len(table.points) == (5 if header else 6)
    assert not header or table.columns == tuple(name for name in first.split(",") if name.isdecimal())
    assert len(read_table(tmp_path / "x.csv", header=False).points) == 6


def test_a_large_array_stays_in_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr("geolap.files.arrays._LARGE", 100)
    np.save(tmp_path / "x.npy", X)
    assert isinstance(read_table(tmp_path / "x.npy", max_bytes=10).points, np.memmap)


def test_limits_are_told_before_anything_is_read(tmp_path):
    np.save(tmp_path / "x.npy", X)
    frame().to_csv(tmp_path / "x.csv")
    for name in ("x.npy", "x.csv"):
        with pytest.raises(FileError, match="may take 100 bytes of memory"):
            read_table(tmp_path / name, max_bytes=100)
        with pytest.raises(FileError, match="may have 2 columns"):
            read_table(tmp_path / name, max_columns=2)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "tsv", "npz", "parquet"])
def test_a_written_table_can_be_read_again(suffix, tmp_path):
    path = tmp_path / f"map.{suffix}"
    write_table(path, {"row": np.array(ROWS, dtype=object), "x1": X[:, 0], "kind": np.array([*KINDS[1:], None], object)})
    if suffix == "npz":
        with np.load(path) as content:
            assert content["row"].tolist() == ROWS
            np.testing.assert_array_equal(content["x1"], X[:, 0])
    else:
        table = read_table(path, labels="kind")
        assert table.row_names == tuple(ROWS)
        np.testing.assert_array_equal(table.points[:, 0], X[:, 0])
        assert table.labels.tolist() == [*KINDS[1:], None]


@pytest.mark.parametrize("matrix", [X @ X.T, sparse.csr_array(np.diag(X[:, 0]))], ids=["full", "sparse"])
def test_a_written_matrix_is_loaded_by_scipy(matrix, tmp_path):
    write_matrix(tmp_path / "L.npz", matrix, bandwidth=0.5)
    loaded = sparse.load_npz(tmp_path / "L.npz")
    np.testing.assert_array_equal(loaded.toarray(), matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
    with np.load(tmp_path / "L.npz") as content:
        assert content["bandwidth"] == 0.5


def test_an_interrupted_write_leaves_no_half_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("before")

    def interrupted():
        with replaced_file(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_full_disk_leaves_no_half_file(tmp_path):
    resource = pytest.importorskip("resource")
    code = (
        "import sys, numpy as np; from geolap.files import write_table, FileError\n"
        "try: write_table(sys.argv[1], {'x': np.arange(100_000.0)})\n"
        "except FileError as error: print(error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "x.csv")],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    assert "must be written completely" in told.stdout
    assert os.listdir(tmp_path) == []


@pytest.mark.posix
def test_writing_keeps_links_and_permissions(tmp_path):
    target = tmp_path / "target.csv"
    target.write_text("before")
    target.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(target)
    write_table(tmp_path / "link.csv", {"x": np.arange(2)})
    assert (tmp_path / "link.csv").is_symlink()
    assert target.read_text() == "x\n0\n1\n"
    assert target.stat().st_mode & 0o777 == 0o640


def test_outputs_that_cannot_be_written_are_told_before_the_work(tmp_path):
    (tmp_path / "in.csv").write_text("1,2\n")
    (tmp_path / "folder.csv").mkdir()
    for path, sentence in (
        (tmp_path / "missing" / "x.csv", "folder of an output must exist"),
        (tmp_path / "x.docx", "must end in .csv"),
        (tmp_path, "must end in .csv"),
        (tmp_path / "in.csv", "must not overwrite its input"),
        (tmp_path / "folder.csv", "must not overwrite its input, a folder or a device"),
    ):
        with pytest.raises(FileError, match=sentence):
            check_output(path, inputs=[tmp_path / "in.csv"])


@pytest.mark.posix
def test_no_pipe_is_replaced_by_an_output(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileError, match="must not overwrite its input, a folder or a device"):
        check_output(tmp_path / "pipe.csv")


@pytest.mark.posix
def test_text_is_read_from_a_pipe_and_by_its_first_bytes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    content = gzip.compress(b"a,b\n1,2\n3,4\n5,5\n")
    with subprocess.Popen([sys.executable, "-c", f"open({str(tmp_path / 'pipe')!r}, 'wb').write({content!r})"]):
        assert read_table(tmp_path / "pipe").points.tolist() == [[1, 2], [3, 4], [5, 5]]


@pytest.mark.parametrize("name", ["x.xls", "x.PKL"])
def test_a_kind_that_is_not_read_is_told_what_to_become(name, tmp_path):
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\x00")
    with pytest.raises(FileError, match=rf"'{name}' must be text or have a format that is read; .* save it as .csv"):
        read_table(tmp_path / name)


@pytest.mark.filterwarnings("ignore")  # of the libraries that write
@pytest.mark.parametrize("asked", ["X_pca", "obsm/X_pc"])
def test_an_array_by_nearly_its_name_is_asked_back(asked, tmp_path):
    anndata.AnnData(X, obsm={"X_pca": X}).write_h5ad(tmp_path / "cells.h5ad")
    with pytest.raises(FileError, match=f"there is no '{asked}': did you mean 'obsm/X_pca'"):
        read_table(tmp_path / "cells.h5ad", array=asked)
