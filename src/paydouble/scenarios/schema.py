"""The JSON Schema of scenario files.

`scenario.schema.json` beside this file is the committed result of `build()`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from paydouble.yamlfile import schema as schemas

PATH: Final = Path(__file__).with_name("scenario.schema.json")


def committed() -> dict[str, Any]:
    """Return the schema from the committed file."""
    return schemas.committed(PATH)


def build() -> dict[str, Any]:
    """Build the schema from the models and the attribute docstrings of their members."""
    from paydouble.config import CatalogueSettings, Settings  # noqa: PLC0415 - only needed to write the file
    from paydouble.faults.model import ApiFault, WebhookFault  # noqa: PLC0415
    from paydouble.scenarios.model import NOT_FOR_SCENARIOS, Scenario  # noqa: PLC0415

    models: tuple[type[BaseModel], ...] = (Scenario, Settings, ApiFault, WebhookFault)
    definitions = schemas.definitions_of(models)
    # These two have their own parsers, for which pydantic has no schema.
    members = definitions["Scenario"]["properties"]
    members["settings"] |= {"anyOf": [schemas.reference_to("Settings"), {"type": "null"}]}
    for name in NOT_FOR_SCENARIOS:
        del definitions["Settings"]["properties"][name]
    for model in schemas.with_members([CatalogueSettings]):
        del definitions[model.__name__]
    faults = [schemas.reference_to(name) for name in ("ApiFault", "WebhookFault")]
    members["faults"] |= {"type": "array", "items": {"anyOf": faults}}
    return schemas.document("A scenario", definitions, "Scenario")
