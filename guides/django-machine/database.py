"""Django without a project, and an empty database for each play of the machine, made quickly."""

import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
django.setup()

from django.apps import apps  # noqa: E402 - after the setup
from django.core.management import call_command  # noqa: E402
from django.db import OperationalError, connection, transaction  # noqa: E402

from paydouble.stateful import DatabaseDown  # noqa: E402

# Once. `run_syncdb` makes the tables of apps that have no migrations.
call_command("migrate", run_syncdb=True, verbosity=0)
TABLES = [model._meta.db_table for model in apps.get_app_config("shop").get_models()]  # noqa: SLF001 - Django's documented API


def empty_database():
    """Delete all rows, which is quicker than making the tables again."""
    # One transaction: SQLite checks foreign keys at its end, so tables may refer to each other.
    with PlainAtomic(using=None, savepoint=True, durable=False), connection.cursor() as cursor:
        for table in reversed(TABLES):
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - a table of our own
        cursor.execute("DELETE FROM sqlite_sequence")  # ids begin with 1 again


PlainAtomic = transaction.Atomic


class CheckedAtomic(PlainAtomic):
    """Tells the machine where the shop's transactions begin and end. Only the outermost block counts."""

    service = None

    def __enter__(self):
        if not connection.in_atomic_block:
            checkpoint()
        super().__enter__()

    def __exit__(self, kind, value, traceback):
        commits = kind is None and not connection.savepoint_ids
        if commits:
            try:
                checkpoint(in_transaction=True)
            except BaseException as error:
                super().__exit__(type(error), error, error.__traceback__)  # rolls back
                raise
        super().__exit__(kind, value, traceback)
        if commits:
            checkpoint()


def checkpoint(**where):
    try:
        CheckedAtomic.service.checkpoint(**where)
    except DatabaseDown as error:
        raise OperationalError(str(error)) from error  # what Django raises


def single_write(execute, sql, params, many, context):
    """Run a statement; a write outside of `atomic` is a transaction of its own."""
    if connection.in_atomic_block or not sql.startswith(("INSERT", "UPDATE", "DELETE")):
        return execute(sql, params, many, context)
    checkpoint()
    result = execute(sql, params, many, context)
    checkpoint()
    return result


transaction.Atomic = CheckedAtomic
connection.execute_wrappers.append(single_write)
connection.features.can_return_columns_from_insert = False  # INSERT … RETURNING ends when its row is read
