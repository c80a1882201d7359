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
    "calls.empty": "call of an empty function (`rpc_sync`)",
    "calls.small_in_context": "call of a Python function on 3x3 tensors, recorded for autograd",
    "calls.in_flight": "time per call, if 64 calls wait for their answers at once",
    "calls.echo_16": "send an array of 16 MiB and get it back",
    "calls.echo_256": "send an array of 256 MiB and get it back",
    "backward.remote_add": "context, one remote addition, backward",
    "backward.retained": "backward through one remote call (`retain_graph=True`)",
    "nested.chain_of_8": "8 nested calls over 4 ranks, and their backward",
    "four_ranks.trainers": "training step of 4 ranks, each of which is trainer and parameter server at once",
    "parameter_server.step": "step of a parameter server with 10 MB of parameters and 3 trainers",
    "embedding.rows_1m": "training step of a remote embedding table of 1,000,000 rows x 64, with sparse gradients",
    "local.chain_2000": "2,000 operators one after the other, and their backward (one rank, no calls)",
    "mlp.mlp_step": "training step of a perceptron 784-512-512-10, batch of 128 (one rank, no calls)",
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
        "the ratio of the medians); `load` is the average number of processes that wanted to run. Every sample is in "
        "`benchmarks/results/latest.json`."
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
