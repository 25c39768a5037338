# What the checks of exercises use on the page, in MicroPython: `learning.checking`, made small.
import math  # noqa: F401  (checks use it)


class Wrong(Exception):
    """An answer is wrong; the message says with which input, and what was expected."""


def compare(yours, expected, cases, what=""):
    """Call both functions with the arguments of each case, the smallest first."""
    for args in cases:
        want = expected(*args)
        try:
            got = yours(*args)
        except NotImplementedError:
            raise Wrong("nothing yet: the stub is still there")  # noqa: B904
        except Exception as error:
            got = type(error).__name__ + ": " + str(error)
            raise Wrong(report(what, args, want, got))  # noqa: B904
        if not same(got, want):
            raise Wrong(report(what, args, want, repr(got)))


def report(what, args, want, got):
    given = ", ".join([shown(x) for x in args])
    what = what or "the arguments"
    return f"with {what} {given}\n  it should be  {shown(want)}\n  you say       {got}"


def shown(x):
    return x.__name__ if callable(x) and hasattr(x, "__name__") else repr(x)


def same(got, want):
    """Whether two results are alike: structure, shapes, and values up to rounding."""
    if hasattr(want, "tolist"):
        return hasattr(got, "tolist") and same(got.tolist(), want.tolist())
    if isinstance(want, dict):
        return isinstance(got, dict) and sorted(got) == sorted(want) and all(
            same(got[key], want[key]) for key in want)
    if isinstance(want, (list, tuple)):
        return type(got) is type(want) and len(got) == len(want) and all(
            same(x, y) for x, y in zip(got, want))
    if isinstance(want, (float, int)) and not isinstance(want, bool):
        if isinstance(got, bool) or not isinstance(got, (float, int)):
            return False
        return got == want or abs(got - want) <= 1e-5 + 1e-4 * abs(want)
    return got == want


def expect(condition, message):
    if not condition:
        raise Wrong(message)
