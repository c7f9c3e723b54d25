"""What stands around every screen: the bar of sections, the status line and the footer."""
