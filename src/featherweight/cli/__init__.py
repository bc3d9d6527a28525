"""The command ``featherweight``; its parts are imported when they are called for."""
