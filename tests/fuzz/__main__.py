"""``python -m fuzz``: the hunt, with a count of what was done and a line for every failure.

A failure of a call or a file is made smaller and added to ``corpus.jsonl``, to be mended and to stay mended.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from . import calls, faults, files
from .failures import Failure, FoundError

CORPUS = Path(__file__).parent / "corpus.jsonl"


class Hunt:
    """What was done, and what was found."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, np.random.default_rng(seed)
        self.done: Counter[str] = Counter()
        self.failures: Counter[str] = Counter()
        self.known: set[tuple[Failure, str]] = set()
        self.latencies: list[float] = []

    def told(self, what: str, found: FoundError, case: dict | None = None) -> None:
        """Count a failure; the first of its kind is printed, and its case goes into the corpus."""
        self.failures[what] += 1
        kind = found.failure, found.seen[:60]
        if kind in self.known:
            return
        self.known.add(kind)
        if case is not None and "call" in case and found.failure is not Failure.HANG:  # each try would take a minute
            case = calls.shrunk(case)
        print(f"{what}: {found.failure.value}: {found.seen}", flush=True)
        if case is not None:
            line = json.dumps(case)
            print(f"    {line}", flush=True)
            with CORPUS.open("a") as corpus:
                corpus.write(line + "\n")

    def calls(self, n: int) -> None:
        for _ in range(n):
            case = calls.random_case(self.rng)
            self.done["calls"] += 1
            if (found := calls.failure_of(case)) is not None:
                self.told("calls", found, case)
        for _ in range(n // 1000):
            self.done["forecasts of memory"] += 1
            try:
                calls.check_memory(self.rng)
            except FoundError as found:
                self.told("forecasts of memory", found)

    def files(self, n: int) -> None:
        with TemporaryDirectory() as good, TemporaryDirectory() as bad:
            whole = files.whole_files(Path(good))
            for _ in range(n):
                case = files.random_damage(self.rng, whole)
                self.done["damaged files"] += 1
                try:
                    files.check_file(case, whole, Path(bad))
                except FoundError as found:
                    self.told("damaged files", found, case)

    def writes(self, n: int) -> None:
        with TemporaryDirectory() as folder:
            for _ in range(n):
                self.done["writes to a full disk"] += 1
                try:
                    faults.check_write(self.rng, Path(folder))
                except FoundError as found:
                    self.told("writes to a full disk", found)

    def tasks(self, n: int) -> None:
        for _ in range(n):
            self.done["tasks that fail on threads"] += 1
            try:
                faults.check_task(self.rng)
            except FoundError as found:
                self.told("tasks that fail on threads", found)

    def interrupts(self, minutes: float) -> None:
        """Four of five are sent to work in Python, the others to commands."""
        end = time.monotonic() + 60.0 * minutes
        with TemporaryDirectory() as folder, faults.Interrupted() as work:
            while time.monotonic() < end:
                command = self.rng.random() < 0.2
                what = "commands asked to end" if command else "interrupts"
                self.done[what] += 1
                try:
                    if command:
                        faults.check_command(self.rng, Path(folder))
                    else:
                        self.latencies.append(work.check(self.rng)[1])
                except FoundError as found:
                    self.told(what, found)

    def rows(self) -> dict[str, str]:
        """A row of the table on the page of promises for each part of the hunt."""
        slowest = f", the slowest heard after {max(self.latencies):.2f} s" if self.latencies else ""
        notes = {"interrupts": slowest}
        return {
            what: f"| {what}{notes.get(what, '')} | {n} | {self.failures[what]} | {self.seed} |"
            for what, n in self.done.items()
        }


def merged(rows: dict[str, str], table: Path) -> str:
    """The table with these rows in place of those of an earlier run."""
    old = table.read_text().splitlines()[2:] if table.exists() else []
    names = {row.split("|")[1].split(",")[0].strip(): row for row in old if row.startswith("|")} | rows
    return "\n".join(["| what was done | times | failures | seed |", "|---|---|---|---|", *names.values(), ""])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Hunt for " + "; ".join(f.value for f in Failure))
    for name in ("calls", "files", "writes", "tasks"):
        parser.add_argument(f"--{name}", type=int, default=0, metavar="N")
    parser.add_argument("--minutes-of-interrupts", type=float, default=0.0, metavar="M")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="M", help="go on with everything for so long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", type=Path, help="write the counts there")
    given = parser.parse_args()
    begin, hunt = time.monotonic(), Hunt(given.seed)
    hunt.interrupts(given.minutes_of_interrupts)
    hunt.writes(given.writes)
    hunt.tasks(given.tasks)
    hunt.files(given.files)
    hunt.calls(given.calls)
    while time.monotonic() - begin < 60.0 * given.minutes:
        hunt.calls(200)
        hunt.files(10)
        hunt.writes(10)
        hunt.tasks(2)
        hunt.interrupts(0.2)
    print("\n".join(hunt.rows().values()))
    print(f"{(time.monotonic() - begin) / 60:.0f} minutes")
    if given.table is not None:
        given.table.write_text(merged(hunt.rows(), given.table))
    sys.exit(bool(hunt.failures))


if __name__ == "__main__":
    main()
