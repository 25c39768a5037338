"""Meshes of devices, and the words for how an array is split over their axes.

Specs, shardings, layouts and memories are here. Nothing in this folder needs a program or a type.
"""
