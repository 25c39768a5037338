"""Chapter 9: control flow. Loops and branches as primitives that carry every rule.

    cond.py              branches: `cond`, `switch`
    scan.py              loops of known length, which can be differentiated in reverse
    scan_reverse.py      the rules of `scan` for reverse mode
    scan_lowering.py     `scan` in StableHLO
    while_loop.py        loops of unknown length
    fori_loop.py         `fori_loop`, which is one or the other
    map.py               `map`
    associative_scan.py  all prefixes in parallel
    in_parts.py          a program of large arrays as a loop over parts of them
    parts.py             how a new transformation enters all these
    tokens.py            ordered effects in loops and branches
    common.py            what they share
"""

from . import cond, in_parts, scan, scan_lowering, scan_reverse, while_loop
