"""How types, tracers and trees read: their texts in messages."""
