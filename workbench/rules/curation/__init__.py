"""What people decide about rules: versions, steps that undo and redo, the journals and their fold."""
