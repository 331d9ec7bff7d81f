"""Write an HTML report about handwritten digits: python examples/write_report.py digits.html"""

import sys

from sklearn.datasets import load_digits

from geolap.report import write_report

digits = load_digits()
path = write_report(
    sys.argv[1] if len(sys.argv) > 1 else "digits.html",
    digits.data,
    labels=digits.target,
    name="handwritten digits",
    random_state=0,
)
print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, open it in a browser")
