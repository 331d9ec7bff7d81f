"""Other parameters by the criterion that chooses ε: λ, and k of the k-nearest-neighbour graph."""

import geolap

X = geolap.datasets.make_torus(800, noise=0.01, noise_dims=3, random_state=0).data
selector = geolap.GeometricConsistency(working_dim=2)

for parameters in ({"renormalization": (0, 1.5)}, {"n_neighbors": (5, 200)}):
    search = geolap.ConsistencySearch(parameters, selector=selector, random_state=0).fit(X)
    (name,) = parameters
    print(f"{name:>16}  bandwidth  distortion")
    for row in sorted(search.surface_, key=lambda row: row[name]):
        best = "  best" if row["score"] == search.best_score_ else ""
        print(f"{row[name]:16.3g}{row['bandwidth']:11.3g}{row['score']:12.4f}{best}")
    gain = search.gain_
    print(f"gain over ε alone: {gain.distortion:.4f} ± {gain.noise:.4f}, {'clear' if gain.clear else 'not clear'}\n")
