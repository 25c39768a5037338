"""What the type of an array says of a mesh, and how types join.

The rules give the results of each operation a sharding, the axes along which they vary, and the
sums that are still to be made.
"""
