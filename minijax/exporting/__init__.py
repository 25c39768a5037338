"""Chapter 16: programs that outlive the process: `jax.export`.

A function is exported for arguments of certain types. The result holds StableHLO in a stable
form, and how to call it: the types and pytrees of arguments and results. That can be stored as
bytes, and called in another process, by minijax or by JAX.

    export : jit(a → b) → types of a → Exported
    Exported.serialize : Exported → bytes,   deserialize : bytes → Exported
    Exported.call : a → b, like any function: under `jit`, and with a gradient if one was exported

    exported.py       `export`, and what it returns
    calling.py        its call: a primitive
    modules.py        the StableHLO module
    rules.py          lowering rules for arrays whose sizes are not known
    window_rules.py   those for windows and `top_k`
    ordering.py       sizes as text
    dimensions.py     sizes that are not known yet, such as `b` and `2*b`
    values.py         such a size as a value
    words.py          random keys at the border of the module
    serialization.py  the bytes, in JAX's format
    flatbuffer.py     the encoding of that format
    trees.py          which pytrees can be stored
"""
