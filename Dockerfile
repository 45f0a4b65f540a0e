# The double as an image: `docker build -t paydouble . && docker run --rm --read-only -p 127.0.0.1:8080:8080 paydouble`
# Written for old builders too: no RUN heredocs, no COPY --link or --exclude, no HEALTHCHECK --start-interval.
ARG PYTHON_VERSION=3.13

FROM python:${PYTHON_VERSION}-slim AS build
# The interpreter is the image's own; nothing is linked from uv's cache, which stays behind in this stage.
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_NO_PROGRESS=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
# The locks come first: as long as they stay the same, so do these layers. uv's own version is locked with the rest.
COPY requirements.lock requirements-runtime.lock ./
RUN pip install --no-cache-dir --disable-pip-version-check "$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements.lock)"
# Bytecode is written here, once, because the running container cannot write any.
RUN uv venv --python /usr/local/bin/python3 /opt/venv \
    && uv pip sync --python /opt/venv/bin/python --require-hashes --compile-bytecode requirements-runtime.lock
COPY pyproject.toml LICENSE README.md ./
COPY scenarios scenarios
COPY docs docs
COPY src src
RUN uv build --wheel --build-constraints requirements.lock --require-hashes --python /usr/local/bin/python3 --out-dir dist \
    && uv pip install --python /opt/venv/bin/python --no-deps --compile-bytecode dist/*.whl

FROM python:${PYTHON_VERSION}-slim
LABEL org.opencontainers.image.title="paydouble" \
      org.opencontainers.image.description="An in-memory double of a payment service, with signed webhooks and a clock you drive" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="The paydouble authors"
COPY --from=build /opt/venv /opt/venv
# The image of Python has no bytecode of the standard library. Without this each start, also of the health check, would
# compile what it imports.
RUN /opt/venv/bin/paydouble demo >/dev/null \
    && /opt/venv/bin/python -c "import paydouble.cli.healthcheck, paydouble.cli.serve, paydouble.server"
# PAYDOUBLE_INSECURE_CONTROL: a container must listen on all of its addresses to be reached at all, and who reaches it is
# decided where its port is published. A PAYDOUBLE_CONTROL_TOKEN is asked for all the same, and is what a shared network
# wants (docs/decisions/0010-control-in-the-image.md).
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    PAYDOUBLE_HOST=0.0.0.0 \
    PAYDOUBLE_PORT=8080 \
    PAYDOUBLE_INSECURE_CONTROL=1 \
    PAYDOUBLE_SCENARIOS=/scenarios
# Where a folder of your own scenarios is mounted. It is there, and empty, when nothing is: a missing one is an error.
WORKDIR /scenarios
# A number, so that an orchestrator can tell that it is not root. Nothing is written: the root may be read-only.
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s --retries=3 CMD ["paydouble", "healthcheck"]
ENTRYPOINT ["paydouble"]
CMD ["serve"]
