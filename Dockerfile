# The web app in an image, with bubblewrap for the scripts of skills:
#
#   docker build -t prowess .
#   docker run --rm -p 127.0.0.1:8765:8765 -v prowess:/data prowess
#
# PYTHON_IMAGE is any Debian with Python 3.11 or newer and its venv; EXTRAS are those of pyproject.toml; SYSTEM_PACKAGES
# are for scripts. PIP_INDEX_URL names another index.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS build
ARG EXTRAS=agent,mcp,postgres,scripts,telemetry,tokens,web
ARG PIP_INDEX_URL
WORKDIR /source
COPY requirements/dev.txt requirements/
# Hashes would have to be there for Prowess itself, too.
RUN sed -n '/==/s/ *\\$//p' requirements/dev.txt > constraints.txt && python3 -m venv /opt/prowess
COPY LICENSE README.md pyproject.toml ./
COPY src src
RUN /opt/prowess/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt ".[${EXTRAS}]"

FROM ${PYTHON_IMAGE}
ARG SYSTEM_PACKAGES=bubblewrap
RUN apt-get update \
    && apt-get install -y --no-install-recommends ${SYSTEM_PACKAGES} \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 prowess \
    && install -d -o prowess -g prowess -m 700 /data
COPY --from=build /opt/prowess /opt/prowess
ENV PATH=/opt/prowess/bin:$PATH PROWESS_HOME=/data PYTHONUNBUFFERED=1
USER 1000:1000
WORKDIR /home/prowess
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
ENTRYPOINT ["prowess"]
CMD ["serve", "--host", "0.0.0.0"]
