"""Rule files read: where they are, what in them is an instruction, and the rules that become of it."""
