"""Ask for more: the text of what a name, a file or a range of lines stands for."""
