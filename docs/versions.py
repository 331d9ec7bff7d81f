"""Write the list of versions that the site offers: one for each folder of it, the newest release first.

``python docs/versions.py SITE``, where SITE holds main/ and a folder for each release; the front page leads to the newest.
"""

import json
import sys
from pathlib import Path

URL = "https://geolap.github.io/geolap"


def newest_first(site: Path) -> list[str]:
    """Releases by number, the newest first, then main."""
    releases = [folder.name for folder in site.iterdir() if folder.is_dir() and folder.name[:1].isdecimal()]
    return [*sorted(releases, key=lambda name: [int(part) for part in name.split(".")], reverse=True), "main"]


def write(site: Path) -> None:
    """Write versions.json, and a front page."""
    names = newest_first(site)
    entries = [{"name": name, "version": name, "url": f"{URL}/{name}/", "preferred": name == names[0]} for name in names]
    (site / "versions.json").write_text(json.dumps(entries, indent=2) + "\n")
    (site / "index.html").write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0; url={names[0]}/">\n')


if __name__ == "__main__":
    write(Path(sys.argv[1]))
