"""The one registry of commands: keys, palette, footer and help are all read from it."""
