"""Commands about replays of the past."""
