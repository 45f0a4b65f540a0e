"""`paydouble openapi`: print the document that describes the API."""

from __future__ import annotations

import click

from paydouble.cli.terminal import say, say_json


@click.command()
@click.option("--control", is_flag=True, help="Print the control API's document instead.")
@click.option("--format", "style", type=click.Choice(["json", "yaml"]), default="json", show_default=True)
@click.option("--server-url", default="http://127.0.0.1:8080", show_default=True, help="URL for the member `servers`.")
def openapi(style: str, server_url: str, *, control: bool) -> None:
    """Print the OpenAPI 3.1 document of the API, or of the control API."""
    import orjson

    if control:
        from paydouble.web.control.openapi import document as control_document

        made = control_document(server_url=server_url)
    else:
        from paydouble.api.operations import OPERATIONS
        from paydouble.openapi.document import document

        made = document(OPERATIONS, server_url=server_url)
    text = orjson.dumps(made, option=orjson.OPT_INDENT_2).decode()
    if style == "yaml":
        import yaml

        text = yaml.safe_dump(orjson.loads(text), sort_keys=False, allow_unicode=True, width=120).rstrip()
        say(*text.split("\n"))
    else:
        say_json(text)
