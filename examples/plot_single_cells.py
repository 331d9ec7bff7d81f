"""
Single cells with scanpy
========================

700 blood cells with principal components, a data set from scanpy.  geolap reads and writes the same AnnData object.
"""

import matplotlib.pyplot as plt
import scanpy as sc

import geolap

adata = sc.datasets.pbmc68k_reduced()
geolap.anndata.select(adata, n_pcs=10, random_state=0)
print(geolap.anndata.selection(adata).explain())

# %%
# The density of cells varies, and with any single bandwidth some cells are isolated.  A bandwidth that varies with the
# distance to the seventh neighbor fits the metric better (the score is lower), and keeps all cells connected.

geolap.anndata.embed(adata, n_pcs=10, n_components=6, local_scale=7, random_state=0)
print(geolap.anndata.selection(adata).explain())
geolap.anndata.selection(adata).plot()

# %%
# A graph for scanpy's own tools: clusters by Leiden, diffusion maps, UMAP.

geolap.anndata.neighbors(adata, 30, n_pcs=10)
sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
print(adata.obs["leiden"].value_counts().to_dict())

# %%
# The map, colored by the cell types of the data set.  Its first coordinate separates the rare CD34+ cells from all others;
# the next two show the others.

# sphinx_gallery_thumbnail_number = 2
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
coordinates = adata.obsm["X_geolap"]
for k, kind in enumerate(adata.obs["bulk_labels"].cat.categories):
    cells = (adata.obs["bulk_labels"] == kind).to_numpy()
    ax.scatter(coordinates[cells, 1], coordinates[cells, 2], s=8, color=plt.cm.tab10(k), label=kind)
ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
ax.set(xticks=[], yticks=[], xlabel="second coordinate", ylabel="third")
plt.show()

# %%
# Conversely, ``neighbors_key="neighbors"`` uses a graph from ``sc.pp.neighbors``; any estimator accepts it as
# ``neighbors=adata.obsp["distances"]``.
