"""Programs that run for long, and what must still be true after them: `make endurance`."""
