"""Models and scenes as files of other tools."""
