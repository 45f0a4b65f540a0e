"""An empty database for each play of the machine, made quickly."""

from models import Base, make_sessions
from sqlalchemy import StaticPool, create_engine, event

# One connection to a database in memory, made once. Emptying its tables is quicker than making them again.
ENGINE = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
Base.metadata.create_all(ENGINE)


def empty_sessions(service):
    """Empty the database, and tell the machine where the shop's transactions begin and end."""
    with ENGINE.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    sessions = make_sessions(ENGINE)
    # Never inside of one: SQLite would let no other call write.
    event.listen(sessions, "after_transaction_create", lambda _, made: made.parent or service.checkpoint())
    event.listen(sessions, "before_commit", lambda session: before_commit(session, service))
    event.listen(sessions, "after_commit", lambda _: service.checkpoint())
    return sessions


def before_commit(session, service):
    """Here the process can be killed, or the commit fail: what was done besides the database is done all the same."""
    session.flush()  # otherwise it writes after this point
    service.checkpoint(in_transaction=True)
