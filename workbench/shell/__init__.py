"""Shell lines as the commands they run: words, braces, the options of programs, wrappers such as `sudo`."""
