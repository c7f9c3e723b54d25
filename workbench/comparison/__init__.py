"""Whether two texts say the same, contradict each other, or neither; and which of many do."""
