"""Django without a project, and an empty database for each play of the machine, made quickly."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()

from django.apps import apps  # noqa: E402 - after the setup
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402

# Once. `run_syncdb` makes the tables of apps that have no migrations.
call_command("migrate", run_syncdb=True, verbosity=0)
TABLES = [model._meta.db_table for model in apps.get_app_config("shop").get_models()]  # noqa: SLF001 - Django's documented API


def empty_database():
    """Delete all rows, which is quicker than making the tables again."""
    with connection.cursor() as cursor:
        for table in reversed(TABLES):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - a table of our own


class CheckedAtomic(transaction.Atomic):
    """Tells the machine where the shop's transactions begin and end; never inside of one."""

    service = None

    def __enter__(self):
        if not connection.in_atomic_block:
            self.service.checkpoint()
        super().__enter__()

    def __exit__(self, kind, value, traceback):
        super().__exit__(kind, value, traceback)
        if kind is None and not connection.in_atomic_block:
            self.service.checkpoint()


transaction.Atomic = CheckedAtomic
