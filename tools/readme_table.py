"""Put the measured table into README.md, between its markers: tools/readme_table.py [RESULTS.json]

Without an argument it takes the results of the last `make bench`, and fills in the tables of docs/clusters.md as well.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.bars import LATEST, OURS  # noqa: E402
from benchmarks.compare import Rounds, present, ratio, rounds_from_json, rounds_of, spread  # noqa: E402
from benchmarks.report import in_units, line  # noqa: E402

MARKERS = re.compile(r"(<!-- benchmark table -->\n).*?(<!-- end -->)", re.DOTALL)
ROWS = {
    "calls.empty": "empty `rpc_sync`, there and back",
    "calls.small_in_context": "Python function on 3x3 tensors, in an autograd context",
    "calls.in_flight": "time per call, with 64 in flight",
    "calls.echo_16": "echo of 16 MiB",
    "calls.echo_256": "echo of 256 MiB",
    "backward.remote_add": "context, remote add, backward",
    "backward.retained": "backward over one hop, graph retained",
    "nested.chain_of_8": "8 nested calls over 4 ranks, with backward",
    "four_ranks.trainers": "4 ranks, each trainer and server at once",
    "parameter_server.step": "parameter-server step, 10 MB, 3 trainers",
    "embedding.rows_1m": "sparse embedding step, 1,000,000 x 64",
    "local.chain_2000": "local chain of 2,000 operators, with backward",
    "mlp.mlp_step": "MLP step 784-512-512-10, batch 128",
    "idle.resident": "memory of an idle rank",
}


def table(results: Rounds, units: dict[str, str], machine: str) -> str:
    """One row for each measure that both libraries have: medians, and the median of the rounds' ratios."""
    rows = [line(["", "torch", OURS, "torch / mpigrad"]), line(["---"] * 4)]
    for measure, title in ROWS.items():
        theirs, ours = (rounds_of(results, measure, name) for name in ("torch", OURS))
        values, against = [spread(present(each)) for each in (theirs, ours)], ratio(theirs, ours)
        if against is None or None in values:
            continue
        cells = [in_units(value.median, units.get(measure, "s")) for value in values if value is not None]
        rows.append(line([title, *cells, f"{against.median:.2g}x"]))
    source = (
        f"{machine.strip().rstrip('.')}. Medians of all rounds (the last column: of each round's ratio, so it may differ from "
        "the ratio of the medians); every sample is in `benchmarks/results/latest.json`."
    )
    return "\n".join([*rows, "", source, ""])


def main() -> int:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else LATEST
    if not path.exists():
        print(f"no results at {path}: run `make bench` first", file=sys.stderr)
        return 1
    document = json.loads(path.read_text())
    samples = {m: [s for rounds in entry.values() for s in rounds if s] for m, entry in document["measures"].items()}
    units = {measure: found[0].get("unit", "s") for measure, found in samples.items() if found}
    made = table(rounds_from_json(document), units, document["machine"])
    readme = ROOT / "README.md"
    text, count = MARKERS.subn(lambda found: found[1] + made + found[2], readme.read_text())
    if count != 1:
        print(f"README.md should have one pair of markers, found {count}", file=sys.stderr)
        return 1
    readme.write_text(text)
    if path == LATEST:
        import scaling

        scaling.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
