"""A shop on aiohttp: a web application, a client, tasks in the background, and SQLite behind a repository."""
