"""``python -m benchmarks`` runs everything; with ``--check`` it holds the last results against the bars."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        from benchmarks import bars

        sys.exit(bars.main(*[word for word in sys.argv[1:] if word != "--check"]))
    from benchmarks import run

    sys.exit(run.main())
