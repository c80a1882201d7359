"""FileCheck and assert_close: what they accept, and that they can fail."""

from __future__ import annotations

import numpy as np
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
        FileCheck().check_regex("t[wx]o\nth.*e").check("four"),
    ],
)
def test_found(check) -> None:
    check.run(TEXT)


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (FileCheck().check("five"), 'Expected to find "five"'),
        (FileCheck().check("three").check("one"), 'Expected to find "one"'),
        (FileCheck().check("one").check_same("three"), r'Expected to not find "\\n" but found it'),
        (FileCheck().check("one").check_next("four"), r'Expected to not find "\\n" but found it'),
        (FileCheck().check("one").check_next("two"), r'Expected to find "\\n" but did not find it'),
        (FileCheck().check_regex("fiv."), 'Expected to find regex "fiv."'),
        (FileCheck().check_source_highlighted("one"), 'Expected to find "one"highlighted but it is not'),
        (FileCheck(), "No checks have been added"),
        (FileCheck().check_count("two", 3), 'Expected to find "two"'),
        (FileCheck().check_count("two", 1, exactly=True), 'Expected to not find "two"'),
        (FileCheck().check("one").check_not("three").check("four"), 'Expected to not find "three"'),
        (FileCheck().check("one").check_not("four"), 'Expected to not find "four"'),
    ],
)
def test_not_found(check, text) -> None:
    with pytest.raises(RuntimeError, match=text):
        check.run(TEXT)


CHECKS = """
# CHECK: one
# CHECK-SAME: two
# CHECK-NEXT: three
# CHECK-NOT: five
# CHECK-DAG: four
"""


def test_checks_that_a_text_lists() -> None:
    FileCheck().run(CHECKS, TEXT)
    FileCheck().run("# CHECK-COUNT-EXACTLY-2: two\n# CHECK-REGEX: f..r", TEXT)
    for wrong in ("# CHECK-COUNT-EXACTLY-1: two", "# CHECK-COUNT-3: two", "# CHECK-NOT: four", "# CHECK-ELSE: one", "nothing"):
        with pytest.raises(RuntimeError):
            FileCheck().run(wrong, TEXT)


def test_highlighted_source() -> None:
    shown = "return x + y.foo()\n           ~~~~~~~ <--- HERE"
    FileCheck().check("x").check_source_highlighted("y.foo()").check("HERE").run(shown)
    for other in ("y.foo", "x", "return"):
        with pytest.raises(RuntimeError, match="highlighted but it is not"):
            FileCheck().check_source_highlighted(other).run(shown)


@pytest.mark.parametrize(
    ("one", "other", "text"),
    [
        (mpigrad.tensor(2**53), mpigrad.tensor(2**53 + 1), "Scalars are not equal"),  # equal in float64
        (mpigrad.tensor([2**53, 1]), mpigrad.tensor([2**53 + 1, 1]), r"absolute difference: 1 at index \(0,\)"),
        (np.ones(3), np.ones(1), "'shape' do not match"),
        (np.ones(3), np.ones(3, "f4"), "'dtype' do not match"),
        (1, 1.0, r"The \(d\)types do not match: <class 'int'> != <class 'float'>"),
        (1.0, 1j, r"The \(d\)types do not match"),
        (True, False, "Booleans mismatch: True is not False"),
        (None, 1, "None mismatch"),
        ({"a": 1, "c": 1}, {"b": 1, "c": 1}, r"Missing keys in the actual mapping: \['b'\]"),
        ({"a": [1, 2]}, {"a": [1, 3]}, r"The failure occurred for item \['a'\]\[1\]"),
    ],
    ids=str,
)
def test_not_close(one, other, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        assert_close(one, other)


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
    with pytest.raises(AssertionError, match=r"Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\n"):
        assert_close([1], [2])
    with pytest.raises(AssertionError, match=r"(?s)Tensor-likes are not equal!.*absolute difference: 1 at index \(1,\)\n"):
        assert_close(mpigrad.tensor([1, 2]), mpigrad.tensor([1, 3]))
    with pytest.raises(TypeError, match="No comparison pair was able to handle"):
        assert_close("a", x)
    with pytest.raises(ValueError, match="must be either specified or omitted, but got no atol"):
        assert_close(x, x, rtol=0.1)
    assert_close((np.float64(1), np.ones(2), b"a", None), (1.0, np.ones(2), b"a", None))
    assert_close(1, 1.0, check_dtype=False)
    with pytest.raises(AssertionError, match=r"'stride\(\)' do not match: \(1, 2\) != \(3, 1\)"):
        assert_close(mpigrad.ones(3, 2).t(), mpigrad.ones(2, 3), check_stride=True)
