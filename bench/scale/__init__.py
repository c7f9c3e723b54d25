"""How what is kept and planned grows with size, beside plain alternatives: `python -m bench.scale`."""
