"""Files by mutation of good ones: each is read as a table of finite numbers, or refused with a sentence."""

import gzip
import warnings
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
from scipy import io, sparse

from geolap.files import FileError, Table, read_table

from .calls import within
from .failures import Failure, FoundError

X = np.random.default_rng(0).normal(size=(20, 4))


def whole_files(folder: Path) -> dict[str, bytes]:
    """Good files of every kind that is one file, to be damaged."""
    frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=["p", "q"] * 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that write
        np.save(folder / "x.npy", X)
        np.savez_compressed(folder / "x.npz", X=X, y=np.arange(20))
        sparse.save_npz(folder / "sparse.npz", sparse.csr_array(X))
        io.savemat(folder / "x.mat", {"X": X, "s": {"a": 1}})
        frame.to_csv(folder / "x.csv")
        (folder / "x.csv.gz").write_bytes(gzip.compress(frame.to_csv().encode()))
        frame.to_csv(folder / "x.tsv", sep="\t")
        frame.to_parquet(folder / "x.parquet")
        with h5py.File(folder / "x.h5", "w") as file:
            file.create_dataset("X", data=X, compression="gzip", chunks=(5, 4))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def random_damage(rng: np.random.Generator, whole: dict[str, bytes]) -> dict:
    """Up to four places of a file overwritten, a piece doubled or lost, or the end cut off."""
    name = list(whole)[rng.integers(len(whole))]
    size = len(whole[name])
    changes = [[int(rng.integers(size)), rng.bytes(int(rng.integers(1, 9))).hex()] for _ in range(int(rng.integers(0, 5)))]
    piece = sorted(rng.integers(0, size, 2).tolist()) if rng.random() < 0.3 else None
    end = int(rng.integers(size)) if rng.random() < 0.3 else None
    return {"file": name, "changes": changes, "piece": piece, "doubled": bool(rng.random() < 0.5), "end": end}


def damaged(case: dict, content: bytes) -> bytes:
    changed = bytearray(content)
    for place, new in case["changes"]:
        changed[place : place + len(new) // 2] = bytes.fromhex(new)
    if case["piece"] is not None:
        first, last = case["piece"]
        changed[first:last] = changed[first:last] * 2 if case["doubled"] else b""
    return bytes(changed[: case["end"]])


def check_file(case: dict, whole: dict[str, bytes], folder: Path) -> None:
    """Raise `FoundError` unless the damaged file is read or refused."""
    path = folder / case["file"]
    path.write_bytes(damaged(case, whole[case["file"]]))
    try:
        with warnings.catch_warnings(), within(60.0):
            warnings.simplefilter("error")
            table = read_table(path, max_bytes=1e8)
    except FileError as error:
        if not str(error).endswith((".", "?")):
            raise FoundError(Failure.NO_SENTENCE, str(error)) from error
    except Exception as error:
        raise FoundError(Failure.NO_SENTENCE, f"{type(error).__name__}: {error}") from error
    else:
        if not (isinstance(table, Table) and table.points.ndim == 2):
            raise FoundError(Failure.NO_SENTENCE, "no table")
        if not np.isfinite(table.points).all():
            raise FoundError(Failure.NOT_FINITE, "the points of a file")
    finally:
        path.unlink()
    if left := list(folder.iterdir()):
        raise FoundError(Failure.LEFTOVER, left[0].name)
