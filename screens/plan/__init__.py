"""Section Plan: a task in, the pack as it forms, why each thing is in or out, and what to do about it."""
