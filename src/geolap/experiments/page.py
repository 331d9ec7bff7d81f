"""Studies → a Markdown page, and an HTML page with the same content and the pictures inside.

Every block of the page is made once, as a pair: its Markdown and its HTML.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files

from .study import Claim, Record, Study, names

__all__ = ["pages"]

Block = tuple[str, str]

_TITLE = "The paper, reproduced"
_INTRODUCTION = (
    "Perrault-Joncas & Meilă, *Improved Graph Laplacian via Geometric Self-Consistency* (arXiv:1406.0118): every figure and "
    "table recomputed, with the published values beside ours. This page is written by `geolap reproduce all`; nothing in it "
    "is typed by hand. Bandwidths are ε of exp(−d²/ε²), in the unit of the data."
)


def pages(studies: Sequence[Study], pictures: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """The page as Markdown and as HTML; ``pictures`` are the SVG texts of each study by name."""
    quick = ", ".join(study.name for study in studies if study.quick)
    note = f" **Quick run, on fewer and smaller samples: {quick}.**" if quick else ""
    overview = [{"study": s.name, "claim": c.text, "holds here": c.holds} for s in studies for c in s.claims]
    blocks: list[Block] = [
        (f"# {_TITLE}", f"<h1>{_TITLE}</h1>"),
        _paragraph(_INTRODUCTION + note),
        ("## Claims", "<h2>Claims</h2>"),
        _table(overview),
    ]
    for study in studies:
        blocks.append((f"## {study.title}", f'<h2 id="{study.name}">{escape(study.title)}</h2>'))
        blocks.append(_paragraph(study.about))
        blocks += [_picture(study.title, name, svg) for name, svg in pictures[study.name].items()]
        blocks.append(_claims(study.claims))
        blocks += map(_paragraph, study.remarks)
        blocks += [_captioned(caption, study, name) for name, caption in study.shown.items()]
    markdown, html = zip(*blocks, strict=True)
    shell = files(__package__).joinpath("page.html").read_text("utf-8")
    return "\n\n".join(markdown) + "\n", shell.replace("<!-- body -->", "\n".join(html))


def _paragraph(text: str) -> Block:
    return text, f"<p>{_inline(text)}</p>"


def _picture(title: str, name: str, svg: str) -> Block:
    drawing = svg[svg.index("<svg") :]  # without the XML declaration
    return (
        f"![{title}](reproduction/{name}.png)",
        f'<figure role="img" aria-label="{escape(title)}">{drawing}</figure>',
    )


def _claims(claims: Sequence[Claim]) -> Block:
    verdicts = [("holds" if claim.holds else "does not hold", claim) for claim in claims]
    items = [f"<li><b>{verdict}</b>: {_inline(c.text)} ({_inline(c.evidence)}).</li>" for verdict, c in verdicts]
    return "\n".join(f"- **{verdict}**: {c.text} ({c.evidence})." for verdict, c in verdicts), f"<ul>{''.join(items)}</ul>"


def _captioned(caption: str, study: Study, name: str) -> Block:
    markdown, html = _table(study.tables[name])
    return (
        f"**{caption}** (`{study.name}_{name}.csv`)\n\n{markdown}",
        f"<details open><summary>{_inline(caption)}</summary>{html}</details>",
    )


def _table(rows: Sequence[Record]) -> Block:
    columns = names(rows)
    headings = [name.replace("_", " ") for name in columns]
    cells = [[_text(row.get(name)) for name in columns] for row in rows]
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in cells]
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{_inline(text)}</td>' for text in row)}</tr>" for row in cells)
    html = f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    return "\n".join(lines), html


def _text(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def _inline(text: str) -> str:
    """Escaped text, with the bits of Markdown that studies use: `code`, **bold** and *emphasis*."""
    text = escape(text)
    for pattern, tag in ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "b"), (r"\*([^*]+)\*", "i")):
        text = re.sub(pattern, rf"<{tag}>\1</{tag}>", text)
    return text
