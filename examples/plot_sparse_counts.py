"""
Sparse counts: texts and cells
==============================

Words in documents and transcripts in cells are counted in matrices of mostly zeros.  They stay sparse here: rows of length
one are points on a sphere (cosine distance), and beyond a few thousand rows each is compared with its nearest neighbors.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score

import geolap

# %%
# Documents about five topics, each a distribution over four thousand words; every document has one main topic.

rng = np.random.default_rng(0)
topics = rng.dirichlet(np.full(4000, 0.02), 5)
mixtures = rng.dirichlet(np.full(5, 0.15), 600)
words = np.array([rng.multinomial(120, mixture @ topics) for mixture in mixtures])
counts = sparse.csr_array(words)
main = mixtures.argmax(axis=1)
print(f"{counts.shape[0]} documents, {counts.shape[1]} words, {counts.nnz / words.size:.2%} of the entries are not zero")

# %%
# The usual weights of words, then clusters and a map under cosine distance:

X = TfidfTransformer().fit_transform(counts)
clusters = geolap.LaplacianClustering(5, metric="cosine", random_state=0).fit(X)
agreement = normalized_mutual_info_score(main, clusters.labels_)
print(f"clusters and main topics agree: normalized mutual information {agreement:.2f}")

eigenmap = geolap.LaplacianEigenmap(4, metric="cosine", n_neighbors=15, local_scale=7, random_state=0).fit(X)
figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
ax.scatter(*eigenmap.embedding_[:, :2].T, c=main, cmap="tab10", vmin=-0.5, vmax=9.5, s=8)
ax.set(title="documents, colored by main topic", xticks=[], yticks=[])

# %%
# A few labels are enough for the others:

known = np.where(rng.random(len(main)) < 0.03, main, -1)
classifier = geolap.LaplacianClassifier(metric="cosine", random_state=0).fit(X, known)
right = np.mean(classifier.transduction_[known < 0] == main[known < 0])
print(f"{right:.0%} of the others are right from {np.sum(known >= 0)} labels")
