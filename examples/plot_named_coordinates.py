"""
What the coordinates mean
=========================

A chain of five atoms turns about its two inner bonds.  Its shapes form a torus in fifteen dimensions.  Which of ten
quantities that chemists measure are its coordinates?
"""

import matplotlib.pyplot as plt

import geolap

rotor = geolap.datasets.make_rotor(1500, random_state=0)
print(", ".join(rotor.functions))
found = geolap.explain_coordinates(rotor.data, rotor.functions, periods=rotor.periods)
print(found)

# %%
# A group lasso on the gradients of all ten, projected onto the tangent planes of the data, selects the two torsions about
# the inner bonds.  The distance between the ends also varies, but not independently; bonds and angles only fluctuate.  Left:
# how much of each is used as the penalty falls.  Right: an eigenmap of the shapes, colored by one of the torsions.

eigenmap = geolap.LaplacianEigenmap(n_components=2, random_state=0).fit(rotor.data)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
found.plot(ax=left)
points = right.scatter(*eigenmap.embedding_.T, c=rotor.functions[found.chosen[0]], s=4, cmap="twilight")
figure.colorbar(points, label=f"{found.chosen[0]} (radians)")
right.set(xticks=[], yticks=[], xlabel="coordinate 1", ylabel="coordinate 2")
plt.show()
