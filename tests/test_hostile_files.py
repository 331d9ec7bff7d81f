"""Broken and hostile files: one sentence and exit code 2 each, never a traceback, and nothing in them is run."""

import gzip
import json
import os
import pickle
import signal
import zipfile
from contextlib import suppress

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from anndata import AnnData
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from scipy import io, sparse

from geolap.cli.commands import app
from geolap.files import FORMATS, FileError, Table, read_table, write_table
from geolap.files.reading import ISOLATED, parsed
from geolap.files.source import Source

X = np.random.default_rng(0).normal(size=(20, 4))


class Bomb:
    """Leaves a mark if it is ever unpickled."""

    def __init__(self, mark):
        self._mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self._mark),)


def cut(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


def npy_header(shape, descr="<f8"):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def member(path, content, declared=None):
    """A .npz of one array from raw bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", content)


def zip_bomb(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive, archive.open("X.npy", "w") as out:
        out.write(npy_header((2**18, 600)))
        for _ in range(600):
            out.write(bytes(8 * 2**18))


def zarr_array(path, codec, content=b""):
    path.mkdir()
    about = {"zarr_format": 2, "shape": [20, 4], "chunks": [20, 4], "dtype": "<f8", "compressor": None, "order": "C"}
    (path / ".zarray").write_text(json.dumps({**about, "fill_value": 0, "filters": [codec]}))
    (path / "0.0").write_bytes(content)


def hdf5(path, fill):
    with h5py.File(path, "w") as file:
        fill(file)


def savemat_cut(path):
    io.savemat(path, {"X": X})
    cut(path, 0.5)


def written_and_cut(path, write, share=0.6):
    write(path)
    cut(path, share)


HOSTILE = {
    # cut short
    "cut.npy": lambda p: written_and_cut(p, lambda q: np.save(q, X)),
    "cut.npz": lambda p: written_and_cut(p, lambda q: np.savez(q, X)),
    "cut.mat": savemat_cut,
    "cut_packed.mat": lambda p: written_and_cut(p, lambda q: io.savemat(q, {"X": X}, do_compression=True)),
    "cut.parquet": lambda p: written_and_cut(p, pd.DataFrame(X, columns=list("abcd")).to_parquet),
    "cut.h5ad": lambda p: written_and_cut(p, AnnData(X).write_h5ad),
    "cut.csv.gz": lambda p: p.write_bytes(gzip.compress(b"1,2\n3,4\n" * 1000)[:-20]),
    # lies
    "lying.npy": lambda p: p.write_bytes(npy_header((2_000_000, 400_000)) + bytes(640)),
    "overflowing.npy": lambda p: p.write_bytes(npy_header((2**62, 2**62)) + bytes(640)),
    "negative.npy": lambda p: p.write_bytes(npy_header((-2, 4)) + bytes(640)),
    "nested.npy": lambda p: p.write_bytes(npy_header("[" * 90 + "]" * 90)),
    "call.npy": lambda p: p.write_bytes(npy_header("__import__('os').getpid()")),
    "lying.npz": lambda p: member(p, npy_header((10**9, 10**6)) + bytes(640)),
    "lying.csv": lambda p: np.save(p.open("wb"), X),
    "lying.parquet": lambda p: p.write_bytes(b"PAR1" + bytes(100) + b"PAR1"),
    "lying.h5ad": lambda p: p.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(1000)),
    "lying.mat": lambda p: p.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + bytes(range(256))),
    "lying_sparse.npz": lambda p: np.savez(
        p, format=b"csr", shape=(9, 9), data=X[0], indices=np.array([0, 1, 2, 99]), indptr=np.arange(10) * 7
    ),
    # too much
    "million_columns.npy": lambda p: np.save(p, np.zeros((3, 10**6))),
    "million_columns.csv": lambda p: p.write_text(",".join(["1"] * 10**6) + "\n"),
    "bomb.npz": zip_bomb,
    "endless_line.csv.gz": lambda p: p.write_bytes(gzip.compress(b"1" * 70_000_000, 1)),
    "long_cell.csv": lambda p: p.write_text("a,b\n1," + "2" * 200_000),
    "huge.h5": lambda p: hdf5(p, lambda f: f.create_dataset("X", (10**9, 1000), chunks=(1000, 1000))),
    "huge_sparse.npz": lambda p: sparse.save_npz(p, sparse.csr_array((10**6, 10**5))),
    # code
    "pickle.npy": lambda p: np.save(p, np.array([[Bomb(p.parent / "mark")]]), allow_pickle=True),
    "pickle.npz": lambda p: np.savez(p, X=np.array([[Bomb(p.parent / "mark")]])),
    "pickled.npy": lambda p: p.write_bytes(pickle.dumps(Bomb(p.parent / "mark"))),
    "pickled_member.npz": lambda p: member(p, pickle.dumps(Bomb(p.parent / "mark"))),
    "pickle.zarr": lambda p: zarr_array(p, {"id": "pickle"}, pickle.dumps(Bomb(p.parent / "mark"))),
    "codec.zarr": lambda p: zarr_array(p, {"id": "base64"}),
    # other places
    "external_link.h5": lambda p: hdf5(p, lambda f: f.update({"X": h5py.ExternalLink("/etc/hostname", "X")})),
    "external_data.h5": lambda p: hdf5(p, lambda f: f.create_dataset("X", (9, 4), "u1", external=[("/etc/passwd", 0, 36)])),
    "soft_link.h5": lambda p: hdf5(
        p, lambda f: f.update({"out": h5py.ExternalLink("/etc/hostname", "/"), "X": h5py.SoftLink("/out/X")})
    ),
    "own_folder.h5": lambda p: hdf5(p, lambda f: [f.require_group("a").__setitem__(str(k), f["a"]) for k in range(5)]),
    # no numbers
    "text.csv": lambda p: p.write_text("to be, or not\nto be, that is\nthe, question"),
    "nan.npy": lambda p: np.save(p, np.where(X > 1, np.nan, X)),
    "nan.csv": lambda p: p.write_text("a,b\n1,2\nnan,3\n4,5\n"),
    "infinite.npy": lambda p: np.save(p, np.where(X > 1, np.inf, X)),
    "complex.npy": lambda p: np.save(p, X + 1j),
    "complex.mat": lambda p: io.savemat(p, {"X": X + 1j}),
    "words.npy": lambda p: np.save(p, np.array([["a", "b"], ["c", "d"]])),
    "times.npy": lambda p: np.save(p, np.array([["2020-01-01"]], dtype="M8[D]")),
    "struct.mat": lambda p: io.savemat(p, {"s": {"X": X}}),
    "cell.mat": lambda p: io.savemat(p, {"c": np.array(["a", "bb"], dtype=object)}),
    "nested.parquet": lambda p: parquet.write_table(pa.table({"a": [[1.0], [2.0]], "b": [{"c": 1}, {"c": 2}]}), p),
    "no_x.h5ad": lambda p: AnnData(obs=pd.DataFrame(index=list("abc")), obsm={"pca": X[:3]}).write_h5ad(p),
    "binary.csv": lambda p: p.write_bytes(bytes(range(256)) * 9),
    # too little
    "empty.csv": lambda p: p.touch(),
    "empty.npy": lambda p: p.touch(),
    "empty.npz": lambda p: p.touch(),
    "empty.mat": lambda p: p.touch(),
    "empty.parquet": lambda p: p.touch(),
    "empty.h5ad": lambda p: p.touch(),
    "empty.zarr": lambda p: p.mkdir(),
    "empty": lambda p: p.touch(),
    "no_members.npz": lambda p: zipfile.ZipFile(p, "w").close(),
    "no_rows.npy": lambda p: np.save(p, np.empty((0, 3))),
    "no_rows.parquet": lambda p: pd.DataFrame({"a": []}).to_parquet(p),
    "no_dimensions.npy": lambda p: np.save(p, np.float64(3)),
    "two_points.csv": lambda p: p.write_text("1,2\n3,4\n"),
    "one_place.csv": lambda p: p.write_text("1,2\n" * 10),
    "cube.npy": lambda p: np.save(p, np.zeros((3, 3, 3))),
    # other things
    "folder": lambda p: p.mkdir(),
    "folder.csv": lambda p: p.mkdir(),
    "loop.csv": lambda p: p.symlink_to(p),
    "zero.csv": lambda p: p.symlink_to("/dev/zero"),
    "x.npy.gz": lambda p: p.write_bytes(gzip.compress(b"")),
}


@pytest.mark.filterwarnings("ignore")  # of the libraries that write
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_sentence_and_exit_code_2(name, tmp_path, capsys):
    HOSTILE[name](tmp_path / name)
    with pytest.raises(SystemExit) as end:
        app(["select", str(tmp_path / name)], prog_name="geolap")
    out, err = capsys.readouterr()
    assert end.value.code == 2
    assert out == ""
    said = [line for line in err.splitlines() if not line.startswith("Note: ")]
    assert len(said) == 1
    assert said[0].startswith("Error: ")
    assert said[0].endswith((".", "?"))
    assert "Traceback" not in err
    assert not (tmp_path / "mark").exists()


def read_or_refuse(path, **options):
    """Whatever is in a file, it is a table of finite numbers or a sentence."""
    with suppress(FileError):
        table = read_table(path, max_bytes=1e8, **options)
        assert isinstance(table, Table)
        assert table.points.ndim == 2
        assert np.isfinite(table.points).all()


def crashes_or_refuses(path, format):
    """In a process of its own, which may crash, what is not read is a sentence and no other error."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # some damage keeps HDF5 busy for ever
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            with suppress(FileError):
                parsed(Source("'x'", path, format, max_bytes=1e8))
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or status == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Good files, to be damaged."""
    folder = tmp_path_factory.mktemp("whole")
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=["p", "q"] * 10)
    np.save(folder / "x.npy", X)
    np.savez_compressed(folder / "x.npz", X=X, y=np.arange(20))
    io.savemat(folder / "x.mat", {"X": X, "s": {"a": 1}})
    io.savemat(folder / "packed.mat", {"X": X}, do_compression=True)
    frame.to_csv(folder / "x.csv")
    frame.to_csv(folder / "x.csv.gz")
    frame.to_parquet(folder / "x.parquet")
    sparse.save_npz(folder / "sparse.npz", sparse.csr_array(X))
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("X", data=X, compression="gzip", chunks=(5, 4))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


DAMAGED = ["x.npy", "x.npz", "x.mat", "packed.mat", "x.csv", "x.csv.gz", "x.parquet", "sparse.npz", "x.h5"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # about threads of libraries in a process that forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="damages files in processes that are forked")
@pytest.mark.parametrize("name", DAMAGED)
def test_damage_anywhere_is_read_or_refused(name, whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    content, format = whole[name], FORMATS.get(name.split(".")[-1])
    places = st.integers(0, len(content) - 1)

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(places, st.binary(min_size=1, max_size=8)), max_size=4), st.none() | places)
    def damaged(changes, end):
        damaged = bytearray(content)
        for place, new in changes:
            damaged[place : place + len(new)] = new
        (folder / name).write_bytes(damaged[:end])
        if format in ISOLATED:
            crashes_or_refuses(folder / name, format)
        else:
            read_or_refuse(folder / name)

    damaged()


CELLS = st.sampled_from(
    ["1", "2.5", "-3e8", "", "NA", "nan", "inf", "x", "true", "1,5", '"', '"a,b"', "1_0", "é", " 7 ", "1e999"]
)


@pytest.mark.slow
@given(
    st.lists(st.lists(CELLS, max_size=5), max_size=12),
    st.sampled_from([",", ";", "\t", " ", "|"]),
    st.sampled_from(["\n", "\r\n", "\n\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    st.sampled_from([{}, {"labels": "0"}, {"index": "none"}, {"missing": "rows"}, {"header": True}, {"columns": ["0:2"]}]),
)
@settings(max_examples=300, deadline=None)
def test_any_table_of_text_is_read_or_refused(tmp_path_factory, rows, separator, end, encoding, options):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(end.join(separator.join(row) for row in rows).encode(encoding))
    read_or_refuse(path, **options)


@given(st.binary(max_size=400), st.sampled_from(["npy", "npz", "csv", "tsv"]))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(tmp_path_factory, content, format):
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(content)
    read_or_refuse(path, format=format)


@pytest.mark.posix
def test_a_crash_of_a_library_is_a_sentence(tmp_path, monkeypatch):
    io.savemat(tmp_path / "x.mat", {"X": X})
    assert read_table(tmp_path / "x.mat").points.shape == (20, 4)
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"  # as scipy.io does on some damaged files
    monkeypatch.setattr("geolap.files.reading._CHILD", crash)
    with pytest.raises(FileError, match=r"the library that reads it crashed \(code -11\)"):
        read_table(tmp_path / "x.mat")


def test_no_cell_of_an_output_is_a_formula(tmp_path):
    words = ["=HYPERLINK(1)", "+1+2", "-x", "@SUM(A1)", "\t=1", "-1.5", "+", "a=b", ""]
    columns = {"=row": np.array(words, object), "x": np.arange(-4.0, 5.0)}
    for ending, separator in (("csv", ","), ("tsv", "\t")):
        write_table(tmp_path / f"out.{ending}", columns)
        table = pd.read_csv(tmp_path / f"out.{ending}", sep=separator, keep_default_na=False)
        assert table.columns[0] == "'=row"
        assert table["'=row"].tolist() == ["'=HYPERLINK(1)", "'+1+2", "'-x", "'@SUM(A1)", "'\t=1", *words[5:]]
        assert table["x"].tolist() == columns["x"].tolist()
