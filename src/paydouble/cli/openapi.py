"""`paydouble openapi`: print the document that describes the API."""

from __future__ import annotations

import click


@click.command()
@click.option("--format", "style", type=click.Choice(["json", "yaml"]), default="json", show_default=True)
@click.option("--server-url", default="http://127.0.0.1:8080", show_default=True, help="What `servers` says.")
def openapi(style: str, server_url: str) -> None:
    """Print the OpenAPI 3.1 document of the API."""
    import orjson

    from paydouble.api.openapi import document
    from paydouble.api.operations import OPERATIONS

    text = orjson.dumps(document(OPERATIONS, server_url=server_url), option=orjson.OPT_INDENT_2).decode()
    if style == "yaml":
        import yaml

        text = yaml.safe_dump(orjson.loads(text), sort_keys=False, allow_unicode=True, width=120).rstrip()
    click.echo(text)
