"""A shop of Django, its ORM and a table of jobs; `setup` before anything of it is imported."""

from __future__ import annotations


def setup() -> None:
    """Configure Django for a database in memory, and make the tables."""
    import django
    from django.conf import settings

    if settings.configured:
        return
    settings.configure(
        SECRET_KEY="for tests",
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="djangoshop.urls",
        INSTALLED_APPS=["djangoshop"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
        USE_TZ=True,
        LOGGING_CONFIG=None,
    )
    django.setup()
    from django.apps import apps
    from django.db import connection

    with connection.schema_editor() as editor:
        for model in apps.get_app_config("djangoshop").get_models():
            editor.create_model(model)
