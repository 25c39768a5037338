"""Chapter 9: control flow. Loops and branches as primitives that carry every rule.

`cond.py` has branches (`cond`, `switch`), `while_loop.py` loops of unknown length (`while_loop`,
`fori_loop`), `scan.py` loops of known length (`scan`, `map`), which can be differentiated in
reverse, and `associative_scan.py` prefixes in parallel. `common.py` is what they share.
"""
