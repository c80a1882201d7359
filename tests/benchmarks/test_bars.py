"""The pure parts of the benchmarks: statistics, ratios, the check of the bars, the table, the plan."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import bars
from benchmarks.bars import BARS, Bar, beyond, faster, shortfalls, within
from benchmarks.compare import Spread, exponent, ratio, rounds_from_json, spread
from benchmarks.contestants import package_of, processes
from benchmarks.plan import FAMILIES, chosen
from benchmarks.report import bar_table, best_table, in_units, measure_table
from benchmarks.timing import quantile, repeat, summarise


def test_summary_is_median_and_quartiles() -> None:
    sample = summarise([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (sample.low, sample.value, sample.high, sample.repetitions) == (2.0, 3.0, 4.0, 5)
    assert sample.best == pytest.approx(1.2)


def test_quantile_interpolates() -> None:
    assert quantile([0.0, 10.0], 0.25) == 2.5
    with pytest.raises(ValueError, match="no numbers"):
        quantile([], 0.5)


def test_repeat_warms_up_and_divides() -> None:
    calls: list[int] = []
    sample = repeat(lambda: calls.append(1), seconds=0.0, per=4, fewest=7)
    assert sample.repetitions == 7
    assert len(calls) > 7, "warm-up calls come on top of the timed ones"
    assert 0 <= sample.value < 1


def test_ratio_pairs_rounds_and_skips_failed_ones() -> None:
    assert ratio([10.0, None, 30.0], [1.0, 1.0, 10.0]) == Spread(6.5, 3.0, 10.0)
    assert ratio([None], [1.0]) is None
    assert spread([]) is None


RESULTS = {
    "calls.empty": {"torch": [300.0, 450.0], "mpigrad": [20.0, 30.0], "raw": [4.0, 4.0]},
    "idle.cpu": {"mpigrad": [1.0]},
}


@pytest.mark.parametrize(
    ("bar", "cleared"),
    [
        (faster("a", "calls.empty", 15.0), True),
        (faster("a", "calls.empty", 15.1), False),
        (within("a", "calls.empty", 6.5, "raw"), True),
        (within("a", "calls.empty", 6.0, "raw"), False),
        (Bar("a", "idle.cpu", 2.0), True),
        (Bar("a", "idle.cpu", 0.5), False),
        (within("a", "calls.empty", 30.0, "mpigrad", "idle.cpu"), True),
        (beyond("a", "calls.empty", 21.0), True),
        (beyond("a", "calls.empty", 20.9), False),
    ],
)
def test_a_bar_is_cleared_by_the_median_ratio(bar: Bar, cleared: bool) -> None:
    assert (shortfalls(RESULTS, (bar,)) == []) is cleared


def test_a_shortfall_names_measure_wanted_and_found() -> None:
    (line,) = shortfalls(RESULTS, (faster("empty call", "calls.empty", 100.0),))
    assert "calls.empty" in line
    assert "100x faster than torch" in line
    assert "found 15" in line


def test_what_was_not_measured_falls_short() -> None:
    (line,) = shortfalls(RESULTS, (faster("gone", "calls.gone", 1.0),))
    assert "not measured" in line


def test_check_fails_on_a_file_that_falls_short(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "latest.json"
    assert bars.main(str(path)) == 1
    samples = {name: [{"value": v} for v in values] for name, values in RESULTS["calls.empty"].items()}
    path.write_text(json.dumps({"measures": {"calls.empty": samples}}))
    assert bars.main(str(path)) == 1
    printed = capsys.readouterr().out
    assert f"of {len(BARS)} bars cleared" in printed
    assert "idle.cpu" in printed


def test_check_passes_when_everything_is_good(tmp_path: Path) -> None:
    measures: dict[str, dict[str, list[dict[str, float]]]] = {}
    for bar in BARS:
        for measure in (bar.measure, bar.other or bar.measure):
            measures[measure] = {name: [{"value": 100.0}] for name in ("torch", "raw", "autograd")}
            measures[measure]["mpigrad"] = [{"value": 1.0}]
    path = tmp_path / "latest.json"
    path.write_text(json.dumps({"measures": measures}))
    assert bars.main(str(path)) == 0


def test_an_example_must_learn_as_it_does_on_torch() -> None:
    def document(ours: list[float]) -> dict[str, object]:
        samples = {"torch": [None, {"losses": [1.0, 0.5]}], "mpigrad": [{"losses": ours}]}
        return {"measures": {"example.step": samples, "calls.empty": {"torch": [{"value": 1.0}]}}}

    assert bars.different_losses(document([1.0, 0.50005])) == []
    (line,) = bars.different_losses(document([1.0, 0.6]))
    assert "example.step" in line
    assert "0.1" in line
    (line,) = bars.different_losses(document([1.0]))
    assert "inf" in line, "a loss that is not there is not the same"


def test_failed_rounds_come_back_as_none() -> None:
    document = {"measures": {"m": {"torch": [{"value": 2.0}, None]}}}
    assert rounds_from_json(document) == {"m": {"torch": [2.0, None]}}


def test_tables_show_medians_ratios_and_gaps() -> None:
    table = measure_table({"calls.empty": {"torch": [3e-4], "mpigrad": [2e-5]}}, {"calls.empty": "s"})
    row = table.splitlines()[-1]
    assert "300 us" in row
    assert "15x" in row
    assert row.count("| - ") == 2, "raw and autograd were not measured"
    assert bar_table(RESULTS).count("not measured") > 10


def test_an_earlier_state_is_the_rival() -> None:
    head, _, row = measure_table({"calls.empty": {"before": [3e-5], "mpigrad": [2e-5]}}, {"calls.empty": "s"}).splitlines()
    assert head == "| measure | mpigrad | before | before / mpigrad |"
    assert "1.5x" in row


def test_an_earlier_state_runs_the_present_programs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no mpigrad in this directory"), package_of(tmp_path):
        pass
    (tmp_path / "mpigrad").mkdir()
    (tmp_path / "mpigrad" / "__init__.py").touch()
    (tmp_path / "benchmarks").mkdir()
    with package_of(tmp_path) as found:
        (process,) = processes("before", "mlp", 1, 1, before=found)
        code = "import mpigrad, benchmarks; print(mpigrad.__file__, benchmarks.__file__)"
        command = [process.command[0], "-c", code]
        run = subprocess.run(command, env=process.environment, cwd=process.directory, capture_output=True, text=True, check=True)
        assert run.stdout.split() == [f"{found}/mpigrad/__init__.py", str(Path(bars.__file__).parent / "__init__.py")]
    assert found is not None and not Path(found).exists()


def test_undisturbed_times_are_the_smallest_of_all_rounds() -> None:
    row = best_table({"calls.empty": {"torch": [6e-4, 4e-4], "mpigrad": [2e-5, None]}}, {}).splitlines()[-1]
    assert "400 us" in row
    assert "20x" in row


@pytest.mark.parametrize(
    ("value", "unit", "text"), [(2.5, "s", "2.5 s"), (3e-9, "s", "3 ns"), (2e6, "B", "2 MB"), (1.0, "%", "1 %")]
)
def test_units(value: float, unit: str, text: str) -> None:
    assert in_units(value, unit) == text


def test_every_bar_has_a_measure_that_somebody_takes() -> None:
    taken = {f"{family.name}.{m}": family.contestants_of(m) for family in FAMILIES for m in family.measures}
    for bar in BARS:
        assert "mpigrad" in taken[bar.measure]
        if bar.against is not None:
            assert bar.against in taken[bar.other or bar.measure]


def test_plan_refuses_unknown_families() -> None:
    assert [family.name for family in chosen(["idle", "calls"])] == ["idle", "calls"]
    with pytest.raises(ValueError, match=r"unknown benchmark families \['nope'\]"):
        chosen(["nope"])


def test_growth_exponent() -> None:
    assert exponent({1: 1.0, 8: 2.0, 16: 4.0}) == pytest.approx(1.0)
    assert exponent({2: 5.0, 32: 5.0}) == pytest.approx(0.0)
