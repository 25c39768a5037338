"""Chapter 6: `jit`: jaxprs compiled by XLA.

`lowering.py` says a jaxpr in StableHLO, by the rules in `lowering_elementwise.py` and
`lowering_rules.py`; `client.py` is the only file that talks to jaxlib; `dispatch.py` runs compiled
programs on arrays; `jit.py` has the public function, and `stages.py` what its methods return.
"""
