"""The OpenAPI document of the API: its examples, its schemas, and the document around them."""
