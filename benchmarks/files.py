"""How long a table in text takes to read, against pandas on the same file: the ratio of the best of three runs each.

``python benchmarks/files.py`` writes 300 000 × 13 numbers into a temporary file.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pandas as pd

from geolap.files import read_table


def main():
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        values = np.random.default_rng(0).normal(size=(300_000, 13))
        pd.DataFrame(values).add_prefix("x").to_csv(path, index=False)
        theirs, ours = np.inf, np.inf
        for _ in range(3):  # in turn: others may be using the machine
            theirs, ours = min(theirs, seconds(pd.read_csv, path)), min(ours, seconds(read_table, path))
        assert np.array_equal(read_table(path).points, values)  # to the last bit, which pandas does not promise
        print(f"300 000 × 13 numbers: geolap {ours:.2f} s, pandas {theirs:.2f} s, ratio {ours / theirs:.2f}")


def seconds(read, path):
    start = perf_counter()
    read(path)
    return perf_counter() - start


if __name__ == "__main__":
    main()
