"""A shop on Falcon, requests and sqlite3, with an inbox, jobs and a warehouse."""
