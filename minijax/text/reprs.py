"""Chapter 5: how do the engine's objects read? Each text is as JAX writes it.

The engine asks an extension for the text of its objects. The table below has it, by the class and
the method.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.array import Array
from ..core.batching import BatchTracer
from ..core.core import ShapedArray, Trace, Tracer
from ..core.extension import Extension, register
from ..core.forward import JVPTracer, LinearizeTracer, Zero
from ..core.jaxpr import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, TypedScalar, Var
from ..core.staging import DynamicJaxprTrace, DynamicJaxprTracer
from ..core.tree import PyTreeDef
from ..runtime.placements import placements
from ..source import SourceInfo
from . import origins
from .locations import source_text
from .printing import pretty_print, print_eqn
from .scopes import NameStack

# ----------------------------------------------------------------------------------------------
# Atoms.


def var_text(var: Var, context: Any, *, print_dtype: bool = True) -> str:
    """The variable's name in the text that `context`, a `Printer`, makes."""
    return context.var_names[var]


def literal_text(literal: Literal, context: Any, *, print_dtype: bool = True) -> str:
    """The value and its type: `2.0:f32[]`."""
    text = "[...]" if np.shape(literal.val) else str(np.asarray(literal.val).item())
    return f"{text}:{literal.aval.str_short(short_dtypes=True)}" if print_dtype else text


# ----------------------------------------------------------------------------------------------
# The structures of pytrees


def treedef_text(treedef) -> str:
    """A `PyTreeDef` in JAX's notation: `*` for a leaf, Python's for the built-in containers."""
    node = treedef.node_data()
    if node is None:
        return "*"
    cls, aux = node
    parts = [treedef_text(subtree) for subtree in treedef.subtrees]
    inside = ", ".join(parts)
    if cls is type(None):
        return "None"
    if cls is tuple:
        return f"({inside},)" if len(parts) == 1 else f"({inside})"
    if cls is list:
        return f"[{inside}]"
    if cls is dict:
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(aux, parts)) + "}"
    if cls is treedef.aux:  # a namedtuple
        return f"CustomNode(namedtuple[{cls.__name__}], [{inside}])"
    return f"CustomNode({cls.__name__}[{aux}], [{inside}])"


# ----------------------------------------------------------------------------------------------
# Arrays, tracers and their avals.


