"""FileCheck and assert_close: what they accept, and that they can fail."""

from __future__ import annotations

import pytest

import mpigrad
from mpigrad.testing import FileCheck, assert_close

TEXT = "one two\nthree two\nfour"


@pytest.mark.parametrize(
    "check",
    [
        FileCheck().check("one").check("three").check_not("one").check("four"),
        FileCheck().check("one").check_same("two").check_next("three"),
        FileCheck().check_count("two", 2, exactly=True),
        FileCheck().check_count("two", 1),
        FileCheck().check_not("five"),
        FileCheck().check_dag("four").check_dag("one"),
    ],
)
def test_found(check) -> None:
    check.run(TEXT)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (FileCheck().check("five"), 'Expected to find "five"'),
        (FileCheck().check("three").check("one"), 'Expected to find "one"'),
        (FileCheck().check("one").check_same("three"), 'Expected to find "three"'),
        (FileCheck().check("one").check_next("four"), 'Expected to find "four"'),
        (FileCheck().check_count("two", 3), 'Expected to find "two"'),
        (FileCheck().check_count("two", 1, exactly=True), 'Expected to not find "two"'),
        (FileCheck().check("one").check_not("three").check("four"), 'Expected to not find "three"'),
        (FileCheck().check("one").check_not("four"), 'Expected to not find "four"'),
    ],
)
def test_not_found(check, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        check.run(TEXT)


def test_assert_close() -> None:
    x = mpigrad.tensor([1.0, 2.0])
    assert_close(x, x + 1e-7)
    assert_close({"a": [x, 1]}, {"a": [x.clone(), 1]})
    assert_close(x, x + 0.1, rtol=0, atol=0.2)
    with pytest.raises(AssertionError, match=r"Mismatched elements: 1 / 2 \(50.0%\)"):
        assert_close(x, mpigrad.tensor([1.0, 2.5]))
    with pytest.raises(AssertionError, match="'dtype' do not match"):
        assert_close(x, x.double())
    with pytest.raises(AssertionError, match="'shape' do not match"):
        assert_close(x, x[:1])
    with pytest.raises(AssertionError, match="Scalars are not close"):
        assert_close(1.0, 1.1)
    with pytest.raises(ValueError, match="both"):
        assert_close(x, x, rtol=0.1)
