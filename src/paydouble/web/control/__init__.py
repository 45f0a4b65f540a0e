"""The control API: what a test, in any language, makes the double do (prefix `/_paydouble`)."""
