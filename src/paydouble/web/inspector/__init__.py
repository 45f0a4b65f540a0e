"""The inspector: pages that show what the double has recorded, under `/_paydouble/`, for a person with a browser.

A page consists of three parts:

- a view module such as `inbox.py`: its handler takes a `Visit` and returns a `Page`, the name of a template with the
  values that it shows. The values come from the queries of the control API (`records.py`, `web/control`);
- a template in `templates/` that extends `base.html` and uses the macros of `parts.html`;
- a row of `routes.py`, and a line of its `NAVIGATION` if the page belongs into the navigation.

Nothing here is imported before the first page is requested (docs/decisions/0018-inspector.md).
"""
