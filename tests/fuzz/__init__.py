"""The hunt: calls, files, faults and interrupts made at random from a seed, and what counts as a failure.

``make fuzz`` runs it; `tests/test_fuzz.py` runs a little of it, and every line of ``corpus.jsonl``: failures that were found
and mended.  A case is a plain value that says how to make a call; it is made smaller while it still fails, to fit on a line.
"""
