"""Chapter 9: what must agree in type: the carry that a loop takes and returns, and the results of
branches."""

import functools
from collections.abc import Callable, Sequence

from ...core.core import ShapedArray
from ...core.tree import PyTreeDef
from ...pytree.differences import equality_errors_pytreedef
from ...pytree.paths import SequenceKey, keystr, leaf_paths
from ...runtime.placements import placements
from ...source import fun_sourceinfo
from .common import BodyOf, Staged, parameter_names, same_type


def check_carry(what: str, body: Callable, in_tree: PyTreeDef, in_avals: Sequence,
                out_tree: PyTreeDef, out_avals: Sequence) -> None:
    """Check that the carry which a loop's body returns is of the type that it takes.

    `what` says whose body it is: "scan body".

    Raises:
      TypeError: it is not; the message shows where, and both types.
    """
    if isinstance(body, BodyOf):
        what, component = f"{body.loop} body", lambda path: body.name_of((SequenceKey(0), *path))
    else:
        component = functools.partial(_component, next(iter(parameter_names(body)), None))
    if in_tree != out_tree:
        raise TypeError(
            f"{what} function carry input and carry output must have the same pytree structure, "
            f"but they differ:\n\n{_tree_differences(component, in_tree, out_tree)}\n\n"
            "Revise the function so that the carry output has the same pytree structure as the "
            "carry input."
        )
    apart = [(component(path), a, b) for path, a, b in
             zip(leaf_paths(in_tree), in_avals, out_avals) if not same_type(a, b)]
    lines = [f"the input carry {name} has type {a.str_short(False)} but the "
             f"corresponding output carry component has type {b.str_short(False)}, so "
             f"{type_difference(a, b)}" for name, a, b in apart]
    if lines:
        fixes = [f"{hint} to the initial carry value corresponding to the input carry {name}"
                 for name, a, b in apart for hint in placements().hints(a, b)]
        raise TypeError(
            f"{what} function carry input and carry output must have equal types, but they "
            f"differ:\n\n{itemized(lines)}\n\n{fixed_by(fixes)}Revise the function so that all "
            "output types match "
            "the corresponding input types: give the initial value the type of the result, or "
            "convert the result (`.astype`)."
        )


def itemized(lines: Sequence[str]) -> str:
    """One statement as a sentence, or several as a list."""
    if len(lines) == 1:
        (line,) = lines
        return (line[0].upper() + line[1:] if line.startswith("the ") else line) + "."
    return ";\n".join(f"  * {line}" for line in lines) + "."


def _component(name, path):
    """Words for a part of the carry: `component c[0]['x']`."""
    if name is None:
        return f"at path {keystr(path)}" if path else ""
    return f"component {name}{keystr(path)}" if path else name


def _tree_differences(component, in_tree, out_tree):
    lines = [f"the input carry {component(path)} is {expected} but the corresponding component "
             f"of the carry output is {found}, so {why}"
             for path, expected, found, why in equality_errors_pytreedef(in_tree, out_tree)]
    return itemized(lines or [f"the input is {in_tree} but the output is {out_tree}"])


def type_difference(a: ShapedArray, b: ShapedArray) -> str:
    """In words, what tells two types apart."""
    differing = ["dtypes"] * (a.dtype != b.dtype) + ["shapes"] * (a.shape != b.shape)
    differing += ["manual axis types"] * (a.placement != b.placement)
    return ", and ".join(f"the {what} do not match" for what in differing)


def fixed_by(fixes: Sequence[str]) -> str:
    """What an error proposes, as a paragraph."""
    if len(fixes) > 1:
        return f"This might be fixed by:\n{itemized(fixes)}\n\n"
    return "".join(f"This might be fixed by {fix}.\n\n" for fix in fixes)


def check_branches(what: str, funs: dict[str, Callable], staged: Sequence[Staged]) -> None:
    """Check that all branches return results of the same types as the first.

    Raises:
      TypeError: they do not; the message shows where, both types, and the functions.
    """
    (first_name, first_fun), *others = funs.items()
    for (name, fun), other in zip(others, staged[1:]):
        same_tree = staged[0].out_tree == other.out_tree
        lines = (_branch_types_apart if same_tree else _branch_trees_apart)(
            first_name, staged[0], name, other)
        fixes = _fixes(first_name, staged[0], name, other) if same_tree else []
        if lines:
            raise TypeError(
                (f"{what} branches must have equal output types but they differ.\n\n" if same_tree
                 else f"{what} branch outputs must have the same pytree structure, but they "
                 "differ:\n\n") +
                f"{first_name} is {fun_sourceinfo(first_fun)}\n{name} is {fun_sourceinfo(fun)}\n\n"
                + f"{itemized(lines)}\n\n{fixed_by(fixes)}"
                f"Revise {first_name} and/or {name} so that " +
                ("all output types match." if same_tree else
                 "they have the same pytree structure."))


def _at(path) -> str:
    return f" at path {keystr(path)}" if path else ""


def _branch_trees_apart(name1, staged1, name2, staged2) -> list[str]:
    errors = equality_errors_pytreedef(staged1.out_tree, staged2.out_tree)
    return [f"{name1} output{_at(path)} is {one} but {name2} output{_at(path)} is {two}, so {why}"
            for path, one, two, why in errors]


def _branch_types_apart(name1, staged1, name2, staged2) -> list[str]:
    return [f"the output of {name1}{_at(path)} has type {a.str_short(False)} but the corresponding "
            f"output of {name2} has type {b.str_short(False)}, so {type_difference(a, b)}"
            for path, a, b in _types_apart(staged1, staged2)]


def _types_apart(staged1, staged2):
    types = zip(leaf_paths(staged1.out_tree), staged1.jaxpr.out_avals, staged2.jaxpr.out_avals)
    return [(path, a, b) for path, a, b in types if not same_type(a, b)]


def _fixes(name1, staged1, name2, staged2) -> list[str]:
    return [f"{hint} to the output of {name}{_at(path)}"
            for path, a, b in _types_apart(staged1, staged2)
            for name, x, y in ((name1, a, b), (name2, b, a)) for hint in placements().hints(x, y)]
