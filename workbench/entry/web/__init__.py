"""The app in a browser: `workbench --serve-web`."""
