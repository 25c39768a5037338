"""Chapter 11: further families of primitives, one file a family.

The chapters before told one transformation for all primitives, in a column. From here on it is the
other way round: each primitive is a row, with all its rules in one place.
"""
