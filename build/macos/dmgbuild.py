"""What the DMG looks like when it is opened: the application, an arrow, the folder it goes to."""

app = defines["app"]  # type: ignore[name-defined] # noqa: F821 (dmgbuild gives it)
files = [app]
symlinks = {"Applications": "/Applications"}
background = "builtin-arrow"
icon_locations = {"ForeverVM.app": (140, 120), "Applications": (500, 120)}
window_rect = ((200, 200), (640, 280))
icon_size = 96
format = "UDZO"
