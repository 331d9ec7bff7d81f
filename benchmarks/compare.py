"""Every rule on the paper's Digit1 set, with the labels of its first split for cv: python benchmarks/compare.py [SET]"""

import sys

import numpy as np

import geolap
from geolap.datasets import load_ssl_book
from measuring import timed

name = sys.argv[1] if len(sys.argv) > 1 else "digit1"
content = load_ssl_book(name)
y = np.full(len(content.target), -1)
y[content.splits[0]] = content.target[content.splits[0]]
comparison, seconds = timed(geolap.compare_bandwidths, content.data, y=y, random_state=0)
print(f"{name}, {content.data.shape[0]} points in {content.data.shape[1]} dimensions, {seconds:.0f} s")
print(comparison)