@cache
def short_name(dtype: Any) -> str:
    """The name in jaxprs: `f32`, `bf16`, `i8`, `u8`, `c64`, `bool`, `float0`.

        >>> from minijax import dtypes
        >>> dtypes.short_name(dtypes.canonicalize_dtype("int64"))
        'i32'
    """
    if isinstance(dtype, dtypes.ExtendedDType):
        return str(dtype)
    if dtype == dtypes.float0:
        return "float0"
    name = np.dtype(dtype).name
    for long, short in (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c")):
        name = name.replace(long, short)
    return name


def aval_short(aval: Any, short_dtypes: bool = False) -> str:
    """`f32[2,3]`, as jaxprs print it (`float32[2,3]` unless `short_dtypes`)."""
    name = short_name(aval.dtype) if short_dtypes else aval.dtype.name
    name = "float0" if name == "void" else name  # NumPy's name for a dtype with fields
    shape = f"[{','.join(map(str, aval.shape))}]"
    return name + (shape if aval.placement is None else aval.placement.shape_text(aval.shape))


def aval_str(aval: Any) -> str:
    """`~float32[2,3]`: the tilde stands for a weak type."""
    return "~" * aval.weak_type + aval.str_short()


def aval_repr(aval: Any) -> str:
    """`ShapedArray(float32[2,3], weak_type=True)`"""
    return f"ShapedArray({aval.str_short()}{', weak_type=True' * aval.weak_type})"


def staged_tracer_repr(tracer: Any) -> str:
    """`JitTracer(~float32[])`; extensions may know the value."""
    return placements().tracer_text(tracer) or f"JitTracer({aval_str(tracer.aval)})"


def tracer_repr(tracer: Any) -> str:
    """`BatchTracer(float32[3])`: a tracer as `repr` shows it, unless its class has another way."""
    return f"{type(tracer).__name__}({tracer.aval.str_short()})"


def trace_repr(trace: Any) -> str:
    """`JVPTrace(EvalTrace)`: a trace, with its parents in parentheses."""
    return type(trace).__name__ + ("" if trace.parent is None else f"({trace.parent!r})")


def staging_trace_repr(trace: Any) -> str:
    """`DynamicJaxprTrace(f)`: with the name of the traced function."""
    return f"DynamicJaxprTrace({trace.debug_info.func_name if trace.debug_info else ''})"


def zero_repr(zero: Any) -> str:
    """`Zero(f32[3])`"""
    return f"Zero({zero.aval.str_short(True)})"


def jvp_tracer_repr(tracer: Any) -> str:
    """`JVPTracer(primal=2.0, tangent=1.0)`"""
    return f"JVPTracer(primal={tracer.primal}, tangent={tracer.tangent})"


def linearize_tracer_repr(tracer: Any) -> str:
    """`GradTracer(primal=2.0, typeof(tangent)=f32[])`"""
    return f"GradTracer(primal={tracer.primal}, typeof(tangent)={tracer.aval.str_short(True)})"


def batch_tracer_repr(tracer: Any) -> str:
    """`VmapTracer(aval=float32[3], batched=float32[8,3])`"""
    whole = tracer.aval.update(shape=np.shape(tracer.val))
    return f"VmapTracer(aval={aval_str(tracer.aval)}, batched={aval_str(whole)})"


def format_tracer(tracer: Any, spec: str) -> str:
    """A tracer in an f-string: its `repr`. A specification such as `.2f` asks for contents."""
    if spec:
        raise TypeError(
            f"unsupported format string passed to {type(tracer).__name__}.__format__: {spec!r} "
            "needs the contents of an array, and got a traced value. Print it while the program "
            "runs, by `jax.debug.print`; or leave the specification out.")
    return repr(tracer)


def array_repr(x: Any) -> str:
    """`Array([1., 2.], dtype=float32)`: an array as `repr` shows it."""
    aval = x.aval
    if x.is_deleted():
        return f"<deleted Array with shape={aval.str_short(short_dtypes=False)}>"
    if not isinstance(aval.dtype, np.dtype):
        inside = aval.dtype.readable(np.asarray(x._numpy()))
        return f"Array({aval.shape}, dtype={aval.dtype}) overlaying:\n{inside}"
    tail = f"dtype={aval.dtype.name}{', weak_type=True' * aval.weak_type}"
    body = f"[], shape={aval.shape}" if not aval.size else np.array2string(
        np.asarray(x._numpy()), prefix="Array(", suffix=",", separator=", ")
    # If the dtype does not fit on the line, JAX leaves a gap, and writes it there all the same.
    width = len(body) - body.rfind("\n") + len(tail) + 3
    gap = " " * (len("Array(") if width > np.get_printoptions()["linewidth"] else 1)
    return f"Array({body},{gap}{tail})"


def array_str(x: Any) -> str:
    """An array as `print` shows it: its elements, or its `repr` if they are not numbers."""
    return str(np.asarray(x)) if isinstance(x.aval.dtype, np.dtype) else repr(x)


def format_array(x: Any, spec: str) -> str:
    """An array in an f-string: a scalar as its number, others as NumPy does."""
    if not isinstance(x.aval.dtype, np.dtype):
        return format(str(x), spec)
    return format(np.asarray(x) if x.aval.ndim else np.asarray(x).item(), spec)


# ----------------------------------------------------------------------------------------------
# The table.

texts: dict[tuple[type, str], Callable[..., Any]] = {
    (ShapedArray, "__str__"): aval_str,
    (ShapedArray, "str_short"): aval_short,
    (ShapedArray, "__repr__"): aval_repr,
    (PyTreeDef, "__repr__"): lambda treedef: f"PyTreeDef({treedef_text(treedef)})",
    (Trace, "__repr__"): trace_repr,
    (DynamicJaxprTrace, "__repr__"): staging_trace_repr,
    (Tracer, "__repr__"): tracer_repr,
    (Tracer, "__format__"): format_tracer,
    (Tracer, "_origin_msg"): lambda tracer: "",
    (JVPTracer, "__repr__"): jvp_tracer_repr,
    (LinearizeTracer, "__repr__"): linearize_tracer_repr,
    (BatchTracer, "__repr__"): batch_tracer_repr,
    (BatchTracer, "_origin_msg"): origins.of_batched,
    (DynamicJaxprTracer, "__repr__"): staged_tracer_repr,
    (DynamicJaxprTracer, "_origin_msg"): origins.of_staged,
    (SourceInfo, "__str__"): source_text,
    (SourceInfo, "name_stack"): lambda info: NameStack(info.names),
    (Zero, "__repr__"): zero_repr,
    (Array, "__repr__"): array_repr,
    (Array, "__str__"): array_str,
    (Array, "__format__"): format_array,
    (Var, "__repr__"): lambda var: f"Var(id={id(var)}):{var.aval.str_short()}",
    (Var, "pretty_print"): var_text,
    (Var, "_repr_pretty_"): repr,
    (DropVar, "__repr__"): lambda var: "_",
    (DropVar, "pretty_print"): lambda var, context, print_dtype=True: "_",
    (TypedScalar, "__repr__"): lambda x: f"{type(x).__name__}({+x}, dtype={x.dtype.name})",
    (TypedScalar, "__str__"): lambda x: str(+x),
    (Literal, "__repr__"): lambda literal: f"Literal({literal.val})",
    (Literal, "pretty_print"): literal_text,
    (Literal, "_repr_pretty_"): repr,
    (JaxprEqn, "__repr__"): print_eqn,
    **{(cls, form): pretty_print for cls in (Jaxpr, ClosedJaxpr)
       for form in ("__repr__", "__str__", "pretty_print")},
    **{(cls, "_repr_pretty_"): partial(pretty_print, use_color=True)
       for cls in (Jaxpr, ClosedJaxpr)},
}


class Texts(Extension):
    """Objects of the engine read as those of JAX."""

    def text(self, x, form, *args, **options):
        for cls in type(x).__mro__:
            if write := texts.get((cls, form)):
                return write(x, *args, **options)
        return getattr(object, form)(x, *args)  # `object.__str__` calls `__repr__`


register(Texts())
