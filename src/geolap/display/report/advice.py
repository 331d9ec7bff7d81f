"""What to do with the answer: a sentence for each status, and code to copy."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from ...kernel import convert_bandwidth
from ...selection import Selection, Status, Verdict

__all__ = ["Advice", "Snippet", "advice_for", "snippets_for"]


@dataclass(frozen=True)
class Snippet:
    """Code to copy."""

    title: str
    code: str


class Advice(NamedTuple):
    """The answer around its bandwidth, with a place for the name of the data, and what to try next."""

    before: str
    after: str
    title: str
    code: str


_EVERY_RULE = "See what every rule says", "print(geolap.compare_bandwidths(X))"
_LOOK_FURTHER = "Look further", "print(geolap.select_bandwidth(X, max_share=0.4).explain())"
_ASK_GEOMETRY = "Use geometric consistency instead", "print(geolap.select_bandwidth(X).explain())"
_USE = "Use bandwidth "
_ADVICE = {
    Status.INTERIOR: Advice(_USE, " for {}.", *_EVERY_RULE),
    Status.SEVERAL: Advice(
        _USE,
        " for {}, but look at its other scales too.",
        "Look at the map at every scale",
        "for minimum in geolap.select_bandwidth(X).minima:\n"
        "    geolap.LaplacianEigenmap(bandwidth=minimum.bandwidth).fit_transform(X)",
    ),
    Status.LOWER_ELSEWHERE: Advice(_USE, " for {}, and look at the ends of the curve.", *_LOOK_FURTHER),
    Status.FLAT: Advice(
        "",
        " is no more than a guess: no bandwidth stands out for {}.",
        "Use more points",
        "print(geolap.select_bandwidth(X, n_sample=1000).explain())",
    ),
    Status.LOWER_END: Advice(
        "",
        " is no answer: no local scale was found for {}.",
        "Remove duplicates and try again",
        "X = sorted(set(map(tuple, X)))\nprint(geolap.select_bandwidth(X).explain())",
    ),
    Status.AT_BOUND: Advice(_USE, " for {}: D turns just beyond the bound on locality.", *_EVERY_RULE),
    Status.UPPER_END: Advice("", " is only a bound: no minimum was found below it for {}.", *_LOOK_FURTHER),
    Status.FALLS_APART: Advice(
        "",
        " fits best, but there the graph of {} falls apart.",
        "Let the bandwidth vary from place to place",
        "print(geolap.select_bandwidth(X, local_scale=10).explain())",
    ),
    Status.NO_LIMIT: Advice("", " is a stopgap for {}: its range of scales is open at one end.", *_ASK_GEOMETRY),
    Status.RULE: Advice("", " is a rule of thumb for {}.", *_ASK_GEOMETRY),
}
_TOO_WIDE = Advice("", " is the scale of the whole data set: {}.", *_ASK_GEOMETRY)
_FOR_LABELS = Advice(_USE, " for kernels and labels of {}; maps and clusters use nearest neighbors.", *_EVERY_RULE)
_OF_FEW = Advice(_USE, " for kernels and labels of {}: with so few points no graph shows more.", *_EVERY_RULE)


def advice_for(selection: Selection) -> Advice:
    """What to do, by the verdict and the status."""
    if selection.beyond_bound:
        return _TOO_WIDE
    if selection.verdict is Verdict.NEAREST_NEIGHBORS and selection.status is not Status.FALLS_APART:
        return _OF_FEW if selection.few else _FOR_LABELS
    advice = _ADVICE[selection.status]
    if selection.status is Status.FLAT and selection.details.get("everyone", False):
        return Advice(advice.before, advice.after, *_EVERY_RULE)  # there are no more points to ask
    return advice


def snippets_for(
    selection: Selection, *, near: bool, n_clusters: int | None = None, outliers: bool = False
) -> tuple[Snippet, ...]:
    """Code for what comes next.

    ``near``: whether a map joins nearest neighbors by default; ``n_clusters``: the number of classes, where it is known;
    ``outliers``: whether they take the first coordinates of the map.
    """
    gamma = convert_bandwidth(selection.bandwidth, target="gamma")
    advice = advice_for(selection)
    one = f"bandwidth = {selection.bandwidth:.6g}\n"
    default = "eigenmap = geolap.LaplacianEigenmap(n_components=2).fit(X)  # {graph}\nembedding = eigenmap.embedding_"
    near_graph, equal_graph = "nearest neighbors, local scales, an ε̂ of their own", "20 nearest neighbors, equal weights"
    at_this = f"{one}embedding = geolap.LaplacianEigenmap(n_components=2, bandwidth=bandwidth).fit_transform(X)"
    known = f"n_clusters={n_clusters}" if n_clusters is not None and n_clusters > 1 else ""
    clusters = (
        f"clustering = geolap.LaplacianClustering({known}).fit(X)\nclusters = clustering.labels_\n"
        "print(clustering.n_clusters_, clustering.status_)"
    )
    snippets = [
        Snippet("Build with this bandwidth", f"{one}laplacian = geolap.GraphLaplacian(bandwidth).fit(X).laplacian_"),
        Snippet("Map the data", default.format(graph=near_graph) if near else at_this),
    ]
    if outliers and not near:
        snippets.append(Snippet("Map the data without the pull of outliers", default.format(graph=equal_graph)))
    snippets += [Snippet("Find clusters", clusters), Snippet(advice.title, advice.code)]
    *others, last = (replace(snippet, code=f"import geolap\n\n{snippet.code}") for snippet in snippets)
    elsewhere = Snippet(
        "Use it in scikit-learn",
        "from sklearn.metrics.pairwise import rbf_kernel\n\n"
        f"gamma = {gamma:.6g}  # exp(−gamma d²) = exp(−d²/ε²); of SVC, KernelPCA, LabelSpreading, … too\n"
        "weights = rbf_kernel(X, gamma=gamma)",
    )
    return *others, elsewhere, last
