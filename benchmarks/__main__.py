"""``python -m benchmarks`` runs all benchmarks; with ``--check`` it compares the last results with the bars (goals)."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        from benchmarks import bars

        sys.exit(bars.main(*[word for word in sys.argv[1:] if word != "--check"]))
    from benchmarks import run

    sys.exit(run.main())
