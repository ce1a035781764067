"""The commands of `thalweg`, one module each; every module exports `command`."""
