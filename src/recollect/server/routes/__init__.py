"""The paths, by what they are about."""
