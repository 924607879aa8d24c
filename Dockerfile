# SuperTwin in one image: Fuseki, VictoriaMetrics, API, bridge and command line.
# `supertwin run NAME` chooses which of them a container runs. Built by install.sh, as
# everywhere else; on arm64 without cpuid and likwid (docs/machines.md#arm64).

FROM victoriametrics/victoria-metrics:v1.140.0 AS victoria-metrics

FROM debian:13.1-slim AS build
COPY --from=victoria-metrics /victoria-metrics-prod /usr/local/bin/victoria-metrics
WORKDIR /opt/supertwin
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates python3 \
    && rm -rf /var/lib/apt/lists/*
COPY install.sh pyproject.toml README.md ./
COPY deploy/locks deploy/locks
RUN ./install.sh

FROM debian:13.1-slim
RUN apt-get update \
    && apt-get upgrade -y \
    && apt-get install -y --no-install-recommends \
        default-jre-headless hwloc-nox libpfm4 lshw \
        openssh-client python3 python3-pcp python3-requests \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin supertwin \
    && install -d -m 700 -o supertwin -g supertwin /var/lib/supertwin \
    && for name in fuseki store bridge topology dashboards access; do \
        install -d -o supertwin -g supertwin "/var/lib/supertwin/$name"; \
    done
COPY --from=victoria-metrics /victoria-metrics-prod /usr/local/bin/victoria-metrics
COPY --from=build /opt/supertwin/.venv /opt/supertwin/.venv
COPY --from=build /opt/supertwin/.tools/fuseki /opt/supertwin/.tools/fuseki
COPY --from=build /opt/supertwin/.tools/web /opt/supertwin/.tools/web
COPY . /opt/supertwin
ENV PATH=/opt/supertwin/.venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    SUPERTWIN_HOME=/var/lib/supertwin
WORKDIR /opt/supertwin
RUN python -m compileall -q api benchmarks core dashboards dtdl ingest observations ontology \
    pinning queries sampler_bridge sampling shapes supertwin virtual_telemetry \
    && python -m supertwin.stack.fuseki_extension \
    && python -m supertwin.stack.fuseki_classes
USER supertwin
ENTRYPOINT ["supertwin"]
CMD ["--help"]
