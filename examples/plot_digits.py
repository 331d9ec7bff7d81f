"""Draw the picture of the README: python examples/plot_digits.py docs/images/digits.png"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import geolap

selection = geolap.select_bandwidth(load_digits().data, random_state=0)
_, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
selection.plot(ax=ax)
ax.set_title("Handwritten digits, 1797 images of 8×8 pixels", loc="left", fontsize=10)
plt.savefig(sys.argv[1] if len(sys.argv) > 1 else "digits.png", dpi=150)
