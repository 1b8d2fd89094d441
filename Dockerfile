# The serving side. Build:  docker build -t driftline .
# Run:    docker run -p 8000:8000 -e DRIFTLINE_TOKEN=... -v ./package:/package:ro -v state:/state driftline
# It listens beyond loopback, so it wants a token, or `--allow-anonymous` said on purpose.

FROM python:3.11-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/driftline
ENV PATH=/opt/driftline/bin:$PATH
WORKDIR /src
# MindSpore first: it is nearly all of the image, and changes least.
COPY constraints.txt ./
RUN pip install mindspore -c constraints.txt
COPY . .
RUN pip install '.[serve]' -c constraints.txt \
 && driftline --help > /dev/null \
 && pip uninstall -y pip setuptools

FROM python:3.11-slim
# libgomp: MindSpore's CPU kernels. No pip stays behind, in the venv or beside it.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends libgomp1 \
 && rm -rf /var/lib/apt/lists/* \
 && pip uninstall -y pip setuptools wheel \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin driftline \
 && install -d -o driftline -g driftline /state
COPY --from=build /opt/driftline /opt/driftline
ENV PATH=/opt/driftline/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /state
VOLUME /state
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/livez', timeout=4)"]
ENTRYPOINT ["driftline"]
CMD ["serve", "/package", "--host", "0.0.0.0", "--port", "8000", "--state", "/state/driftline.db"]
