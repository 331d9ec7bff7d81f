"""Studies → one Markdown page and one HTML page that says the same, with pictures inside."""

import html
import re
from collections.abc import Sequence

from .study import Study

__all__ = ["html_page", "markdown_page"]

_TITLE = "The paper, reproduced"
_INTRODUCTION = (
    "Perrault-Joncas & Meilă, *Improved Graph Laplacian via Geometric Self-Consistency* (arXiv:1406.0118): every figure and "
    "table computed anew, published values beside ours. This page is written by `geolap reproduce all`; nothing in it is "
    "typed by hand. Bandwidths are ε of exp(−d²/ε²), in the unit of the data."
)


def markdown_page(studies: Sequence[Study], pictures: dict[str, list[str]]) -> str:
    """The page as Markdown; ``pictures`` are addresses of the pictures of each study."""
    parts = [f"# {_TITLE}", _INTRODUCTION + _quick_note(studies), "## Claims", _markdown_table(_claim_rows(studies))]
    for study in studies:
        parts += [f"## {study.title}", study.about]
        parts += [f"![{study.title}]({address})" for address in pictures.get(study.name, [])]
        if study.claims:
            parts.append("\n".join(f"- **{_verdict(c.holds)}**: {c.text} ({c.evidence})." for c in study.claims))
        if study.remarks:
            parts.append("\n\n".join(study.remarks))
        for name, caption in study.shown.items():
            parts += [f"**{caption}** (`{study.name}_{name}.csv`)", _markdown_table(study.tables[name])]
    return "\n\n".join(parts) + "\n"


def html_page(studies: Sequence[Study], pictures: dict[str, list[str]]) -> str:
    """The page as HTML; ``pictures`` are SVG texts of each study, which go into the page."""
    body = [f"<h1>{_TITLE}</h1>", f"<p>{_inline(_INTRODUCTION + _quick_note(studies))}</p>", "<h2>Claims</h2>"]
    body.append(_html_table(_claim_rows(studies)))
    for study in studies:
        body += [f'<h2 id="{study.name}">{html.escape(study.title)}</h2>', f"<p>{_inline(study.about)}</p>"]
        body += [
            f'<figure role="img" aria-label="{html.escape(study.title)}">{_svg(p)}</figure>'
            for p in pictures.get(study.name, [])
        ]
        if study.claims:
            items = (
                f"<li><b>{_verdict(c.holds)}</b>: {_inline(c.text)} ({_inline(c.evidence)}).</li>" for c in study.claims
            )
            body.append(f"<ul>{''.join(items)}</ul>")
        body += [f"<p>{_inline(remark)}</p>" for remark in study.remarks]
        for name, caption in study.shown.items():
            body.append(f"<details open><summary>{_inline(caption)}</summary>{_html_table(study.tables[name])}</details>")
    return _SHELL.replace("<!-- body -->", "\n".join(body))


def _quick_note(studies):
    quick = [study.name for study in studies if study.quick]
    return f" **Quick run, on fewer and smaller samples: {', '.join(quick)}.**" if quick else ""


def _claim_rows(studies):
    return [
        {"study": study.name, "claim": claim.text, "holds here": claim.holds} for study in studies for claim in study.claims
    ]


def _verdict(holds):
    return "holds" if holds else "does not hold"


def _markdown_table(rows):
    names = _names(rows)
    lines = ["| " + " | ".join(_heading(name) for name in names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_text(row.get(name)).replace("|", "\\|") for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _html_table(rows):
    names = _names(rows)
    head = "".join(f"<th>{html.escape(_heading(name))}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{_inline(_text(row.get(name)))}</td>" for name in names) + "</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _names(rows):
    return list(dict.fromkeys(name for row in rows for name in row))


def _heading(name):
    return name.replace("_", " ")


def _text(value):
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        f"{value:.3g}"
        if isinstance(value, float) and abs(value) < 1000
        else f"{value:.0f}"
        if isinstance(value, float)
        else str(value)
    )


def _inline(text):
    """Escaped text, with the little Markdown that studies use: `code`, **bold** and *emphasis*."""
    text = html.escape(text)
    for pattern, tag in ((r"`([^`]+)`", "code"), (r"\*\*([^*]+)\*\*", "b"), (r"\*([^*]+)\*", "i")):
        text = re.sub(pattern, rf"<{tag}>\1</{tag}>", text)
    return text


def _svg(text):
    """The picture without the declaration that files begin with."""
    return text[text.index("<svg") :]


_SHELL = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>The paper, reproduced</title>
<style>
:root { color-scheme: light dark; --ink: light-dark(#1a1a1a, #e6e6e6); --paper: light-dark(#fff, #15181c);
        --line: light-dark(#d8d8d8, #3a3f45); }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 68rem;
       margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
figure { margin: 1rem 0; background: #fff; border-radius: 6px; padding: .5rem; } figure svg { width: 100%; height: auto; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .88rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
td:nth-child(2) { white-space: normal; } summary { cursor: pointer; font-weight: 600; margin: 1rem 0 .4rem; }
@media print { body { max-width: none; } figure, tr { break-inside: avoid; } }
</style>
</head>
<body>
<!-- body -->
</body>
</html>
"""
